"""Reference cases: inputs, and what independent programs found for them (tests/cases/README.md).

A case lies in tests/cases; or, where its inputs are large or a data set that scikit-learn does not have, in the folder
that the environment variable SMALLER_CASES names.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

FOLDER = Path(__file__).parent / "cases"


def standardised(load, bias=False):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X = np.column_stack([X, np.ones(len(X))]) if bias else X
    return {"X": X, "y": y, "T": (y[:, None] == np.unique(y)).astype(float)}


def of_unit_norm(load):
    columns = [column - column.mean(axis=0) for column in load(return_X_y=True)]
    X, y = (column / np.linalg.norm(column, axis=0) for column in columns)
    return {"X": X, "y": y}


def as_given(load):
    X, y = load(return_X_y=True)
    return {"X": X, "y": y}


def grouped(load, sizes=None):
    """Standardised columns in groups of columns side by side; without sizes, those of a measure given thrice."""
    data = {name: values for name, values in standardised(load).items() if name != "T"}
    groups = np.arange(data["X"].shape[1]) % 10 if sizes is None else np.repeat(np.arange(len(sizes)), sizes)
    return {**data, "group": groups}


# Inputs that scikit-learn has.
BUILT_IN = {
    "smlr_iris": lambda: standardised(load_iris),
    "smlr_wine": lambda: standardised(load_wine),
    "sbmlr_iris": lambda: standardised(load_iris),
    "sbmlr_iris_bias": lambda: standardised(load_iris, bias=True),
    "sbmlr_wine": lambda: standardised(load_wine),
    "blasso_diabetes": lambda: of_unit_norm(load_diabetes),
    "group_iris": lambda: standardised(load_iris),
    "group_wine": lambda: grouped(load_wine, [3, 1, 2, 4, 3]),
    "group_binary": lambda: grouped(load_breast_cancer),
    "group_sbmlr_iris": lambda: standardised(load_iris),
    "group_sbmlr_wine": lambda: standardised(load_wine),
    "posterior_lasso_diabetes": lambda: as_given(load_diabetes),
    "posterior_multinomial_iris": lambda: standardised(load_iris),
    "group_units": dict,
    "bounds_tables": dict,
    "select_bounds": dict,
}


def case(name):
    """Inputs by their names, and the reference; the test is skipped where the case is not to be had."""
    elsewhere = os.environ.get("SMALLER_CASES")
    folder = FOLDER / name if (FOLDER / name).is_dir() else Path(elsewhere or "", name)
    if not (folder / "reference.json").is_file() or (folder.parent != FOLDER and not elsewhere):
        pytest.skip(f"the case {name} is not among tests/cases, and SMALLER_CASES names no folder that has it")
    reference = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    if folder.parent == FOLDER and name in BUILT_IN:
        return BUILT_IN[name](), reference
    with np.load(folder / "input.npz", allow_pickle=False) as archive:
        return dict(archive), reference
