// Conjugate gradients on the quadratic model of a Newton step, where the Hessian of the non-zero weights would be too
// large to form: only products with columns are needed. The variables are the weights of centred columns and, if there
// are intercepts, the intercepts.
#pragma once
#include "model.hpp"

namespace smaller {

template <class Columns>
class Conjugate {
public:
    Conjugate(Model<Columns>& model, const std::vector<double>& center, const std::vector<double>& curvature)
        : M(model), center(center), curvature(curvature), n(model.n), k(model.k) {}

    // Moves the step towards the solution of Newton's equations on the non-zero coordinates with their signs held;
    // coordinates whose sign would change stop at 0. Returns the number of products with the Hessian.
    int run(double tolerance) {
        support.clear();
        for (size_t i = 0; i < M.A.size; ++i)
            if (M.A.w[i] + M.d[i] != 0.0) support.push_back(i);
        const size_t m = support.size(), size = m + (M.D.intercept ? k : 0);
        std::vector<double> gradient(size), move(size, 0.0), r(size);
        change.resize(n * k);
        M.scores_of_step(change);
        along_E = change;
        curve();
        std::vector<double> v(n);
        for (size_t l = 0; l < k; ++l) {
            M.residual(l, v.data());
            add(&along_V[l * n], v.data(), 0.0, 1.0, n);
        }
        pull(gradient);
        for (size_t c = 0; c < m; ++c) gradient[c] += M.A.l2[support[c]] * weight(c);
        for (size_t c = 0; c < size; ++c) r[c] = -gradient[c];
        for (size_t c = 0; c < m; ++c) r[c] -= std::copysign(M.A.l1[support[c]], weight(c));
        const int steps = iterate(tolerance, move, r);
        const bool few = 20 * accept(gradient, move) < m;  // more accuracy pays only once the signs are settled
        const int wanted = few && steps == limit ? 2 * steps : steps;
        limit = std::clamp(wanted, MIN_STEPS, few ? MAX_STEPS : MIN_STEPS);
        return steps;
    }

    // The change of scores of the whole step so far, (n, k).
    const std::vector<double>& scores() const { return change; }

private:
    Model<Columns>& M;
    const std::vector<double>&center, &curvature;  // of each coordinate
    const size_t n, k;
    static constexpr int MIN_STEPS = 32, MAX_STEPS = 1000;
    int limit = MIN_STEPS;
    std::vector<size_t> support;
    // (n, k): the change of scores of the step; along a direction the change of scores, and the change of their
    // gradient.
    std::vector<double> change, along_E, along_V;

    // The present weight of a coordinate of the support.
    double weight(size_t c) const { return M.A.w[support[c]] + M.d[support[c]]; }

    double preconditioned(const std::vector<double>& r, size_t c) const {
        const double h = c < support.size() ? curvature[support[c]] : M.total_q[c - support.size()];
        return h > 0.0 ? r[c] / h : 0.0;
    }

    int iterate(double tolerance, std::vector<double>& move, std::vector<double>& r) {
        const size_t m = support.size(), size = r.size();
        std::vector<double> p(size), Hp(size);
        double rz = 0.0;
        for (size_t c = 0; c < size; ++c) {
            p[c] = preconditioned(r, c);
            rz += r[c] * p[c];
        }
        int steps = 0;
        while (steps < limit && rz > 0.0) {
            scores_along(p);
            curve();
            pull(Hp);
            for (size_t c = 0; c < m; ++c) Hp[c] += M.A.l2[support[c]] * p[c];
            ++steps;
            const double curved = dot(p.data(), Hp.data(), size);
            if (!(curved > 0.0)) break;
            const double length = rz / curved;
            double worst = 0.0, next = 0.0;
            for (size_t c = 0; c < size; ++c) {
                move[c] += length * p[c];
                r[c] -= length * Hp[c];
                worst = std::max(worst, std::abs(r[c]) / (c < m ? M.A.scale[support[c]] : M.D.measure));
                next += r[c] * preconditioned(r, c);
            }
            if (worst <= tolerance) break;
            for (size_t c = 0; c < size; ++c) p[c] = preconditioned(r, c) + next / rz * p[c];
            rz = next;
        }
        return steps;
    }

    // along_E: the change of scores when centred columns and intercepts move by p.
    void scores_along(const std::vector<double>& p) {
        const size_t m = support.size();
        std::vector<double> shift(k, 0.0);
        along_E.assign(n * k, 0.0);
        for (size_t c = 0; c < m; ++c) {
            const size_t i = support[c];
            if (p[c] == 0.0) continue;
            M.X.add(M.A.feature[i], p[c], &along_E[M.A.klass[i] * n]);
            shift[M.A.klass[i]] += center[i] * p[c];
        }
        for (size_t l = 0; l < k && M.D.intercept; ++l)
            for (size_t i = 0; i < n; ++i) along_E[l * n + i] += p[m + l] - shift[l];
    }

    // along_V = the model's curvature in the scores times along_E.
    void curve() {
        along_V.resize(n * k);
        std::vector<double> total(n, 0.0);
        for (size_t l = 0; l < k && !M.gaussian; ++l)
            for (size_t i = 0; i < n; ++i) total[i] += M.D.s[i] * M.P[l * n + i] * along_E[l * n + i];
        for (size_t l = 0; l < k; ++l)
            for (size_t i = 0; i < n; ++i) {
                const double mean = M.gaussian ? 0.0 : M.P[l * n + i];
                along_V[l * n + i] = (M.q[l * n + i] + M.D.s[i] * mean * mean) * along_E[l * n + i] - mean * total[i];
            }
    }

    // The products of along_V with the centred columns, and its sums.
    void pull(std::vector<double>& out) const {
        const size_t m = support.size();
        std::vector<double> total(k, 0.0);
        for (size_t l = 0; l < k && M.D.intercept; ++l) out[m + l] = total[l] = sum(&along_V[l * n], n);
        for (size_t c = 0; c < m; ++c) {
            const size_t i = support[c], l = M.A.klass[i];
            out[c] = M.X.dot(M.A.feature[i], &along_V[l * n]) - center[i] * total[l];
        }
    }

    // Takes the longest tried step along `move` that lowers the model, but at least to the first change of a sign.
    // Returns how many signs the whole of `move` would change.
    size_t accept(const std::vector<double>& gradient, const std::vector<double>& move) {
        const size_t m = support.size();
        std::vector<double> step(move.size());
        double first_turn = 1.0;
        size_t turning = 0;
        const auto turn = [&](size_t c) {
            const double w = weight(c);
            return M.A.l1[support[c]] > 0.0 && w * (w + move[c]) < 0.0 ? -w / move[c] : 2.0;
        };
        for (size_t c = 0; c < m; ++c) {
            first_turn = std::min(first_turn, turn(c));
            turning += turn(c) < 1.0;
        }
        for (double length = 1.0;; length = std::max(0.25 * length, first_turn)) {
            double fall = 0.0;
            for (size_t c = 0; c < move.size(); ++c) step[c] = length * move[c];
            for (size_t c = 0; c < m; ++c) {
                const double w = weight(c);
                if (turn(c) <= length) step[c] = -w;
                fall += M.A.l1[support[c]] * (std::abs(w + step[c]) - std::abs(w)) +
                        0.5 * M.A.l2[support[c]] * step[c] * step[c];
            }
            scores_along(step);
            curve();
            fall += dot(gradient.data(), step.data(), step.size()) + 0.5 * dot(along_E.data(), along_V.data(), n * k);
            if (length <= first_turn || fall < 0.0) break;
        }
        for (size_t c = 0; c < m; ++c) {
            const size_t i = support[c];
            M.d[i] = step[c] == -weight(c) ? -M.A.w[i] : M.d[i] + step[c];
            M.db[M.A.klass[i]] -= M.D.intercept ? center[i] * step[c] : 0.0;
        }
        for (size_t l = 0; l < k && M.D.intercept; ++l) M.db[l] += step[m + l];
        add(change.data(), along_E.data(), 0.0, 1.0, n * k);
        return turning;
    }
};

}  // namespace smaller
