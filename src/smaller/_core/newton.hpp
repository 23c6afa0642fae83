// Proximal Newton steps for a penalised multinomial (or Gaussian) posterior on a working set of coordinates (feature, class).
//
// The quadratic model of one Newton step has, in class l, the working vector
//     v_l = s (P_l - Y_l) + u_l - P_l T,      u_l = s P_l E_l,  T = sum_l u_l,  E = the step's change of scores,
// so that the model's gradient for column x is x . v_l. While class l is worked on, moving one of its weights by d
// changes v_l by d q_l x with q_l = s P_l (1 - P_l): two streams to read a gradient, three to move.
// A free intercept is eliminated: each move of x is a move of x minus its q-weighted mean, which leaves the
// intercept of its class optimal.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "columns.hpp"

namespace smaller {

inline double soft(double z, double threshold) {
    return z > threshold ? z - threshold : (z < -threshold ? z + threshold : 0.0);
}

// Where slope d + curvature d^2 / 2 + l1 |w + d| is least, as w + d. Without curvature it falls towards 0, or for ever.
inline double minimiser(double w, double slope, double curvature, double l1) {
    if (curvature > 0.0) return soft(w - slope / curvature, l1 / curvature);
    return l1 > 0.0 && std::abs(slope) <= l1 ? 0.0 : w;
}

// Distance of -g to the subdifferential of l1 |w|, g the gradient of everything smooth.
inline double kkt(double w, double g, double l1) {
    if (w > 0) return std::abs(g + l1);
    if (w < 0) return std::abs(g - l1);
    return std::max(std::abs(g) - l1, 0.0);
}

struct WorkingSet {
    size_t size;
    const std::int64_t* feature;
    const std::int64_t* klass;  // sorted
    double* w;
    const double *l1, *l2, *scale;  // scale: what a KKT residual is measured against
};

struct Data {
    size_t n, k;
    Family family;
    bool intercept;
    const double *Y, *s;
};

// The Hessian of some coordinates at means P, for steps and strengths to come: from point to point it changes little.
struct Hessian {
    std::vector<double> P, H, border;   // border: with the intercepts
    std::vector<std::uint64_t> places;  // sorted; none: it is worth nothing
    double future = 1.0;                // how many steps it may serve
    int sweeps = 10;                    // that the last step without it took
};

struct Outcome {
    int steps = 0, sweeps = 0;
    double violation = 0.0, objective = 0.0;
    bool stalled = false, current = true;  // current: whether the gradient is that at the end
};

template <class Columns>
class Newton {
public:
    Newton(const Columns& columns, const Data& data, const WorkingSet& set, double* b, double* F, Hessian& kept,
           std::function<void()> poll)
        : X(columns), D(data), A(set), b(b), F(F), kept(kept), poll(std::move(poll)), n(data.n), k(data.k), gaussian(data.family == GAUSSIAN),
          P(n * k), trial_P(n * k), step_F(n * k), trial_F(n * k), u(k > 1 ? n * k : 0), excess(k > 1 ? n * k : 0), T(k > 1 ? n : 0), v(n), q(n * k), g(A.size), xq(A.size),
          center(A.size), h(A.size), d(A.size), total_q(k), gb(k), db(k), first(k + 1) {
        for (size_t l = 0, i = 0; l <= k; ++l) {
            while (i < A.size && static_cast<size_t>(A.klass[i]) < l) ++i;
            first[l] = i;
        }
        total_s = sum(D.s, n);
    }

    Outcome run(double target, int max_steps, double forcing) {
        Outcome out;
        out.objective = means(F, D.Y, D.s, n, k, D.family, P.data()) + penalty(0.0);
        double before = 0.0;
        bool chord = false;
        for (;; ++out.steps) {
            out.violation = gradient();
            if (chord && out.violation > STALE * before) kept.places.clear();
            before = out.violation;
            out.stalled = out.stalled || out.violation <= noise;
            if (out.violation <= target || out.steps >= max_steps || out.stalled) {
                out.current = !(D.intercept && settle_intercepts(out.objective));
                return out;
            }
            const double least = std::max(noise, ROUNDING);
            std::fill(d.begin(), d.end(), 0.0);
            std::fill(db.begin(), db.end(), 0.0);
            const double worth = sweeps_worth_a_gram();
            chord = target >= REACH * out.violation && still_serves();
            if (chord || kept.sweeps >= worth) {
                if (!chord) {
                    kept.P = P;
                    kept.places.clear();
                }
                out.sweeps += through_gram(std::max(IN_GRAM * out.violation, least));
            } else {
                const double most = std::min<double>(worth, MAX_SWEEPS);
                kept.sweeps = through_columns(std::max(forcing * out.violation, least), static_cast<int>(most));
                out.sweeps += kept.sweeps;
            }
            const double taken = line_search(out.objective);
            const bool doubtful = chord || (!cautious && out.violation > NEAR);  // the next step is another one
            out.stalled = taken == 0.0 && !doubtful;
            if (chord && taken == 0.0) kept.places.clear();
            cautious = taken < SHORT;
            poll();
        }
    }

    const std::vector<double>& slopes() const { return g; }  // the gradient last computed

private:
    const Columns X;
    const Data D;
    const WorkingSet A;
    double *b, *F;
    Hessian& kept;
    std::function<void()> poll;
    size_t n, k;
    bool gaussian;
    std::vector<double> P, trial_P, step_F, trial_F, u, excess, T, v, q, g, xq, center, h, d, total_q, gb, db;
    std::vector<double> length;  // of each column, sqrt(sum s x^2)
    std::vector<size_t> first;
    double total_s = 0.0, noise = 0.0;  // noise: what rounding leaves of a KKT residual
    bool cautious = false;              // whether the last step was too long

    static constexpr double ROUNDING = 1e-13;  // sweeps cannot settle a model better than this
    static constexpr double EPSILON = 2e-16;
    static constexpr double NEAR = 1e-5;       // above it rounding is no matter
    static constexpr double WRONG = 0.01;      // of its residual: the least curvature of a row, after a step that was too long
    static constexpr double SHORT = 0.25;      // of a step: if no more could be taken it was
    static constexpr double SETTLED = 1e-12;   // an intercept this good is left for settle_intercepts
    static constexpr double RIDGE = 1e-11;     // keeps the Cholesky factor of collinear columns alive
    static constexpr double FARTHEST = 1e6;    // in one step, an intercept
    static constexpr double UNKNOWN = -1.0;
    static constexpr int MAX_SWEEPS = 1000, MAX_GRAM_SWEEPS = 50;
    static constexpr size_t SWEEPS_PER_FACTOR = 8, MAX_REST = 24;  // of a Hessian, for each so many rows of its Cholesky factor
    static constexpr size_t MAX_GRAM = 1000;
    static constexpr double IN_GRAM = 0.01;   // as forcing, where sweeps cost next to nothing
    static constexpr double STALE = 0.1;      // of the violation left by a step: its Hessian has served its time
    static constexpr double REACH = 0.01;     // of the violation: less is for steps with a Hessian of their own
    static constexpr double OVERHEAD = 64.0;  // what a move of a sweep costs beside its column, in entries
    static constexpr int PATIENT = 24;  // sweeps, before conjugate gradients are tried
    static constexpr int SWEEPS_PER_CONJUGATE = 8, MIN_CONJUGATE = 32, MAX_CONJUGATE = 1000;

    double penalty(double step) const {
        double total = 0.0;
        for (size_t i = 0; i < A.size; ++i) {
            const double w = A.w[i] + step * d[i];
            total += A.l1[i] * std::abs(w) + 0.5 * A.l2[i] * w * w;
        }
        return total;
    }

    // The gradient at the current point, and its largest KKT residual on the working set.
    double gradient() {
        double worst = 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *p = &P[l * n], *y = D.Y + l * n;
            for (size_t i = 0; i < n; ++i) v[i] = D.s[i] * (p[i] - y[i]);
            gb[l] = sum(v.data(), n);
            if (D.intercept && std::abs(gb[l]) <= SETTLED * total_s) {
                // What is left in a nearly fitted intercept must not be multiplied by the means of the columns.
                add(v.data(), D.s, 0.0, -gb[l] / total_s, n);
                gb[l] = 0.0;
            }
            if (D.intercept) worst = std::max(worst, std::abs(gb[l]) / total_s);
            for (size_t i = first[l]; i < first[l + 1]; ++i) {
                g[i] = X.dot(A.feature[i], v.data()) + A.l2[i] * A.w[i];
                worst = std::max(worst, kkt(A.w[i], g[i], A.l1[i]) / A.scale[i]);
            }
        }
        noise = worst <= NEAR ? rounding() : 0.0;
        return worst;
    }

    // What rounding leaves of a KKT residual: that of a product of residuals and a column.
    double rounding() {
        if (length.empty())
            for (size_t i = 0; i < A.size; ++i) length.push_back(std::sqrt(X.spread(A.feature[i], 0.0, D.s, total_s)));
        double most = 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *p = &P[l * n], *y = D.Y + l * n;
            double square = 0.0;
            for (size_t i = 0; i < n; ++i) square += D.s[i] * (p[i] - y[i]) * (p[i] - y[i]);
            for (size_t i = first[l]; i < first[l + 1]; ++i)
                most = std::max(most, EPSILON * std::sqrt(square) * length[i] / A.scale[i]);
        }
        return most;
    }

    // Rows that are wrong with great confidence have next to no curvature, and may ask for steps without end. Once a step was
    // too long theirs is at least a small part of their residual, which no other row notices.
    void curvature_weights(const std::vector<double>& means) {
        const double least = cautious ? WRONG : 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *p = &means[l * n], *y = D.Y + l * n;
            for (size_t i = 0; i < n; ++i)
                q[l * n + i] = D.s[i] * (gaussian ? 1.0 : std::max(p[i] * (1.0 - p[i]), least * std::abs(p[i] - y[i])));
            total_q[l] = sum(&q[l * n], n);
        }
        std::fill(excess.begin(), excess.end(), 0.0);
    }

    // What q_l has beyond s P_l (1 - P_l).
    double beyond(size_t l, size_t i) const {
        const double p = P[l * n + i];
        return gaussian ? 0.0 : q[l * n + i] - D.s[i] * p * (1.0 - p);
    }

    void centers() {
        std::fill(h.begin(), h.end(), UNKNOWN);
        for (size_t l = 0; l < k && D.intercept; ++l)
            for (size_t i = first[l]; i < first[l + 1]; ++i) {
                xq[i] = X.dot(A.feature[i], &q[l * n]);
                center[i] = total_q[l] > 0.0 ? xq[i] / total_q[l] : 0.0;
            }
    }

    // The second derivative of the model in one weight, for those that have reason to move.
    double curvature(size_t i, size_t l) {
        if (h[i] == UNKNOWN) h[i] = X.spread(A.feature[i], center[i], &q[l * n], total_q[l]) + A.l2[i];
        return h[i];
    }

    // Newton steps on the intercepts alone, to rounding: a certificate can be read only where they are exact. Whether it moved.
    bool settle_intercepts(double& objective) {
        bool moved = false;
        for (double last = 1.0;; moved = true) {
            double worst = 0.0;
            for (size_t l = 0; l < k; ++l) {
                for (size_t i = 0; i < n; ++i) v[i] = D.s[i] * (P[l * n + i] - D.Y[l * n + i]);
                gb[l] = sum(v.data(), n);
                worst = std::max(worst, std::abs(gb[l]) / total_s);
            }
            if (worst <= 1e-14 || !(worst < 0.5 * last)) return moved;
            last = worst;
            intercept_curvature(P, false);
            for (size_t l = 0; l < k; ++l) db[l] = -gb[l];
            forward(corner.data(), db.data(), k);
            backward(corner.data(), db.data(), k);
            // Where every row is certain the curvature says nothing, and its step would lose the digits of the scores.
            for (size_t l = 0; l < k; ++l)
                if (!(std::abs(db[l]) <= FARTHEST)) return moved;
            for (size_t l = 0; l < k; ++l)
                for (size_t i = 0; i < n; ++i) trial_F[l * n + i] = F[l * n + i] + db[l];
            std::fill(d.begin(), d.end(), 0.0);
            const double value = means(trial_F.data(), D.Y, D.s, n, k, D.family, trial_P.data()) + penalty(0.0);
            if (!(value <= objective * (1.0 + 1e-12))) return moved;  // too far from the optimum for Newton's step
            for (size_t l = 0; l < k; ++l) b[l] += db[l];
            std::copy(trial_F.begin(), trial_F.end(), F);
            P.swap(trial_P);
            objective = value;
        }
    }

    // The Cholesky factor of the Hessian in the intercepts. Equal shifts of all classes change nothing, so in the
    // symmetric parametrisation their curvature may be anything positive.
    void intercept_curvature(const std::vector<double>& means, bool of_the_model) {
        corner.assign(k * k, 0.0);
        for (size_t l = 0; l < k; ++l)
            for (size_t other = l; other < k && !(gaussian && other > l); ++other) {
                const double *p = &means[l * n], *po = &means[other * n];
                for (size_t i = 0; i < n; ++i)
                    v[i] = D.s[i] * (gaussian ? 1.0 : p[i] * ((other == l ? 1.0 : 0.0) - po[i]));
                corner[l * k + other] = corner[other * k + l] = sum(v.data(), n);
            }
        for (size_t l = 0; l < k && of_the_model; ++l) corner[l * k + l] = total_q[l];
        double trace = 0.0;
        for (size_t l = 0; l < k; ++l) trace += corner[l * k + l];
        for (size_t t = 0; t < k * k; ++t) corner[t] += D.family == SYMMETRIC ? trace / (k * k) : 0.0;
        for (size_t l = 0; l < k; ++l) corner[l * k + l] += 1e-14 * trace + 1e-300;
        factor_cholesky(corner.data(), k);
    }

    // Coordinate sweeps that stream the columns: all coordinates once, then the non-zero ones until they rest, and again.
    int through_columns(double tolerance, int max_sweeps) {
        curvature_weights(P);
        centers();
        std::fill(u.begin(), u.end(), 0.0);
        std::fill(T.begin(), T.end(), 0.0);
        if (k == 1) enter(0);
        const bool large = max_sweeps >= MAX_SWEEPS;  // where the Hessian is too much, or nearly
        bool all = true;
        int sweeps = 0, resting = 0;
        while (sweeps < max_sweeps) {
            double moved = 0.0;
            for (size_t l = 0; l < k; ++l) moved = std::max(moved, sweep_class(l, all));
            ++sweeps;
            if (moved <= tolerance) {
                if (all) break;
                all = true;
            } else {
                all = false;
                if (large && ++resting >= PATIENT && resting % SWEEPS_PER_CONJUGATE == 0) sweeps += conjugate(tolerance);
            }
            if (sweeps % 64 == 0) poll();
        }
        std::fill(step_F.begin(), step_F.end(), 0.0);
        for (size_t i = 0; i < A.size; ++i)
            if (d[i] != 0.0) X.add(A.feature[i], d[i], &step_F[A.klass[i] * n]);
        shift_scores();
        return sweeps;
    }

    void enter(size_t l) {
        const double *p = &P[l * n], *y = D.Y + l * n;
        if (k == 1)
            for (size_t i = 0; i < n; ++i) v[i] = D.s[i] * (p[i] - y[i]);
        else
            for (size_t i = 0; i < n; ++i)
                v[i] = D.s[i] * (p[i] - y[i]) + u[l * n + i] - p[i] * T[i] + excess[l * n + i];
    }

    // v_l has changed by (1 - P_l) times the change of u_l; rows where P_l = 1 have not moved.
    void leave(size_t l) {
        const double *p = &P[l * n], *y = D.Y + l * n;
        for (size_t i = 0; i < n; ++i) {
            const double was = D.s[i] * (p[i] - y[i]) + u[l * n + i] - p[i] * T[i] + excess[l * n + i];
            const double more = beyond(l, i), rest = gaussian ? 1.0 : 1.0 - p[i];
            double change = rest > 0.0 ? (v[i] - was) / rest : 0.0;
            if (more > 0.0) {
                const double moved = (v[i] - was) / q[l * n + i];  // of the score
                change = D.s[i] * p[i] * moved;
                excess[l * n + i] += more * moved;
            }
            u[l * n + i] += change;
            if (!gaussian) T[i] += change;
        }
    }

    double sweep_class(size_t l, bool all) {
        double moved = 0.0;
        if (first[l] == first[l + 1] && !D.intercept) return moved;
        if (k > 1) enter(l);
        Lazy lazy{v.data(), &q[l * n], 0.0};
        if (D.intercept && total_q[l] > 0.0) {
            const double slope = sum(v.data(), n), move = -slope / total_q[l];
            for (size_t i = 0; i < n; ++i) v[i] += move * lazy.q[i];
            db[l] += move;
            moved = std::abs(slope) / total_s;
        }
        for (size_t i = first[l]; i < first[l + 1]; ++i) {
            const double w = A.w[i] + d[i];
            if (!all && w == 0.0) continue;
            const double slope = X.dot(A.feature[i], lazy, xq[i]) + A.l2[i] * w;
            if (w == 0.0 && std::abs(slope) <= A.l1[i]) continue;
            const double move = minimiser(w, slope, curvature(i, l), A.l1[i]) - w;
            if (move == 0.0) continue;
            X.move(A.feature[i], center[i], move, lazy);
            d[i] += move;
            db[l] -= center[i] * move;
            moved = std::max(moved, std::abs(move) * h[i] / A.scale[i]);
        }
        if (lazy.shift != 0.0)
            for (size_t i = 0; i < n; ++i) v[i] -= lazy.shift * lazy.q[i];
        if (k > 1) leave(l);
        return moved;
    }

    void shift_scores() {
        if (!D.intercept) return;
        for (size_t l = 0; l < k; ++l)
            for (size_t i = 0; i < n; ++i) step_F[l * n + i] += db[l];
    }

    // Backtracking on the objective itself: what part of the step was taken, 0 when rounding leaves nothing to gain.
    double line_search(double& objective) {
        double slope = penalty(1.0) - penalty(0.0), size = 0.0;  // size: of the terms that the objective sums
        for (size_t l = 0; l < k; ++l) {
            const double *p = &P[l * n], *y = D.Y + l * n;
            for (size_t i = 0; i < n; ++i) v[i] = D.s[i] * (p[i] - y[i]);
            slope += dot(&step_F[l * n], v.data(), n);
            for (size_t i = 0; i < n; ++i) v[i] = std::abs(F[l * n + i]);
            size += dot(D.s, v.data(), n);
        }
        const double noise = 1e-15 * (std::abs(objective) + size);
        for (double step = 1.0; step > 1e-8; step *= 0.5) {
            for (size_t i = 0; i < n * k; ++i) trial_F[i] = F[i] + step * step_F[i];
            const double value = means(trial_F.data(), D.Y, D.s, n, k, D.family, trial_P.data()) + penalty(step);
            if (!(value <= objective + 1e-4 * step * slope + noise)) continue;
            objective = value;
            std::copy(trial_F.begin(), trial_F.end(), F);
            P.swap(trial_P);
            for (size_t i = 0; i < A.size; ++i) A.w[i] += step * d[i];
            for (size_t l = 0; l < k && D.intercept; ++l) b[l] += step * db[l];
            return step;
        }
        return 0.0;
    }

    // ---- The same model through its Hessian, for supports much smaller than the columns are long.

    std::vector<size_t> active;
    double entries = 0.0;  // of the active columns
    std::vector<double> H, border, corner, reduced, slope, z, factor;

    // How many sweeps over columns cost as much as the Hessian of the active coordinates and a few Cholesky factors.
    // Columns that need more, because they are nearly collinear, are better off with it.
    double sweeps_worth_a_gram() {
        active.clear();
        entries = 0.0;
        for (size_t i = 0; i < A.size; ++i)
            if (A.w[i] != 0.0 || std::abs(g[i]) > A.l1[i]) {
                active.push_back(i);
                entries += X.entries(A.feature[i]);
            }
        const double a = active.size();
        if (a == 0.0 || a > MAX_GRAM) return 1e3 * MAX_SWEEPS;
        const double length = entries / a;
        const double formed = Columns::in_gram(entries) * length / kept.future;
        const double sweeps = a * (formed + 2.0 * a) / (4.0 * (length + OVERHEAD));
        return std::min<double>(MAX_SWEEPS, std::ceil(sweeps));
    }

    std::uint64_t place(size_t i) const { return static_cast<std::uint64_t>(A.klass[i]) << 40 | static_cast<std::uint64_t>(A.feature[i]); }

    // Where each active coordinate is in the Hessian that was kept; NOWHERE: it is not.
    static constexpr size_t NOWHERE = ~size_t{0};
    std::vector<size_t> position;

    // Whether the Hessian that was kept has most of the active coordinates, and one of the present means would cost much.
    bool still_serves() {
        if (active.empty()) return false;
        const double a = active.size(), length = entries / a, step = (A.size + a) * length + 20.0 * n * k;
        if (0.5 * a * a * length * Columns::in_gram(entries) < step) return false;  // a new one costs less than a step more
        position.assign(active.size(), NOWHERE);
        size_t known = 0;
        for (size_t c = 0, t = 0; c < active.size(); ++c) {
            while (t < kept.places.size() && kept.places[t] < place(active[c])) ++t;
            if (t == kept.places.size() || kept.places[t] != place(active[c])) continue;
            position[c] = t;
            ++known;
        }
        return known > 0 && 4 * known >= 3 * active.size() && active.size() <= MAX_GRAM;
    }

    int through_gram(double tolerance) {
        const size_t a = active.size();
        curvature_weights(kept.P);
        form_hessian(a);
        if (D.intercept) eliminate_intercepts(a);
        // A Cholesky factor costs as much as many sweeps of its Hessian: these come first.
        const int rest = static_cast<int>(std::min<size_t>(a / SWEEPS_PER_FACTOR, MAX_REST));
        int sweeps = 0;
        for (int patience = 2, next = rest; sweeps < MAX_GRAM_SWEEPS; ++sweeps) {
            if (gram_sweep(a) <= tolerance) break;
            if (sweeps < next) continue;
            solve_on_support(a);
            next += std::max(patience, rest);
            patience = std::min(2 * patience, 16);
        }
        if (sweeps == MAX_GRAM_SWEEPS) sweeps += one_by_one(a, tolerance);
        if (D.intercept) restore_intercepts(a);
        std::fill(step_F.begin(), step_F.end(), 0.0);
        for (size_t i : active)
            if (d[i] != 0.0) X.add(A.feature[i], d[i], &step_F[A.klass[i] * n]);
        shift_scores();
        return sweeps;
    }

    // H over the active coordinates, those of it that were kept and the rest; `border` between them and the intercepts.
    void form_hessian(size_t a) {
        const size_t old = kept.places.size();
        std::vector<size_t> column(a), missing;
        H.assign(a * a, 0.0);
        border.assign(a * k, 0.0);
        slope.resize(a);
        for (size_t c = 0; c < a; ++c) {
            slope[c] = g[active[c]];
            column[c] = A.feature[active[c]];
            if (old == 0 || position[c] == NOWHERE) missing.push_back(c);
        }
        add_rows(a, column, missing);
        for (size_t c = 0; c < a && missing.size() < a; ++c) {
            if (position[c] == NOWHERE) continue;
            const double* row = &kept.H[position[c] * old];
            for (size_t e = 0; e < a; ++e)
                H[c * a + e] = position[e] == NOWHERE ? H[e * a + c] : row[position[e]];
            std::copy_n(&kept.border[position[c] * k], k, &border[c * k]);
        }
        kept.H = H;
        kept.border = border;
        kept.places.resize(a);
        for (size_t c = 0; c < a; ++c) {
            kept.places[c] = place(active[c]);
            H[c * a + c] += A.l2[active[c]];
        }
    }

    // Whole rows of H and of `border`.
    void add_rows(size_t a, const std::vector<size_t>& column, const std::vector<size_t>& rows) {
        const bool all = rows.size() == a;
        std::vector<double> weight(n), block;
        std::vector<size_t> left(rows.size());
        for (size_t r = 0; r < rows.size(); ++r) left[r] = column[rows[r]];
        const auto klass = [&](size_t c) { return static_cast<size_t>(A.klass[active[c]]); };
        const auto end_of = [&](size_t c, size_t l) {
            while (c < a && klass(c) == l) ++c;
            return c;
        };
        for (size_t l = 0, begin = 0, end; l < k; ++l, begin = end) {
            end = begin;
            while (end < rows.size() && klass(rows[end]) == l) ++end;
            for (size_t other = 0, from = 0, to; other < k; ++other, from = to) {
                to = end_of(from, other);
                if ((gaussian && other != l) || (all && other < l)) continue;
                const double *p = &kept.P[l * n], *po = &kept.P[other * n];
                for (size_t i = 0; i < n; ++i) weight[i] = other == l ? q[l * n + i] : -D.s[i] * p[i] * po[i];
                block.assign((end - begin) * (to - from), 0.0);
                X.cross({left.data() + begin, end - begin}, {column.data() + from, to - from}, all && other == l, weight.data(), block.data(), to - from);
                for (size_t r = begin; r < end; ++r)
                    std::copy_n(block.data() + (r - begin) * (to - from), to - from, H.data() + rows[r] * a + from);
                for (size_t r = begin; r < end && D.intercept; ++r) border[rows[r] * k + other] = X.dot(left[r], weight.data());
                for (size_t e = from; e < to && D.intercept && all && other != l; ++e) border[e * k + l] = X.dot(column[e], weight.data());
            }
        }
        for (size_t c = 0; c < a && all; ++c)
            for (size_t e = 0; e < c; ++e) H[c * a + e] = H[e * a + c];
    }

    // The model with its intercepts at their best: the Schur complement of their block.
    void eliminate_intercepts(size_t a) {
        intercept_curvature(kept.P, true);
        reduced = border;  // L^-1 of each row
        for (size_t c = 0; c < a; ++c) forward(corner.data(), &reduced[c * k], k);
        std::vector<double> target(gb);
        forward(corner.data(), target.data(), k);
        for (size_t c = 0; c < a; ++c) {
            slope[c] -= dot(&reduced[c * k], target.data(), k);
            for (size_t e = 0; e < a; ++e) H[c * a + e] -= dot(&reduced[c * k], &reduced[e * k], k);
        }
    }

    void restore_intercepts(size_t a) {
        for (size_t l = 0; l < k; ++l) db[l] = -gb[l];
        for (size_t c = 0; c < a; ++c)
            for (size_t l = 0; l < k; ++l) db[l] -= border[c * k + l] * d[active[c]];
        forward(corner.data(), db.data(), k);
        backward(corner.data(), db.data(), k);
    }

    double gram_sweep(size_t a) {
        double moved = 0.0;
        for (size_t c = 0; c < a; ++c) moved = std::max(moved, move_in_gram(c, a));
        return moved;
    }

    double move_in_gram(size_t c, size_t a) {
        const size_t i = active[c];
        const double w = A.w[i] + d[i], move = minimiser(w, slope[c], H[c * a + c], A.l1[i]) - w;
        if (move == 0.0) return 0.0;
        d[i] += move;
        add(slope.data(), &H[c * a], 0.0, move, a);
        return std::abs(move) * H[c * a + c] / A.scale[i];
    }

    // Newton's equations on the non-zero coordinates with their signs. Coordinates whose sign would turn stop at 0, if
    // the model falls; otherwise the way is shortened, at the utmost to where the first sign turns. False if it cannot.
    bool solve_on_support(size_t a) {
        std::vector<size_t> support;
        for (size_t c = 0; c < a; ++c)
            if (A.w[active[c]] + d[active[c]] != 0.0) support.push_back(c);
        const size_t m = support.size();
        std::vector<double> move(m), w(m), step(m), turn(m, 2.0);
        for (size_t r = 0; r < m; ++r) {
            const size_t i = active[support[r]];
            w[r] = A.w[i] + d[i];
            move[r] = -slope[support[r]] - std::copysign(A.l1[i], w[r]);
        }
        double ridge = RIDGE;
        while (!factor_support(support, ridge, a))
            if ((ridge *= 1e3) > 1e-4) return false;
        forward(factor.data(), move.data(), m);
        backward(factor.data(), move.data(), m);
        double first_turn = 1.0;
        for (size_t r = 0; r < m; ++r)
            if (A.l1[active[support[r]]] > 0.0 && w[r] * (w[r] + move[r]) < 0.0) {
                turn[r] = -w[r] / move[r];
                first_turn = std::min(first_turn, turn[r]);
            }
        for (double length = 1.0;; length = std::max(0.25 * length, first_turn)) {
            for (size_t r = 0; r < m; ++r) step[r] = turn[r] <= length ? -w[r] : length * move[r];
            if (length <= first_turn || model_change(support, step, w, a) < 0.0) break;
        }
        for (size_t r = 0; r < m; ++r) {
            const size_t i = active[support[r]];
            d[i] = step[r] == -w[r] ? -A.w[i] : d[i] + step[r];
            add(slope.data(), &H[support[r] * a], 0.0, step[r], a);
        }
        return true;
    }

    bool factor_support(const std::vector<size_t>& support, double ridge, size_t a) {
        const size_t m = support.size();
        factor.resize(m * m);
        for (size_t r = 0; r < m; ++r) {
            for (size_t c = 0; c <= r; ++c) factor[r * m + c] = H[support[r] * a + support[c]];
            factor[r * m + r] *= 1.0 + ridge;
        }
        return factor_cholesky(factor.data(), m);
    }

    // Where columns are so collinear that sweeps let in too many: solve on the support, then let in the worst of the
    // others alone (the feature-sign search of Lee et al. 2007). The model falls at every step.
    int one_by_one(size_t a, double tolerance) {
        const int most = static_cast<int>(a) + 50;
        for (int step = 1; step <= most; ++step) {
            double unsettled = 0.0, worst = tolerance;
            size_t next = a;
            for (size_t c = 0; c < a; ++c) {
                const size_t i = active[c];
                const double w = A.w[i] + d[i], residual = kkt(w, slope[c], A.l1[i]) / A.scale[i];
                if (w != 0.0) unsettled = std::max(unsettled, residual);
                else if (residual > worst) worst = residual, next = c;
            }
            if (next == a && unsettled <= tolerance) return step;
            const bool enters = next < a && unsettled <= worst && move_in_gram(next, a) > 0.0;
            if (!solve_on_support(a) && !enters) return step;
        }
        return most;
    }

    double model_change(const std::vector<size_t>& support, const std::vector<double>& step, const std::vector<double>& w, size_t a) {
        const size_t m = support.size();
        double change = 0.0;
        for (size_t r = 0; r < m; ++r) {
            const double* row = &H[support[r] * a];
            double curved = 0.0;
            for (size_t c = 0; c < m; ++c) curved += row[support[c]] * step[c];
            change += step[r] * (slope[support[r]] + 0.5 * curved) +
                      A.l1[active[support[r]]] * (std::abs(w[r] + step[r]) - std::abs(w[r]));
        }
        return change;
    }

    // ---- Between sweeps over supports too large for their Hessian: conjugate gradients, which see only columns.

    int conjugate_limit = MIN_CONJUGATE;
    std::vector<double> now_E, along_E, along_V;  // scores of the step so far, and of a direction; its curvature

    // Towards Newton's equations on the non-zero coordinates with their signs; as in solve_on_support, coordinates whose
    // sign would turn stop at 0. The variables are centred columns and intercepts. Counts products with the Hessian.
    int conjugate(double tolerance) {
        std::vector<size_t> support;
        for (size_t i = 0; i < A.size; ++i)
            if (A.w[i] + d[i] != 0.0) support.push_back(i);
        const size_t m = support.size(), size = m + (D.intercept ? k : 0);
        std::vector<double> gradient(size), move(size, 0.0), r(size), p(size), Hp(size);
        now_E.assign(n * k, 0.0);
        for (size_t i = 0; i < A.size; ++i)
            if (d[i] != 0.0) X.add(A.feature[i], d[i], &now_E[A.klass[i] * n]);
        for (size_t l = 0; l < k && D.intercept; ++l)
            for (size_t i = 0; i < n; ++i) now_E[l * n + i] += db[l];
        along_E = now_E;
        curve();
        for (size_t l = 0; l < k; ++l)
            for (size_t i = 0; i < n; ++i) along_V[l * n + i] += D.s[i] * (P[l * n + i] - D.Y[l * n + i]);
        pull(support, gradient);
        for (size_t c = 0; c < m; ++c) gradient[c] += A.l2[support[c]] * (A.w[support[c]] + d[support[c]]);
        for (size_t c = 0; c < size; ++c) {
            const size_t i = c < m ? support[c] : 0;
            r[c] = -gradient[c] - (c < m ? std::copysign(A.l1[i], A.w[i] + d[i]) : 0.0);
        }
        const int steps = conjugate_steps(support, tolerance, move, r, p, Hp);
        const bool few = 20 * accept(support, gradient, move) < m;  // more accuracy pays only once the signs are settled
        const int wanted = few && steps == conjugate_limit ? 2 * steps : steps;
        conjugate_limit = std::clamp(wanted, MIN_CONJUGATE, few ? MAX_CONJUGATE : MIN_CONJUGATE);
        return steps;
    }

    double preconditioned(const std::vector<size_t>& support, const std::vector<double>& r, size_t c) const {
        const double curvature = c < support.size() ? h[support[c]] : total_q[c - support.size()];
        return curvature > 0.0 ? r[c] / curvature : 0.0;
    }

    int conjugate_steps(const std::vector<size_t>& support, double tolerance, std::vector<double>& move, std::vector<double>& r,
                        std::vector<double>& p, std::vector<double>& Hp) {
        const size_t m = support.size(), size = r.size();
        double rz = 0.0;
        for (size_t c = 0; c < size; ++c) {
            p[c] = preconditioned(support, r, c);
            rz += r[c] * p[c];
        }
        int steps = 0;
        while (steps < conjugate_limit && rz > 0.0) {
            scores_along(support, p);
            curve();
            pull(support, Hp);
            for (size_t c = 0; c < m; ++c) Hp[c] += A.l2[support[c]] * p[c];
            ++steps;
            const double curved = dot(p.data(), Hp.data(), size);
            if (!(curved > 0.0)) break;
            const double length = rz / curved;
            double worst = 0.0, next = 0.0;
            for (size_t c = 0; c < size; ++c) {
                move[c] += length * p[c];
                r[c] -= length * Hp[c];
                worst = std::max(worst, std::abs(r[c]) / (c < m ? A.scale[support[c]] : total_s));
                next += r[c] * preconditioned(support, r, c);
            }
            if (worst <= tolerance) break;
            for (size_t c = 0; c < size; ++c) p[c] = preconditioned(support, r, c) + next / rz * p[c];
            rz = next;
        }
        return steps;
    }

    // along_E: the change of scores when centred columns move by p, and intercepts.
    void scores_along(const std::vector<size_t>& support, const std::vector<double>& p) {
        const size_t m = support.size();
        std::vector<double> shift(k, 0.0);
        along_E.assign(n * k, 0.0);
        for (size_t c = 0; c < m; ++c) {
            const size_t i = support[c];
            if (p[c] == 0.0) continue;
            X.add(A.feature[i], p[c], &along_E[A.klass[i] * n]);
            shift[A.klass[i]] += center[i] * p[c];
        }
        for (size_t l = 0; l < k && D.intercept; ++l)
            for (size_t i = 0; i < n; ++i) along_E[l * n + i] += p[m + l] - shift[l];
    }

    // along_V = the model's curvature in the scores times along_E.
    void curve() {
        along_V.resize(n * k);
        std::vector<double> total(n, 0.0);
        for (size_t l = 0; l < k && !gaussian; ++l)
            for (size_t i = 0; i < n; ++i) total[i] += D.s[i] * P[l * n + i] * along_E[l * n + i];
        for (size_t l = 0; l < k; ++l)
            for (size_t i = 0; i < n; ++i) {
                const double mean = gaussian ? 0.0 : P[l * n + i];
                along_V[l * n + i] = (q[l * n + i] + D.s[i] * mean * mean) * along_E[l * n + i] - mean * total[i];
            }
    }

    // The products of along_V with the centred columns, and its sums.
    void pull(const std::vector<size_t>& support, std::vector<double>& out) const {
        const size_t m = support.size();
        std::vector<double> total(k, 0.0);
        for (size_t l = 0; l < k && D.intercept; ++l) out[m + l] = total[l] = sum(&along_V[l * n], n);
        for (size_t c = 0; c < m; ++c) {
            const size_t i = support[c], l = A.klass[i];
            out[c] = X.dot(A.feature[i], &along_V[l * n]) - center[i] * total[l];
        }
    }

    // Go as far along `move` as the model falls, at the least to where the first sign turns. How many signs would turn.
    size_t accept(const std::vector<size_t>& support, const std::vector<double>& gradient, const std::vector<double>& move) {
        const size_t m = support.size();
        std::vector<double> step(move.size());
        double first_turn = 1.0;
        size_t turning = 0;
        const auto turn = [&](size_t c) {
            const double w = A.w[support[c]] + d[support[c]];
            return A.l1[support[c]] > 0.0 && w * (w + move[c]) < 0.0 ? -w / move[c] : 2.0;
        };
        for (size_t c = 0; c < m; ++c) {
            first_turn = std::min(first_turn, turn(c));
            turning += turn(c) < 1.0;
        }
        for (double length = 1.0;; length = std::max(0.25 * length, first_turn)) {
            double change = 0.0;
            for (size_t c = 0; c < move.size(); ++c) step[c] = length * move[c];
            for (size_t c = 0; c < m; ++c) {
                const size_t i = support[c];
                const double w = A.w[i] + d[i];
                if (turn(c) <= length) step[c] = -w;
                change += A.l1[i] * (std::abs(w + step[c]) - std::abs(w)) + 0.5 * A.l2[i] * step[c] * step[c];
            }
            scores_along(support, step);
            curve();
            change += dot(gradient.data(), step.data(), step.size()) + 0.5 * dot(along_E.data(), along_V.data(), n * k);
            if (length <= first_turn || change < 0.0) break;
        }
        for (size_t c = 0; c < m; ++c) {
            const size_t i = support[c];
            d[i] = step[c] == -(A.w[i] + d[i]) ? -A.w[i] : d[i] + step[c];
            db[A.klass[i]] -= D.intercept ? center[i] * step[c] : 0.0;
        }
        for (size_t l = 0; l < k && D.intercept; ++l) db[l] += step[m + l];
        resume();
        return turning;
    }

    // The state of the sweeps after a step of all classes at once.
    void resume() {
        for (size_t t = 0; t < n * k; ++t) now_E[t] += along_E[t];
        if (k == 1) {
            for (size_t i = 0; i < n; ++i) v[i] = D.s[i] * (P[i] - D.Y[i]) + q[i] * now_E[i];
            return;
        }
        std::fill(T.begin(), T.end(), 0.0);
        for (size_t l = 0; l < k; ++l)
            for (size_t i = 0; i < n; ++i) {
                const size_t t = l * n + i;
                u[t] = D.s[i] * (gaussian ? 1.0 : P[t]) * now_E[t];
                excess[t] = beyond(l, i) * now_E[t];
                if (!gaussian) T[i] += u[t];
            }
    }

    // Row-wise Cholesky in the lower triangle; false when the matrix is not positive definite to rounding.
    static bool factor_cholesky(double* L, size_t m) {
        for (size_t r = 0; r < m; ++r) {
            for (size_t c = 0; c < r; ++c) L[r * m + c] = (L[r * m + c] - dot(L + r * m, L + c * m, c)) / L[c * m + c];
            const double pivot = L[r * m + r] - dot(L + r * m, L + r * m, r);
            if (!(pivot > 1e-13 * L[r * m + r])) return false;
            L[r * m + r] = std::sqrt(pivot);
        }
        return true;
    }

    static void forward(const double* L, double* x, size_t m) {
        for (size_t r = 0; r < m; ++r) x[r] = (x[r] - dot(L + r * m, x, r)) / L[r * m + r];
    }

    static void backward(const double* L, double* x, size_t m) {
        for (size_t r = m; r-- > 0;) {
            x[r] /= L[r * m + r];
            for (size_t c = 0; c < r; ++c) x[c] -= L[r * m + c] * x[r];
        }
    }
};

}  // namespace smaller
