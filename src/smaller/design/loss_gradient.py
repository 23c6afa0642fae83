"""The gradient of the multinomial loss in one pass over blocks of X: scores, probabilities, residuals, products.

First-order methods need it at every step. Products are in the precision of X, sums over blocks in float64. On a CUDA
device with Triton two kernels compute it at the speed of the memory (:mod:`smaller.design.triton_kernels`).
"""

from __future__ import annotations

from typing import Any

from .._core.reference_sums import softmax

BLOCK_BYTES = {"cpu": 2**22}  # fits in a processor's cache
DEVICE_BYTES = 2**28


class LossGradient:
    """(W, b) -> Phi^T R without the intercept's row, and the sums of R; R = s (P - Y).

    Parameters
    ----------
    X : array of shape (n, d)
    Y : array of shape (n, k)
        Class indicators.
    s : array of shape (n,)
    offset : array of shape (n, k), or None
    reference : bool
        Whether one more class has score 0.
    dtype
        Of the products.
    """

    def __init__(self, xp: Any, X, Y, s, offset, reference: bool, dtype):
        self.xp, self.X, self.reference, self.dtype = xp, X, reference, dtype
        self.Y, self.s = xp.astype(Y, dtype, copy=False), xp.astype(s, dtype, copy=False)[:, None]
        self.offset = None if offset is None else xp.astype(offset, dtype, copy=False)
        size = BLOCK_BYTES.get(str(X.device), DEVICE_BYTES)
        step = max(256, size // (8 * max(1, X.shape[1])))
        self.parts = [slice(i, min(i + step, X.shape[0])) for i in range(0, X.shape[0], step)]

    def __call__(self, W, b) -> tuple[Any, Any]:
        """W (d, k) and b (1, k) in float64; so are G (d, k) and the sums (1, k)."""
        xp = self.xp
        weights, shift = xp.astype(W, self.dtype, copy=False), xp.astype(b, self.dtype, copy=False)
        G, left = xp.zeros_like(W), xp.zeros_like(b)
        for part in self.parts:
            X = xp.astype(self.X[part, :], self.dtype, copy=False)
            F = xp.matmul(X, weights) + shift
            R = self._residual(F if self.offset is None else F + self.offset[part, :], part)
            G = G + xp.astype(xp.matmul(R.T, X).T, xp.float64, copy=False)
            left = left + xp.sum(R, axis=0, keepdims=True, dtype=xp.float64)
        return G, left

    def _residual(self, F, part: slice) -> Any:
        return self.s[part, :] * (softmax(F, self.reference, self.xp)[0] - self.Y[part, :])
