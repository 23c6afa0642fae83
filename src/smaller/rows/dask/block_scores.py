"""The log-likelihood of rows that a fit has not seen, on a worker: at all strengths of a path at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .block import Block, Task, as_vector

NEVER_SEEN = float(np.log(np.finfo(float).tiny))  # of a class that the training rows do not have


class Candidates(NamedTuple):
    """Weights of L candidates, class by class (r, k L), in the r columns that any of them uses; intercepts (k L,)."""

    task: Task
    columns: np.ndarray
    W: np.ndarray
    b: np.ndarray


def log_likelihoods(X, y, weight, offset, told: Candidates) -> np.ndarray:
    """Of one block: the sums of s log p(y) of each candidate, and the sum of s in the last place."""
    task, labels = told.task, as_vector(y, "y")
    plain = task._replace(factor=np.ones(len(task.classes)))  # scores do not count the weights of classes
    block = Block(X, labels, weight, offset, plain)
    count, m = len(told.b) // task.k, len(task.classes)
    found = np.zeros(count + 1)
    found[-1] = block.s.sum()
    known = task.classes[block.codes] == labels
    kept = None if len(told.columns) == task.basis.n_columns_ else told.columns
    for part in block.parts(m * count):
        F = block.columns(part, kept) @ told.W + told.b
        F = F.reshape(len(F), task.k, count)
        if block.offset is not None:
            F += block.offset[part][:, :, None]
        if task.k < m:  # a class without a column has score 0: the first of two, the last of several
            F = np.insert(F, 0 if m == 2 else task.k, 0.0, axis=1)
        own = np.take_along_axis(F, block.codes[part][:, None, None], axis=1)[:, 0]
        own = np.where(known[part][:, None], own - logsumexp(F, axis=1), NEVER_SEEN)
        found[:-1] += block.s[part] @ own
    return found
