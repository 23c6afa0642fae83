// The search for the model of two classes with the greatest Laplace evidence on a working set of columns. Newton's
// method to the mode of the weights alternates with the sequential algorithm on the Gaussian problem that has the
// curvature of the mode. A change of the columns is accepted only if it raises the evidence of the settled model.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "cholesky.hpp"
#include "climb.hpp"
#include "sequential.hpp"
#include "simd.hpp"

namespace smaller {

// Samples of two classes, all (n): labels y are 0 or 1, s are weights, offset is a known part of the scores.
struct BinaryData {
    const double *y, *s, *offset;
    size_t n;
    double level;  // precision of the Gaussian prior of the intercept; 0: there is no intercept
};

// A model of two classes on w columns.
struct LaplaceModel {
    std::vector<double> alpha;  // precisions (w), infinite where a column is out
    std::vector<double> v;      // weights (w) and the intercept
    double log_evidence = -POSITIVE_INFINITY;

    // No columns.
    explicit LaplaceModel(size_t w = 0) : alpha(w, POSITIVE_INFINITY), v(w + 1, 0.0) {}
    // Precisions and weights on w columns.
    LaplaceModel(const double* alpha, const double* v, size_t w) : alpha(alpha, alpha + w), v(v, v + w + 1) {}
};

class Logistic {
public:
    // near: the mode of a model on the way is computed until Newton's decrement is at most `near` times the objective.
    Logistic(std::vector<const double*> columns, const BinaryData& data, const SearchRule& rule, double near)
        : columns(std::move(columns)), y(data.y), s(data.s), offset(data.offset), n(data.n), w(this->columns.size()),
          level(data.level), near(near), rule(rule), F(n), shifted(n), P(n), omega(n), residual(n), moved(n),
          scratch(n) {}

    // A model with its precisions re-estimated; columns whose deletion raises the evidence are deleted. The method
    // gives up where the model is unlikely to reach the evidence `wanted`.
    LaplaceModel settled(const LaplaceModel& start, double wanted = -POSITIVE_INFINITY) {
        at = start;
        mode(near);
        settle(LOOSE, near, wanted);
        return at;
    }

    // The better of a settled model and the model to which the sequential algorithm on all columns leads from it.
    LaplaceModel improved(const LaplaceModel& start) {
        at = start;
        mode(near);
        for (int round = 0; round < PROPOSALS; ++round) {
            const std::vector<size_t> before = active;
            reestimate(all_columns(), rule.tol);
            mode(near);
            if (active == before) break;
        }
        settle(LOOSE, near, start.log_evidence);
        return at.log_evidence > start.log_evidence ? at : start;
    }

    // The sequential algorithm as published: from the column most correlated with the labels, with a new mode whenever
    // a column enters or leaves, without near copies of columns, to small gains.
    LaplaceModel published() {
        at = most_correlated();
        mode(near);
        for (int round = 0; round < rule.max_steps; ++round) {
            const std::vector<size_t> before = active;
            if (!drop_worst()) enter_or_leave();
            mode(near);
            if (active == before) break;
        }
        settle(LOOSE, near, -POSITIVE_INFINITY);
        return at;
    }

    // Exchanges of columns from an improved model until none gains `tol`; the end is settled until no log precision
    // changes by more than `change`.
    LaplaceModel climbed(LaplaceModel best, double change) {
        for (int round = 0; round < CLIMBS && exchange(best); ++round) best = improved(best);
        at = best;
        mode(near);
        settle(change, std::min(near, 1e-4 * change * change), -POSITIVE_INFINITY);
        return at;
    }

private:
    static constexpr int NEWTON = 100, HALVINGS = 30, PROPOSALS = 8, ROUNDS = 60, CLIMBS = 100;
    static constexpr double LOOSE = 1e-2;    // change of a log precision at which a model on the way is settled
    static constexpr double PROSPECT = 5.0;  // a settling model gains at most this many times its last rise of evidence
    static constexpr double ALIKE = 0.999;   // cosine of near copies
    static constexpr double FINE = 1e-3;     // small gains, in units of tol
    static constexpr double SCORE = 2.944;   // log odds to which the first column is to separate the classes
    static constexpr double PRECISE = 1e-9;  // least gain of a step that settles precisions with the curvature held
    static constexpr double LOG_2PI = 1.8378770664093453;

    const std::vector<const double*> columns;
    const double *y, *s, *offset;
    const size_t n, w;
    const double level, near;
    const SearchRule rule;
    LaplaceModel at;
    std::vector<size_t> active;  // the columns of the model `at`
    std::vector<double> F, shifted, P, omega, residual, moved, scratch, L;

    std::vector<size_t> all_columns() const {
        std::vector<size_t> all(w);
        std::iota(all.begin(), all.end(), size_t{0});
        return all;
    }

    // The mode at the precisions of the model, from its weights, and the log evidence: minus infinity where the Hessian
    // is singular, as with a precision of 0 where no sample has any curvature.
    void mode(double accuracy) {
        active.clear();
        for (size_t j = 0; j < w; ++j) {
            if (std::isfinite(at.alpha[j]))
                active.push_back(j);
            else
                at.v[j] = 0.0;
        }
        const size_t M = active.size(), q = M + (level > 0.0);
        std::fill(F.begin(), F.end(), level > 0.0 ? at.v[w] : 0.0);
        for (const size_t j : active) add(F.data(), columns[j], 0.0, at.v[j], n);
        double value = loss(F) + penalty();
        std::vector<double> H(q * q), g(q), step(q);
        for (int newton = 0; newton < NEWTON; ++newton) {
            system(H, g);
            if (!factorise_nearly(H, q, L)) {
                at.log_evidence = -POSITIVE_INFINITY;
                return;
            }
            step = g;
            solve_factor(L.data(), q, step.data());
            const double decrement = short_dot(step.data(), g.data(), q);
            if (!(decrement > accuracy * (1.0 + std::abs(value))) || !descend(step, decrement, value)) break;
        }
        double logs = level > 0.0 ? LOG_2PI : 0.0;
        for (const size_t j : active) logs += std::log(at.alpha[j]);
        at.log_evidence = -value + 0.5 * (logs - log_determinant(L.data(), q));
    }

    // Posterior precision H and slope g at P, the intercept last.
    void system(std::vector<double>& H, std::vector<double>& g) {
        const size_t M = active.size(), q = g.size();
        curve();
        for (size_t a = 0; a < M; ++a) {
            const double* x = columns[active[a]];
            multiply(scratch.data(), x, omega.data(), n);
            for (size_t b = 0; b <= a; ++b) H[a * q + b] = H[b * q + a] = dot(columns[active[b]], scratch.data(), n);
            if (q > M) H[M * q + a] = H[a * q + M] = sum(scratch.data(), n);
            H[a * q + a] += at.alpha[active[a]];
            g[a] = dot(x, residual.data(), n) - at.alpha[active[a]] * at.v[active[a]];
        }
        if (q > M) {
            H[M * q + M] = sum(omega.data(), n) + level;
            g[M] = sum(residual.data(), n) - level * at.v[w];
        }
    }

    // The negative log-likelihood of scores without their offset, with the probabilities in P.
    double loss(const std::vector<double>& scores) {
        for (size_t i = 0; i < n; ++i) shifted[i] = scores[i] + offset[i];
        return means(shifted.data(), y, s, n, 1, REFERENCE, P.data());
    }

    double penalty() const {
        double total = level * at.v[w] * at.v[w];
        for (const size_t j : active) total += at.alpha[j] * at.v[j] * at.v[j];
        return 0.5 * total;
    }

    // Curvature and residual of each sample at P.
    void curve() {
        for (size_t i = 0; i < n; ++i) {
            omega[i] = s[i] * P[i] * (1.0 - P[i]);
            residual[i] = s[i] * (y[i] - P[i]);
        }
    }

    // The first of ever shorter steps that lowers the negative log posterior.
    bool descend(const std::vector<double>& step, double decrement, double& value) {
        const size_t M = active.size();
        const std::vector<double> before = at.v;
        std::fill(scratch.begin(), scratch.end(), level > 0.0 ? step[M] : 0.0);
        for (size_t a = 0; a < M; ++a) add(scratch.data(), columns[active[a]], 0.0, step[a], n);
        double length = 1.0;
        for (int halving = 0; halving < HALVINGS; ++halving, length *= 0.5) {
            for (size_t a = 0; a < M; ++a) at.v[active[a]] = before[active[a]] + length * step[a];
            if (level > 0.0) at.v[w] = before[w] + length * step[M];
            for (size_t i = 0; i < n; ++i) moved[i] = F[i] + length * scratch[i];
            const double lower = loss(moved) + penalty();
            if (lower <= value - 1e-4 * length * decrement + 1e-13 * std::abs(value)) {
                std::swap(F, moved);
                value = lower;
                return true;
            }
        }
        at.v = before;
        loss(F);
        return false;
    }

    // Precisions at which the problem with the curvature held is stationary, and the mode, in turn, until no logarithm
    // of a precision changes by more than `least`, or the evidence is unlikely to reach `wanted`.
    void settle(double least, double accuracy, double wanted) {
        for (int round = 0; round < ROUNDS && !active.empty(); ++round) {
            const std::vector<size_t> members = active;
            const std::vector<double> before = at.alpha;
            const double evidence = at.log_evidence;
            reestimate(members, PRECISE);
            double change = 0.0;
            for (const size_t j : members) change = std::max(change, std::abs(std::log(at.alpha[j] / before[j])));
            mode(accuracy);
            const double rise = std::max(at.log_evidence - evidence, 0.0);
            if (change <= least || at.log_evidence + PROSPECT * rise < wanted) break;
        }
    }

    // The column most correlated with the labels, with its weight in the least-squares fit to scores of +-SCORE.
    LaplaceModel most_correlated() {
        LaplaceModel model(w);
        for (size_t i = 0; i < n; ++i) scratch[i] = s[i] * (2.0 * y[i] - 1.0);
        const Products products(columns, n, s, level > 0.0, {}, scratch.data());
        const double whole = sum(scratch.data(), n);
        size_t column = 0;
        double top = 0.0, weight = 0.0;
        for (size_t j = 0; j < w; ++j) {
            const double c = products.pulled[j] - products.mean[j] * whole;
            if (c * c > top * products.norm[j]) {
                top = c * c / products.norm[j];
                weight = SCORE * c / products.norm[j];
                column = j;
            }
        }
        if (top > 0.0) {
            model.v[column] = weight;
            model.alpha[column] = 1.0 / (weight * weight);
        }
        return model;
    }

    // Deletes the column with q^2 <= s whose deletion gains most; false where there is none, or no other column.
    bool drop_worst() {
        const size_t M = active.size(), q = M + (level > 0.0);
        std::vector<double> U(q * q);
        invert_factor(L.data(), q, U.data());
        size_t worst = w;
        double least = POSITIVE_INFINITY;
        for (size_t a = 0; a < M; ++a) {
            const double alpha = at.alpha[active[a]], variance = inverse_entry(U.data(), q, a, a);
            const double s = (1.0 - alpha * variance) / variance, mean = at.v[active[a]] / variance;
            const double now = contribution(alpha, s, mean * mean, 1.0);
            if (mean * mean <= s && now < least) {
                least = now;
                worst = active[a];
            }
        }
        if (worst == w || M == 1) return false;
        at.alpha[worst] = POSITIVE_INFINITY;
        return true;
    }

    // Some columns, their precisions, and the Gaussian problem on them that has the curvature of the mode.
    struct Frozen {
        std::vector<double> precisions;
        Products products;
        GaussianData data() const { return {products.pulled.data(), 1, 1.0, 0.0, 0.0}; }
    };

    Frozen frozen(const std::vector<size_t>& members) {
        curve();
        std::vector<const double*> some;
        std::vector<double> precisions;
        std::vector<size_t> inside;
        for (const size_t j : members) {
            if (std::isfinite(at.alpha[j])) inside.push_back(some.size());
            some.push_back(columns[j]);
            precisions.push_back(at.alpha[j]);
        }
        return {std::move(precisions), frozen(std::move(some), inside)};
    }

    // The sequential algorithm on the columns `members`, with the curvature held, until no step gains `least`.
    void reestimate(const std::vector<size_t>& members, double least) {
        Frozen held = frozen(members);
        Sequential(held.products, held.data(), held.precisions.data(), 1.0, rule.aligned, rule.aligned)
            .run(least, rule.max_steps);
        for (size_t a = 0; a < members.size(); ++a) at.alpha[members[a]] = held.precisions[a];
    }

    // The same on all columns until a column enters or leaves.
    void enter_or_leave() {
        Frozen held = frozen(all_columns());
        const double alike = std::min(rule.aligned, ALIKE);
        Sequential(held.products, held.data(), held.precisions.data(), 1.0, rule.aligned, alike)
            .run_to_next_change(FINE * rule.tol, rule.max_steps);
        at.alpha = held.precisions;
    }

    // The products of the Gaussian problem that has the curvature and the residual of the mode: of columns with each
    // other, at once for those of the model, `inside`, and with the targets. Centring eliminates the intercept.
    Products frozen(std::vector<const double*> some, const std::vector<size_t>& inside) {
        for (size_t i = 0; i < n; ++i) scratch[i] = omega[i] * F[i] + residual[i];
        Products products(std::move(some), n, omega.data(), level > 0.0, inside, scratch.data());
        const double whole = sum(scratch.data(), n);
        for (size_t a = 0; a < products.w; ++a) products.pulled[a] -= products.mean[a] * whole;
        return products;
    }

    // The first exchange of one column, or deletion, whose settled model gains `tol`; false where there is none.
    bool exchange(LaplaceModel& best) {
        at = best;
        mode(near);
        curve();
        Products products = frozen(columns, active);
        Climb held(products, {products.pulled.data(), 1, 1.0, 0.0, 0.0}, rule);
        GaussianModel model;
        model.columns = active;
        for (const size_t j : active) model.alpha.push_back(at.alpha[j]);
        for (const Climb::Swap& swap : held.exchanges(model)) {
            const size_t out = model.columns[swap.place];
            LaplaceModel start = best;
            start.alpha[out] = POSITIVE_INFINITY;
            if (swap.column < w) {
                start.alpha[swap.column] = swap.alpha;
                start.v[swap.column] = start.v[out] * std::sqrt(products.norm[out] / products.norm[swap.column]);
            }
            LaplaceModel next = settled(start, best.log_evidence);
            if (next.log_evidence > best.log_evidence + rule.tol) {
                best = std::move(next);
                return true;
            }
        }
        return false;
    }
};

// How precise a search for the Laplace evidence is: the change of a log precision at which its result is settled, and
// the relative accuracy of the modes on the way.
struct ModeRule {
    double change, near;
};

// A model on some columns as one on all w.
inline LaplaceModel widened(const LaplaceModel& model, const std::vector<size_t>& columns, size_t w) {
    LaplaceModel wide(w);
    for (size_t j = 0; j < columns.size(); ++j) {
        wide.alpha[columns[j]] = model.alpha[j];
        wide.v[columns[j]] = model.v[j];
    }
    wide.v[w] = model.v.back();
    wide.log_evidence = model.log_evidence;
    return wide;
}

// The best model that the search finds on the columns X (n, w); weights (len(coarse) + 1, count), the intercept last,
// are those of the starts. Each start on some of the columns is solved on those first.
inline LaplaceModel logistic_from(const double* X, size_t w, const BinaryData& data, const Starts& starts,
                                  const double* weights, const SearchRule& rule, const ModeRule& modes) {
    const size_t few = starts.coarse.size(), n = data.n;
    std::vector<const double*> some(few);
    for (size_t j = 0; j < few; ++j) some[j] = X + starts.coarse[j] * n;
    Logistic rough(std::move(some), data, rule, modes.near), whole(each_column(X, n, w), data, rule, modes.near);
    std::vector<LaplaceModel> models, found;
    for (size_t i = 0; i < starts.count; ++i) {
        const LaplaceModel start(starts.precisions_of(i), weights + i * (few + 1), few);
        const auto is_in = [](double alpha) { return std::isfinite(alpha); };
        if (std::any_of(start.alpha.begin(), start.alpha.end(), is_in))
            models.push_back(widened(rough.improved(rough.settled(start)), starts.coarse, w));
        else
            found.push_back(whole.published());
    }
    const auto better = [](const auto& x, const auto& y) { return x.log_evidence > y.log_evidence; };
    std::sort(models.begin(), models.end(), better);
    for (size_t i = 0; i < std::min(starts.follow, models.size()); ++i)
        found.push_back(few < w ? whole.improved(models[i]) : models[i]);
    for (LaplaceModel& model : found) model = whole.climbed(model, modes.change);
    return *std::min_element(found.begin(), found.end(), better);
}

}  // namespace smaller
