"""Groups of columns as a user gives them: labels, shares and factors, checked, and the prior that they make."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn import Interval
from ..objective.problem import Problem
from ..objective.sample import Sample
from ..priors import ElasticNet, Groups
from ..solvers import Solution

FEATURES = "features"
NEWTON = ("auto", "newton", "fixed-point")  # solvers that can solve problems with groups


class Grouped:
    """What a model with the parameters groups, l1_share and group_factor shares with others: its prior and its support.

    The labels are those of the columns of the basis.
    """

    groups: Any
    l1_share: float
    group_factor: Any

    _group_constraints: ClassVar[dict] = {
        "groups": ["array-like", str, None],
        "l1_share": [Interval(Real, 0, 1, closed="both")],
        "group_factor": ["array-like", dict, None],
    }

    def _group_prior(self, sample: Sample, l1: float, l2: float, factor: np.ndarray | None, scale) -> ElasticNet:
        """The prior with groups, or without any where they mean nothing more than an L1 term."""
        if self.groups is None:
            self._refuse_without_groups()
            return ElasticNet(l1, l2, factor, scale)
        self._refuse_solver()
        plain = ElasticNet(l1, l2, factor, scale)
        if isinstance(self.groups, str):
            return self._feature_prior(plain, sample)
        return self._labelled_prior(plain, sample)

    def _refuse_without_groups(self) -> None:
        for name, given in (("l1_share", self.l1_share), ("group_factor", self.group_factor)):
            if given is not None and given is not False and np.size(given) and np.any(given != 0.0):
                raise ValueError(
                    f"{name}={given!r} has no effect without groups; give groups='features' or one label for each "
                    f"column, or leave {name} out."
                )

    def _refuse_solver(self) -> None:
        solver = getattr(self, "solver", "auto")
        if solver not in NEWTON:
            raise ValueError(f"solver={solver!r} takes no groups; leave solver out with groups.")

    def _feature_prior(self, plain: ElasticNet, sample: Sample) -> ElasticNet:
        if self.groups != FEATURES:
            raise ValueError(f"groups must be None, 'features' or one label for each column; got {self.groups!r}.")
        if self.group_factor is not None:
            raise ValueError("group_factor is for labelled groups; with groups='features' use penalty_factor.")
        if plain.factor is not None and plain.factor.ndim > 1:
            raise ValueError(
                "With groups='features' the weights of a column share one penalty: penalty_factor must have shape "
                f"({sample.design.d},), one for each column; got {plain.factor.T.shape}."
            )
        if sample.k == 1 or self.l1_share == 1:
            return plain
        c = np.ones(sample.design.d) if plain.factor is None else plain.factor
        labels = np.where(np.isinf(c), -1, np.arange(sample.design.d))
        return _with_groups(plain, labels, np.where(np.isinf(c), 0.0, c), self.l1_share)

    def _labelled_prior(self, plain: ElasticNet, sample: Sample) -> ElasticNet:
        names, labels = distinct_labels(self.groups, sample.design.d, sample.design.n)
        kept = np.ones(len(labels), dtype=bool) if plain.factor is None else ~np.isinf(_by_column(plain.factor))
        if self.l1_share == 1:
            if self.group_factor is not None:
                raise ValueError("group_factor has no effect with l1_share=1, where no norm of a group is left.")
            return plain
        c = group_factors(self.group_factor, names, np.bincount(labels[kept], minlength=len(names)))
        if plain.factor is not None:
            self._check_factors(plain, np.where(kept, c[labels], 0.0), kept)
        return _with_groups(plain, np.where(kept, labels, -1), c, self.l1_share)

    def _check_factors(self, plain: ElasticNet, group_factor: np.ndarray, kept: np.ndarray) -> None:
        """Penalty factors of columns in labelled groups: nothing that the norm of the group would overrule."""
        factor = plain.factor.reshape(len(kept), -1)  # type: ignore[union-attr]
        freed = np.flatnonzero((factor == 0).any(axis=1) & (group_factor > 0))
        if len(freed):
            raise ValueError(
                f"penalty_factor is 0 for column {freed[0]}, but its group has a penalty of its own; to leave a column "
                "unpenalised give it a label of its own with a group_factor of 0."
            )
        if self.l1_share == 0 and plain.l2 == 0 and (factor[kept] != factor[kept][:1, :1]).any():
            raise ValueError(
                "penalty_factor has no effect on columns of labelled groups without an L1 or a ridge term; use "
                "group_factor, or penalty_factor=inf to leave a column out."
            )

    def _adopt_groups(self, problem: Problem, solution: Solution) -> None:
        """``group_support_`` of labelled groups: the labels whose columns have a weight."""
        self.__dict__.pop("group_support_", None)
        if self.groups is not None and not isinstance(self.groups, str):
            names, labels = np.unique(np.asarray(self.groups), return_inverse=True)
            used = solution.weights[: len(labels)].any(axis=1)
            self.group_support_ = names[np.unique(labels[used])]


def _with_groups(plain: ElasticNet, labels: np.ndarray, c: np.ndarray, share: float) -> Groups:
    return Groups(plain.l1, labels, c, share, plain.l2, plain.factor, plain.scale)


def _by_column(factor: np.ndarray) -> np.ndarray:
    return factor if factor.ndim == 1 else factor[:, 0]


def distinct_labels(groups, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels in order, and the place of each column's among them."""
    given = np.asarray(groups)
    if given.shape != (d,):
        hint = ""
        if given.shape == (n,):
            hint = " That is the number of samples: labels of samples, for a splitter, go to fit(..., groups=)."
        raise ValueError(
            f"groups labels the columns of the basis and must have shape ({d},), or be 'features'; got shape "
            f"{given.shape}.{hint}"
        )
    if (given.dtype.kind == "f" and not np.isfinite(given).all()) or (
        given.dtype.kind == "O" and any(label is None or label != label for label in given)
    ):
        raise ValueError("groups has a missing label; every column needs one, be it a label of its own.")
    try:
        return np.unique(given, return_inverse=True)
    except TypeError:
        raise ValueError(
            "groups has labels that cannot be sorted together; give all as numbers or all as text."
        ) from None


def group_factors(group_factor, names: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """c_g of each group: what the user gave, by label or in the order of the labels, or the root of its columns."""
    if group_factor is None:
        return np.sqrt(sizes)
    if isinstance(group_factor, dict):
        known = names.tolist()
        if set(group_factor) != set(known):
            wrong = sorted(map(str, set(group_factor) ^ set(known)))
            raise ValueError(f"group_factor must name each label of groups once; the difference is {', '.join(wrong)}.")
        group_factor = [group_factor[name] for name in known]
    c = np.asarray(group_factor, dtype=float)
    if c.shape != names.shape:
        raise ValueError(
            f"group_factor must have shape {names.shape}, one for each group in the order of the sorted labels, or be "
            f"a dict by label; got shape {c.shape}."
        )
    if not (np.isfinite(c) & (c >= 0)).all():
        raise ValueError("group_factor must be finite and not negative; to leave a column out use penalty_factor=inf.")
    return c
