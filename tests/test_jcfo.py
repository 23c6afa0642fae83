"""Kernel classifiers that scale their inputs (Krishnapuram et al. 2004): derivatives, optimality, what is kept."""

import numpy as np
import pytest
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import log_ndtr, ndtr

from smaller import JCFO, load, save
from smaller.basis import Kernel
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.objective.scaled_kernels import ScaledPosterior
from smaller.solvers.type1.scalings import _hessian, scalings
from smaller.synthetic import make_gaussians

KERNELS = {
    "rbf": Kernel("rbf"),
    "linear": Kernel("linear"),
    "poly": Kernel("poly", degree=2, coef0=0.5),
    "poly of odd degree": Kernel("poly", degree=3, coef0=-0.5),
}


def curved(n=60, p=4, seed=0):
    """The class depends on the square of the first input and on the second; the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, (X[:, 0] ** 2 + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n) > 0.6).astype(int)


def kernel_values(X, C, theta, kernel="rbf"):
    """Written down once more: squared differences or products, each input with its scaling."""
    if kernel == "rbf":
        return np.exp(-((X[:, None, :] - C[None]) ** 2 @ theta))
    return (X * theta) @ C.T


def value(model, X, y, lam, lam_theta, unit, weight=1.0):
    """The objective of the docstring, from a fitted model of two classes."""
    F = kernel_values(X, model.basis_.centers_, model.theta_[0]) @ model.coef_[0] + model.intercept_[0]
    loss = -np.sum(weight * log_ndtr(np.where(y > 0, F, -F)))
    return loss + lam * np.abs(model.coef_).sum() + lam_theta * (unit**2 * model.theta_[0]).sum()


def posed(kernel, X, y, lam=0.3, lam_theta=0.2, weight=None, offset=None, intercept=True):
    weight = np.ones(len(y)) if weight is None else weight
    kernel = kernel.fit(X, weight)
    return ScaledPosterior(kernel, X, kernel.centers_, (y > 0).astype(float), weight, offset, lam, lam_theta, intercept)


def never_rises(history):
    values = np.array([step.objective for step in history])
    return (np.diff(values) <= 1e-12 * np.maximum(1.0, np.abs(values[1:]))).all()


# -- the objective


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_are_the_derivatives_of_the_loss(name):
    """In weights, intercept and scalings, at a place like any other, with sample weights and offsets."""
    X, y = curved(25)
    rng = np.random.default_rng(1)
    objective = posed(KERNELS[name], X, y, weight=rng.uniform(0.5, 2, 25), offset=rng.normal(size=25))
    rows = np.array([1, 4, 9, 20])
    at = np.concatenate([rng.normal(size=4), [0.3], rng.uniform(0.1, 0.6, 4)])

    def loss(v):
        return objective.slopes(v[5:], rows, v[:4], v[4]).loss

    slopes = objective.slopes(at[5:], rows, at[:4], at[4])
    assert_allclose([*slopes.w, slopes.b, *slopes.theta], approx_fprime(at, loss, 1e-7), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_inputs_that_stay_sparse_have_the_same_derivatives(name, monkeypatch):
    """More inputs than kernels, and too many for a dense copy: block by block."""
    X, y = curved(20, p=30)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    rows, w, theta = np.arange(5), np.linspace(-1, 1, 5), np.linspace(0.0, 0.1, 30)
    dense = posed(KERNELS[name], X, y).slopes(theta, rows, w, 0.1)
    monkeypatch.setattr("smaller.objective.scaled_kernels.BLOCK_BYTES", 2000)
    objective = posed(KERNELS[name], sparse.csr_array(X), y)
    assert sparse.issparse(objective.X)
    for found, expected in zip(objective.slopes(theta, rows, w, 0.1), dense, strict=True):
        assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_far_from_the_origin_derivatives_keep_their_digits(shift):
    X, y = curved(25)
    rows, w = np.arange(5), np.linspace(-1, 1, 5)
    here = posed(Kernel(), X, y).slopes(np.full(4, 0.3), rows, w, 0.1)
    there = posed(Kernel(), X + shift, y).slopes(np.full(4, 0.3), rows, w, 0.1)
    assert_allclose(there.theta, here.theta, rtol=1e-7)


def test_the_violation_is_zero_only_where_no_weight_and_no_scaling_can_gain():
    X, y = curved()
    objective = posed(Kernel(), X, y)
    found = scalings(objective, np.full(4, 0.25), 1e-6, 100)
    rows = np.flatnonzero(found.weights[:-1, 0])
    theta, w, b = found.extra["theta"], found.weights[rows, 0], found.weights[-1, 0]
    assert objective.at(theta, rows, w, b).violation <= 1e-6
    assert objective.at(1.01 * theta, rows, w, b).violation > 1e-4
    assert objective.at(theta, rows, 1.01 * w, b).violation > 1e-4
    assert objective.at(theta, rows, w, b + 0.01).violation > 1e-5
    assert objective.at(theta, rows[1:], w[1:], b).violation > 1e-2  # a zero that wants a value


def reference():
    data, found = case("jcfo_toy")
    return data["X"], data["y"], found


@pytest.mark.parametrize("start", [1.0, 0.3, 0.1])
def test_reference_case_from_three_starts(start):
    """There the constant is penalised: held at its optimum, as an offset. Its kernel has theta / 2."""
    X, y, case = reference()
    run = case["runs"][f"joint from (beta*(theta0), theta0={start})"]
    constant, *beta = run["beta"]
    offset = np.full(len(y), constant)
    objective = posed(Kernel(), X, y, case["g1"], 2 * case["g2"], offset=offset, intercept=False)
    found = scalings(objective, np.full(4, start / 2), 1e-7, 100)
    assert found.objective + case["g1"] * abs(constant) == pytest.approx(run["J"], abs=1e-9)
    assert_allclose(2 * found.extra["theta"], run["theta"], atol=1e-6)
    w = np.zeros(len(y))
    w[objective.kernel.center_index_] = found.weights[:, 0]
    assert_allclose(w, beta, atol=5e-6)


def test_reference_case_value_and_conditions_at_the_published_point():
    X, y, case = reference()
    run = case["runs"]["joint from (beta*(theta0), theta0=1.0)"]
    objective = posed(Kernel(), X, y, case["g1"], 2 * case["g2"])
    beta = np.array(run["beta"][1:])[objective.kernel.center_index_]
    rows = np.flatnonzero(beta)
    theta, b = np.array(run["theta"]) / 2, run["beta"][0]
    point = objective.at(theta, rows, beta[rows], b)
    assert point.value + case["g1"] * b == pytest.approx(run["J"], abs=1e-10)
    assert objective.slopes(theta, rows, beta[rows], b).b == pytest.approx(-case["g1"], abs=1e-5)


# -- the fit


@pytest.mark.parametrize("basis", ["rbf", Kernel("poly", degree=2), Kernel("linear")], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_fits_converge_and_never_raise_the_objective(seed, basis):
    X, y = curved(seed=seed)
    model = JCFO(0.5, 1.0, basis=basis).fit(X, y)
    assert model.status_ == "converged"
    assert model.violation_ <= model.tol
    assert never_rises(model.history_)


def test_the_objective_is_the_one_of_the_docstring_and_random_moves_only_raise_it():
    X, y = curved()
    X = X * [1.0, 10.0, 0.1, 1.0] + 3.0
    model = JCFO(0.4, 2.0).fit(X, y)
    unit = X.std(axis=0)
    best = value(model, X, y, 0.4, 2.0, unit)
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    rng = np.random.default_rng(0)
    theta, coef = model.theta_.copy(), model.coef_.copy()
    for _ in range(100):
        model.theta_ = np.maximum(theta + 0.02 * rng.normal(size=4) * theta.max() * (rng.random(4) < 0.5), 0)
        model.coef_ = coef + 0.02 * rng.normal(size=coef.shape) * (rng.random(coef.shape) < 0.1)
        assert value(model, X, y, 0.4, 2.0, unit) >= best - 1e-9


def test_curved_boundaries_are_found_and_noise_is_left_out():
    X, y = curved(200, p=8)
    model = JCFO(5.0, 50.0).fit(X, y)
    assert_array_equal(model.get_support(indices=True), [0, 1])
    assert model.score(*curved(1000, p=8, seed=1)) > 0.85
    assert len(model.relevance_vectors_) == len(model.support_) < 15


def test_centres_that_agree_in_all_inputs_seen_are_one_kernel():
    """Of codes, only a few of which matter: otherwise one kernel's weight would be scattered over many."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(150, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(150) > 2).astype(int)
    model = JCFO(2.0, 50.0).fit(X, y)
    seen = model.relevance_vectors_[:, model.get_support()]
    assert len(np.unique(seen, axis=0)) == len(model.support_) < 9


def test_of_forty_inputs_the_two_that_matter_are_found():
    draw, new = make_gaussians(200, 40, random_state=0), make_gaussians(1000, 40, random_state=1)
    model = JCFO(2.0, 100.0).fit(draw.data, draw.target)
    assert_array_equal(model.get_support(indices=True), [0, 1])
    assert model.score(new.data, new.target) > 0.8


def test_a_fit_that_gives_everything_up_is_tried_again_from_nearer_to_zero(monkeypatch):
    """The start has a price of its own, 300 here: keeping nothing costs 139, and what there is to find, 126."""
    X, y = curved(200, p=8)
    model = JCFO(2.0, 300.0).fit(X, y)
    assert_array_equal(model.get_support(indices=True), [0, 1])
    monkeypatch.setattr("smaller.models.jcfo.NEARER", 1.0)
    with pytest.warns(EmptyModelWarning):
        assert JCFO(2.0, 300.0).fit(X, y).objective_ > model.objective_ + 10


def test_scores_and_probabilities_are_what_the_formula_says():
    X, y = curved()
    model = JCFO(0.5, 1.0).fit(X, y)
    F = kernel_values(X, model.basis_.centers_, model.theta_[0]) @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X), F, atol=1e-10)
    assert_allclose(model.predict_proba(X)[:, 1], ndtr(F), atol=1e-10)
    assert_array_equal(model.predict(X), F > 0)


def test_several_classes_are_one_against_the_rest_with_scalings_of_their_own():
    X, y = clusters(m=3, spread=0.5)
    model = JCFO(0.5, 1.0).fit(X, y)
    assert model.theta_.shape == (3, 6)
    for j in range(3):
        alone = JCFO(0.5, 1.0).fit(X, y == j)
        assert_allclose(model.theta_[j], alone.theta_[0], atol=1e-10)
        assert_allclose(model.decision_function(X)[:, j], alone.decision_function(X), atol=1e-9)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(model.get_support(), model.theta_.any(axis=0))


# -- invariances


def test_units_do_not_matter_unless_asked_to():
    X, y = curved()
    unit = np.array([1.0, 100.0, 0.01, 5.0])
    model, other = JCFO(0.5, 1.0, tol=1e-7).fit(X, y), JCFO(0.5, 1.0, tol=1e-7).fit(X * unit - 7.0 * unit, y)
    assert_allclose(other.theta_ * unit**2, model.theta_, rtol=1e-4, atol=1e-6)
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-9)
    raw = JCFO(0.5, 1.0, standardize=False, tol=1e-7)
    assert raw.fit(X * 10, y).objective_ != pytest.approx(raw.fit(X, y).objective_, rel=1e-3)


def test_a_weight_is_a_repetition():
    X, y = curved()
    times = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = JCFO(0.5, 1.0, tol=1e-7).fit(X, y, sample_weight=times)
    repeated = JCFO(0.5, 1.0, tol=1e-7).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-5)
    assert_allclose(weighted.theta_, repeated.theta_, atol=1e-5)


def test_the_order_of_rows_and_the_names_of_classes_do_not_matter():
    X, y = curved()
    order = np.random.default_rng(0).permutation(len(y))
    model = JCFO(0.5, 1.0, tol=1e-7).fit(X, y)
    other = JCFO(0.5, 1.0, tol=1e-7).fit(X[order], np.array(["no", "yes"])[y[order]])
    assert_allclose(other.predict_proba(X), model.predict_proba(X), atol=1e-6)
    turned = JCFO(0.5, 1.0, tol=1e-7).fit(X, 1 - y)
    assert_allclose(turned.predict_proba(X)[:, ::-1], model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("basis", ["rbf", Kernel("linear")], ids=str)
def test_sparse_and_single_precision_inputs_give_the_same(basis):
    X, y = curved()
    X = np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32).astype(np.float64)
    model = JCFO(0.5, 1.0, basis=basis, tol=1e-7).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_matrix, np.float32):
        Z = form(X)
        other = JCFO(0.5, 1.0, basis=basis, tol=1e-7).fit(Z, y)
        assert_allclose(other.theta_, model.theta_, rtol=1e-3, atol=1e-5)
        assert_allclose(other.predict_proba(Z), model.predict_proba(X), atol=1e-4)
        assert other.transform(Z).shape == (len(y), model.get_support().sum())


def test_an_offset_is_part_of_the_scores():
    X, y = curved()
    known = np.where(X[:, 0] ** 2 > 0.8, 2.0, -2.0)
    model = JCFO(0.5, 1.0).fit(X, y, offset=known)
    assert_allclose(model.decision_function(X, offset=known), model.decision_function(X) + known)
    assert model.get_support().sum() <= JCFO(0.5, 1.0).fit(X, y).get_support().sum()


# -- what the inputs are called, and odd ends


def test_names_and_columns_of_the_inputs_kept():
    pd = pytest.importorskip("pandas")
    X, y = curved(150, p=5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = JCFO(1.0, 10.0).set_output(transform="pandas").fit(frame, y)
    kept = model.get_support()
    assert list(model.get_feature_names_out()) == [name for name, keep in zip("abcde", kept, strict=True) if keep]
    assert list(model.transform(frame).columns) == list(model.get_feature_names_out())


def test_under_strong_priors_nothing_is_kept_and_the_class_frequencies_are_predicted():
    X, y = curved()
    with pytest.warns(EmptyModelWarning, match="kept no column"):
        model = JCFO(1e3, 1.0).fit(X, y)
    assert not model.get_support().any()
    assert not model.theta_.any()
    assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=1e-6)
    assert model.transform(X).shape == (len(y), 0)


def test_without_an_intercept_the_score_of_nothing_is_zero():
    X, y = curved()
    model = JCFO(0.5, 1.0, fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0
    far = np.full((1, 4), 1e6)
    assert model.decision_function(far) == pytest.approx(0.0) or not model.theta_.all()


def test_a_constant_input_is_never_kept():
    X, y = curved()
    X[:, 2] = 4.2
    assert not JCFO(0.5, 1.0).fit(X, y).get_support()[2]


def test_too_few_rounds_are_said():
    X, y = clusters(m=2)
    with pytest.warns(ConvergenceWarning, match="JCFO: the fit stopped after 1 iterations"):
        model = JCFO(0.05, 0.01, max_iter=1, tol=1e-12).fit(X, y)
    assert model.status_ == "unsettled"


def test_differences_of_a_scaling_next_to_zero_do_not_leave_its_bound():
    """A root is taken of scalings: below zero there is nothing to evaluate."""

    def value(v):
        assert v[0] >= 0
        return v @ v, 2 * v

    v = np.array([1e-12, -1.0])
    H = _hessian(value, v, np.arange(2), np.array([True, False]))
    assert_allclose(H, 2 * np.eye(2), rtol=1e-6)


@pytest.mark.parametrize("basis", ["linear", "quadratic", "precomputed", Kernel(lambda A, B: A @ B.T)])
def test_bases_without_inputs_to_scale_are_refused(basis):
    X, y = curved()
    with pytest.raises(ValueError, match="JCFO scales the inputs of a kernel"):
        JCFO(basis=basis).fit(X, y)


def test_a_stored_model_predicts_the_same_and_so_does_a_sparsified_one(tmp_path):
    X, y = clusters(m=3, spread=0.5)
    model = JCFO(0.5, 1.0).fit(X, y)
    save(model, tmp_path / "model.smaller")
    again = load(tmp_path / "model.smaller")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.theta_, model.theta_)
    P = model.predict_proba(X)
    assert_allclose(model.sparsify().predict_proba(X), P, atol=1e-14)


def test_a_failed_fit_leaves_nothing_behind():
    X, y = curved()
    model = JCFO(0.5, 1.0)
    with pytest.raises(ValueError, match="two classes"):
        model.fit(X, np.zeros(len(y)))
    assert vars(model).keys() == JCFO().get_params(deep=False).keys()
