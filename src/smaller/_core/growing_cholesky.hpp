// The Cholesky factor of a symmetric matrix to which rows are added and from which they are removed.
#pragma once
#include <cmath>
#include <vector>

#include "cholesky.hpp"

namespace smaller {

class GrowingCholesky {
public:
    explicit GrowingCholesky(size_t most) : stride(most), L(most * most) {}

    size_t size() const { return m; }

    // One more row and column: its products with those that are there, and its diagonal. False, and nothing is added, where
    // the matrix would be singular.
    bool append(const std::vector<double>& products, double diagonal) {
        double* row = &L[m * stride];
        for (size_t a = 0; a < m; ++a)
            row[a] = (products[a] - short_dot(&L[a * stride], row, a)) / L[a * stride + a];
        const double pivot = diagonal - short_dot(row, row, m);
        if (!(pivot > SINGULAR * diagonal)) return false;
        row[m++] = std::sqrt(pivot);
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
    void solve(std::vector<double>& x) const {
        for (size_t a = 0; a < m; ++a) x[a] = (x[a] - short_dot(&L[a * stride], x.data(), a)) / L[a * stride + a];
        for (size_t a = m; a-- > 0;) {
            x[a] /= L[a * stride + a];
            for (size_t b = 0; b < a; ++b) x[b] -= L[a * stride + b] * x[a];
        }
    }

private:
    size_t m = 0, stride;
    std::vector<double> L;  // lower, row by row
};

}  // namespace smaller
