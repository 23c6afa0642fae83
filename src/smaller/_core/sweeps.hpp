// Coordinate sweeps over the quadratic model of a Newton step that read the columns one after another, class by class.
//
// The model has, in class l, the working vector
//     v_l = s (P_l - Y_l) + u_l - P_l T,      u_l = s P_l E_l,  T = sum_l u_l,  E = the step's change of scores,
// so that its gradient for column x is x . v_l. While class l is worked on, moving one of its weights by d changes v_l
// by d q_l x with q_l = s P_l (1 - P_l): a gradient reads two vectors, a move three. A free intercept is eliminated:
// each move of x is a move of x minus its q-weighted mean, which leaves the intercept of its class optimal.
#pragma once
#include <functional>

#include "conjugate.hpp"

namespace smaller {

template <class Columns>
class Sweeps {
public:
    static constexpr int MAX_SWEEPS = 1000;

    explicit Sweeps(Model<Columns>& model)
        : M(model), n(model.n), k(model.k), xq(model.A.size), center(model.A.size), h(model.A.size),
          conjugate(model, center, h) {}

    // All coordinates once, then the non-zero ones until none moves by more than the tolerance, and again, until a
    // sweep over all moves none. Returns the number of sweeps.
    int run(double tolerance, int max_sweeps, const std::function<void()>& poll) {
        begin();
        const bool large = max_sweeps >= MAX_SWEEPS;  // forming the Hessian would cost more than sweeps
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
                if (large && ++resting >= PATIENT && resting % SWEEPS_PER_CONJUGATE == 0) {
                    for (size_t i = 0; i < M.A.size; ++i)
                        if (M.A.w[i] + M.d[i] != 0.0) curvature(i);
                    sweeps += conjugate.run(tolerance);
                    resume(conjugate.scores());
                }
            }
            if (sweeps % 64 == 0) poll();
        }
        return sweeps;
    }

private:
    static constexpr double UNKNOWN = -1.0;
    static constexpr int PATIENT = 24, SWEEPS_PER_CONJUGATE = 8;  // sweeps before conjugate gradients, and between them
    Model<Columns>& M;
    const size_t n, k;
    std::vector<double> v, u, excess, T;  // excess: part of v from the additional curvature of misclassified rows
    std::vector<double> xq, center, h;    // of each coordinate: x.q, its q-weighted mean, the curvature of the model
    Conjugate<Columns> conjugate;

    void begin() {
        std::fill(h.begin(), h.end(), UNKNOWN);
        for (size_t l = 0; l < k && M.D.intercept; ++l)
            for (size_t i = M.first[l]; i < M.first[l + 1]; ++i) {
                xq[i] = M.X.dot(M.A.feature[i], &M.q[l * n]);
                center[i] = M.total_q[l] > 0.0 ? xq[i] / M.total_q[l] : 0.0;
            }
        v.resize(n);
        u.assign(k > 1 ? n * k : 0, 0.0);
        excess.assign(u.size(), 0.0);
        T.assign(k > 1 ? n : 0, 0.0);
        if (k == 1) M.residual(0, v.data());
    }

    // The second derivative of the model in one weight, computed when it is first needed.
    double curvature(size_t i) {
        const size_t l = M.A.klass[i];
        if (h[i] == UNKNOWN) h[i] = M.X.spread(M.A.feature[i], center[i], &M.q[l * n], M.total_q[l]) + M.A.l2[i];
        return h[i];
    }

    void enter(size_t l) {
        M.residual(l, v.data());
        const double* p = &M.P[l * n];
        for (size_t i = 0; i < n; ++i) v[i] += u[l * n + i] - p[i] * T[i] + excess[l * n + i];
    }

    // v_l has changed by (1 - P_l) times the change of u_l; rows where P_l = 1 have not moved.
    void leave(size_t l) {
        const double *p = &M.P[l * n], *residual = &M.U[l * n];
        for (size_t i = 0; i < n; ++i) {
            const double was = M.D.s[i] * residual[i] + u[l * n + i] - p[i] * T[i] + excess[l * n + i];
            const double more = M.beyond(l, i), rest = M.gaussian ? 1.0 : 1.0 - p[i];
            double change = rest > 0.0 ? (v[i] - was) / rest : 0.0;
            if (more > 0.0) {
                const double moved = (v[i] - was) / M.q[l * n + i];  // of the score
                change = M.D.s[i] * p[i] * moved;
                excess[l * n + i] += more * moved;
            }
            u[l * n + i] += change;
            if (!M.gaussian) T[i] += change;
        }
    }

    double sweep_class(size_t l, bool all) {
        double moved = 0.0;
        if (M.first[l] == M.first[l + 1] && !M.D.intercept) return moved;
        if (k > 1) enter(l);
        Lazy lazy{v.data(), &M.q[l * n], 0.0};
        if (M.D.intercept && M.total_q[l] > 0.0) {
            const double slope = sum(v.data(), n), move = -slope / M.total_q[l];
            for (size_t i = 0; i < n; ++i) v[i] += move * lazy.q[i];
            M.db[l] += move;
            moved = std::abs(slope) / M.D.measure;
        }
        for (size_t i = M.first[l]; i < M.first[l + 1]; ++i) {
            const double w = M.A.w[i] + M.d[i], l1 = M.A.l1[i];
            if (!all && w == 0.0) continue;
            const double slope = M.X.dot(M.A.feature[i], lazy, xq[i]) + M.A.l2[i] * w;
            if (w == 0.0 && std::abs(slope) <= l1) continue;
            const double move = minimiser(w, slope, curvature(i), l1) - w;
            if (move == 0.0) continue;
            M.X.move(M.A.feature[i], center[i], move, lazy);
            M.d[i] += move;
            M.db[l] -= center[i] * move;
            moved = std::max(moved, std::abs(move) * h[i] / M.A.scale[i]);
        }
        if (lazy.shift != 0.0)
            for (size_t i = 0; i < n; ++i) v[i] -= lazy.shift * lazy.q[i];
        if (k > 1) leave(l);
        return moved;
    }

    // The state of the sweeps after a step of all classes at once, E being the change of scores so far.
    void resume(const std::vector<double>& E) {
        if (k == 1) {
            M.residual(0, v.data());
            for (size_t i = 0; i < n; ++i) v[i] += M.q[i] * E[i];
            return;
        }
        std::fill(T.begin(), T.end(), 0.0);
        for (size_t l = 0; l < k; ++l)
            for (size_t i = 0; i < n; ++i) {
                const size_t t = l * n + i;
                u[t] = M.D.s[i] * (M.gaussian ? 1.0 : M.P[t]) * E[t];
                excess[t] = M.beyond(l, i) * E[t];
                if (!M.gaussian) T[i] += u[t];
            }
    }
};

}  // namespace smaller
