"""The objective of priors that are mixtures of normal distributions, on the weights that survive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..design import Design
from ..likelihoods import Gaussian, Probit
from ..priors import Mixture

# A learned noise below this fraction of the target's variance has collapsed: the model interpolates.
COLLAPSED = 1e-12


class Survivors(NamedTuple):
    """The posterior of a mixture at weights of which some are zero for good: value, derivatives, violation."""

    rows: np.ndarray  # the surviving columns, sorted, (r,)
    w: np.ndarray  # their weights, none of them zero
    b: float
    noise: float
    F: np.ndarray  # scores, (n,)
    P: np.ndarray  # fitted means of the likelihood, (n, 1)
    residual: np.ndarray  # gradient of the loss in F, of a sample of weight 1, (n,)
    pull: np.ndarray  # minus the gradient of the loss in the weights of centred columns, (r,)
    gamma: np.ndarray  # variance that the prior gives each weight, (r,)
    tilt: float  # minus the gradient of the loss in b
    value: float
    violation: float


class MixturePosterior:
    """Negative log posterior of one column of weights under a scale mixture of normals, the noise learned or known.

    sum_i s_i loss(Phi_i w + b + offset_i, y_i) + S/2 log noise + 1/2 sum_j h(w_j^2), S = sum_i s_i, over the surviving
    weights (a zero may have infinite density and never comes back), without the constant that h may have. The noise of
    the Gaussian likelihood, if learned, is always the best one for the weights, |y - F|^2 / S, or ``floor`` where that
    is less.

    Parameters
    ----------
    y : ndarray of shape (n,)
    likelihood : Gaussian or Probit
    prior : Mixture
    learn : bool
        Whether the noise is learned.
    """

    def __init__(
        self,
        design: Design,
        y: np.ndarray,
        likelihood: Gaussian | Probit,
        prior: Mixture,
        sample_weight: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        learn: bool = False,
    ):
        self.design, self.likelihood, self.prior = design, likelihood, prior
        self.s = np.ones(design.n) if sample_weight is None else sample_weight
        self.total = float(self.s.sum())
        self.Y = np.asfortranarray(y, dtype=np.float64).reshape(-1, 1)
        self.offset = np.zeros(design.n) if offset is None else offset.ravel()
        moments = design.moments(self.s)
        columns = slice(0, design.d)
        self.mean = moments.mean[columns] * design.intercept
        self.norm = np.sqrt(moments.spread[columns] + self.total * (moments.mean[columns] ** 2 - self.mean**2))
        self.norm[self.norm <= 1e-14 * np.sqrt(self.total) * np.abs(moments.mean[columns])] = 0.0  # constant columns
        target = self.target(None)
        center = self.s @ target / self.total * design.intercept
        # The length of what the weights have to explain; the latent scores of a probit have variance 1 at least.
        square = float(self.s @ (target - center) ** 2) if self.gaussian else self.total
        self.size = np.sqrt(square) if square > 1e-28 * self.total * center**2 else 0.0  # of a constant only rounding
        self.learn = learn and self.size > 0
        self.floor = COLLAPSED * self.size**2 / self.total

    @property
    def gaussian(self) -> bool:
        """Whether the loss is a square."""
        return isinstance(self.likelihood, Gaussian)

    def target(self, point: Survivors | None) -> np.ndarray:
        """The targets of a least-squares step: y, or the expected latent scores (Figueiredo 2003)."""
        if self.gaussian or point is None:
            return self.Y[:, 0] - self.offset
        return point.F - self.offset - point.residual / self.likelihood.bound

    def at(self, rows: np.ndarray, w: np.ndarray, b: float) -> Survivors:
        """Value, derivatives and violation at these weights; only surviving columns are read."""
        W = np.zeros((self.design.shape[1], 1))
        W[rows, 0] = w
        if self.design.intercept:
            W[-1] = b
        F = self.design.scores(W)
        F[:, 0] += self.offset
        likelihood = self._likelihood(F)
        scale = self.total / 2 * np.log(likelihood.noise)
        P, U, loss = likelihood.fit(F, self.Y, self.s)
        residual = U[:, 0]
        tilt = -float(self.s @ residual) * self.design.intercept
        # Centred residuals are not multiplied by the means of the columns, however large these are.
        centred = self.s * (residual + tilt / self.total)
        pull = -self.design.pull(centred[:, None], rows)[:, 0]
        h, gamma = self.prior.at(w, rows)
        value = loss + scale + float(h.sum()) / 2
        missed = np.abs(pull * gamma / w - 1.0).max(initial=0.0)
        violation = max(float(missed), abs(tilt) / (self.total * np.sqrt(likelihood.bound)))
        return Survivors(rows, w, b, likelihood.noise, F[:, 0], P, residual, pull, gamma, tilt, value, violation)

    def _likelihood(self, F: np.ndarray) -> Gaussian | Probit:
        """The likelihood with the best noise for these scores."""
        if not self.learn:
            return self.likelihood
        return Gaussian(max(float(self.s @ (F - self.Y)[:, 0] ** 2) / self.total, self.floor))
