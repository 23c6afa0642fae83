// What the objective says at a point: its value, the largest violation of the optimality conditions, and the duality
// gap.
//
// F(W) = loss(Phi W + offset) + sum_t [ l1_t |w_t| + l2_t w_t^2 / 2 ] + sum_g tau_g ||W_g||.  A dual point is the
// residual U of the loss, shrunk by a rho at which rho |G| <= l1 wherever a weight has an L1 penalty and no ridge; its
// value is a lower bound on F:
//     -sum s f*(rho U) + rho known - sum (rho |G| - l1)_+^2 / (2 l2),      G = Phi^T diag(s) U.
// For the weights of a group it is the dual norm of G that rho makes at most 1, and the conjugate of the penalty of the
// group that is subtracted.
// Free weights are held where they are: they belong to the known part of the scores. What is left of their gradient,
// and what rounding may hide of every gradient, counts for moves that change the scores by about one, or double them.
#pragma once
#include <limits>

#include "block_minimum.hpp"
#include "groups.hpp"
#include "model.hpp"

namespace smaller {

// The point that is looked at. `near` are the weights with |G| > l1 or a little below, `support` those that are not 0,
// and `unsparse` those without an L1 penalty; intercepts aside.
struct Point {
    size_t d;
    const double *W, *F, *G;
    const Places &near, &support, &unsparse;
};

class Certificate {
public:
    double value = 0.0, violation = 0.0, gap = 0.0;
    std::vector<double> P, U;  // means and residuals, (n, k)

    static constexpr double FREE_TOLERANCE = 1e-9;  // a free weight counts as fitted where its residual is below this
    // So much of the objective at most may what is left of the free gradients change: the estimate of it is to first
    // order, for moves that no penalised weight cancels.
    static constexpr double FREE_SHARE = 1e-3;

    // `negligible`: a gap is relative to the objective, or to this where the objective is as good as 0.
    Certificate(const Samples& samples, const double* offset, double negligible)
        : P(samples.n * samples.k), U(P.size()), D(samples), offset(offset), negligible(negligible), n(samples.n),
          k(samples.k), total(samples.measure * samples.measure / sum(samples.s, samples.n)), terms(n), swing(n * k),
          far(k) {}

    // Means, residuals and loss of the scores: the first half, which does not need G.
    void read_scores(const double* F) {
        loss = means(F, D.Y, D.s, n, k, D.family, P.data(), U.data());
    }

    // The second half; span(j) is the weighted length of a column.
    template <class Span>
    void read(const Point& point, const Penalty& prior, Span span) {
        double penalty = 0.0;
        violation = free_violation(point, prior);
        const double free = violation;
        read_groups(point, prior, penalty);
        for (const size_t t : point.near)
            if (point.W[t] == 0.0 && !prior.grouped(t)) note(std::abs(point.G[t]) - prior.l1(t), prior.measure(t));
        for (const size_t t : point.unsparse)
            note(std::abs(point.G[t] + prior.ridge(t) * point.W[t]), prior.measure(t));
        for (const size_t t : point.support) {
            if (prior.grouped(t)) continue;
            const double w = point.W[t], ridge = prior.ridge(t);
            penalty += prior.l1(t) * std::abs(w) + 0.5 * ridge * w * w;
            note(kkt(w, point.G[t] + ridge * w, prior.l1(t)), prior.measure(t));
        }
        value = loss + penalty;
        gap = std::numeric_limits<double>::infinity();
        if (free <= FREE_TOLERANCE) gap = relative_gap(point, prior, span);
    }

    // The largest residual of a weight without any penalty.
    double free_violation(const Point& point, const Penalty& prior) const {
        double worst = 0.0;
        each_free(point, prior, [&](size_t t) { worst = std::max(worst, std::abs(point.G[t]) / prior.measure(t)); });
        return worst;
    }

private:
    // What rounding leaves of a sum of products, relative to the lengths of its factors.
    static constexpr double EPSILON = 1e-15;
    const Samples D;
    const double* offset;  // null where there is none
    const double negligible;
    const size_t n, k;
    const double total;  // of the sample weights, of Gaussian targets too
    double loss = 0.0;
    std::vector<double> terms, swing, far;
    Places groups;                         // that have a weight or are near to having one
    double over = 1.0, over_unridged = 1.0;  // the largest dual norm of theirs, and of those without a ridge

    // Violations, penalties and dual norms of the groups.
    void read_groups(const Point& point, const Penalty& prior, double& penalty) {
        over = over_unridged = 1.0;
        if (prior.groups == nullptr) return;
        prior.list_groups({&point.near, &point.support}, groups);
        for (const size_t g : groups) {
            const double tau = prior.tau(g);
            const Numbers w = prior.weights(g, point.W), z = prior.slopes(g, point.G), l1 = prior.l1_of(g);
            const Numbers ridge = prior.l2 == nullptr ? Numbers(w.size(), 0.0) : prior.ridge_of(g);
            Numbers smooth(z);
            penalty += tau * length_of(w);
            for (size_t i = 0; i < w.size(); ++i) {
                penalty += l1[i] * std::abs(w[i]) + 0.5 * ridge[i] * w[i] * w[i];
                smooth[i] += ridge[i] * w[i];
            }
            note(block_kkt(w, smooth, l1, tau), prior.measure(prior.first_place(g)));
            if (soft_length(z, l1) <= tau) continue;
            const double norm = dual_norm(z, l1, tau);
            over = std::max(over, norm);
            if (ridge[0] == 0.0) over_unridged = std::max(over_unridged, norm);
        }
    }

    template <class Visit>
    void each_free(const Point& point, const Penalty& prior, Visit visit) const {
        for (const size_t t : point.unsparse)
            if (prior.free(t)) visit(t);
        const size_t inner = point.d * k;
        for (size_t t = inner; t < inner + (D.intercept ? k : 0); ++t) visit(t);
    }

    // How far each score may still move: by about one, or as far as it is from the mean of its class. `far` has the
    // root mean square of that for each class.
    void measure_swing(const double* F) {
        const double unit = total / D.measure, all = sum(D.s, n);
        for (size_t l = 0; l < k; ++l) {
            const double *f = F + l * n, mean = dot(D.s, f, n) / all;
            for (size_t i = 0; i < n; ++i) swing[l * n + i] = unit + std::abs(f[i] - mean);
            far[l] = std::sqrt(spread(&swing[l * n], 0.0, D.s, n) / all);
        }
    }

    // What is left of the free weights' gradients, for moves of them that change the scores as far.
    double free_slack(const Point& point, const Penalty& prior) const {
        double slack = 0.0;
        each_free(point, prior, [&](size_t t) {
            slack += std::abs(point.G[t]) * far[t % k] * D.measure / prior.measure(t);
        });
        return slack;
    }

    void note(double residual, double measure) { violation = std::max(violation, residual / measure); }

    template <class Span>
    double relative_gap(const Point& point, const Penalty& prior, Span span) {
        double all = over, unridged = over_unridged;  // by how much G exceeds l1
        const auto compare = [&](size_t t) {
            const double g = std::abs(point.G[t]), l1 = prior.l1(t);
            if (prior.grouped(t) || !(g > l1) || prior.free(t)) return;
            const double over = l1 > 0.0 ? g / l1 : std::numeric_limits<double>::infinity();
            all = std::max(all, over);
            if (prior.ridge(t) == 0.0) unridged = std::max(unridged, over);
        };
        for (const auto* part : {&point.near, &point.support, &point.unsparse})
            for (const size_t t : *part) compare(t);
        const double known = known_part(point, prior);
        double dual = dual_at(point, prior, 1.0 / all, known);
        if (unridged != all) dual = std::max(dual, dual_at(point, prior, 1.0 / unridged, known));
        const double gap = std::max(0.0, value - dual), size = std::max(std::abs(value), negligible);
        measure_swing(point.F);
        const double slack = free_slack(point, prior);
        if (slack > FREE_SHARE * size) return std::numeric_limits<double>::infinity();
        return (gap + slack + rounding(point, span)) / size;
    }

    double dual_at(const Point& point, const Penalty& prior, double rho, double known) {
        double dual = rho * known - conjugate(rho), excess = 0.0;
        if (prior.l2 == nullptr) return dual;
        const auto add = [&](size_t t) {
            if (prior.grouped(t)) return;
            const double over = rho * std::abs(point.G[t]) - prior.l1(t);
            if (over > 0.0 && prior.ridge(t) > 0.0) excess += over * over / (2.0 * prior.ridge(t));
        };
        for (const size_t t : point.near) add(t);
        for (const size_t t : point.unsparse) add(t);
        for (const size_t g : groups) {
            const Numbers ridge = prior.ridge_of(g);
            Numbers z = prior.slopes(g, point.G);
            for (double& one : z) one *= rho;
            if (ridge[0] > 0.0) excess += block_conjugate(z, prior.l1_of(g), ridge, prior.tau(g));
        }
        return dual - excess;
    }

    // sum s f*(rho U).
    double conjugate(double rho) {
        if (D.family != GAUSSIAN) return negentropy(U.data(), D.Y, D.s, rho, n, k, D.family == REFERENCE);
        double total = 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *u = &U[l * n], *y = D.Y + l * n;
            for (size_t i = 0; i < n; ++i) terms[i] = rho * u[i] * (0.5 * rho * u[i] + y[i]);
            total += dot(D.s, terms.data(), n);
        }
        return total;
    }

    // sum s U.(offset + free part of the scores), as sum s U.F - G.W over the penalised weights.
    double known_part(const Point& point, const Penalty& prior) {
        double total = 0.0;
        for (size_t l = 0; l < k; ++l) {
            for (size_t i = 0; i < n; ++i) terms[i] = D.s[i] * U[l * n + i];
            total += dot(terms.data(), point.F + l * n, n);
        }
        for (const size_t t : point.support)
            if (!prior.free(t)) total -= point.G[t] * point.W[t];
        return total;
    }

    // What rounding may hide of the gap. The gradient of the loss in a score is known up to the rounding of the
    // residual, and of the terms of the score times its curvature; the gap, up to the products of these errors, which
    // do not depend on each other, with the moves of the scores.
    template <class Span>
    double rounding(const Point& point, Span span) {
        std::vector<double> square(k, 0.0);
        for (const size_t t : point.support) square[t % k] += point.W[t] * point.W[t] * span(t / k) * span(t / k);
        const double all = sum(D.s, n);
        double out = 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double b = D.intercept ? point.W[point.d * k + l] : 0.0;
            const double terms_of_score = std::sqrt(square[l] / all + b * b);
            for (size_t i = 0; i < n; ++i) {
                const size_t at = l * n + i;
                const double curvature = D.family == GAUSSIAN ? 1.0 : P[at] * (1.0 - P[at]);
                const double score = terms_of_score + (offset == nullptr ? 0.0 : std::abs(offset[at]));
                terms[i] = D.s[i] * (std::abs(U[at]) + curvature * score) * swing[at];
            }
            out += dot(terms.data(), terms.data(), n);
        }
        return EPSILON * std::sqrt(out);
    }
};

}  // namespace smaller
