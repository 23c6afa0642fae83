// The compiled module: kernels with the names, arguments and results of their twins in reference.py, two searches with
// a fallback of the same names and arguments in fallback_evidence.py, and whole solvers.
#include "bindings.hpp"

NB_MODULE(compiled, m) {
    smaller::bind_sums(m);
    smaller::bind_l1(m);
    smaller::bind_evidence(m);
    smaller::bind_moves(m);
    smaller::bind_trajectories(m);
}
