// Newton steps on the quadratic model with blocks whose norms are smoothed.
//
// Where the Hessian is nearly singular, sweeps over the blocks are too slow, and Newton's equations of the non-zero
// weights reach no further than the shortest of them. With each norm ||x|| replaced by sqrt(||x||^2 + e^2) the model is
// smooth everywhere, and e goes down by decades. The steps are primal-dual ones (Chan, Golub & Mulet 1999): with
// z = x / sqrt(||x||^2 + e^2) as a variable of its own the equations are nearly linear, also far from the minimum.
#pragma once
#include "model.hpp"
#include "quadratic.hpp"

namespace smaller {

class BlockSmoothing {
public:
    // Sums of norms: those of the blocks, and of each weight alone that has an L1 term.
    BlockSmoothing(const Quadratic& model, const BlockSet& blocks) : M(model), a(model.size) {
        for (size_t g = 0; g < blocks.count(); ++g)
            if (blocks.tau[g] > 0.0) terms.push_back({blocks.members(g), blocks.size(g), blocks.tau[g], 0});
        for (size_t g = 0; g < blocks.count(); ++g)
            for (const size_t* c = blocks.members(g); c < blocks.members(g) + blocks.size(g); ++c)
                if (M.l1[*c] > 0.0) terms.push_back({c, 1, M.l1[*c], 0});
        for (size_t t = 1; t < terms.size(); ++t) terms[t].first = terms[t - 1].first + terms[t - 1].size;
    }

    // The change of the weights x towards the minimum, with e from `most` to `least` times the longest block; empty
    // where there is none that lowers the model. What becomes 0 is exactly 0.
    Numbers run(const Numbers& x, double most, double least) {
        y = x;
        slope.assign(M.slope, M.slope + a);
        double longest = 0.0;
        for (const Term& term : terms) longest = std::max(longest, length(term, y, 0.0));
        double e = most * longest;
        if (!(e > 0.0)) return {};
        start_duals(e);
        for (int step = 0; step < MOST_STEPS; ++step) {
            const double taken = advance(e);
            if (taken == 0.0) break;
            if (taken < FULL) continue;
            if (e <= least * longest) break;
            e *= 0.1;
        }
        for (const Term& term : terms)
            if (length(term, y, 0.0) <= NEAR_ZERO * e)
                for (size_t r = 0; r < term.size; ++r) y[term.member[r]] = 0.0;
        return lowers(x) ? y : Numbers();
    }

private:
    struct Term {
        const size_t* member;
        size_t size;
        double strength;
        size_t first;  // where its part of the dual vectors begins
    };

    static constexpr int MOST_STEPS = 15, HALVINGS = 30;
    static constexpr double FULL = 0.2;       // of a step: e goes down after steps at least as long
    static constexpr double NEAR_ZERO = 3.0;  // times e: blocks that are shorter end at 0
    static constexpr double RIDGE = 1e-11;    // keeps the factor of collinear columns positive definite

    const Quadratic M;
    const size_t a;
    std::vector<Term> terms;
    Numbers y, slope, z;                // the weights, the gradient of what is quadratic, the dual vectors
    Numbers factor, step, along, pull;  // scratch

    double length(const Term& term, const Numbers& x, double e) const {
        double square = e * e;
        for (size_t r = 0; r < term.size; ++r) square += x[term.member[r]] * x[term.member[r]];
        return std::sqrt(square);
    }

    void start_duals(double e) {
        z.clear();
        for (const Term& term : terms)
            for (size_t r = 0; r < term.size; ++r) z.push_back(y[term.member[r]] / length(term, y, e));
    }

    // One step; which part of it was taken, 0 where none lowers the smoothed model.
    double advance(double e) {
        if (!factorise_at(e)) return 0.0;
        step = pull;
        for (double& one : step) one = -one;
        solve_factor(factor.data(), a, step.data());
        for (size_t c = 0; c < a; ++c) along[c] = dot(M.H + c * a, step.data(), a);
        const double tilt = dot(slope.data(), step.data(), a), bend = 0.5 * dot(step.data(), along.data(), a);
        const double fall = dot(pull.data(), step.data(), a);
        double part = 1.0;
        for (int halving = 0;; ++halving, part *= 0.5) {
            if (halving == HALVINGS) return 0.0;
            if (part * (tilt + part * bend) + change_of_norms(part, e) <= 1e-4 * part * fall) break;
        }
        turn_duals(part, e);
        for (size_t c = 0; c < a; ++c) {
            y[c] += part * step[c];
            slope[c] += part * along[c];
        }
        return part;
    }

    // The gradient of the smoothed model, into `pull`, and the factor of its Hessian with the dual vectors in it:
    // a norm adds  tau / N (I - (z x^T + x z^T) / (2 N)),  N = sqrt(||x||^2 + e^2).
    bool factorise_at(double e) {
        for (double ridge = RIDGE; ridge < 1e-4; ridge *= 1e3) {
            factor.assign(M.H, M.H + a * a);
            pull = slope;
            along.resize(a);
            for (const Term& term : terms) {
                const double N = length(term, y, e), share = term.strength / N;
                const double* dual = &z[term.first];
                for (size_t r = 0; r < term.size; ++r) {
                    const size_t i = term.member[r];
                    pull[i] += share * y[i];
                    factor[i * a + i] += share;
                    for (size_t s = 0; s < term.size; ++s) {
                        const size_t j = term.member[s];
                        factor[i * a + j] -= 0.5 * share / N * (dual[r] * y[j] + dual[s] * y[i]);
                    }
                }
            }
            for (size_t c = 0; c < a; ++c) factor[c * a + c] *= 1.0 + ridge;
            if (factorise(factor.data(), a, SINGULAR)) return true;
        }
        return false;
    }

    // By how much a part of the step changes the smoothed norms, from differences of their squares.
    double change_of_norms(double part, double e) const {
        double total = 0.0;
        for (const Term& term : terms) {
            double squares = 0.0, square = e * e, next = e * e;
            for (size_t r = 0; r < term.size; ++r) {
                const double w = y[term.member[r]], d = part * step[term.member[r]];
                squares += d * (2.0 * w + d);
                square += w * w;
                next += (w + d) * (w + d);
            }
            total += term.strength * squares / (std::sqrt(square) + std::sqrt(next));
        }
        return total;
    }

    // The dual vectors follow their own linear equations, and stay in the unit ball.
    void turn_duals(double part, double e) {
        for (const Term& term : terms) {
            const double N = length(term, y, e);
            double* dual = &z[term.first];
            double inner = 0.0, square = 0.0;
            for (size_t r = 0; r < term.size; ++r) inner += y[term.member[r]] * step[term.member[r]];
            for (size_t r = 0; r < term.size; ++r) {
                const size_t i = term.member[r];
                dual[r] += part * ((step[i] - dual[r] * inner / N + y[i]) / N - dual[r]);
                square += dual[r] * dual[r];
            }
            for (size_t r = 0; r < term.size && square > 1.0; ++r) dual[r] /= std::sqrt(square);
        }
    }

    // Whether the model itself is lower at y than at x.
    bool lowers(const Numbers& x) {
        step.resize(a);
        for (size_t c = 0; c < a; ++c) step[c] = y[c] - x[c];
        double total = dot(M.slope, step.data(), a);
        for (size_t c = 0; c < a; ++c) total += 0.5 * step[c] * dot(M.H + c * a, step.data(), a);
        for (const Term& term : terms) total += term.strength * (length(term, y, 0.0) - length(term, x, 0.0));
        return total < 0.0;
    }
};

}  // namespace smaller
