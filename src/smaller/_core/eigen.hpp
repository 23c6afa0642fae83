// Eigenvalues and eigenvectors of a small symmetric matrix: reflections make it tridiagonal, then rotations diagonal.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cholesky.hpp"

namespace smaller {

using Numbers = std::vector<double>;

// Reflections of the rows and columns behind column j, one after another; the rows of U follow. What is left of A are
// its diagonal and the entries beside it.
inline void make_tridiagonal(Numbers& A, size_t b, Numbers& U, Numbers& diagonal, Numbers& beside) {
    Numbers v(b), w(b), sums(b);
    for (size_t j = 0; j + 2 < b; ++j) {
        const size_t rest = b - j - 1;
        for (size_t i = 0; i < rest; ++i) v[i] = A[(j + 1 + i) * b + j];
        const double length = std::sqrt(short_dot(v.data(), v.data(), rest));
        beside[j] = -std::copysign(length, v[0]);
        v[0] -= beside[j];
        const double square = short_dot(v.data(), v.data(), rest);
        if (!(square > 0.0)) continue;
        for (size_t i = 0; i < rest; ++i) v[i] /= std::sqrt(square);
        for (size_t i = 0; i < rest; ++i) w[i] = 2.0 * short_dot(&A[(j + 1 + i) * b + j + 1], v.data(), rest);
        const double along = short_dot(v.data(), w.data(), rest);
        for (size_t i = 0; i < rest; ++i) w[i] -= along * v[i];
        for (size_t r = 0; r < rest; ++r)
            for (size_t c = 0; c < rest; ++c) A[(j + 1 + r) * b + j + 1 + c] -= v[r] * w[c] + w[r] * v[c];
        std::fill(sums.begin(), sums.end(), 0.0);
        for (size_t r = 0; r < rest; ++r)
            for (size_t c = 0; c < b; ++c) sums[c] += v[r] * U[(j + 1 + r) * b + c];
        for (size_t r = 0; r < rest; ++r)
            for (size_t c = 0; c < b; ++c) U[(j + 1 + r) * b + c] -= 2.0 * v[r] * sums[c];
    }
    for (size_t i = 0; i < b; ++i) diagonal[i] = A[i * b + i];
    if (b > 1) beside[b - 2] = A[(b - 1) * b + b - 2];
}

// One sweep of the implicit QL method on rows `from` to `to` of a tridiagonal matrix; the rows of U follow.
inline void sweep_tridiagonal(size_t from, size_t to, Numbers& d, Numbers& e, Numbers& U) {
    const size_t b = d.size();
    double g = (d[from + 1] - d[from]) / (2.0 * e[from]);
    g = d[to] - d[from] + e[from] / (g + std::copysign(std::hypot(g, 1.0), g));
    double sine = 1.0, cosine = 1.0, p = 0.0;
    for (size_t i = to; i-- > from;) {
        const double f = sine * e[i], below = cosine * e[i], r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0.0) {  // the matrix falls into two
            d[i + 1] -= p;
            e[to] = 0.0;
            return;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - p;
        const double change = (d[i] - g) * sine + 2.0 * cosine * below;
        p = sine * change;
        d[i + 1] = g + p;
        g = cosine * change - below;
        double *upper = &U[i * b], *lower = &U[(i + 1) * b];
        for (size_t c = 0; c < b; ++c) {
            const double x = upper[c], y = lower[c];
            upper[c] = cosine * x - sine * y;
            lower[c] = sine * x + cosine * y;
        }
    }
    d[from] -= p;
    e[from] = g;
    e[to] = 0.0;
}

// The eigenvalues of a symmetric matrix that has none below 0, and its eigenvectors as the rows of U.
inline void decompose(Numbers A, size_t b, Numbers& values, Numbers& U) {
    constexpr int MOST_SWEEPS = 60;
    Numbers e(b, 0.0);
    values.assign(b, 0.0);
    U.assign(b * b, 0.0);
    for (size_t i = 0; i < b; ++i) U[i * b + i] = 1.0;
    make_tridiagonal(A, b, U, values, e);
    for (size_t from = 0; from < b; ++from)
        for (int sweep = 0; sweep < MOST_SWEEPS; ++sweep) {
            size_t to = from;
            while (to + 1 < b && std::abs(e[to]) > std::numeric_limits<double>::epsilon() *
                                                       (std::abs(values[to]) + std::abs(values[to + 1])))
                ++to;
            if (to == from) break;
            sweep_tridiagonal(from, to, values, e, U);
        }
    for (double& value : values) value = std::max(value, 0.0);
}

}  // namespace smaller
