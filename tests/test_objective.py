"""Derivatives by finite differences, and a certificate that bounds what it claims to bound."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from smaller.design import as_design
from smaller.likelihoods import Gaussian, Multinomial
from smaller.objective.posterior import Posterior
from smaller.priors import ElasticNet, Laplace, Normal
from smaller.solvers.l1.newton import newton
from smaller.solvers.l1.warm_path import null_point
from smaller.solvers.smooth import settle

LIKELIHOODS = {"symmetric": Multinomial(False), "reference": Multinomial(True), "gaussian": Gaussian(0.7)}


def posterior(likelihood, prior, *, n=40, d=6, k=3, intercept=True, kind="dense", offset=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.3, 3, d) + 1
    if kind == "sparse":
        X[rng.random((n, d)) < 0.5] = 0
    Phi = sparse.csr_array(X) if kind == "sparse" else X
    if isinstance(likelihood, Gaussian):
        Y = rng.standard_normal((n, k))
    else:
        Y = (rng.integers(0, k + likelihood.reference, n)[:, None] == np.arange(k)).astype(float)
    shift = rng.standard_normal((n, k)) if offset else None
    return Posterior(as_design(Phi, intercept), Y, likelihood, prior, rng.uniform(0.5, 2, n), shift)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_gradient_and_hessian_are_the_derivatives_of_the_value(likelihood, kind):
    objective = posterior(likelihood, Normal(0.3), kind=kind, offset=True)
    rng = np.random.default_rng(1)
    W = 0.3 * rng.standard_normal(objective.shape)
    D = rng.standard_normal(objective.shape)
    h = 1e-5
    slope = (objective.value(W + h * D) - objective.value(W - h * D)) / (2 * h)
    np.testing.assert_allclose((objective.gradient(W) * D).sum(), slope, rtol=1e-7)
    curve = (objective.gradient(W + h * D) - objective.gradient(W - h * D)) / (2 * h)
    H = objective.hessian(objective.at(W).P, np.arange(objective.shape[0]))
    np.testing.assert_allclose((H @ D.T.ravel()).reshape(objective.k, -1).T, curve, rtol=1e-5, atol=1e-6)


def test_another_prior_on_the_same_sample_is_an_objective_made_anew():
    strong, weak = ElasticNet(2.0, 0.0, np.array([0, 1, 1, 1, 1, 1])), ElasticNet(0.1, 0.3)
    objective = posterior(LIKELIHOODS["symmetric"], strong, offset=True)
    W = np.random.default_rng(1).standard_normal(objective.shape)
    objective.at(W)  # fills what is computed once
    other, fresh = objective.with_prior(weak), posterior(LIKELIHOODS["symmetric"], weak, offset=True)
    assert other.sample is objective.sample
    assert (other.free != objective.free).any()
    for name in ("free", "free_places", "ridged", "scale", "l1", "l2"):
        np.testing.assert_array_equal(getattr(other, name), getattr(fresh, name))
    for here, there in zip(other.at(W), fresh.at(W), strict=True):
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_curvature_acts_as_its_blocks(likelihood):
    objective = posterior(likelihood, Laplace(1.0))
    rng = np.random.default_rng(2)
    F, E = rng.standard_normal((2, *objective.Y.shape))
    P, _ = likelihood.fit(np.asfortranarray(F), objective.Y, objective.s)
    k = objective.k
    blocks = [sum(likelihood.curvature(P, objective.s, a, b) * E[:, b] for b in range(k)) for a in range(k)]
    np.testing.assert_allclose(likelihood.curve(P, objective.s, E), np.column_stack(blocks), atol=1e-12)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("prior", [Laplace(1.0), Normal(0.5), ElasticNet(0.8, 0.2), Laplace(1.0, [0, 1, 2, 1, 0.5, 1])])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_gap_bounds_the_distance_to_the_optimum_from_anywhere(likelihood, prior, offset):
    """Weak duality: F(W) - gap F(W) <= min F, and the gap closes at the optimum."""
    objective = posterior(likelihood, prior, offset=offset)
    best = newton(objective, np.zeros(objective.shape), 1e-12, 200)
    assert best.gap <= 1e-11
    rng = np.random.default_rng(3)
    for size in (0.0, 0.01, 0.3):
        W = best.weights + size * rng.standard_normal(objective.shape) * (best.weights != 0)
        point = settle(objective, W, 1e-12)
        assert point.value - best.objective <= point.gap * abs(point.value) + 1e-10 * abs(point.value)
        if size == 0.3:
            assert point.gap > 1e-5


@pytest.mark.parametrize("prior", [Laplace(2.0), ElasticNet(1.0, 0.5)])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_optimum_is_that_of_an_independent_solver(likelihood, prior):
    """L-BFGS-B on the split W = U - V, U, V >= 0, knows nothing of working sets."""
    objective = posterior(likelihood, prior)
    size = np.prod(objective.shape)

    def split(z):
        U, V = z[:size].reshape(objective.shape), z[size:].reshape(objective.shape)
        point = objective.at(U - V)
        value = (
            point.value - objective.penalty(U - V) + (objective.l1 * (U + V) + objective.l2 * (U - V) ** 2 / 2).sum()
        )
        return value, np.concatenate([(point.G + objective.l1).ravel(), (-point.G + objective.l1).ravel()])

    bounds = [(0, None)] * (2 * size)
    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    found = minimize(split, np.zeros(2 * size), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    ours = newton(objective, np.zeros(objective.shape), 1e-10, 200)
    np.testing.assert_allclose(ours.objective, found.fun, rtol=1e-8)


def test_no_certificate_is_given_where_the_free_columns_are_not_fitted():
    """The dual point is infeasible there: the honest bound is infinite."""
    objective = posterior(Multinomial(False), Laplace(1.0))
    W = np.zeros(objective.shape)
    assert objective.gap(W) == np.inf
    assert np.isfinite(settle(objective, W, 1e-6).gap)


@pytest.mark.parametrize("factor", [None, [1, 1, 1, 0, 2, 0.5], [0, 0, 1, 1, 1, 1]])
@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_largest_strength_is_where_the_first_weight_appears(likelihood, factor):
    """At the joint optimum of everything unpenalised, math: lam_max = max |G| / c."""
    objective = posterior(likelihood, Laplace(1.0, factor))
    largest = objective.largest_strength(null_point(objective))
    penalised = ~objective.free
    for strength, empty in ((1.0001 * largest, True), (0.999 * largest, False)):
        solved = newton(objective.with_prior(Laplace(strength, factor)), np.zeros(objective.shape), 1e-10, 200)
        assert (not solved.weights[penalised].any()) is empty


def test_moments_of_columns_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((500, 3))
    s = rng.uniform(0.5, 2, 500)
    near, far = (as_design(M).moments(s) for M in (X, X + 1e7))
    np.testing.assert_allclose(near.spread, far.spread, rtol=1e-6)
    thin = np.where(rng.random(X.shape) < 0.3, X + 5, 0)
    for dense, thinned in zip(
        as_design(thin, True).moments(s), as_design(sparse.csc_matrix(thin), True).moments(s), strict=True
    ):
        np.testing.assert_allclose(dense, thinned, rtol=1e-12)


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "make", [np.asfortranarray, np.ascontiguousarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_design_does_what_its_matrix_does(make, dtype, intercept, large, monkeypatch):
    """One protocol, whatever holds the numbers: against plain NumPy on the dense matrix."""
    if large:  # a matrix by rows stays so
        monkeypatch.setattr("smaller.design.sparse.LARGE_BYTES", 0)
    rng = np.random.default_rng(5)
    X = np.where(rng.random((30, 9)) < 0.4, rng.standard_normal((30, 9)), 0).astype(dtype)
    full = np.column_stack([X, np.ones(30)]) if intercept else X.astype(float)
    design = as_design(make(X), intercept)
    W = rng.standard_normal((full.shape[1], 2)) * (rng.random((full.shape[1], 1)) < 0.3)
    R, omega = rng.standard_normal((30, 2)), rng.random(30)
    rows = np.array([1, 4, full.shape[1] - 1])
    close = {"rtol": 1e-6 if dtype == np.float32 else 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(design.scores(W), full @ W, **close)
    np.testing.assert_allclose(design.pull(R), full.T @ R, **close)
    np.testing.assert_allclose(design.pull(R, rows), full[:, rows].T @ R, **close)
    np.testing.assert_allclose(design.gram(omega, rows), (full[:, rows].T * omega) @ full[:, rows], **close)
    np.testing.assert_allclose(design.gram(omega), (full.T * omega) @ full, **close)
    np.testing.assert_allclose(design.squares(R**2, full[0, :9]), ((full - full[0])[:, :9] ** 2).T @ R**2, **close)
    moments = design.moments(omega)
    mean = omega @ full / omega.sum()
    np.testing.assert_allclose(moments.mean, mean, **close)
    np.testing.assert_allclose(moments.spread, omega @ (full - mean) ** 2, **close)
    np.testing.assert_allclose(moments.mass, omega @ np.abs(full), **close)
    columns, where = design.storage(np.array([4, 1, 4]))
    stored = columns[0] if len(columns) == 1 else sparse.csc_array(columns, shape=(30, len(columns[2]) - 1)).toarray()
    np.testing.assert_array_equal(stored[:, where], X[:, [4, 1, 4]])
