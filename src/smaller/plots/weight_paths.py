"""Plots of the regularisation path, and of the loss against the number of columns kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..design import as_design
from ..models.selector import input_names
from ..tuning.cross_validation import SMLRCV
from ..tuning.path import Path, path
from ..tuning.ranking import Score
from ..tuning.relaxed import ridge_of
from ..tuning.training_path import path_of, strength_of
from .display import COLOURS, GREY, Display

STYLES = ["-", "--", ":", "-."]  # of the classes
NAMED = len(COLOURS)  # columns in colour


class PathDisplay(Display):
    """Weights against the strength of the prior: which columns enter as it weakens.

    Parameters
    ----------
    lams : ndarray of shape (L,)
    weights : ndarray of shape (L, k, d)
        Of each score and column at each strength.
    names : sequence of str
        Of the columns.
    chosen : float or None
        A strength to mark.
    classes : sequence of str
        Of the k scores, where there are several.
    unit : str
        The unit of the columns: weights are per this unit.
    what : str
        What the curves are, on the axis.

    Attributes
    ----------
    ax_, figure_
    lines_ : list of Line2D
        Those in colour.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SMLR
    >>> from smaller.plots import PathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = PathDisplay.from_estimator(SMLR(2.0).fit(X, y), X, y)
    >>> display.weights.shape
    (50, 3, 4)
    """

    def __init__(self, lams, weights, names, chosen=None, classes=(), unit="standard deviation", what="weight"):
        self.lams = lams
        self.weights = weights
        self.names = names
        self.chosen = chosen
        self.classes = classes
        self.unit = unit
        self.what = what

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, lams=50, eps=None, names=None, norms=False, ax=None
    ) -> PathDisplay:
        """The path on samples with the settings of a fitted model, whose own strength is marked.

        Classifiers have the path of :class:`SMLR`, regressors that of :class:`LaplaceRegressor`. Without X and y it is
        the path that was kept with the model (``path_``), as :class:`SMLRCV` and ``smaller fit`` do, with weights per
        unit of the columns. With ``norms=True`` there is a curve for each group of the model (without groups: each
        column), the norm of all its weights.
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "relevance_vectors_"):
            raise ValueError(
                "A path has as many curves as there are columns, too many for a kernel; use a linear basis."
            )
        names = input_names(estimator, names)
        columns = np.asarray(estimator.basis_.names(names), dtype=object)
        shared = {"names": columns, "chosen": strength_of(estimator), "ax": ax}
        groups = getattr(estimator, "groups", None)
        shared["groups"] = None if not norms else "features" if groups is None else groups
        if X is None or y is None:
            return cls.from_path(_kept_path(estimator), **shared)
        found = path_of(estimator, X, y, lams, eps=eps)
        return cls.from_path(found, estimator.basis_.transform(X), **shared)

    @classmethod
    def from_path(cls, found: Path, X=None, *, names=None, chosen=None, groups=None, ax=None) -> PathDisplay:
        """A path that was computed before; with the columns X the weights are per standard deviation of each.

        With ``groups``, "features" or the label of each column, the curves are the norms of all weights of a group.
        """
        weights, unit, what = found.coefs, "unit", "weight"
        if X is not None:
            weights, unit = weights * deviations_of(X), "standard deviation"
        names = [f"x{j}" for j in range(weights.shape[2])] if names is None else names
        classes = [str(label) for label in found.classes] if weights.shape[1] > 1 else ()
        if groups is not None:
            names, member = (names, np.arange(len(names))) if isinstance(groups, str) else _by_label(groups)
            square = np.zeros((len(names), len(weights)))
            np.add.at(square, member, np.square(weights).sum(axis=1).T)
            weights, classes, what = np.sqrt(square).T[:, None, :], (), "norm of the weights"
        within = chosen is not None and found.lams[-1] <= chosen <= found.lams[0]
        return cls(found.lams, weights, list(names), chosen if within else None, classes, unit, what).plot(ax)

    def plot(self, ax=None) -> PathDisplay:
        """Draw the curves of the columns that grow most in colour, all others in grey."""
        ax = self._axes(ax)
        order = np.argsort(-np.abs(self.weights).max(axis=(0, 1)), kind="stable")
        shown = [j for j in order[:NAMED] if self.weights[:, :, j].any()]
        for j in order[len(shown) :]:
            ax.plot(self.lams, self.weights[:, :, j], color=GREY, linewidth=1)
        self.lines_ = [
            *(self._draw(ax, j, k, colour) for j, colour in zip(shown, COLOURS, strict=False) for k in self._rows(j))
        ]
        if self.chosen is not None:
            ax.axvline(self.chosen, color="black", linestyle=":", linewidth=1.2, label="the model")
        for k, label in enumerate(self.classes):
            ax.plot([], [], STYLES[k % len(STYLES)], color="0.4", label=f"for {label}")
        ax.set(xscale="log", xlabel="strength of the prior (weaker to the right)", xlim=(self.lams[0], self.lams[-1]))
        ax.set_ylabel(f"{self.what} per {self.unit}")
        ax.legend(loc="best", fontsize="small", frameon=False)
        return self

    def _rows(self, j: int) -> list[int]:
        return np.flatnonzero(self.weights[:, :, j].any(axis=0)).tolist()

    def _draw(self, ax, j: int, k: int, colour: str) -> Any:
        label = self.names[j] if k == self._rows(j)[0] else None
        style = STYLES[k % len(STYLES)]
        return ax.plot(self.lams, self.weights[:, k, j], style, color=colour, linewidth=1.8, label=label)[0]


def _by_label(labels) -> tuple[list[str], np.ndarray]:
    """The names of groups, and the place of each column's among them."""
    found, member = np.unique(np.asarray(labels), return_inverse=True)
    return [str(label) for label in found], member


def _kept_path(estimator) -> Path:
    found = getattr(estimator, "path_", None)
    if not isinstance(found, Path):
        raise ValueError(
            f"No path was kept with this {type(estimator).__name__}; give X and y, the samples that it was fitted on, "
            "or fit SMLRCV, which keeps its path."
        )
    return found


class SparsityDisplay(Display):
    """Loss on held-out samples against the number of columns kept: the cost of sparsity.

    Parameters
    ----------
    kept, losses, errors : ndarray of shape (n,)
        Columns kept, loss, and the standard error of the loss.
    labels : sequence of str
        Names of the points, where they are different models.
    chosen : int or None
        The point to mark.
    loss : str
        The name of the loss.

    Attributes
    ----------
    ax_, figure_
    errorbar_ : ErrorbarContainer

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SMLRCV
    >>> from smaller.plots import SparsityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SparsityDisplay.from_estimator(SMLRCV(lams=10).fit(X, y), X, y)
    >>> display.kept.tolist()
    [0, 1, 1, 1, 1, 2, 3, 4, 4, 4]
    """

    def __init__(self, kept, losses, errors, labels=(), chosen=None, loss="loss"):
        self.kept = kept
        self.losses = losses
        self.errors = errors
        self.labels = labels
        self.chosen = chosen
        self.loss = loss

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None) -> SparsityDisplay:
        """The scores of a fitted :class:`SMLRCV` against the number of columns kept at each of its strengths."""
        check_is_fitted(estimator)
        if not isinstance(estimator, SMLRCV):
            name = type(estimator).__name__
            raise ValueError(f"{name} has not tried several strengths; give a fitted SMLRCV, or use from_scores.")
        wanted = (
            *("basis", "standardize", "fit_intercept", "class_weight", "l2", "penalty_factor", "parametrization"),
            *("groups", "l1_share", "group_factor"),
        )
        shared = {name: getattr(estimator, name) for name in wanted}
        shared["l2"] = ridge_of(estimator)
        kept = path(X, y, estimator.lams_, tol=1e-4, **shared).n_kept
        scores = estimator.scores_
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.zeros(scores.shape[1])
        word = "log-loss" if estimator.scoring is None else "negative score"
        chosen = int(np.abs(estimator.lams_ - estimator.lam_).argmin())
        return cls(kept, -scores.mean(axis=0), error, chosen=chosen, loss=f"{word} of the folds").plot(ax)

    @classmethod
    def from_scores(cls, scores: Sequence[Score], *, ax=None) -> SparsityDisplay:
        """Models that were compared (by ``smaller.tuning.ranking.cross_validated``), each a point with its name."""
        kept, losses, errors = np.array([(score.kept, score.loss, score.loss_error) for score in scores]).T
        return cls(kept, losses, errors, [score.name for score in scores]).plot(ax)

    def plot(self, ax=None) -> SparsityDisplay:
        """Draw the losses with their standard errors."""
        ax = self._axes(ax)
        joined = {"fmt": "o"} if len(self.labels) else {"fmt": "o-"}
        self.errorbar_ = ax.errorbar(
            self.kept, self.losses, self.errors, color=COLOURS[0], ecolor="0.6", capsize=2, markersize=4, **joined
        )
        for x, y, label in zip(self.kept, self.losses, self.labels, strict=False):
            ax.annotate(label, (x, y), xytext=(5, 5), textcoords="offset points", fontsize="small")
        if self.chosen is not None:
            at = self.kept[self.chosen], self.losses[self.chosen]
            ax.plot(*at, "o", color=COLOURS[1], markersize=9, fillstyle="none", markeredgewidth=2, label="the model")
            ax.legend(frameon=False)
        ax.set(xlabel="columns kept", ylabel=self.loss)
        ax.margins(x=0.12)
        ax.locator_params(axis="x", integer=True)
        return self


def deviations_of(X) -> np.ndarray:
    """Standard deviations of the columns, (p,)."""
    design = as_design(X if hasattr(X, "tocsc") else np.asarray(X, dtype=np.float64))
    return np.sqrt(design.moments(np.ones(design.n)).spread[: design.d] / design.n)
