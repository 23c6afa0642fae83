"""What a convex fit claims holds for the weights that it returns: objective, gap and status, whatever the options."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_iris

from smaller import JFSCL, LRVM, RMLR, SBMLR, SMLR, SMLRCV, JeffreysClassifier, RVMClassifier, path
from smaller.design import as_design, dense
from smaller.likelihoods import Multinomial
from smaller.objective.posterior import Posterior
from smaller.priors import ElasticNet, Laplace, Normal
from smaller.solvers import SOLVERS
from smaller.solvers.l1.newton import newton
from smaller.solvers.solution import History

X, y = load_iris(return_X_y=True)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def loss(scores, labels, weight=1.0):
    """Negative log-likelihood of scores of all classes, large ones too."""
    own = scores[np.arange(len(labels)), labels]
    return float((weight * (logsumexp(scores - own[:, None], axis=1))).sum())


def scores_of(model, X, offset):
    F = X @ model.coef_.T + model.intercept_
    if F.shape[1] == 1:
        F = np.column_stack([np.zeros(len(F)), F + offset[:, None]])
        return F
    return F + offset


# -- Large offsets


def test_an_offset_of_a_thousand_nats_does_not_hide_the_optimum():
    inputs, labels, offset = np.array([[0.9], [0.3], [0.5]]), np.array([0, 1, 0]), np.array([958.0, -1525.0, 1130.0])
    with pytest.warns(UserWarning, match="kept no column"):
        model = SMLR(lam=5.0).fit(inputs, labels, offset=offset)
    assert model.status_ == "converged"
    assert model.objective_ == pytest.approx(2655.0, rel=1e-9)
    assert model.objective_ == pytest.approx(loss(scores_of(model, inputs, offset), labels), rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 300.0, 1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
def test_offsets_of_any_size_end_with_the_objective_of_the_weights_returned(size, parametrization):
    offset = size * np.random.default_rng(0).standard_normal((150, 3))
    for model, penalty in (
        (SMLR(parametrization=parametrization), lambda W: np.abs(W).sum()),
        (RMLR(parametrization=parametrization), lambda W: (W**2).sum() / 2),
    ):
        model.fit(X, y, offset=offset)
        value = loss(scores_of(model, X, offset), y) + penalty(model.coef_)
        assert model.status_ == "converged"
        assert model.objective_ == pytest.approx(value, rel=1e-9)
        assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_sbmlr_takes_large_offsets(size):
    offset = size * np.random.default_rng(1).standard_normal((150, 3))
    model = SBMLR().fit(X, y, offset=offset)
    unit = X.std(axis=0) if model.standardize else 1.0
    value = loss(scores_of(model, X, offset), y) + model.lam_ * float(np.abs(model.coef_ * unit).sum())
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_offsets_that_decide_every_class_leave_an_objective_of_nothing():
    offset = np.where(y[:, None] == np.arange(3), 1e4, 0.0)
    with pytest.warns(UserWarning, match="kept no column"):
        model = SMLR().fit(X, y, offset=offset)
    assert model.status_ == "converged"
    assert model.objective_ == 0.0
    assert model.dual_gap_ <= 1e-200


@pytest.mark.parametrize("model", [SMLR(), RVMClassifier(), JeffreysClassifier(), LRVM(lam=1.0), JFSCL(lam=1.0)])
def test_an_offset_without_digits_for_the_weights_is_refused(model):
    with pytest.raises(ValueError, match="offset must not exceed"):
        model.fit(X, y, offset=np.full((150, 3), 1e13))
    assert vars(model) == vars(clone(model))


# -- The one exit of all solvers


def posterior(l1, offset=None):
    Y = np.asfortranarray(y[:, None] == np.arange(3), dtype=float)
    prior = Laplace(1.0) if l1 else Normal(1.0)
    return Posterior(as_design(np.asfortranarray(X), True), Y, Multinomial(False), prior, offset=offset)


@pytest.mark.parametrize("offset", [False, True])
def test_scores_that_do_not_belong_to_the_weights_certify_nothing(offset):
    rng = np.random.default_rng(0)
    objective = posterior(True, np.asfortranarray(rng.standard_normal((150, 3))) if offset else None)
    best = newton(objective, objective.start(), 1e-9, 100)
    W = np.zeros_like(best.weights)
    found = newton(objective, W, 1e-6, 100, F=best.scores.copy(order="F"))
    assert found.objective == pytest.approx(objective.value(found.weights), rel=1e-12)
    assert found.objective == pytest.approx(best.objective, rel=1e-6) or found.status.name != "CONVERGED"


@pytest.mark.parametrize("l1", [True, False])
@pytest.mark.parametrize("solver", ["newton", "bound", "component-wise", "component-wise-greedy"])
def test_every_solver_reads_its_certificate_from_the_weights_alone(solver, l1):
    solve, _ = SOLVERS[solver]
    objective = posterior(l1)
    found = solve(objective, objective.start(), 1e-3, 2000)
    fresh = posterior(l1).at(found.weights)
    assert found.status.name == "CONVERGED"
    assert found.objective == pytest.approx(fresh.value, rel=1e-13)
    assert found.gap == pytest.approx(fresh.gap, rel=1e-6, abs=1e-12)  # a difference, relative to the objective


@pytest.mark.parametrize("l1", [0.0, 1e-12])
def test_a_large_gap_counts_what_is_left_of_the_free_weights_too(l1):
    """Both rows are certain of their class, and an intercept of 1 leaves a third of the objective, a gradient of 2e-10.

    The ridge alone leaves a gap of 2 %: that does not excuse the certificate from looking at the intercept.
    """
    design, labels = as_design(np.array([[1.0], [0.0]]), intercept=True), np.array([[0.0], [1.0]])
    offset = np.array([[-23.0], [23.0]])
    objective = Posterior(design, labels, Multinomial(True), ElasticNet(l1, 2.5e-9), offset=offset)
    W = np.array([[0.0], [1.0]])
    least = objective.value(np.zeros((2, 1)))
    point = objective.at(W)
    assert point.value - least <= point.gap * point.value
    if l1:
        found = newton(objective, W, 1e-3, 0)
        assert found.weights == pytest.approx(W)
        assert found.objective - least <= found.gap * found.objective


@pytest.mark.parametrize("l1", [0.0, 1e-12])
def test_free_weights_that_may_change_much_of_the_objective_certify_nothing(l1):
    """The gradient of the first column is 2e-10 of its largest, but that is a multiple of the objective."""
    design, labels = as_design(np.array([[1.0, 0.0], [1.0, 0.5]])), np.array([[0.0], [1.0]])
    offset = np.array([[-23.0], [23.0]])
    objective = Posterior(design, labels, Multinomial(True), ElasticNet(l1, 1e-9, [0.0, 1.0]), offset=offset)
    W = np.array([[1.0], [0.1]])
    assert objective.at(W).gap == np.inf
    if l1:
        assert newton(objective, W, 1e-3, 0).gap == np.inf


@pytest.mark.parametrize("max_iter", [1, 3, None])
def test_the_objectives_of_a_path_are_those_of_its_weights_also_where_it_stops_early(max_iter):
    """Of four classes a row may shift between its two middle values, which lowers the penalty of unfinished weights."""
    rng = np.random.default_rng(3)
    inputs, labels = rng.standard_normal((40, 6)), np.arange(40) % 4
    offset = 50 * rng.standard_normal((40, 4))
    for given in (None, offset):
        found = path(inputs, labels, 8, offset=given, tol=1e-3, max_iter=max_iter)
        for i, W in enumerate(found.coefs):
            F = inputs @ W.T + found.intercepts[i] + (0.0 if given is None else given)
            value = loss(F, labels) + found.lams[i] * np.abs(W).sum()
            assert found.objectives[i] == pytest.approx(value, rel=1e-9)


# -- Cross-validation with options


@pytest.mark.parametrize(
    "options",
    [{"l2": 1.0}, {"penalty_factor": [0, 1, 1, 1]}, {"l2": 0.1, "parametrization": "reference"}],
)
@pytest.mark.parametrize("offset", [None, 1.0])
def test_smlrcv_takes_every_option(options, offset):
    given = None if offset is None else offset * np.random.default_rng(0).standard_normal((150, 3))
    model = SMLRCV(lams=10, cv=3, **options).fit(X, y, offset=given)
    assert model.status_ == "converged"
    factor = np.array(options.get("penalty_factor", [1, 1, 1, 1]))
    F = X @ model.coef_.T + model.intercept_ + (0.0 if given is None else given)
    penalty = model.lam_ * np.abs(model.coef_) + options.get("l2", 0.0) * model.coef_**2 / 2
    assert model.objective_ == pytest.approx(loss(F, y) + float((penalty * factor).sum()), rel=1e-9)


def test_smlrcv_takes_a_table_that_is_not_copied_by_columns(monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_BYTES", 0)
    assert SMLRCV(lams=10, cv=3).fit(X, y).status_ == "converged"


# -- Columns and weights that try the arithmetic


def test_a_constant_column_of_a_sparse_matrix_has_no_spread():
    """What is not stored weighs nothing, not what rounding leaves of a sum of weights."""
    rng = np.random.default_rng(5)
    columns, s = np.column_stack([np.full(30, 3.3), rng.standard_normal(30)]), rng.gamma(1.0, size=30)
    assert as_design(sparse.csr_array(columns)).moments(s).spread[0] <= 1e-28 * 3.3**2 * s.sum()


def test_standardised_ridge_is_the_same_on_sparse_and_dense_columns():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        inputs, s = rng.standard_normal((30, 4)), rng.gamma(1.0, size=30)
        inputs[:, 0] = 3.3
        labels = np.arange(30) % 3
        fits = [
            RMLR(standardize=True, penalty_factor=[1, 0, 1, 1]).fit(each, labels, s).objective_
            for each in (inputs, sparse.csr_array(inputs))
        ]
        assert fits[1] == pytest.approx(fits[0], rel=1e-9)


@pytest.mark.parametrize("Model", [SMLR, RMLR])
@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array, lambda A: A[::2]])
def test_inputs_whose_squares_overflow_are_refused(Model, make):
    labels = y if make(X).shape[0] == 150 else y[::2]
    with pytest.raises(ValueError, match="divide them by a constant"):
        Model().fit(make(X * 1e154), labels)


def test_weights_whose_sums_overflow_are_refused_and_tiny_ones_are_taken():
    with pytest.raises(ValueError, match="sample_weight must sum to at most"):
        SMLR().fit(X, y, np.full(150, 1e300))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        assert SMLR().fit(X, y, np.full(150, 1e-300)).status_ == "converged"


@pytest.mark.parametrize("scale", [1e-160, 1e-300])
def test_a_kernel_of_inputs_that_hardly_vary_does_not_overflow(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        SMLR(basis="rbf").fit(X * scale, y)


def test_a_free_column_that_rules_out_a_class_for_some_samples_has_no_optimum_to_converge_to():
    rng = np.random.default_rng(0)
    free = np.repeat([1.0, 0.0], 20)
    inputs = np.column_stack([free, rng.standard_normal(40)])
    labels = np.where(free > 0, np.arange(40) % 2, np.arange(40) % 3)  # the third class only where the column is 0
    model = SMLR(lam=1.0, penalty_factor=[0.0, 1.0]).fit(inputs, labels)
    assert model.status_ == "separable"


def test_the_evidence_of_a_ridge_knows_columns_without_a_penalty():
    model = RMLR(lam="evidence", penalty_factor=[0.0, 1.0, 1.0, 1.0]).fit(X, y)
    assert model.status_ == "converged"
    assert np.isfinite(model.evidence_)


def test_every_point_of_a_path_with_large_offsets_is_reached():
    rng = np.random.default_rng(3)
    inputs, labels = rng.standard_normal((60, 5)), rng.integers(0, 4, 60)
    found = path(inputs, labels, lams=8, offset=1e6 * rng.standard_normal((60, 4)))
    assert found.dual_gaps.max() <= 1e-5  # what rounding leaves of 1e-6 where scores are millions


def test_the_objective_is_that_of_weights_whose_common_shift_was_taken_out():
    """Free weights of a symmetric softmax may drift together so far that scores lose their digits."""
    objective = posterior(True)
    free = Posterior(objective.design, objective.Y, objective.likelihood, ElasticNet(1.0, 0.0, [0.0, 1.0, 1.0, 1.0]))
    W = newton(free, free.start(), 1e-9, 100).weights
    W[0] += 1e15
    history = History(free)
    history.note(free.at(W))
    solution = history.solution(free.at(W), 1e-6, 1)
    assert abs(solution.weights[0].sum()) <= 1.0
    assert solution.objective == pytest.approx(free.value(solution.weights), rel=1e-12)


def test_free_weights_do_not_drift_together_while_they_are_fitted():
    objective = posterior(True)
    free = Posterior(objective.design, objective.Y, objective.likelihood, ElasticNet(1.0, 0.0, [0.0, 1.0, 1.0, 1.0]))
    W = free.start()
    W[0] += 1e9
    found = newton(free, W, 1e-9, 100)
    assert np.abs(found.weights[0]).max() < 100
    assert found.objective == pytest.approx(newton(free, free.start(), 1e-9, 100).objective, rel=1e-9)


def test_columns_without_a_penalty_that_are_nearly_collinear_are_fitted_to_the_end():
    """A multiple in single precision differs by rounding: Newton's matrix does not know the direction, QR does."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((70, 4)).astype(np.float32)
    X = np.column_stack([A, A[:, :2] * np.float32(3.1), rng.standard_normal((70, 2)).astype(np.float32)])
    y, factor = rng.integers(0, 3, 70), np.repeat([0.0, 1.0], [6, 2])
    model = SMLR(5.0, penalty_factor=factor, parametrization="reference").fit(X, y)
    assert model.status_ == "converged"
    whole = np.column_stack([X, np.ones(70)]).astype(np.float64)
    Q, left = np.linalg.qr(whole[:, [*range(6), 8]])[0], np.eye(3)[y] - model.predict_proba(X)
    assert np.abs(Q.T @ left).max() < 1e-6  # the optimum, whatever the basis of these columns: 0.1 and more before


@pytest.mark.parametrize("size", [300.0, 700.0, 708.0, 740.0, 1e6])
def test_intercepts_of_rows_that_are_certain_of_a_wrong_class_take_a_step_that_is_a_number(size):
    """Curvatures of 1e-308 overflow where a gradient is divided by them."""
    Y, n = np.eye(3)[[0, 1, 2, 0]], 4
    offset = size * np.eye(3)[[1, 2, 0, 1]]
    design = as_design(np.arange(8.0).reshape(n, 2), intercept=True)
    objective = Posterior(design, Y, Multinomial(False), Laplace(1.0), None, offset)
    point = objective.evaluate(np.zeros((3, 3)))
    assert np.isfinite(point.value)
    assert point.value <= objective.value(np.zeros((3, 3)))
