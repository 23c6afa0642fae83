// The log evidence of Gaussian data for given columns as a function of their log precisions and of the log noise: its
// value, its first and second derivatives, and Newton's method to its maximum.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "cholesky.hpp"
#include "sequential.hpp"

namespace smaller {

// A model of Gaussian data: columns, their precisions, the noise, and the log evidence.
struct GaussianModel {
    std::vector<size_t> columns;
    std::vector<double> alpha;
    double noise = 1.0;
    double value = -POSITIVE_INFINITY;  // log evidence + k total log(2 pi) / 2

    void remove(size_t place) {
        columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(place));
        alpha.erase(alpha.begin() + static_cast<std::ptrdiff_t>(place));
    }
};

// The posterior of the weights of a model with M columns.
struct GaussianPosterior {
    std::vector<double> Sigma, mu;  // (M, M), and (M, k) output by output
    double misfit, value;           // squared residuals of the mean; log evidence as in GaussianModel

    double variance(size_t M, size_t a) const { return Sigma[a * M + a]; }
    // Sum of the squared means of a column over the outputs.
    double square(size_t M, size_t a) const {
        double total = 0.0;
        for (size_t l = 0; l * M < mu.size(); ++l) total += mu[l * M + a] * mu[l * M + a];
        return total;
    }
};

class GaussianEvidence {
public:
    // tol: what counts as a gain of the log evidence, in nats.
    GaussianEvidence(Products& gram, const GaussianData& data, double tol)
        : gram(gram), C(data.C), w(gram.w), k(data.k), total(data.total), yy(data.yy), floor(data.floor), tol(tol),
          outputs(static_cast<double>(k)) {}

    // The posterior of a model; false where its precision matrix is singular.
    bool posterior(const GaussianModel& model, GaussianPosterior& out) {
        const size_t M = model.columns.size();
        const double beta = 1.0 / model.noise;
        std::vector<double> H(M * M), L, U(M * M);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b < M; ++b)
                H[a * M + b] = beta * gram.pair(model.columns[a], model.columns[b]) + (a == b ? model.alpha[a] : 0.0);
        if (!factorise_nearly(H, M, L)) return false;
        invert_factor(L.data(), M, U.data());
        out.Sigma.resize(M * M);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b)
                out.Sigma[a * M + b] = out.Sigma[b * M + a] = inverse_entry(U.data(), M, a, b);
        const double quadratic = means(model, out);
        double logdet = log_determinant(L.data(), M) + total * std::log(model.noise);
        for (const double a : model.alpha) logdet -= std::log(a);
        out.value = -0.5 * (outputs * logdet + quadratic + beta * out.misfit);
        return true;
    }

    // Newton's method on the log precisions and the log noise; columns whose deletion raises the evidence are deleted.
    // The method gives up where the model is unlikely to reach the evidence `wanted`.
    void settle(GaussianModel& model, double wanted = -POSITIVE_INFINITY) {
        GaussianPosterior at;
        if (!posterior(model, at)) return;
        for (int step = 0; step < NEWTON; ++step) {
            if (drop_worst(model, at)) {
                if (!posterior(model, at)) return;
                continue;
            }
            const std::vector<double> g = gradient(model, at);
            double steepest = 0.0;
            for (const double x : g) steepest = std::max(steepest, std::abs(x));
            if (steepest <= SETTLED * tol || !advance(model, at, g, wanted)) break;
        }
        model.value = at.value;
    }

private:
    static constexpr int NEWTON = 200, HALVINGS = 12;
    static constexpr double SETTLED = 1e-2;  // largest slope of a settled model, in units of tol
    static constexpr double LONGEST = 3.0;   // step in the logarithm of a precision
    static constexpr double PROSPECT = 2.0;  // the evidence rises at most this many times what a Newton step predicts

    Products& gram;
    const double* C;
    const size_t w, k;
    const double total, yy, floor, tol, outputs;

    // Posterior means and misfit from Sigma; returns the sum of alpha mu^2.
    double means(const GaussianModel& model, GaussianPosterior& out) {
        const size_t M = model.columns.size();
        const double beta = 1.0 / model.noise;
        double quadratic = 0.0;
        out.mu.resize(M * k);
        out.misfit = yy;
        for (size_t l = 0; l < k; ++l) {
            double* mu = out.mu.data() + l * M;
            for (size_t a = 0; a < M; ++a) {
                mu[a] = 0.0;
                for (size_t b = 0; b < M; ++b) mu[a] += beta * out.Sigma[a * M + b] * C[l * w + model.columns[b]];
            }
            for (size_t a = 0; a < M; ++a) {
                double g = 0.0;
                for (size_t b = 0; b < M; ++b) g += gram.pair(model.columns[a], model.columns[b]) * mu[b];
                out.misfit += mu[a] * (g - 2.0 * C[l * w + model.columns[a]]);
                quadratic += model.alpha[a] * mu[a] * mu[a];
            }
        }
        out.misfit = std::max(out.misfit, 0.0);
        return quadratic;
    }

    // Deletes the column whose deletion raises the evidence most; false where no deletion raises it.
    bool drop_worst(GaussianModel& model, const GaussianPosterior& at) const {
        const size_t M = model.columns.size();
        size_t worst = M;
        double least = POSITIVE_INFINITY;
        for (size_t a = 0; a < M; ++a) {
            const double variance = at.variance(M, a), s = (1.0 - model.alpha[a] * variance) / variance;
            const double q2 = at.square(M, a) / (variance * variance);
            if (q2 > outputs * s) continue;
            const double loss = contribution(model.alpha[a], s, q2, outputs);
            if (loss < least) {
                least = loss;
                worst = a;
            }
        }
        if (worst == M) return false;
        model.remove(worst);
        return true;
    }

    // The derivatives of the log evidence in the log precisions, and last in the log noise: 0 where the noise is fixed.
    std::vector<double> gradient(const GaussianModel& model, const GaussianPosterior& at) const {
        const size_t M = model.columns.size();
        std::vector<double> g(M + 1);
        double determined = 0.0;
        for (size_t a = 0; a < M; ++a) {
            const double share = 1.0 - model.alpha[a] * at.variance(M, a);
            determined += share;
            g[a] = 0.5 * (outputs * share - model.alpha[a] * at.square(M, a));
        }
        g[M] = 0.5 * (at.misfit / model.noise - outputs * (total - determined));
        if (floor == 0.0 || (model.noise <= floor * (1.0 + 1e-12) && g[M] <= 0.0)) g[M] = 0.0;
        return g;
    }

    // The second derivatives in the same variables, (M + 1, M + 1).
    std::vector<double> hessian(const GaussianModel& model, const GaussianPosterior& at) const {
        const size_t M = model.columns.size(), m = M + 1;
        const std::vector<double>& alpha = model.alpha;
        std::vector<double> H(m * m), shift(M * k), inner(M * M);
        for (size_t a = 0; a < M; ++a) {
            for (size_t l = 0; l < k; ++l)  // d mean / d log beta
                for (size_t b = 0; b < M; ++b) shift[l * M + a] += at.Sigma[a * M + b] * alpha[b] * at.mu[l * M + b];
            for (size_t b = 0; b < M; ++b) inner[a * M + b] = at.Sigma[a * M + b] * alpha[b];
        }
        double trace = 0.0, moved = 0.0;
        for (size_t a = 0; a < M; ++a) {
            const double own = at.variance(M, a), twice = short_dot(&inner[a * M], &at.Sigma[a * M], M);
            double cross = 0.0;
            for (size_t l = 0; l < k; ++l) cross += at.mu[l * M + a] * shift[l * M + a];
            for (size_t b = 0; b < M; ++b) {
                double mm = 0.0;
                for (size_t l = 0; l < k; ++l) mm += at.mu[l * M + a] * at.mu[l * M + b];
                const double covariance = at.Sigma[a * M + b];
                H[a * m + b] = 0.5 * alpha[a] * alpha[b] * covariance * (outputs * covariance + 2.0 * mm);
            }
            H[a * m + a] -= 0.5 * alpha[a] * (outputs * own + at.square(M, a));
            H[a * m + M] = H[M * m + a] = 0.5 * alpha[a] * (outputs * (twice - own) + 2.0 * cross);
            trace += alpha[a] * (own - twice);
            moved += alpha[a] * cross;
        }
        H[M * m + M] = -0.5 * (at.misfit / model.noise - 2.0 * moved + outputs * trace);
        return H;
    }

    // Newton's direction where the log evidence is concave, else the direction to MacKay's re-estimates; neither
    // changes a variable by more than LONGEST.
    std::vector<double> direction(const GaussianModel& model, const GaussianPosterior& at,
                                  const std::vector<double>& g) const {
        const size_t M = model.columns.size(), m = g[M] != 0.0 ? M + 1 : M;
        const std::vector<double> H = hessian(model, at);
        std::vector<double> L(m * m), step(M + 1, 0.0);
        for (size_t a = 0; a < m; ++a)
            for (size_t b = 0; b < m; ++b) L[a * m + b] = -H[a * (M + 1) + b];
        if (factorise(L.data(), m)) {
            std::copy(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(m), step.begin());
            solve_factor(L.data(), m, step.data());
        } else {
            to_mackays_estimates(model, at, m > M, step);
        }
        double longest = 0.0;
        for (const double x : step) longest = std::max(longest, std::abs(x));
        if (longest > LONGEST)
            for (double& x : step) x *= LONGEST / longest;
        return step;
    }

    // To alpha = k share / |mu|^2 and, where it is learned, noise = misfit / (k (total - shares)) (MacKay 1992).
    void to_mackays_estimates(const GaussianModel& model, const GaussianPosterior& at, bool learned,
                              std::vector<double>& step) const {
        const size_t M = model.columns.size();
        const double tiny = 1e-300;
        double determined = 0.0;
        for (size_t a = 0; a < M; ++a) {
            const double share = 1.0 - model.alpha[a] * at.variance(M, a);
            determined += share;
            step[a] = std::log(std::max(outputs * share, tiny) / std::max(model.alpha[a] * at.square(M, a), tiny));
        }
        const double left = outputs * (total - determined);
        if (learned) step[M] = left > 0.0 ? std::log(std::max(at.misfit, tiny) / (left * model.noise)) : -1.0;
    }

    // The first of ever shorter steps that raises the evidence or, near the maximum, lowers it by no more than
    // rounding.
    bool advance(GaussianModel& model, GaussianPosterior& at, const std::vector<double>& g, double wanted) {
        std::vector<double> step = direction(model, at, g);
        const size_t M = model.columns.size();
        double rise = std::inner_product(g.begin(), g.end(), step.begin(), 0.0);
        if (!(rise > 0.0)) {
            double steepest = 1.0;
            for (const double x : g) steepest = std::max(steepest, std::abs(x));
            for (size_t a = 0; a <= M; ++a) step[a] = g[a] / steepest;
            rise = std::inner_product(g.begin(), g.end(), step.begin(), 0.0);
        }
        if (at.value + PROSPECT * rise < wanted) return false;
        const GaussianModel before = model;
        double length = 1.0;
        for (int halving = 0; halving < HALVINGS; ++halving, length *= 0.5) {
            for (size_t a = 0; a < M; ++a) model.alpha[a] = before.alpha[a] * std::exp(length * step[a]);
            model.noise = std::max(floor, before.noise * std::exp(length * step[M]));
            GaussianPosterior moved;
            if (!posterior(model, moved)) continue;
            if (moved.value >= at.value + 1e-4 * length * rise - 1e-13 * std::abs(at.value)) {
                at = std::move(moved);
                return true;
            }
        }
        model = before;
        return false;
    }
};

}  // namespace smaller
