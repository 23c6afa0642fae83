// The losses that simd.hpp declares: means and negative log-likelihoods of scores, and what certificates need of them.
#include <algorithm>
#include <cmath>

#include "simd.hpp"
#include "vector_math.hpp"

namespace smaller {

static constexpr size_t BLOCK = 512;  // rows of a softmax handled while they are in the first-level cache

// One block of rows: e = exp(F - top), where top is the largest score of a row, and the total of e over the k classes.
// The scores of a class are n numbers apart from those of the next.
INLINE void exponentiate(const double* __restrict F, size_t n, size_t k, bool reference, size_t rows,
                         double* __restrict e, double* __restrict top, double* __restrict total) {
    for (size_t i = 0; i < rows; ++i) top[i] = reference ? 0.0 : F[i];
    for (size_t l = reference ? 0 : 1; l < k; ++l)
        for (size_t i = 0; i < rows; ++i) top[i] = std::max(top[i], F[l * n + i]);
    for (size_t i = 0; i < rows; ++i) total[i] = reference ? fast_exp(-top[i]) : 0.0;
    for (size_t l = 0; l < k; ++l)
        for (size_t i = 0; i < rows; ++i) {
            const double value = fast_exp(F[l * n + i] - top[i]);
            e[l * n + i] = value;
            total[i] += value;
        }
}

// sum s log(total) over a block of rows, each total in [1, k + 1]. Rows of the same weight need no logarithm each:
// BLOCK / LANES totals can be multiplied without overflow.
INLINE double sum_of_logs(const double* total, const double* s, size_t rows) {
    double part[LANES], logs[BLOCK];
    bool alike = true;
    for (size_t i = 0; i < rows; ++i) alike &= s[i] == s[0];
    if (!alike) {
        for (size_t i = 0; i < rows; ++i) logs[i] = s[i] * fast_log(total[i]);
        return total_of(rows, [&](size_t i) { return logs[i]; });
    }
    std::fill(part, part + LANES, 1.0);
    size_t i = 0;
    for (; i + LANES <= rows; i += LANES)
        for (size_t j = 0; j < LANES; ++j) part[j] *= total[i + j];
    for (size_t j = 0; i + j < rows; ++j) part[j] *= total[i + j];
    return s[0] * total_of(LANES, [&](size_t j) { return fast_log(part[j]); });
}

SIMD static double softmax(const double* __restrict F, const double* __restrict Y, const double* __restrict s, size_t n,
                           size_t k, bool reference, double* __restrict e, double* __restrict U) {
    double loss = 0.0, top[BLOCK], total[BLOCK], others[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t rows = std::min(BLOCK, n - first);
        exponentiate(F + first, n, k, reference, rows, e + first, top, total);
        const double *here = s + first, *above = top;
        loss += sum_of_logs(total, here, rows);
        for (size_t i = 0; i < rows; ++i) total[i] = 1.0 / total[i];
        for (size_t i = 0; i < rows; ++i) others[i] = reference ? fast_exp(-top[i]) * total[i] : 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *y = Y + l * n + first, *f = F + l * n + first;
            double* p = e + l * n + first;
            for (size_t i = 0; i < rows; ++i) p[i] *= total[i];
            for (size_t i = 0; i < rows; ++i) top[i] -= y[i] * f[i];  // row by row: large scores lose no digits
            for (size_t i = 0; i < rows; ++i) others[i] += (1.0 - y[i]) * p[i];
        }
        for (size_t l = 0; l < k && U != nullptr; ++l) {
            const double *y = Y + l * n + first, *p = e + l * n + first;
            double* u = U + l * n + first;
            for (size_t i = 0; i < rows; ++i) u[i] = (1.0 - y[i]) * p[i] - y[i] * others[i];
        }
        loss += total_of(rows, [=](size_t i) { return here[i] * above[i]; });
    }
    return loss;
}

// The same for one column of scores against a reference: one exponential for both classes.
SIMD static double logistic(const double* __restrict F, const double* __restrict Y, const double* __restrict s,
                            size_t n, double* __restrict P, double* __restrict U) {
    double loss = 0.0, total[BLOCK], linear[BLOCK], others[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t rows = std::min(BLOCK, n - first);
        const double *f = F + first, *y = Y + first, *here = s + first, *terms = linear;
        double* p = P + first;
        for (size_t i = 0; i < rows; ++i) {
            const double less = fast_exp(-std::abs(f[i])), inverse = 1.0 / (1.0 + less);
            p[i] = f[i] >= 0.0 ? inverse : less * inverse;
            others[i] = f[i] >= 0.0 ? less * inverse : inverse;
            total[i] = 1.0 + less;
            linear[i] = here[i] * (std::max(f[i], 0.0) - y[i] * f[i]);
        }
        for (size_t i = 0; i < rows && U != nullptr; ++i) U[first + i] = (1.0 - y[i]) * p[i] - y[i] * others[i];
        loss += total_of(rows, [=](size_t i) { return terms[i]; }) + sum_of_logs(total, here, rows);
    }
    return loss;
}

SIMD static double squares(const double* F, const double* Y, const double* s, size_t n, size_t k) {
    double loss = 0.0;
    for (size_t l = 0; l < k; ++l) {
        const double *f = F + l * n, *y = Y + l * n;
        loss += 0.5 * total_of(n, [=](size_t i) { return s[i] * (f[i] - y[i]) * (f[i] - y[i]); });
    }
    return loss;
}

double means(const double* F, const double* Y, const double* s, size_t n, size_t k, Family family, double* P,
             double* U) {
    if (family == REFERENCE && k == 1) return logistic(F, Y, s, n, P, U);
    if (family != GAUSSIAN) return softmax(F, Y, s, n, k, family == REFERENCE, P, U);
    std::copy(F, F + n * k, P);
    for (size_t t = 0; t < n * k && U != nullptr; ++t) U[t] = F[t] - Y[t];
    return squares(F, Y, s, n, k);
}

// q log q, 0 where q is not positive.
INLINE double xlogx(double q) { return q > 0.0 ? q * fast_log(q) : 0.0; }

SIMD double negentropy(const double* U, const double* Y, const double* s, double shrink, size_t n, size_t k,
                       bool reference) {
    double total = 0.0, sum[BLOCK], left[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t rows = std::min(BLOCK, n - first);
        for (size_t i = 0; i < rows; ++i) sum[i] = 0.0, left[i] = 1.0;
        for (size_t l = 0; l < k; ++l) {
            const double *u = U + l * n + first, *y = Y + l * n + first;
            for (size_t i = 0; i < rows; ++i) {
                const double q = std::min(std::max(y[i] + shrink * u[i], 0.0), 1.0);
                sum[i] += xlogx(q);
                left[i] -= q;
            }
        }
        if (reference)
            for (size_t i = 0; i < rows; ++i) sum[i] += xlogx(std::min(left[i], 1.0));
        const double *weight = s + first, *sums = sum;
        total += total_of(rows, [=](size_t i) { return weight[i] * sums[i]; });
    }
    return total;
}

SIMD Verdict judge(const double* __restrict W, const double* __restrict G, const double* __restrict l1,
                   const double* __restrict l2, const double* __restrict scale, size_t count,
                   double* __restrict residuals) {
    Verdict out;
    double shrink = 1.0, unridged = 1.0, penalty = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const double w = W[i], smooth = G[i] + l2[i] * w, over = std::max(std::abs(smooth) - l1[i], 0.0);
        residuals[i] = (w == 0.0 ? over : std::abs(smooth + std::copysign(l1[i], w))) / scale[i];
    }
    for (size_t i = 0; i < count; ++i) {
        if (W[i] != 0.0) penalty += l1[i] * std::abs(W[i]) + 0.5 * l2[i] * W[i] * W[i];
        const double g = std::abs(G[i]);
        if (!(g > l1[i])) continue;
        if (l2[i] > 0.0) shrink = std::min(shrink, l1[i] / g);
        else if (l1[i] > 0.0) unridged = std::min(unridged, l1[i] / g);
    }
    out.penalty = penalty;
    out.unridged = unridged;
    out.shrink = std::min(shrink, unridged);
    return out;
}

SIMD void exponentials(const double* __restrict F, size_t n, size_t k, bool reference, double* __restrict e,
                       double* __restrict totals) {
    double top[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK)
        exponentiate(F + first, n, k, reference, std::min(BLOCK, n - first), e + first, top, totals + first);
}

}  // namespace smaller
