"""The columns of one block along random directions, which tell copies of a column, and a number that marks each row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .block import Block, Task
from .block_moments import random_numbers

DIRECTIONS = 3  # columns that agree along so many are copies


class Projections(NamedTuple):
    """Inner products of the columns with random numbers for each row, (d, DIRECTIONS); a number for each row, (n,)."""

    pulls: np.ndarray
    marks: np.ndarray


def project(X, y, weight, offset, task: Task) -> Projections:
    """Of one block; columns less `task.center`, rows of positive weight. The marks of the rows are Z `task.W`."""
    block = Block(X, y, weight, offset, task)
    rng, d = random_numbers(block), task.basis.n_columns_
    pulls, marks = np.zeros((d, DIRECTIONS)), [np.zeros(0)]
    for part in block.parts():
        Z = block.columns(part)
        D = rng.standard_normal((Z.shape[0], DIRECTIONS)) * (block.s[part] > 0)[:, None]
        if sparse.issparse(Z):
            pulls += Z.T @ D - np.outer(task.center, D.sum(axis=0))
        else:
            pulls += (Z - task.center).T @ D
        marks.append(Z @ task.W)
    return Projections(pulls, np.concatenate(marks))


def join_projections(found: list[Projections]) -> Projections:
    """Of several blocks in their order."""
    pulls, marks = zip(*found, strict=True)
    return Projections(np.sum(pulls, axis=0), np.concatenate(marks))
