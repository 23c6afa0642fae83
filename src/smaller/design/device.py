"""A matrix in an array of PyTorch or CuPy, on any device: only scalars and small matrices leave the device.

Weights, gradients and Gram matrices, small beside the data, are NumPy's, so that objectives and solvers use them
unchanged; arrays with a row for each sample stay on the device. Products accumulate in float64 for every dtype of X.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .loss_gradient import LossGradient
from .namespace import follow, host, namespace, on_device
from .protocol import Design, Moments

# Blocks are worked on in float64 one at a time: large enough to keep a device busy, small enough beside its memory.
BLOCK_BYTES = 2**28
LARGE_SYSTEM = 2000  # smaller matrices are factorised on the host: the transfer would take longer


class AcceleratedDesign(Design):
    """X (n, d) of float32 or float64 in any array-API namespace."""

    centred = True
    accelerated = True

    def __init__(self, X, intercept: bool = False):
        super().__init__(X.shape[0], X.shape[1], intercept)
        self.X, self.xp = X, namespace(X)
        self._known: list[tuple[Any, Moments]] = []

    # -- between the device and its host

    def put(self, a, dtype: Any = None) -> Any:
        """An array on X's device, in float64 by default."""
        if on_device(a):
            return self.xp.astype(a, dtype or self.xp.float64, copy=False)
        return self.xp.asarray(np.ascontiguousarray(a), dtype=dtype or self.xp.float64, device=self.X.device)

    def follow(self, a) -> Any:
        """A NumPy array copied to X's device, in the precision of X."""
        return follow(a, self.X)

    # -- products

    def _parts(self, width: int) -> list[slice]:
        """Slices of samples; `width` columns of each take BLOCK_BYTES in float64."""
        step = max(1, BLOCK_BYTES // (8 * max(1, width)))
        return [slice(first, min(first + step, self.n)) for first in range(0, self.n, step)]

    def _columns(self, columns: np.ndarray | None) -> Any:
        if columns is None:
            return self.X
        return self.xp.take(self.X, self.put(columns, self.xp.int64), axis=1)

    def _blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, Any]]:
        """Blocks of samples in float64, of all columns or of some."""
        X = self._columns(columns)
        for part in self._parts(X.shape[1]):
            yield part, self.xp.astype(X[part, :], self.xp.float64, copy=False)

    def gathered(self, columns: np.ndarray) -> Iterator[tuple[slice, Any]]:
        """Blocks of samples in float64, of columns of Phi in any order; a column may be named several times."""
        xp = self.xp
        distinct, place = np.unique(columns, return_inverse=True)
        inner, where = distinct[distinct < self.d], self.put(place, xp.int64)
        X = self._columns(inner)
        for part in self._parts(len(columns)):
            A = xp.astype(X[part, :], xp.float64, copy=False)
            if len(inner) < len(distinct):
                A = xp.concat([A, xp.ones((A.shape[0], 1), dtype=A.dtype, device=A.device)], axis=1)
            yield part, xp.take(A, where, axis=1)

    def scores(self, W: np.ndarray) -> Any:
        """Phi W on the device, (n, k) in float64; where few columns have a weight, only those are read."""
        xp, columns = self.xp, np.flatnonzero(W[: self.d].any(axis=1))
        chosen = columns if 4 * len(columns) < self.d else None
        if not len(columns):
            F = xp.zeros((self.n, W.shape[1]), dtype=xp.float64, device=self.X.device)
        else:
            V = self.put(W[: self.d] if chosen is None else W[chosen])
            F = xp.concat([xp.matmul(X, V) for _, X in self._blocks(chosen)], axis=0)
        return F + self.put(W[self.d]) if self.intercept else F

    def pull(self, R, columns: np.ndarray | None = None) -> np.ndarray:
        """Phi^T R, all rows of it or those of some sorted columns; R is on the device or on the host."""
        R = self.put(R)
        inner, ones = self._split(columns)
        d = self.d if inner is None else len(inner)
        G = np.zeros((d + ones, R.shape[1]))
        if d:
            G[:d] = host(sum(self.xp.matmul(R[part, :].T, X) for part, X in self._blocks(inner))).T
        if ones:
            G[-1] = host(self.xp.sum(R, axis=0))
        return G

    def cross(self, omega, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Phi[:, left]^T diag(omega) Phi[:, right]; both index arrays are sorted."""
        xp, omega = self.xp, self.put(omega)[:, None]
        (first, left_ones), (second, right_ones) = self._split(left), self._split(right)
        same = left is right or np.array_equal(left, right)
        total = 0.0
        for part, X in self._blocks(first):
            X = xp.concat([X, xp.ones_like(omega[part, :])], axis=1) if left_ones else X
            Z = X if same else xp.astype(self._columns(second)[part, :], xp.float64, copy=False)
            Z = xp.concat([Z, xp.ones_like(omega[part, :])], axis=1) if right_ones and not same else Z
            total = total + xp.matmul((X * omega[part, :]).T, Z)
        return host(total)

    def moments(self, s) -> Moments:
        """Weighted moments of every column; those of the last two sets of weights are kept."""
        for known, moments in self._known:
            if known is s:
                return moments
        weight = self.put(s)
        moments = Moments(*self._moments(weight))
        if self.intercept:
            ones = (1.0, 0.0, float(self.xp.sum(weight)))
            moments = Moments(*(np.append(each, one) for each, one in zip(moments, ones, strict=True)))
        self._known = [*self._known[-1:], (s, moments)]
        return moments

    def gauge(self, s) -> tuple[np.ndarray, np.ndarray]:
        """Means and spreads of the columns in X's own precision: the units of first-order steps."""
        for known, moments in self._known:
            if known is s:
                return moments.mean[: self.d], moments.spread[: self.d]
        xp, X = self.xp, self.X
        weight = self.put(s, X.dtype)[None, :]
        mean = xp.matmul(weight, X) / xp.sum(weight)
        spread = xp.zeros_like(self.put(mean))
        for part in self._parts(self.d):
            spread = spread + self.put(xp.matmul(weight[:, part], xp.square(X[part, :] - mean)))
        return host(self.put(mean))[0], host(spread)[0]

    def _moments(self, s) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        xp, weight = self.xp, s[None, :]
        total = float(xp.sum(s))
        mean = sum(xp.matmul(weight[:, part], X) for part, X in self._blocks(None)) / total
        mass = spread = 0.0
        for part, X in self._blocks(None):
            mass = mass + xp.matmul(weight[:, part], xp.abs(X))
            spread = spread + xp.matmul(weight[:, part], xp.square(X - mean))
        return host(mean)[0], host(spread)[0], host(mass)[0]

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some of the d columns as a NumPy array."""
        return host(self.xp.astype(self._columns(columns), self.xp.float64, copy=False))

    def squares(self, omega, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2, (d, L)."""
        omega, center = self.put(omega), self.put(center)
        parts = (self.xp.matmul(self.xp.square(X - center).T, omega[part, :]) for part, X in self._blocks(None))
        return host(sum(parts))

    def spread(self, omega, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C, C = Phi[:, columns] - center."""
        omega, center = self.put(omega)[:, None], self.put(center)
        return host(
            sum(self.xp.matmul(((X - center) * omega[part, :]).T, X - center) for part, X in self._blocks(columns))
        )

    def outer(self, root, center: np.ndarray, gamma: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root), C = Phi[:, columns] - center: (n, n)."""
        C = self.xp.astype(self._columns(columns), self.xp.float64, copy=False) - self.put(center)
        C = self.put(root)[:, None] * C
        return host(self.xp.matmul(C * self.put(gamma), C.T))

    def square(self, B: np.ndarray) -> np.ndarray:
        """B^T B of a matrix on the host, computed on the device where the matrix is large."""
        if B.shape[1] < LARGE_SYSTEM:
            return super().square(B)
        there = self.put(B)
        return host(self.xp.matmul(there.T, there))

    def factorised(self, H: np.ndarray) -> tuple[np.ndarray, float] | None:
        """H^-1 and log|H| by Cholesky on the device, where H is large."""
        if len(H) < LARGE_SYSTEM:
            return None
        xp = self.xp
        try:
            L = xp.linalg.cholesky(self.put(H))
        except Exception:  # every namespace has its own error for a matrix that is not positive definite
            return None
        logdet = 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(L))))
        if not np.isfinite(logdet):
            return None
        half = xp.linalg.inv(L)
        return host(xp.matmul(half.T, half)), logdet

    def loss(self, Y, s, offset, reference: bool, dtype: Any) -> Any:
        """(W, b) -> Phi^T s (P - Y) and the sums of s (P - Y), on the device: for first-order methods."""
        if type(self.X).__module__.startswith("torch") and dtype == self.xp.float32:
            try:
                from .triton_kernels import KernelGradient, fits
            except ImportError:  # Triton is not installed
                pass
            else:
                if fits(self.X, Y.shape[1]):
                    return KernelGradient(self.X, Y, s, offset, reference)
        return LossGradient(self.xp, self.X, Y, s, offset, reference, dtype)
