"""Readers of files with a matrix: NPZ and LIBSVM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from .columns import Columns, Reading, Table, labels, listed


def npz(path: Path, wanted: Reading) -> Table:
    """Arrays X (or the parts of a sparse matrix: data, indices, indptr, shape), y, and perhaps feature_names."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:
        raise ValueError(f"{path} is not an archive of plain arrays ({error}).") from None
    if "X" in arrays:
        X = arrays["X"]
    elif {"data", "indices", "indptr", "shape"} <= set(arrays):
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        X = sparse.csr_array(parts, shape=tuple(int(side) for side in arrays["shape"]))
    else:
        raise ValueError(
            f"{path} must have an array X, or data, indices, indptr and shape; it has {listed(list(arrays))}."
        )
    target = None if wanted.target is None else arrays.get(wanted.target, arrays.get("y"))
    if wanted.target is not None and target is None:
        raise ValueError(f"{path} has no array {wanted.target!r}; it has {listed(list(arrays))}.")
    names = [str(name) for name in arrays["feature_names"]] if "feature_names" in arrays else None
    return _matrix(path, X, target, names, wanted)


def libsvm(path: Path, wanted: Reading) -> Table:
    from sklearn.datasets import load_svmlight_file

    expected = None if wanted.columns is None else len(wanted.columns.inputs)
    try:
        X, y = load_svmlight_file(str(path), n_features=expected)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as LIBSVM: {error}.") from None
    return _matrix(path, sparse.csr_array(X), y if wanted.target is not None else None, None, wanted)


def _matrix(path: Path, X, y, names: list[str] | None, wanted: Reading) -> Table:
    if X.ndim != 2 or (y is not None and len(y) != X.shape[0]):
        shapes = f"X of shape {X.shape}" + (f" and a target of {len(y)}" if y is not None else "")
        raise ValueError(f"{path} has {shapes}; there must be one row for each sample.")
    if wanted.columns is None:
        columns = Columns(names or [f"x{j}" for j in range(X.shape[1])], target=wanted.target)
    else:
        columns = wanted.columns
    if len(columns.inputs) != X.shape[1]:
        raise ValueError(f"{path} has {X.shape[1]} columns, and the model needs {len(columns.inputs)}.")
    X = X.astype(np.float64) if X.dtype not in (np.float32, np.float64) else X
    return Table(X, None if y is None else labels([np.asarray(y)], wanted.target), columns)


MATRICES: dict[str, Callable[[Path, Reading], Table]] = {
    "npz": npz,
    "svm": libsvm,
    "libsvm": libsvm,
    "svmlight": libsvm,
}
