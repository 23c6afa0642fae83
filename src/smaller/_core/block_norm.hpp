// One block of weights under the penalty  sum a |w| + tau ||w||:  its dual norm, and the violation of its optimality
// condition.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "eigen.hpp"
#include "penalty.hpp"

namespace smaller {

inline double length_of(const Numbers& x) { return std::sqrt(short_dot(x.data(), x.data(), x.size())); }

// ||soft(z, a)||: a block of zeros is optimal where this is at most tau.
inline double soft_length(const double* z, const double* a, size_t b) {
    double square = 0.0;
    for (size_t i = 0; i < b; ++i) {
        const double rest = soft(z[i], a[i]);
        square += rest * rest;
    }
    return std::sqrt(square);
}

inline double soft_length(const Numbers& z, const Numbers& a) { return soft_length(z.data(), a.data(), z.size()); }

// The smallest t with ||soft(z, t a)|| <= t tau. Entry i counts while t < |z_i| / a_i; with the entries in the order of
// these, the t at which the first of them count solves a quadratic equation.
inline double dual_norm(const Numbers& z, const Numbers& a, double tau) {
    const size_t b = z.size();
    const double most = std::accumulate(z.begin(), z.end(), 0.0,
                                        [](double worst, double one) { return std::max(worst, std::abs(one)); });
    if (!(most > 0.0)) return 0.0;
    const auto leaves = [&](size_t i) {
        return a[i] > 0.0 ? std::abs(z[i]) / a[i] / most : std::numeric_limits<double>::infinity();
    };
    std::vector<size_t> order(b);
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return leaves(i) > leaves(j); });
    double A = -tau * tau, B = 0.0, C = 0.0;
    for (size_t r = 0; r < b; ++r) {
        const double size = std::abs(z[order[r]]) / most, weight = a[order[r]];
        A += weight * weight;
        B += weight * size;
        C += size * size;
        const double t = r + 1 < b ? leaves(order[r + 1]) : 0.0;
        if (std::isfinite(t) && C - 2.0 * t * B + t * t * A >= 0.0) break;
    }
    return most * C / (B + std::sqrt(std::max(B * B - A * C, 0.0)));
}

// The distance of -g to the subdifferential of the penalty at w; g is the gradient of everything smooth.
inline double block_kkt(const Numbers& w, const Numbers& g, const Numbers& a, double tau) {
    const double length = length_of(w);
    if (!(length > 0.0)) return std::max(soft_length(g, a) - tau, 0.0);
    double square = 0.0;
    for (size_t i = 0; i < w.size(); ++i) {
        const double off = kkt(w[i], g[i] + tau / length * w[i], a[i]);
        square += off * off;
    }
    return std::sqrt(square);
}

}  // namespace smaller
