"""Second derivatives of a loss in some weights, for rows in memory and for each block of rows elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..design import Design


def hessian(design: Design, likelihood: Any, P: np.ndarray, s: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Second derivatives of the loss in the weights of a mask (m, k), class by class."""
    rows = [np.flatnonzero(column) for column in active.T]
    ends = np.concatenate([[0], np.cumsum([len(each) for each in rows])])
    H = np.zeros((ends[-1], ends[-1]))
    for left in range(len(rows)):
        for right in range(left, len(rows)):
            block = slice(ends[left], ends[left + 1]), slice(ends[right], ends[right + 1])
            if len(rows[left]) and len(rows[right]):
                omega = likelihood.curvature(P, s, left, right)
                H[block] = design.cross(omega, rows[left], rows[right])
                H[block[::-1]] = H[block].T
    return H


def centring(active: np.ndarray, mean: np.ndarray) -> sparse.csr_array:
    """T with w = T v for the weights of a mask (m, k), class by class, the intercepts last in each class.

    w belongs to the columns as they are and v to the columns less their means.
    """
    klass, feature = np.nonzero(active.T)
    d, every = len(active) - 1, np.arange(len(klass))
    inner, place = feature < d, every[feature == d]
    entries = np.r_[np.ones(len(klass)), -mean[feature[inner]]]
    rows, columns = np.r_[every, place[klass[inner]]], np.r_[every, every[inner]]
    return sparse.csr_array((entries, (rows, columns)), shape=(len(klass), len(klass)))
