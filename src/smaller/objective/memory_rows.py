"""The part of an objective that reads the rows of a problem in memory; :mod:`smaller.rows` has that of other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..design import Design
from ..likelihoods import Gaussian, Multinomial

LONGEST_STEP = 5.0  # nats, of the intercepts at a time


class MemoryRows:
    """The part of an objective that depends on where its rows are.

    `evaluate` is all that the Newton method needs: the objective with its certificate at some weights, and, by
    `curvature_at`, second derivatives there.
    """

    design: Design
    likelihood: Multinomial | Gaussian
    Y: Any
    s: Any
    total: float
    moments: Any
    passes: int  # how often the objective was evaluated
    at: Callable[..., Any]  # these are the objective's
    scores: Callable[..., Any]
    hessian: Callable[..., np.ndarray]
    hessian_on: Callable[..., np.ndarray]
    remote = False  # whether the rows lie on workers, where each evaluation is a pass over all of them
    single = False  # whether the design is in single precision, in which gradient steps are faster
    cheap = np.inf  # operations for a Hessian up to which it is worth forming
    xp: Any = np  # the namespace of arrays with a row for each sample
    drawn: Any = None  # a random sample of rows on the client, where the rows lie elsewhere
    reached: Any = ()  # the last objective and point, where the rows lie elsewhere

    def evaluate(self, W: np.ndarray, active: np.ndarray | None = None) -> Any:
        """The point at W, whose intercepts move to their optimum, which takes no product with the design.

        `active` are the weights whose Hessian will be asked for, as far as that is known.
        """
        self.passes += 1
        return self.at(*self._with_fitted_intercepts(W, self.scores(W))) if self.design.intercept else self.at(W)

    def _with_fitted_intercepts(self, W: np.ndarray, F: Any) -> tuple[np.ndarray, Any]:
        """W and its scores with the intercepts at their optimum, as far as Newton's steps lead there."""
        d, W = self.design.d, W.copy()
        P, U, loss = self.likelihood.fit(F, self.Y, self.s)
        for _ in range(30):
            g = self.weighted(U)
            if np.abs(g).max() <= 1e-12 * self.total / np.sqrt(self.likelihood.noise):
                break
            step = self._intercept_step(P, g)
            if step is None:
                break
            moved = F + self.put(step)
            P, U, lower = self.likelihood.fit(moved, self.Y, self.s)
            if not lower <= loss + 1e-12 * abs(loss):
                break
            W[d] += step
            F, loss = moved, lower
        return W, F

    def _intercept_step(self, P: Any, g: np.ndarray) -> np.ndarray | None:
        """Newton's step of the intercepts for their gradient g, or the longest; None where rows have no curvature."""
        H, steep = self.hessian(P, np.array([self.design.d])), float(np.abs(g).max())
        size = float(np.abs(H).max())
        if not size > 0:
            return None
        # Where every row is nearly certain of its class, g / H may be beyond the largest number.
        direction = np.linalg.lstsq(H / size, -g / steep, rcond=1e-12)[0]
        longest = LONGEST_STEP / max(np.abs(direction).max(), 1e-300)
        bounded = isinstance(self.likelihood, Multinomial) and steep > longest * size
        return direction * (longest if bounded else steep / size)

    def known(self, W: np.ndarray) -> Any:
        """The point at W, where the last evaluation of rows elsewhere was there."""
        return None

    def curvature_at(self, point: Any, active: np.ndarray) -> np.ndarray:
        """Second derivatives of the smooth part in the weights of a mask (m, k), class by class."""
        return self.hessian_on(point.P, active)

    def centred(self, W: np.ndarray) -> np.ndarray:
        """W in the coordinates of `evaluate`: the same, but for rows that are evaluated on centred columns."""
        return W

    def uncentred(self, W: np.ndarray) -> np.ndarray:
        """The inverse of `centred`."""
        return W

    def separated(self, point: Any) -> bool | None:
        """Whether free columns separate the classes, as far as the sums over rows elsewhere show; None: not known."""
        return None

    def put(self, a: np.ndarray, dtype: Any = np.float64) -> Any:
        """An array beside the rows, in float64 by default."""
        return np.asarray(a, dtype=dtype)

    def weighted(self, A: Any) -> np.ndarray:
        """sum_i s_i A_i."""
        return self.s @ A

    def gauge(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and spreads of the columns: the units of gradient steps."""
        d = self.design.d
        return self.moments.mean[:d], self.moments.spread[:d]

    def loss_gradient(self, precise: bool) -> Callable[[Any, Any], tuple[Any, Any]]:
        """The function of weights (d, k) and intercepts (1, k) to the gradients of the loss in them."""
        d, intercept = self.design.d, self.design.intercept

        def gradient(W: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            _, U, _ = self.likelihood.fit(self.scores(np.vstack([W, b]) if intercept else W), self.Y, self.s)
            return self.design.pull(self.s[:, None] * U)[:d], self.weighted(U)[None, :]

        return gradient
