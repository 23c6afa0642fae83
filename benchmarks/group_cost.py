"""What a norm of groups costs: the time of a fit with groups in times of the L1 fit with as many non-zero weights."""

import time

import numpy as np

from . import problems

TOL = 1e-6  # relative duality gap
HALVINGS = 12  # of the interval of log lam in which the L1 fit is looked for
WEAKEST = 1e-4  # its lower end, as a share of the largest useful strength


def measure(names, repeats=4):
    """For each problem with groups and each ratio: both sizes and times, the two fits in turn."""
    found = []
    for name in names:
        if name in problems.GROUPED and not problems.missing(name):
            grouped = problems.generate(name)
            plain = problems.generate(name.removesuffix("_groups"))
            found += [compare(grouped, plain, ratio, repeats) for ratio in problems.RATIOS]
            for one in found[-len(problems.RATIOS) :]:
                print(f"{one['label']}: {one['seconds'] / one['plain_seconds']:.2f} times the L1 fit", flush=True)
    return found


def compare(grouped, plain, ratio, repeats):
    """The least of some fits each, taken in turn."""
    groups = {"groups": grouped.labels, "group_factor": np.ones(len(grouped.starts))} if grouped.binary else {}
    groups = groups or {"groups": "features"}
    kept, _ = fit(grouped, ratio * grouped.lam_max, groups)
    lam = as_many(plain, kept)
    times = [(fit(grouped, ratio * grouped.lam_max, groups), fit(plain, lam, {})) for _ in range(repeats)]
    return {
        "label": f"{grouped.name} {ratio:g}",
        "kept": kept,
        "plain_kept": times[0][1][0],
        "seconds": min(seconds for (_, seconds), _ in times),
        "plain_seconds": min(seconds for _, (_, seconds) in times),
    }


def as_many(plain, kept):
    """The strength at which the L1 fit has the number of non-zero weights nearest to this."""
    low, high = np.log(WEAKEST), 0.0
    tried = {}
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        count, _ = fit(plain, plain.lam_max * np.exp(middle), {})
        tried[middle] = abs(count - kept)
        low, high = (middle, high) if count > kept else (low, middle)
    return plain.lam_max * np.exp(min(tried, key=tried.get))


def fit(problem, lam, groups):
    """The number of non-zero weights, and processor seconds."""
    from smaller import SMLR

    X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
    began = time.process_time()
    model = SMLR(lam=lam, tol=TOL, fit_intercept=False, **groups).fit(X, problem.y)
    return int(np.count_nonzero(model.coef_)), time.process_time() - began
