// The fast sequential algorithm of Tipping & Faul (2003) on a working set: at each step the column whose addition,
// re-estimation or deletion raises the log evidence most, with rank-one updates of the posterior. A column's products
// with the others are computed when it first enters.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "simd.hpp"

namespace smaller {

class Sequential {
public:
    // X: (n, w) columns; C: (w, k) their products with the targets; total: number of samples, yy: the targets' sum of
    // squares over the k outputs. alpha: precisions, infinite where a column is out; they are moved.
    // Of columns whose cosine reaches `aligned` at most one is in.
    Sequential(const double* X, const double* C, size_t n, size_t w, size_t k, double total, double yy, double* alpha,
               double noise, double aligned)
        : X(X), C(C), n(n), w(w), k(k), total(total), yy(yy), aligned(aligned), alpha(alpha), noise(noise), S(w), Q(w * k),
          Sigma(w * w), mu(w * k), e(w), norm(w), where(w, w), gram(w) {
        for (size_t j = 0; j < w; ++j) {
            norm[j] = dot(X + j * n, X + j * n, n);
            if (!std::isfinite(alpha[j])) continue;
            if (is_aligned(j))
                alpha[j] = std::numeric_limits<double>::infinity();
            else
                enter(j);
        }
    }

    // Steps until none gains `tol`; the noise is learned down to `floor` (0: it stays). Returns the number of steps.
    int run(double floor, double tol, int max_steps, double* final_noise) {
        const double precise = 1e-3;
        int steps = 0;
        if (refresh()) {
            while (steps < max_steps) {
                const Action action = best();
                const bool quiet = action.gain < tol;
                if (!quiet) {
                    take(action);
                    ++steps;
                }
                const bool turn = steps % EVERY == 0;
                if (!quiet && !turn) continue;
                const double change = floor > 0.0 ? learn_noise(floor) : 0.0;
                if (!refresh() || (quiet && change < precise * tol)) break;
                if (quiet) ++steps;
            }
        }
        *final_noise = noise;
        return steps;
    }

private:
    struct Action {
        size_t column;
        double gain, alpha;
    };
    static constexpr int EVERY = 10;

    const double *X, *C;
    const size_t n, w, k;
    const double total, yy, aligned;
    double* alpha;
    double noise;
    std::vector<double> S, Q, Sigma, mu, e, norm;
    std::vector<size_t> active, where;
    std::vector<std::vector<double>> gram;

    // Products of column j with all; the columns of the model have theirs.
    const double* products(size_t j) {
        if (gram[j].empty()) {
            gram[j].resize(w);
            for (size_t i = 0; i < w; ++i)
                gram[j][i] = !gram[i].empty() && i != j ? gram[i][j] : dot(X + i * n, X + j * n, n);
        }
        return gram[j].data();
    }
    double product(size_t j, size_t i) const { return gram[j][i]; }

    double* sigma(size_t a) { return Sigma.data() + a * w; }
    double* mean(size_t a) { return mu.data() + a * k; }

    void enter(size_t j) {
        products(j);
        where[j] = active.size();
        active.push_back(j);
    }

    // Everything from the precisions and the noise: Sigma = (A + G / noise)^-1, mu = Sigma C / noise, and S, Q of all
    // columns (eqs. 22-24).
    bool refresh() {
        const size_t M = active.size();
        const double beta = 1.0 / noise;
        std::vector<double> L(M * M), T(M * M, 0.0);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b) {
                double h = beta * product(active[a], active[b]) + (a == b ? alpha[active[a]] : 0.0);
                for (size_t c = 0; c < b; ++c) h -= L[a * M + c] * L[b * M + c];
                if (a == b) {
                    if (!(h > 0.0)) return false;
                    L[a * M + a] = std::sqrt(h);
                } else {
                    L[a * M + b] = h / L[b * M + b];
                }
            }
        for (size_t a = 0; a < M; ++a) {  // T = L^-1
            T[a * M + a] = 1.0 / L[a * M + a];
            for (size_t b = 0; b < a; ++b) {
                double t = 0.0;
                for (size_t c = b; c < a; ++c) t -= L[a * M + c] * T[c * M + b];
                T[a * M + b] = t / L[a * M + a];
            }
        }
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b) {
                double t = 0.0;
                for (size_t c = a; c < M; ++c) t += T[c * M + a] * T[c * M + b];
                sigma(a)[b] = sigma(b)[a] = t;
            }
        for (size_t a = 0; a < M; ++a)
            for (size_t l = 0; l < k; ++l) {
                double t = 0.0;
                for (size_t b = 0; b < M; ++b) t += sigma(a)[b] * C[l * w + active[b]];
                mean(a)[l] = beta * t;
            }
        for (size_t j = 0; j < w; ++j) {
            S[j] = beta * norm[j];
            for (size_t l = 0; l < k; ++l) Q[l * w + j] = beta * C[l * w + j];
        }
        for (size_t a = 0; a < M; ++a) {
            const double* g = products(active[a]);
            for (size_t l = 0; l < k; ++l) axpy(-beta * mean(a)[l], g, Q.data() + l * w);
        }
        for (size_t a = 0; a < M; ++a) {
            std::fill(e.begin(), e.end(), 0.0);
            for (size_t b = 0; b <= a; ++b) axpy(beta * T[a * M + b], products(active[b]), e.data());
            for (size_t j = 0; j < w; ++j) S[j] -= e[j] * e[j];
        }
        return true;
    }

    // EM for the noise: it never lowers the evidence. Returns the relative change.
    double learn_noise(double floor) {
        double fit = yy, determined = 0.0;
        for (size_t a = 0; a < active.size(); ++a) {
            determined += 1.0 - alpha[active[a]] * sigma(a)[a];
            for (size_t l = 0; l < k; ++l) {
                double g = 0.0;
                for (size_t b = 0; b < active.size(); ++b) g += product(active[a], active[b]) * mean(b)[l];
                fit += mean(a)[l] * (g - 2.0 * C[l * w + active[a]]);
            }
        }
        const double before = noise, count = static_cast<double>(k) * total;
        noise = std::max(floor, (std::max(fit, 0.0) + noise * static_cast<double>(k) * determined) / count);
        return std::abs(std::log(noise / before));
    }

    // The largest gain over all columns; s and q are S and Q as if the column were out (eqs. 20-24): of a column
    // that is in, Sigma_jj = 1 / (alpha + s) and mu_j = q / (alpha + s).
    Action best() {
        Action found{w, -std::numeric_limits<double>::infinity(), 0.0};
        const double infinite = std::numeric_limits<double>::infinity(), outputs = static_cast<double>(k);
        for (size_t j = 0; j < w; ++j) {
            const bool in = where[j] < w;
            const double variance = in ? sigma(where[j])[where[j]] : 1.0;
            const double s = in ? (1.0 - alpha[j] * variance) / variance : S[j];
            double q2 = 0.0;
            for (size_t l = 0; l < k; ++l) {
                const double q = in ? mean(where[j])[l] / variance : Q[l * w + j];
                q2 += q * q;
            }
            const double theta = q2 / outputs - s, now = in ? level(alpha[j], s, q2) : 0.0;
            const double next = theta > 0.0 ? s * s / theta : infinite;
            const double gain = (theta > 0.0 ? level(next, s, q2) : 0.0) - now;
            if (gain > found.gain && (in || (theta > 0.0 && !is_aligned(j)))) found = {j, gain, next};
        }
        return found;
    }

    // The part of the log evidence that a column contributes at precision a (eq. 18).
    double level(double a, double s, double q2) const {
        return 0.5 * (q2 / (a + s) - static_cast<double>(k) * std::log1p(s / a));
    }

    bool is_aligned(size_t j) const {
        for (size_t i : active) {
            const double g = product(i, j);
            if (g * g >= aligned * aligned * norm[i] * norm[j]) return true;
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

    void add(size_t j, double a) {
        const size_t M = active.size();
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

    // Sigma <- Sigma - kappa Sigma_j Sigma_j^T, and all that follows from it.
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
        change(j, 1.0 / sigma(p)[p], std::numeric_limits<double>::infinity());
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
