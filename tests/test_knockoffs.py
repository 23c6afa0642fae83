"""Knockoffs: their distribution, the statistics, the thresholds, and the selector."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from smaller import SMLR, SMLRCV, LaplaceRegressor
from smaller.errors import EmptyModelWarning
from smaller.inference import Knockoffs
from smaller.inference.gaussian_knockoffs import GaussianKnockoffs, equicorrelated, estimated_law, minimum_variance
from smaller.inference.knockoff_filter import e_bh, e_values, knockoff_threshold
from smaller.inference.knockoff_statistics import entry_difference, standardised, weight_difference
from smaller.progress import listening

FAST = {"n_copies": 3, "fdr": 0.3, "random_state": 0}


def autoregressive(p, rho=0.7):
    return rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def simulated(n=300, p=40, true=12, m=2, rho=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(autoregressive(p, rho)).T
    W = np.zeros((p, m))
    W[: true * (p // true) : p // true, 0] = 1.0 if m == 2 else 0.0
    if m > 2:
        rows = np.arange(true) * (p // true)
        W[rows] = rng.standard_normal((true, m))
        W[rows] *= 2 / np.linalg.norm(W[rows], axis=1, keepdims=True)
    return X, (X @ W + rng.gumbel(size=(n, m))).argmax(axis=1), np.flatnonzero(W.any(axis=1))


@pytest.fixture(scope="module")
def data():
    return simulated()


# -- the copies


@pytest.mark.parametrize("name", ["ar", "block", "factor"])
def test_distances_equal_the_reference(name):
    inputs, reference = case("select_knockoff_s")
    C, expected = inputs[f"C_{name}"], reference["results"][name]
    assert_allclose(equicorrelated(C), expected["equi"], atol=1e-9)
    s = minimum_variance(C)
    assert_allclose(s, expected["mvr"], atol=1e-8)
    assert_allclose(np.trace(np.linalg.inv(2 * C - np.diag(s))) + (1 / s).sum(), expected["mvr_objective"], rtol=1e-8)


@pytest.mark.parametrize("construction", ["mvr", "equicorrelated"])
def test_columns_and_knockoffs_have_the_joint_covariance_that_swapping_needs(construction):
    """Cov [X Xk] = [[S, S - D], [S - D, S]], D = diag(s), to the sampling error of 100 000 rows."""
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 10.0, 0.1, 2.0, 1.0])
    covariance = autoregressive(5) * np.outer(scale, scale)
    mean = np.arange(5.0)
    X = mean + rng.standard_normal((100_000, 5)) @ np.linalg.cholesky(covariance).T
    sampler = GaussianKnockoffs(mean, covariance, construction)
    found = np.cov(np.hstack([X, sampler(X, rng)]) / np.tile(scale, 2), rowvar=False)
    C = autoregressive(5)
    off = C - np.diag(sampler.s)
    assert_allclose(found, np.block([[C, off], [off, C]]), atol=0.02)


def test_estimated_law_follows_the_units_and_has_an_inverse_for_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, units = rng.standard_normal((20, 50)), np.geomspace(1e-3, 1e3, 50)
    mean, covariance = estimated_law(X)
    assert np.linalg.eigvalsh(covariance)[0] > 0.01
    assert_allclose(np.diag(covariance), X.var(axis=0))
    assert_allclose(estimated_law(X * units)[1], covariance * np.outer(units, units), rtol=1e-9, atol=1e-12)
    assert_allclose(mean, X.mean(axis=0))


# -- the filter


def test_statistics_and_selections_equal_the_reference():
    inputs, reference = case("select_knockoff_w")
    expected, lams = reference["results"]["binary"], inputs["binary_lams"]
    both = standardised(np.hstack([inputs["binary_X"], inputs["binary_Xk"]]))
    W = entry_difference(SMLR(tol=1e-8), (both, inputs["binary_y"], {}), lams)
    assert_allclose(W, expected["W"], rtol=1e-8)
    for q, features in expected["selected"].items():
        assert_array_equal(np.flatnonzero(knockoff_threshold(W, float(q)) <= W), features)
        assert knockoff_threshold(np.array(expected["W"]), float(q)) == float(expected["threshold"][q])


def test_e_values_and_selection_equal_the_reference():
    inputs, reference = case("select_knockoff_w")
    expected, rows = reference["results"]["derandomised"], inputs["W_rows"]
    for q, thresholds in expected["thresholds"].items():
        assert [knockoff_threshold(W, float(q)) for W in rows] == [float(T) for T in thresholds]
    e = np.mean([e_values(W, knockoff_threshold(W, expected["alpha_kn"])) for W in rows], axis=0)
    assert_allclose(e, expected["e_values"], rtol=1e-12)
    assert_array_equal(e_bh(e, expected["alpha"]), expected["selected"])


@pytest.mark.parametrize("plus", [True, False])
def test_threshold_is_the_definition(plus):
    rng = np.random.default_rng(0)
    for _ in range(200):
        W = np.round(rng.normal(rng.uniform(0, 2), 1, rng.integers(1, 40)), 1)
        for q in (0.1, 0.2, 0.5):
            passing = [
                t
                for t in np.unique(abs(W[W != 0]))
                if (plus + (-t >= W).sum()) / max(1, (t <= W).sum()) <= q * (1 + 1e-12)
            ]
            assert knockoff_threshold(W, q, plus) == min(passing, default=np.inf)


def test_single_copy_equals_its_e_values():
    """With one set of knockoffs at the rate itself, e-BH selects what knockoff+ selects (Ren & Barber 2024)."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        W = rng.normal(1, 1, 40)
        T = knockoff_threshold(W, 0.2)
        assert_array_equal(e_bh(e_values(W, T), 0.2), np.flatnonzero(W >= T))


def test_swapping_a_column_with_its_knockoff_changes_the_sign_of_its_statistic_only():
    X, y, _ = simulated(150, 10, 5)
    Xk = GaussianKnockoffs(*estimated_law(X), "mvr")(X, np.random.default_rng(0))
    swapped = X.copy(), Xk.copy()
    swapped[0][:, 3], swapped[1][:, 3] = Xk[:, 3], X[:, 3]
    sign = np.where(np.arange(10) == 3, -1, 1)
    for statistic, model in ((weight_difference, SMLR(2.0, tol=1e-10)), (entry_difference, SMLR(tol=1e-10))):
        W, V = (statistic(model, (standardised(np.hstack(pair)), y, {})) for pair in ((X, Xk), swapped))
        assert_allclose(V, sign * W, atol=1e-6 * abs(W).max())


# -- the selector


@pytest.mark.parametrize("statistic", ["weight", "entry"])
@pytest.mark.parametrize("construction", ["mvr", "equicorrelated"])
def test_relevant_features_are_found(data, statistic, construction):
    X, y, true = data
    found = Knockoffs(**FAST, statistic=statistic, construction=construction).fit(X, y)
    assert len(np.intersect1d(found.support_, true)) >= 10
    assert len(np.setdiff1d(found.support_, true)) <= 5
    assert found.statistics_.shape == (3, 40)


def test_several_classes_and_numbers(data):
    X, y, true = simulated(400, 40, 12, 4)
    assert len(np.intersect1d(Knockoffs(**FAST).fit(X, y).support_, true)) >= 10
    X, _, true = data
    y = X[:, true].sum(axis=1) + 2 * np.random.default_rng(0).standard_normal(len(X))
    for model in (Knockoffs(**FAST), Knockoffs(LaplaceRegressor(20.0), **FAST), Knockoffs(**FAST, statistic="entry")):
        assert len(np.intersect1d(model.fit(X, y).support_, true)) >= 10


def test_known_law_and_a_sampler_of_ones_own_give_the_same(data):
    X, y, _ = data
    law = np.zeros(40), np.eye(40)
    given = Knockoffs(**FAST, mean=law[0], covariance=law[1]).fit(X, y)
    own = Knockoffs(**FAST, sampler=GaussianKnockoffs(*law, "mvr")).fit(X, y)
    assert_array_equal(given.statistics_, own.statistics_)
    assert_allclose(given.distances_, 1, atol=1e-6)  # independent columns have independent knockoffs


def test_result_depends_on_the_seed_and_not_on_the_number_of_jobs(data):
    X, y, _ = data
    one, two, other = (
        Knockoffs(n_copies=2, fdr=0.4, random_state=seed, n_jobs=jobs).fit(X, y).statistics_
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert_array_equal(one, two)
    assert (one != other).any()


def test_units_change_nothing(data):
    X, y, _ = data
    units = np.geomspace(1e-4, 1e4, 40)
    plain, scaled = (Knockoffs(**FAST).fit(Z, y).statistics_ for Z in (X, 3 + X * units))
    assert_allclose(scaled, plain, atol=1e-4)


def test_copies_and_constants_are_one_feature_and_none(data):
    X, y, _ = data
    wide = np.column_stack([X, 2 - X[:, 0], np.ones(len(y))])
    found = Knockoffs(**FAST).fit(wide, y)
    assert found.n_distinct_ == 40
    assert_array_equal(found.copies_[0], [0, 40])
    assert (0 in found.support_) == (40 in found.support_)
    assert 41 not in found.support_
    covariance = np.eye(42)
    covariance[0, 40] = covariance[40, 0] = -1
    assert Knockoffs(**FAST, covariance=covariance).fit(wide, y).n_distinct_ == 40


def test_rows_of_weight_zero_are_left_out(data):
    X, y, _ = data
    weight = (np.arange(len(y)) < 250) * 1.0
    weighted = Knockoffs(**FAST).fit(X, y, sample_weight=weight)
    assert_allclose(weighted.statistics_, Knockoffs(**FAST).fit(X[:250], y[:250]).statistics_, atol=1e-6)


def test_plain_filter_with_and_without_the_one(data):
    X, y, _ = data
    plus, plain = (Knockoffs(fdr=0.2, n_copies=1, random_state=0, plus=plus).fit(X, y) for plus in (True, False))
    for found in (plus, plain):
        assert_array_equal(found.support_, np.flatnonzero(found.statistics_[0] >= found.thresholds_[0]))
    assert set(plus.support_) <= set(plain.support_)
    assert plain.thresholds_[0] == knockoff_threshold(plain.statistics_[0], 0.2, plus=False)


def test_nothing_selected_is_explained():
    rng = np.random.default_rng(0)
    with pytest.warns(EmptyModelWarning, match="at least 20 features at this rate or none"):
        found = Knockoffs(n_copies=2, random_state=0).fit(rng.standard_normal((60, 10)), rng.integers(0, 2, 60))
    assert "not evidence that no feature matters" in found.sentence()


def test_sentence_and_progress(data):
    said = []
    with listening(said.append):
        found = Knockoffs(**FAST).fit(*data[:2])
    assert said[-1] == "knockoffs: 3 of 3 copies done"
    first = f"Of these {len(found.support_)} features (of 40), at most 30%"
    for part in (first, "estimated covariance", "random_state=0"):
        assert part in found.sentence()
    assert "covariance that was given" in Knockoffs(**FAST, covariance=np.eye(40)).fit(*data[:2]).sentence()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Knockoffs(plus=False), "plus=False is for a single set of knockoffs, but n_copies=10"),
        (Knockoffs(fdr=1.0), "'fdr' parameter of Knockoffs must be"),
        (Knockoffs(SMLR(penalty_factor=np.ones(40))), "give an estimator without penalty_factor"),
        (Knockoffs(SMLR(basis="rbf")), "use basis='linear'"),
        (Knockoffs(GaussianNB()), "needs a weight for each column in coef_, but GaussianNB has none"),
        (Knockoffs(LogisticRegression(), statistic="entry"), "'entry' needs a model with a path"),
        (Knockoffs(mean=np.zeros(40)), "give covariance, or leave mean out"),
        (Knockoffs(covariance=np.eye(3)), r"shape \(40, 40\).*got shape \(3, 3\)"),
        (Knockoffs(covariance=np.ones((40, 40))), "positive definite, but the smallest eigenvalue"),
        (Knockoffs(covariance=np.eye(40), mean=[1.0]), "mean must have 40 finite numbers"),
        (Knockoffs(covariance=np.eye(40), sampler=print), "give either sampler, or covariance and mean"),
        (Knockoffs(sampler=lambda X, rng: X[:, :2]), r"finite numbers of the shape of X, \(300, 40\).*\(300, 2\)"),
        (Knockoffs(sampler=lambda X, rng: X * np.nan), "finite numbers.*got NaN or infinity"),
        (Knockoffs(sampler=lambda X, rng: X.__imul__(2)), "read-only"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(data, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data[:2])
    assert not [name for name in vars(model) if name.endswith("_")]


def test_groups_of_samples_are_refused(data):
    with pytest.raises(ValueError, match="take no groups of them; use StabilitySelection, which halves groups whole"):
        Knockoffs().fit(*data[:2], groups=np.arange(300))


def test_sparse_and_constant_inputs_are_refused(data):
    X, y, _ = data
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        Knockoffs().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="Every column of X is constant"):
        Knockoffs().fit(np.ones_like(X), y)


CHECKS = parametrize_with_checks([Knockoffs(SMLR(standardize=True), n_copies=2)])
LONG_CHECKS = parametrize_with_checks([Knockoffs()])


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning", "ignore:No features were selected")
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning", "ignore:No features were selected")
@pytest.mark.parametrize(LONG_CHECKS.args[0], list(LONG_CHECKS.args[1]), **LONG_CHECKS.kwargs)
def test_scikit_learn_finds_nothing_to_object_to_as_constructed(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
def test_false_discovery_rate_of_combined_copies_is_kept_for_four_classes():
    rates = []
    for seed in range(60):
        X, y, true = simulated(400, 100, 20, 4, rho=0.7, seed=seed)
        model = Knockoffs(SMLRCV(lams=20, eps=0.02, cv=3), fdr=0.2, n_copies=5, random_state=seed).fit(X, y)
        false = len(np.setdiff1d(model.support_, true))
        rates.append((false / max(len(model.support_), 1), (len(model.support_) - false) / len(true)))
    shares, powers = np.array(rates).T
    print(f"five copies: {shares.mean():.3f} +- {shares.std() / 60**0.5:.3f} false, {powers.mean():.2f} found")
    assert shares.mean() <= 0.2 + 2 * shares.std() / np.sqrt(len(shares))
    assert powers.mean() > 0.6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.parametrize("law", ["known", "estimated"])
def test_false_discovery_rate_is_kept_for_four_classes(law):
    """n 400, p 100, 20 true features, AR(1) of 0.7; one copy each, so that the rate itself is tested.

    Beside it, what the columns that SMLRCV keeps would have.
    """
    rates = {"knockoffs 0.1": [], "knockoffs 0.2": [], "SMLRCV": []}
    known = {"covariance": autoregressive(100), "mean": np.zeros(100)} if law == "known" else {}
    for seed in range(200):
        X, y, true = simulated(400, 100, 20, 4, rho=0.7, seed=seed)
        plain = SMLRCV(lams=20, eps=0.02, cv=3)
        model = Knockoffs(plain, fdr=0.2, n_copies=1, random_state=seed, **known).fit(X, y)
        W = model.statistics_[0]
        found = {f"knockoffs {q}": np.flatnonzero(knockoff_threshold(W, q) <= W) for q in (0.1, 0.2)}
        found["SMLRCV"] = plain.fit(X, y).support_
        for name, selected in found.items():
            share = len(np.setdiff1d(selected, true)) / max(len(selected), 1)
            rates[name].append((share, len(np.intersect1d(selected, true)) / len(true)))
    means = {name: np.mean(values, axis=0).round(3).tolist() for name, values in rates.items()}
    print(law, "false discovery rate and power:", means)
    for q in (0.1, 0.2):
        shares, powers = np.array(rates[f"knockoffs {q}"]).T
        assert shares.mean() <= q + 2 * shares.std() / np.sqrt(len(shares))
        assert powers.mean() > 0.6
