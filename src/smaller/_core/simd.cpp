// The loops over columns that simd.hpp declares: sums, products of columns, distances and kernels.
#include "simd.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "vector_math.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 4")  // or else sums that could stay in registers do not
#else
#define UNROLL
#endif

namespace smaller {
namespace {

// Numbers that are added and multiplied at once.
#if defined(__GNUC__)
typedef double Four __attribute__((vector_size(32)));
typedef double Eight __attribute__((vector_size(64)));
#else
struct Four {
    double v[4];
    double operator[](size_t j) const { return v[j]; }
    Four operator*(const Four& o) const { return {{v[0] * o.v[0], v[1] * o.v[1], v[2] * o.v[2], v[3] * o.v[3]}}; }
    void operator+=(const Four& o) { for (size_t j = 0; j < 4; ++j) v[j] += o.v[j]; }
};
#endif

template <class Vector>
INLINE void load(Vector& vector, const double* x) { std::memcpy(&vector, x, sizeof vector); }

// C += A^T B for A columns a and B columns b: A B sums are kept in registers while n rows go by.
template <class Vector, size_t A, size_t B>
INLINE void tile(const double* a, size_t lda, const double* b, size_t ldb, size_t n, double* C, size_t ldc) {
    constexpr size_t WIDTH = sizeof(Vector) / sizeof(double);
    Vector part[A][B] = {}, left[A], right;
    size_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        UNROLL for (size_t c = 0; c < A; ++c) load(left[c], a + c * lda + i);
        UNROLL for (size_t e = 0; e < B; ++e) {
            load(right, b + e * ldb + i);
            UNROLL for (size_t c = 0; c < A; ++c) part[c][e] += left[c] * right;
        }
    }
    UNROLL for (size_t c = 0; c < A; ++c)
        UNROLL for (size_t e = 0; e < B; ++e) {
            const Vector p = part[c][e];
            double total = 0.0;
            for (size_t j = 0; j < WIDTH; j += 4) total += (p[j] + p[j + 2]) + (p[j + 1] + p[j + 3]);
            for (size_t j = i; j < n; ++j) total += a[c * lda + j] * b[e * ldb + j];
            C[c * ldc + e] += total;
        }
}

template <class Vector, size_t A>
INLINE void strip(const double* a, size_t lda, const double* b, size_t ldb, size_t nb, size_t n, double* C,
                  size_t ldc) {
    size_t e = 0;
    for (; e + 4 <= nb; e += 4) tile<Vector, A, 4>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
    if (nb - e == 3) tile<Vector, A, 3>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
    if (nb - e == 2) tile<Vector, A, 2>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
    if (nb - e == 1) tile<Vector, A, 1>(a, lda, b + e * ldb, ldb, n, C + e, ldc);
}

template <class Vector>
INLINE void strips(const double* a, size_t lda, size_t na, const double* b, size_t ldb, size_t nb, size_t n, double* C,
                   size_t ldc) {
    size_t c = 0;
    for (; c + 3 <= na; c += 3) strip<Vector, 3>(a + c * lda, lda, b, ldb, nb, n, C + c * ldc, ldc);
    if (na - c == 2) strip<Vector, 2>(a + c * lda, lda, b, ldb, nb, n, C + c * ldc, ldc);
    if (na - c == 1) strip<Vector, 1>(a + c * lda, lda, b, ldb, nb, n, C + c * ldc, ldc);
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
    SIMD void add_turned(double* __restrict v, const double* __restrict q, const double* __restrict p,           \
                         const double* __restrict m, const T* __restrict x, double d, size_t n) {                \
        for (size_t i = 0; i < n; ++i) v[i] += static_cast<double>(x[i]) * (d * q[i] - p[i] * m[i]);             \
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

SIMD static void products_by_four(const double* a, size_t lda, size_t na, const double* b, size_t ldb, size_t nb,
                                  size_t n, double* C, size_t ldc) {
    strips<Four>(a, lda, na, b, ldb, nb, n, C, ldc);
}

#ifdef HAS_WIDE_REGISTERS
WIDE static void products_by_eight(const double* a, size_t lda, size_t na, const double* b, size_t ldb, size_t nb,
                                   size_t n, double* C, size_t ldc) {
    strips<Eight>(a, lda, na, b, ldb, nb, n, C, ldc);
}
#endif

// Registers of 64 bytes are faster where each load is a line of the cache, and slower where it takes parts of two.
void products(const double* a, size_t lda, size_t na, const double* b, size_t ldb, size_t nb, size_t n, double* C,
              size_t ldc) {
#ifdef HAS_WIDE_REGISTERS
    static const bool wide = HAS_WIDE_REGISTERS;
    const auto begins_line = [](const double* x) { return reinterpret_cast<std::uintptr_t>(x) % LINE == 0; };
    if (wide && begins_line(a) && begins_line(b) && begins_line(a + lda) && begins_line(b + ldb))
        return products_by_eight(a, lda, na, b, ldb, nb, n, C, ldc);
#endif
    products_by_four(a, lda, na, b, ldb, nb, n, C, ldc);
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

}  // namespace smaller
