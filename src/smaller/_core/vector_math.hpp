// Functions that are inlined into the loops of simd.cpp and losses.cpp: exp, log and sums that the compiler vectorises.
#pragma once
#include <cstdint>
#include <cstring>

#include "simd.hpp"

// SIMD: the function is compiled for several instruction sets, and the best is chosen when the module is loaded.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define SIMD __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// WIDE: for processors with registers of 64 bytes alone, which HAS_WIDE_REGISTERS finds.
#define WIDE __attribute__((target("arch=x86-64-v4")))
#define HAS_WIDE_REGISTERS __builtin_cpu_supports("x86-64-v4")
#else
#define SIMD
#endif
#if defined(_MSC_VER)
#define INLINE static __forceinline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

namespace smaller {

constexpr size_t LANES = 16;  // independent partial sums: without them each addition waits for the one before

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

// The sum of term(i) over i < n.
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

}  // namespace smaller
