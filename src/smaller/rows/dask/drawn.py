"""A random sample of rows on the client: for starting weights, and for the curvature of all rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ...design import as_design
from ...likelihoods import Multinomial, one_hot
from .block_moments import Draw, Labels

DRAWN_ROWS, DRAWN_BYTES = 20_000, 2**25  # drawn at most, for each fit
FITS = 8  # that may have so many; where there are more they share what these would have
LEAST_PER_CLASS = 20


def share_of_rows(found: Labels, columns: int, fits: int = 1) -> np.ndarray | None:
    """The share of the rows of each class that is drawn for a first guess: equally many rows of each class.

    `fits` is the number of fits for which rows are drawn at the same time.
    """
    rows = min(DRAWN_ROWS, DRAWN_BYTES // (8 * max(1, columns))) * FITS // max(FITS, fits)
    rows = min(rows, found.rows // 4)
    if rows < LEAST_PER_CLASS * len(found.classes):
        return None
    return np.minimum(1.0, rows / len(found.classes) / found.number)


class DrawnRows:
    """Rows drawn from all blocks, weighted so that they represent all rows."""

    def __init__(self, drawn: list[Draw], total: float, center: np.ndarray, intercept: bool, m: int, k: int):
        self.lazy = any(sparse.issparse(each.Z) for each in drawn)
        Z = sparse.vstack([each.Z for each in drawn]) if self.lazy else np.vstack([each.Z for each in drawn])
        self.center, self.intercept = center, intercept
        self.Z = sparse.csr_array(Z, dtype=np.float64) if self.lazy else np.asarray(Z, dtype=np.float64)
        s = np.concatenate([each.s for each in drawn])
        self.s = s * (total / s.sum())
        self.Y = one_hot(np.concatenate([each.codes for each in drawn]), m, k)
        offsets = [each.offset for each in drawn if each.offset is not None]
        self.offset = np.asfortranarray(np.vstack(offsets)) if offsets else None
        self.likelihood = Multinomial(reference=k < m)
        self.design = as_design(self.Z, intercept)

    def curvature(self, W: np.ndarray, columns: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The Hessian at W (intercepts of centred columns) as a function of a change of some rows of W."""
        d = len(self.center)
        F = self._scores(self.Z, self.center, W, d)
        P, *_ = self.likelihood.fit(np.asfortranarray(F if self.offset is None else F + self.offset), self.Y, self.s)
        every = len(columns) == d
        Z, center, r = self.Z if every else self.Z[:, columns], self.center[columns], len(columns)

        def product(D: np.ndarray) -> np.ndarray:
            R = self.likelihood.curve(P, self.s, self._scores(Z, center, D, r))
            total = R.sum(axis=0)
            G = Z.T @ R - np.outer(center, total)
            return np.vstack([G, total]) if self.intercept else G

        return product

    def _scores(self, Z, center: np.ndarray, W: np.ndarray, r: int) -> np.ndarray:
        F = Z @ W[:r] - center @ W[:r]
        return F + W[-1] if self.intercept else F
