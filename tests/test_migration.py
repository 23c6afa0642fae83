"""What the page about glmnet converts is what glmnet itself computes."""

import subprocess
from shutil import which

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from smaller import RMLR, SMLR, LaplaceRegressor

LAMBDA, ALPHA = 0.02, 0.6
FACTOR = np.array([1.0, 2.0, 0.5, 3.0])
NAMES = ("l1", "elastic", "ridge", "factors", "weights", "grouped", "grouped_elastic", "gaussian", "gaussian_raw")

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
fit("gaussian", t, family = "gaussian", lambda = 0.02)
fit("gaussian_raw", t, family = "gaussian", lambda = 0.02, standardize = FALSE)
"""


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    return X, y, rng.integers(1, 4, len(y)).astype(float), X @ [1, 0, -2, 3] + rng.standard_normal(len(y))


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
        return LaplaceRegressor(lam=n * LAMBDA / noise**0.5, noise=noise, tol=1e-11).fit(X, t)
    if name == "gaussian_raw":
        return LaplaceRegressor(lam=n * LAMBDA / noise, noise=noise, standardize=False, tol=1e-11).fit(X, t)
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
    assert_allclose(ours(name, *data).coef_.T, glmnet[name][1:], atol=2e-5)
