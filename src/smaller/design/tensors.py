"""Inputs and predictions in arrays of PyTorch and CuPy: checks, and the few functions that models need."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from . import host, is_operator, namespace, on_device, precision
from .operator import RowsOperator, operator_columns

BLOCK_BYTES = 2**28


def checked_tensor(model, X, reset: bool) -> Any:
    """X checked as by scikit-learn: a finite matrix of float64 or float32 with the number of columns seen in fit."""
    xp, name = namespace(X), type(model).__name__
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got {len(X.shape)}D array instead; X must be (n_samples, n_features).")
    if 0 in X.shape:
        raise ValueError(
            f"Found array with shape {tuple(X.shape)} while a minimum of 1 sample and 1 feature is required."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: X must be real.")
    X = xp.astype(X, precision(X), copy=False)
    if not all_finite(X):
        raise ValueError(f"Input X contains NaN or infinity, which {name} does not accept.")
    validate_data(model, X, skip_check_array=True, reset=reset)
    return X.detach() if hasattr(X, "detach") else X


def checked_targets(X, y, y_numeric: bool = False, multi_output: bool = False) -> Any:
    """One target for each row of X; numeric labels go to X's device, where sorting is fast."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    n = X.shape[0]
    if y_numeric:
        y = check_array(host(y), ensure_2d=False, dtype=np.float64, input_name="y") if multi_output else host(y)
        y = y if multi_output else check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64, input_name="y")
    elif not _lies_beside(y, X) or len(y.shape) != 1 or not namespace(y).isdtype(y.dtype, ("bool", "integral")):
        y = column_or_1d(host(y), warn=True)
        if y.dtype.kind in "biu":
            y = _beside(y, X)
    if y.shape[0] != n:
        raise ValueError(f"X has {n} rows but y has {y.shape[0]}; they must describe the same samples.")
    return y


def all_finite(X) -> bool:
    """Whether no entry is NaN or infinite; on a device the sum is checked first, and nearly always decides."""
    if not on_device(X):
        return bool(np.isfinite(X.data if issparse(X) else X).all())
    xp = namespace(X)
    return bool(xp.isfinite(xp.sum(X))) or bool(xp.all(xp.isfinite(X)))


def rows_of(X, rows: np.ndarray) -> Any:
    """Some rows of a matrix, or entries of a vector, on any device."""
    if is_operator(X):
        return RowsOperator(X, rows)
    if not on_device(X):
        return X[rows]
    return namespace(X).take(X, _beside(rows, X), axis=0)


def columns_of(X, columns: np.ndarray) -> Any:
    """Some columns of a matrix, on any device; those of an operator are formed."""
    if is_operator(X):
        return operator_columns(X, columns)
    return namespace(X).take(X, _beside(columns, X), axis=1) if on_device(X) else X[:, columns]


def _lies_beside(a, X) -> bool:
    return on_device(a) and type(a) is type(X) and a.device == X.device


def _beside(a: np.ndarray, X) -> Any:
    return namespace(X).asarray(np.ascontiguousarray(a), device=X.device)


def room(X) -> int | None:
    """Free bytes on X's device, where that is known."""
    if type(X).__module__.startswith("torch") and X.is_cuda:
        import torch

        return torch.cuda.mem_get_info(X.device)[0]
    return None


def kernel_values(kernel: str, X, centers, gamma: float, degree: float, coef0: float) -> Any:
    """A kernel of :mod:`smaller.basis` between X and the centres, on the device: in float64, then in the dtype of X."""
    xp = namespace(X)
    C = xp.astype(centers, xp.float64)
    size = xp.sum(C * C, axis=1)[None, :]
    step = max(1, BLOCK_BYTES // (8 * C.shape[0] * (C.shape[1] if kernel == "laplacian" else 1)))
    blocks = []
    for first in range(0, X.shape[0], step):
        A = xp.astype(X[first : min(first + step, X.shape[0]), :], xp.float64)
        if kernel == "laplacian":
            K = xp.exp(-float(gamma) * xp.sum(xp.abs(A[:, None, :] - C[None, :, :]), axis=2))
            blocks.append(xp.astype(K, X.dtype))
            continue
        K = xp.matmul(A, C.T)
        if kernel == "rbf":
            K = xp.exp(-float(gamma) * xp.clip(xp.sum(A * A, axis=1)[:, None] + size - 2.0 * K, 0.0, None))
        elif kernel == "poly":
            K = (float(gamma) * K + float(coef0)) ** degree
        blocks.append(xp.astype(K, X.dtype))
    return xp.concat(blocks, axis=0)


def device_log_probabilities(F) -> Any:
    """Logarithms of the class probabilities, (n, m), from log odds (n,) or scores (n, m)."""
    xp = namespace(F)
    F = xp.stack([xp.zeros_like(F), F], axis=1) if len(F.shape) == 1 else F
    F = F - xp.max(F, axis=1, keepdims=True)
    return F - xp.log(xp.sum(xp.exp(F), axis=1, keepdims=True))


def device_most_probable(F, classes: np.ndarray) -> Any:
    """The class of each row: on F's device where the labels are numbers, else on the host."""
    xp = namespace(F)
    codes = xp.astype(F > 0, xp.int64) if len(F.shape) == 1 else xp.argmax(F, axis=1)
    if classes.dtype.kind not in "biuf":
        return classes[host(codes)]
    return xp.take(_beside(classes, F), codes, axis=0)
