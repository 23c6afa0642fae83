// A quadratic model with an explicit Hessian and blocks under norms:
//     g.d + d^T H d / 2 + sum_i l1_i |w_i + d_i| + sum_g tau_g ||(w + d)_g||.
//
// Sweeps minimise over one block at a time, which finds the blocks of zeros. Newton's equations of all weights that are
// not 0, where the norms are smooth, come in between.
#pragma once
#include "block_minimum.hpp"
#include "block_smoothing.hpp"
#include "model.hpp"
#include "quadratic.hpp"

namespace smaller {

class BlockQuadratic {
public:
    BlockQuadratic(const Quadratic& model, const BlockSet& blocks)
        : M(model), blocks(blocks), a(model.size), models(blocks.count()) {}

    // Until a sweep changes no slope by more than the tolerance, in units of the scale. Counts sweeps.
    int run(double tolerance) {
        const int rest = static_cast<int>(std::min<size_t>(a / SWEEPS_PER_FACTOR, MAX_REST));
        int sweeps = 0;
        double most = 1.0;  // of the longest block: the smoothing begins with
        for (int next = rest; sweeps < MAX_SWEEPS; ++sweeps) {
            if (sweep() <= tolerance) return sweeps;
            if ((sweeps + 1) % SWEEPS_PER_SMOOTHING == 0) {
                smooth(most, LEAST * most);
                most *= 0.1;
            }
            if (sweeps < next) continue;
            solve_on_support();
            next += std::max(2, rest);
        }
        return sweeps;
    }

private:
    const Quadratic M;
    const BlockSet& blocks;
    const size_t a;
    std::vector<BlockModel> models;  // of blocks that have moved
    Numbers factor;

    static constexpr int MAX_SWEEPS = 300, HALVINGS = 40, DOUBLINGS = 30, SWEEPS_PER_SMOOTHING = 60;
    static constexpr double LEAST = 1e-4;  // of the smoothing that a pass begins with, it ends with
    static constexpr size_t SWEEPS_PER_FACTOR = 8, MAX_REST = 24;  // one sweep for so many rows of the Cholesky factor
    static constexpr double RIDGE = 1e-11;  // keeps the factor of collinear columns positive definite

    double weight(size_t c) const { return M.w[c] + M.d[c]; }

    // A part of one of the model's arrays.
    template <class Value>
    Numbers of_block(size_t g, Value value) const {
        Numbers out(blocks.size(g));
        for (size_t r = 0; r < out.size(); ++r) out[r] = value(blocks.members(g)[r]);
        return out;
    }

    double sweep() {
        double moved = 0.0;
        for (size_t g = 0; g < blocks.count(); ++g)
            moved = std::max(moved, blocks.tau[g] > 0.0 ? move(g) : move_alone(*blocks.members(g)));
        return moved;
    }

    double move_alone(size_t c) {
        const double w = weight(c), curvature = M.H[c * a + c];
        const double step = minimiser(w, M.slope[c], curvature, M.l1[c]) - w;
        if (step == 0.0) return 0.0;
        M.d[c] += step;
        add(M.slope, M.H + c * a, 0.0, step, a);
        return std::abs(step) * curvature / M.scale[c];
    }

    double move(size_t g) {
        const size_t b = blocks.size(g), *members = blocks.members(g);
        Numbers w = of_block(g, [&](size_t c) { return weight(c); });
        const Numbers slope = of_block(g, [&](size_t c) { return M.slope[c]; });
        const Numbers l1 = of_block(g, [&](size_t c) { return M.l1[c]; });
        if (length_of(w) == 0.0 && soft_length(slope, l1) <= blocks.tau[g]) return 0.0;
        if (!models[g].known()) {
            Numbers Q(b * b);
            for (size_t r = 0; r < b; ++r)
                for (size_t c = 0; c < b; ++c) Q[r * b + c] = M.H[members[r] * a + members[c]];
            models[g] = BlockModel(std::move(Q), b);
        }
        const double changed = models[g].minimise(slope.data(), l1.data(), blocks.tau[g], w.data());
        for (size_t r = 0; r < b; ++r) put(members[r], w[r]);
        return changed / M.scale[members[0]];
    }

    // Where the Hessian is nearly singular: to the minimum of the model with smoothed norms.
    void smooth(double most, double least) {
        Numbers x(a);
        for (size_t c = 0; c < a; ++c) x[c] = weight(c);
        const Numbers next = BlockSmoothing(M, blocks).run(x, most, least);
        for (size_t c = 0; c < next.size(); ++c) put(c, next[c]);
    }

    // Moves one weight to x; what becomes 0 is exactly 0.
    void put(size_t c, double x) {
        const double step = x - weight(c);
        if (step == 0.0) return;
        M.d[c] = x == 0.0 ? -M.w[c] : M.d[c] + step;
        add(M.slope, M.H + c * a, 0.0, step, a);
    }

    // Newton's equations of the weights that are not 0, with their signs where they have an L1 term. A weight whose
    // sign would change then stops at 0. The step is halved until the model falls, and not taken where it does not;
    // it is doubled as long as the model falls further.
    void solve_on_support() {
        Places support;
        for (size_t c = 0; c < a; ++c)
            if (weight(c) != 0.0) support.push_back(c);
        const size_t m = support.size();
        Numbers move(m);
        Numbers pull(a, 0.0), curved;  // of the norms: their gradient, and what they add to the Hessian
        curve(support, pull, curved);
        for (size_t r = 0; r < m; ++r) {
            const size_t c = support[r];
            move[r] = -M.slope[c] - std::copysign(M.l1[c], weight(c)) - pull[c];
        }
        double ridge = RIDGE;
        while (!factorise_support(support, curved, ridge))
            if ((ridge *= 1e3) > 1e-4) return;
        solve_factor(factor.data(), m, move.data());
        Numbers step = stopped(support, move, 1.0);
        double gain = change(support, step);
        const bool shorten = !(gain < 0.0);
        // Along near copies of each other the model is flat: there the full step is far too short.
        for (double length = 1.0; std::abs(std::log2(length)) < (shorten ? HALVINGS : DOUBLINGS);) {
            length *= shorten ? 0.5 : 2.0;
            Numbers other = stopped(support, move, length);
            const double next = change(support, other);
            if (!shorten && !(next < gain)) break;
            step.swap(other);
            gain = next;
            if (shorten && gain < 0.0) break;
        }
        if (!(gain < 0.0)) return;
        for (size_t r = 0; r < m; ++r) put(support[r], weight(support[r]) + step[r]);
    }

    // A part of a move on the support; a weight whose sign would change stops at 0.
    Numbers stopped(const Places& support, const Numbers& move, double length) const {
        Numbers step(support.size());
        for (size_t r = 0; r < step.size(); ++r) {
            const double w = weight(support[r]), next = w + length * move[r];
            step[r] = M.l1[support[r]] > 0.0 && w * next < 0.0 ? -w : length * move[r];
        }
        return step;
    }

    // tau w / ||w|| of each weight, and tau (I - u u^T) / ||w||, u = w / ||w||, on the support.
    void curve(const Places& support, Numbers& pull, Numbers& curved) const {
        const size_t m = support.size();
        Places place(a, m);
        for (size_t r = 0; r < m; ++r) place[support[r]] = r;
        curved.assign(m * m, 0.0);
        for (size_t g = 0; g < blocks.count(); ++g) {
            const Numbers w = of_block(g, [&](size_t c) { return weight(c); });
            const double length = length_of(w);
            if (!(blocks.tau[g] > 0.0) || !(length > 0.0)) continue;
            const size_t* members = blocks.members(g);
            for (size_t r = 0; r < w.size(); ++r) {
                pull[members[r]] = blocks.tau[g] * w[r] / length;
                for (size_t c = 0; c < w.size() && w[r] != 0.0; ++c)
                    if (w[c] != 0.0)
                        curved[place[members[r]] * m + place[members[c]]] =
                            blocks.tau[g] / length * ((r == c ? 1.0 : 0.0) - w[r] / length * (w[c] / length));
            }
        }
    }

    bool factorise_support(const Places& support, const Numbers& curved, double ridge) {
        const size_t m = support.size();
        factor.resize(m * m);
        for (size_t r = 0; r < m; ++r) {
            for (size_t c = 0; c <= r; ++c)
                factor[r * m + c] = M.H[support[r] * a + support[c]] + curved[r * m + c];
            factor[r * m + r] *= 1.0 + ridge;
        }
        return factorise(factor.data(), m, SINGULAR);
    }

    // By how much a step on the support changes the model, from differences, so that small gains are seen.
    double change(const Places& support, const Numbers& step) const {
        Numbers moved(a, 0.0);
        double total = 0.0;
        for (size_t r = 0; r < support.size(); ++r) {
            const size_t c = support[r];
            const double w = weight(c), *row = M.H + c * a;
            double curved = 0.0;
            for (size_t e = 0; e < support.size(); ++e) curved += row[support[e]] * step[e];
            moved[c] = step[r];
            total += step[r] * (M.slope[c] + 0.5 * curved + std::copysign(M.l1[c], w));  // up to 0 a sign holds
        }
        for (size_t g = 0; g < blocks.count(); ++g) {
            if (!(blocks.tau[g] > 0.0)) continue;
            const Numbers w = of_block(g, [&](size_t c) { return weight(c); });
            const Numbers s = of_block(g, [&](size_t c) { return moved[c]; });
            const Numbers next = of_block(g, [&](size_t c) { return weight(c) + moved[c]; });
            double squares = 0.0;  // of the lengths, their difference
            for (size_t r = 0; r < w.size(); ++r) squares += s[r] * (2.0 * w[r] + s[r]);
            const double lengths = length_of(w) + length_of(next);
            if (lengths > 0.0) total += blocks.tau[g] * squares / lengths;
        }
        return total;
    }
};

}  // namespace smaller
