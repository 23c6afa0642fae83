// The fast sequential algorithm of Tipping & Faul (2003) on a working set: at each step the column whose addition or
// re-estimation raises the log evidence most, with rank-one updates of the posterior; deletions come first.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "cholesky.hpp"
#include "simd.hpp"

namespace smaller {

// Products of the columns of a working set, X^T diag(omega) X, a row of them computed when it is first asked for.
// Without omega all weights are 1; with `centre` the columns are taken about their weighted means. With `target` also
// X^T target, as `pulled`.
class Products {
public:
    const size_t n, w;
    std::vector<double> norm, mean, pulled;

    // The rows `wanted` are computed at once, in one pass over the columns.
    Products(std::vector<const double*> columns, size_t n, const double* omega, bool centre,
             const std::vector<size_t>& wanted = {}, const double* target = nullptr)
        : n(n), w(columns.size()), norm(w), mean(w, 0.0), pulled(target ? w : 0), columns(std::move(columns)), omega(omega),
          rows(w) {
        const double mass = centre ? std::max(sum(omega, n), std::numeric_limits<double>::min()) : 1.0;
        std::vector<std::vector<double>> scaled(omega ? wanted.size() : 0);
        std::vector<const double*> z(wanted.size());
        for (size_t a = 0; a < wanted.size(); ++a) {
            rows[wanted[a]].resize(w);
            if (centre) mean[wanted[a]] = smaller::dot(this->columns[wanted[a]], omega, n) / mass;
            z[a] = weighted(wanted[a], omega ? scaled[a] : spare);
        }
        for (size_t first = 0; first < w; first += 4) {
            const size_t count = std::min<size_t>(4, w - first);
            for (size_t j = first; j < first + count; ++j) {
                const double* x = this->columns[j];
                if (centre) mean[j] = smaller::dot(x, omega, n) / mass;
                norm[j] = omega ? spread(x, mean[j], omega, n) : smaller::dot(x, x, n);
            }
            if (target) block(first, count, target, pulled.data());
            for (size_t a = 0; a < z.size(); ++a) block(first, count, z[a], rows[wanted[a]].data());
        }
        for (const size_t j : wanted) rows[j][j] = norm[j];
    }

    // With all columns.
    const double* of(size_t j) {
        if (rows[j].empty()) {
            rows[j].resize(w);
            const double* z = weighted(j, spare);
            rows[j][j] = norm[j];
            size_t waiting[4], count = 0;
            for (size_t i = 0; i < w; ++i) {
                if (i == j) continue;
                if (!rows[i].empty())
                    rows[j][i] = rows[i][j];
                else
                    waiting[count++] = i;
                if (count == 4) {
                    const double* four[4] = {columns[waiting[0]], columns[waiting[1]], columns[waiting[2]], columns[waiting[3]]};
                    double products[4];
                    dot_four(four, z, n, products);
                    while (count > 0) {
                        --count;
                        rows[j][waiting[count]] = products[count];
                    }
                }
            }
            while (count > 0) {
                --count;
                rows[j][waiting[count]] = dot(columns[waiting[count]], z, n);
            }
        }
        return rows[j].data();
    }

    // Of two columns, of which j has been asked for.
    double at(size_t j, size_t i) const { return rows[j][i]; }

    double pair(size_t i, size_t j) {
        return i == j ? norm[i] : !rows[i].empty() ? rows[i][j] : !rows[j].empty() ? rows[j][i] : of(i)[j];
    }

private:
    const std::vector<const double*> columns;
    const double* omega;
    std::vector<double> spare;
    std::vector<std::vector<double>> rows;

    // A column about its mean times omega, in `room`; itself where all weights are 1.
    const double* weighted(size_t j, std::vector<double>& room) const {
        if (!omega) return columns[j];
        room.assign(n, 0.0);
        add_weighted(room.data(), omega, columns[j], mean[j], 1.0, n);
        return room.data();
    }

    // Of up to four columns with a vector.
    void block(size_t first, size_t count, const double* z, double* products) const {
        if (count == 4)
            dot_four(columns.data() + first, z, n, products + first);
        else
            for (size_t j = first; j < first + count; ++j) products[j] = dot(columns[j], z, n);
    }
};

inline std::vector<const double*> each_column(const double* X, size_t n, size_t w) {
    std::vector<const double*> columns(w);
    for (size_t j = 0; j < w; ++j) columns[j] = X + j * n;
    return columns;
}

class Sequential {
public:
    // C: (w, k) the columns' products with the targets; total: number of samples, yy: the targets' sum of squares over
    // the k outputs. alpha: precisions, infinite where a column is out; they are moved.
    // Of columns whose cosine reaches `aligned` at most one stays in, and none is added that reaches `alike` with one.
    Sequential(Products& products, const double* C, size_t k, double total, double yy, double* alpha, double noise,
               double aligned, double alike)
        : gram(products), C(C), w(products.w), k(k), total(total), yy(yy), alike(alike), alpha(alpha), noise(noise), S(w),
          Q(w * k), mu(w * k), e(w), Sigma(room * room), where(w, w) {
        for (size_t j = 0; j < w; ++j) {
            if (!std::isfinite(alpha[j])) continue;
            if (is_near(j, aligned))
                alpha[j] = std::numeric_limits<double>::infinity();
            else
                enter(j);
        }
    }

    // Steps until none gains `tol`; the noise is learned down to `floor` (0: it stays). Returns the number of steps.
    // With `once`, only until a column enters or leaves: that is noted in alpha alone.
    int run(double floor, double tol, int max_steps, double* final_noise, bool once = false) {
        const double precise = 1e-3;
        int steps = 0;
        if (refresh()) {
            while (steps < max_steps) {
                const Action action = best();
                const bool quiet = action.gain < tol;
                if (!quiet) {
                    ++steps;
                    if (once && (where[action.column] == w || std::isinf(action.alpha))) {
                        alpha[action.column] = action.alpha;
                        break;
                    }
                    take(action);
                }
                const bool turn = steps <= OFTEN || steps % EVERY == 0;
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
    static constexpr int OFTEN = 10, EVERY = 5;  // the noise is learned after each of the first steps, then after some
    static constexpr double DEPENDENT = 1e-12;  // what the model leaves of a column, at which that is rounding

    Products& gram;
    const double* C;
    const size_t w, k;
    const double total, yy, alike;
    double* alpha;
    double noise;
    std::vector<double> S, Q, mu, e;
    size_t room = 16;  // for columns of the model, in each row of Sigma
    std::vector<double> Sigma;
    std::vector<size_t> active, where;

    // Of columns j of the model with all, or with one.
    const double* products(size_t j) { return gram.of(j); }
    double product(size_t j, size_t i) const { return gram.at(j, i); }

    double* sigma(size_t a) { return Sigma.data() + a * room; }
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
        make_room(M);
        std::vector<double> L(M * M), U(M * M);
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b)
                L[a * M + b] = beta * product(active[a], active[b]) + (a == b ? alpha[active[a]] : 0.0);
        if (!factorise(L.data(), M)) return false;
        invert_factor(L.data(), M, U.data());
        for (size_t a = 0; a < M; ++a)
            for (size_t b = 0; b <= a; ++b)
                sigma(a)[b] = sigma(b)[a] = short_dot(U.data() + a * M + a, U.data() + b * M + a, M - a);
        for (size_t a = 0; a < M; ++a)
            for (size_t l = 0; l < k; ++l) {
                double t = 0.0;
                for (size_t b = 0; b < M; ++b) t += sigma(a)[b] * C[l * w + active[b]];
                mean(a)[l] = beta * t;
            }
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

    // The best deletion, if there is one, else the largest gain over all columns; s and q are S and Q as if the column were out (eqs. 20-24): of a column
    // that is in, Sigma_jj = 1 / (alpha + s) and mu_j = q / (alpha + s).
    Action best() {
        const double infinite = std::numeric_limits<double>::infinity(), outputs = static_cast<double>(k);
        // Of the columns that are out, the gain rises with the ratio q^2 / s.
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
        Action found{w, -infinite, 0.0};
        if (first < w) found = {first, 0.5 * outputs * (ratio - 1.0 - std::log(ratio)), S[first] / (ratio - 1.0)};
        bool deleting = false;
        for (size_t a = 0; a < active.size(); ++a) {
            const size_t j = active[a];
            const double variance = sigma(a)[a], s = (1.0 - alpha[j] * variance) / variance;
            double q2 = 0.0;
            for (size_t l = 0; l < k; ++l) q2 += mean(a)[l] * mean(a)[l];
            q2 /= variance * variance;
            const double theta = q2 / outputs - s, next = theta > 0.0 ? s * s / theta : infinite;
            const double gain = (theta > 0.0 ? level(next, s, q2) : 0.0) - level(alpha[j], s, q2);
            const bool leaves = std::isinf(next);
            if (leaves > deleting || (leaves == deleting && gain > found.gain)) found = {j, gain, next};
            deleting = deleting || leaves;
        }
        return found;
    }

    // The part of the log evidence that a column contributes at precision a (eq. 18).
    double level(double a, double s, double q2) const {
        return 0.5 * (q2 / (a + s) - static_cast<double>(k) * std::log1p(s / a));
    }

    // Whether the cosine of a column with one of the model reaches so much.
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

    // Room for so many columns and one more.
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
