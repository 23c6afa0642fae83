// A quadratic model with an L1 term and an explicit Hessian:  g.d + d^T H d / 2 + sum_i l1_i |w_i + d_i|.
//
// Sweeps over the coordinates come first, with Newton's equations on the non-zero coordinates in between. Where columns
// are so collinear that this does not end, an active set does: coordinates enter and leave one by one, and the Cholesky
// factor of those that are in is updated.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cholesky.hpp"
#include "penalty.hpp"

namespace smaller {

// H is (size, size) by rows and symmetric; the slope is the gradient g at d = 0, and follows d.
struct Quadratic {
    size_t size;
    const double* H;
    double* slope;
    const double *w, *l1;
    const double* scale;  // what a KKT residual is measured against
    double* d;
};

class QuadraticSolver {
public:
    explicit QuadraticSolver(const Quadratic& model) : M(model), a(model.size) {}

    // Until no coordinate moves by more than the tolerance, in units of the scale. Counts sweeps.
    int run(double tolerance) {
        // A Cholesky factor costs as much as many sweeps of its Hessian: these come first.
        const int rest = static_cast<int>(std::min<size_t>(a / SWEEPS_PER_FACTOR, MAX_REST));
        int sweeps = 0;
        for (int patience = 2, next = rest; sweeps < MAX_SWEEPS; ++sweeps) {
            if (sweep() <= tolerance) return sweeps;
            if (sweeps < next) continue;
            solve_on_support();
            next += std::max(patience, rest);
            patience = std::min(2 * patience, 16);
        }
        return sweeps + active_set(tolerance);
    }

private:
    const Quadratic M;
    size_t a;
    std::vector<double> factor;
    double before_refinement = std::numeric_limits<double>::infinity();  // the residual of the coordinates that are in

    static constexpr int MAX_SWEEPS = 50;
    static constexpr size_t SWEEPS_PER_FACTOR = 8, MAX_REST = 24;  // one sweep for so many rows of the Cholesky factor
    // Keeps the factor of collinear columns positive definite.
    static constexpr double RIDGE = 1e-11;

    double weight(size_t c) const { return M.w[c] + M.d[c]; }

    double sweep() {
        double moved = 0.0;
        for (size_t c = 0; c < a; ++c) moved = std::max(moved, move(c));
        return moved;
    }

    double move(size_t c) {
        const double w = weight(c), curvature = M.H[c * a + c];
        const double step = minimiser(w, M.slope[c], curvature, M.l1[c]) - w;
        if (step == 0.0) return 0.0;
        M.d[c] += step;
        add(M.slope, M.H + c * a, 0.0, step, a);
        return std::abs(step) * curvature / M.scale[c];
    }

    // Newton's equations on the non-zero coordinates with their signs. Coordinates whose sign would change stop at 0,
    // if the model falls; otherwise the step is shortened, at the most to where the first sign changes. False if H is
    // singular.
    bool solve_on_support() {
        std::vector<size_t> support;
        for (size_t c = 0; c < a; ++c)
            if (weight(c) != 0.0) support.push_back(c);
        const size_t m = support.size();
        std::vector<double> move(m), w(m), step(m), turn(m, 2.0);
        for (size_t r = 0; r < m; ++r) {
            const size_t c = support[r];
            w[r] = weight(c);
            move[r] = -M.slope[c] - std::copysign(M.l1[c], w[r]);
        }
        double ridge = RIDGE;
        while (!factorise_support(support, ridge))
            if ((ridge *= 1e3) > 1e-4) return false;
        solve_factor(factor.data(), m, move.data());
        double first_turn = 1.0;
        for (size_t r = 0; r < m; ++r)
            if (M.l1[support[r]] > 0.0 && w[r] * (w[r] + move[r]) < 0.0) {
                turn[r] = -w[r] / move[r];
                first_turn = std::min(first_turn, turn[r]);
            }
        for (double length = 1.0;; length = std::max(0.25 * length, first_turn)) {
            for (size_t r = 0; r < m; ++r) step[r] = turn[r] <= length ? -w[r] : length * move[r];
            if (length <= first_turn || change(support, step, w) < 0.0) break;
        }
        for (size_t r = 0; r < m; ++r) {
            const size_t c = support[r];
            M.d[c] = step[r] == -w[r] ? -M.w[c] : M.d[c] + step[r];
            add(M.slope, M.H + c * a, 0.0, step[r], a);
        }
        return true;
    }

    bool factorise_support(const std::vector<size_t>& support, double ridge) {
        const size_t m = support.size();
        factor.resize(m * m);
        for (size_t r = 0; r < m; ++r) {
            for (size_t c = 0; c <= r; ++c) factor[r * m + c] = M.H[support[r] * a + support[c]];
            factor[r * m + r] *= 1.0 + ridge;
        }
        return factorise(factor.data(), m, SINGULAR);
    }

    // By how much a step on the support changes the model.
    double change(const std::vector<size_t>& support, const std::vector<double>& step,
                  const std::vector<double>& w) const {
        double total = 0.0;
        for (size_t r = 0; r < support.size(); ++r) {
            const double* row = M.H + support[r] * a;
            double curved = 0.0;
            for (size_t c = 0; c < support.size(); ++c) curved += row[support[c]] * step[c];
            total += step[r] * (M.slope[support[r]] + 0.5 * curved) +
                     M.l1[support[r]] * (std::abs(w[r] + step[r]) - std::abs(w[r]));
        }
        return total;
    }

    // Newton's equations on the non-zero coordinates, up to where the first sign changes: that coordinate leaves. At
    // their optimum the worst of the others enters (the feature-sign search of Lee et al. 2007). The model falls at
    // every step.
    int active_set(double tolerance) {
        GrowingCholesky grown(a);
        std::vector<size_t> in;
        std::vector<double> move;
        for (size_t c = 0; c < a; ++c)
            if (weight(c) != 0.0) enter(c, in, grown);
        const int most = 3 * static_cast<int>(a) + 50;
        for (int step = 1; step <= most; ++step) {
            move.resize(in.size());
            for (size_t r = 0; r < in.size(); ++r)
                move[r] = -M.slope[in[r]] - std::copysign(M.l1[in[r]], weight(in[r]));
            grown.solve(move);
            const size_t leaving = advance(in, move);
            if (leaving < in.size()) {
                grown.remove(leaving);
                in.erase(in.begin() + static_cast<std::ptrdiff_t>(leaving));
                continue;
            }
            double unsettled = 0.0, worst = tolerance;
            size_t next = a;
            for (size_t c = 0; c < a; ++c) {
                const double w = weight(c), residual = kkt(w, M.slope[c], M.l1[c]) / M.scale[c];
                if (w != 0.0) unsettled = std::max(unsettled, residual);
                else if (residual > worst) worst = residual, next = c;
            }
            const bool enters = next < a && unsettled <= worst && this->move(next) > 0.0;
            if (enters) enter(next, in, grown);
            else if (unsettled <= tolerance || (unsettled >= 0.5 * before_refinement && next == a)) return step;
            before_refinement = enters ? std::numeric_limits<double>::infinity() : unsettled;
        }
        return most;
    }

    // Nearly collinear columns get a little more curvature; the steps that follow make up for it.
    void enter(size_t c, std::vector<size_t>& in, GrowingCholesky& grown) {
        std::vector<double> products(in.size());
        for (size_t r = 0; r < in.size(); ++r) products[r] = M.H[c * a + in[r]];
        const double curvature = M.H[c * a + c];
        for (double ridge = RIDGE; ridge < 1.0; ridge *= 1e3)
            if (grown.append(products, (1.0 + ridge) * curvature)) {
                in.push_back(c);
                return;
            }
    }

    // The step on these coordinates, up to the first change of a sign: the place of that coordinate, or their number.
    size_t advance(const std::vector<size_t>& in, const std::vector<double>& move) {
        double length = 1.0;
        size_t leaving = in.size();
        for (size_t r = 0; r < in.size(); ++r) {
            const double w = weight(in[r]);
            if (M.l1[in[r]] > 0.0 && w * (w + move[r]) < 0.0 && -w / move[r] < length)
                length = -w / move[r], leaving = r;
        }
        for (size_t r = 0; r < in.size(); ++r) {
            const size_t c = in[r];
            const double step = r == leaving ? -weight(c) : length * move[r];
            M.d[c] = r == leaving ? -M.w[c] : M.d[c] + step;
            add(M.slope, M.H + c * a, 0.0, step, a);
        }
        return leaving;
    }
};

}  // namespace smaller
