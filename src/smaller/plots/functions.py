"""Plots of predictions: class boundaries over two inputs, and the band of predictions over one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from .display import COLOURS, Display, centres_of, last_step

MARGIN = 0.08  # of the range of an input, shown beyond it


def _range(values: np.ndarray, steps: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low or 1.0)
    return np.linspace(low - margin, high + margin, steps)


class BoundaryDisplay(Display):
    """Probabilities of the classes over two inputs, the boundary between them, and the relevance vectors.

    Parameters
    ----------
    x, y : ndarray of shape (g,)
        The grid.
    probabilities : ndarray of shape (g, g, n_classes)
        Rows are along y.
    classes : sequence
    points : ndarray of shape (n, 2)
    codes : ndarray of shape (n,)
        Positions of the points' classes.
    centres : ndarray of shape (m, 2) or None
        The relevance vectors.
    names : pair of str

    Attributes
    ----------
    ax_, figure_
    surface_ : QuadContourSet
    centres_ : PathCollection or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import RVMClassifier
    >>> from smaller.plots import BoundaryDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVMClassifier().fit(X[:, 2:], y)
    >>> display = BoundaryDisplay.from_estimator(model, X[:, 2:], y)
    >>> len(display.centres) == len(model.relevance_vectors_)
    True
    """

    def __init__(self, x, y, probabilities, classes, points, codes, centres=None, names=("x0", "x1")):
        self.x = x
        self.y = y
        self.probabilities = probabilities
        self.classes = classes
        self.points = points
        self.codes = codes
        self.centres = centres
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, X, y, *, features=(0, 1), grid=150, names=None, ax=None) -> BoundaryDisplay:
        """A fitted classifier with predict_proba; inputs other than the two shown are held at their means."""
        check_is_fitted(estimator)
        if len(features) != 2:
            raise ValueError(f"features must be the positions of two inputs; got {features!r}.")
        names = _names(names, X, features)
        X = np.asarray(X, dtype=np.float64)
        across, up = (_range(X[:, j], grid) for j in features)
        places = np.tile(X.mean(axis=0), (grid * grid, 1))
        places[:, features[0]], places[:, features[1]] = (part.ravel() for part in np.meshgrid(across, up))
        P = estimator.predict_proba(places).reshape(grid, grid, -1)
        codes = np.searchsorted(estimator.classes_, y)
        centres = centres_of(estimator)
        chosen = list(features)
        shown = None if centres is None else np.asarray(centres)[:, chosen]
        return cls(across, up, P, estimator.classes_, X[:, chosen], codes, shown, names).plot(ax)

    def plot(self, ax=None) -> BoundaryDisplay:
        """Draw the probabilities, the boundaries, the samples and the relevance vectors."""
        from matplotlib.colors import LinearSegmentedColormap

        ax = self._axes(ax)
        best = self.probabilities.argmax(axis=2)
        for k in range(len(self.classes)):
            shades = LinearSegmentedColormap.from_list("class", ["white", COLOURS[k % len(COLOURS)]])
            seen = np.ma.masked_array(self.probabilities[:, :, k], best != k)
            # vmax above 1 keeps the highest probabilities so light that points remain visible.
            self.surface_ = ax.pcolormesh(self.x, self.y, seen, cmap=shades, vmin=0.0, vmax=1.9, shading="auto")
        self._draw_boundaries(ax)
        for k, label in enumerate(self.classes):
            of_class = self.points[self.codes == k]
            ax.scatter(*of_class.T, s=18, color=COLOURS[k % len(COLOURS)], edgecolor="white", lw=0.5, label=str(label))
        self.centres_ = None
        if self.centres is not None:
            ring = {"facecolor": "none", "edgecolor": "black", "linewidth": 1.6}
            self.centres_ = ax.scatter(*self.centres.T, s=90, label="relevance vectors", **ring)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="best", fontsize="small")
        return self

    def _draw_boundaries(self, ax) -> None:
        """Where a class is as probable as the best of the others."""
        for k in range(len(self.classes) if len(self.classes) > 2 else 1):
            others = np.delete(self.probabilities, k, axis=2).max(axis=2)
            lead = self.probabilities[:, :, k] - others
            if lead.min() < 0 < lead.max():
                ax.contour(self.x, self.y, lead, levels=[0.0], colors="black", linewidths=1.2)


class BandDisplay(Display):
    """Predictions along one input, with the interval that should contain a given fraction of the targets.

    Parameters
    ----------
    x, mean, deviation : ndarray of shape (g,)
        Inputs in increasing order, predictions and their standard deviations.
    points : tuple (x, y) or None
        The samples.
    centres : ndarray of shape (m,) or None
        Where the relevance vectors lie.
    noise : float
        Variance of the noise; with it the uncertainty of the mean is drawn too.
    level : float
        Fraction of the targets that the band should contain.
    names : pair of str

    Attributes
    ----------
    ax_, figure_
    line_, band_

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import RVMRegressor
    >>> from smaller.plots import BandDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-8, 8, (60, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(60)
    >>> display = BandDisplay.from_estimator(RVMRegressor().fit(X, y), X, y)
    >>> display.mean.shape
    (300,)
    """

    def __init__(self, x, mean, deviation, points=None, centres=None, noise=None, level=0.9, names=("x", "y")):
        self.x = x
        self.mean = mean
        self.deviation = deviation
        self.points = points
        self.centres = centres
        self.noise = noise
        self.level = level
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, feature=0, level=0.9, grid=300, names=None, ax=None
    ) -> BandDisplay:
        """A fitted regressor with predict(X, return_std=True); other inputs are held at their means."""
        check_is_fitted(estimator)
        names = (*_names(names and names[:1], X, [feature]), names[1] if names else "y")
        X = np.asarray(X, dtype=np.float64)
        across = _range(X[:, feature], grid)
        places = np.tile(X.mean(axis=0), (grid, 1))
        places[:, feature] = across
        mean, deviation = estimator.predict(places, return_std=True)
        centres = centres_of(estimator)
        noise = getattr(last_step(estimator), "noise_", None)
        points = None if y is None else (X[:, feature], np.asarray(y))
        shown = None if centres is None else np.asarray(centres)[:, feature]
        return cls(across, mean, deviation, points, shown, noise, level, names).plot(ax)

    @classmethod
    def from_predictions(cls, x, mean, deviation, y=None, *, level=0.9, names=("x", "y"), ax=None) -> BandDisplay:
        """Predictions at samples in any order, with the values observed there."""
        x, mean, deviation = (np.asarray(part, dtype=np.float64) for part in (x, mean, deviation))
        order = np.argsort(x, kind="stable")
        points = None if y is None else (x, np.asarray(y))
        return cls(x[order], mean[order], deviation[order], points, level=level, names=names).plot(ax)

    def plot(self, ax=None) -> BandDisplay:
        """Draw the mean, the band, and the samples."""
        ax = self._axes(ax)
        z = ndtri(0.5 + self.level / 2)
        self.band_ = self._fill(ax, z * self.deviation, 0.18, f"{self.level:.0%} of the targets")
        if self.noise is not None:
            uncertainty = np.sqrt(np.maximum(self.deviation**2 - self.noise, 0.0))
            self._fill(ax, z * uncertainty, 0.35, "uncertainty of the mean")
        (self.line_,) = ax.plot(self.x, self.mean, color=COLOURS[0], linewidth=2, label="mean")
        if self.points is not None:
            ax.plot(*self.points, ".", color="0.3", markersize=5, label="samples")
        if self.centres is not None:
            at = np.interp(self.centres, self.x, self.mean)
            ring = {"markerfacecolor": "none", "markeredgecolor": COLOURS[1], "markeredgewidth": 1.8}
            ax.plot(self.centres, at, "o", markersize=10, label="relevance vectors", **ring)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="best", fontsize="small", frameon=False)
        return self

    def _fill(self, ax, half: np.ndarray, alpha: float, label: str) -> Any:
        look = {"color": COLOURS[0], "alpha": alpha, "linewidth": 0}
        return ax.fill_between(self.x, self.mean - half, self.mean + half, label=label, **look)


def _names(names, X, features) -> list[str]:
    if names is not None:
        return [str(name) for name in names]
    if hasattr(X, "columns"):
        return [str(X.columns[j]) for j in features]
    return [f"x{j}" for j in features]
