"""Proofs that weights are zero, or not: never wrong, and many where the gap is small."""

import numpy as np
import pytest
from scipy import sparse

from smaller import RMLR, SBMLR, SMLR, SMLRCV
from smaller.inference import certified_support


def simulated(seed, n=80, p=40, m=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    W = np.zeros((p, m))
    W[:5] = 1.5 * rng.standard_normal((5, m))
    return X, (X @ W + rng.gumbel(size=(n, m))).argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_nothing_that_is_proved_is_wrong(classes, tol):
    """The optimum itself, to 1e-12, is the judge."""
    zeros = proved = 0
    for seed in range(8):
        X, y = simulated(seed, m=classes)
        weight = 1.0 + np.arange(len(y)) % 3 if seed % 2 else None
        options = {"standardize": seed % 4 > 1, "fit_intercept": seed % 8 > 0}
        exact = SMLR(6.0, tol=1e-12, **options).fit(X, y, weight)
        kept = np.abs(exact.coef_).max(axis=0) > 0
        found = certified_support(SMLR(6.0, tol=tol, **options).fit(X, y, weight), X, y, weight)
        assert not (found.zero & kept).any()
        assert not (found.nonzero & ~kept).any()
        zeros, proved = zeros + (~kept).sum(), proved + found.zero.sum()
    assert proved > {1e-2: 0.4, 1e-4: 0.85, 1e-6: 0.95}[tol] * zeros


def test_kept_features_are_proved_to_be_in_and_every_storage_agrees():
    X, y = simulated(1)
    X = np.where(np.abs(X) > 0.5, X, 0)
    plain = certified_support(SMLR(6.0, tol=1e-8).fit(X, y), X, y)
    assert plain.nonzero.sum() >= 4
    assert (plain.zero | plain.nonzero).mean() > 0.9
    other = certified_support(SMLR(6.0, tol=1e-8).fit(sparse.csr_array(X), y), sparse.csr_array(X), y)
    assert (plain.zero == other.zero).all()
    assert (plain.nonzero == other.nonzero).all()


@pytest.mark.parametrize("model", [SMLRCV(lams=8, cv=3), SBMLR()], ids=lambda model: type(model).__name__)
def test_strengths_that_were_chosen_are_used(model):
    X, y = simulated(2, m=2)
    model.fit(X, y)
    found = certified_support(model, X, y)
    at = SMLR(model.lam_, standardize=model.standardize, tol=1e-12).fit(X, y)
    kept = np.abs(at.coef_).max(axis=0) > 0
    assert not (found.zero & kept).any()
    assert not (found.nonzero & ~kept).any()
    assert found.zero.any()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RMLR(), "takes a fitted SMLR, SMLRCV or SBMLR; got RMLR"),
        (SMLR(l2=1.0), "basis='linear', l2=0 and no groups"),
        (SMLR(basis="rbf"), "basis='linear', l2=0 and no groups"),
        (SMLR(parametrization="reference"), "parametrization='symmetric'"),
    ],
)
def test_other_models_are_refused(model, message):
    X, y = simulated(0)
    with pytest.raises(ValueError, match=message):
        certified_support(model.fit(X, y), X, y)


def test_inputs_with_other_columns_are_refused():
    X, y = simulated(0)
    with pytest.raises(ValueError, match=f"was fitted on {X.shape[1]} columns, but X has 2; give the columns"):
        certified_support(SMLR(1.0).fit(X, y), X[:, :2], y)
