// The fast sequential algorithm of Tipping & Faul (2003) on a working set of columns: each step adds a column or
// re-estimates its precision, whichever raises the log evidence most, with rank-one updates of the posterior. Columns
// whose deletion raises the log evidence are deleted first. Equation numbers are those of the paper.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "cholesky.hpp"
#include "products.hpp"

namespace smaller {

constexpr double POSITIVE_INFINITY = std::numeric_limits<double>::infinity();

// Gaussian data with k outputs that share the precisions of the columns.
struct GaussianData {
    const double* C;  // (w, k): products of the columns with the targets
    size_t k;
    double total;  // number of samples
    double yy;     // sum of the squares of the targets over samples and outputs
    double floor;  // lower bound of the noise, which is learned; 0: the noise stays as it is
};

// When a search for evidence ends, and which columns are too similar to be in the model together.
struct SearchRule {
    double tol;      // a step must raise the log evidence by at least this, in nats
    double aligned;  // of columns whose cosine reaches this at most one is in the model
    int max_steps;
};

// The part of the log evidence that a column contributes at precision alpha, with sparsity s and squared quality q2
// (eq. 18), for k outputs.
inline double contribution(double alpha, double s, double q2, double k) {
    return 0.5 * (q2 / (alpha + s) - k * std::log1p(s / alpha));
}

class Sequential {
public:
    // alpha (w): precisions, infinite where a column is not in the model; they are written to. Of columns in the model
    // whose cosine reaches `aligned` all but the first are taken out, and no column is added whose cosine with one of
    // the model reaches `alike`.
    Sequential(Products& products, const GaussianData& data, double* alpha, double noise, double aligned, double alike)
        : gram(products), C(data.C), w(products.w), k(data.k), total(data.total), yy(data.yy), floor(data.floor),
          outputs(static_cast<double>(k)), alike(alike), alpha(alpha), noise(noise), S(w), Q(w * k), mu(w * k), e(w),
          Sigma(room * room), where(w, w) {
        for (size_t j = 0; j < w; ++j) {
            if (!std::isfinite(alpha[j])) continue;
            if (is_near(j, aligned))
                alpha[j] = POSITIVE_INFINITY;
            else
                enter(j);
        }
    }

    // Steps until none raises the log evidence by `tol`. Returns the number of steps.
    int run(double tol, int max_steps) {
        int steps = 0;
        if (!refresh()) return steps;
        while (steps < max_steps) {
            const Action action = best();
            const bool quiet = action.gain < tol;
            if (!quiet) {
                ++steps;
                take(action);
                if (steps > OFTEN && steps % EVERY != 0) continue;
            }
            const double change = floor > 0.0 ? learn_noise() : 0.0;
            if (!refresh() || (quiet && change < SETTLED * tol)) break;
            if (quiet) ++steps;
        }
        return steps;
    }

    // The same until a column enters or leaves the model, of which only the precision in alpha is changed; the noise
    // stays as it is.
    void run_to_next_change(double tol, int max_steps) {
        if (!refresh()) return;
        for (int steps = 1; steps <= max_steps; ++steps) {
            const Action action = best();
            if (action.gain < tol) return;
            if (where[action.column] == w || std::isinf(action.alpha)) {
                alpha[action.column] = action.alpha;
                return;
            }
            take(action);
            if ((steps <= OFTEN || steps % EVERY == 0) && !refresh()) return;
        }
    }

    double learned_noise() const { return noise; }

private:
    struct Action {
        size_t column;
        double gain, alpha;
    };
    // The noise is learned, and the posterior computed afresh, after each of the first OFTEN steps, then after every
    // EVERY steps.
    static constexpr int OFTEN = 10, EVERY = 5;
    static constexpr double SETTLED = 1e-3;     // change of the log noise, in units of tol, at which learning ends
    static constexpr double DEPENDENT = 1e-12;  // a smaller part of a column outside the span of the model is rounding

    Products& gram;
    const double* C;
    const size_t w, k;
    const double total, yy, floor, outputs, alike;
    double* alpha;
    double noise;
    std::vector<double> S, Q, mu, e;  // (w), (w, k), (M, k) by rows, and (w) for intermediate results
    size_t room = 16;                 // length of a row of Sigma: the number of columns for which there is memory
    std::vector<double> Sigma;
    std::vector<size_t> active, where;  // columns of the model; the place of each column among them, w where it is out

    // The products of column j of the model with all columns, or with one.
    const double* products(size_t j) { return gram.of(j); }
    double product(size_t j, size_t i) const { return gram.at(j, i); }

    double* sigma(size_t a) { return Sigma.data() + a * room; }
    const double* sigma(size_t a) const { return Sigma.data() + a * room; }
    double* mean(size_t a) { return mu.data() + a * k; }
    const double* mean(size_t a) const { return mu.data() + a * k; }

    void enter(size_t j) {
        products(j);
        where[j] = active.size();
        active.push_back(j);
    }

    // The posterior from the precisions and the noise: Sigma = (A + G / noise)^-1, mu = Sigma C / noise, and S, Q of
    // all columns (eqs. 22-24). False where Sigma^-1 is not positive definite for rounding.
    bool refresh() {
        const size_t M = active.size();
        const double beta = 1.0 / noise;
        make_room(M);
        std::vector<double> L(M * M), U(M * M);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b)
                L[a * M + b] = beta * product(active[a], active[b]) + (a == b ? alpha[active[a]] : 0.0);
        if (!factorise(L.data(), M)) return false;
        invert_factor(L.data(), M, U.data());
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b)
                sigma(a)[b] = sigma(b)[a] = inverse_entry(U.data(), M, a, b);
        for (size_t a = 0; a < M; ++a)
            for (size_t l = 0; l < k; ++l) {
                double t = 0.0;
                for (size_t b = 0; b < M; ++b) t += sigma(a)[b] * C[l * w + active[b]];
                mean(a)[l] = beta * t;
            }
        refresh_all_columns(U);
        return true;
    }

    // S and Q of all columns from the posterior, where U U^T = Sigma.
    void refresh_all_columns(const std::vector<double>& U) {
        const size_t M = active.size();
        const double beta = 1.0 / noise;
        for (size_t j = 0; j < w; ++j) {
            S[j] = beta * gram.norm[j];
            for (size_t l = 0; l < k; ++l) Q[l * w + j] = beta * C[l * w + j];
        }
        for (size_t a = 0; a < M; ++a) {
            const double* g = products(active[a]);
            for (size_t l = 0; l < k; ++l) axpy(-beta * mean(a)[l], g, Q.data() + l * w);
        }
        for (size_t a = 0; a < M; ++a) {
            std::fill(e.begin(), e.end(), 0.0);
            for (size_t b = 0; b <= a; ++b) axpy(beta * U[b * M + a], products(active[b]), e.data());
            for (size_t j = 0; j < w; ++j) S[j] -= e[j] * e[j];
        }
    }

    // One step of the EM algorithm for the noise, which never lowers the evidence. Returns the change of the log noise.
    double learn_noise() {
        double fit = yy, determined = 0.0;
        for (size_t a = 0; a < active.size(); ++a) {
            determined += 1.0 - alpha[active[a]] * sigma(a)[a];
            for (size_t l = 0; l < k; ++l) {
                double g = 0.0;
                for (size_t b = 0; b < active.size(); ++b) g += product(active[a], active[b]) * mean(b)[l];
                fit += mean(a)[l] * (g - 2.0 * C[l * w + active[a]]);
            }
        }
        const double before = noise;
        noise = std::max(floor, (std::max(fit, 0.0) + noise * outputs * determined) / (outputs * total));
        return std::abs(std::log(noise / before));
    }

    // The best deletion where a deletion raises the log evidence, else the step of the largest gain.
    Action best() const {
        Action found = best_addition();
        bool deleting = false;
        for (size_t a = 0; a < active.size(); ++a) {
            const Action change = reestimate(a);
            const bool leaves = std::isinf(change.alpha);
            if (leaves > deleting || (leaves == deleting && change.gain > found.gain)) found = change;
            deleting = deleting || leaves;
        }
        return found;
    }

    // The addition of the largest gain; column w, which gains minus infinity, where no addition gains anything. The
    // gain rises with the ratio q^2 / s.
    Action best_addition() const {
        size_t first = w;
        double ratio = 1.0;
        for (size_t j = 0; j < w; ++j) {
            double q2 = 0.0;
            for (size_t l = 0; l < k; ++l) q2 += Q[l * w + j] * Q[l * w + j];
            const bool apart = S[j] * noise > DEPENDENT * gram.norm[j];
            if (apart && q2 > ratio * outputs * S[j] && where[j] == w && !is_near(j, alike)) {
                first = j;
                ratio = q2 / (outputs * S[j]);
            }
        }
        if (first == w) return {w, -POSITIVE_INFINITY, 0.0};
        return {first, 0.5 * outputs * (ratio - 1.0 - std::log(ratio)), S[first] / (ratio - 1.0)};
    }

    // The best precision of the column at place a of the model, infinite where the column should be deleted. With s and
    // q of the model without that column, Sigma_jj = 1 / (alpha + s) and mu_j = q / (alpha + s) (eqs. 20-24).
    Action reestimate(size_t a) const {
        const size_t j = active[a];
        const double variance = sigma(a)[a], s = (1.0 - alpha[j] * variance) / variance;
        double q2 = 0.0;
        for (size_t l = 0; l < k; ++l) q2 += mean(a)[l] * mean(a)[l];
        q2 /= variance * variance;
        const double theta = q2 / outputs - s, now = contribution(alpha[j], s, q2, outputs);
        if (!(theta > 0.0)) return {j, 0.0 - now, POSITIVE_INFINITY};
        const double next = s * s / theta;
        return {j, contribution(next, s, q2, outputs) - now, next};
    }

    // Whether the cosine of a column with one of the model reaches `cosine`.
    bool is_near(size_t j, double cosine) const {
        for (size_t i : active) {
            const double g = product(i, j);
            if (g * g >= cosine * cosine * gram.norm[i] * gram.norm[j]) return true;
        }
        return false;
    }

    void take(const Action& action) {
        const size_t j = action.column;
        if (where[j] == w)
            add(j, action.alpha);
        else if (std::isinf(action.alpha))
            remove(j);
        else
            change(j, 1.0 / (sigma(where[j])[where[j]] + 1.0 / (action.alpha - alpha[j])), action.alpha);
    }

    // Memory for M columns and one more.
    void make_room(size_t M) {
        if (M < room) return;
        const size_t before = room;
        room = 2 * (M + 1);
        std::vector<double> wider(room * room);
        for (size_t a = 0; a < std::min(M, before); ++a)
            std::copy_n(Sigma.data() + a * before, std::min(M, before), wider.data() + a * room);
        Sigma = std::move(wider);
    }

    void add(size_t j, double a) {
        const size_t M = active.size();
        make_room(M);
        const double beta = 1.0 / noise, variance = 1.0 / (a + S[j]);
        std::vector<double> v(M, 0.0), m(k);
        for (size_t b = 0; b < M; ++b)
            for (size_t c = 0; c < M; ++c) v[b] += beta * sigma(b)[c] * product(active[c], j);
        const double* g = products(j);
        for (size_t i = 0; i < w; ++i) e[i] = beta * g[i];
        for (size_t b = 0; b < M; ++b) axpy(-beta * v[b], products(active[b]), e.data());
        for (size_t l = 0; l < k; ++l) {
            m[l] = variance * Q[l * w + j];
            axpy(-m[l], e.data(), Q.data() + l * w);
        }
        for (size_t i = 0; i < w; ++i) S[i] -= variance * e[i] * e[i];
        for (size_t b = 0; b < M; ++b) {
            for (size_t c = 0; c < M; ++c) sigma(b)[c] += variance * v[b] * v[c];
            for (size_t l = 0; l < k; ++l) mean(b)[l] -= m[l] * v[b];
            sigma(b)[M] = sigma(M)[b] = -variance * v[b];
        }
        sigma(M)[M] = variance;
        for (size_t l = 0; l < k; ++l) mean(M)[l] = m[l];
        alpha[j] = a;
        enter(j);
    }

    // Precision a for column j: Sigma <- Sigma - kappa Sigma_j Sigma_j^T, and mu, S and Q that belong to it.
    void change(size_t j, double kappa, double a) {
        const size_t M = active.size(), p = where[j];
        const double beta = 1.0 / noise;
        const std::vector<double> column(sigma(p), sigma(p) + M), m(mean(p), mean(p) + k);
        std::fill(e.begin(), e.end(), 0.0);
        for (size_t b = 0; b < M; ++b) axpy(beta * column[b], products(active[b]), e.data());
        for (size_t l = 0; l < k; ++l) axpy(kappa * m[l], e.data(), Q.data() + l * w);
        for (size_t i = 0; i < w; ++i) S[i] += kappa * e[i] * e[i];
        for (size_t b = 0; b < M; ++b) {
            for (size_t c = 0; c < M; ++c) sigma(b)[c] -= kappa * column[b] * column[c];
            for (size_t l = 0; l < k; ++l) mean(b)[l] -= kappa * m[l] * column[b];
        }
        alpha[j] = a;
    }

    void remove(size_t j) {
        const size_t p = where[j], last = active.size() - 1;
        change(j, 1.0 / sigma(p)[p], POSITIVE_INFINITY);
        for (size_t b = 0; b <= last; ++b) sigma(p)[b] = sigma(last)[b];
        for (size_t b = 0; b <= last; ++b) sigma(b)[p] = sigma(b)[last];
        for (size_t l = 0; l < k; ++l) mean(p)[l] = mean(last)[l];
        where[active[last]] = p;
        active[p] = active[last];
        active.pop_back();
        where[j] = w;
    }

    void axpy(double a, const double* x, double* y) const { smaller::add(y, x, 0.0, a, w); }
};

}  // namespace smaller
