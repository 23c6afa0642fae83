"""What the page about glmnet converts is what glmnet, adelie and skglm themselves compute, where they are installed."""

import subprocess
from shutil import which

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from smaller import RMLR, SMLR, LaplaceRegressor

LAMBDA, ALPHA = 0.02, 0.6
FACTOR = np.array([1.0, 2.0, 0.5, 3.0])
NAMES = (
    *("l1", "elastic", "ridge", "factors", "weights", "grouped", "grouped_elastic", "grouped_two"),
    *("gaussian", "gaussian_raw", "targets"),
)
LABELS = np.repeat(np.arange(5), [3, 1, 2, 4, 3])  # of the columns of Wine

SCRIPT = """
suppressPackageStartupMessages(library(glmnet))
d <- as.matrix(read.csv("data.csv", header = FALSE))
X <- d[, 1:4]; y <- factor(d[, 5]); w <- d[, 6]; t <- d[, 7]
fit <- function(name, ...) {
  b <- coef(glmnet(X, ..., thresh = 1e-14, maxit = 1e7))
  b <- if (is.list(b)) sapply(b, as.numeric) else as.matrix(b)
  write.table(b, paste0(name, ".txt"), row.names = FALSE, col.names = FALSE)
}
fit("l1", y, family = "multinomial", lambda = 0.02)
fit("elastic", y, family = "multinomial", lambda = 0.02, alpha = 0.6)
fit("ridge", y, family = "multinomial", lambda = 0.02, alpha = 0)
fit("factors", y, family = "multinomial", lambda = 0.02, penalty.factor = c(1, 2, 0.5, 3))
fit("weights", y, family = "multinomial", lambda = 0.02, weights = w)
fit("grouped", y, family = "multinomial", lambda = 0.02, type.multinomial = "grouped")
fit("grouped_elastic", y, family = "multinomial", lambda = 0.02, alpha = 0.6, type.multinomial = "grouped")
fit("grouped_two", factor(y == "0"), family = "multinomial", lambda = 0.02, type.multinomial = "grouped")
fit("targets", cbind(t, d[, 8]), family = "mgaussian", lambda = 0.02, standardize = FALSE)
fit("gaussian", t, family = "gaussian", lambda = 0.02)
fit("gaussian_raw", t, family = "gaussian", lambda = 0.02, standardize = FALSE)
"""


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    t = X @ np.array([[1, 0], [0, 0], [-2, 1], [3, 0]]) + rng.standard_normal((len(y), 2))
    return X, y, rng.integers(1, 4, len(y)).astype(float), t


@pytest.fixture(scope="module")
def glmnet(data, tmp_path_factory):
    """The coefficients of R's glmnet, intercepts first, by name."""
    if not which("Rscript") or subprocess.run(["Rscript", "-e", "library(glmnet)"], capture_output=True).returncode:
        pytest.skip("R with glmnet is not installed")
    folder = tmp_path_factory.mktemp("glmnet")
    X, y, w, t = data
    np.savetxt(folder / "data.csv", np.column_stack([X, y, w, t]), delimiter=",", fmt="%.17g")
    subprocess.run(["Rscript", "-e", SCRIPT], cwd=folder, check=True, capture_output=True, timeout=120)
    return {name: np.loadtxt(folder / f"{name}.txt") for name in NAMES}


def ours(name, X, y, w, t):
    """Our model at the strength that the page says."""
    n, noise, exact = len(y), 2.0, {"standardize": True, "tol": 1e-11}
    if name == "gaussian":
        return LaplaceRegressor(lam=n * LAMBDA / noise**0.5, noise=noise, tol=1e-11).fit(X, t[:, 0])
    if name == "gaussian_raw":
        return LaplaceRegressor(lam=n * LAMBDA / noise, noise=noise, standardize=False, tol=1e-11).fit(X, t[:, 0])
    if name == "targets":
        shared = {"noise": noise, "groups": "features", "standardize": False, "tol": 1e-11}
        return LaplaceRegressor(lam=n * LAMBDA / noise, **shared).fit(X, t)
    if name == "grouped_two":
        return SMLR(lam=n * LAMBDA / 2**0.5, **exact).fit(X, y == 0)
    if name == "weights":
        return SMLR(lam=w.sum() * LAMBDA, **exact).fit(X, y, sample_weight=w)
    model = {
        "l1": SMLR(lam=n * LAMBDA, **exact),
        "elastic": SMLR(lam=n * LAMBDA * ALPHA, l2=n * LAMBDA * (1 - ALPHA), **exact),
        "ridge": RMLR(lam=n * LAMBDA, **exact),
        "factors": SMLR(lam=n * LAMBDA, penalty_factor=FACTOR * len(FACTOR) / FACTOR.sum(), **exact),
        "grouped": SMLR(lam=n * LAMBDA, groups="features", **exact),
        "grouped_elastic": SMLR(lam=n * LAMBDA * ALPHA, l2=n * LAMBDA * (1 - ALPHA), groups="features", **exact),
    }[name]
    return model.fit(X, y)


@pytest.mark.parametrize("name", NAMES)
def test_the_conversion_gives_the_weights_of_glmnet(name, data, glmnet):
    theirs = glmnet[name][1:]
    if name == "grouped_two":  # two columns, whose difference is our one
        theirs = theirs[:, 1:] - theirs[:, :1]
    assert_allclose(ours(name, *data).coef_.T.reshape(theirs.shape), theirs, atol=2e-5)


def wine(classes=3):
    """Standardised columns, in the layout of adelie, and codes of the classes."""
    X, y = load_wine(return_X_y=True)
    return np.asfortranarray(scale(X)[y < classes]), y[y < classes]


@pytest.mark.parametrize("groups", ["features", "labels", "labels with a penalty"])
def test_the_conversion_gives_the_objective_of_adelie(groups):
    adelie = pytest.importorskip("adelie")
    (X, y), lmda, K = wine(), 0.01, 3
    labels = np.arange(13) if groups == "features" else LABELS
    starts = np.unique(labels, return_index=True)[1]
    own = np.array([1.0, 2.0, 0.5, 1.5, 3.0]) if groups == "labels with a penalty" else None
    theirs = adelie.grpnet(
        X, adelie.glm.multinomial(np.asfortranarray(np.eye(K)[y])), groups=starts, penalty=own, lmda_path=[lmda],
        tol=1e-14, irls_tol=1e-12, early_exit=False, adev_tol=1.0, progress_bar=False,
    )  # fmt: skip
    W, b = theirs.betas.toarray().reshape(13, K).T, np.asarray(theirs.intercepts)[0]
    lam = len(y) * K * lmda * (1 if own is not None else K**0.5)
    model = SMLR(lam=lam, groups="features" if groups == "features" else LABELS, group_factor=own, tol=1e-10).fit(X, y)
    F, factor = X @ W.T + b, np.sqrt(np.bincount(labels)) if own is None else own
    norms = sum(c * np.linalg.norm(W[:, labels == g]) for g, c in enumerate(factor))
    value = (logsumexp(F, axis=1) - F[np.arange(len(y)), y]).sum() + lam * norms
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert_allclose(model.coef_, W, atol=5e-3)


@pytest.mark.slow  # skglm compiles for a minute
def test_the_conversion_gives_the_weights_of_skglm():
    pytest.importorskip("skglm")
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import LogisticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupProxNewton

    (X, y), alpha = wine(classes=2), 0.05
    weights, sizes = np.array([1.0, 2.0, 0.5, 1.5, 3.0]), np.bincount(LABELS)
    parts = {"grp_ptr": np.r_[0, np.cumsum(sizes)].astype(np.int32), "grp_indices": np.arange(13, dtype=np.int32)}
    theirs = GeneralizedLinearEstimator(
        LogisticGroup(**parts), WeightedGroupL2(alpha, weights, **parts),
        GroupProxNewton(tol=1e-10, fit_intercept=False, max_iter=1000, max_pn_iter=1000),
    ).fit(X, 2.0 * y - 1)  # fmt: skip
    shared = {"groups": LABELS, "group_factor": weights, "fit_intercept": False, "tol": 1e-12}
    assert_allclose(SMLR(lam=len(y) * alpha, **shared).fit(X, y).coef_[0], np.ravel(theirs.coef_), atol=1e-6)
