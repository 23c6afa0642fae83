"""Far from its training samples a kernel model says so and can widen its error bars; also the Laplacian kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import laplacian_kernel

import smaller
from smaller import SMLR, RVMClassifier, RVMRegressor, load, save
from smaller.basis import Kernel
from smaller.errors import OutsideWarning

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-4, 4, 80))[:, None]
Y = np.sinc(X[:, 0]) + 0.1 * RNG.normal(size=80)
FAR = np.array([[30.0], [-50.0]])


def machine(**options):
    return RVMRegressor(Kernel("rbf", gamma=0.5), **options).fit(X, Y)


def test_a_sample_far_away_is_warned_of_refused_or_let_pass():
    model = machine()
    with pytest.warns(OutsideWarning, match="2 of 3 samples are far from every training sample"):
        mean, std = model.predict(np.vstack([X[:1], FAR]), return_std=True)
    assert_allclose(mean[1:], model.intercept_)
    with pytest.raises(ValueError, match="leave these samples out, or predict with outside='widen'"):
        model.predict(FAR, return_std=True, outside="error")
    same = model.predict(np.vstack([X[:1], FAR]), return_std=True, outside="ignore")[1]
    assert_allclose(same, std)
    model.predict(X, return_std=True)  # no warning near the training samples
    model.predict(FAR)
    with pytest.raises(ValueError, match="outside must be one of"):
        model.predict(FAR, return_std=True, outside="no")


def test_a_row_between_training_samples_is_not_outside_though_no_relevance_vector_is_near():
    model = RVMRegressor(Kernel("rbf", gamma=50.0)).fit(X, Y)
    model.predict(X, return_std=True, outside="error")


@pytest.mark.parametrize("intercept", [True, False])
def test_the_bar_is_that_of_the_model_with_one_more_column(intercept):
    """By the posterior of the augmented weights, inverted directly; a free intercept is a column of large variance."""
    model = machine(fit_intercept=intercept)
    kept, noise = model.support_, model.noise_
    at = np.array([[0.3], [4.5], [7.0], [30.0]])
    std = model.predict(at, return_std=True, outside="widen")[1]
    rows = model.basis_.centers_
    prior = np.append(model.gamma_[kept], model.gamma_[kept].max())
    for x, found in zip(at, std, strict=True):
        centers = np.vstack([rows[kept], x])
        Phi, here = (np.exp(-0.5 * (a[:, None, 0] - centers[None, :, 0]) ** 2) for a in (rows, x[None]))
        precision = 1 / prior
        if intercept:
            Phi, here = np.column_stack([Phi, np.ones(len(Phi))]), np.column_stack([here, [1.0]])
            precision = np.append(precision, 1e-10)
        S = np.linalg.inv(np.diag(precision) + Phi.T @ Phi / noise)
        assert_allclose(found**2 - noise, (here @ S @ here.T)[0, 0], rtol=1e-5)
    plain = model.predict(at, return_std=True, outside="ignore")[1]
    assert (std >= plain).all()
    assert std[0] < 1.5 * plain[0]
    assert std[3] > 2 * plain[3]


def test_models_without_radial_columns_have_no_outside():
    model = RVMRegressor("linear").fit(X, Y + X[:, 0])
    model.predict(100 * X, return_std=True, outside="error")


def test_the_laplacian_kernel_is_that_of_scikit_learn_and_follows_units(tmp_path):
    Z = RNG.normal(size=(60, 3))
    y = (Z[:, 0] > 0).astype(int)
    basis = Kernel("laplacian").fit(Z, np.ones(60))
    assert_allclose(basis.gamma_, 1 / Z.std(axis=0).sum())
    assert_allclose(basis.transform(Z[:5]), laplacian_kernel(Z[:5], basis.centers_, gamma=basis.gamma_))
    for kind in (SMLR(1.0, basis=Kernel("laplacian")), RVMClassifier(Kernel("laplacian"))):
        one, other = (kind.fit(scale * Z, y).predict_proba(scale * Z) for scale in (1.0, 1e3))
        assert_allclose(one, other, atol=1e-6)
    save(kind, tmp_path / "one.model")
    assert_allclose(load(tmp_path / "one.model").predict_proba(Z), kind.predict_proba(Z))
    with pytest.raises(ValueError, match="'laplacian' cannot be exported"):
        smaller.to_c(kind)
