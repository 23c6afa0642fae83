"""Passes before the first step: labels, moments of the columns, and a random sample of rows."""

from __future__ import annotations

import zlib
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...design.tensors import all_finite
from .block import Block, Task, as_vector, as_weight

MOST_CLASSES = 10_000


class Labels(NamedTuple):
    """The distinct labels of positive weight, sorted, and the weight and the number of rows of each."""

    classes: np.ndarray
    weight: np.ndarray
    number: np.ndarray

    @property
    def rows(self) -> int:
        """Rows of positive weight."""
        return int(self.number.sum())


def find_labels(X, y, weight, offset, task) -> Labels:
    """Labels of one block."""
    y = as_vector(y, "y")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; every sample needs a label.")
    s = as_weight(weight, len(y))
    classes, codes = np.unique(y[s > 0], return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"y has more than {MOST_CLASSES} distinct values in one block, too many for class labels; for "
            "numbers take a regression model on data in memory."
        )
    weight = np.bincount(codes, weights=s[s > 0], minlength=len(classes))
    return Labels(classes, weight, np.bincount(codes, minlength=len(classes)))


def join_labels(found: list[Labels]) -> Labels:
    """Labels of several blocks."""
    values = [each.classes for each in found if len(each.classes)]
    classes = np.unique(np.concatenate(values)) if values else found[0].classes
    weight, number = np.zeros((2, len(classes)))
    for each in found:
        at = np.searchsorted(classes, each.classes)
        weight[at] += each.weight
        number[at] += each.number
    return Labels(classes, weight, number)


def gather_labels(X, y, weight, offset, task) -> list[tuple[np.ndarray, np.ndarray]]:
    """The labels of one block with their weights."""
    y = as_vector(y, "y")
    return [(y, as_weight(weight, len(y)))]


def join_lists(found: list[list]) -> list:
    """One list of several blocks' in their order."""
    return list(chain.from_iterable(found))


# -- Moments of the columns


class Draw(NamedTuple):
    """Rows drawn from a block for the client: columns of the basis, codes of the labels, weights, offset."""

    Z: Any
    codes: np.ndarray
    s: np.ndarray
    offset: np.ndarray | None


class Moments(NamedTuple):
    """Total weight; of each column mean, spread about the mean, sum of |x| and sums by class (d, m); drawn rows; sizes.

    The sizes are the numbers of rows of the blocks, in their order.
    """

    total: float
    mean: np.ndarray
    spread: np.ndarray
    mass: np.ndarray
    by_class: np.ndarray
    drawn: list[Draw]
    sizes: list[int]


def find_moments(X, y, weight, offset, task: Task) -> Moments:
    """Moments of one block, whose X is checked here, once."""
    block = Block(X, y, weight, offset, task, check=True)
    s, total = block.s, float(block.s.sum())
    d, m = task.basis.n_columns_, len(task.classes)
    by_class = np.zeros((d, m))
    if not total:
        return Moments(0.0, np.zeros(d), np.zeros(d), np.zeros(d), by_class, [], [len(s)])
    spread, mass = np.zeros((2, d))
    for part in block.parts():
        Z, w = block.columns(part), s[part]
        if not all_finite(Z):  # X itself was checked
            name = type(task.basis).__name__
            raise ValueError(f"The {name} basis returned NaN or infinity for X; scale X, or change its parameters.")
        mass += abs(Z).T @ w
        own = np.zeros((len(w), m))
        own[np.arange(len(w)), block.codes[part]] = w
        by_class += Z.T @ own
    mean = by_class.sum(axis=1) / total
    for part in block.parts():
        Z, w = block.columns(part), s[part]
        if sparse.issparse(Z):
            stored = np.bincount(Z.indices, weights=np.repeat(w, np.diff(Z.indptr)), minlength=d)
            unstored = np.where(np.bincount(Z.indices, minlength=d) == len(w), 0.0, w.sum() - stored)
            away = (Z.data - mean[Z.indices]) ** 2 * np.repeat(w, np.diff(Z.indptr))
            spread += np.bincount(Z.indices, weights=away, minlength=d) + unstored * mean**2
        else:
            C = Z - mean
            spread += np.square(C, out=C).T @ w
    return Moments(total, mean, spread, mass, by_class, _draw(block, task), [len(s)])


def _draw(block: Block, task: Task) -> list[Draw]:
    """The rows of a block that go to the client: at random, but reproducibly."""
    if task.share is None:
        return []
    lot = random_numbers(block).random(len(block.s))
    rows = np.flatnonzero((lot < task.share[block.codes]) & (block.s > 0))
    codes = block.codes[rows]
    offset = None if block.offset is None else block.offset[rows]
    Z = block.basis.transform(block.X[rows])
    return [Draw(Z, codes, block.s[rows] / task.share[codes], offset)] if len(rows) else []


def random_numbers(block: Block) -> np.random.Generator:
    """Random numbers that are the same whenever the block is."""
    return np.random.default_rng(
        zlib.crc32(np.ascontiguousarray(block.codes).tobytes() + np.float64(block.X.sum()).tobytes())
    )


def join_moments(found: list[Moments]) -> Moments:
    """Moments of several blocks, without cancellation (Chan, Golub & LeVeque 1983)."""
    return reduce(_join_two, found)


def _join_two(a: Moments, b: Moments) -> Moments:
    total = a.total + b.total
    share = b.total / total if total else 0.0
    step = b.mean - a.mean
    return Moments(
        total,
        a.mean + share * step,
        a.spread + b.spread + a.total * share * step**2,
        a.mass + b.mass,
        a.by_class + b.by_class,
        a.drawn + b.drawn,
        a.sizes + b.sizes,
    )


def find_gram(X, y, weight, offset, task: Task) -> np.ndarray:
    """C^T diag(s) C of the centred columns, (d, d)."""
    block = Block(X, y, weight, offset, task)
    K: Any = 0.0
    for part in block.parts():
        Z, w = block.columns(part), block.s[part]
        if sparse.issparse(Z):
            # sum s (x - c)(x - c)^T multiplied out; exact because all blocks have the same center c.
            cross = np.outer(Z.T @ w, task.center)
            K = K + (Z.T @ (Z * w[:, None])).toarray() - cross - cross.T + w.sum() * np.outer(task.center, task.center)
        else:
            C = (Z - task.center) * np.sqrt(w)[:, None]
            K = K + C.T @ C
    return K


def add(found: list[np.ndarray]) -> np.ndarray:
    """The sum of the arrays."""
    return sum(found[1:], found[0])
