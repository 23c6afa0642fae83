"""Kinds of rules for the fields of a model file: numbers, arrays of a shape, and what a predicate allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

Sizes = Mapping[str, Any]


class Rule(NamedTuple):
    """A description of the values allowed, a function that checks one, and whether a fitted model needs the field."""

    expected: Callable[[Sizes], str]
    holds: Callable[[Any, Sizes], bool]
    needed: bool = True


def whole(low: int, needed: bool = True) -> Rule:
    """An integer of at least `low`."""
    return Rule(
        lambda _: f"a whole number of at least {low}", lambda value, _: is_whole(value) and value >= low, needed
    )


def real(low: float = -math.inf, *, finite: bool = True, above: bool = False, needed: bool = True) -> Rule:
    """A single number, not NaN."""
    words = ("a finite number" if finite else "a number") + _limit(low, above)

    def holds(value, _):
        return is_real(value) and (math.isfinite(value) if finite else True) and _beyond(value, low, above)

    return Rule(lambda _: words, holds, needed)


def numbers(*shapes: tuple, low=-math.inf, above=False, integers=False, needed=True) -> Rule:
    """Finite numbers in an array, dense, of one of these shapes; sides are numbers or names of sizes."""

    def expected(sizes):
        told = " or ".join(str(_shape(shape, sizes)) for shape in shapes)
        return ("whole numbers" if integers else "finite numbers") + f" of shape {told}" + _limit(low, above)

    def holds(value, sizes):
        kinds = "iu" if integers else "iuf"
        right = isinstance(value, np.ndarray) and value.dtype.kind in kinds and np.isfinite(value).all()
        return right and value.shape in [_shape(shape, sizes) for shape in shapes] and _beyond(value, low, above).all()

    return Rule(expected, holds, needed)


def one_of(words: str, holds: Callable[[Any], bool], needed: bool = True) -> Rule:
    """A rule that is a predicate of the value alone."""
    return Rule(lambda _: words, lambda value, _: holds(value), needed)


def or_none(rule: Rule) -> Rule:
    """The same, or None."""
    return rule._replace(
        expected=lambda sizes: f"None, or {rule.expected(sizes)}",
        holds=lambda value, sizes: value is None or rule.holds(value, sizes),
    )


def _limit(low: float, above: bool) -> str:
    return "" if low == -math.inf else f", {'greater than' if above else 'at least'} {low:g}"


def _beyond(value, low: float, above: bool):
    return value > low if above else value >= low


def _shape(shape: tuple, sizes: Sizes) -> tuple:
    return tuple(sizes[side] if isinstance(side, str) else side for side in shape)


def is_real(value) -> bool:
    """Whether a value is a number, not NaN; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and not math.isnan(value)


def is_whole(value) -> bool:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
