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
                const double z = d * (static_cast<double>(x[i]) - c), e = fast_exp(z);                           \
                above[j] += s[i] * (fast_log(q[i] + p[i] * e) - y[i] * z);                                       \
                below[j] += s[i] * (fast_log(q[i] + p[i] / e) + y[i] * z);                                       \
            }                                                                                                    \
        }                                                                                                        \
        *up = total_of(LANES, [&](size_t j) { return above[j]; });                                               \
        *down = total_of(LANES, [&](size_t j) { return below[j]; });                                             \
    }                                                                                                            \
    SIMD void multiply(double* __restrict z, const T* __restrict x, const double* __restrict q, size_t n) {      \
        for (size_t i = 0; i < n; ++i) z[i] = static_cast<double>(x[i]) * q[i];                                  \
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

SIMD static double softmax(const double* __restrict F, const double* __restrict Y, const double* __restrict s, size_t n,
                           size_t k, bool reference, double* __restrict e) {
    double loss = 0.0, top[BLOCK], total[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t last = std::min(n, first + BLOCK);
        EXPONENTIATE_BLOCK
        const double *here = s + first, *sums = total, *tops = top;
        loss += total_of(last - first, [=](size_t i) { return here[i] * (fast_log(sums[i]) + tops[i]); });
        for (size_t i = 0; i < last - first; ++i) total[i] = 1.0 / total[i];
        for (size_t l = 0; l < k; ++l) {
            const double *y = Y + l * n + first, *f = F + l * n + first, *weight = s + first;
            for (size_t i = first; i < last; ++i) e[l * n + i] *= total[i - first];
            loss -= total_of(last - first, [=](size_t i) { return weight[i] * y[i] * f[i]; });
        }
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

double means(const double* F, const double* Y, const double* s, size_t n, size_t k, Family family, double* P) {
    if (family != GAUSSIAN) return softmax(F, Y, s, n, k, family == REFERENCE, P);
    std::copy(F, F + n * k, P);
    return squares(F, Y, s, n, k);
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
