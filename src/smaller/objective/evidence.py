"""The evidence: what remains of likelihood x prior when the weights are integrated out (Type II), in nats.

Every column j has weights w_j ~ N(0, gamma_j I), gamma_j shared by all outputs; gamma_j = 0, a precision alpha_j =
1 / gamma_j of infinity, switches it off. The intercept has a flat prior of density 1 and is integrated out as well.
Columns are taken about their weighted means and in units of their weighted norms, so that no answer depends on units; a
sample weight is a repetition, exactly.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, qr, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from ..design import Design
from .weighted_columns import Columns, Taken

LOG_2PI = float(np.log(2 * np.pi))
# Relative to the diagonal, tried in turn: rounding may leave nearly collinear columns just short of positive definite.
RIDGES = (0.0, 1e-13, 1e-11, 1e-9)

AT_ONCE = 8  # columns whose products are taken together, so that no copy of all of them is made
CONSTANT_TARGET = 1e-14  # targets that differ from their mean by less than this part of it are constant up to rounding
SAFE = 1e7  # trace of B^T B / noise up to which the log determinant of products of columns has nine digits
IN_BLOCK = 128  # products of all columns that are formed at a time where they are many
BLOCK = 1 << 22  # numbers in the columns that are formed at a time
AT_HAND = 2**24  # products of all columns with the model's that are kept at once
DOUBTFUL = 1e-4  # a sparsity left with this fraction after a subtraction is computed again without subtraction


def cholesky(H: np.ndarray) -> np.ndarray:
    """The lower factor of a positive definite matrix, also where rounding has left it just short of that."""
    for ridge in RIDGES:
        L, failed = dpotrf(H + ridge * np.diag(H.diagonal()) if ridge else H, lower=1)
        if not failed:
            return L
    raise LinAlgError("the posterior precision is not positive definite; scale the columns, or raise the noise")


def inverse(H: np.ndarray, design: Design | None = None) -> tuple[np.ndarray, float]:
    """H^-1 and log|H| of a positive definite matrix, by Cholesky: a large one where the design lies."""
    if not len(H):
        return H, 0.0
    found = None if design is None else design.factorised(H)
    if found is not None:
        return found
    L = cholesky(H)
    logdet = 2 * float(np.log(L.diagonal()).sum())
    half, _ = dpotri(L, lower=1)  # above its diagonal are the zeros of L
    full = half + half.T
    full.flat[:: len(H) + 1] *= 0.5
    return full, logdet


class Weighing:
    """Weights N(0, I) of columns B, T = B m + N(0, I), by a QR decomposition.

    Products of columns would square their condition; this keeps what they lose.
    """

    def __init__(self, B: np.ndarray):
        r = B.shape[1]
        Q, R = qr(np.vstack([B, np.eye(r)]), mode="economic", check_finite=False)
        self.B, self.Q, self.half = B, Q, solve_triangular(R, np.eye(r), check_finite=False)
        self.logdet = 2 * float(np.log(np.abs(R.diagonal())).sum())  # log|B^T B + I|

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the weights, (r, r)."""
        return self.half @ self.half.T

    def mean(self, T: np.ndarray) -> np.ndarray:
        """The mean of the weights, (r, k), for targets T (n, k)."""
        m = self.half @ (self.Q[: len(T)].T @ T)
        # Once more for what is left: where columns are nearly collinear the rounding of m shows in the residuals.
        return m + self.half @ (self.Q.T @ np.vstack([T - self.B @ m, -m]))

    def least(self, T: np.ndarray) -> np.ndarray:
        """min_m |t - B m|^2 + |m|^2 of each column t of T: (k,)."""
        E = np.vstack([T, np.zeros((self.Q.shape[1], T.shape[1]))])
        for _ in range(2):  # once more for what rounding has left
            E -= self.Q @ (self.Q.T @ E)
        return np.einsum("ij,ij->j", E, E)


class Fit(NamedTuple):
    """The posterior of the weights of some columns, in the units of :class:`Columns`."""

    rows: np.ndarray
    alpha: np.ndarray  # (r,)
    noise: float
    mean: np.ndarray  # (r, k)
    covariance: np.ndarray  # (r, r), of each output
    log_evidence: float
    misfit: float  # sum of squared residuals of the mean
    gram: np.ndarray  # products of the columns, (r, r)

    @property
    def determined(self) -> np.ndarray:
        """1 - alpha_j Sigma_jj: how well the data determine each weight, between 0 and 1."""
        return 1 - self.alpha * self.covariance.diagonal()


class Quality(NamedTuple):
    """How all columns see the residual: sparsity S (d,), quality Q (d, k), and E = Phi^T Phi_model Sigma / noise."""

    S: np.ndarray
    Q: np.ndarray
    E: np.ndarray


class Evidence:
    """log p(Y | gamma, noise) of Gaussian data: columns of Y ~ N(b, noise / s + Phi Gamma Phi^T), b integrated out.

    In gamma-space, minus twice this is k log|Sigma_y| + tr Y^T Sigma_y^-1 Y (Wipf & Wu 2012, eq. 5) and a constant.

    Parameters
    ----------
    design : Design
    Y : ndarray of shape (n, k)
        Targets; several columns share their gammas (multiple measurement vectors).
    sample_weight : ndarray of shape (n,), optional
    groups : ndarray of shape (d,), optional
        A number 0, 1, ... for each column: columns of one number share their gamma.
    taken : Taken, optional
        Means that free intercepts took out of columns and targets before.
    """

    def __init__(
        self,
        design: Design,
        Y: np.ndarray,
        sample_weight: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        taken: Taken | None = None,
    ):
        self.columns, self.taken = Columns(design, sample_weight, groups, taken), taken
        self.intercepts = design.intercept + (0 if taken is None else taken.intercepts)
        self.s, self.k = self.columns.s, Y.shape[1]
        self.y_mean = self.s @ Y / self.columns.total if design.intercept else np.zeros(self.k)
        self.Z = Y - self.y_mean
        mean = np.abs(self.y_mean) + (0.0 if taken is None else taken.mean)
        constant = np.abs(self.Z).max(axis=0, initial=0.0) <= CONSTANT_TARGET * mean
        self.Z[:, constant] = 0.0
        self.total = self.columns.total - self.intercepts  # what is left when the intercept is integrated out
        self.yy = float(self.s @ (self.Z * self.Z).sum(axis=1))
        self.root, self.weighted = np.sqrt(self.s)[:, None], bool((self.s != 1.0).any())
        self._seen: dict[int, np.ndarray] = {}
        self._pulled: np.ndarray | None = None

    def scaled(self, unit: float) -> Evidence:
        """The same columns, with the targets in another unit."""
        other = copy(self)
        other.y_mean, other.Z = self.y_mean / unit, self.Z / unit
        other.yy = float(self.s @ (other.Z * other.Z).sum(axis=1))
        other._pulled = None
        return other

    @property
    def variance(self) -> float:
        """Mean square of the targets: the noise of the empty model."""
        return self.yy / max(self.k * self.total, 1.0)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Columns times the square root of the weights, in Fortran order."""
        Phi = self.columns.take(rows)
        if self.weighted:
            Phi *= self.root
        return Phi

    def products(self, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G = Phi^T Phi and C = Phi^T y of columns from :meth:`take`."""
        return np.asfortranarray(self.columns.design.square(Phi)), np.asfortranarray(Phi.T @ (self.root * self.Z))

    def fit(self, rows: np.ndarray, alpha: np.ndarray, noise: float, G: np.ndarray, C: np.ndarray) -> Fit:
        """Posterior and log evidence with these columns in the model; G and C are their products."""
        # In units of the prior's deviations no eigenvalue is below 1, however small the noise.
        root = 1 / np.sqrt(alpha)
        H = G * np.outer(root, root) / noise
        H.flat[:: len(rows) + 1] += 1.0
        inner, logdet = inverse(H, self.columns.design)
        Sigma = inner * np.outer(root, root)
        mean = Sigma @ C / noise
        explained = float((mean * C).sum())
        misfit = max(self.yy - 2 * explained + float((mean * (G @ mean)).sum()), 0.0)
        # y^T Sigma_y^-1 y = misfit / noise + sum alpha mu^2, without the cancellation of yy - mu.C
        quadratic = misfit / noise + float(alpha @ (mean * mean).sum(axis=1))
        value = self._constant(noise) - 0.5 * (self.k * logdet + quadratic)
        return Fit(rows, alpha, noise, mean, Sigma, value, misfit, G)

    def weighed(self, fit: Fit, Phi: np.ndarray) -> Fit:
        """The same model as exactly as its columns Phi allow: where products lose digits, from the columns.

        y^T Sigma_y^-1 y is the least of misfit / noise + sum alpha mu^2 over mu, so that rounding of mu hardly counts.
        """
        T, root = self.root * self.Z, 1 / np.sqrt(fit.alpha)
        exact = self._weighing(fit, Phi)
        scaled = fit.mean / root[:, None] if exact is None else exact.mean(T / np.sqrt(fit.noise))
        mean = root[:, None] * scaled
        misfit = float(((T - Phi @ mean) ** 2).sum())
        now = misfit / fit.noise + float((scaled**2).sum())
        if exact is None:
            before = fit.misfit / fit.noise + float(fit.alpha @ (fit.mean**2).sum(axis=1))
            return fit._replace(mean=mean, misfit=misfit, log_evidence=fit.log_evidence + 0.5 * (before - now))
        value = self._constant(fit.noise) - 0.5 * (self.k * exact.logdet + now)
        covariance = exact.covariance * np.outer(root, root)
        return fit._replace(mean=mean, misfit=misfit, log_evidence=value, covariance=covariance)

    def _weighing(self, fit: Fit, Phi: np.ndarray) -> Weighing | None:
        """From the columns of the model, where their products lose digits; in units of the prior's deviations."""
        if float((fit.gram.diagonal() / fit.alpha).sum()) <= SAFE * fit.noise:
            return None
        return Weighing(Phi / np.sqrt(fit.alpha * fit.noise))

    def at(self, rows: np.ndarray, alpha: np.ndarray, noise: float) -> Fit:
        """Posterior and log evidence with these columns in the model, from their positions alone."""
        return self.fit(rows, alpha, noise, *self.products(self.take(rows)))

    def _constant(self, noise: float) -> float:
        # A complex intercept is two real ones, each of which is the mean of half of the rows.
        flat = self.intercepts * np.log(self.columns.total / max(self.intercepts, 1))
        return -0.5 * self.k * (self.total * (LOG_2PI + np.log(noise)) + flat)

    def empty(self, noise: float) -> Fit:
        """The model without columns."""
        none = np.empty(0)
        value = self._constant(noise) - 0.5 * self.yy / noise
        square = np.empty((0, 0))
        return Fit(none.astype(int), none, noise, np.empty((0, self.k)), square, value, self.yy, square)

    def quality(self, fit: Fit, Phi: np.ndarray, pulled: np.ndarray) -> Quality:
        """S_j and Q_j of all columns (Tipping & Faul 2003, eqs. 22-24), those in the model left in it.

        Phi are the model's columns, `pulled` all columns' products with the targets.
        """
        present = self.columns.square / fit.noise
        T = self._products_with(fit.rows, Phi) / fit.noise
        E = T @ fit.covariance
        return Quality(np.maximum(present - (E * T).sum(axis=1), 0.0), pulled / fit.noise - T @ fit.mean, E)

    def sharpness(self, fit: Fit, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z_j = phi_j^T Sigma_y^-1 phi_j and the mean over the outputs of (phi_j^T Sigma_y^-1 y)^2, all columns: (d,).

        Where z_j is a small part of |phi_j|^2 / noise, since the model's columns nearly span phi_j, or where products
        lose digits, it is the least of |phi_j - Phi m|^2 / noise + sum alpha m^2, in which nothing is subtracted.
        """
        small = self.columns.d * len(fit.rows) <= AT_HAND
        z, Q = self.quality(fit, Phi, self.pull_targets())[:2] if small else self._quality_in_blocks(fit, Phi)
        residual, exact = self.root * self.Z - Phi @ fit.mean, self._weighing(fit, Phi)
        low = exact is not None or z < DOUBTFUL * self.columns.square / fit.noise
        doubtful = np.flatnonzero(np.isfinite(self.columns.unit) & low)
        count = max(1, BLOCK // len(Phi))
        for first in range(0, len(doubtful), count):
            rows = doubtful[first : first + count]
            columns = self.take(rows)
            if exact is None:
                M = fit.covariance @ (Phi.T @ columns) / fit.noise
                z[rows] = ((columns - Phi @ M) ** 2).sum(axis=0) / fit.noise + fit.alpha @ M**2
            else:
                z[rows] = exact.least(columns / np.sqrt(fit.noise))
            Q[rows] = columns.T @ residual / fit.noise
        return z, (Q**2).mean(axis=1)

    def _quality_in_blocks(self, fit: Fit, Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S and Q of all columns without an array of their products with those of the model."""
        half, S = cholesky(fit.covariance), self.columns.square / fit.noise
        for first in range(0, len(half), IN_BLOCK):
            V = self.root * (Phi @ half[:, first : first + IN_BLOCK]) / fit.noise
            S -= np.square(self.columns.pull(V)).sum(axis=1)
        Q = self.columns.pull(self.root * (self.root * self.Z - Phi @ fit.mean)) / fit.noise
        return np.maximum(S, 0.0), Q

    def _products_with(self, rows: np.ndarray, Phi: np.ndarray) -> np.ndarray:
        """All columns' products with some, (d, r); those of columns seen before are remembered."""
        new = [i for i, row in enumerate(rows) if row not in self._seen]
        for part in (new[first : first + AT_ONCE] for first in range(0, len(new), AT_ONCE)):
            pulled = self.columns.pull(self.root * Phi[:, part])
            self._seen.update((int(rows[i]), column) for i, column in zip(part, pulled.T.copy(), strict=True))
        found = [self._seen[int(row)] for row in rows]
        return np.column_stack(found) if found else np.empty((self.columns.d, 0))

    def pull_targets(self) -> np.ndarray:
        """All columns' products with the targets, (d, k); computed once."""
        if self._pulled is None:
            self._pulled = self.columns.pull(self.s[:, None] * self.Z)
        return self._pulled

    def gradient(self, fit: Fit) -> np.ndarray:
        """The gradient of the log evidence in log alpha, and last in log noise."""
        determined = fit.determined
        in_alpha = 0.5 * (self.k * determined - fit.alpha * (fit.mean**2).sum(axis=1))
        in_noise = 0.5 * (fit.misfit / fit.noise - self.k * (self.total - determined.sum()))
        return np.append(in_alpha, in_noise)
