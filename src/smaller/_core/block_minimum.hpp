// The minimum over one block of weights of a quadratic model under the penalty  sum a |w| + tau ||w||, by its secular
// equation; and the conjugate of that penalty with a ridge.
#pragma once
#include "block_norm.hpp"

namespace smaller {

// r > 0 with sum z^2 / (q r + tau)^2 = 1, or 0 where ||z|| <= tau. The power -1/2 of the sum is concave and increases,
// so that Newton's steps rise from below to the root.
inline double root_of_secular(const Numbers& q, const Numbers& z, double tau) {
    const double length = length_of(z);
    double largest = 0.0;
    for (size_t i = 0; i < q.size(); ++i)
        if (z[i] != 0.0) largest = std::max(largest, q[i]);
    if (!(length > tau) || !(largest > 0.0)) return 0.0;
    double r = (length - tau) / largest;
    for (int step = 0; step < 100; ++step) {
        double one = 0.0, two = 0.0;
        for (size_t i = 0; i < q.size(); ++i) {
            const double e = 1.0 / (q[i] * r + tau), share = z[i] * e * (z[i] * e);
            one += share;
            two += q[i] * e * share;
        }
        const double more = one * (std::sqrt(one) - 1.0) / two;
        if (!(more > 1e-15 * r)) break;
        r += more;
    }
    return r;
}

// sup_w z.w - sum a |w| - tau ||w|| - sum q w^2 / 2, for q > 0.
inline double block_conjugate(const Numbers& z, const Numbers& a, const Numbers& q, double tau) {
    Numbers rest(z.size());
    for (size_t i = 0; i < z.size(); ++i) rest[i] = soft(z[i], a[i]);
    const double r = root_of_secular(q, rest, tau);
    double total = 0.0;
    for (size_t i = 0; i < z.size() && r > 0.0; ++i) {
        const double w = rest[i] * r / (q[i] * r + tau);
        total += 0.5 * q[i] * w * w;
    }
    return total;
}

// The minimum over x of  x^T Q x / 2 - v.x + sum a |x| + tau ||x||,  Q (b, b). Without L1 terms it is exact for blocks
// that are small enough to be decomposed. Otherwise proximal gradient steps from the present x lower it, which is all
// that sweeps over the blocks need: their end is left to Newton's equations of all non-zero weights.
class BlockModel {
public:
    BlockModel() = default;
    BlockModel(Numbers matrix, size_t b) : Q(std::move(matrix)), v(b), z(b), was(b), b(b) {
        if (b <= LARGEST) {
            decompose(Q, b, values, U);
            largest = *std::max_element(values.begin(), values.end());
            return;
        }
        for (size_t i = 0; i < b; ++i) {  // no eigenvalue exceeds the largest sum of a row
            double row = 0.0;
            for (size_t j = 0; j < b; ++j) row += std::abs(Q[i * b + j]);
            largest = std::max(largest, row);
        }
    }

    bool known() const { return b > 0; }
    double curvature() const { return Q[0]; }

    // The minimum, into x; `slope` is the gradient Q x - v at the present x. Returns about how much that has changed.
    double minimise(const double* slope, const double* a, double tau, double* x) {
        times(x, v);
        for (size_t i = 0; i < b; ++i) v[i] -= slope[i];
        std::copy_n(x, b, was.data());
        const bool exact = b <= LARGEST && std::all_of(a, a + b, [](double l1) { return l1 == 0.0; });
        if (soft_length(v.data(), a, b) <= tau) std::fill_n(x, b, 0.0);
        else if (!(largest > 0.0)) return 0.0;
        else if (exact) exactly(tau, x);
        else shrink(a, tau, x);
        for (size_t i = 0; i < b; ++i) was[i] = x[i] - was[i];
        if (!exact) return largest * length_of(was);
        times(was.data(), z);
        return length_of(z);
    }

private:
    static constexpr size_t LARGEST = 64;
    static constexpr int MOST_STEPS = 30;
    Numbers Q, values, U;
    Numbers v, z, was;  // scratch
    size_t b = 0;
    double largest = 0.0;

    // out = Q x.
    void times(const double* x, Numbers& out) const {
        for (size_t i = 0; i < b; ++i) out[i] = short_dot(&Q[i * b], x, b);
    }

    // In the eigenvectors of Q the length r of the minimum is the root of a secular equation.
    void exactly(double tau, double* x) {
        for (size_t i = 0; i < b; ++i) z[i] = short_dot(&U[i * b], v.data(), b);
        const double r = root_of_secular(values, z, tau);
        if (!(r > 0.0)) return;
        std::fill_n(x, b, 0.0);
        for (size_t i = 0; i < b; ++i) {
            const double along = z[i] * r / (values[i] * r + tau);
            for (size_t j = 0; j < b; ++j) x[j] += along * U[i * b + j];
        }
    }

    // Proximal gradient steps: entries are shrunk first, then the block.
    void shrink(const double* a, double tau, double* x) {
        for (int step = 0; step < MOST_STEPS; ++step) {
            times(x, z);
            for (size_t i = 0; i < b; ++i) z[i] = soft(x[i] - (z[i] - v[i]) / largest, a[i] / largest);
            const double length = length_of(z), factor = length > 0.0 ? 1.0 - tau / largest / length : 0.0;
            double moved = 0.0, size = 0.0;
            for (size_t i = 0; i < b; ++i) {
                z[i] *= std::max(factor, 0.0);
                moved = std::max(moved, std::abs(z[i] - x[i]));
                size = std::max(size, std::abs(z[i]));
                x[i] = z[i];
            }
            if (moved <= 1e-3 * size) return;
        }
    }
};

}  // namespace smaller
