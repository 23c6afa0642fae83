// The quadratic model of one Newton step for a penalised multinomial (or Gaussian) posterior, on a working set of
// coordinates (feature, class): means, gradient, curvature weights, and the step d (db of the intercepts) that is
// sought.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "block_norm.hpp"
#include "columns.hpp"

namespace smaller {

// Targets Y and scores are (n, k) by columns; s are the sample weights, of Gaussian targets divided by the noise.
struct Samples {
    size_t n, k;
    Family family;
    bool intercept;
    const double *Y, *s;
    double measure;  // what the gradient of an intercept is measured against
};

// The blocks of a working set, which are under a norm of strength tau; a coordinate alone is a block with tau 0.
struct BlockSet {
    Places start{0}, member;  // the coordinates of block g are the members from start[g] to start[g + 1]
    Numbers tau;
    Numbers unit;  // of each coordinate: inside a norm its weight is multiplied by this

    size_t count() const { return tau.size(); }
    size_t size(size_t g) const { return start[g + 1] - start[g]; }
    const size_t* members(size_t g) const { return &member[start[g]]; }
    void append(const Places& members, double strength) {
        member.insert(member.end(), members.begin(), members.end());
        start.push_back(member.size());
        tau.push_back(strength);
    }
};

struct WorkingSet {
    size_t size;
    const std::int64_t* feature;
    const std::int64_t* klass;  // sorted
    double* w;
    const double *l1, *l2, *scale;  // scale: what a KKT residual is measured against
    const BlockSet* blocks = nullptr;  // null where every coordinate is alone
};

template <class Columns>
struct Model {
    const Columns X;
    const Samples D;
    const WorkingSet A;
    const size_t n, k;
    const bool gaussian;
    const double total_s;
    std::vector<size_t> first;       // where in the working set each class begins
    std::vector<double> P, U;        // means at the current scores and residuals P - Y, (n, k)
    std::vector<double> g, gb;       // gradient in the weights and in the intercepts
    std::vector<double> d, db;       // the step
    std::vector<double> q, total_q;  // curvature weights of each class, (n, k), and their sums
    double rounding = 0.0;           // what rounding leaves of a KKT residual

    Model(const Columns& columns, const Samples& samples, const WorkingSet& set)
        : X(columns), D(samples), A(set), n(samples.n), k(samples.k), gaussian(samples.family == GAUSSIAN),
          total_s(sum(samples.s, n)), first(k + 1), P(n * k), U(n * k), g(set.size), gb(k), d(set.size), db(k),
          q(n * k), total_q(k), v(n) {
        for (size_t l = 0, i = 0; l <= k; ++l) {
            while (i < A.size && static_cast<size_t>(A.klass[i]) < l) ++i;
            first[l] = i;
        }
    }

    double penalty(double step) const {
        double total = 0.0;
        for (size_t i = 0; i < A.size; ++i) {
            const double w = A.w[i] + step * d[i];
            total += A.l1[i] * std::abs(w) + 0.5 * A.l2[i] * w * w;
        }
        for (size_t g = 0; A.blocks != nullptr && g < A.blocks->count(); ++g) {
            double square = 0.0;
            for (size_t r = A.blocks->start[g]; r < A.blocks->start[g + 1]; ++r) {
                const size_t i = A.blocks->member[r];
                const double w = (A.w[i] + step * d[i]) * A.blocks->unit[i];
                square += w * w;
            }
            if (square > 0.0) total += A.blocks->tau[g] * std::sqrt(square);
        }
        return total;
    }

    // The derivative of the penalty along the step, after a part of it.
    double penalty_slope(double step) const {
        double total = 0.0;
        for (size_t i = 0; i < A.size; ++i) {
            const double w = A.w[i] + step * d[i];
            total += d[i] * (A.l2[i] * w + (w > 0.0 ? A.l1[i] : w < 0.0 ? -A.l1[i] : 0.0));
        }
        for (size_t g = 0; A.blocks != nullptr && g < A.blocks->count(); ++g) {
            const Numbers from = weights(g, 0.0), to = weights(g, step);
            const double length = length_of(to);
            for (size_t r = 0; r < to.size() && length > 0.0; ++r)
                total += A.blocks->tau[g] * to[r] / length * (to[r] - from[r]) / step;
        }
        return total;
    }

    // The weights of a block after a part of the step, in the units of its norm; its gradient and its l1 in these.
    Numbers weights(size_t g, double step) const {
        return of_block(g, [&](size_t i) { return (A.w[i] + step * d[i]) * A.blocks->unit[i]; });
    }
    Numbers slopes(size_t g) const {
        return of_block(g, [&](size_t i) { return this->g[i] / A.blocks->unit[i]; });
    }
    Numbers l1_of(size_t g) const {
        return of_block(g, [&](size_t i) { return A.l1[i] / A.blocks->unit[i]; });
    }
    template <class Value>
    Numbers of_block(size_t g, Value value) const {
        Numbers out(A.blocks->size(g));
        const size_t* members = A.blocks->members(g);
        for (size_t r = 0; r < out.size(); ++r) out[r] = value(members[r]);
        return out;
    }

    // Coordinates that are not 0, or will not stay 0; of a block either all or none. In order.
    void list_active(Places& active) const {
        active.clear();
        if (A.blocks == nullptr) {
            for (size_t i = 0; i < A.size; ++i)
                if (A.w[i] != 0.0 || std::abs(g[i]) > A.l1[i]) active.push_back(i);
            return;
        }
        for (size_t block = 0; block < A.blocks->count(); ++block) {
            const size_t* members = A.blocks->members(block);
            const auto there = [&](size_t i) { return A.w[i] != 0.0; };
            if (std::any_of(members, members + A.blocks->size(block), there) ||
                soft_length(slopes(block), l1_of(block)) > A.blocks->tau[block])
                active.insert(active.end(), members, members + A.blocks->size(block));
        }
        std::sort(active.begin(), active.end());
    }

    // out = s U_l, the gradient of the loss in the scores of class l.
    void residual(size_t l, double* out) const { multiply(out, &U[l * n], D.s, n); }

    // The gradient at the current point, whose scores are F; returns the largest KKT residual on the working set.
    double gradient(const double* F) {
        double worst = 0.0;
        for (size_t l = 0; l < k; ++l) {
            residual(l, v.data());
            gb[l] = sum(v.data(), n);
            if (D.intercept && std::abs(gb[l]) <= SETTLED * total_s) {
                // What is left in a nearly fitted intercept must not be multiplied by the means of the columns.
                add(v.data(), D.s, 0.0, -gb[l] / total_s, n);
                gb[l] = 0.0;
            }
            if (D.intercept) worst = std::max(worst, std::abs(gb[l]) / D.measure);
            for (size_t i = first[l]; i < first[l + 1]; ++i) {
                g[i] = X.dot(A.feature[i], v.data()) + A.l2[i] * A.w[i];
                if (A.blocks == nullptr) worst = std::max(worst, kkt(A.w[i], g[i], A.l1[i]) / A.scale[i]);
            }
        }
        for (size_t block = 0; A.blocks != nullptr && block < A.blocks->count(); ++block) {
            const double off = block_kkt(weights(block, 0.0), slopes(block), l1_of(block), A.blocks->tau[block]);
            worst = std::max(worst, off / A.scale[*A.blocks->members(block)]);
        }
        double largest = 1.0;
        for (size_t t = 0; t < n * k; ++t) largest = std::max(largest, std::abs(F[t]));
        rounding = worst <= NEAR * largest ? rounding_of_products(F, worst) : 0.0;
        return worst;
    }

    // Rows that are wrong with great confidence have next to no curvature, and may ask for steps without end. In a
    // cautious model theirs is at least a small part of their residual, which no other row notices.
    void curvature_weights(const std::vector<double>& means, bool cautious) {
        const double least = cautious ? WRONG : 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *p = &means[l * n], *y = D.Y + l * n;
            for (size_t i = 0; i < n; ++i)
                q[l * n + i] = D.s[i] * (gaussian ? 1.0 : std::max(p[i] * (1.0 - p[i]), least * std::abs(p[i] - y[i])));
            total_q[l] = sum(&q[l * n], n);
        }
    }

    // What q_l has beyond s P_l (1 - P_l).
    double beyond(size_t l, size_t i) const {
        const double p = P[l * n + i];
        return gaussian ? 0.0 : q[l * n + i] - D.s[i] * p * (1.0 - p);
    }

    // The Hessian in the intercepts, (k, k), with q on its diagonal where asked.
    void intercept_block(const std::vector<double>& means, bool with_q, std::vector<double>& corner) {
        corner.assign(k * k, 0.0);
        for (size_t l = 0; l < k; ++l)
            for (size_t other = l; other < k && !(gaussian && other > l); ++other) {
                const double *p = &means[l * n], *po = &means[other * n];
                for (size_t i = 0; i < n; ++i)
                    v[i] = D.s[i] * (gaussian ? 1.0 : p[i] * ((other == l ? 1.0 : 0.0) - po[i]));
                corner[l * k + other] = corner[other * k + l] = sum(v.data(), n);
            }
        for (size_t l = 0; l < k && with_q; ++l) corner[l * k + l] = total_q[l];
    }

    // The Cholesky factor of a Hessian in the intercepts, in its place. Equal shifts of all classes change nothing, so
    // in the symmetric parametrisation their curvature may be anything positive.
    void factor_intercepts(std::vector<double>& corner) const {
        double trace = 0.0;
        for (size_t l = 0; l < k; ++l) trace += corner[l * k + l];
        for (size_t t = 0; t < k * k; ++t) corner[t] += D.family == SYMMETRIC ? trace / (k * k) : 0.0;
        for (size_t l = 0; l < k; ++l) corner[l * k + l] += 1e-14 * trace + 1e-300;
        factorise(corner.data(), k);
    }

    // The change of scores of the whole step, into E (n, k).
    void scores_of_step(std::vector<double>& E) const {
        std::fill(E.begin(), E.end(), 0.0);
        for (size_t i = 0; i < A.size; ++i)
            if (d[i] != 0.0) X.add(A.feature[i], d[i], &E[A.klass[i] * n]);
        for (size_t l = 0; l < k && D.intercept; ++l)
            for (size_t i = 0; i < n; ++i) E[l * n + i] += db[l];
    }

private:
    // An intercept's gradient below this, relative to the weights, is rounding.
    static constexpr double SETTLED = 1e-12;
    static constexpr double NEAR = 1e-5;      // a violation above this, times the largest score, is far above rounding
    static constexpr double EPSILON = 2e-16;
    static constexpr double WRONG = 0.01;     // of its residual: the least curvature of a row in a cautious model
    std::vector<double> v;
    std::vector<double> length;  // of each column, sqrt(sum s x^2)

    double unit(size_t i) const { return A.blocks == nullptr ? 1.0 : A.blocks->unit[i]; }

    // What rounding leaves of a KKT residual: that of a product of a column and residuals. Those of classes are known
    // up to the rounding of the scores, times the curvature. First from the lengths of both; where that is more than
    // the worst residual, from their products, whose errors do not depend on each other.
    double rounding_of_products(const double* F, double worst) {
        if (length.empty())
            for (size_t i = 0; i < A.size; ++i) length.push_back(std::sqrt(X.spread(A.feature[i], 0.0, D.s, total_s)));
        double most = 0.0, closer = 0.0;
        for (size_t l = 0; l < k; ++l) {
            for (size_t i = 0; i < n; ++i) {
                const double p = P[l * n + i], curvature = gaussian ? 0.0 : p * (1.0 - p);
                v[i] = std::abs(U[l * n + i]) + curvature * std::abs(F[l * n + i]);
            }
            const double all = std::sqrt(spread(v.data(), 0.0, D.s, n));
            for (size_t i = 0; i < n; ++i) v[i] *= D.s[i] * v[i] * D.s[i];
            for (size_t i = first[l]; i < first[l + 1]; ++i) {
                const double share = EPSILON / A.scale[i] / unit(i), upper = share * all * length[i];
                most = std::max(most, upper);
                if (upper >= worst)
                    closer = std::max(closer, share * std::sqrt(X.spread(A.feature[i], 0.0, v.data(), 0.0)));
            }
        }
        return most < worst ? most : closer;
    }
};

}  // namespace smaller
