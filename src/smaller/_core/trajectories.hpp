// Hamiltonian trajectories on the posterior of the weights of a softmax.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "simd.hpp"

namespace smaller {

// log p(w) of a prior without its scales, up to a constant: a function of size = sum u |w|^power / power, and normal
// distributions beside it.
struct Density {
    const double *unit, *normal;  // of each weight: u, and the precision of its normal distribution
    int power;                    // 1 or 2
    double lam;                   // the strength where it is fixed
    double shape, rate;           // of the gamma prior of a strength that is integrated out; shape 0: it is fixed

    // Takes the gradient at w from `gradient`, whose sign is turned, and returns the log density.
    double at(const double* w, size_t count, double* gradient) const {
        double size = 0.0, square = 0.0;
        for (size_t i = 0; i < count; ++i) {
            size += unit[i] * (power == 1 ? std::fabs(w[i]) : 0.5 * w[i] * w[i]);
            square += normal[i] * w[i] * w[i];
        }
        const double strength = shape > 0.0 ? shape / (rate + size) : lam;
        for (size_t i = 0; i < count; ++i) {
            const double turned = power == 1 ? double(w[i] > 0.0) - double(w[i] < 0.0) : w[i];
            gradient[i] = -gradient[i] - strength * unit[i] * turned - normal[i] * w[i];
        }
        return -0.5 * square - (shape > 0.0 ? shape * std::log(rate + size) : lam * size);
    }
};

// Scores A V + offset of n samples; weights are those of k classes one after the other, `rows` of each.
struct Posterior {
    const double *A, *Y, *s, *offset;
    size_t n, rows, k;
    Family family;
    Density prior;
    const double* root;  // (rows k, f) in C order: weights from whitened coordinates
    size_t f;

    size_t weights() const { return rows * k; }
};

// A point: weights, log-likelihood, log posterior, and its whitened gradient.
struct Spot {
    std::vector<double> w, slope;
    double log_likelihood = 0.0, value = 0.0;
};

class Trajectory {
public:
    Trajectory(const Posterior& posterior, const double* start) : p_(posterior) {
        here_.w.assign(start, start + p_.weights());
        here_.slope.resize(p_.f);
        momentum_.resize(p_.f);
        gradient_.resize(p_.weights());
        for (std::vector<double>* each : {&F_, &P_, &U_}) each->resize(p_.n * p_.k);
        look(here_);
    }

    const Spot& here() const { return here_; }

    // One trajectory of so many leapfrog steps, accepted where the threshold is below the gain; returns the gain.
    double move(const double* momentum, size_t steps, double step, double threshold) {
        there_ = here_;
        std::copy(momentum, momentum + p_.f, momentum_.begin());
        const double before = energy();
        for (size_t i = 0; i < steps; ++i) {
            push(0.5 * step);
            drift(step);
            look(there_);
            push(0.5 * step);
        }
        const double gain = there_.value - here_.value + before - energy();
        if (threshold < gain) std::swap(here_, there_);
        return gain;
    }

private:
    double energy() const {
        double square = 0.0;
        for (double each : momentum_) square += each * each;
        return 0.5 * square;
    }

    void push(double length) {
        for (size_t a = 0; a < p_.f; ++a) momentum_[a] += length * there_.slope[a];
    }

    void drift(double step) {
        for (size_t i = 0; i < p_.weights(); ++i) {
            const double* row = p_.root + i * p_.f;
            double change = 0.0;
            for (size_t a = 0; a < p_.f; ++a) change += row[a] * momentum_[a];
            there_.w[i] += step * change;
        }
    }

    // Four columns from this one on.
    std::array<const double*, 4> four_from(size_t j) const {
        const double* first = p_.A + j * p_.n;
        return {first, first + p_.n, first + 2 * p_.n, first + 3 * p_.n};
    }

    // The log posterior at the weights of a spot, and its gradient.
    void look(Spot& spot) {
        const size_t n = p_.n, rows = p_.rows;
        for (size_t c = 0; c < p_.k; ++c) {
            const double* w = &spot.w[c * rows];
            double* scores = &F_[c * n];
            std::copy(p_.offset + c * n, p_.offset + (c + 1) * n, scores);
            size_t j = 0;
            for (; j + 4 <= rows; j += 4) add_four(scores, four_from(j).data(), w + j, n);
            for (; j < rows; ++j) add(scores, p_.A + j * n, 0.0, w[j], n);
        }
        spot.log_likelihood = -means(F_.data(), p_.Y, p_.s, n, p_.k, p_.family, P_.data(), U_.data());
        for (size_t c = 0; c < p_.k; ++c) {
            double* residuals = &U_[c * n];
            for (size_t i = 0; i < n; ++i) residuals[i] *= p_.s[i];
            double* g = &gradient_[c * rows];
            size_t j = 0;
            for (; j + 4 <= rows; j += 4) dot_four(four_from(j).data(), residuals, n, g + j);
            for (; j < rows; ++j) g[j] = dot(p_.A + j * n, residuals, n);
        }
        spot.value = spot.log_likelihood + p_.prior.at(spot.w.data(), p_.weights(), gradient_.data());
        std::fill(spot.slope.begin(), spot.slope.end(), 0.0);
        for (size_t i = 0; i < p_.weights(); ++i)
            for (size_t a = 0; a < p_.f; ++a) spot.slope[a] += p_.root[i * p_.f + a] * gradient_[i];
    }

    const Posterior p_;
    Spot here_, there_;
    std::vector<double> momentum_, gradient_, F_, P_, U_;
};

}  // namespace smaller
