"""The commands datasets and demo."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from ..atomic import replacing
from ..data import datasets
from ..data.tables import Columns, Table
from ..data.tables.writing_csv import write_csv
from ..errors import choose
from ..report import Report
from ..tuning.ranking import Settings
from . import models
from .facts_in_brief import show
from .fitting import gathered
from .option_checks import check_place
from .terminal import grid, say, working
from .training_rows import RowsInMemory


def list_datasets(
    name: str | None,
    output: Path | None,
    part: str,
) -> None:
    """List the data sets of the papers, or write one as a table to try the commands on."""
    known = datasets.available()
    if name is None:
        grid(["name", "where"], [[key, where or "not found"] for key, where in known.items()], texts=(0, 1))
        return
    choose("name", name, known)
    choose("--part", part, ("all", "train", "test"))
    bunch = getattr(datasets, f"load_{name}")()
    output = output or Path(f"{name}.npz" if sparse.issparse(bunch.data) else f"{name}.csv")
    check_place(output)
    _write_dataset(bunch, _rows(name, bunch, part), output)


def _rows(name: str, bunch, part: str) -> np.ndarray:
    if part == "all":
        return np.arange(bunch.data.shape[0])
    if part not in bunch:
        raise ValueError(f"{name} has no {part} part of its own; leave out --part.")
    return bunch[part]


def _write_dataset(bunch, rows: np.ndarray, output: Path) -> None:
    X, y = bunch.data[rows], bunch.target[rows]
    y = y if bunch.target_names is None else np.asarray(bunch.target_names)[y].astype(str)
    with working(f"Writing {output.name}"), replacing(output) as beside:
        if output.suffix.lower() == ".npz":
            _write_matrix(beside, X, y, [str(name) for name in bunch.feature_names])
        elif sparse.issparse(X):
            raise ValueError("This data set is a sparse matrix, which CSV cannot hold; name a file .npz.")
        else:
            _write_columns(beside, X, y, [str(name) for name in bunch.feature_names])
    say(f"{X.shape[0]} rows, {X.shape[1]} columns and the target y: {output}")


def _write_matrix(path: Path, X, y: np.ndarray, names: list[str]) -> None:
    parts: dict[str, Any] = {"X": X}
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    with open(path, "wb") as stream:  # NumPy would add an ending to a name
        np.savez_compressed(stream, **parts, y=y, feature_names=np.array(names))


def _write_columns(path: Path, X: np.ndarray, y: np.ndarray, names: list[str]) -> None:
    import pandas as pd

    frame = pd.concat([pd.DataFrame(X, columns=names), pd.Series(y, name="y")], axis=1)
    write_csv(frame, path)


def demo(
    folder: Path,
) -> None:
    """Fit sparse models to two data sets of scikit-learn and leave a report on each."""
    folder.mkdir(parents=True, exist_ok=True)
    tumours, diabetes = datasets.load_breast_cancer(), datasets.load_diabetes()
    labels = tumours.target_names[tumours.target]
    say("Breast cancer: is a tumour malignant? A sparse classifier on held-out samples:\n")
    first = _demonstrate("breast cancer", tumours, labels, folder / "index")
    say("\nDiabetes: how far will it progress in a year? A sparse regression on held-out samples:\n")
    second = _demonstrate("diabetes", diabetes, diabetes.target, folder / "numbers")
    say(f"\nThe reports: {first} and {second}")


def _demonstrate(name: str, bunch, y: np.ndarray, place: Path) -> Path:
    """Fit on one part, report on the other."""
    X, X_test, y, y_test = train_test_split(
        bunch.data, y, test_size=0.3, stratify=y if y.dtype.kind == "U" else None, random_state=0
    )
    columns = Columns([str(feature) for feature in bunch.feature_names], target="y")
    fitted = models.fit_model(RowsInMemory(Table(X, y, columns)), None, None, Settings(), f"{name}, training part")
    found = Report(gathered(fitted, X_test, y_test, f"{name}, test part"))
    show(found.facts)
    page = place.with_suffix(".html" if find_spec("vl_convert") and find_spec("jinja2") else ".json")
    with working(f"Writing {page.name}"):
        found.save(page)
    return page
