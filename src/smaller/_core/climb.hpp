// The search for the model of Gaussian data with the greatest evidence on a working set of columns: the sequential
// algorithm from several starts, then exchanges of a column of the model for another, each followed by Newton's method
// on the precisions and the noise, as long as that raises the evidence.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "evidence.hpp"
#include "sequential.hpp"

namespace smaller {

// The models from which a search starts. They are on the columns `coarse` of the working set: precisions (len(coarse),
// count), infinite where a column is out. A start without columns stands for the start of the published algorithm, the
// column most correlated with the targets. Of the other starts the best `follow` are continued on all columns.
struct Starts {
    std::vector<size_t> coarse;
    const double* precisions;
    size_t count, follow;

    const double* precisions_of(size_t start) const { return precisions + start * coarse.size(); }
};

class Climb {
public:
    Climb(Products& gram, const GaussianData& data, const SearchRule& rule)
        : gram(gram), data(data), w(gram.w), k(data.k), outputs(static_cast<double>(k)), rule(rule),
          evidence(gram, data, rule.tol) {}

    // The settled end of the sequential algorithm from a model. No near copies of the model's columns are added.
    GaussianModel solve(const GaussianModel& start) { return solve(start, ALIKE, rule.tol); }

    // The same as published: from the column most correlated with the targets, to small gains.
    GaussianModel solve_published(double noise) { return solve(most_correlated(noise), ALIKE, FINE * rule.tol); }

    // Climbs from a solved model, if it is the best so far, until nothing gains `tol`.
    void climb(GaussianModel model) {
        if (model.value <= best.value) return;
        for (int round = 0; round < ROUNDS; ++round) {
            if (exchange(model)) continue;
            GaussianModel next = solve(model, rule.aligned, rule.tol);
            if (next.value <= model.value + rule.tol) break;
            model = std::move(next);
        }
        best = std::move(model);
    }

    const GaussianModel& found() const { return best; }

    // The column at a place of the model leaves, and `column` takes its place with precision alpha; column w: none
    // does.
    struct Swap {
        size_t place, column;
        double alpha, gain;
    };

    // For each column of a model its best replacement, and its mere deletion, where they lose at most SLACK with the
    // other precisions and the noise held; the largest gains first.
    std::vector<Swap> exchanges(const GaussianModel& model) {
        GaussianPosterior at;
        std::vector<Swap> found;
        const size_t M = model.columns.size();
        if (!M || !evidence.posterior(model, at)) return found;
        const std::vector<Replacement> replacement = replacements(model, at);
        for (size_t a = 0; a < M; ++a) {
            const double variance = at.variance(M, a), s = (1.0 - model.alpha[a] * variance) / variance;
            const double now = 0.5 * (at.square(M, a) / variance - outputs * std::log1p(s / model.alpha[a]));
            if (-now >= -SLACK) found.push_back({a, w, 0.0, -now});
            const double ratio = replacement[a].ratio;
            if (!(ratio > 1.0)) continue;
            const double gain = 0.5 * outputs * (ratio - 1.0 - std::log(ratio)) - now;
            if (gain >= -SLACK) found.push_back({a, replacement[a].column, replacement[a].s / (ratio - 1.0), gain});
        }
        std::sort(found.begin(), found.end(), [](const Swap& x, const Swap& y) { return x.gain > y.gain; });
        return found;
    }

private:
    struct Replacement {
        size_t column;
        double ratio, s;  // q^2 / (k s), with which the gain rises, and s, both without the column that is replaced
    };
    static constexpr int ROUNDS = 100;
    static constexpr double SLACK = 0.3;    // nats that an exchange may lose before the other precisions are settled
    static constexpr double ALIKE = 0.999;  // cosine of near copies
    static constexpr double FINE = 1e-4;    // small gains, in units of tol

    Products& gram;
    const GaussianData data;
    const size_t w, k;
    const double outputs;
    const SearchRule rule;
    GaussianEvidence evidence;
    GaussianModel best;

    // The column most correlated with the targets, at its best precision; no column where none raises the evidence.
    GaussianModel most_correlated(double noise) const {
        GaussianModel model;
        model.noise = noise;
        size_t column = 0;
        double top = 0.0;
        for (size_t j = 0; j < w; ++j) {
            double q2 = 0.0;
            for (size_t l = 0; l < k; ++l) q2 += data.C[l * w + j] * data.C[l * w + j];
            if (q2 > top * gram.norm[j]) {
                top = q2 / gram.norm[j];
                column = j;
            }
        }
        const double ratio = top / (noise * outputs), s = w ? gram.norm[column] / noise : 0.0;
        if (ratio > 1.0) {
            model.columns = {column};
            model.alpha = {s / (ratio - 1.0)};
        }
        return model;
    }

    GaussianModel solve(const GaussianModel& start, double alike, double least) {
        std::vector<double> alpha(w, POSITIVE_INFINITY);
        for (size_t a = 0; a < start.columns.size(); ++a) alpha[start.columns[a]] = start.alpha[a];
        Sequential steps(gram, data, alpha.data(), start.noise, rule.aligned, alike);
        steps.run(least, rule.max_steps);
        GaussianModel model;
        model.noise = steps.learned_noise();
        for (size_t j = 0; j < w; ++j)
            if (std::isfinite(alpha[j])) {
                model.columns.push_back(j);
                model.alpha.push_back(alpha[j]);
            }
        evidence.settle(model);
        return model;
    }

    // The first exchange whose settled model gains `tol`.
    bool exchange(GaussianModel& model) {
        for (const Swap& swap : exchanges(model)) {
            GaussianModel next = model;
            if (swap.column == w) {
                next.remove(swap.place);
            } else {
                next.columns[swap.place] = swap.column;
                next.alpha[swap.place] = swap.alpha;
            }
            evidence.settle(next, model.value + rule.tol);
            if (next.value > model.value + rule.tol) {
                model = std::move(next);
                return true;
            }
        }
        return false;
    }

    // For each column of the model the column outside of it that gains most in its place.
    std::vector<Replacement> replacements(const GaussianModel& model, const GaussianPosterior& at) {
        const size_t M = model.columns.size();
        const double beta = 1.0 / model.noise;
        std::vector<Replacement> top(M, {w, 0.0, 0.0});
        std::vector<double> T(M), E(M), Q(k);
        std::vector<char> inside(w, 0);
        for (const size_t j : model.columns) inside[j] = 1;
        for (size_t j = 0; j < w; ++j) {
            if (inside[j]) continue;
            for (size_t a = 0; a < M; ++a) T[a] = beta * gram.of(model.columns[a])[j];
            double S = beta * gram.norm[j];
            for (size_t a = 0; a < M; ++a) {
                E[a] = short_dot(at.Sigma.data() + a * M, T.data(), M);
                S -= E[a] * T[a];
            }
            S = std::max(S, 0.0);
            for (size_t l = 0; l < k; ++l)
                Q[l] = beta * data.C[l * w + j] - short_dot(T.data(), at.mu.data() + l * M, M);
            for (size_t a = 0; a < M; ++a) {
                const double variance = at.variance(M, a), s = S + E[a] * E[a] / variance;
                double q2 = 0.0;
                for (size_t l = 0; l < k; ++l) {
                    const double q = Q[l] + E[a] * at.mu[l * M + a] / variance;
                    q2 += q * q;
                }
                const double ratio = q2 / (outputs * std::max(s, 1e-300));
                if (ratio > top[a].ratio) top[a] = {j, ratio, s};
            }
        }
        return top;
    }
};

// The best model that the search finds on the columns X (n, w). Each start on some of the columns is solved on those
// first, with the noise that belongs to it.
inline GaussianModel climb_from(const double* X, size_t n, size_t w, const GaussianData& data, const Starts& starts,
                                const double* noises, const SearchRule& rule) {
    const size_t few = starts.coarse.size();
    std::vector<const double*> columns(few);
    std::vector<double> part(few * data.k);
    for (size_t j = 0; j < few; ++j) {
        columns[j] = X + starts.coarse[j] * n;
        for (size_t l = 0; l < data.k; ++l) part[l * few + j] = data.C[l * w + starts.coarse[j]];
    }
    Products few_products(std::move(columns), n, nullptr, false), products(each_column(X, n, w), n, nullptr, false);
    GaussianData few_data = data;
    few_data.C = part.data();
    Climb rough(few_products, few_data, rule), whole(products, data, rule);
    std::vector<GaussianModel> models;
    for (size_t i = 0; i < starts.count; ++i) {
        const double* alpha = starts.precisions_of(i);
        GaussianModel start;
        start.noise = noises[i];
        for (size_t j = 0; j < few; ++j)
            if (std::isfinite(alpha[j])) {
                start.columns.push_back(j);
                start.alpha.push_back(alpha[j]);
            }
        if (start.columns.empty()) {
            whole.climb(whole.solve_published(start.noise));
            continue;
        }
        models.push_back(rough.solve(start));
        for (size_t& column : models.back().columns) column = starts.coarse[column];
    }
    std::sort(models.begin(), models.end(), [](const auto& x, const auto& y) { return x.value > y.value; });
    for (size_t i = 0; i < std::min(starts.follow, models.size()); ++i) whole.climb(whole.solve(models[i]));
    return whole.found();
}

}  // namespace smaller
