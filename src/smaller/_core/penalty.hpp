// One weight with an L1 penalty: the minimum of a parabola plus the penalty, and the violation of the optimality
// condition.
#pragma once
#include <algorithm>
#include <cmath>

namespace smaller {

inline double soft(double z, double threshold) {
    return z > threshold ? z - threshold : (z < -threshold ? z + threshold : 0.0);
}

// The w + d at which slope d + curvature d^2 / 2 + l1 |w + d| is least. Without curvature the minimum is at 0 or does
// not exist; then w is returned.
inline double minimiser(double w, double slope, double curvature, double l1) {
    if (curvature > 0.0) return soft(w - slope / curvature, l1 / curvature);
    return l1 > 0.0 && std::abs(slope) <= l1 ? 0.0 : w;
}

// Distance of -g to the subdifferential of l1 |w|; g is the gradient of everything smooth.
inline double kkt(double w, double g, double l1) {
    if (w > 0) return std::abs(g + l1);
    if (w < 0) return std::abs(g - l1);
    return std::max(std::abs(g) - l1, 0.0);
}

}  // namespace smaller
