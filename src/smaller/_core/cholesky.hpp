// Cholesky factors of small symmetric positive definite matrices: of a whole matrix, and of one to which rows are added
// and from which rows are removed. Matrices are stored row by row; only the lower triangle of a factor is read.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

#include "simd.hpp"

namespace smaller {

// The dot product of short vectors, for which the call of `dot` would cost more than the sum.
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

// A matrix is called singular where a pivot is at most this part of its diagonal entry, which is rounding.
constexpr double SINGULAR = 1e-13;

// Row m of the factor in the place of row m of the matrix; the rows before are already those of the factor. Rows are
// `stride` numbers apart. False where the pivot is not positive, or at most `least` of the diagonal entry.
inline bool factorise_row(double* L, size_t stride, size_t m, double least) {
    double* row = L + m * stride;
    for (size_t b = 0; b < m; ++b) row[b] = (row[b] - short_dot(row, L + b * stride, b)) / L[b * stride + b];
    const double pivot = row[m] - short_dot(row, row, m);
    if (!(pivot > least * row[m])) return false;
    row[m] = std::sqrt(pivot);
    return true;
}

// H (m, m) becomes its lower factor L; false where H is not positive definite, or a pivot is at most `least` of its
// diagonal entry.
inline bool factorise(double* H, size_t m, double least = 0.0) {
    for (size_t a = 0; a < m; ++a)
        if (!factorise_row(H, m, a, least)) return false;
    return true;
}

// Ridges, relative to the diagonal, that factorise_nearly tries in turn.
constexpr double RIDGES[] = {0.0, 1e-13, 1e-11, 1e-9};

// The factor L of H with the smallest of the ridges that makes H positive definite: rounding may leave a matrix of
// nearly collinear columns just short of it.
inline bool factorise_nearly(const std::vector<double>& H, size_t m, std::vector<double>& L) {
    for (const double ridge : RIDGES) {
        L = H;
        for (size_t a = 0; a < m; ++a) L[a * m + a] *= 1.0 + ridge;
        if (factorise(L.data(), m)) return true;
    }
    return false;
}

// U = L^-T, upper.
inline void invert_factor(const double* L, size_t m, double* U) {
    for (size_t b = 0; b < m; ++b) {
        U[b * m + b] = 1.0 / L[b * m + b];
        for (size_t a = b + 1; a < m; ++a)
            U[b * m + a] = -short_dot(L + a * m + b, U + b * m + b, a - b) / L[a * m + a];
    }
}

// Entry (a, b), b <= a, of the inverse matrix U U^T.
inline double inverse_entry(const double* U, size_t m, size_t a, size_t b) {
    return short_dot(U + a * m + a, U + b * m + a, m - a);
}

// x = L^-1 x for a factor whose rows are `stride` numbers apart.
inline void solve_lower(const double* L, size_t m, double* x, size_t stride) {
    for (size_t a = 0; a < m; ++a) x[a] = (x[a] - short_dot(L + a * stride, x, a)) / L[a * stride + a];
}

inline void solve_lower(const double* L, size_t m, double* x) { solve_lower(L, m, x, m); }

// x = H^-1 x from the factor L of H.
inline void solve_factor(const double* L, size_t m, double* x, size_t stride) {
    solve_lower(L, m, x, stride);
    for (size_t a = m; a-- > 0;) {
        x[a] /= L[a * stride + a];
        for (size_t b = 0; b < a; ++b) x[b] -= L[a * stride + b] * x[a];
    }
}

inline void solve_factor(const double* L, size_t m, double* x) { solve_factor(L, m, x, m); }

// log det H from the factor L of H.
inline double log_determinant(const double* L, size_t m) {
    double total = 0.0;
    for (size_t a = 0; a < m; ++a) total += std::log(L[a * m + a]);
    return 2.0 * total;
}

// The factor of a matrix to which rows are appended and from which they are removed, `most` rows at a time.
class GrowingCholesky {
public:
    explicit GrowingCholesky(size_t most) : stride(most), L(most * most) {}

    size_t size() const { return m; }

    // One more row and column: its entries with the rows that are there, and its diagonal entry. False, and nothing is
    // added, where the matrix would be singular.
    bool append(const std::vector<double>& entries, double diagonal) {
        double* row = &L[m * stride];
        for (size_t a = 0; a < m; ++a) row[a] = entries[a];
        row[m] = diagonal;
        if (!factorise_row(L.data(), stride, m, SINGULAR)) return false;
        ++m;
        return true;
    }

    // The rows behind move up; rotations of neighbouring columns make the factor triangular again.
    void remove(size_t place) {
        for (size_t a = place; a + 1 < m; ++a)
            for (size_t b = 0; b <= a + 1; ++b) L[a * stride + b] = L[(a + 1) * stride + b];
        --m;
        for (size_t c = place; c < m; ++c) {
            const double x = L[c * stride + c], y = L[c * stride + c + 1], length = std::hypot(x, y);
            const double cosine = x / length, sine = y / length;
            for (size_t a = c; a < m; ++a) {
                double *left = &L[a * stride + c], u = left[0], v = left[1];
                left[0] = cosine * u + sine * v;
                left[1] = cosine * v - sine * u;
            }
        }
    }

    // x = H^-1 x.
    void solve(std::vector<double>& x) const { solve_factor(L.data(), m, x.data(), stride); }

private:
    size_t m = 0, stride;
    std::vector<double> L;  // (most, most), of which the first m rows and columns are used
};

}  // namespace smaller
