// The loss after each of many moves of a single parameter, a weight or the gate of an input, from which boosted lasso
// (Zhao & Yu 2007) chooses its next step.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "columns.hpp"
#include "model.hpp"

namespace smaller {

// Changes of the loss when the score of a class moves by +-step (x_j - c), x_j a column, c a shift of the intercept; p
// and q = 1 - p are the class's probabilities: log(q + p exp(z)) - y z for a change z. Only dense columns are shifted.
template <class T>
void moved(const Dense<T>& X, size_t j, double c, const double* p, const double* q, const double* y, const double* s,
           double step, double* up, double* down) {
    moved(X.column(j), c, p, q, y, s, step, X.n, up, down);
}

template <class T, class I>
void moved(const Sparse<T, I>& X, size_t j, double, const double* p, const double* q, const double* y,
           const double* s, double step, double* up, double* down) {
    *up = *down = 0.0;
    X.each(j, [&](size_t r, double x) {
        // exp(-|z|) cannot overflow, and a probability that is 0 in rounding has a logarithm at the end of the range.
        const double z = step * x, e = std::exp(-std::fabs(z)), least = std::numeric_limits<double>::min();
        const double with = std::log(std::max(p[r] + q[r] * e, least));
        const double against = std::log(std::max(q[r] + p[r] * e, least));
        *up += s[r] * ((z < 0.0 ? against : with) + (std::max(z, 0.0) - y[r] * z));
        *down += s[r] * ((z < 0.0 ? with : against) + (std::max(-z, 0.0) + y[r] * z));
    });
}

// Fitted means P, Q = 1 - P without loss of digits, and targets Y, all (n, k), and sample weights s. Means are
// probabilities except in the Gaussian family.
struct ClassMeans {
    size_t n;
    Family family;
    const double *P, *Q, *Y, *s;
};

template <class Columns>
class WeightMoves {
public:
    WeightMoves(const Columns& columns, const ClassMeans& at)
        : X(columns), n(at.n), family(at.family), P(at.P), Q(at.Q), Y(at.Y), s(at.s), v(n), total_s(sum(s, n)) {}

    // Changes of the loss when the weight of column j for class l moves by +-step, and the intercept by -+step c.
    void operator()(size_t j, size_t l, double c, double step, double* up, double* down) {
        const double *p = P + l * n, *y = Y + l * n;
        if (family != GAUSSIAN) return moved(X, j, c, p, Q + l * n, y, s, step, up, down);
        for (size_t i = 0; i < n; ++i) v[i] = s[i] * (p[i] - y[i]);
        const double slope = step * (X.dot(j, v.data()) - c * sum(v.data(), n));
        const double curve = 0.5 * step * step * X.spread(j, c, s, total_s);
        *up = curve + slope;
        *down = curve - slope;
    }

private:
    const Columns X;
    size_t n;
    Family family;
    const double *P, *Q, *Y, *s;
    std::vector<double> v;
    double total_s;
};

// Scores base + K W: a kernel K (n, a) on a centres with weights W (a, k), and the rest of the scores.
struct GatedKernel {
    const double *K, *W, *base;
    size_t a;
};

// The loss after the gate of one input of an RBF kernel has moved.
class GateMoves {
public:
    GateMoves(const GatedKernel& kernel, const Samples& samples)
        : K(kernel.K), W(kernel.W), base(kernel.base), n(samples.n), a(kernel.a), k(samples.k), family(samples.family),
          intercept(samples.intercept), Y(samples.Y), s(samples.s), z(n), F(n * k), P(n * k) {}

    // x (n) and c (a) are the values of the input in the samples and in the centres; rate is gamma times the change of
    // the squared gate.
    double operator()(const double* x, const double* c, double rate) {
        std::copy(base, base + n * k, F.begin());
        for (size_t j = 0; j < a; ++j) {
            if (k == 1) {
                add_regated(F.data(), K + j * n, x, c[j], rate, W[j], n);
                continue;
            }
            regated(z.data(), K + j * n, x, c[j], rate, n);
            for (size_t l = 0; l < k; ++l)
                if (W[l * a + j] != 0.0) add(&F[l * n], z.data(), 0.0, W[l * a + j], n);
        }
        const double loss = means(F.data(), Y, s, n, k, family, P.data());
        if (!intercept) return loss;
        for (size_t l = 0; l < k; ++l) follow(&F[l * n], &P[l * n], Y + l * n);
        return std::min(loss, means(F.data(), Y, s, n, k, family, P.data()));
    }

private:
    // The intercept of a class takes one step of Newton's method; with several classes, whose intercepts interact, with
    // an upper bound of the curvature.
    void follow(double* f, const double* p, const double* y) {
        double slope = 0.0, curvature = 0.0;
        for (size_t i = 0; i < n; ++i) {
            slope += s[i] * (p[i] - y[i]);
            curvature += s[i] * (family == GAUSSIAN ? 1.0 : (k == 1 ? p[i] * (1.0 - p[i]) : p[i]));
        }
        if (curvature <= 0.0) return;
        for (size_t i = 0; i < n; ++i) f[i] -= slope / curvature;
    }

    const double *K, *W, *base;
    size_t n, a, k;
    Family family;
    bool intercept;
    const double *Y, *s;
    std::vector<double> z, F, P;
};

}  // namespace smaller
