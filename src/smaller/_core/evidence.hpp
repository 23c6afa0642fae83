// Maximising the evidence of Gaussian data on a working set: the sequential algorithm from several starts, Newton's
// method on the precisions and the noise together, and exchanges of a column of the model for another.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "cholesky.hpp"
#include "sequential.hpp"

namespace smaller {

class Climb {
public:
    struct Model {
        std::vector<size_t> rows;
        std::vector<double> alpha;
        double noise = 1.0;
        double value = -std::numeric_limits<double>::infinity();  // log evidence less k total log(2 pi) / 2
    };

    // C: (w, k); the rest as in Sequential. The noise is learned down to `floor`; 0: it stays.
    Climb(Products& gram, std::vector<double> C, size_t k, double total, double yy, double floor, double tol,
          double aligned, int max_steps)
        : gram(gram), C(std::move(C)), w(gram.w), k(k), total(total), yy(yy), floor(floor), tol(tol), aligned(aligned),
          max_steps(max_steps) {}

    // The column most correlated with the targets, at its best precision: what the algorithm as published starts from.
    Model first(double noise) const {
        Model model;
        model.noise = noise;
        size_t column = 0;
        double top = 0.0;
        for (size_t j = 0; j < w; ++j) {
            double q2 = 0.0;
            for (size_t l = 0; l < k; ++l) q2 += C[l * w + j] * C[l * w + j];
            if (q2 > top * gram.norm[j]) {
                top = q2 / gram.norm[j];
                column = j;
            }
        }
        const double ratio = top / (noise * static_cast<double>(k)), s = w ? gram.norm[column] / noise : 0.0;
        if (ratio > 1.0) {
            model.rows = {column};
            model.alpha = {s / (ratio - 1.0)};
        }
        return model;
    }

    // The sequential algorithm from a model, settled; no near copies of its columns are added.
    Model solve(const Model& start) { return solve(start, ALIKE, tol); }

    // The same as published: from one column, to small gains.
    Model solve_first(double noise) { return solve(first(noise), ALIKE, FINE * tol); }

    // Climbs from a solved model, if it is the best so far, until nothing gains `tol`.
    void climb(Model model) {
        if (model.value <= best.value) return;
        for (int round = 0; round < ROUNDS; ++round) {
            if (exchange(model)) continue;
            Model next = solve(model, aligned, tol);
            if (next.value <= model.value + tol) break;
            model = std::move(next);
        }
        best = std::move(model);
    }

    const Model& found() const { return best; }

    struct Swap {
        size_t place, column;  // position in the model, and the column that takes it; none where that is w
        double alpha, gain;
    };

    // For each column of a model the best one to take its place, and its mere loss, where that loses little; the best
    // first.
    std::vector<Swap> exchanges(const Model& model);

private:
    struct Fit {
        std::vector<double> Sigma, mu;  // (M, M) and (M, k)
        double misfit, value;
    };
    static constexpr int ROUNDS = 100, NEWTON = 200, HALVINGS = 12;
    static constexpr double SETTLED = 1e-2;  // slopes of a settled model, in units of tol
    static constexpr double LONGEST = 3.0;   // step in the logarithm of a precision
    static constexpr double SLACK = 0.3;     // nats that an exchange may lose before the rest is re-estimated
    static constexpr double PROSPECT = 2.0;  // times what a step promises, what the evidence of a model may still rise
    static constexpr double ALIKE = 0.999, FINE = 1e-4;  // cosine of near copies, and small gains in units of tol

    Products& gram;
    const std::vector<double> C;
    const size_t w, k;
    const double total, yy, floor, tol, aligned;
    const int max_steps;
    Model best;

    Model solve(const Model& start, double alike, double least) {
        std::vector<double> alpha(w, std::numeric_limits<double>::infinity());
        for (size_t a = 0; a < start.rows.size(); ++a) alpha[start.rows[a]] = start.alpha[a];
        Model model;
        model.noise = start.noise;
        Sequential(gram, C.data(), k, total, yy, alpha.data(), start.noise, aligned, alike)
            .run(floor, least, max_steps, &model.noise);
        for (size_t j = 0; j < w; ++j)
            if (std::isfinite(alpha[j])) {
                model.rows.push_back(j);
                model.alpha.push_back(alpha[j]);
            }
        settle(model);
        return model;
    }

    bool posterior(const Model& model, Fit& fit) {
        const size_t M = model.rows.size();
        const double beta = 1.0 / model.noise, outputs = static_cast<double>(k);
        std::vector<double> H(M * M), L, U(M * M), Gm(M);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b < M; ++b)
                H[a * M + b] = beta * gram.pair(model.rows[a], model.rows[b]) + (a == b ? model.alpha[a] : 0.0);
        if (!factorise_nearly(H, M, L)) return false;
        invert_factor(L.data(), M, U.data());
        fit.Sigma.resize(M * M);
        fit.mu.resize(M * k);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b)
                fit.Sigma[a * M + b] = fit.Sigma[b * M + a] = short_dot(U.data() + a * M + a, U.data() + b * M + a, M - a);
        double quadratic = 0.0;
        fit.misfit = yy;
        for (size_t l = 0; l < k; ++l) {
            double* mu = fit.mu.data() + l * M;
            for (size_t a = 0; a < M; ++a) {
                mu[a] = 0.0;
                for (size_t b = 0; b < M; ++b) mu[a] += beta * fit.Sigma[a * M + b] * C[l * w + model.rows[b]];
            }
            for (size_t a = 0; a < M; ++a) {
                double g = 0.0;
                for (size_t b = 0; b < M; ++b) g += gram.pair(model.rows[a], model.rows[b]) * mu[b];
                fit.misfit += mu[a] * (g - 2.0 * C[l * w + model.rows[a]]);
                quadratic += model.alpha[a] * mu[a] * mu[a];
            }
        }
        fit.misfit = std::max(fit.misfit, 0.0);
        double logdet = log_determinant(L.data(), M) + total * std::log(model.noise);
        for (const double a : model.alpha) logdet -= std::log(a);
        fit.value = -0.5 * (outputs * logdet + quadratic + beta * fit.misfit);
        return true;
    }

    double square(const Fit& fit, size_t M, size_t a) const {
        double total_square = 0.0;
        for (size_t l = 0; l < k; ++l) total_square += fit.mu[l * M + a] * fit.mu[l * M + a];
        return total_square;
    }

    // Newton's method on the log precisions and the log noise; columns that are better out are deleted. A model without
    // prospect of the evidence that is wanted is given up.
    void settle(Model& model, double wanted = -std::numeric_limits<double>::infinity()) {
        Fit fit;
        if (!posterior(model, fit)) return;
        for (int step = 0; step < NEWTON; ++step) {
            if (drop_worst(model, fit)) {
                if (!posterior(model, fit)) return;
                continue;
            }
            const std::vector<double> g = gradient(model, fit);
            double steepest = 0.0;
            for (const double x : g) steepest = std::max(steepest, std::abs(x));
            if (steepest <= SETTLED * tol || !advance(model, fit, g, wanted)) break;
        }
        model.value = fit.value;
    }

    bool drop_worst(Model& model, const Fit& fit) const {
        const size_t M = model.rows.size();
        const double outputs = static_cast<double>(k);
        size_t worst = M;
        double least = std::numeric_limits<double>::infinity();
        for (size_t a = 0; a < M; ++a) {
            const double variance = fit.Sigma[a * M + a], s = (1.0 - model.alpha[a] * variance) / variance;
            const double q2 = square(fit, M, a) / (variance * variance);
            if (q2 > outputs * s) continue;
            const double loss = 0.5 * (q2 / (model.alpha[a] + s) - outputs * std::log1p(s / model.alpha[a]));
            if (loss < least) {
                least = loss;
                worst = a;
            }
        }
        if (worst == M) return false;
        remove(model, worst);
        return true;
    }

    static void remove(Model& model, size_t place) {
        model.rows.erase(model.rows.begin() + static_cast<std::ptrdiff_t>(place));
        model.alpha.erase(model.alpha.begin() + static_cast<std::ptrdiff_t>(place));
    }

    // Of the log evidence in the log precisions, and last in the log noise where that is free.
    std::vector<double> gradient(const Model& model, const Fit& fit) const {
        const size_t M = model.rows.size();
        const double outputs = static_cast<double>(k);
        std::vector<double> g(M + 1);
        double determined = 0.0;
        for (size_t a = 0; a < M; ++a) {
            const double share = 1.0 - model.alpha[a] * fit.Sigma[a * M + a];
            determined += share;
            g[a] = 0.5 * (outputs * share - model.alpha[a] * square(fit, M, a));
        }
        g[M] = 0.5 * (fit.misfit / model.noise - outputs * (total - determined));
        if (floor == 0.0 || (model.noise <= floor * (1.0 + 1e-12) && g[M] <= 0.0)) g[M] = 0.0;
        return g;
    }

    std::vector<double> hessian(const Model& model, const Fit& fit) const {
        const size_t M = model.rows.size(), m = M + 1;
        const double outputs = static_cast<double>(k);
        const std::vector<double>& alpha = model.alpha;
        std::vector<double> H(m * m), shift(M * k), inner(M * M);
        for (size_t a = 0; a < M; ++a) {
            for (size_t l = 0; l < k; ++l)  // d mean / d log beta
                for (size_t b = 0; b < M; ++b) shift[l * M + a] += fit.Sigma[a * M + b] * alpha[b] * fit.mu[l * M + b];
            for (size_t b = 0; b < M; ++b) inner[a * M + b] = fit.Sigma[a * M + b] * alpha[b];
        }
        double trace = 0.0, moved = 0.0;
        for (size_t a = 0; a < M; ++a) {
            const double own = fit.Sigma[a * M + a], twice = short_dot(inner.data() + a * M, fit.Sigma.data() + a * M, M);
            double cross = 0.0;
            for (size_t l = 0; l < k; ++l) cross += fit.mu[l * M + a] * shift[l * M + a];
            for (size_t b = 0; b < M; ++b) {
                double mm = 0.0;
                for (size_t l = 0; l < k; ++l) mm += fit.mu[l * M + a] * fit.mu[l * M + b];
                const double covariance = fit.Sigma[a * M + b];
                H[a * m + b] = 0.5 * alpha[a] * alpha[b] * covariance * (outputs * covariance + 2.0 * mm);
            }
            H[a * m + a] -= 0.5 * alpha[a] * (outputs * own + square(fit, M, a));
            H[a * m + M] = H[M * m + a] = 0.5 * alpha[a] * (outputs * (twice - own) + 2.0 * cross);
            trace += alpha[a] * (own - twice);
            moved += alpha[a] * cross;
        }
        H[M * m + M] = -0.5 * (fit.misfit / model.noise - 2.0 * moved + outputs * trace);
        return H;
    }

    // Newton's direction where the evidence is concave, else towards MacKay's re-estimates, alpha = k share / |mu|^2.
    std::vector<double> direction(const Model& model, const Fit& fit, const std::vector<double>& g) const {
        const size_t M = model.rows.size(), m = g[M] != 0.0 ? M + 1 : M;
        const std::vector<double> H = hessian(model, fit);
        std::vector<double> L(m * m), step(M + 1, 0.0);
        for (size_t a = 0; a < m; ++a)
            for (size_t b = 0; b < m; ++b) L[a * m + b] = -H[a * (M + 1) + b];
        if (factorise(L.data(), m)) {
            std::copy(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(m), step.begin());
            solve_factor(L.data(), m, step.data());
        } else {
            const double outputs = static_cast<double>(k), tiny = 1e-300;
            double determined = 0.0;
            for (size_t a = 0; a < M; ++a) {
                const double share = 1.0 - model.alpha[a] * fit.Sigma[a * M + a];
                determined += share;
                step[a] = std::log(std::max(outputs * share, tiny) / std::max(model.alpha[a] * square(fit, M, a), tiny));
            }
            const double left = outputs * (total - determined);
            if (m > M) step[M] = left > 0.0 ? std::log(std::max(fit.misfit, tiny) / (left * model.noise)) : -1.0;
        }
        double longest = 0.0;
        for (const double x : step) longest = std::max(longest, std::abs(x));
        if (longest > LONGEST)
            for (double& x : step) x *= LONGEST / longest;
        return step;
    }

    // The first of ever shorter steps that raises the evidence, or near its top does not lower it.
    bool advance(Model& model, Fit& fit, const std::vector<double>& g, double wanted) {
        std::vector<double> step = direction(model, fit, g);
        const size_t M = model.rows.size();
        double rise = std::inner_product(g.begin(), g.end(), step.begin(), 0.0);
        if (!(rise > 0.0)) {
            double steepest = 1.0;
            for (const double x : g) steepest = std::max(steepest, std::abs(x));
            for (size_t a = 0; a <= M; ++a) step[a] = g[a] / steepest;
            rise = std::inner_product(g.begin(), g.end(), step.begin(), 0.0);
        }
        if (fit.value + PROSPECT * rise < wanted) return false;
        const Model before = model;
        double length = 1.0;
        for (int halving = 0; halving < HALVINGS; ++halving, length *= 0.5) {
            for (size_t a = 0; a < M; ++a) model.alpha[a] = before.alpha[a] * std::exp(length * step[a]);
            model.noise = std::max(floor, before.noise * std::exp(length * step[M]));
            Fit moved;
            if (posterior(model, moved) && moved.value >= fit.value + 1e-4 * length * rise - 1e-13 * std::abs(fit.value)) {
                fit = std::move(moved);
                return true;
            }
        }
        model = before;
        return false;
    }

    // The first exchange whose settled model gains `tol`. What an exchange promises leaves the other precisions and the
    // noise as they are: those that promise a loss are tried too.
    bool exchange(Model& model) {
        for (const Swap& swap : exchanges(model)) {
            Model next = model;
            if (swap.column == w) {
                remove(next, swap.place);
            } else {
                next.rows[swap.place] = swap.column;
                next.alpha[swap.place] = swap.alpha;
            }
            settle(next, model.value + tol);
            if (next.value > model.value + tol) {
                model = std::move(next);
                return true;
            }
        }
        return false;
    }
};

inline std::vector<Climb::Swap> Climb::exchanges(const Model& model) {
    Fit fit;
    std::vector<Swap> found;
    const size_t M = model.rows.size();
    if (!M || !posterior(model, fit)) return found;
    const double beta = 1.0 / model.noise, outputs = static_cast<double>(k);
    std::vector<double> top(M, 0.0), sparsity(M), T(M), E(M), Q(k);
    std::vector<size_t> column(M, w);
    std::vector<char> inside(w, 0);
    for (const size_t j : model.rows) inside[j] = 1;
    for (size_t j = 0; j < w; ++j) {
        if (inside[j]) continue;
        for (size_t a = 0; a < M; ++a) T[a] = beta * gram.of(model.rows[a])[j];
        double S = beta * gram.norm[j];
        for (size_t a = 0; a < M; ++a) {
            E[a] = short_dot(fit.Sigma.data() + a * M, T.data(), M);
            S -= E[a] * T[a];
        }
        S = std::max(S, 0.0);
        for (size_t l = 0; l < k; ++l) Q[l] = beta * C[l * w + j] - short_dot(T.data(), fit.mu.data() + l * M, M);
        for (size_t a = 0; a < M; ++a) {  // as if the model's column were out
            const double variance = fit.Sigma[a * M + a], s = S + E[a] * E[a] / variance;
            double q2 = 0.0;
            for (size_t l = 0; l < k; ++l) {
                const double q = Q[l] + E[a] * fit.mu[l * M + a] / variance;
                q2 += q * q;
            }
            const double ratio = q2 / (outputs * std::max(s, 1e-300));
            if (ratio > top[a]) {
                top[a] = ratio;
                sparsity[a] = s;
                column[a] = j;
            }
        }
    }
    for (size_t a = 0; a < M; ++a) {
        const double variance = fit.Sigma[a * M + a], s = (1.0 - model.alpha[a] * variance) / variance;
        const double now = 0.5 * (square(fit, M, a) / variance - outputs * std::log1p(s / model.alpha[a]));
        if (-now >= -SLACK) found.push_back({a, w, 0.0, -now});
        if (!(top[a] > 1.0)) continue;
        const double gain = 0.5 * outputs * (top[a] - 1.0 - std::log(top[a])) - now;
        if (gain >= -SLACK) found.push_back({a, column[a], sparsity[a] / (top[a] - 1.0), gain});
    }
    std::sort(found.begin(), found.end(), [](const Swap& x, const Swap& y) { return x.gain > y.gain; });
    return found;
}

// The best model on the columns X (n, w): from the column most correlated with the targets, where a start has none, and
// from several models on some of the columns, `coarse`, each given by precisions (infinite where a column is out) and
// noise, solved on those first; the best `follow` of their outcomes are solved on all columns. From each of these the
// search climbs on.
inline Climb::Model climb_from(const double* X, const double* C, size_t n, size_t w, size_t k, double total, double yy,
                               const std::vector<size_t>& coarse, const double* precisions, const double* noises,
                               size_t starts, size_t follow, double floor, double tol, double aligned, int max_steps) {
    const size_t few = coarse.size();
    std::vector<const double*> columns(few);
    std::vector<double> part(few * k);
    for (size_t j = 0; j < few; ++j) {
        columns[j] = X + coarse[j] * n;
        for (size_t l = 0; l < k; ++l) part[l * few + j] = C[l * w + coarse[j]];
    }
    Products few_products(std::move(columns), n, nullptr, false), products(each_column(X, n, w), n, nullptr, false);
    Climb rough(few_products, std::move(part), k, total, yy, floor, tol, aligned, max_steps);
    Climb whole(products, std::vector<double>(C, C + w * k), k, total, yy, floor, tol, aligned, max_steps);
    std::vector<Climb::Model> models;
    for (size_t i = 0; i < starts; ++i) {
        Climb::Model start;
        start.noise = noises[i];
        for (size_t j = 0; j < few; ++j)
            if (std::isfinite(precisions[i * few + j])) {
                start.rows.push_back(j);
                start.alpha.push_back(precisions[i * few + j]);
            }
        if (start.rows.empty()) {
            whole.climb(whole.solve_first(start.noise));
            continue;
        }
        models.push_back(rough.solve(start));
        for (size_t& row : models.back().rows) row = coarse[row];
    }
    std::sort(models.begin(), models.end(), [](const auto& x, const auto& y) { return x.value > y.value; });
    for (size_t i = 0; i < std::min(follow, models.size()); ++i) whole.climb(whole.solve(models[i]));
    return whole.found();
}

}  // namespace smaller
