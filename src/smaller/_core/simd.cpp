#include "simd.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 4")  // or else sums that could stay in registers do not
#else
#define UNROLL
#endif
#if defined(_MSC_VER)
#define INLINE static __forceinline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

namespace smaller {
namespace {

constexpr size_t LANES = 16;   // independent partial sums: without them each addition waits for the one before
constexpr size_t BLOCK = 512;  // rows of a softmax handled while they are in the first-level cache

// exp to about one unit in the last place, branch-free so that it vectorises: x = n ln 2 + r, |r| <= ln 2 / 2.
INLINE double fast_exp(double x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, held in the low bits
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    x = x < -708.0 ? -708.0 : (x > 709.0 ? 709.0 : x);
    const double shifted = x * 1.44269504088896340736 + shift;
    const double whole = shifted - shift;
    const double r = (x - whole * ln2_high) - whole * ln2_low;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    std::int64_t bits, exponent;
    std::memcpy(&bits, &p, sizeof bits);
    std::memcpy(&exponent, &shifted, sizeof exponent);
    bits += static_cast<std::int64_t>(static_cast<std::uint64_t>(exponent) << 52);
    std::memcpy(&p, &bits, sizeof p);
    return p;
}

// log of a positive number, branch-free as well: x = 2^e m, 1/sqrt 2 <= m < sqrt 2, log m = 2 atanh((m - 1) / (m + 1)).
INLINE double fast_log(double x) {
    constexpr double two52 = 4503599627370496.0;
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    x = x < 2.2250738585072014e-308 ? 2.2250738585072014e-308 : x;
    std::uint64_t bits, low, high;
    std::memcpy(&bits, &x, sizeof bits);
    low = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
    high = (bits >> 52) | 0x4330000000000000ULL;  // the exponent as the last bits of 2^52
    double m, e;
    std::memcpy(&m, &low, sizeof m);
    std::memcpy(&e, &high, sizeof e);
    e -= two52 + 1023.0;
    const bool upper = m > 1.4142135623730951;
    m = upper ? 0.5 * m : m;
    e = upper ? e + 1.0 : e;
    const double z = (m - 1.0) / (m + 1.0), t = z * z;
    double p = 1.0 / 21.0;
    p = p * t + 1.0 / 19.0;
    p = p * t + 1.0 / 17.0;
    p = p * t + 1.0 / 15.0;
    p = p * t + 1.0 / 13.0;
    p = p * t + 1.0 / 11.0;
    p = p * t + 1.0 / 9.0;
    p = p * t + 1.0 / 7.0;
    p = p * t + 1.0 / 5.0;
    p = p * t + 1.0 / 3.0;
    return e * ln2_high + (2.0 * (z + z * t * p) + e * ln2_low);
}

template <class Term>
INLINE double total_of(size_t n, Term term) {
    double part[LANES] = {};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; ++j) part[j] += term(i + j);
    for (size_t j = 0; i + j < n; ++j) part[j] += term(i + j);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t j = 0; j < width; ++j) part[j] += part[j + width];
    return part[0];
}

// Four numbers that are added and multiplied at once.
#if defined(__GNUC__)
typedef double Four __attribute__((vector_size(32)));
#else
struct Four {
    double v[4];
    double operator[](size_t j) const { return v[j]; }
    Four operator*(const Four& o) const { return {{v[0] * o.v[0], v[1] * o.v[1], v[2] * o.v[2], v[3] * o.v[3]}}; }
    void operator+=(const Four& o) { for (size_t j = 0; j < 4; ++j) v[j] += o.v[j]; }
};
#endif

INLINE void load(Four& four, const double* x) { std::memcpy(&four, x, sizeof four); }

// C += A^T B for A columns a and B columns b: A B sums are kept in registers while n rows go by.
template <size_t A, size_t B>
INLINE void tile(const double* a, size_t lda, const double* b, size_t ldb, size_t n, double* C, size_t ldc) {
    Four part[A][B] = {}, left[A], right;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        UNROLL for (size_t c = 0; c < A; ++c) load(left[c], a + c * lda + i);
        UNROLL for (size_t e = 0; e < B; ++e) {
            load(right, b + e * ldb + i);
            UNROLL for (size_t c = 0; c < A; ++c) part[c][e] += left[c] * right;
        }
    }
    UNROLL for (size_t c = 0; c < A; ++c)
        UNROLL for (size_t e = 0; e < B; ++e) {
            const Four p = part[c][e];
            double total = (p[0] + p[2]) + (p[1] + p[3]);
            for (size_t j = i; j < n; ++j) total += a[c * lda + j] * b[e * ldb + j];
            C[c * ldc + e] += total;
        }
}

template <size_t A>
INLINE void strip(const double* a, size_t lda, const double* b, size_t ldb, size_t nb, size_t n, double* C, size_t ldc) {
    size_t e = 0;
    for (; e + 4 <= nb; e += 4) tile<A, 4>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
    if (nb - e == 3) tile<A, 3>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
    if (nb - e == 2) tile<A, 2>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
    if (nb - e == 1) tile<A, 1>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
}

}  // namespace

#define DEFINE_COLUMN_LOOPS(T)                                                                                   \
    SIMD double dot(const T* x, const double* v, size_t n) {                                                     \
        return total_of(n, [=](size_t i) { return static_cast<double>(x[i]) * v[i]; });                          \
    }                                                                                                            \
    SIMD double spread(const T* x, double c, const double* q, size_t n) {                                        \
        return total_of(n, [=](size_t i) {                                                                       \
            const double z = static_cast<double>(x[i]) - c;                                                      \
            return q[i] * z * z;                                                                                 \
        });                                                                                                      \
    }                                                                                                            \
    SIMD void add(double* __restrict f, const T* __restrict x, double c, double d, size_t n) {                   \
        for (size_t i = 0; i < n; ++i) f[i] += d * (static_cast<double>(x[i]) - c);                              \
    }                                                                                                            \
    SIMD void add_weighted(double* __restrict v, const double* __restrict q, const T* __restrict x, double c,    \
                           double d, size_t n) {                                                                 \
        for (size_t i = 0; i < n; ++i) v[i] += d * q[i] * (static_cast<double>(x[i]) - c);                       \
    }                                                                                                            \
    SIMD void tilt(double* __restrict e, double* __restrict total, const T* __restrict x, double c, double d,    \
                   size_t n) {                                                                                   \
        for (size_t i = 0; i < n; ++i) {                                                                         \
            const double was = e[i];                                                                             \
            e[i] = was * fast_exp(d * (static_cast<double>(x[i]) - c));                                          \
            total[i] += e[i] - was;                                                                              \
        }                                                                                                        \
    }                                                                                                            \
    SIMD void moved(const T* x, double c, const double* p, const double* q, const double* y, const double* s,    \
                    double d, size_t n, double* up, double* down) {                                              \
        double above[LANES] = {}, below[LANES] = {};                                                             \
        for (size_t first = 0; first < n; first += LANES) {                                                      \
            const size_t width = std::min(LANES, n - first);                                                     \
            for (size_t j = 0; j < width; ++j) {                                                                 \
                const size_t i = first + j;                                                                      \
                const double z = d * (static_cast<double>(x[i]) - c), e = fast_exp(-std::fabs(z));               \
                const double with = fast_log(p[i] + q[i] * e), against = fast_log(q[i] + p[i] * e);              \
                above[j] += s[i] * ((z < 0.0 ? against : with) + (std::max(z, 0.0) - y[i] * z));                 \
                below[j] += s[i] * ((z < 0.0 ? with : against) + (std::max(-z, 0.0) + y[i] * z));                \
            }                                                                                                    \
        }                                                                                                        \
        *up = total_of(LANES, [&](size_t j) { return above[j]; });                                               \
        *down = total_of(LANES, [&](size_t j) { return below[j]; });                                             \
    }                                                                                                            \
    SIMD void multiply(double* __restrict z, const T* __restrict x, const double* __restrict q, size_t n) {      \
        for (size_t i = 0; i < n; ++i) z[i] = static_cast<double>(x[i]) * q[i];                                  \
    }                                                                                                            \
    SIMD void add_four(double* __restrict f, const T* const* x, const double* r, size_t n) {                     \
        const T *__restrict a = x[0], *__restrict b = x[1], *__restrict c = x[2], *__restrict d = x[3];          \
        const double ra = r[0], rb = r[1], rc = r[2], rd = r[3];                                                 \
        for (size_t j = 0; j < n; ++j) f[j] += (ra * a[j] + rb * b[j]) + (rc * c[j] + rd * d[j]);                \
    }

DEFINE_COLUMN_LOOPS(float)
DEFINE_COLUMN_LOOPS(double)

SIMD void dot_four(const double* const* x, const double* v, size_t n, double* products) {
    const double *a = x[0], *b = x[1], *c = x[2], *d = x[3];
    double first = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
#pragma omp simd reduction(+ : first, second, third, fourth)
    for (size_t i = 0; i < n; ++i) {
        first += a[i] * v[i];
        second += b[i] * v[i];
        third += c[i] * v[i];
        fourth += d[i] * v[i];
    }
    products[0] = first;
    products[1] = second;
    products[2] = third;
    products[3] = fourth;
}

SIMD void products(const double* a, size_t lda, size_t na, const double* b, size_t ldb, size_t nb, size_t n, double* C,
                   size_t ldc) {
    size_t c = 0;
    for (; c + 3 <= na; c += 3) strip<3>(a + c * lda, lda, b, ldb, nb, n, C + c * ldc, ldc);
    if (na - c == 2) strip<2>(a + c * lda, lda, b, ldb, nb, n, C + c * ldc, ldc);
    if (na - c == 1) strip<1>(a + c * lda, lda, b, ldb, nb, n, C + c * ldc, ldc);
}

constexpr size_t PULL_ROWS = 2048;  // of R, which stay in the cache

void pull(const double* X, const double* R, size_t n, size_t d, size_t k, double* G) {
    std::fill(G, G + d * k, 0.0);
    for (size_t first = 0; first < n; first += PULL_ROWS)
        products(X + first, n, d, R + first, n, k, std::min(PULL_ROWS, n - first), G, k);
}

SIMD void pull(const float* X, const double* R, size_t n, size_t d, size_t k, double* G) {
    constexpr size_t PANEL = 3;
    double x[PANEL * PULL_ROWS];
    std::fill(G, G + d * k, 0.0);
    for (size_t first = 0; first < n; first += PULL_ROWS) {
        const size_t rows = std::min(PULL_ROWS, n - first);
        for (size_t j = 0; j < d; j += PANEL) {
            const size_t width = std::min(PANEL, d - j);
            for (size_t c = 0; c < width; ++c)
                for (size_t i = 0; i < rows; ++i) x[c * PULL_ROWS + i] = X[(j + c) * n + first + i];
            products(x, PULL_ROWS, width, R + first, n, k, rows, G + j * k, k);
        }
    }
}

SIMD void squares(const double* __restrict X, const double* __restrict omega, const double* __restrict center, size_t n,
                  size_t d, double* __restrict total) {
    for (size_t i = 0; i < n; ++i) {
        const double* __restrict x = X + i * d;
        const double q = omega[i];
        for (size_t j = 0; j < d; ++j) total[j] += q * (x[j] - center[j]) * (x[j] - center[j]);
    }
}

SIMD void distances(const double* __restrict X, const double* __restrict Zt, size_t n, size_t m, size_t p,
                    double* __restrict D) {
    for (size_t i = 0; i < n; ++i) {
        double* __restrict row = D + i * m;
        for (size_t j = 0; j < m; ++j) row[j] = 0.0;
        for (size_t l = 0; l < p; ++l) {
            const double x = X[i * p + l];
            const double* __restrict z = Zt + l * m;
            for (size_t j = 0; j < m; ++j) row[j] += (x - z[j]) * (x - z[j]);
        }
    }
}

SIMD void decay(double* D, size_t count, double gamma) {
    for (size_t i = 0; i < count; ++i) D[i] = fast_exp(-gamma * D[i]);
}

SIMD double sum(const double* v, size_t n) {
    return total_of(n, [=](size_t i) { return v[i]; });
}

SIMD void regated(double* __restrict z, const double* __restrict K, const double* __restrict x, double c, double rate,
                  size_t n) {
    for (size_t i = 0; i < n; ++i) z[i] = K[i] * fast_exp(-rate * (x[i] - c) * (x[i] - c));
}

SIMD void add_regated(double* __restrict f, const double* __restrict K, const double* __restrict x, double c,
                      double rate, double w, size_t n) {
    for (size_t i = 0; i < n; ++i) f[i] += w * K[i] * fast_exp(-rate * (x[i] - c) * (x[i] - c));
}

SIMD void regate(double* __restrict S, double* __restrict K, const double* __restrict x, double c, double change,
                 double gamma, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        S[i] += change * (x[i] - c) * (x[i] - c);
        K[i] = fast_exp(-gamma * S[i]);
    }
}

// One block of rows [first, last): e = exp(F - top), total over classes.
#define EXPONENTIATE_BLOCK                                                                                       \
    for (size_t i = first; i < last; ++i) top[i - first] = reference ? 0.0 : F[i];                               \
    for (size_t l = reference ? 0 : 1; l < k; ++l)                                                               \
        for (size_t i = first; i < last; ++i) top[i - first] = std::max(top[i - first], F[l * n + i]);           \
    for (size_t i = first; i < last; ++i) total[i - first] = reference ? fast_exp(-top[i - first]) : 0.0;        \
    for (size_t l = 0; l < k; ++l)                                                                               \
        for (size_t i = first; i < last; ++i) {                                                                  \
            const double value = fast_exp(F[l * n + i] - top[i - first]);                                        \
            e[l * n + i] = value;                                                                                \
            total[i - first] += value;                                                                           \
        }

// sum s log(total) over a block of rows, each total in [1, k + 1]. Rows of the same weight need no logarithm each: BLOCK /
// LANES totals can be multiplied without overflow.
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
        const size_t last = std::min(n, first + BLOCK);
        EXPONENTIATE_BLOCK
        const double *here = s + first, *above = top;
        loss += sum_of_logs(total, here, last - first);
        for (size_t i = 0; i < last - first; ++i) total[i] = 1.0 / total[i];
        for (size_t i = 0; i < last - first; ++i) others[i] = reference ? fast_exp(-top[i]) * total[i] : 0.0;
        for (size_t l = 0; l < k; ++l) {
            const double *y = Y + l * n + first, *f = F + l * n + first;
            double* p = e + l * n + first;
            for (size_t i = 0; i < last - first; ++i) p[i] *= total[i];
            for (size_t i = 0; i < last - first; ++i) top[i] -= y[i] * f[i];  // row by row: large scores lose no digits
            for (size_t i = 0; i < last - first; ++i) others[i] += (1.0 - y[i]) * p[i];
        }
        for (size_t l = 0; l < k && U != nullptr; ++l) {
            const double *y = Y + l * n + first, *p = e + l * n + first;
            double* u = U + l * n + first;
            for (size_t i = 0; i < last - first; ++i) u[i] = (1.0 - y[i]) * p[i] - y[i] * others[i];
        }
        loss += total_of(last - first, [=](size_t i) { return here[i] * above[i]; });
    }
    return loss;
}

// The same for one column of scores against a reference: one exponential for both classes.
SIMD static double logistic(const double* __restrict F, const double* __restrict Y, const double* __restrict s, size_t n,
                            double* __restrict P, double* __restrict U) {
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

double means(const double* F, const double* Y, const double* s, size_t n, size_t k, Family family, double* P, double* U) {
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
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t last = std::min(n, first + BLOCK);
        double* total = totals + first;
        EXPONENTIATE_BLOCK
    }
}

}  // namespace smaller
