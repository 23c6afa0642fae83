// Upper bounds of the entries of the gradient X^T R along a path, from which a solver knows which entries it must
// compute.
//
// Let R_0 be the residuals at which the whole gradient was computed. Every later change of the residuals, from R to R',
// is split into a multiple of R and a rest: R' = share R + rest. An entry of the gradient is multiplied by the share
// and then changes by at most |rest| times the length of its column. So its size is at most
//     shrunk * (reach + length * way),      shrunk = product of the shares,  way = sum of |rest| / shrunk,
// where reach is the size of the entry at R_0. With an intercept the columns are centred, and the residuals must sum to
// 0.
#pragma once
#include <limits>

#include "columns.hpp"

namespace smaller {

class GradientBounds {
public:
    static constexpr double UNKNOWN = std::numeric_limits<double>::infinity();

    GradientBounds(size_t n, size_t k) : n(n), k(k), shrunk(k), way(k, UNKNOWN) {}

    // Sets the lengths of the columns, without which there are no bounds.
    void measure(std::vector<double>&& lengths_of_columns) {
        length = std::move(lengths_of_columns);
        reach.resize(length.size() * k);
        were.resize(n * k);
    }
    bool measured() const { return !length.empty(); }

    // All of G was computed at the residuals R. Unless `centred`, they do not sum to 0, and there are no bounds.
    void renew(const double* G, const std::vector<double>& R, bool centred) {
        std::fill(shrunk.begin(), shrunk.end(), 1.0);
        std::fill(way.begin(), way.end(), centred ? 0.0 : UNKNOWN);
        for (size_t t = 0; t < reach.size(); ++t) reach[t] = std::abs(G[t]);
        were = R;
    }

    // The residuals have become R. False where there are no bounds, or R is too far from the last residuals.
    bool advance(const std::vector<double>& R) {
        for (size_t l = 0; l < k; ++l) {
            const double *now = &R[l * n], *then = &were[l * n];
            const double before = dot(then, then, n), share = before > 0.0 ? dot(then, now, n) / before : 0.0;
            if (way[l] == UNKNOWN || !(share > 0.1)) return false;
            double square = 0.0;
            for (size_t i = 0; i < n; ++i) square += (now[i] - share * then[i]) * (now[i] - share * then[i]);
            shrunk[l] *= share;
            way[l] += std::sqrt(square) / shrunk[l];
        }
        were = R;
        return true;
    }

    // The columns whose entry of class l may exceed `threshold` times its unit, into `out`.
    void exceeding(size_t l, double threshold, const double* unit, std::vector<size_t>& out) const {
        const double enough = (1.0 - ROUNDING) * threshold / shrunk[l];
        out.clear();
        for (size_t j = 0, t = l; j < length.size(); ++j, t += k)
            if (reach[t] + length[j] * way[l] > enough * unit[t]) out.push_back(j);
    }

    // What the size of entry t does not exceed.
    double bound(size_t t) const {
        return (1.0 + ROUNDING) * shrunk[t % k] * (reach[t] + length[t / k] * way[t % k]);
    }

    // Entry t = j k + l, of column j and class l: `exceeding` always returns it, or never does, or its size is known.
    void must_be_computed(size_t t) { reach[t] = UNKNOWN; }
    void is_computed_already(size_t t) { reach[t] = -UNKNOWN; }
    void learn(size_t t, double gradient) {
        reach[t] = std::abs(gradient) / shrunk[t % k] - length[t / k] * way[t % k];
    }

private:
    static constexpr double ROUNDING = 1e-12;  // relative error of a bound
    size_t n, k;
    std::vector<double> length, reach, shrunk, way, were;
};

}  // namespace smaller
