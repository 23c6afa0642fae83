// The Laplace evidence of two classes on a working set: Newton's method to the mode of the weights, and the sequential
// algorithm on the Gaussian problem that has the mode's curvature, in turn. A change of the columns is accepted only if
// it raises the evidence of the settled model.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "cholesky.hpp"
#include "evidence.hpp"
#include "sequential.hpp"
#include "simd.hpp"

namespace smaller {

class Logistic {
public:
    // Precisions (w), infinite where a column is out; weights and last the intercept (w + 1); and what they are worth.
    struct Model {
        std::vector<double> alpha, v;
        double log_evidence = -std::numeric_limits<double>::infinity();
    };

    static constexpr double LOOSE = 1e-2;  // change of a log precision at which a model on the way is settled

    // y: 0 or 1; s: weights; offset: known part of the scores; level: precision of the intercept's prior, 0 where there
    // is none; near: relative accuracy of a mode on the way.
    Logistic(std::vector<const double*> columns, const double* y, const double* s, const double* offset, size_t n,
             double level, double tol, double near, double aligned, int max_steps)
        : columns(std::move(columns)), y(y), s(s), offset(offset), n(n), w(this->columns.size()), level(level), tol(tol),
          near(near), aligned(aligned), max_steps(max_steps), F(n), shifted(n), P(n), omega(n), residual(n), moved(n),
          scratch(n) {}

    // The model with its precisions re-estimated; columns that are better out leave. It may be given up where it does not
    // come near the evidence `wanted`.
    Model settled(const Model& start, double wanted = -std::numeric_limits<double>::infinity()) {
        at = start;
        mode(near);
        settle(LOOSE, near, wanted);
        return at;
    }

    // The better of a settled model and what the sequential algorithm on all columns makes of it.
    Model improved(const Model& start) {
        at = start;
        mode(near);
        std::vector<size_t> all(w);
        std::iota(all.begin(), all.end(), size_t{0});
        for (int round = 0; round < PROPOSALS; ++round) {
            const std::vector<size_t> before = rows;
            reestimate(all, tol);
            mode(near);
            if (rows == before) break;
        }
        settle(LOOSE, near, start.log_evidence);
        return at.log_evidence > start.log_evidence ? at : start;
    }

    // The sequential algorithm as published: from the column most correlated with the labels, a new mode whenever a column
    // enters or leaves, no near copies, to small gains.
    Model published() {
        at = first();
        mode(near);
        std::vector<size_t> all(w);
        std::iota(all.begin(), all.end(), size_t{0});
        for (int round = 0; round < max_steps; ++round) {
            const std::vector<size_t> before = rows;
            if (!drop_worst()) reestimate(all, FINE * tol, ALIKE, true);
            mode(near);
            if (rows == before) break;
        }
        settle(LOOSE, near, -std::numeric_limits<double>::infinity());
        return at;
    }

    // From an improved model upwards until nothing gains `tol`, and settled so that no log precision changes by `change`.
    Model climbed(Model best, double change) {
        for (int round = 0; round < CLIMBS && exchange(best); ++round) best = improved(best);
        at = best;
        mode(near);
        settle(change, std::min(near, 1e-4 * change * change), -std::numeric_limits<double>::infinity());
        return at;
    }

private:
    static constexpr int NEWTON = 100, HALVINGS = 30, PROPOSALS = 8, ROUNDS = 60, CLIMBS = 100;
    static constexpr double PROSPECT = 5.0;  // times its last rise, what the evidence of a model may still rise
    static constexpr double ALIKE = 0.999, FINE = 1e-3;  // cosine of near copies, and small gains in units of tol
    static constexpr double SCORE = 2.944;                // log odds by which the first column is to tell the labels
    static constexpr double PRECISE = 1e-9, LOG_2PI = 1.8378770664093453;

    const std::vector<const double*> columns;
    const double *y, *s, *offset;
    const size_t n, w;
    const double level, tol, near, aligned;
    const int max_steps;
    Model at;
    std::vector<size_t> rows;  // the columns of `at`
    std::vector<double> F, shifted, P, omega, residual, moved, scratch, L;

    // The mode at the precisions of the model, from its weights.
    void mode(double accuracy) {
        rows.clear();
        for (size_t j = 0; j < w; ++j) {
            if (std::isfinite(at.alpha[j]))
                rows.push_back(j);
            else
                at.v[j] = 0.0;
        }
        const size_t M = rows.size(), q = M + (level > 0.0);
        std::fill(F.begin(), F.end(), level > 0.0 ? at.v[w] : 0.0);
        for (const size_t j : rows) add(F.data(), columns[j], 0.0, at.v[j], n);
        double value = loss(F) + penalty();
        std::vector<double> H(q * q), g(q), step(q);
        for (int newton = 0; newton < NEWTON; ++newton) {
            system(H, g);
            if (!factorise_nearly(H, q, L)) break;
            step = g;
            solve_factor(L.data(), q, step.data());
            const double decrement = short_dot(step.data(), g.data(), q);
            if (!(decrement > accuracy * (1.0 + std::abs(value))) || !descend(step, decrement, value)) break;
        }
        double logs = level > 0.0 ? LOG_2PI : 0.0;
        for (const size_t j : rows) logs += std::log(at.alpha[j]);
        at.log_evidence = -value + 0.5 * (logs - log_determinant(L.data(), q));
    }

    // Posterior precision H and slope g at P, the intercept last.
    void system(std::vector<double>& H, std::vector<double>& g) {
        const size_t M = rows.size(), q = g.size();
        curve();
        for (size_t a = 0; a < M; ++a) {
            const double* x = columns[rows[a]];
            multiply(scratch.data(), x, omega.data(), n);
            for (size_t b = 0; b <= a; ++b) H[a * q + b] = H[b * q + a] = dot(columns[rows[b]], scratch.data(), n);
            if (q > M) H[M * q + a] = H[a * q + M] = sum(scratch.data(), n);
            H[a * q + a] += at.alpha[rows[a]];
            g[a] = dot(x, residual.data(), n) - at.alpha[rows[a]] * at.v[rows[a]];
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
        for (const size_t j : rows) total += at.alpha[j] * at.v[j] * at.v[j];
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
        const size_t M = rows.size();
        const std::vector<double> before = at.v;
        std::fill(scratch.begin(), scratch.end(), level > 0.0 ? step[M] : 0.0);
        for (size_t a = 0; a < M; ++a) add(scratch.data(), columns[rows[a]], 0.0, step[a], n);
        double length = 1.0;
        for (int halving = 0; halving < HALVINGS; ++halving, length *= 0.5) {
            for (size_t a = 0; a < M; ++a) at.v[rows[a]] = before[rows[a]] + length * step[a];
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

    // Precisions at which the problem with the curvature held is stationary, and the mode, in turn until their logarithms
    // change by less than `least`, or the evidence, which then rises ever more slowly, has no prospect of what is wanted.
    void settle(double least, double accuracy, double wanted) {
        for (int round = 0; round < ROUNDS && !rows.empty(); ++round) {
            const std::vector<size_t> members = rows;
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

    // The column most correlated with the labels, with the weight that least squares gives it.
    Model first() {
        Model model{std::vector<double>(w, std::numeric_limits<double>::infinity()), std::vector<double>(w + 1, 0.0)};
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

    // The column of the mode that had best leave, if any, leaves: of those with q^2 <= s the one that gains most.
    bool drop_worst() {
        const size_t M = rows.size(), q = M + (level > 0.0);
        std::vector<double> U(q * q);
        invert_factor(L.data(), q, U.data());
        size_t worst = w;
        double least = std::numeric_limits<double>::infinity();
        for (size_t a = 0; a < M; ++a) {
            const double alpha = at.alpha[rows[a]], variance = short_dot(U.data() + a * q + a, U.data() + a * q + a, q - a);
            const double s = (1.0 - alpha * variance) / variance, mean = at.v[rows[a]] / variance;
            const double level_now = 0.5 * (mean * mean / (alpha + s) - std::log1p(s / alpha));
            if (mean * mean <= s && level_now < least) {
                least = level_now;
                worst = rows[a];
            }
        }
        if (worst == w || M == 1) return false;
        at.alpha[worst] = std::numeric_limits<double>::infinity();
        return true;
    }

    // The sequential algorithm on some columns, the curvature held; with `once`, until a column enters or leaves.
    void reestimate(const std::vector<size_t>& members, double least, double alike = 1.0, bool once = false) {
        curve();
        std::vector<const double*> some;
        std::vector<double> precisions;
        std::vector<size_t> inside;
        for (const size_t j : members) {
            if (std::isfinite(at.alpha[j])) inside.push_back(some.size());
            some.push_back(columns[j]);
            precisions.push_back(at.alpha[j]);
        }
        Products products = frozen(std::move(some), inside);
        double noise = 1.0;
        Sequential(products, products.pulled.data(), 1, 1.0, 0.0, precisions.data(), noise, aligned, std::min(aligned, alike))
            .run(0.0, least, max_steps, &noise, once);
        for (size_t a = 0; a < members.size(); ++a) at.alpha[members[a]] = precisions[a];
    }

    // The Gaussian problem that has the curvature and the residual of the mode: products of columns with each other, and
    // with its targets; the intercept is eliminated by centring.
    Products frozen(std::vector<const double*> some, const std::vector<size_t>& inside) {
        for (size_t i = 0; i < n; ++i) scratch[i] = omega[i] * F[i] + residual[i];
        Products products(std::move(some), n, omega.data(), level > 0.0, inside, scratch.data());
        const double whole = sum(scratch.data(), n);
        for (size_t a = 0; a < products.w; ++a) products.pulled[a] -= products.mean[a] * whole;
        return products;
    }

    // One column of the model for another, each tried by itself; true where that gained `tol`.
    bool exchange(Model& best) {
        at = best;
        mode(near);
        curve();
        Products products = frozen(columns, rows);
        Climb held(products, products.pulled, 1, 1.0, 0.0, 0.0, tol, aligned, max_steps);
        Climb::Model model;
        model.rows = rows;
        for (const size_t j : rows) model.alpha.push_back(at.alpha[j]);
        for (const Climb::Swap& swap : held.exchanges(model)) {
            const size_t out = model.rows[swap.place];
            Model start = best;
            start.alpha[out] = std::numeric_limits<double>::infinity();
            if (swap.column < w) {
                start.alpha[swap.column] = swap.alpha;
                start.v[swap.column] = start.v[out] * std::sqrt(products.norm[out] / products.norm[swap.column]);
            }
            Model next = settled(start, best.log_evidence);
            if (next.log_evidence > best.log_evidence + tol) {
                best = std::move(next);
                return true;
            }
        }
        return false;
    }
};

// The best model on the columns X (n, w), as climb_from finds it for Gaussian data: as published, where a start has no
// column, from several starts on some columns and the best `follow` of them on all, and from each of these upwards.
inline Logistic::Model logistic_from(const double* X, const double* y, const double* s, const double* offset, size_t n,
                                     size_t w, double level, const std::vector<size_t>& coarse, const double* precisions,
                                     const double* weights, size_t starts, size_t follow, double tol, double change,
                                     double near, double aligned, int max_steps) {
    const size_t few = coarse.size();
    std::vector<const double*> some(few);
    for (size_t j = 0; j < few; ++j) some[j] = X + coarse[j] * n;
    Logistic rough(std::move(some), y, s, offset, n, level, tol, near, aligned, max_steps);
    Logistic whole(each_column(X, n, w), y, s, offset, n, level, tol, near, aligned, max_steps);
    std::vector<Logistic::Model> models, found;
    for (size_t i = 0; i < starts; ++i) {
        const double *alpha = precisions + i * few, *v = weights + i * (few + 1);
        Logistic::Model start{{alpha, alpha + few}, {v, v + few + 1}};
        const bool empty = std::none_of(start.alpha.begin(), start.alpha.end(), [](double a) { return std::isfinite(a); });
        if (!empty) start = rough.improved(rough.settled(start));
        Logistic::Model model{std::vector<double>(w, std::numeric_limits<double>::infinity()),
                              std::vector<double>(w + 1, 0.0), start.log_evidence};
        for (size_t j = 0; j < few; ++j) {
            model.alpha[coarse[j]] = start.alpha[j];
            model.v[coarse[j]] = start.v[j];
        }
        model.v[w] = start.v[few];
        if (empty)
            found.push_back(whole.published());
        else
            models.push_back(std::move(model));
    }
    const auto better = [](const auto& x, const auto& y) { return x.log_evidence > y.log_evidence; };
    std::sort(models.begin(), models.end(), better);
    for (size_t i = 0; i < std::min(follow, models.size()); ++i)
        found.push_back(few < w ? whole.improved(models[i]) : models[i]);
    for (Logistic::Model& model : found) model = whole.climbed(model, change);
    return *std::min_element(found.begin(), found.end(), better);
}

}  // namespace smaller
