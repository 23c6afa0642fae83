"""LaplaceRegressor with groups, a ridge, penalty factors and several targets: optimum, noise, units, model files."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import MultiTaskElasticNet, MultiTaskLasso

import smaller
from smaller import LaplaceRegressor, LaplaceRegressorCV, laplace_path, load, save

N, D, K = 60, 12, 3
LABELS = np.arange(D) // 3


def targets(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * np.exp(rng.normal(size=D)) + 2
    W = np.zeros((D, K))
    W[:4] = rng.standard_normal((4, K))
    return X, X @ W + rng.standard_normal((N, K)) + 3


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_it_is_scikit_learns_multi_task_lasso(share):
    """alpha = lam / n with the noise 1 and columns as they are (docs/migrate)."""
    X, Y = targets()
    peer = MultiTaskElasticNet if share < 1 else MultiTaskLasso
    options = {"l1_ratio": share} if share < 1 else {}
    theirs = peer(alpha=0.2, tol=1e-13, max_iter=100_000, **options).fit(X, Y)
    model = LaplaceRegressor(
        0.2 * N * share, l2=0.2 * N * (1 - share), noise=1.0, standardize=False, groups="features", tol=1e-12
    ).fit(X, Y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-11)
    residual = Y - theirs.predict(X)
    value = (residual**2).sum() / 2 + 0.2 * N * (
        share * np.linalg.norm(theirs.coef_, axis=0).sum() + (1 - share) / 2 * (theirs.coef_**2).sum()
    )
    assert model.objective_ == pytest.approx(value, rel=1e-12)


SETTINGS = {
    "features": {"groups": "features"},
    "labels": {"groups": LABELS},
    "sparse groups": {"groups": LABELS, "l1_share": 0.3},
    "sparse groups with a ridge": {"groups": LABELS, "l1_share": 0.3, "l2": 2.0},
    "a ridge": {"l2": 2.0},
    "factors": {"groups": "features", "penalty_factor": np.r_[0.0, np.inf, np.ones(D - 2)]},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("columns", [0, slice(None)])
def test_weights_and_noise_minimise_the_joint_convex_objective(name, columns):
    """|Y - F|^2 / (2 sigma) + n k sigma / 2 + lam (norms of standardised weights) + l2 |.|^2 / (2 sigma)."""
    X, Y = targets()
    Y, settings = Y[:, columns], SETTINGS[name]
    model = LaplaceRegressor(10.0, tol=1e-10, **settings).fit(X, Y)
    assert model.status_ == "converged"
    Y = Y.reshape(N, -1)
    factor = np.asarray(settings.get("penalty_factor", np.ones(D)))
    kept, share = np.isfinite(factor), settings.get("l1_share", 0.0 if "groups" in settings else 1.0)

    def joint(W, b, sigma):
        V = W[:, kept] * X.std(axis=0)[kept]
        labels = np.arange(D) if settings.get("groups") is not LABELS else LABELS
        norms = sum(np.sqrt((labels == g).sum()) * np.linalg.norm(V[:, labels[kept] == g]) for g in np.unique(LABELS))
        if isinstance(settings.get("groups"), str):
            norms = (factor[kept] * np.linalg.norm(V, axis=0)).sum()
        penalty = (1 - share) * norms + share * np.abs(V).sum()
        square = ((Y - X[:, kept] @ W[:, kept].T - b) ** 2).sum() + settings.get("l2", 0.0) * (V**2).sum()
        return square / (2 * sigma) + Y.size * sigma / 2 + 10.0 * penalty

    W, b, sigma = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), np.sqrt(model.noise_)
    best, rng = joint(W, b, sigma), np.random.default_rng(1)
    assert not W[:, ~kept].any()
    for size in np.geomspace(1e-5, 1e-1, 60):
        moved = W + size * rng.standard_normal(W.shape) / X.std(axis=0), b + size * rng.standard_normal(b.shape)
        assert joint(*moved, sigma * np.exp(size * rng.standard_normal())) >= best - 1e-9 * best


def test_other_units_give_the_same_model():
    X, Y = targets()
    here = LaplaceRegressor(groups=LABELS, tol=1e-10).fit(X, Y)
    there = LaplaceRegressor(groups=LABELS, tol=1e-10).fit(X * np.geomspace(1e-3, 1e3, D), 1e6 * Y)
    assert here.lam_ == there.lam_
    assert there.noise_ == pytest.approx(1e12 * here.noise_, rel=1e-8)
    np.testing.assert_allclose(there.coef_ * np.geomspace(1e-3, 1e3, D), 1e6 * here.coef_, rtol=1e-5, atol=1e-3)
    assert (here.group_support_ == there.group_support_).all()


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.parametrize("groups", [None, "features", np.arange(200) // 4])
def test_the_universal_strength_keeps_nothing_of_noise(groups):
    rng, kept = np.random.default_rng(0), 0
    for _ in range(20):
        X, Y = rng.standard_normal((100, 200)), rng.standard_normal((100, 5))
        kept += len(LaplaceRegressor(groups=groups).fit(X, Y).support_) > 0
    # One weight in five sets is expected for the L1 term: 1000 (1 - Phi(sqrt(2 log 1000))) = 0.1 on each side.
    assert kept <= (9 if groups is None else 4)


@pytest.mark.parametrize("name", ["features", "sparse groups with a ridge", "factors"])
def test_a_path_and_its_cross_validation_have_them_too(name):
    X, Y = targets()
    found = laplace_path(X, Y, 6, **SETTINGS[name])
    assert found.coefs.shape[1:] == (K, D)
    assert found.n_kept[0] == (1 if name == "factors" else 0)  # the free column
    for i in (2, 5):
        single = LaplaceRegressor(found.lams[i], **SETTINGS[name]).fit(X, Y)
        np.testing.assert_allclose(single.coef_, found.coefs[i], atol=1e-4)
    chosen = LaplaceRegressorCV(lams=6, cv=3, **SETTINGS[name]).fit(X, Y)
    assert chosen.coef_.shape == (K, D)
    assert chosen.score(X, Y) > 0.7


def test_standard_deviations_belong_to_their_targets(tmp_path):
    X, Y = targets()
    model = LaplaceRegressor(3.0, groups=LABELS, l1_share=0.5).fit(X, Y)
    mean, deviation = model.predict(X[:5], return_std=True)
    assert mean.shape == deviation.shape == (5, K)
    assert (deviation > np.sqrt(model.noise_)).all()
    save(model, tmp_path / "my.model")
    again = load(tmp_path / "my.model")
    for a, b in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.get_params()["groups"].tolist() == LABELS.tolist()


def test_a_free_column_has_the_error_of_least_squares():
    """Without any penalised column that is kept, the variance is noise / spread."""
    X, y = load_diabetes(return_X_y=True)
    model = LaplaceRegressor(1e3, penalty_factor=np.r_[np.ones(2), 0.0, np.ones(7)]).fit(X, y)
    assert model.support_.tolist() == [2]
    spread = ((X[:, 2] - X[:, 2].mean()) ** 2).sum()
    assert model.covariance_[0, 0] == pytest.approx(model.noise_ / spread, rel=1e-8)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "em"}, "should be a 1d array"),
        ({"solver": "em", "l2": 1.0}, "takes one target"),
        ({"solver": "em", "groups": "features"}, "takes no groups"),
        ({"l1_share": 0.5}, "no effect without groups"),
        ({"penalty_factor": np.full(D, np.inf)}, "inf for every column"),
        ({"groups": np.zeros(N)}, "labels of samples"),
    ],
)
def test_what_is_refused_says_why(settings, message):
    X, Y = targets()
    with pytest.raises(ValueError, match=message):
        LaplaceRegressor(**settings).fit(X, Y[:, 0] if len(settings) > 1 else Y)


def test_posteriors_of_these_models_are_refused():
    X, Y = targets()
    for settings, y in (({"groups": LABELS}, Y[:, 0]), ({"l2": 1.0}, Y[:, 0]), ({}, Y)):
        with pytest.raises(ValueError, match=r"not a product over weights|are not sampled|one real target"):
            smaller.inference.sample_posterior(LaplaceRegressor(5.0, **settings).fit(X, y), X, y)
