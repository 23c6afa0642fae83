"""Data and the objective, written down once more and independently, that several test files share."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import logsumexp

from smaller import _core

# What `make test-pure` leaves out, by the beginning of its name, and why.
SLOW = "it takes ten seconds or more"
COPIES = "the twin works on a copy of its columns in float64"
ROUNDING = "the twin's rounding ends the search at a slope of 1.3e-8, a little above tol=1e-8"
NOT_ON_TWINS = {
    "test_solvers.py::test_newton_steps_converge_fast_on_classes_of_a_few_rows_under_a_weak_prior": SLOW,
    "test_solvers.py::test_newton_is_quick_on_nearly_collinear_columns": SLOW,
    "test_solvers.py::test_a_path_is_its_single_fits[2]": SLOW,
    "test_solvers.py::test_a_loose_tolerance_makes_no_stairs_of_a_path": SLOW,
    "test_solvers.py::test_reference_cases_in_a_folder": SLOW,
    "test_models.py::test_every_fit_comes_with_its_certificate[many classes-SMLR-0.1]": SLOW,
    "test_models.py::test_groups_reach_the_splitter": SLOW,
    "test_contract.py::test_scikit_learn_finds_nothing_to_object_to[SMLR(basis='rbf')-check_classifiers_train": SLOW,
    "test_contract.py::test_scikit_learn_finds_nothing_to_object_to[SBMLR(basis='rbf',n_init=3)": SLOW,
    "test_persist.py::test_a_model_comes_back_to_the_last_bit[EvidenceSearch]": SLOW,
    "test_invariance.py::test_a_sparse_input_is_never_densified": SLOW,
    "test_invariance.py::test_a_fit_never_copies_the_inputs_whole[float32-F]": COPIES,
    "test_memmap.py::test_a_mapped_matrix_is_not_copied[F-float32]": COPIES,
    "test_memmap.py::test_ridge_and_the_strength_integrated_out_do_not_copy_either": COPIES,
    "test_dualspace.py::test_both_spaces_have_one_minimum[fast]": ROUNDING,
    "test_dualspace.py::test_x_space_lies_above_its_minimum_elsewhere": ROUNDING,
    "test_dualspace.py::test_noisy_data_keep_the_support": SLOW,
    "test_dualspace.py::test_no_relevance_vector_machine_has_a_lower_objective": SLOW,
    "test_dualspace.py::test_the_classifier_takes_sparse_inputs[200-3]": SLOW,
    "test_dualspace.py::test_the_classifier_does_not_densify_sparse_inputs": SLOW,
    "test_adaptive.py::test_laplace_em_is_the_certified_lasso[1-shape1]": SLOW,
    "test_bounds.py::test_what_breaks_a_bound_is_refused_with_its_reason[-columns may depend on the": SLOW,
    "test_strengths.py::test_each_point_of_the_path_is_the_fit_at_its_strength[{'basis': 'quadratic'}]": SLOW,
    "test_strengths.py::test_the_path_ends_before_the_noise_collapses": SLOW,
    "test_marginal.py::test_a_weight_is_a_repetition[rbf]": SLOW,
    "test_marginal.py::test_several_starts_keep_the_greatest_evidence[cancer]": SLOW,
}


def pytest_collection_modifyitems(items):
    if not _core.PURE:
        return
    for item in items:
        name = item.nodeid.rpartition("/")[2]
        reasons = [reason for begin, reason in NOT_ON_TWINS.items() if name.startswith(begin)]
        if reasons:
            item.add_marker(pytest.mark.skip(reason=f"not on the NumPy twins: {reasons[0]}"))


OVERLAP = 1.5  # spread of the clusters in units of the distance of their centres: no class can be separated


def clusters(n=90, p=6, m=3, seed=0, spread=OVERLAP):
    """Gaussian clusters, only the first half of the inputs informative; every class occurs."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % m)
    centres = rng.normal(size=(m, p))
    centres[:, (p + 1) // 2 :] = 0.0
    return centres[y] + spread * rng.normal(size=(n, p)), y


def scores(coef, intercept, Phi, offset=0.0):
    """One column of scores for each class, (n, m), from coef_ and intercept_ of any model."""
    F = Phi @ np.asarray(coef).T + intercept
    F = np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F
    return F + offset


def objective(coef, intercept, Phi, y, lam=0.0, l2=0.0, weight=None, factor=1.0, offset=0.0):
    """sum_i s_i [ log sum_c exp F_ic - F_i,y(i) ] + lam sum c |W| + l2/2 sum c W^2; y are positions of classes."""
    F = scores(coef, intercept, Phi, offset)
    weight = np.ones(len(y)) if weight is None else weight
    loss = logsumexp(F, axis=1) - F[np.arange(len(y)), y]
    penalty = lam * np.abs(coef) + l2 / 2 * np.square(coef)
    return float(weight @ loss + (factor * penalty).sum())


def peak_of(action):
    """Bytes that were allocated at once."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
