"""Points of a path, both strengths of a search, and columns fitted again without a penalty."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from smaller import SMLR, SMLRCV, LaplaceRegressor, load, path, refit, report, save
from smaller.errors import EmptyModelWarning
from smaller.inference import StabilitySelection, certified_support, debiased

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
        with pytest.raises(ValueError, match=r"lam must be from .*, the strengths of the path"):
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
    with pytest.raises(NotFittedError):
        refit(SMLR(), X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but SMLR is expecting"):
        refit(SMLR(1.0).fit(X, Y), X[:, :2], Y)


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


def log_likelihood(P, y):
    return np.log(P[np.arange(len(y)), y]).mean()


def by_hand(X, y, lams, l2, cv):
    """Mean held-out log-likelihoods of every share at every strength, by single fits and refits."""
    found = np.full((cv, 5, len(lams)), np.nan)
    for fold, (train, test) in enumerate(StratifiedKFold(cv).split(X, y)):
        for i, lam in enumerate(lams):
            model = SMLR(lam, l2=l2, tol=1e-10).fit(X[train], y[train])
            again = refit(model, X[train], y[train]) if len(model.support_) else model
            for g, share in enumerate((1, 0.75, 0.5, 0.25, 0)):
                F = sum(
                    part * (X[test] @ each.coef_.T + each.intercept_)
                    for part, each in ((share, model), (1 - share, again))
                )
                F = np.column_stack([np.zeros(len(F)), F]) if F.shape[1] == 1 else F
                found[fold, g, i] = log_likelihood(softmax(F, axis=1), y[test])
    return found


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("rule", ["min", "1se"])
def test_a_relaxed_search_scores_what_single_fits_and_refits_score(rule, m):
    rng = np.random.default_rng(m)
    Z = rng.normal(size=(240, 7))
    y = (3 * Z[:, :m] + rng.gumbel(size=(240, m)) * 2).argmax(axis=1)
    lams, ridges = [60.0, 30.0, 15.0, 6.0], [5.0, 0.0]
    with warnings.catch_warnings(action="ignore", category=EmptyModelWarning):
        model = SMLRCV(lams, l2=ridges, relax=True, rule=rule, cv=3).fit(Z, y)
        expected = np.stack([by_hand(Z, y, lams, l2, 3) for l2 in sorted(ridges)], axis=1)
    assert_allclose(model.all_scores_, expected, atol=1e-5)
    mean = expected.mean(axis=0).round(7)  # without shares of the L1 fit the ridge terms score the same
    ridge, share, at = np.unravel_index(mean.argmax(), mean.shape)
    if rule == "1se":
        error = expected[:, ridge, share, at].std(ddof=1) / np.sqrt(3)
        at = int(np.flatnonzero((mean >= mean.max() - error).any(axis=(0, 1)))[0])
        ridge, share = np.unravel_index(mean[..., at].argmax(), mean.shape[:2])
    assert (model.lam_, model.l2_, model.lasso_share_) == (lams[at], sorted(ridges)[ridge], 1 - share / 4)
    single = SMLR(model.lam_, l2=model.l2_).fit(Z, y)
    again, part = refit(single, Z, y), model.lasso_share_
    assert_allclose(model.coef_, part * single.coef_ + (1 - part) * again.coef_, atol=1e-6)
    assert_allclose(model.intercept_, part * single.intercept_ + (1 - part) * again.intercept_, atol=1e-6)
    assert_allclose(model.path_.at(model.lam_).coef, single.coef_, atol=1e-6)
    assert model.objective_ == pytest.approx(single.objective_)
    assert max(model.dual_gap_, model.violation_) <= 1e-5


def test_where_the_columns_have_no_refit_the_l1_fit_is_the_only_candidate():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, 60))
    y = (wide[:, 0] > 0).astype(int)  # the first column separates the classes
    model = SMLRCV(lams=12, relax=True, cv=4).fit(wide, y)
    assert model.lasso_share_ == 1.0
    entered = np.flatnonzero(model.path_.n_kept)[1:]
    assert_array_equal(model.all_scores_[:, 0, 1:, entered], model.all_scores_[:, 0, :1, entered].repeat(4, axis=2))
    with pytest.raises(ValueError, match="relax=True is for columns"):
        SMLRCV(relax=True, basis="rbf").fit(X, Y)


def test_a_relaxed_search_finds_fewer_columns_and_fits_better_where_few_are_strong():
    """What the relaxed lasso is for (Meinshausen 2007): the L1 search pays for little shrinkage with false columns."""
    rng = np.random.default_rng(3)
    kept, losses = [], []
    for _ in range(5):
        Z = rng.normal(size=(1200, 40))
        y = (Z[:, :3] @ [2.0, -2.0, 2.0] + rng.logistic(size=1200) > 0).astype(int)
        pair = [SMLRCV(lams=25, relax=relax, cv=4).fit(Z[:300], y[:300]) for relax in (False, True)]
        kept.append([len(model.support_) for model in pair])
        losses.append([-log_likelihood(model.predict_proba(Z[300:]), y[300:]) for model in pair])
    assert np.mean(kept, axis=0)[1] < 0.6 * np.mean(kept, axis=0)[0]
    assert np.mean(losses, axis=0)[1] < np.mean(losses, axis=0)[0]


def test_a_relaxed_model_is_saved_recognised_and_proved_by_its_l1_fit(tmp_path):
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(300, 12))
    y = (Z[:, :2] @ [2.0, -2.0] + rng.logistic(size=300) > 0).astype(int)
    model = SMLRCV(lams=25, l2=[0.0, 1e-12], relax=True, cv=4).fit(Z, y)
    assert model.lasso_share_ < 1
    save(model, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert_array_equal(again.all_scores_, model.all_scores_)
    assert_array_equal(again.predict_proba(Z), model.predict_proba(Z))
    facts = report(again, Z, y).facts
    assert facts["data"]["training_sample"]
    assert "without a penalty" in facts["certificate"]["meaning"]
    assert "without a penalty" in facts["path"]["note"]
    assert facts["path"]["kept"][facts["path"]["at"]] == facts["kept"]["number"]
    single = SMLRCV([model.lam_], relax=True, cv=4).fit(Z, y)
    proved = certified_support(single, Z, y)
    assert not proved.zero[single.support_].any()
    assert not proved.nonzero[np.setdiff1d(range(12), single.support_)].any()
    with pytest.raises(ValueError, match="relax=True takes some of it away already"):
        debiased(single, Z, y)


def test_a_model_that_is_to_choose_its_ridge_term_has_no_path_before():
    with pytest.raises(ValueError, match="One ridge term is needed here"):
        StabilitySelection(SMLRCV(l2=[0.0, 1.0])).fit(X, Y)


@pytest.mark.parametrize("l2", [[-1.0], [], [[1.0]], [np.nan]])
def test_candidates_of_the_ridge_term_are_numbers_that_are_not_negative(l2):
    with pytest.raises(ValueError, match="l2 must be a number that is not negative, or a list"):
        SMLRCV(l2=l2).fit(X, Y)
