"""The width of a kernel, chosen by evidence or by cross-validation, for every model that has a kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from smaller import (
    JCFO,
    RMLR,
    SBMLR,
    SMLR,
    SMLRCV,
    JeffreysClassifier,
    JeffreysRegressor,
    LaplaceRegressor,
    LaplaceRegressorCV,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
    tune_width,
)
from smaller.basis import Kernel
from smaller.errors import CandidatesWarning

# Of two widths one is far too wide: such models may keep nothing, or stop short.
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::smaller.errors.EmptyModelWarning"
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (60, 1))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(len(X))
CODES = (np.sin(2 * X[:, 0]) + 0.3 * RNG.standard_normal(len(X)) > 0).astype(int)
FACTORS = [0.001, 3.0]  # a kernel that is nearly the same everywhere, and one that sees the waves

BY_EVIDENCE = {
    "RVMRegressor": RVMRegressor(),
    "RVMClassifier": RVMClassifier(Kernel("rbf", centers=40)),
    "TypeIIRegressor": TypeIIRegressor(basis="rbf"),
}
BY_FOLDS = {
    "TypeIIClassifier": TypeIIClassifier(basis="rbf"),
    "SMLR": SMLR(0.1, basis="rbf"),
    "SMLR, laplacian": SMLR(0.1, basis=Kernel("laplacian")),
    "RMLR": RMLR(0.1, basis="rbf"),
    "SBMLR": SBMLR(basis="rbf"),
    "SMLRCV": SMLRCV(basis="rbf", lams=6, cv=3),
    "JeffreysClassifier": JeffreysClassifier(basis="rbf"),
    "LaplaceRegressor": LaplaceRegressor(basis="rbf"),
    "LaplaceRegressorCV": LaplaceRegressorCV(basis="rbf", lams=6, cv=3),
    "JeffreysRegressor": JeffreysRegressor(basis="rbf"),
    "TypeIRegressor": TypeIRegressor(basis="rbf"),
    "JCFO": JCFO(max_iter=20),
}


def targets(name):
    return CODES if "ML" in name or "Classifier" in name or name == "JCFO" else Y


@pytest.mark.parametrize("name", [*BY_EVIDENCE, *BY_FOLDS])
def test_every_model_with_a_kernel_finds_the_width_that_sees_the_waves(name):
    model, y = {**BY_EVIDENCE, **BY_FOLDS}[name], targets(name)
    best = tune_width(model, X, y, FACTORS)
    assert not hasattr(model, "coef_")
    assert type(best) is type(model)
    assert best.basis.kernel == ("laplacian" if "laplacian" in name else "rbf")
    assert best.basis.gamma == best.widths_[1] == best.basis_.gamma_
    assert best.width_scores_[1] == best.width_scores_.max() > best.width_scores_[0]
    if name in BY_EVIDENCE:
        assert best.width_scores_[1] == best.evidence_
    if isinstance(model.basis, Kernel):
        assert best.basis.centers == model.basis.centers


def test_scores_of_folds_are_those_of_scikit_learn():
    model = SMLR(0.1, basis="rbf")
    best = tune_width(model, X, CODES, FACTORS)
    for width, score in zip(best.widths_, best.width_scores_, strict=True):
        here = clone(model).set_params(basis=Kernel(gamma=width))
        P = cross_val_predict(here, X, CODES, cv=StratifiedKFold(5), method="predict_proba")
        assert_allclose(score, -log_loss(CODES, P), rtol=1e-6)
    best = tune_width(LaplaceRegressor(basis="rbf"), X, Y, FACTORS)
    here = LaplaceRegressor(basis=Kernel(gamma=best.widths_[1]))
    assert_allclose(best.width_scores_[1], -np.mean((cross_val_predict(here, X, Y, cv=KFold(5)) - Y) ** 2), rtol=1e-6)


def test_samples_of_weight_0_count_for_nothing():
    weight = np.where(np.arange(len(X)) < 50, 1.0, 0.0)
    for model, y in ((SMLR(0.1, basis="rbf"), CODES), (LaplaceRegressor(basis="rbf"), Y), (RVMRegressor(), Y)):
        best, same = tune_width(model, X, y, FACTORS, sample_weight=weight), tune_width(model, X[:50], y[:50], FACTORS)
        assert_allclose(best.width_scores_, same.width_scores_, rtol=1e-8)


def test_machines_of_many_rows_keep_their_limit_of_candidates(monkeypatch):
    monkeypatch.setattr("smaller.basis.centers.MOST", 20)
    best = tune_width(RVMRegressor(), X, Y, FACTORS)  # "auto" is now said aloud: no warning
    assert best.basis.centers == "auto"
    assert best.coef_.shape == (20,)
    with pytest.warns(CandidatesWarning):
        RVMRegressor().fit(X, Y)


def test_what_has_no_width_is_refused():
    for model in (SMLR(), RVMRegressor("linear"), RVMRegressor(Kernel("linear"))):
        with pytest.raises(ValueError, match=r"tune_width needs a basis with a width, basis='rbf'.* has basis="):
            tune_width(model, X, CODES)
    with pytest.raises(ValueError, match="a model with a kernel; got LogisticRegression"):
        tune_width(LogisticRegression(), X, CODES)
    with pytest.raises(ValueError, match="at least one number"):
        tune_width(RVMRegressor(), X, Y, [])
