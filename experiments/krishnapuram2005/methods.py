"""The methods of Table 2: a fitted classifier, and how many basis functions it keeps."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from experiments.krishnapuram2005.problems import Problem
from smaller import RMLR, SMLRCV, EvidenceSearch, RVMClassifier
from smaller.basis import Kernel
from smaller.errors import EmptyModelWarning

TOL = 1e-6
SEARCH_TOL = 1e-3  # enough to tell kernels apart; SMLR is fitted again to TOL on the one chosen
LAMS, EPS = 30, 1e-4  # strengths tried for SMLR, from the largest useful one down to this fraction of it
WIDTHS = 2.0 ** np.arange(-9, 7, 3)  # times 1 / (number of features): the RBF kernel's gamma
RIDGES = 10.0 ** np.linspace(-4, 2, 13)


class Fitted(NamedTuple):
    """A classifier with its number of basis functions and the certificate of its fit."""

    model: Any
    kept: int
    gap: float = 0.0

    def errors(self, X, y) -> int:
        """Count the misclassified."""
        return int((self.model.predict(X) != y).sum())


def mean_and_range(values) -> list[float]:
    """Mean, least and greatest, as the harness shows them."""
    return [float(np.mean(values)), min(values), max(values)]


def inner_folds(k: int = 5) -> StratifiedKFold:
    """Folds that choose a parameter on the training samples."""
    return StratifiedKFold(k, shuffle=True, random_state=0)


def svm(X, y, kernel: str, quick: bool = False) -> tuple[Fitted, Any]:
    """One-versus-rest SVM, its C and the kernel's width chosen by cross-validation; and the kernel as a basis."""
    grid = {"estimator__C": 10.0 ** np.arange(-1, 5, 2 if quick else 1)}
    if kernel == "rbf":
        grid["estimator__gamma"] = (WIDTHS[2:5] if quick else WIDTHS) / X.shape[1]
    search = GridSearchCV(OneVsRestClassifier(SVC(kernel=kernel)), grid, cv=inner_folds()).fit(X, y)
    gamma = search.best_params_.get("estimator__gamma", "scale")
    vectors = sum(len(machine.support_) for machine in search.best_estimator_.estimators_)
    return Fitted(search.best_estimator_, vectors), Kernel(kernel, gamma=gamma)


def smlr(X, y, basis, quick: bool = False, intercept: bool = False, **changes) -> Fitted:
    """SMLR with lambda chosen by cross-validation; ``changes`` to SMLRCV are other choices than those of Table 2."""
    options = {
        "lams": LAMS // 2 if quick else LAMS,
        "eps": EPS * (10 if quick else 1),
        "cv": inner_folds(),
        "parametrization": "reference",
        "fit_intercept": intercept,
        "tol": TOL,
    }
    model = SMLRCV(basis=basis, **{**options, **changes}).fit(X, y)
    return Fitted(model, np.count_nonzero(model.coef_), model.dual_gap_)


def rmlr(X, y, basis, quick: bool = False, intercept: bool = False) -> Fitted:
    """RMLR with lambda chosen by cross-validation."""
    model = RMLR(basis=basis, parametrization="reference", fit_intercept=intercept, tol=TOL)
    grid = {"lam": RIDGES[:: 3 if quick else 1]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=inner_folds()).fit(X, y)
    return Fitted(search.best_estimator_, np.count_nonzero(search.best_estimator_.coef_))


def rvm(X, y, basis) -> Fitted:
    """One-versus-rest relevance vector machines, as in the paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)  # a class that no kernel tells from the rest
        model = RVMClassifier(basis, multiclass="ovr").fit(X, y)
    return Fitted(model, np.count_nonzero(model.coef_))


MULTINOMIAL = {"SMLR": smlr, "RMLR": rmlr}


def on_features(problem: Problem, bunch, train, test, fit, intercept: bool = True) -> tuple[int, int]:
    """Test errors, and features kept, without a kernel."""
    X, y = problem.prepare(bunch.data, train), bunch.target
    fitted = fit(X[train], y[train], "linear", intercept=intercept)
    return fitted.errors(X[test], y[test]), int(fitted.kept)


# Kernels of a method's own choice


def candidates(X, kernel: str) -> list[Kernel]:
    """The kernels to choose from: RBF of all widths; or linear, and RBF about as wide as the samples are apart."""
    spread = X.var(axis=0).sum()  # of standardised columns, their number: then the widths are those of the SVM
    widths = WIDTHS if kernel == "rbf" else WIDTHS[2:5]
    radial = [Kernel("rbf", gamma=width / spread) for width in widths]
    return radial if kernel == "rbf" else [Kernel("linear"), *radial]


def smlr_own(X, y, kernels: list[Kernel]) -> Fitted:
    """SMLR, the kernel and lambda with the least cross-validated deviance; searched on a coarser, looser path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)  # a kernel that tells nothing, such as a far too narrow one
        paths = [smlr(X, y, kernel, lams=LAMS // 2, tol=SEARCH_TOL).model for kernel in kernels]
    scores = [found.scores_.mean(axis=0).max() for found in paths]
    return smlr(X, y, kernels[int(np.argmax(scores))])


def rmlr_own(X, y, kernels: list[Kernel]) -> Fitted:
    """RMLR, the kernel and lambda with the greatest evidence."""
    model = RMLR("evidence", parametrization="reference", fit_intercept=False, tol=SEARCH_TOL)
    chosen = EvidenceSearch(model, {"basis": kernels}).fit(X, y).best_estimator_
    return Fitted(chosen, np.count_nonzero(chosen.coef_))


def rvm_own(X, y, kernels: list[Kernel]) -> Fitted:
    """One-versus-rest RVMs, the kernel with the greatest sum of their evidences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        chosen = EvidenceSearch(RVMClassifier(multiclass="ovr"), {"basis": kernels}).fit(X, y).best_estimator_
    return Fitted(chosen, np.count_nonzero(chosen.coef_))


OWN = {"RVM": rvm_own, "SMLR": smlr_own, "RMLR": rmlr_own}
