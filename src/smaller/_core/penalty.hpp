// The L1 penalty of one weight: its minimiser on a parabola, and its optimality condition.
#pragma once
#include <algorithm>
#include <cmath>

namespace smaller {

inline double soft(double z, double threshold) {
    return z > threshold ? z - threshold : (z < -threshold ? z + threshold : 0.0);
}

// The w + d at which slope d + curvature d^2 / 2 + l1 |w + d| is least. Without curvature that is 0, or nowhere: then
// w.
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
