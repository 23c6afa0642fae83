"""One CUDA kernel for the gradient of the multinomial loss: every block of rows of X comes from memory once.

Scores need all columns of a row before its residual is known, and products with the residual need them again; the
second reading of a block finds it in the cache of the device. Products are float32, each the sum of three of TF32's
("tf32x3"), or plain TF32, in which weights are rounded to 11 bits; sums over blocks of programs are in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl


class Shape(NamedTuple):
    """How the work is cut: rows and columns of a tile, warps, depth of the pipeline, programs for each processor."""

    rows: int = 64
    columns: int = 64
    warps: int = 4
    stages: int = 3
    programs: int = 2
    precision: str = "tf32x3"


@triton.jit
def _residual(F, label, weight, classes, K: tl.constexpr, REFERENCE: tl.constexpr):
    """s (P - Y) of a block of scores."""
    F = tl.where(classes[None, :] < K, F, float("-inf"))
    top = tl.max(F, axis=1)
    if REFERENCE:
        top = tl.maximum(top, 0.0)
    P = tl.exp(F - top[:, None])
    total = tl.sum(P, axis=1)
    if REFERENCE:
        total += tl.exp(-top)
    own = (classes[None, :] == label[:, None]).to(tl.float32)
    return weight[:, None] * (P / total[:, None] - own)


@triton.jit
def _gradient(
    X, W, b, labels, s, offset, G, left, n, D: tl.constexpr, STRIDE: tl.constexpr, K: tl.constexpr,
    KP: tl.constexpr, REFERENCE: tl.constexpr, OFFSET: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
    PRECISION: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    classes, inner = tl.arange(0, KP), tl.arange(0, BD)
    shift = tl.load(b + classes)
    total = tl.zeros((KP,), dtype=tl.float32)
    mine = G + program.to(tl.int64) * (D * KP)
    for block in range(program, tl.cdiv(n, BM), programs):
        rows = block * BM + tl.arange(0, BM)
        inside = rows < n
        start = X + rows.to(tl.int64)[:, None] * STRIDE
        F = tl.zeros((BM, KP), dtype=tl.float32)
        for j in tl.range(0, D, BD, num_stages=STAGES):
            columns = j + inner
            x = tl.load(start + columns[None, :], mask=inside[:, None] & (columns[None, :] < D), other=0.0)
            w = tl.load(W + columns[:, None] * KP + classes[None, :], mask=columns[:, None] < D, other=0.0)
            F = tl.dot(x, w, F, input_precision=PRECISION)
        F += shift[None, :]
        if OFFSET:
            known = inside[:, None] & (classes[None, :] < K)
            F += tl.load(offset + rows.to(tl.int64)[:, None] * K + classes[None, :], mask=known, other=0.0)
        label = tl.load(labels + rows, mask=inside, other=0)
        weight = tl.load(s + rows, mask=inside, other=0.0)
        R = _residual(F, label, weight, classes, K, REFERENCE)
        total += tl.sum(R, axis=0)
        for j in tl.range(0, D, BD, num_stages=STAGES):
            columns = j + inner
            x = tl.load(start + columns[None, :], mask=inside[:, None] & (columns[None, :] < D), other=0.0)
            g = tl.dot(tl.trans(x), R, input_precision=PRECISION)
            here = mine + columns[:, None] * KP + classes[None, :]
            tl.store(here, tl.load(here, mask=columns[:, None] < D, other=0.0) + g, mask=columns[:, None] < D)
    tl.store(left + program * KP + classes, total)


class FusedGradient:
    """(W, b) -> Phi^T R and the sums of R, as :class:`smaller.design.gradient.LossGradient` has them."""

    def __init__(self, X, Y, s, offset, reference: bool, shape: Shape | None = None):
        self.X, self.k, self.reference, self.shape = X, Y.shape[1], reference, shape or Shape()
        self.padded = max(16, triton.next_power_of_2(self.k))
        # A row without an indicator belongs to the class without a column.
        self.labels = torch.where(Y.sum(1) > 0, Y.argmax(1), self.k).to(torch.int32)
        self.s = s.to(torch.float32)
        self.offset = None if offset is None else offset.to(torch.float32).contiguous()
        processors = torch.cuda.get_device_properties(X.device).multi_processor_count if X.is_cuda else 2
        self.programs = min(processors * self.shape.programs, triton.cdiv(X.shape[0], self.shape.rows))
        new = {"dtype": torch.float32, "device": X.device}
        self.W = torch.zeros((X.shape[1], self.padded), **new)
        self.b = torch.zeros(self.padded, **new)
        self.G = torch.zeros((self.programs, X.shape[1], self.padded), **new)
        self.left = torch.zeros((self.programs, self.padded), **new)

    def __call__(self, W, b) -> tuple[Any, Any]:
        """W (d, k) and b (1, k) in float64; so are G (d, k) and the sums (1, k)."""
        cut = self.shape
        self.W[:, : self.k], self.b[: self.k] = W, b[0]
        self.G.zero_()
        _gradient[(self.programs,)](
            self.X, self.W, self.b, self.labels, self.s, self.s if self.offset is None else self.offset, self.G,
            self.left, self.X.shape[0], self.X.shape[1], self.X.stride(0), self.k, self.padded, self.reference,
            self.offset is not None, cut.rows, cut.columns, cut.precision, cut.stages, num_warps=cut.warps,
        )  # fmt: skip
        G, left = self.G.sum(0, dtype=torch.float64), self.left.sum(0, dtype=torch.float64)
        return G[:, : self.k], left[None, : self.k]


def fits(X, k: int) -> bool:
    """Whether the kernel takes these data: float32 rows in order on a CUDA device, and not too many classes."""
    return X.is_cuda and X.dtype == torch.float32 and X.stride(1) == 1 and X.shape[1] > 0 and k <= 64
