// Proximal Newton steps for a penalised multinomial (or Gaussian) posterior on a working set of coordinates.
#pragma once
#include "block_sweeps.hpp"
#include "rule.hpp"
#include "sampled.hpp"
#include "sweeps.hpp"

namespace smaller {

struct Outcome {
    Work work;
    double violation = 0.0, objective = 0.0;
    bool stalled = false, current = true;  // current: whether the gradient is that at the end
};

template <class Columns>
class Newton {
public:
    Newton(const Columns& columns, const Samples& samples, const WorkingSet& set, double* b, double* F, Hessian& kept,
           DrawnRows& drawn, std::function<void()> poll)
        : M(columns, samples, set), b(b), F(F), kept(kept), poll(std::move(poll)), n(samples.n), k(samples.k),
          sweeps(M), block_sweeps(M), gram(M, kept), sampled(M, drawn), trial_P(n * k), trial_U(n * k), step_F(n * k),
          trial_F(n * k) {}

    Newton(const Newton&) = delete;  // its parts refer to each other

    // Until the largest KKT residual of the working set is at most the target; intercepts are then fitted to rounding.
    Outcome run(double target, int max_steps) {
        Outcome out;
        out.objective = means(F, M.D.Y, M.D.s, n, k, M.D.family, M.P.data(), M.U.data()) + M.penalty(0.0);
        double before = 0.0;
        bool chord = false, cautious = false;
        for (;; ++out.work.steps) {
            out.violation = M.gradient(F);
            if (chord && out.violation > STALE * before) kept.places.clear();
            if (sampled.in_use()) sampled.learn(length, length * farthest_change, out.violation / before);
            before = out.violation;
            out.stalled = out.stalled || out.violation <= M.rounding;
            if (out.violation <= target || out.work.steps >= max_steps || out.stalled) {
                out.current = !(M.D.intercept && settle_intercepts(out.objective));
                return out;
            }
            chord = minimise_model(out, target, cautious);
            const double taken = line_search(out.objective);
            // Whether the next step will be another one.
            const bool doubtful = chord || sampled.in_use() || (!cautious && out.violation > NEAR);
            out.stalled = taken == 0.0 && !doubtful;
            if (chord && taken == 0.0) kept.places.clear();
            cautious = taken < SHORT;
            poll();
        }
    }

    const std::vector<double>& slopes() const { return M.g; }  // the gradient last computed

private:
    Model<Columns> M;
    double *b, *F;
    Hessian& kept;
    std::function<void()> poll;
    const size_t n, k;
    Sweeps<Columns> sweeps;
    BlockSweeps<Columns> block_sweeps;  // where the working set has blocks
    Gram<Columns> gram;
    SampledModel<Columns> sampled;
    double length = 0.0, farthest_change = 0.0;  // of the last step: the part taken; of a score, of the whole step
    std::vector<double> trial_P, trial_U, step_F, trial_F;

    static constexpr double ROUNDING = 1e-13;  // sweeps cannot settle a model better than this
    static constexpr double NEAR = 1e-5;       // violations above this are far above rounding
    static constexpr double SHORT = 0.25;      // of a step: where no more could be taken, the next model is cautious
    // The sweeps of a step stop at this fraction of the violation it began with.
    static constexpr double FORCING = 0.1;
    static constexpr double IN_GRAM = 0.01;    // the same where sweeps cost next to nothing
    static constexpr double STALE = 0.1;       // of the violation left by a step: its Hessian has served its time
    // Of the violation: a target below this needs steps with a Hessian of their own.
    static constexpr double REACH = 0.01;
    static constexpr double STEEP = 0.1;       // of its slope left at the end of a step: a longer one is tried
    static constexpr double LONGEST = 10.0;    // times the step of the model
    static constexpr double FARTHEST = 1e6;    // of an intercept in one step
    // Nats by which a step may exceed the largest score: beyond, rows are certain.
    static constexpr double FARTHEST_SCORE = 30.0;

    // The step of the quadratic model and its change of scores. Returns whether a Hessian of earlier means was used.
    bool minimise_model(Outcome& out, double target, bool cautious) {
        const double least = std::max(M.rounding, ROUNDING);
        std::fill(M.d.begin(), M.d.end(), 0.0);
        std::fill(M.db.begin(), M.db.end(), 0.0);
        const double worth = gram.worth_sweeps(Sweeps<Columns>::MAX_SWEEPS);
        if (sampled.worth(gram.actives())) {
            sampled.run(std::max(IN_GRAM * out.violation, least), cautious, out.work);
            M.scores_of_step(step_F);
            return false;
        }
        const bool chord = target >= REACH * out.violation && gram.still_serves();
        if (chord || kept.sweeps >= worth) {
            if (!chord) {
                gram.renew();
                ++out.work.hessians;
            }
            M.curvature_weights(kept.P, cautious);
            out.work.sweeps += gram.run(std::max(IN_GRAM * out.violation, least));
        } else {
            M.curvature_weights(M.P, cautious);
            const int most = static_cast<int>(std::min<double>(worth, Sweeps<Columns>::MAX_SWEEPS));
            const double enough = std::max(FORCING * out.violation, least);
            kept.sweeps = M.A.blocks == nullptr ? sweeps.run(enough, most, poll) : block_sweeps.run(enough, most, poll);
            out.work.sweeps += kept.sweeps;
        }
        M.scores_of_step(step_F);
        return chord;
    }

    // Backtracking on the objective itself: which part of the (longest sensible) step was taken, 0 where rounding
    // leaves nothing to gain.
    double line_search(double& objective) {
        double slope = M.penalty(1.0) - M.penalty(0.0), size = 0.0;  // size: of the terms that the objective sums
        double largest = 0.0, change = 0.0;
        std::vector<double> v(n);
        for (size_t l = 0; l < k; ++l) {
            M.residual(l, v.data());
            slope += dot(&step_F[l * n], v.data(), n);
            for (size_t i = 0; i < n; ++i) {
                v[i] = std::abs(F[l * n + i]);
                largest = std::max(largest, v[i]);
                change = std::max(change, std::abs(step_F[l * n + i]));
            }
            size += dot(M.D.s, v.data(), n);
        }
        const double noise = 1e-15 * (std::abs(objective) + size);
        // Where classes are separable the curvature vanishes, and steps that gain nothing would lose the digits of the
        // scores.
        const double farthest = M.gaussian ? change : FARTHEST_SCORE + (-slope > noise ? largest : 0.0);
        const double first = change > farthest ? farthest / change : 1.0;
        length = 0.0;
        farthest_change = change;
        for (double step = first; step > 1e-8 * first; step *= 0.5) {
            for (size_t i = 0; i < n * k; ++i) trial_F[i] = F[i] + step * step_F[i];
            const double value = try_scores() + M.penalty(step);
            if (!(value <= objective + 1e-4 * step * slope + noise)) continue;
            accept(value, objective);
            if (step == 1.0) step = extended(slope, objective);
            for (size_t i = 0; i < M.A.size; ++i) M.A.w[i] += step * M.d[i];
            for (size_t l = 0; l < k && M.D.intercept; ++l) b[l] += step * M.db[l];
            length = step;
            return step / first;
        }
        return 0.0;
    }

    // The length of the step where the objective still falls steeply at its end, as it does where rows lose curvature
    // on the way: the derivative along the step is brought near 0 by secants. A weight that the step takes to 0 would
    // not stay there.
    double extended(double slope, double& objective) {
        double length = 1.0;
        for (size_t i = 0; i < M.A.size; ++i)
            if (M.A.w[i] != 0.0 && M.A.w[i] + M.d[i] == 0.0) return length;
        for (double end = end_slope(length); end < STEEP * slope && length < LONGEST; end = end_slope(length)) {
            const double next = std::min(length * slope / (slope - end), LONGEST);
            for (size_t i = 0; i < n * k; ++i) trial_F[i] = F[i] + (next - length) * step_F[i];
            const double value = try_scores() + M.penalty(next);
            if (!(value < objective)) break;
            accept(value, objective);
            length = next;
        }
        return length;
    }

    // The derivative of the objective along the step where F is after a part of it.
    double end_slope(double length) {
        double total = M.penalty_slope(length);
        for (size_t l = 0; l < k; ++l) {
            M.residual(l, trial_U.data());
            total += dot(&step_F[l * n], trial_U.data(), n);
        }
        return total;
    }

    double try_scores() {
        return means(trial_F.data(), M.D.Y, M.D.s, n, k, M.D.family, trial_P.data(), trial_U.data());
    }

    void accept(double value, double& objective) {
        objective = value;
        std::copy(trial_F.begin(), trial_F.end(), F);
        M.P.swap(trial_P);
        M.U.swap(trial_U);
    }

    // Newton steps on the intercepts alone, to rounding: a certificate can be read only where they are exact. Whether
    // any step was taken.
    bool settle_intercepts(double& objective) {
        bool moved = false;
        std::vector<double> v(n), corner;
        std::fill(M.d.begin(), M.d.end(), 0.0);
        for (double last = 1.0;; moved = true) {
            double worst = 0.0;
            for (size_t l = 0; l < k; ++l) {
                M.residual(l, v.data());
                M.gb[l] = sum(v.data(), n);
                worst = std::max(worst, std::abs(M.gb[l]) / M.total_s);
            }
            if (worst <= 1e-14 || !(worst < 0.5 * last)) return moved;
            last = worst;
            M.intercept_block(M.P, false, corner);
            M.factor_intercepts(corner);
            for (size_t l = 0; l < k; ++l) M.db[l] = -M.gb[l];
            solve_factor(corner.data(), k, M.db.data());
            // Where every row is certain the curvature says nothing, and such a step would lose the digits of the
            // scores.
            for (size_t l = 0; l < k; ++l)
                if (!(std::abs(M.db[l]) <= FARTHEST)) return moved;
            for (size_t l = 0; l < k; ++l)
                for (size_t i = 0; i < n; ++i) trial_F[l * n + i] = F[l * n + i] + M.db[l];
            const double value = try_scores() + M.penalty(0.0);
            if (!(value <= objective * (1.0 + 1e-12))) return moved;  // too far from the optimum for Newton's step
            for (size_t l = 0; l < k; ++l) b[l] += M.db[l];
            accept(value, objective);
        }
    }
};

}  // namespace smaller
