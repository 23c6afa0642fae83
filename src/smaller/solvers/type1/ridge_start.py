"""Where non-convex models start: least squares, or the ridge regression that the evidence prefers.

One eigendecomposition, of the smaller of the n x n and d x d matrices of the centred columns in units of their standard
deviations, serves every strength and every target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize, minimize_scalar

from ...objective.mixture import MixturePosterior

# Least squares is well posed when the squares of the standardised columns' singular values differ by less than this,
# and when as many degrees of freedom are left for the noise as there are columns.
CONDITION = 1e10
STRENGTHS = np.geomspace(1e-10, 1e4, 57)
LARGEST_STRETCH = 10.0  # of a start: where its scores separate the classes, the likelihood grows with every stretch


class Start(NamedTuple):
    """Columns with a weight, their weights, the intercept, and the share of the degrees of freedom that they spend."""

    rows: np.ndarray
    w: np.ndarray
    b: float
    spent: float = 0.0


class Ridge:
    """Ridge regressions on the standardised columns of one design, for any strength and target.

    Parameters
    ----------
    objective : MixturePosterior
        Its design, weights and moments are used, not its target.
    """

    def __init__(self, objective: MixturePosterior):
        self.objective, design = objective, objective.design
        self.rows = np.flatnonzero(objective.norm > 0)
        self.unit = objective.norm[self.rows] / np.sqrt(objective.total)
        self.root = np.sqrt(objective.s)
        mean = objective.mean[self.rows]
        self.wide = len(self.rows) > design.n
        if self.wide:
            G = design.outer(self.root, mean, self.unit**-2.0, self.rows)
        else:
            G = design.spread(objective.s, mean, self.rows) / np.outer(self.unit, self.unit)
        self.values: np.ndarray = np.zeros(0)
        self.vectors: np.ndarray = G
        if len(G):
            self.values, self.vectors = eigh(G, check_finite=False)
        largest = self.values.max(initial=0.0)
        keep = self.values > 1e-14 * max(1, len(G)) * largest
        self.values, self.vectors = self.values[keep], self.vectors[:, keep]
        self.left = max(objective.total - design.intercept, 1.0)  # degrees of freedom of the target
        self.well_posed = (
            not self.wide
            and bool(keep.all())
            and self.left >= 2 * len(self.rows)
            and largest < CONDITION * self.values.min(initial=np.inf)
        )

    def start(self, target: np.ndarray) -> Start:
        """Least squares where it is well posed, else the ridge of the largest evidence."""
        o = self.objective
        center = float(o.s @ target) / o.total * o.design.intercept
        if o.size == 0:
            return Start(self.rows[:0], np.zeros(0), center)
        c = self._coordinates(target - center)
        strength = 0.0 if self.well_posed else self._strength(target - center, c)
        if self.wide:
            v = self.vectors @ (c / (self.values + strength))
            w = self._pull(self.root * v) / self.unit
        else:
            w = self.vectors @ (c * np.sqrt(self.values) / (self.values + strength)) / self.unit
        alive = w != 0
        spent = float((self.values / (self.values + strength)).sum()) / self.left
        return Start(self.rows[alive], w[alive], center - float(o.mean[self.rows] @ w), spent)

    def _coordinates(self, centred: np.ndarray) -> np.ndarray:
        """The target along the left singular vectors of the columns."""
        if self.wide:
            return self.vectors.T @ (self.root * centred)
        return self.vectors.T @ self._pull(self.objective.s * centred) / np.sqrt(self.values)

    def _pull(self, R: np.ndarray) -> np.ndarray:
        """Products of the standardised columns with a vector whose sum is 0 if there is an intercept."""
        return self.objective.design.pull(R[:, None], self.rows)[:, 0] / self.unit

    def _strength(self, centred: np.ndarray, c: np.ndarray) -> float:
        """The kappa with the largest evidence, for w ~ N(0, noise / kappa) and the noise that is best for it.

        -2 log p(y) = N log noise + sum_i log(1 + e_i / kappa), noise = [sum_i c_i^2 kappa / (kappa + e_i) + rest] / N,
        with e_i the eigenvalues and c_i the coordinates of y.
        """
        rest = max(float(self.objective.s @ centred**2) - float(c @ c), 0.0)
        largest = self.values.max(initial=0.0)
        if largest == 0 or not c.any():
            return 1.0

        def misfit(log_strength: float) -> float:
            kappa = largest * np.exp(log_strength)
            noise = (c**2 @ (kappa / (kappa + self.values)) + rest) / self.left
            return self.left * np.log(noise) + float(np.log1p(self.values / kappa).sum())

        tried = [misfit(np.log(strength)) for strength in STRENGTHS]
        best = int(np.argmin(tried))
        around = np.log(STRENGTHS[[max(best - 1, 0), min(best + 1, len(STRENGTHS) - 1)]])
        found = minimize_scalar(misfit, bounds=tuple(around), method="bounded")
        return float(largest * np.exp(found.x))


def stretched(objective: MixturePosterior, start: Start) -> Start:
    """A start for labels +-1 in units of latent scores: its scores times c, plus a shift, of the largest likelihood.

    Latent scores have noise of variance 1, labels have less: unstretched, too many weights look negligible.
    """
    F = objective.at(start.rows, start.w, start.b).F - objective.offset

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        _, U, value = objective.likelihood.fit((v[0] * F + v[1] + objective.offset)[:, None], objective.Y, objective.s)
        slope = objective.s * U[:, 0]
        return value, np.array([slope @ F, slope.sum()])

    intercept = objective.design.intercept
    bounds = [(1.0, LARGEST_STRETCH), (None, None) if intercept else (0.0, 0.0)]
    c, shift = minimize(loss, np.array([1.0, 0.0]), jac=True, bounds=bounds, method="L-BFGS-B").x
    return start._replace(w=c * start.w, b=float(c * start.b + shift))
