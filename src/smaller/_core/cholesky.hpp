// Small symmetric positive definite systems, row-major.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

#include "simd.hpp"

namespace smaller {

// Of short vectors, for which a call costs more than the sum.
inline double short_dot(const double* x, const double* v, size_t n) {
    if (n > 24) return dot(x, v, n);
    double even = 0.0, odd = 0.0;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        even += x[i] * v[i];
        odd += x[i + 1] * v[i + 1];
    }
    return even + odd + (i < n ? x[i] * v[i] : 0.0);
}

// A pivot below this part of its diagonal is rounding: the matrix is singular.
constexpr double SINGULAR = 1e-13;

// H becomes its lower factor L; false where it is not positive definite, or a pivot is at most `least` of its diagonal.
inline bool factorise(double* H, size_t m, double least = 0.0) {
    for (size_t a = 0; a < m; ++a)
        for (size_t b = 0; b <= a; ++b) {
            const double h = H[a * m + b] - short_dot(H + a * m, H + b * m, b);
            if (b < a)
                H[a * m + b] = h / H[b * m + b];
            else if (h > least * H[a * m + a])
                H[a * m + a] = std::sqrt(h);
            else
                return false;
        }
    return true;
}

// U = L^-T, upper.
inline void invert_factor(const double* L, size_t m, double* U) {
    for (size_t b = 0; b < m; ++b) {
        U[b * m + b] = 1.0 / L[b * m + b];
        for (size_t a = b + 1; a < m; ++a)
            U[b * m + a] = -short_dot(L + a * m + b, U + b * m + b, a - b) / L[a * m + a];
    }
}

// x = L^-1 x.
inline void solve_lower(const double* L, size_t m, double* x) {
    for (size_t a = 0; a < m; ++a) x[a] = (x[a] - short_dot(L + a * m, x, a)) / L[a * m + a];
}

// x = H^-1 x from the factor.
inline void solve_factor(const double* L, size_t m, double* x) {
    solve_lower(L, m, x);
    for (size_t a = m; a-- > 0;) {
        x[a] /= L[a * m + a];
        for (size_t b = 0; b < a; ++b) x[b] -= L[a * m + b] * x[a];
    }
}

inline double log_determinant(const double* L, size_t m) {
    double total = 0.0;
    for (size_t a = 0; a < m; ++a) total += std::log(L[a * m + a]);
    return 2.0 * total;
}

// Relative to the diagonal, tried in turn: rounding may leave nearly collinear columns just short of positive definite.
constexpr double RIDGES[] = {0.0, 1e-13, 1e-11, 1e-9};

inline bool factorise_nearly(const std::vector<double>& H, size_t m, std::vector<double>& L) {
    for (const double ridge : RIDGES) {
        L = H;
        for (size_t a = 0; a < m; ++a) L[a * m + a] *= 1.0 + ridge;
        if (factorise(L.data(), m)) return true;
    }
    return false;
}

}  // namespace smaller
