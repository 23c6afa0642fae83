// Component-wise bound optimisation (Krishnapuram et al. 2005, section 3.5): each weight in turn goes to the minimum of
// a quadratic upper bound of the objective, eqs. (15) and (16), so that the objective never rises.
#pragma once
#include "model.hpp"

namespace smaller {

template <class Columns>
class ComponentWise {
public:
    // bound[i]: curvature of the bound along coordinate i; center[i]: column mean taken out (0 for sparse columns).
    ComponentWise(const Columns& columns, const Samples& samples, const WorkingSet& set, const double* bound,
                  const double* center, double* b, double* F)
        : X(columns), D(samples), A(set), bound(bound), center(center), b(b), F(F), n(samples.n), k(samples.k),
          e(n * k), total(n), v(n * k), total_s(sum(samples.s, n)) {}

    // One visit to each coordinate with visit[i] != 0, class by class; the largest KKT residual met on the way.
    double sweep(const std::uint8_t* visit) {
        double worst = 0.0;
        size_t i = 0;
        for (size_t l = 0; l < k; ++l) {
            exponentials(F, n, k, D.family == REFERENCE, e.data(), total.data());
            residual(l);
            if (D.intercept) worst = std::max(worst, move_intercept(l));
            for (; i < A.size && static_cast<size_t>(A.klass[i]) == l; ++i) {
                if (!visit[i]) continue;
                const double slope = gradient(i);
                worst = std::max(worst, kkt(A.w[i], slope, A.l1[i]) / A.scale[i]);
                const double change = step(i, slope);
                if (change != 0.0) {
                    move(i, change);
                    residual(l);
                }
            }
        }
        return worst;
    }

    // Section 6.4: `updates` times the coordinate whose bound promises the largest decrease.
    double greedy(size_t updates) {
        double worst = 0.0;
        for (size_t t = 0; t < updates; ++t) {
            exponentials(F, n, k, D.family == REFERENCE, e.data(), total.data());
            for (size_t l = 0; l < k; ++l) {
                residual(l);
                if (D.intercept) worst = std::max(worst, move_intercept(l));
            }
            for (size_t l = 0; l < k; ++l) residual(l);
            size_t best = A.size;
            double best_gain = 0.0, best_change = 0.0;
            for (size_t i = 0; i < A.size; ++i) {
                const double slope = gradient(i), change = step(i, slope), w = A.w[i];
                if (t == 0) worst = std::max(worst, kkt(w, slope, A.l1[i]) / A.scale[i]);
                const double gain = -change * (slope + 0.5 * (bound[i] + A.l2[i]) * change) -
                                    A.l1[i] * (std::abs(w + change) - std::abs(w));
                if (gain > best_gain) best = i, best_gain = gain, best_change = change;
            }
            if (best == A.size) break;
            move(best, best_change);
        }
        return worst;
    }

private:
    const Columns X;
    const Samples D;
    const WorkingSet A;
    const double *bound, *center;
    double *b, *F;
    size_t n, k;
    std::vector<double> e, total, v;
    double total_s;

    void residual(size_t l) {
        const double *el = &e[l * n], *y = D.Y + l * n;
        double* vl = &v[l * n];
        for (size_t i = 0; i < n; ++i) vl[i] = D.s[i] * (el[i] / total[i] - y[i]);
    }

    double gradient(size_t i) const {
        const double* vl = &v[A.klass[i] * n];
        double slope = X.dot(A.feature[i], vl) + A.l2[i] * A.w[i];
        if (center[i] != 0.0) slope -= center[i] * sum(vl, n);
        return slope;
    }

    double step(size_t i, double slope) const {
        return minimiser(A.w[i], slope, bound[i] + A.l2[i], A.l1[i]) - A.w[i];
    }

    void move(size_t i, double change) {
        const size_t l = A.klass[i];
        A.w[i] += change;
        b[l] -= center[i] * change;
        X.add_centred(A.feature[i], center[i], change, F + l * n);
        X.tilt(A.feature[i], center[i], change, &e[l * n], total.data());
        // A move that takes nearly all of a row's total away, or multiplies it, leaves only rounding errors behind.
        bool spoilt = false;
        for (size_t r = 0; r < n; ++r) spoilt |= !(total[r] > 1e-6 && total[r] < 1e6);
        if (spoilt) exponentials(F, n, k, D.family == REFERENCE, e.data(), total.data());
    }

    double move_intercept(size_t l) {
        const double slope = sum(&v[l * n], n), change = -4.0 * slope / total_s, factor = std::exp(change);
        b[l] += change;
        for (size_t i = 0; i < n; ++i) {
            const double was = e[l * n + i];
            F[l * n + i] += change;
            e[l * n + i] = was * factor;
            total[i] += e[l * n + i] - was;
        }
        residual(l);
        return std::abs(slope) / total_s;
    }
};

}  // namespace smaller
