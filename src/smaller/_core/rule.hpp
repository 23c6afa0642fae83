// What the L1 solver is given besides the data, and what it tells of each strength of a path.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace smaller {

// Weights W and gradient G of the loss are (d + intercept, k) by rows; scores F and offset are (n, k) by columns.
struct Start {
    double *W, *F, *G;
    bool known;  // whether G is the gradient at F
};

struct Rule {
    double tol;
    int max_iter;
    double screen;  // weights with |G| above this fraction of their l1 join the first working set
    bool exact;     // whether small problems are solved to rounding
    size_t room;    // of the violating weights, at least so many join the working set
};

// What a fit took: Newton steps, each of which reads the working set twice; sweeps over their models; Hessians of all
// rows, and Hessians of samples of the rows.
struct Work {
    int steps = 0, sweeps = 0, hessians = 0, sampled = 0;

    void operator+=(const Work& more) {
        steps += more.steps, sweeps += more.sweeps, hessians += more.hessians, sampled += more.sampled;
    }
};

struct Ending {
    enum { CONVERGED, MAX_ITER, STALLED } status = MAX_ITER;
    int iterations = 0;
    Work work;

    std::array<std::int64_t, 6> numbers() const {
        return {status, iterations, work.sweeps, work.steps, work.hessians, work.sampled};
    }
};

// Of each strength: its end, rows of the history and non-zero weights; and these, one after another.
struct Account {
    static constexpr size_t NUMBERS_OF_AN_END = 8, NUMBERS_OF_A_STEP = 5;
    std::vector<std::int64_t> ends, places;
    std::vector<double> history, values;
};

}  // namespace smaller
