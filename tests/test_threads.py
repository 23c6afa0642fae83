"""A fit does not depend on how many threads BLAS has, nor on other fits that run at the same time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import clusters
from scipy import sparse
from sklearn.base import clone, is_classifier
from threadpoolctl import threadpool_info, threadpool_limits

from smaller import (
    JCFO,
    JFSCL,
    LRVM,
    RMLR,
    SBMLR,
    SMLR,
    SMLRCV,
    JeffreysClassifier,
    JeffreysRegressor,
    LaplaceRegressor,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
)

# Some fits stop after a few steps: that makes them quick, and no easier to repeat.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N, P = 300, 40  # large enough that BLAS divides its work among threads
NARROW = 6  # columns for solvers of many small steps, which eight threads on two processors would slow down a lot
X, CODES = clusters(n=N, p=P, m=3, seed=3)
NUMBERS = X[:, :5] @ [1.0, -2.0, 0.5, 0.0, 1.5] + 0.5 * np.random.default_rng(0).normal(size=N)
FEW = 120  # rows for kernels

# Name: (model, what of X it is given).
FAMILIES = {
    "newton": (SMLR(2.0, tol=1e-10), "dense"),
    "newton, sparse": (SMLR(2.0, tol=1e-10), "sparse"),
    "newton with a ridge, not compiled": (SMLR(2.0, l2=0.5, tol=1e-10), "dense"),
    "newton on a kernel": (SMLR(0.5, basis="rbf", tol=1e-10), "few"),
    "component-wise": (SMLR(2.0, solver="component-wise", tol=1e-8), "dense"),
    "bound": (SMLR(2.0, solver="bound", max_iter=20), "few columns"),
    "ridge": (RMLR(2.0, tol=1e-10), "dense"),
    "fixed point": (SBMLR(tol=1e-10), "dense"),
    "cross-validation": (SMLRCV(lams=10, cv=3, tol=1e-8), "dense"),
    "lasso": (LaplaceRegressor(tol=1e-10), "dense"),
    "lasso by EM": (LaplaceRegressor(solver="em", max_iter=30), "dense"),
    "Jeffreys": (JeffreysRegressor(tol=1e-10), "dense"),
    "Jeffreys, classes": (JeffreysClassifier(max_iter=10), "few columns"),
    "evidence, fast": (RVMRegressor("linear", tol=1e-6), "few columns"),
    "evidence, original": (RVMRegressor("linear", algorithm="original", tol=1e-6), "few columns"),
    "evidence by Laplace": (RVMClassifier(tol=1e-6), "few columns"),
    "Type I": (TypeIRegressor(max_iter=30), "few columns"),
    "Type II, EM": (TypeIIRegressor("em", max_iter=30), "few columns"),
    "Type II, MacKay": (TypeIIRegressor("mackay", tol=1e-6), "few columns"),
    "Type II, reweighted L1": (TypeIIRegressor("reweighted-l1", tol=1e-6), "few columns"),
    "Type II, classes": (TypeIIClassifier(), "few columns"),
    "boosted lasso": (LRVM(lam=2.0), "few"),
    "gated boosted lasso": (JFSCL(lam=3.0), "few columns"),
    "scaled kernels": (JCFO(2.0, 2.0), "few columns"),
}


def data(model, kind):
    """Inputs and targets for a model."""
    rows = slice(None) if kind in ("dense", "sparse") else slice(FEW)
    chosen = X[rows, :NARROW] if kind == "few columns" else X[rows]
    chosen = sparse.csr_array(np.where(np.abs(chosen) > 1, chosen, 0.0)) if kind == "sparse" else chosen
    return chosen, (CODES if is_classifier(model) else NUMBERS)[rows]


def fitted(name):
    """Weights, intercepts, predictions and the objective of a new fit, as one vector."""
    model, kind = FAMILIES[name]
    inputs, targets = data(model, kind)
    model = clone(model).fit(inputs, targets)
    predict = model.predict_proba if is_classifier(model) else model.predict
    parts = [model.coef_, model.intercept_, predict(inputs), model.objective_, model.support_]
    return np.concatenate([np.ravel(part).astype(float) for part in parts])


def families(but=()):
    """Solvers of many small steps are slow with more threads than processors: those are for `make test-slow`."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in but else name for name in FAMILIES]


MANY_STEPS = [
    *("bound", "Jeffreys, classes", "evidence, fast", "evidence, original", "evidence by Laplace", "Type I"),
    *("Type II, EM", "Type II, MacKay", "Type II, reweighted L1", "Type II, classes"),
    *("boosted lasso", "gated boosted lasso", "scaled kernels"),
]
ROUNDING = 1e-9  # relative to the largest number: BLAS adds in another order when it divides a product among threads


@pytest.mark.parametrize("name", families(but=MANY_STEPS))
def test_eight_threads_find_what_one_finds(name):
    with threadpool_limits(1):
        alone = fitted(name)
    with threadpool_limits(8):
        if not any(pool["num_threads"] == 8 for pool in threadpool_info()):
            pytest.skip("no library here takes eight threads")
        found = fitted(name)
    np.testing.assert_allclose(found, alone, rtol=0, atol=ROUNDING * np.abs(alone).max())


def test_fits_at_the_same_time_are_the_same_as_one_by_one():
    """To the last bit: each fit has its own state, and the compiled core shares none."""
    with threadpool_limits(1):
        alone = {name: fitted(name) for name in FAMILIES}
        with ThreadPoolExecutor(4) as pool:
            together = [(name, pool.submit(fitted, name)) for name in [*FAMILIES, *reversed(FAMILIES)]]
            found = [(name, future.result()) for name, future in together]
    for name, values in found:
        np.testing.assert_array_equal(values, alone[name], err_msg=name)
