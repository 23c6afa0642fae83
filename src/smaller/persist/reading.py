"""The tree of a model file as values; the archive is checked before anything is allocated."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from .._version import __version__
from .model_rules import FieldError, check
from .preparations import PRIVATE
from .registry import (
    DIMENSIONS,
    ESTIMATORS,
    FITTED,
    FORMAT,
    LARGEST_HEADER,
    LONGEST,
    MEMBER,
    NUMBERS_AND_TEXT,
    PRIORS,
    RECORDS,
    SPARSE,
    SPLITTERS,
    VERSION,
)


class LaterFormatError(Exception):
    """The format of the file is newer than those that this version reads."""


class Reader:
    """Checks the archive before anything is allocated, then turns the tree back into values."""

    def __init__(self, stream) -> None:
        size = stream.seek(0, io.SEEK_END)
        self.archive = zipfile.ZipFile(stream)
        self.members = {info.filename: info for info in self.archive.infolist()}
        self.arrays: dict[str, np.ndarray] = {}
        self._check_members(size)
        self.header = self._header()

    def _check_members(self, size: int) -> None:
        infos = self.archive.infolist()
        if len(self.members) != len(infos):
            raise ValueError("a member occurs twice")
        for info in infos:
            if info.filename != "header.json" and not MEMBER.fullmatch(info.filename):
                raise ValueError("a member does not belong there")
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
                raise ValueError("a member is compressed or encrypted")
        if sum(info.file_size for info in infos) > size:
            raise ValueError("the members claim to be larger than the file")

    def _header(self) -> dict:
        if self.members["header.json"].file_size > LARGEST_HEADER:
            raise ValueError("the header is too large")
        header = json.loads(self.archive.read("header.json").decode())
        if header["format"] != FORMAT or type(header["version"]) is not int:
            raise ValueError("its header is that of another program")
        if header["version"] > VERSION:
            raise LaterFormatError(
                f"was written by smaller {str(header.get('library'))[:20]} in format {header['version']}, and smaller "
                f"{__version__} reads formats up to {VERSION}; upgrade smaller to load it."
            )
        return header

    def model(self) -> Any:
        """The model at the root of the tree."""
        tree = self.header["model"]
        draws = isinstance(tree, dict) and list(tree) == ["record"] and tree["record"].get("class") == "PosteriorSample"
        if not (draws or (isinstance(tree, dict) and list(tree) == ["estimator"])):
            raise ValueError("it contains no model")
        return self.decode(tree, "model")

    def notes(self) -> Any:
        """The notes that were saved with the model."""
        return self.decode(self.header["notes"], "notes")

    def decode(self, tree, where: str) -> Any:
        """A value of the tree; `where` is its name for messages."""
        if isinstance(tree, list):
            return self.items(tree, where)
        if not isinstance(tree, dict):
            return tree
        try:
            ((kind, content),) = tree.items()
            return DECODERS[kind](self, content, where)
        except FieldError:
            raise
        except Exception as error:  # any error that a damaged or hostile file causes names the field
            raise FieldError(f"{where} cannot be read: {str(error) or type(error).__name__}") from error

    def items(self, content, where: str) -> list:
        return [self.decode(item, f"{where}[{i}]") for i, item in enumerate(content)]

    def parts(self, content, where: str) -> dict[str, Any]:
        """Named values."""
        return {name: self.decode(part, f"{where}.{name}") for name, part in content.items()}

    def array(self, content, where: str) -> np.ndarray:
        if isinstance(content, str):
            if content not in self.arrays:
                self.arrays[content] = self._member(f"{content}.npy")
            return self.arrays[content]
        array = np.empty(len(content["objects"]), dtype=object)
        array[:] = self.items(content["objects"], where)
        return array.reshape(_sides(content["shape"]))

    def _member(self, name: str) -> np.ndarray:
        content = self.archive.read(name)
        stream = io.BytesIO(content)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = readers[np.lib.format.read_magic(stream)](stream)
        if dtype.kind not in NUMBERS_AND_TEXT or dtype.names or dtype.subdtype or not dtype.itemsize:
            raise ValueError("an array has a type that is not allowed")
        sides, start = _sides(shape), stream.tell()
        if math.prod(sides) * dtype.itemsize != len(content) - start:
            raise ValueError("an array's shape does not fit its data")
        flat = np.frombuffer(content, dtype, offset=start) if len(content) > start else np.empty(0, dtype)
        return flat.reshape(sides, order="F" if fortran else "C").copy("K")

    def scalar(self, content, where: str) -> np.generic:
        name, value = content
        dtype = np.dtype(name)
        if dtype.kind not in NUMBERS_AND_TEXT or dtype.subdtype or dtype.names:
            raise ValueError("a number has a type that is not allowed")
        return dtype.type(self.decode(value, where))

    def number(self, content, where: str) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]

    def mapping(self, content, where: str) -> dict:
        return {self.decode(key, f"{where} key"): self.decode(value, f"{where}[{key!r}]") for key, value in content}

    def sequence(self, content, where: str) -> tuple:
        return tuple(self.items(content, where))

    def random_state(self, content, where: str) -> np.random.RandomState:
        state = np.random.RandomState()
        state.set_state(self.sequence(content, where))
        return state

    def sparse(self, content, where: str) -> Any:
        data, indices, indptr = (self.array(content[name], where) for name in ("data", "indices", "indptr"))
        matrix = SPARSE[content["class"]]((data, indices, indptr), shape=_sides(content["shape"]))
        matrix.check_format(full_check=True)
        if not (indices.dtype.kind == indptr.dtype.kind == "i" and data.dtype.kind in "iuf"):
            raise ValueError("a sparse matrix has indices that are no integers, or entries that are no numbers")
        if not (np.array_equal(matrix.indices, indices) and np.array_equal(matrix.indptr, indptr)):
            raise ValueError("a sparse matrix has indices that do not fit its entries")
        matrix.indices, matrix.indptr = indices, indptr  # keep the dtype that was saved
        return matrix

    def dtype(self, content, where: str) -> np.dtype:
        dtype = np.dtype(str(content))
        if dtype.kind not in f"{NUMBERS_AND_TEXT}O" or dtype.subdtype or dtype.names:
            raise ValueError("a type of numbers is not allowed")
        return dtype

    def number_type(self, content, where: str) -> type:
        return self.dtype(content, where).type

    def span(self, content, where: str) -> slice:
        start, stop, step = (part if part is None else int(part) for part in content)
        return slice(start, stop, step)

    def record(self, content, where: str) -> Any:
        return RECORDS[content["class"]](**self.parts(content["parts"], where))

    def splitter(self, content, where: str) -> Any:
        cls = SPLITTERS[content["class"]]
        splitter = cls.__new__(cls)
        known = vars(cls())
        if set(content["parts"]) != set(known):
            raise ValueError("a splitter has unknown settings, or lacks some")
        vars(splitter).update(self.parts(content["parts"], where))
        return splitter

    def prior(self, content, where: str) -> Any:
        return PRIORS[content["class"]](**self.parts(content["parts"], where))

    def estimator(self, content, where: str) -> Any:
        cls = ESTIMATORS[content["class"]]
        parameters = self.parts(content["parameters"], where)
        if strange := set(parameters) - set(cls._get_param_names()):
            raise FieldError(f"{where}.{min(strange)} is no parameter of {cls.__name__}")
        model = cls(**parameters)
        for name, item in content["fitted"].items():
            if not (FITTED.fullmatch(name) or name in PRIVATE.get(cls, ())) or hasattr(cls, name):
                raise FieldError(f"{where}.{name} is no attribute of {cls.__name__}")
            vars(model)[name] = self.decode(item, f"{where}.{name}")
        check(model, where)
        _request(model, self.decode(content["requests"], f"{where}, requests of metadata"))
        output = self.decode(content["output"], f"{where}, output of transform")
        if output is not None:
            model.set_output(transform=output["transform"])
        return model


def _sides(shape) -> tuple[int, ...]:
    """A shape; refused if it has too many or too long dimensions."""
    sides = tuple(shape)
    if len(sides) > DIMENSIONS or not all(type(side) is int and 0 <= side <= LONGEST for side in sides):
        raise ValueError("an array has a shape of too many or too long dimensions")
    return sides


def _request(model, requests) -> None:
    if not requests:
        return
    made = model._get_metadata_request()
    for method, requested in requests.items():
        for argument, alias in requested.items():
            getattr(made, method).add_request(param=argument, alias=alias)
    model._metadata_request = made


DECODERS: dict[str, Callable] = {
    "float": Reader.number,
    "array": Reader.array,
    "scalar": Reader.scalar,
    "dict": Reader.mapping,
    "tuple": Reader.sequence,
    "random_state": Reader.random_state,
    "sparse": Reader.sparse,
    "record": Reader.record,
    "splitter": Reader.splitter,
    "prior": Reader.prior,
    "estimator": Reader.estimator,
    "dtype": Reader.dtype,
    "type": Reader.number_type,
    "slice": Reader.span,
}
