"""The data of a problem: design, targets, sample weights and offset in the shapes of the objective."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..design import Design, Moments


@dataclass(frozen=True, eq=False)
class Sample:
    """Training data, checked, with rows of positive weight only; and what depends on the data alone.

    Attributes
    ----------
    design : Design
    Y : ndarray of shape (n, k)
        Targets; class-major (Fortran order) in memory.
    weight : ndarray of shape (n,)
    offset : ndarray of shape (n, k) or None
        Added to the scores.
    basis : fitted basis that made the design, or None
    classes : ndarray or None
        The labels, in classification.
    given : Any
        What the user gave, for models that split the rows themselves.
    vector : bool
        Whether there is one real target, given as a vector: its weights are a vector too.
    """

    posterior: ClassVar[Any] = None  # the class of the objective where it is not Posterior
    design: Design
    Y: Any
    weight: Any
    offset: Any = None
    basis: Any = None
    classes: Any = None
    given: Any = None
    vector: bool = False
    last: list = field(init=False, default_factory=list)  # the last scores, and the gradient of the loss there

    @cached_property
    def k(self) -> int:
        """Columns of scores."""
        return self.Y.shape[1]

    @cached_property
    def total(self) -> float:
        """Sum of the sample weights."""
        return self.weight.sum()

    @cached_property
    def moments(self) -> Moments:
        """Weighted moments of the columns of the design."""
        return self.design.moments(self.weight)

    @cached_property
    def scale(self) -> np.ndarray:
        """Weighted standard deviations of the design's columns (about 0 when there is no intercept), 1 of constants."""
        d = self.design.d
        square = self.moments.mean[:d] ** 2
        variance = self.moments.spread[:d] / self.total + (0.0 if self.design.intercept else square)
        return np.where(variance <= 1e-28 * square, 1.0, np.sqrt(variance))
