// Along a path most of the gradient need not be known, only that it is below a threshold.
//
// From strength to strength residuals shrink, and the gradient with them; by what residuals change besides, an entry of the
// gradient changes no more than that is long times its column. An entry is at most shrunk * (reach + length * way), in the
// units of the residuals when all of the gradient was computed last. Columns are centred where there is an intercept, whose
// residuals then sum to 0.
#pragma once
#include <limits>

#include "columns.hpp"

namespace smaller {

class GradientBounds {
public:
    static constexpr double UNKNOWN = std::numeric_limits<double>::infinity();

    GradientBounds(size_t n, size_t k) : n(n), k(k), shrunk(k), way(k, UNKNOWN) {}

    void measure(std::vector<double>&& lengths_of_columns) {
        length = std::move(lengths_of_columns);
        reach.resize(length.size() * k);
        were.resize(n * k);
    }
    bool measured() const { return !length.empty(); }

    // All of G was computed at the residuals R; `centred`: whether these sum to 0, without which there are no bounds.
    void renew(const double* G, const std::vector<double>& R, bool centred) {
        std::fill(shrunk.begin(), shrunk.end(), 1.0);
        std::fill(way.begin(), way.end(), centred ? 0.0 : UNKNOWN);
        for (size_t t = 0; t < reach.size(); ++t) reach[t] = std::abs(G[t]);
        were = R;
    }

    // On to the residuals R. False where they are too far from the last ones for bounds to be of use.
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

    // The columns whose entry of class l may exceed `threshold` times its unit.
    void exceeding(size_t l, double threshold, const double* unit, std::vector<size_t>& out) const {
        const double enough = (1.0 - ROUNDING) * threshold / shrunk[l];
        out.clear();
        for (size_t j = 0, t = l; j < length.size(); ++j, t += k)
            if (reach[t] + length[j] * way[l] > enough * unit[t]) out.push_back(j);
    }

    void must_be_computed(size_t t) { reach[t] = UNKNOWN; }
    void is_computed_already(size_t t) { reach[t] = -UNKNOWN; }
    void learn(size_t t, double gradient) {
        reach[t] = std::abs(gradient) / shrunk[t % k] - length[t / k] * way[t % k];
    }

private:
    static constexpr double ROUNDING = 1e-12;
    size_t n, k;
    std::vector<double> length, reach, shrunk, way, were;
};

}  // namespace smaller
