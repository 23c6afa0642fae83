// Sweeps over the blocks of the quadratic model of a Newton step that read the columns one after another.
//
// With E the step's change of scores, the model has the working vectors
//     V_l = s (P_l - Y_l) + (q_l + s P_l^2) E_l - s P_l sum_o P_o E_o,
// so that its gradient for column x in class l is x . V_l. A free intercept is eliminated: each move of a block moves
// the intercepts so that they stay optimal. Their part of V is not written into it: of column x it is the product of
// their step with a small matrix B of that column, the second derivatives in its weights and the intercepts.
#pragma once
#include <functional>

#include "model.hpp"

namespace smaller {

template <class Columns>
class BlockSweeps {
public:
    explicit BlockSweeps(Model<Columns>& model) : M(model), n(model.n), k(model.k) {}

    // All blocks once, then the non-zero ones until no slope changes by more than the tolerance, and again, until a
    // sweep over all changes none. Returns the number of sweeps.
    int run(double tolerance, int max_sweeps, const std::function<void()>& poll) {
        begin();
        bool all = true;
        int sweeps = 0;
        while (sweeps < max_sweeps) {
            double moved = 0.0;
            for (size_t g = 0; g < M.A.blocks->count(); ++g) moved = std::max(moved, move(g, all));
            ++sweeps;
            if (moved <= tolerance && all) break;
            all = moved <= tolerance;
            if (sweeps % 64 == 0) poll();
        }
        if (M.D.intercept) M.db = shift;
        return sweeps;
    }

private:
    Model<Columns>& M;
    const size_t n, k;
    Numbers V, diagonal, mixed;   // (n, k): the working vectors, q + s P^2, s P (Gaussian: q, 0)
    Numbers shift, corner;        // the step of the intercepts so far, and the factor of their Hessian
    std::vector<Numbers> B;       // of each feature (k, k), in the order of `features`
    Places features, feature_of;  // of the working set; and the place there of each coordinate's
    std::vector<BlockModel> models;
    Numbers weight, means_moved;

    void begin() {
        V.resize(n * k);
        diagonal = M.q;
        mixed.assign(n * k, 0.0);
        weight.resize(n);
        means_moved.resize(n);
        models.assign(M.A.blocks->count(), BlockModel());
        for (size_t l = 0; l < k; ++l) {
            M.residual(l, &V[l * n]);
            for (size_t i = 0; i < n && !M.gaussian; ++i) {
                mixed[l * n + i] = M.D.s[i] * M.P[l * n + i];
                diagonal[l * n + i] += mixed[l * n + i] * M.P[l * n + i];
            }
        }
        shift.assign(k, 0.0);
        if (!M.D.intercept) return;
        M.intercept_block(M.P, true, corner);
        M.factor_intercepts(corner);
        for (size_t l = 0; l < k; ++l) shift[l] = -M.gb[l];
        solve_factor(corner.data(), k, shift.data());
        list_features();
        B.assign(features.size(), Numbers(k * k, 0.0));
        each_pair([&](size_t l, size_t o) {
            for (size_t c = 0; c < features.size(); ++c)
                B[c][l * k + o] = B[c][o * k + l] = M.X.dot(features[c], weight.data());
        });
    }

    void list_features() {
        features.assign(M.A.feature, M.A.feature + M.A.size);
        std::sort(features.begin(), features.end());
        features.erase(std::unique(features.begin(), features.end()), features.end());
        feature_of.resize(M.A.size);
        for (size_t i = 0; i < M.A.size; ++i)
            feature_of[i] = std::lower_bound(features.begin(), features.end(), static_cast<size_t>(M.A.feature[i])) -
                            features.begin();
    }

    // `weight` becomes the second derivatives of the loss in the scores of classes l <= o, for each such pair.
    template <class Visit>
    void each_pair(Visit visit) {
        for (size_t l = 0; l < k; ++l)
            for (size_t o = l; o < (M.gaussian ? l + 1 : k); ++o) {
                for (size_t i = 0; i < n; ++i)
                    weight[i] = o == l ? M.q[l * n + i] : -mixed[l * n + i] * M.P[o * n + i];
                visit(l, o);
            }
    }

    // The model of a block, whose intercepts follow: Q - B C^-1 B^T, in the units of its norm.
    void form(size_t g) {
        const size_t b = M.A.blocks->size(g), *members = M.A.blocks->members(g);
        Numbers Q(b * b, 0.0);
        each_pair([&](size_t l, size_t o) { add_products(l, o, b, members, Q); });
        for (size_t r = 0; r < b; ++r) Q[r * b + r] += M.A.l2[members[r]];
        std::vector<Numbers> reduced(M.D.intercept ? b : 0);
        for (size_t r = 0; r < reduced.size(); ++r) {
            reduced[r] = border(members[r]);
            solve_lower(corner.data(), k, reduced[r].data());
        }
        for (size_t r = 0; r < b; ++r)
            for (size_t c = 0; c < b; ++c) {
                if (M.D.intercept) Q[r * b + c] -= short_dot(reduced[r].data(), reduced[c].data(), k);
                Q[r * b + c] /= unit(members[r]) * unit(members[c]);
            }
        models[g] = BlockModel(std::move(Q), b);
    }

    // The entries of Q between the weights of class l and those of class o.
    void add_products(size_t l, size_t o, size_t b, const size_t* members, Numbers& Q) {
        Places left, right, rows, columns;
        for (size_t r = 0; r < b; ++r) {
            const size_t i = members[r];
            if (static_cast<size_t>(M.A.klass[i]) == l) left.push_back(r), rows.push_back(M.A.feature[i]);
            if (static_cast<size_t>(M.A.klass[i]) == o) right.push_back(r), columns.push_back(M.A.feature[i]);
        }
        Numbers found(left.size() * right.size(), 0.0);
        if (left.size() == 1 && right.size() == 1 && rows[0] == columns[0])
            found[0] = M.X.spread(rows[0], 0.0, weight.data(), 0.0);
        else
            M.X.cross({rows.data(), rows.size()}, {columns.data(), columns.size()}, false, weight.data(), found.data(),
                      right.size());
        for (size_t r = 0; r < left.size(); ++r)
            for (size_t c = 0; c < right.size(); ++c)
                Q[left[r] * b + right[c]] = Q[right[c] * b + left[r]] = found[r * right.size() + c];
    }

    double unit(size_t i) const { return M.A.blocks->unit[i]; }

    // The second derivatives in a weight and the intercepts, (k,).
    Numbers border(size_t i) const {
        const double* row = &B[feature_of[i]][M.A.klass[i] * k];
        return Numbers(row, row + k);
    }

    // The model's gradient in a weight.
    double slope(size_t i) const {
        double out = M.X.dot(M.A.feature[i], &V[M.A.klass[i] * n]) + M.A.l2[i] * (M.A.w[i] + M.d[i]);
        if (M.D.intercept) out += short_dot(&B[feature_of[i]][M.A.klass[i] * k], shift.data(), k);
        return out;
    }

    double move(size_t g, bool all) {
        Numbers w = M.weights(g, 1.0);
        const bool zero = length_of(w) == 0.0;
        if (zero && !all) return 0.0;
        const Numbers slopes = M.of_block(g, [&](size_t i) { return slope(i) / unit(i); }), l1 = M.l1_of(g);
        const double tau = M.A.blocks->tau[g];
        const size_t *members = M.A.blocks->members(g);
        if (zero && soft_length(slopes, l1) <= tau) return 0.0;
        if (!models[g].known()) form(g);
        double changed;
        if (tau > 0.0) changed = models[g].minimise(slopes, l1, tau, w);
        else {
            const double curvature = models[g].times({1.0})[0], was = w[0];
            w[0] = minimiser(was, slopes[0], curvature, l1[0]);
            changed = curvature * std::abs(w[0] - was);
        }
        take(g, w);
        return changed / M.A.scale[*members];
    }

    // The block goes to w; the weights of a feature move together.
    void take(size_t g, const Numbers& w) {
        const size_t b = w.size(), *members = M.A.blocks->members(g);
        Numbers step(b), turned(k, 0.0);
        for (size_t r = 0; r < b; ++r) {
            const size_t i = members[r];
            const double next = w[r] == 0.0 ? -M.A.w[i] : w[r] / unit(i) - M.A.w[i];
            step[r] = next - M.d[i];
            M.d[i] = next;
            if (!M.D.intercept || step[r] == 0.0) continue;
            const double* row = &B[feature_of[i]][M.A.klass[i] * k];
            for (size_t l = 0; l < k; ++l) turned[l] -= row[l] * step[r];
        }
        if (M.D.intercept) {
            solve_factor(corner.data(), k, turned.data());
            for (size_t l = 0; l < k; ++l) shift[l] += turned[l];
        }
        Places order(b);
        std::iota(order.begin(), order.end(), size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t r, size_t c) { return M.A.feature[members[r]] < M.A.feature[members[c]]; });
        for (size_t from = 0, to; from < b; from = to) {
            Numbers along(k, 0.0);
            const size_t feature = M.A.feature[members[order[from]]];
            for (to = from; to < b && static_cast<size_t>(M.A.feature[members[order[to]]]) == feature; ++to)
                along[M.A.klass[members[order[to]]]] = step[order[to]];
            add_column(feature, along);
        }
    }

    // V changes as the weights of one feature move, all classes at once.
    void add_column(size_t feature, const Numbers& along) {
        if constexpr (Columns::SPARSE) {
            M.X.each(feature, [&](size_t i, double x) {
                double mean = 0.0;
                for (size_t l = 0; l < k && !M.gaussian; ++l) mean += along[l] * M.P[l * n + i];
                for (size_t l = 0; l < k; ++l)
                    V[l * n + i] += x * (along[l] * diagonal[l * n + i] - mixed[l * n + i] * mean);
            });
            return;
        }
        std::fill(means_moved.begin(), means_moved.end(), 0.0);
        for (size_t l = 0; l < k && !M.gaussian; ++l)
            if (along[l] != 0.0) add(means_moved.data(), &M.P[l * n], 0.0, along[l], n);
        for (size_t l = 0; l < k; ++l) {
            if (M.gaussian && along[l] == 0.0) continue;
            const double *own = &diagonal[l * n], *shared = &mixed[l * n];
            for (size_t i = 0; i < n; ++i) weight[i] = along[l] * own[i] - shared[i] * means_moved[i];
            M.X.add_product(feature, weight.data(), &V[l * n]);
        }
    }
};

}  // namespace smaller
