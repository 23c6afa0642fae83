"""Values as the tree of a model file, and the arrays beside the tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..design import host
from ..errors import ModelFileError
from .preparations import PRIVATE
from .registry import ESTIMATORS, FITTED, NUMBERS_AND_TEXT, PRIORS, RECORDS, SPARSE, SPLITTERS


def unknown(where: str, value) -> str:
    """The message for a value that a model file cannot hold."""
    cls = type(value)
    what = f"{where} is a {cls.__module__}.{cls.__qualname__}"
    if isinstance(value, BaseEstimator):
        return (
            f"{what}, which a model file cannot hold: it holds models of smaller, alone or in pipelines with scalers, "
            "encoders and imputers of scikit-learn. Save the model of smaller alone and keep the rest in code."
        )
    if callable(value):
        return f"{what}: a function cannot be kept in a file that executes nothing. Use one of the named options."
    return f"{what}, which a model file cannot hold: it holds numbers, text, arrays, lists and dicts."


class Writer:
    """Turns values into the tree, and collects the arrays."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.seen: dict[int, tuple[str, Any]] = {}  # an array that several parts share is written once

    def encode(self, value, where: str) -> Any:
        """The value as JSON; `where` is its name for messages. Arrays on a device are copied to the host."""
        value = host(value)
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) is list:
            return self.items(value, where)
        for kind, (write, matches) in ENCODERS.items():
            if matches(value):
                return {kind: write(self, value, where)}
        raise ModelFileError(unknown(where, value))

    def items(self, value, where: str) -> list:
        return [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]

    def array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype.kind == "O":
            return {"objects": self.items(value.ravel(), where), "shape": list(value.shape)}
        if value.dtype.kind not in NUMBERS_AND_TEXT or value.dtype.itemsize == 0 or type(value) is not np.ndarray:
            raise ModelFileError(f"{where} is an array of {value.dtype}; a model file holds numbers and text.")
        if id(value) not in self.seen:
            self.seen[id(value)] = str(len(self.arrays)), value
            self.arrays.append(value)
        return self.seen[id(value)][0]

    def scalar(self, value: np.generic, where: str) -> list:
        if value.dtype.kind not in "biufU" or value.dtype == np.longdouble != np.float64:
            raise ModelFileError(f"{where} is a {value.dtype}; a model file holds numbers and text.")
        return [value.dtype.str, self.encode(value.item(), where)]

    def mapping(self, value: dict, where: str) -> list:
        items = value.items()
        return [[self.encode(key, f"{where} key"), self.encode(item, f"{where}[{key!r}]")] for key, item in items]

    def random_state(self, value: np.random.RandomState, where: str) -> list:
        return [self.encode(item, where) for item in value.get_state(legacy=True)]

    def sparse(self, value, where: str) -> dict:
        parts = {name: self.array(getattr(value, name), where) for name in ("data", "indices", "indptr")}
        return {"class": type(value).__name__, "shape": [int(side) for side in value.shape], **parts}

    def dtype(self, value, where: str) -> str:
        dtype = np.dtype(value)
        if dtype.kind not in f"{NUMBERS_AND_TEXT}O":
            raise ModelFileError(f"{where} is the type {dtype}; a model file holds numbers and text.")
        return dtype.str

    def span(self, value: slice, where: str) -> list:
        return [self.encode(part, where) for part in (value.start, value.stop, value.step)]

    def record(self, value, where: str) -> dict:
        names = [field.name for field in fields(value)] if is_dataclass(value) else value._fields
        parts = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in names}
        return {"class": type(value).__name__, "parts": parts}

    def settings(self, value, where: str) -> dict:
        parts = {name: self.encode(item, f"{where}.{name}") for name, item in vars(value).items()}
        return {"class": type(value).__name__, "parts": parts}

    def estimator(self, value, where: str) -> dict:
        parameters = value.get_params(deep=False)
        state = {name: item for name, item in vars(value).items() if name not in parameters}
        private = PRIVATE.get(type(value), ())
        requests, output = state.pop("_metadata_request", None), state.pop("_sklearn_output_config", None)
        for name in state:
            if not FITTED.fullmatch(name) and name not in private:
                raise ModelFileError(f"{where}.{name} is no parameter and no fitted attribute; delete it to save.")
        return {
            "class": type(value).__name__,
            "parameters": {name: self.encode(item, f"{where}.{name}") for name, item in parameters.items()},
            "fitted": {name: self.encode(item, f"{where}.{name}") for name, item in state.items()},
            "requests": self.encode(_requested(requests), where),
            "output": self.encode(output, where),
        }


def _requested(requests) -> dict | None:
    """The requests of set_fit_request and similar methods: {method: {argument: alias}}."""
    if requests is None:
        return None
    asked = {name: getattr(getattr(requests, name), "requests", {}) for name in vars(requests)}
    return {name: dict(requested) for name, requested in asked.items() if requested}


def _of(cls: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, cls)


def _in(table: dict[str, Any]) -> Callable[[Any], bool]:
    return lambda value: table.get(type(value).__name__) is type(value)


def _is_number_type(value) -> bool:
    return isinstance(value, type) and issubclass(value, np.generic)


ENCODERS: dict[str, tuple[Callable, Callable[[Any], bool]]] = {
    "array": (Writer.array, _of(np.ndarray)),
    "scalar": (Writer.scalar, _of(np.generic)),
    "dict": (Writer.mapping, lambda value: type(value) is dict),
    "tuple": (Writer.items, lambda value: type(value) is tuple),
    "random_state": (Writer.random_state, _of(np.random.RandomState)),
    "sparse": (Writer.sparse, _in(SPARSE)),
    "record": (Writer.record, _in(RECORDS)),
    "splitter": (Writer.settings, _in(SPLITTERS)),
    "prior": (Writer.settings, _in(PRIORS)),
    "estimator": (Writer.estimator, _in(ESTIMATORS)),
    "dtype": (Writer.dtype, _of(np.dtype)),
    "type": (Writer.dtype, _is_number_type),
    "slice": (Writer.span, _of(slice)),
}
