"""The gradient of the multinomial loss by two CUDA kernels, each of which reads X once, at the speed of the memory.

The first computes scores, probabilities and residuals of a block of rows; the second multiplies X with them. (One
kernel for both, the second reading from the cache, was slower: its sums do not fit in registers.) The classes are the
16 rows of the matrix instruction, so that X is read as it is stored. Products are those of float32 but for some last
bits, each the sum of three of TF32's ("tf32x3"); plain "tf32" would round X and the weights to 11 bits. Sums are added
up in float32 over some thousand rows, and beyond in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

MOST_CLASSES = 64
CHUNK = 8  # tiles of rows that are summed before the sum joins the total


class Cut(NamedTuple):
    """How the work is divided: for each kernel rows and columns of a tile, warps and depth of the pipeline."""

    scores: tuple[int, int, int, int] = (64, 64, 4, 4)
    products: tuple[int, int, int, int] = (32, 128, 4, 4)
    programs: int = 4  # for each processor, of the second
    precision: str = "tf32x3"


@triton.jit
def _residuals(
    X, W, b, labels, s, offset, R, left, n, size, D: tl.constexpr, STRIDE: tl.constexpr, K: tl.constexpr,
    KP: tl.constexpr, REFERENCE: tl.constexpr, OFFSET: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
    PRECISION: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """R = s (P - Y) of a block of rows, (classes, rows), and its sums; 0 in rows that X does not have."""
    program = tl.program_id(0)
    classes, inner = tl.arange(0, KP), tl.arange(0, BD)
    rows = program * BM + tl.arange(0, BM)
    inside = rows < n
    start = X + rows.to(tl.int64)[:, None] * STRIDE
    F = tl.zeros((KP, BM), dtype=tl.float32)
    for j in tl.range(0, D, BD, num_stages=STAGES):
        columns = j + inner
        x = tl.load(start + columns[None, :], mask=inside[:, None] & (columns[None, :] < D), other=0.0)
        w = tl.load(W + classes[:, None] * D + columns[None, :], mask=columns[None, :] < D, other=0.0)
        F = tl.dot(w, tl.trans(x), F, input_precision=PRECISION)
    F += tl.load(b + classes)[:, None]
    there = classes[:, None] < K
    if OFFSET:
        known = offset + rows.to(tl.int64)[None, :] * K + classes[:, None]
        F += tl.load(known, mask=inside[None, :] & there, other=0.0)
    F = tl.where(there, F, float("-inf"))
    top = tl.max(F, axis=0)
    if REFERENCE:
        top = tl.maximum(top, 0.0)
    P = tl.exp(F - top[None, :])
    total = tl.sum(P, axis=0)
    if REFERENCE:
        total += tl.exp(-top)
    label = tl.load(labels + rows, mask=inside, other=0)
    weight = tl.load(s + rows, mask=inside, other=0.0)
    own = (classes[:, None] == label[None, :]).to(tl.float32)
    r = weight[None, :] * (P / total[None, :] - own)
    tl.store(R + classes[:, None] * size.to(tl.int64) + rows[None, :], r)
    tl.store(left + program * KP + classes, tl.sum(r, axis=1))


@triton.jit
def _products(
    X, R, G, n, size, D: tl.constexpr, STRIDE: tl.constexpr, KP: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
    PRECISION: tl.constexpr, STAGES: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """R X for some columns, over every `parts`-th chunk of rows: (classes, columns)."""
    classes = tl.arange(0, KP)
    columns = tl.program_id(0) * BD + tl.arange(0, BD)
    part, parts = tl.program_id(1), tl.num_programs(1)
    known = columns < D
    line = R + classes[:, None] * size.to(tl.int64)
    total = tl.zeros((KP, BD), dtype=tl.float32)
    for chunk in range(part, tl.cdiv(n, BM * CHUNK), parts):
        some = tl.zeros((KP, BD), dtype=tl.float32)
        for i in tl.range(0, CHUNK, num_stages=STAGES):
            rows = (chunk * CHUNK + i) * BM + tl.arange(0, BM)
            here = X + rows.to(tl.int64)[:, None] * STRIDE + columns[None, :]
            x = tl.load(here, mask=(rows < n)[:, None] & known[None, :], other=0.0)
            some = tl.dot(tl.load(line + rows[None, :]), x, some, input_precision=PRECISION)
        total += some
    tl.store(G + part * (D * KP) + classes[:, None] * D + columns[None, :], total, mask=known[None, :])


class KernelGradient:
    """(W, b) -> Phi^T R and the sums of R, as :class:`smaller.design.loss_gradient.LossGradient` has them."""

    def __init__(self, X, Y, s, offset, reference: bool, cut: Cut | None = None):
        self.X, self.k, self.reference, self.cut = X, Y.shape[1], reference, cut or Cut()
        (n, d), padded = X.shape, max(16, triton.next_power_of_2(self.k))
        # A row without an indicator belongs to the class without a column.
        self.labels = torch.where(Y.sum(1) > 0, Y.argmax(1), self.k).to(torch.int32)
        self.s = s.to(torch.float32)
        self.offset = None if offset is None else offset.to(torch.float32).contiguous()
        processors = torch.cuda.get_device_properties(X.device).multi_processor_count if X.is_cuda else 2
        self.blocks = triton.cdiv(n, self.cut.scores[0])
        self.across = triton.cdiv(d, self.cut.products[1])
        chunks = triton.cdiv(n, CHUNK * self.cut.products[0])
        self.parts = max(1, min(self.cut.programs * processors // self.across, chunks))
        size = max(self.blocks * self.cut.scores[0], chunks * CHUNK * self.cut.products[0])
        new = {"dtype": torch.float32, "device": X.device}
        self.W, self.b = torch.zeros((padded, d), **new), torch.zeros(padded, **new)
        self.R, self.left = torch.zeros((padded, size), **new), torch.zeros((self.blocks, padded), **new)
        self.G = torch.zeros((self.parts, padded, d), **new)

    def __call__(self, W, b) -> tuple[Any, Any]:
        """W (d, k) and b (1, k) in float64; so are G (d, k) and the sums (1, k)."""
        (n, d), stride, padded, k = self.X.shape, self.X.stride(0), len(self.W), self.k
        self.W[:k], self.b[:k] = W.T, b[0]
        known = self.s if self.offset is None else self.offset
        size, precision = self.R.shape[1], self.cut.precision
        with torch.cuda.device(self.X.device) if self.X.is_cuda else torch.no_grad():
            rows, columns, warps, stages = self.cut.scores
            _residuals[(self.blocks,)](
                self.X, self.W, self.b, self.labels, self.s, known, self.R, self.left, n, size, d, stride, k, padded,
                self.reference, self.offset is not None, rows, columns, precision, stages, num_warps=warps,
            )  # fmt: skip
            rows, columns, warps, stages = self.cut.products
            _products[(self.across, self.parts)](
                self.X, self.R, self.G, n, size, d, stride, padded, rows, columns, precision, stages, CHUNK,
                num_warps=warps,
            )  # fmt: skip
        G, left = self.G.sum(0, dtype=torch.float64), self.left.sum(0, dtype=torch.float64)
        return G[:k].T, left[None, :k]


def fits(X, k: int) -> bool:
    """Whether the kernels take these data: float32 rows in order on a CUDA device, and not too many classes."""
    return X.is_cuda and X.dtype == torch.float32 and X.stride(1) == 1 and X.shape[1] > 0 and k <= MOST_CLASSES
