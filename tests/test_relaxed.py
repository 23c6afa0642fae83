"""Points of a path, both strengths of a search, and columns fitted again without a penalty."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal

from smaller import SMLR, SMLRCV, LaplaceRegressor, path, refit

X, Y = clusters(n=150, p=6, m=3)


def test_a_path_is_exact_at_its_points_and_linear_between_them():
    found = path(X, Y, 20)
    for i in (0, 7, 19):
        point = found.at(found.lams[i])
        assert_array_equal(point.coef, found.coefs[i])
        assert_array_equal(point.intercept, found.intercepts[i])
    middle = (found.lams[7] + found.lams[8]) / 2
    assert_allclose(found.at(middle).coef, (found.coefs[7] + found.coefs[8]) / 2, atol=1e-12)
    exact = SMLR(middle, tol=1e-10).fit(X, Y)
    assert_allclose(found.at(middle).coef, exact.coef_, atol=0.05 * np.abs(exact.coef_).max())
    for lam in (1.01 * found.lams[0], 0.99 * found.lams[-1], np.nan):
        with pytest.raises(ValueError, match="The path has strengths from"):
            found.at(lam)


@pytest.mark.parametrize("rule", ["min", "1se"])
def test_a_search_keeps_both_strengths_and_its_whole_path(rule):
    model = SMLRCV(lams=15, rule=rule, cv=4).fit(X, Y)
    other = SMLRCV(lams=15, rule="1se" if rule == "min" else "min", cv=4).fit(X, Y)
    assert (model.lam_min_, model.lam_1se_) == (other.lam_min_, other.lam_1se_)
    assert model.lam_1se_ >= model.lam_min_
    assert model.lam_ == (model.lam_min_ if rule == "min" else model.lam_1se_)
    assert_array_equal(model.path_.lams, model.lams_)
    assert_allclose(model.path_.at(model.lam_).coef, model.coef_)
    assert_allclose(model.path_.at(other.lam_).coef, other.coef_, atol=1e-4 * np.abs(other.coef_).max())
    assert (model.path_.dual_gaps <= model.tol).all()


def unpenalised(X, y, columns, m):
    """Newton's method on the symmetric softmax with a tiny ridge against its one free direction."""
    Phi = np.column_stack([X[:, columns], np.ones(len(X))])
    W, T = np.zeros((Phi.shape[1], m)), np.eye(m)[y]
    for _ in range(60):
        F = Phi @ W
        P = np.exp(F - F.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        G = Phi.T @ (P - T)
        H = np.zeros((W.size, W.size))
        for a in range(m):
            for b in range(m):
                s = P[:, a] * ((a == b) - P[:, b])
                H[a::m, b::m] = Phi.T @ (s[:, None] * Phi)
        W = W - np.linalg.solve(H + 1e-10 * np.eye(W.size), G.ravel()).reshape(W.shape)
    return P


def test_a_refit_is_the_maximum_of_the_likelihood_on_the_columns_kept():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 200)
    Z = rng.normal(size=(200, 8)) + 0.7 * np.eye(8)[y]
    model = SMLR(12.0).fit(Z, y)
    assert 0 < len(model.support_) < 8
    again = refit(model, Z, y)
    assert_array_equal(again.support_, model.support_)
    assert_allclose(again.predict_proba(Z), unpenalised(Z, y, model.support_, 3), atol=1e-6)
    own = refit(model, Z, y, support="class")
    assert_array_equal(own.coef_ != 0, model.coef_ != 0)


def test_what_has_no_refit_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match="refit takes a fitted SMLR, SMLRCV or SBMLR; got LaplaceRegressor"):
        refit(LaplaceRegressor().fit(X, Y.astype(float)), X, Y)
    separable = np.repeat([[0.0], [1.0]], 20, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(40, 1))
    labels = np.repeat([0, 1], 20)
    with pytest.raises(ValueError, match=r"no optimum without a penalty .*take a model with a stronger prior"):
        refit(SMLR(1.0).fit(separable, labels), separable, labels)
    wide = np.random.default_rng(0).normal(size=(20, 40))
    with pytest.raises(ValueError, match="without a penalty there must be fewer than 10"):
        refit(SMLR(0.1).fit(wide, np.arange(20) % 2), wide, np.arange(20) % 2)
    with pytest.raises(ValueError, match="support must be one of"):
        refit(SMLR(1.0).fit(X, Y), X, Y, support="all")


@pytest.mark.skipif("SMALLER_CASES" not in os.environ, reason="SMALLER_CASES names no folder of reference cases")
def test_a_refit_is_that_of_glmnet():
    folder = Path(os.environ["SMALLER_CASES"], "select_relax")
    given = np.load(folder / "input.npz")
    reference = json.loads((folder / "reference.json").read_text())
    for case in reference["results"]:
        n = len(given["X"])
        model = SMLR(case["lam_per_n"] * n, tol=1e-12).fit(given["X"], given["y"])
        again = refit(model, given["X"], given["y"])
        for gamma, name in ((1.0, "gamma1"), (0.5, "gamma05"), (0.0, "gamma0")):
            coef = gamma * model.coef_[0] + (1 - gamma) * again.coef_[0]
            assert_allclose(coef, case["binary"][name][1:], atol=2e-5)
        if "multinomial" in case:
            three = SMLR(case["lam_per_n"] * len(given["X3"]), tol=1e-12).fit(given["X3"], given["y3"])
            P = refit(three, given["X3"], given["y3"]).predict_proba(given["X3"][:10])
            assert_allclose(P, case["multinomial"]["probs_first10"]["gamma0"], atol=1e-5)
