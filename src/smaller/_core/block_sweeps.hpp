// Sweeps over the blocks of the quadratic model of a Newton step that read the columns one after another.
//
// With E the step's change of scores, the model has the working vectors
//     V_l = s (P_l - Y_l) + (q_l + s P_l^2) E_l - s P_l sum_o P_o E_o,
// so that its gradient for column x in class l is x . V_l. A free intercept is eliminated: each move of a block moves
// the intercepts so that they stay optimal. Their part of V is not written into it: of column x it is the product of
// their step with a small matrix B of that column, the second derivatives in its weights and the intercepts.
//
// Inside a block the weights of one column lie side by side, so that they are read and moved together.
#pragma once
#include <functional>

#include "block_minimum.hpp"
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
            for (size_t g = 0; g < count(); ++g) moved = std::max(moved, move(g, all));
            ++sweeps;
            if (moved <= tolerance && all) break;
            all = moved <= tolerance;
            if (sweeps % 64 == 0) poll();
        }
        if (M.D.intercept) M.db = shift;
        return sweeps;
    }

private:
    // The weights of one column in a block: places `from` to `to`; the column is number `number` among the features.
    struct Run {
        size_t feature, number, from, to;
    };

    Model<Columns>& M;
    const size_t n, k;
    Places order, klass, first_run;  // the coordinate and the class at each place; the first run of each block
    std::vector<Run> runs;
    Numbers unit, l1, x;             // of each place, in units of the norms: x are the weights
    Numbers V, diagonal, mixed;      // (n, k): the working vectors, q + s P^2, s P (Gaussian: q, 0)
    Numbers pairs;                   // the curvature between classes l <= o, one after another; empty where too large
    Numbers shift, corner;           // the step of the intercepts so far, and the factor of their Hessian
    Numbers B;                       // of each feature (k, k)
    std::vector<BlockModel> models;
    Places features;  // of a block whose columns are read together
    Numbers slopes, next, along, turned, weight, means_moved, scores_moved, products, steps;  // scratch

    static constexpr size_t KEPT = 1 << 20;  // numbers: curvatures between classes are kept up to so many

    size_t count() const { return M.A.blocks->count(); }
    size_t first(size_t g) const { return M.A.blocks->start[g]; }
    size_t size(size_t g) const { return M.A.blocks->size(g); }
    size_t feature_at(size_t i) const { return static_cast<size_t>(M.A.feature[i]); }

    void begin() {
        if (order.empty()) arrange();
        for (size_t p = 0; p < order.size(); ++p) x[p] = (M.A.w[order[p]] + M.d[order[p]]) * unit[p];
        V.resize(n * k);
        diagonal = M.q;
        mixed.assign(n * k, 0.0);
        models.assign(count(), BlockModel());
        for (size_t l = 0; l < k; ++l) {
            M.residual(l, &V[l * n]);
            for (size_t i = 0; i < n && !M.gaussian; ++i) {
                mixed[l * n + i] = M.D.s[i] * M.P[l * n + i];
                diagonal[l * n + i] += mixed[l * n + i] * M.P[l * n + i];
            }
        }
        pairs.clear();
        if (n * k * (k + 1) / 2 <= KEPT)
            each_pair([&](size_t, size_t, const double* curvature) {
                pairs.insert(pairs.end(), curvature, curvature + n);
            });
        shift.assign(k, 0.0);
        if (!M.D.intercept) return;
        M.intercept_block(M.P, true, corner);
        M.factor_intercepts(corner);
        for (size_t l = 0; l < k; ++l) shift[l] = -M.gb[l];
        solve_factor(corner.data(), k, shift.data());
        each_pair([&](size_t l, size_t o, const double* curvature) {
            for (const Run& run : runs) {
                double* own = &B[run.number * k * k];
                own[l * k + o] = own[o * k + l] = M.X.dot(run.feature, curvature);
            }
        });
    }

    // The places of the working set, block by block, and what does not change from step to step.
    void arrange() {
        order = M.A.blocks->member;
        weight.resize(n);
        means_moved.resize(n);
        along.resize(k);
        turned.resize(k);
        for (size_t g = 0; g < count(); ++g) {
            const auto begins = order.begin() + first(g), ends = begins + size(g);
            std::stable_sort(begins, ends, [&](size_t i, size_t j) { return M.A.feature[i] < M.A.feature[j]; });
            first_run.push_back(runs.size());
            for (size_t p = first(g); p < first(g) + size(g); ++p) {
                if (p == first(g) || feature_at(order[p]) != runs.back().feature)
                    runs.push_back({feature_at(order[p]), runs.size(), p, p});
                runs.back().to = p + 1;
            }
        }
        first_run.push_back(runs.size());
        x.resize(order.size());
        for (const size_t i : order) {
            klass.push_back(static_cast<size_t>(M.A.klass[i]));
            unit.push_back(M.A.blocks->unit[i]);
            l1.push_back(M.A.l1[i] / M.A.blocks->unit[i]);
        }
        B.assign(M.D.intercept ? runs.size() * k * k : 0, 0.0);
    }

    // The second derivatives of the loss in the scores of classes l <= o, for each such pair.
    template <class Visit>
    void each_pair(Visit visit) {
        size_t place = 0;
        for (size_t l = 0; l < k; ++l)
            for (size_t o = l; o < (M.gaussian ? l + 1 : k); ++o, place += n) {
                if (o == l) visit(l, o, &M.q[l * n]);
                else if (place < pairs.size()) visit(l, o, &pairs[place]);
                else {
                    for (size_t i = 0; i < n; ++i) weight[i] = -mixed[l * n + i] * M.P[o * n + i];
                    visit(l, o, weight.data());
                }
            }
    }

    // The model of a block, whose intercepts follow: Q - B C^-1 B^T, in the units of its norm.
    void form(size_t g) {
        const size_t b = size(g), from = first(g);
        Numbers Q(b * b, 0.0);
        if (first_run[g + 1] - first_run[g] == 1) add_column_products(runs[first_run[g]], Q);
        else each_pair([&](size_t l, size_t o, const double* curvature) { add_products(g, l, o, curvature, Q); });
        for (size_t r = 0; r < b; ++r) Q[r * b + r] += M.A.l2[order[from + r]];
        Numbers reduced(M.D.intercept ? b * k : 0);
        for (size_t q = first_run[g]; q < first_run[g + 1] && M.D.intercept; ++q)
            for (size_t p = runs[q].from; p < runs[q].to; ++p) {
                double* row = &reduced[(p - from) * k];
                std::copy_n(border(runs[q], p), k, row);
                solve_lower(corner.data(), k, row);
            }
        for (size_t r = 0; r < b; ++r)
            for (size_t c = 0; c < b; ++c) {
                if (M.D.intercept) Q[r * b + c] -= short_dot(&reduced[r * k], &reduced[c * k], k);
                Q[r * b + c] /= unit[from + r] * unit[from + c];
            }
        models[g] = BlockModel(std::move(Q), b);
    }

    // The block of the weights of a single column.
    void add_column_products(const Run& run, Numbers& Q) {
        const size_t b = run.to - run.from;
        each_pair([&](size_t l, size_t o, const double* curvature) {
            for (size_t r = 0; r < b; ++r)
                for (size_t c = r; c < b; ++c)
                    if (klass[run.from + r] == l && klass[run.from + c] == o)
                        Q[r * b + c] = Q[c * b + r] = M.X.spread(run.feature, 0.0, curvature, 0.0);
        });
    }

    // The entries between the weights of class l and those of class o.
    void add_products(size_t g, size_t l, size_t o, const double* curvature, Numbers& Q) {
        Places left, right, rows, columns;
        for (size_t q = first_run[g]; q < first_run[g + 1]; ++q)
            for (size_t p = runs[q].from; p < runs[q].to; ++p) {
                if (klass[p] == l) left.push_back(p - first(g)), rows.push_back(runs[q].feature);
                if (klass[p] == o) right.push_back(p - first(g)), columns.push_back(runs[q].feature);
            }
        const size_t b = size(g);
        Numbers found(left.size() * right.size(), 0.0);
        M.X.cross({rows.data(), rows.size()}, {columns.data(), columns.size()}, l == o, curvature, found.data(),
                  right.size());
        for (size_t r = 0; r < left.size(); ++r)
            for (size_t c = l == o ? r : 0; c < right.size(); ++c)
                Q[left[r] * b + right[c]] = Q[right[c] * b + left[r]] = found[r * right.size() + c];
    }

    // The second derivatives in the weight at a place and the intercepts, (k,).
    const double* border(const Run& run, size_t p) const { return &B[(run.number * k + klass[p]) * k]; }

    double move(size_t g, bool all) {
        const size_t from = first(g), b = size(g);
        const bool zero = std::all_of(&x[from], &x[from] + b, [](double weight) { return weight == 0.0; });
        if (zero && !all) return 0.0;
        read_slopes(g);
        const double tau = M.A.blocks->tau[g];
        if (zero && soft_length(slopes.data(), &l1[from], b) <= tau) return 0.0;
        if (!models[g].known()) form(g);
        next.assign(&x[from], &x[from] + b);
        double changed;
        if (tau > 0.0) changed = models[g].minimise(slopes.data(), &l1[from], tau, next.data());
        else {
            const double curvature = models[g].curvature();
            next[0] = minimiser(x[from], slopes[0], curvature, l1[from]);
            changed = curvature * std::abs(next[0] - x[from]);
        }
        take(g);
        return changed / M.A.scale[order[from]];
    }

    // The gradient of the model in the weights of a block, in the units of its norm.
    void read_slopes(size_t g) {
        slopes.resize(size(g));
        if (together(g)) read_products(g);
        for (size_t q = first_run[g], r = 0; q < first_run[g + 1]; ++q)
            for (size_t p = runs[q].from; p < runs[q].to; ++p, ++r) {
                const double ridge = M.A.l2[order[p]];
                double out = together(g) ? products[klass[p] * features.size() + q - first_run[g]]
                                         : M.X.dot(runs[q].feature, &V[klass[p] * n]);
                if (ridge != 0.0) out += ridge * x[p] / unit[p];
                if (M.D.intercept) out += short_dot(border(runs[q], p), shift.data(), k);
                slopes[r] = out / unit[p];
            }
    }

    // Dense columns of a block are read together: its working vectors are then read fewer times.
    bool together(size_t g) const { return !Columns::SPARSE && first_run[g + 1] - first_run[g] > 1; }

    // The products of the columns of a block with the working vector of each class, class by class.
    void read_products(size_t g) {
        features.clear();
        for (size_t q = first_run[g]; q < first_run[g + 1]; ++q) features.push_back(runs[q].feature);
        products.resize(k * features.size());
        for (size_t l = 0; l < k; ++l) M.X.pull(features, &V[l * n], &products[l * features.size()]);
    }

    // The block goes to `next`; the intercepts follow.
    void take(size_t g) {
        steps.assign(k * (first_run[g + 1] - first_run[g]), 0.0);
        std::fill(turned.begin(), turned.end(), 0.0);
        for (size_t q = first_run[g]; q < first_run[g + 1]; ++q) {
            const Run& run = runs[q];
            bool moves = false;
            std::fill(along.begin(), along.end(), 0.0);
            for (size_t p = run.from; p < run.to; ++p) {
                const size_t i = order[p];
                x[p] = next[p - first(g)];
                const double d = x[p] == 0.0 ? -M.A.w[i] : x[p] / unit[p] - M.A.w[i], step = d - M.d[i];
                M.d[i] = d;
                if (step == 0.0) continue;
                moves = true;
                along[klass[p]] = step;
                steps[klass[p] * (first_run[g + 1] - first_run[g]) + q - first_run[g]] = step;
                const double* row = M.D.intercept ? border(run, p) : nullptr;
                for (size_t l = 0; l < k && row != nullptr; ++l) turned[l] -= row[l] * step;
            }
            if (moves && !together(g)) add_column(run.feature);
        }
        if (together(g)) add_columns();
        if (!M.D.intercept) return;
        solve_factor(corner.data(), k, turned.data());
        for (size_t l = 0; l < k; ++l) shift[l] += turned[l];
    }

    // V changes as the scores move with all columns of a block, those that were read for its slopes.
    void add_columns() {
        scores_moved.assign(n * k, 0.0);
        for (size_t l = 0; l < k; ++l) M.X.add(features, &steps[l * features.size()], &scores_moved[l * n]);
        if (k == 1) return add_weighted(V.data(), M.q.data(), scores_moved.data(), 0.0, 1.0, n);
        std::fill(means_moved.begin(), means_moved.end(), 0.0);
        for (size_t l = 0; l < k && !M.gaussian; ++l)
            add_weighted(means_moved.data(), &M.P[l * n], &scores_moved[l * n], 0.0, 1.0, n);
        for (size_t l = 0; l < k; ++l) {
            add_weighted(&V[l * n], &diagonal[l * n], &scores_moved[l * n], 0.0, 1.0, n);
            if (!M.gaussian) add_weighted(&V[l * n], &mixed[l * n], means_moved.data(), 0.0, -1.0, n);
        }
    }

    // V changes as the weights of one column move along all classes at once.
    void add_column(size_t feature) {
        if constexpr (Columns::SPARSE) {
            M.X.each(feature, [&](size_t i, double value) {
                double mean = 0.0;
                for (size_t l = 0; l < k && !M.gaussian; ++l) mean += along[l] * M.P[l * n + i];
                for (size_t l = 0; l < k; ++l)
                    V[l * n + i] += value * (along[l] * diagonal[l * n + i] - mixed[l * n + i] * mean);
            });
        } else if (M.gaussian) {
            for (size_t l = 0; l < k; ++l) {
                if (along[l] == 0.0) continue;
                add_weighted(&V[l * n], &diagonal[l * n], M.X.column(feature), 0.0, along[l], n);
            }
        } else {
            std::fill(means_moved.begin(), means_moved.end(), 0.0);
            for (size_t l = 0; l < k; ++l)
                if (along[l] != 0.0) add(means_moved.data(), &M.P[l * n], 0.0, along[l], n);
            for (size_t l = 0; l < k; ++l)
                add_turned(&V[l * n], &diagonal[l * n], &mixed[l * n], means_moved.data(), M.X.column(feature),
                           along[l], n);
        }
    }
};

}  // namespace smaller
