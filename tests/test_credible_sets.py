"""Credible sets of features: against other programs, exact enumeration, and simulations with a known truth."""

import itertools
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from smaller import load, save
from smaller.errors import EmptyModelWarning
from smaller.inference import CredibleSetsClassifier, CredibleSetsRegressor
from smaller.inference.class_effects import ClassTarget
from smaller.inference.effects import BoundedTarget, Effects, GaussianTarget, ascend
from smaller.inference.standard_columns import StandardColumns

KINDS = ["numbers", "two classes", "three classes"]


def near_copies(kind, seed, n=200, factors=15, copies=3, correlation=0.99, true=3, size=None):
    """Several near copies of each factor, of which one matters for some of the factors; and those that matter."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, factors))
    X = np.sqrt(correlation) * np.repeat(F, copies, axis=1)
    X += np.sqrt(1 - correlation) * rng.standard_normal(X.shape)
    chosen = rng.choice(factors, true, replace=False) * copies + rng.integers(copies, size=true)
    if kind == "numbers":
        w = rng.choice([-1, 1], true) * rng.uniform(0.3, 1.0, true)
        return X, X[:, chosen] @ w + rng.standard_normal(n), chosen
    m = 2 if kind == "two classes" else 3
    W = rng.standard_normal((true, m))
    W *= 1.5 / np.linalg.norm(W, axis=1, keepdims=True)
    return X, (X[:, chosen] @ W + rng.gumbel(size=(n, m))).argmax(axis=1), chosen


def model_of(kind, **options):
    return (CredibleSetsRegressor if kind == "numbers" else CredibleSetsClassifier)(**options)


def coverage(kind, correlation, sets, **options):
    """How many of the sets found in so many simulated tables hold a feature that matters."""
    held = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        for seed in range(sets):
            X, y, chosen = near_copies(kind, seed, correlation=correlation)
            model = model_of(kind, n_effects=5, **options).fit(X, y)
            held += [bool(set(features) & set(chosen.tolist())) for features in model.sets_]
    return np.mean(held), np.std(held) / np.sqrt(len(held)), len(held)


# -- against other programs


@pytest.mark.parametrize("kind", ["eb", "fix"])
def test_inclusion_of_numbers_equals_that_of_susier(kind):
    given, reference = case("posterior_susie_gaussian")
    expected = reference["results"][kind]
    options = {} if kind == "eb" else {"prior_variance": 1.0, "noise": 2.25, "tol": 1e-12}
    model = CredibleSetsRegressor(5, **options).fit(given["X"], given["y"])
    assert_allclose(model.inclusion_, expected["pip"], atol=1e-3 if kind == "eb" else 1e-6)
    assert_allclose(model.elbo_, expected["elbo"], atol=1e-3 if kind == "eb" else 1e-7)
    assert_allclose(model.noise_, expected["sigma2"], rtol=1e-3)
    found = {
        tuple(sorted(features.tolist())): purity for features, purity in zip(model.sets_, model.purity_, strict=True)
    }
    listed = {tuple(each["features"]): each["min_abs_corr"] for each in expected["credible_sets"]}
    assert found.keys() == listed.keys()
    for features, purity in listed.items():
        assert_allclose(found[features], purity, rtol=1e-9)


def test_factors_of_two_classes_are_near_those_of_quadrature():
    given, reference = case("posterior_susie_logistic")
    expected = reference["results"]
    Z = StandardColumns(given["X"], np.ones(len(given["y"])))
    fits = ClassTarget(Z, given["y"].astype(int), 2).alone(np.zeros((Z.n, 1)), 1.0)
    assert_allclose(fits.log_factor, expected["exact_log_bf"], atol=0.015)
    assert_allclose(fits.log_factor, expected["laplace_log_bf"], atol=2e-4)
    model = CredibleSetsClassifier(1, prior_variance=1.0).fit(given["X"], given["y"])
    assert_allclose(model.inclusion_, expected["exact_pip"], atol=1e-4)


def test_the_bound_of_two_classes_equals_that_of_other_code_or_is_greater():
    given, reference = case("posterior_susie_logistic")
    expected = reference["results"]
    options = {"method": "variational", "tol": 1e-9, "max_iter": 1000}
    fixed = CredibleSetsClassifier(1, prior_variance=1.0, **options).fit(given["X"], given["y"])
    assert_allclose(fixed.elbo_, expected["variational_L1"]["elbo"], atol=1e-6)
    assert_allclose(fixed.inclusion_, expected["variational_L1"]["pip"], atol=1e-5)
    learned = CredibleSetsClassifier(3, **options).fit(given["X"], given["y"])
    assert learned.elbo_ >= expected["variational_L3_learned_prior"]["elbo"] - 1e-6
    assert sorted(learned.sets_[0].tolist()) == expected["variational_L3_learned_prior"]["credible_sets"][0]


def test_two_effects_equal_the_enumeration_of_all_pairs():
    """y ~ N(0, noise I + v z_j z_j^T + v z_k z_k^T) for every pair; the bound lacks about log 2 for the labels."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 8))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = 0.8 * X[:, 1] - 0.7 * X[:, 5] + rng.standard_normal(60)
    y -= y.mean()
    v, noise = 0.5, 1.0
    log = np.empty((8, 8))
    for j, k in itertools.product(range(8), repeat=2):
        covariance = noise * np.eye(60) + v * (np.outer(X[:, j], X[:, j]) + np.outer(X[:, k], X[:, k]))
        log[j, k] = multivariate_normal.logpdf(y, np.zeros(60), covariance)
    pairs = np.exp(log - logsumexp(log))
    exact = np.array([pairs[j].sum() + pairs[:, j].sum() - pairs[j, j] for j in range(8)])
    model = CredibleSetsRegressor(2, prior_variance=v, noise=noise, tol=1e-9).fit(X, y)
    assert_allclose(model.inclusion_, exact, atol=2e-3)
    evidence = logsumexp(log) - 2 * np.log(8)
    assert 0.6 < evidence - model.elbo_ < 0.8


# -- coverage


@pytest.mark.parametrize("kind", KINDS)
def test_sets_cover_on_a_few_tables(kind):
    rate, _, count = coverage(kind, 0.99, 12)
    assert count >= 15
    assert rate >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.99, 0.8])
@pytest.mark.parametrize("kind", KINDS)
def test_sets_cover_as_often_as_they_say(kind, correlation):
    rate, error, count = coverage(kind, correlation, 500)
    print(f"{kind}, correlation {correlation}: {rate:.4f} +- {error:.4f} of {count} sets")
    assert rate >= 0.95 - 2 * max(error, np.sqrt(0.95 * 0.05 / count))


@pytest.mark.slow
def test_sets_of_the_bound_cover_as_often_as_they_say():
    rate, error, count = coverage("two classes", 0.99, 500, method="variational")
    print(f"variational: {rate:.4f} +- {error:.4f} of {count} sets")
    assert rate >= 0.95 - 2 * max(error, np.sqrt(0.95 * 0.05 / count))


@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_few_sets(kind):
    found = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        for seed in range(20):
            X, y, _ = near_copies(kind, seed, true=3)
            found += len(model_of(kind).fit(X, np.random.default_rng(seed).permutation(y)).sets_)
    assert found <= 3


# -- invariances


@pytest.mark.parametrize("kind", KINDS)
def test_units_change_nothing(kind):
    X, y, _ = near_copies(kind, 3)
    scale = 10.0 ** np.random.default_rng(0).integers(-6, 7, X.shape[1])
    plain, scaled = model_of(kind).fit(X, y), model_of(kind).fit(X * scale + 3 * scale, y)
    assert_allclose(scaled.inclusion_, plain.inclusion_, atol=1e-6)
    assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-4, atol=1e-8)
    if kind == "numbers":
        other = model_of(kind).fit(X, 1e6 * y)
        assert_allclose(other.inclusion_, plain.inclusion_, atol=1e-8)
        assert_allclose(other.prior_variance_, 1e12 * plain.prior_variance_, rtol=1e-4)
        assert_allclose(other.elbo_, plain.elbo_ - len(y) * np.log(1e6), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_is_a_repetition(kind):
    X, y, _ = near_copies(kind, 4, n=120)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted, repeated = model_of(kind).fit(X, y, weight), model_of(kind).fit(X.repeat(weight, 0), y.repeat(weight))
    assert_allclose(weighted.inclusion_, repeated.inclusion_, atol=1e-9)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_and_single_precision_give_the_same(kind):
    X, y, _ = near_copies(kind, 5)
    X[np.abs(X) < 0.5] = 0.0
    plain = model_of(kind).fit(X, y)
    assert_allclose(model_of(kind).fit(sparse.csr_array(X), y).inclusion_, plain.inclusion_, atol=1e-6)
    assert_allclose(model_of(kind).fit(X.astype(np.float32), y).inclusion_, plain.inclusion_, atol=1e-3)


def test_the_order_of_the_classes_does_not_matter():
    X, y, _ = near_copies("three classes", 6)
    plain, turned = CredibleSetsClassifier().fit(X, y), CredibleSetsClassifier().fit(X, 2 - y)
    assert_allclose(turned.inclusion_, plain.inclusion_, atol=1e-6)
    assert_allclose(turned.predict_proba(X), plain.predict_proba(X)[:, ::-1], atol=1e-5)


def test_copies_share_their_probability_and_constants_have_none():
    X, y, _ = near_copies("numbers", 7, copies=1, true=2)
    X = np.column_stack([X, X[:, :15], np.ones(len(X))])
    model = CredibleSetsRegressor().fit(X, y)
    assert_allclose(model.inclusion_[:15], model.inclusion_[15:30], rtol=1e-6, atol=1e-9)
    assert model.inclusion_[30] == 0
    assert all(
        len(features) == 2 and purity > 0.999999 for features, purity in zip(model.sets_, model.purity_, strict=True)
    )


def test_the_bound_never_falls():
    for kind, make in (("numbers", lambda Z, y: GaussianTarget(Z, y, None)), ("two classes", BoundedTarget)):
        X, y, _ = near_copies(kind, 8)
        Z, prior = StandardColumns(X, np.ones(len(y))), np.full(X.shape[1], 1 / X.shape[1])
        effects = ascend(make(Z, y.astype(float)), Effects.empty(5, Z, 1, prior, 0.2), prior, True, 1e-8, 500)
        assert np.diff(effects.bounds).min() > -1e-8


# -- the estimators


CHECKS = parametrize_with_checks(
    [CredibleSetsRegressor(), CredibleSetsClassifier(), CredibleSetsClassifier(3, prior_variance=1.0)]
)


@CHECKS
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        warnings.filterwarnings("ignore", "No features were selected")
        check(estimator)


@pytest.mark.parametrize(
    ("estimator", "loader"),
    [(CredibleSetsRegressor(), load_diabetes), (CredibleSetsClassifier(), load_wine)],
    ids=["regressor", "classifier"],
)
def test_models_predict_select_and_are_saved(estimator, loader, tmp_path):
    X, y = loader(return_X_y=True, as_frame=True)
    model = estimator.fit(X, y)
    assert model.score(X, y) > 0.35
    assert_array_equal(model.get_support(indices=True), model.support_)
    assert model.transform(X).shape == (len(X), len(model.support_))
    assert all(name in model.sentence() for name in X.columns[model.sets_[0]])
    save(model, tmp_path / "sets.smaller")
    again = load(tmp_path / "sets.smaller")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.sentence() == model.sentence()


def test_predictions_are_as_good_as_those_of_a_sparse_model():
    X, y = load_breast_cancer(return_X_y=True)
    model = CredibleSetsClassifier().fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.93
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior_inclusion": np.ones(3)}, "one for each feature"),
        ({"prior_inclusion": -np.ones(13)}, "at least 0"),
        ({"method": "variational"}, "two classes"),
        ({"level": 1.0}, "level"),
        ({"n_effects": 0}, "n_effects"),
    ],
)
def test_bad_options_are_refused(options, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        CredibleSetsClassifier(**options).fit(X, y)


def test_features_without_prior_probability_are_in_no_set():
    X, y, chosen = near_copies("numbers", 9)
    prior = np.ones(X.shape[1])
    prior[chosen] = 0.0
    model = CredibleSetsRegressor(prior_inclusion=prior).fit(X, y)
    assert (model.inclusion_[chosen] == 0).all()
    assert len(model.sets_)


def test_no_feature_that_varies_is_an_empty_model():
    with pytest.warns(EmptyModelWarning, match="no set"):
        model = CredibleSetsRegressor().fit(np.ones((20, 3)), np.arange(20.0))
    assert_allclose(model.predict(np.ones((2, 3))), 9.5)
    with pytest.warns(EmptyModelWarning, match="no set"):
        model = CredibleSetsClassifier().fit(np.ones((20, 3)), np.arange(20) % 4 == 0)
    assert_allclose(model.predict_proba(np.ones((1, 3))), [[0.75, 0.25]], atol=1e-6)


@pytest.mark.parametrize(("kind", "limit"), [("numbers", 2.0), ("two classes", 10.0), ("three classes", 10.0)])
def test_thousands_of_features_take_seconds(kind, limit):
    X, y, _ = near_copies(kind, 0, n=100, factors=700, copies=10, correlation=0.95)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        begin = time.process_time()
        model_of(kind).fit(X, y)
        took = time.process_time() - begin
    print(f"{kind}: {took:.2f} s")
    assert took < 2 * limit  # of a machine that may be shared
