"""SBMLR: a fixed point of the strength at a certified optimum; evidence; the ridge whose strength has most of it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference_cases import case
from scipy import sparse
from scipy.special import gammaln
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from smaller import RMLR, SBMLR, SMLR, EvidenceSearch, progress
from smaller.basis import Kernel
from smaller.design import as_design
from smaller.errors import ConvergenceWarning, EmptyModelWarning, Status
from smaller.likelihoods import Gaussian
from smaller.models.base import problem_of
from smaller.objective.posterior import Posterior
from smaller.priors import Normal
from smaller.solvers import null_point
from smaller.solvers.l1 import integrated as marginal
from smaller.solvers.l1 import start
from smaller.solvers.l1.integrated import criterion, fixed_point, representative, size, steepest
from smaller.solvers.l1.newton import newton
from smaller.solvers.ridge_evidence import marginal_evidence, ridge_evidence
from smaller.solvers.smooth import smooth
from smaller.solvers.solution import Solution


def posed(X, y, **options):
    """The objective of SBMLR, and a hundredth of its largest strength."""
    objective = problem_of(SBMLR(**options), X, y).objective
    return objective, 0.01 * objective.largest_strength(null_point(objective))


def texts(n=300, seed=0):
    """Counts of words of which most occur in one text only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    common = rng.poisson(0.3 + 0.7 * (np.arange(60) % 6 == y[:, None]))
    rare = sparse.csc_array((1 + rng.poisson(0.3, 5 * n), (np.arange(5 * n) % n, np.arange(5 * n))))
    return sparse.csr_array(sparse.hstack([common, rare])).astype(float), y


def noise(n=90, d=12, m=3, seed=11):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), np.arange(n) % m


def related(n=120, d=20, m=4, seed=0):
    """Few of many columns matter; an even number of classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, :4] @ rng.standard_normal((4, m)) * 2 + rng.gumbel(size=(n, m))).argmax(axis=1)
    return X, y


PROBLEMS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "cancer": load_breast_cancer(return_X_y=True),
    "four classes": related(seed=5),
}
problem = pytest.mark.parametrize("name", PROBLEMS)


# -- the fixed point


def test_words_of_one_text_only_count_once():
    X, y = texts()
    model, lean = SBMLR().fit(X, y), SBMLR().fit(X[:, :360], y)
    assert model.status_ in ("converged", "jump")
    assert_allclose(model.lam_, lean.lam_, rtol=1e-4)
    assert np.count_nonzero(model.coef_) == np.count_nonzero(lean.coef_) > 60
    assert model.support_.max() < 360


@problem
@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
def test_the_strength_is_what_the_weights_ask_for_at_a_certified_optimum(name, parametrization):
    """lam = N / sum |w| in standardised units to 1e-6, and SMLR at that strength is the same model."""
    X, y = PROBLEMS[name]
    model = SBMLR(parametrization=parametrization).fit(X, y)
    standardised = np.abs(model.coef_ * X.std(axis=0))
    assert_allclose(model.lam_, np.count_nonzero(model.coef_) / standardised.sum(), rtol=1e-6)
    assert model.dual_gap_ <= 1e-6
    smlr = SMLR(model.lam_, parametrization=parametrization, standardize=True, tol=1e-9).fit(X, y)
    assert_allclose(model.predict_proba(X), smlr.predict_proba(X), atol=1e-4)
    assert model.status_ == "converged"


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_the_algorithm_of_the_paper_ends_at_the_same_point(name):
    X, y = PROBLEMS[name]
    ours, theirs = (SBMLR(solver=solver).fit(X, y) for solver in ("fixed-point", "component-wise"))
    assert_allclose(ours.lam_, theirs.lam_, rtol=1e-5)
    assert np.array_equal(ours.coef_ != 0, theirs.coef_ != 0)
    assert_allclose(ours.coef_, theirs.coef_, atol=5e-3 * np.abs(ours.coef_).max())
    assert_allclose(ours.evidence_, theirs.evidence_, atol=1e-3)


def test_single_steps_never_raise_the_regularised_loss():
    """At the strength of each step; so M falls too while no weight comes or goes: lam S majorises N log S."""
    objective, lam = posed(*PROBLEMS["wine"])
    solution = steepest(objective, objective.start(), 1e-6, 20_000, lam)
    criteria = np.array(solution.extra["criteria"])
    assert_allclose(criteria[-1], criteria[-100:].min(), rtol=1e-9)
    assert criteria[-1] < criteria[0]


@problem
def test_the_plain_iteration_converges_at_the_rate_of_theory(name):
    """(lam^2 / N) g^T A^-1 g, g the signs and A the Hessian on the support: below 1 at a strict minimum of M."""
    X, y = PROBLEMS[name]
    objective, lam = posed(StandardScaler().fit_transform(X), y, parametrization="reference")
    found = fixed_point(objective, objective.start(), 1e-10, 200, lam)
    W, lam = found.weights, found.extra["lam"]
    active = (W != 0) | (objective.l1 == 0)
    P = objective.likelihood.fit(found.scores, objective.Y, objective.s)[0]
    g = np.where(objective.l1 > 0, np.sign(W), 0).T[active.T]
    theory = lam**2 / size(objective, W).N * g @ np.linalg.solve(objective.hessian_on(P, active), g)
    beside = fixed_point(objective, W, 1e-12, 1, lam * (1 + 1e-4))
    measured = np.log(np.divide(*size(objective, beside.weights)) / lam) / 1e-4
    assert theory < 1
    assert_allclose(measured, theory, atol=5e-3)


def test_where_no_strength_is_a_fixed_point_the_fit_ends_beside_the_jump():
    """A weight comes and goes at the strength that is kept, which is certified all the same."""
    X, y = related(seed=1)
    model = SBMLR().fit(X, y)
    assert model.status_ == "jump"
    assert model.dual_gap_ <= 1e-6
    counts = []
    for factor in (1 - 2e-6, 1 + 2e-6):
        smlr = SMLR(model.lam_ * factor, standardize=True, tol=1e-10).fit(X, y)
        counts.append(np.count_nonzero(smlr.coef_) / np.abs(smlr.coef_ * X.std(axis=0)).sum() / smlr.lam)
    assert counts[0] > 1 > counts[1]


@pytest.mark.parametrize("seed", [4, 9, 41])
def test_of_the_two_sides_of_a_jump_the_one_with_the_smaller_criterion_is_kept(seed):
    objective, lam = posed(*related(seed=seed))
    found = fixed_point(objective, objective.start(), 1e-6, 200, lam)
    assert found.status is Status.JUMP
    kept, sides = found.extra["lam"], []
    for factor in (1 - 2e-6, 1 + 2e-6):
        problem = objective.with_prior(objective.prior.with_strength(kept * factor))
        solution = newton(problem, found.weights, 1e-10, 100)
        solution = solution._replace(weights=representative(problem, solution.weights))
        sides.append(criterion(objective, kept * factor, solution))
    assert abs(sides[0] - sides[1]) > 1
    assert_allclose(criterion(objective, kept, found), min(sides), atol=1e-3)


# -- the work has a bound


def test_a_fit_that_may_take_few_l1_fits_says_so_and_has_the_certificate_of_its_strength():
    X, y = PROBLEMS["wine"]
    with pytest.warns(ConvergenceWarning, match=r"strength had not settled after 3 L1 fits.* at lam=.*raise max_iter"):
        model = SBMLR(max_iter=3).fit(X, y)
    assert (model.status_, model.n_iter_) == ("wandering", 3)
    assert model.dual_gap_ <= 1e-6
    smlr = SMLR(model.lam_, standardize=True, tol=1e-9).fit(X, y)
    assert_allclose(model.objective_, smlr.objective_, rtol=1e-6)


@pytest.mark.parametrize("max_iter", [1, 4, 30])
def test_the_l1_fits_of_one_start_share_a_number_of_passes_over_the_data(max_iter):
    """Even if none of them ever reached its accuracy."""
    objective, lam = posed(*PROBLEMS["wine"])
    passes = []

    def slow(problem, W, tol, allowed, screen, F):
        passes.append(allowed)
        return newton(problem, W, tol, 1, screen, F)._replace(n_iter=allowed)

    fixed_point(objective, objective.start(), 1e-6, max_iter, lam, slow)
    assert len(passes) <= max_iter
    assert sum(passes) <= 50 + 5 * max_iter


def test_a_fit_tells_its_progress_to_those_who_listen():
    told = []
    with progress.listening(told.append):
        model = SBMLR().fit(*PROBLEMS["iris"])
    SBMLR().fit(*PROBLEMS["iris"])
    assert len(told) == model.n_iter_
    assert told[-1].startswith(f"L1 fit {model.n_iter_} at strength {model.lam_:.4g}: ")


@problem
def test_several_starts_keep_the_greatest_evidence(name):
    X, y = PROBLEMS[name]
    one, several = SBMLR().fit(X, y), SBMLR(n_init=4).fit(X, y)
    assert several.evidence_ >= one.evidence_ - 1e-6


# -- nothing to find


@pytest.mark.parametrize("n_init", [1, 3])
def test_noise_ends_in_an_empty_model_that_is_explained(n_init):
    X, y = noise()
    with pytest.warns(EmptyModelWarning, match="kept no column.*have no relation"):
        model = SBMLR(n_init=n_init).fit(X, y)
    assert not len(model.support_)
    assert_allclose(model.predict_proba(X), 1 / 3, atol=1e-9)
    assert np.isfinite([model.lam_, model.evidence_, model.dual_gap_]).all()


def test_the_evidence_of_an_empty_model_is_that_of_its_intercepts():
    """Two classes of equal frequency: the Hessian in the intercept is n / 4."""
    X, y = noise(m=2)
    with pytest.warns(EmptyModelWarning):
        model = SBMLR().fit(X, y)
    n = len(y)
    assert_allclose(model.evidence_, -n * np.log(2) - np.log(n / 4) / 2 + np.log(2 * np.pi) / 2)


def test_an_empty_model_does_not_win_against_another_start():
    """Strong starts collapse on this sample, weak ones do not."""
    X, y = related(60, 30, 2, seed=3)
    objective, lam = posed(X, y)
    fits = [fixed_point(objective, null_point(objective).W, 1e-6, 200, lam * factor) for factor in (1, 99.9)]
    assert [size(objective, fit.weights).N > 0 for fit in fits] == [True, False]
    assert np.isinf(criterion(objective, lam, fits[1]))
    assert len(SBMLR(n_init=6).fit(X, y).support_) > 0


AWKWARD = {
    "separable": (
        np.r_[-np.ones((20, 2)), np.ones((20, 2))] + 0.01 * np.arange(80).reshape(40, 2) / 80,
        np.arange(40) // 20,
    ),
    "a constant column": (np.c_[load_iris().data, np.ones(150)], load_iris().target),
    "duplicated columns": (np.c_[load_iris().data, load_iris().data], load_iris().target),
    "two samples": (np.array([[0.0, 1.0], [1.0, 3.0]]), np.array([0, 1])),
    "one constant column": (np.ones((10, 1)), np.arange(10) % 2),
}


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning", "ignore::smaller.errors.ConvergenceWarning")
@pytest.mark.parametrize("model", [SBMLR(), SBMLR(n_init=3), SBMLR(curvature="posterior"), RMLR("evidence")], ids=repr)
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_data_never_give_nan(name, model):
    X, y = AWKWARD[name]
    model.fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.lam_)
    assert not np.isnan(model.evidence_)


# -- invariance


@pytest.mark.parametrize("model", [SBMLR(tol=1e-9), RMLR("evidence", standardize=True, tol=1e-9)], ids=repr)
def test_units_do_not_matter(model):
    X, y = PROBLEMS["wine"]
    unit = 10.0 ** np.linspace(-4, 4, X.shape[1])
    P, evidence = model.fit(X, y).predict_proba(X), model.evidence_
    assert_allclose(model.fit(X * unit, y).predict_proba(X * unit), P, atol=1e-6)
    assert_allclose(model.evidence_, evidence, rtol=1e-6)


@pytest.mark.parametrize("basis", ["linear", "rbf"])
def test_a_weight_is_a_repetition(basis):
    X, y = PROBLEMS["iris"]
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = SBMLR(basis=basis, tol=1e-8)
    weighted, repeated = (
        model.fit(X, y, weight),
        SBMLR(basis=basis, tol=1e-8).fit(X.repeat(weight, 0), y.repeat(weight)),
    )
    assert_allclose(weighted.lam_, repeated.lam_, rtol=1e-6)
    assert_allclose(weighted.evidence_, repeated.evidence_, rtol=1e-6)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


# -- evidence


def test_the_evidence_is_the_formula():
    """E_D + N log S - log Gamma(N) + N log 2 + 1/2 log|A| - r/2 log 2 pi with A by differences of the gradient."""
    X, y = PROBLEMS["iris"]
    X = StandardScaler().fit_transform(X)
    objective, lam = posed(X, y, parametrization="reference")
    found = fixed_point(objective, objective.start(), 1e-10, 200, lam)
    active = (found.weights != 0) | (objective.l1 == 0)
    where = np.argwhere(active)

    def gradient(values):
        W = np.zeros(objective.shape)
        W[active] = values
        return objective.gradient(W)[active]

    at = found.weights[active]
    A = np.array([(gradient(at + h) - gradient(at - h)) / 2e-5 for h in 1e-5 * np.eye(len(where))])
    N, S = size(objective, found.weights)
    loss = found.objective - found.extra["lam"] * S
    tail = np.linalg.slogdet(A)[1] / 2 - len(where) / 2 * np.log(2 * np.pi)
    expected = -(loss + N * np.log(S) - gammaln(N) + N * np.log(2) + tail)
    assert_allclose(marginal_evidence(objective, found.weights, found.scores), expected, rtol=1e-7)
    g = np.where(objective.l1 > 0, np.sign(found.weights), 0.0)[active]
    whole = expected - np.log(1 - N / S**2 * g @ np.linalg.solve(A, g)) / 2
    assert_allclose(marginal_evidence(objective, found.weights, found.scores, whole=True), whole, rtol=1e-7)


@pytest.mark.parametrize(("n", "d"), [(30, 5), (8, 25)])
def test_the_evidence_of_a_ridge_is_exact_where_everything_is_gaussian(n, d):
    """y ~ N(0, I + X X^T / lam), through the columns and through the samples."""
    rng = np.random.default_rng(n)
    X, y, lam = rng.standard_normal((n, d)), rng.standard_normal(n), 0.7
    objective = Posterior(as_design(X, False), y[:, None], Gaussian(), Normal(lam))
    fit = smooth(objective, objective.start(), 1e-12, 20)
    exact = multivariate_normal(np.zeros(n), np.eye(n) + X @ X.T / lam).logpdf(y) + n / 2 * np.log(2 * np.pi)
    assert_allclose(ridge_evidence(objective, fit.weights, fit.scores), exact, rtol=1e-10)


@pytest.mark.parametrize("parametrization", ["symmetric", "reference"])
@pytest.mark.parametrize("m", [2, 3])
def test_the_evidence_through_samples_and_through_columns_is_the_same(m, parametrization):
    """Repeated samples turn n < d into n > d and count as weights."""
    X, y = related(20, 30, m)
    values = []
    for repeat in (1, 2):
        model = RMLR(0.7, parametrization=parametrization)
        weight = np.full(20 * repeat, 2 / repeat)
        objective = problem_of(model, np.tile(X, (repeat, 1)), np.tile(y, repeat), weight).objective
        fit = smooth(objective, objective.start(), 1e-12, 100)
        values.append(ridge_evidence(objective, fit.weights, fit.scores))
    assert_allclose(*values, rtol=1e-10)


@problem
def test_the_ridge_found_has_the_most_evidence_of_its_neighbours(name):
    X, y = PROBLEMS[name]
    model = RMLR("evidence", standardize=True).fit(X, y)

    def evidence(lam):
        objective = problem_of(RMLR(lam, standardize=True), X, y).objective
        fit = smooth(objective, objective.start(), 1e-10, 200)
        return ridge_evidence(objective, fit.weights, fit.scores)

    assert_allclose(model.evidence_, evidence(model.lam_), rtol=1e-6)
    assert model.evidence_ > max(evidence(model.lam_ * factor) for factor in (0.01, 0.5, 0.9, 1.1, 2, 100))


def test_the_ridge_found_is_not_the_maximum_at_which_nothing_is_learned():
    """On a wide kernel the evidence has two maxima: all weights nearly zero, and large weights of opposite signs."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.standard_normal((80, 1)) + 0.2 * (2 * y[:, None] - 1) * [1.0, -1.0] + 0.06 * rng.standard_normal((80, 2))
    model = RMLR("evidence", basis=Kernel("rbf", gamma=0.003), fit_intercept=False).fit(X, y)
    assert model.evidence_ > 80 * np.log(0.5) + 10  # what guessing has
    assert model.score(X, y) > 0.95


def test_too_many_unknowns_for_a_determinant_are_refused():
    X, y = np.random.default_rng(0).standard_normal((6500, 1)), np.arange(6500) % 2
    with pytest.raises(ValueError, match=r"determinant of 6500 unknowns.*cross-validation"):
        RMLR("evidence", basis="rbf").fit(X[:, :1], y)


def test_strength_and_evidence_go_when_they_are_no_longer_chosen():
    X, y = PROBLEMS["iris"]
    model = RMLR("evidence").fit(X, y)
    assert {"lam_", "evidence_"} <= set(vars(model))
    model.set_params(lam=1.0).fit(X, y)
    assert not {"lam_", "evidence_"} & set(vars(model))


# -- comparison


def test_a_search_by_evidence_finds_the_width_of_the_kernel():
    """Rings are not separated by a line, nor by a kernel far too wide or far too narrow."""
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 200), 1 + 2 * (np.arange(200) % 2) + 0.3 * rng.standard_normal(200)
    X, y = np.c_[radius * np.cos(angle), radius * np.sin(angle)], np.arange(200) % 2
    grid = [{"basis": ["linear"]}, {"basis": [Kernel("rbf")], "basis__gamma": [1e-4, 0.3, 300.0]}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (EmptyModelWarning))  # of the line
        search = EvidenceSearch(SBMLR(), grid).fit(X, y)
    assert search.best_params_["basis__gamma"] == 0.3
    assert search.evidence_ == search.evidences_.max() == search.best_estimator_.evidence_
    assert search.score(X, y) > 0.97
    assert len(search.candidates_) == len(search.evidences_) == 4


def test_a_search_needs_evidence_and_candidates():
    X, y = PROBLEMS["iris"]
    with pytest.raises(ValueError, match="SMLR has no evidence_ after its fit"):
        EvidenceSearch(SMLR(), {"lam": [1.0]}).fit(X, y)
    with pytest.raises(ValueError, match="param_grid has no candidate"):
        EvidenceSearch(SBMLR(), []).fit(X, y)


# -- references


@pytest.mark.parametrize("name", ["sbmlr_iris", "sbmlr_iris_bias", "sbmlr_wine", "sbmlr_fgl", "blogreg_pima"])
def test_independent_references(name):
    """Fixed points of other programs; those of sbmlr have no intercept or a penalised column of ones."""
    data, found = case(name)
    binary = name.startswith("blogreg")
    expected = found["fixed_point"] if binary else found["fixed_point_from_sbmlr_alpha"]
    X = data["X"][:, 1:] if binary else data["X"]
    y = data["y"] if "y" in data else data["t"]
    model = SBMLR(standardize=False, fit_intercept=binary, tol=1e-10).fit(X, y.ravel())
    coef = np.asarray(expected["a"])[None, 1:] if binary else np.asarray(expected["weights"]).T
    assert_allclose(model.lam_, expected["lam" if binary else "alpha_final"], rtol=1e-8)
    assert_allclose(model.coef_, coef, atol=1e-8)


@pytest.mark.parametrize("f", [-1e-18, 1e-18, -0.5, 0.5])
def test_a_step_that_rounding_swallows_does_not_lead_to_strength_zero(f):
    """At a rough accuracy the fixed point may be hit to the last bit while it is enclosed from one side only."""
    assert np.isfinite(marginal._Search().step(3.0, f, np.ones(2)))


@pytest.mark.filterwarnings("ignore::smaller.errors.ConvergenceWarning", "ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.parametrize("seed", range(70, 82))
def test_single_steps_stay_finite_where_rows_are_wrong_with_certainty(seed):
    """Large offsets: most rows have no curvature, and one row may have nearly all of it."""
    rng = np.random.default_rng(seed)
    X, y, offset = rng.standard_normal((12, 2)), np.arange(12) % 2, 10.0 ** (3 + seed % 4) * rng.standard_normal(12)
    model = SBMLR(solver="component-wise", max_iter=50).fit(X, y, offset=offset)
    assert np.isfinite(model.coef_).all()
    F = X @ model.coef_[0] + model.intercept_[0] + offset
    value = np.logaddexp(0.0, F).sum() - F[y == 1].sum() + model.lam_ * np.abs(model.coef_[0] * X.std(axis=0)).sum()
    assert_allclose(model.objective_, value, rtol=1e-9)


# -- no claim without a certificate


def test_single_steps_that_leave_no_weight_are_converged_only_with_a_certificate():
    """Every row is certain of its class: the objective, 3e-15 nats, is known to a part in ten thousand."""
    X, y, offset = [[11.9], [-5.7], [-8.4], [-12.3]], [0, 1, 0, 1], [-198.8, 153.9, -128.1, 33.4]
    model = SBMLR(solver="component-wise", fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", EmptyModelWarning)
        model.fit(X, y, offset=offset)
    assert not model.coef_.any()
    assert model.status_ == "stalled"
    assert model.dual_gap_ > model.tol


def invented(W, gap, status=Status.CONVERGED):
    """A solution of these weights, as an L1 solver returns it."""
    return Solution(W, None, status, 1.0, gap, gap, 1, [], {})


def test_a_rough_fit_without_weights_is_repeated_with_the_accuracy_asked_for():
    objective, lam = posed(*noise())
    asked = []

    def solve(problem, W, tol, *_):
        asked.append(tol)
        return invented(np.zeros(objective.shape), 0.5 * tol)

    found = fixed_point(objective, np.zeros(objective.shape), 1e-6, 20, lam, solve)
    assert asked == [1e-2, 1e-6]
    assert found.gap <= 1e-6


def test_the_strength_of_tiny_weights_is_beyond_no_number():
    """N / S / lam would overflow; the fit then wanders, and says so."""
    objective, _ = posed(*noise())
    W = np.zeros(objective.shape)
    W[0, 0] = 1e-300
    found = fixed_point(objective, W, 1e-6, 3, np.float64(1e-20), lambda *_: invented(W, 0.0))
    assert found.status is Status.WANDERING


def test_the_way_to_a_start_has_a_bound(monkeypatch):
    """Where offsets are large, problems of ever larger ones lead there: not where they take many sweeps."""
    X, y = noise()
    objective = problem_of(SMLR(1.0), X, y, offset=1e6 * np.random.default_rng(0).standard_normal((90, 3))).objective
    calls = []

    def newton(problem, W, tol, max_iter):
        calls.append(tol)
        return invented(W, 1.0, Status.MAX_ITER)._replace(extra={"sweeps": 60_000})

    monkeypatch.setattr(start, "newton", newton)
    start.begin(objective)
    assert len(calls) == 2
