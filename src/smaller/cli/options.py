"""Parsing of the options for costs and priors by class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..data.tables.writing_csv import unescaped


def parse_label(text: str, classes: np.ndarray):
    """The class that a text names."""
    for label in classes.tolist():
        if str(label) == text.strip():
            return label
    raise ValueError(f"There is no class {text.strip()!r}; the classes are {', '.join(map(str, classes.tolist()))}.")


def parse_costs(text: str, classes: np.ndarray):
    """``true:decided=cost,...``, or a CSV file with one row and one column for each class."""
    if "=" not in text:
        return _cost_file(Path(text), classes)
    found = {}
    for part in text.split(","):
        pair, mark, value = part.rpartition("=")
        truth, colon, decided = pair.partition(":")
        if not (mark and colon):
            raise ValueError(f"--costs must read true:decided=cost, as in sick:well=20; got {part!r}.")
        found[parse_label(truth, classes), parse_label(decided, classes)] = _number(value, "--costs")
    return found


def _cost_file(path: Path, classes: np.ndarray) -> np.ndarray:
    """A table with the true classes in its first column and the decisions in its first row."""
    import pandas as pd

    if not path.is_file():
        raise ValueError(f"--costs must be true:decided=cost,... or a CSV file; there is no file {path}.")
    frame = pd.read_csv(path, index_col=0, dtype=str)
    names = [str(label) for label in classes.tolist()]
    frame.index, frame.columns = frame.index.astype(str).map(unescaped), frame.columns.astype(str).map(unescaped)
    if set(frame.index) != set(names) or set(frame.columns) != set(names):
        raise ValueError(f"{path} must have one row and one column for each class: {', '.join(names)}.")
    cells = frame.loc[names, names].to_numpy()
    return np.array([[_number(cell, str(path)) for cell in row] for row in cells])


def parse_priors(text: str, classes: np.ndarray) -> dict:
    """``class=frequency,...``; they are divided by their sum."""
    found = {}
    for part in text.split(","):
        name, mark, value = part.rpartition("=")
        if not mark:
            raise ValueError(f"--prior-shift must be 'estimate' or class=frequency,...; got {part!r}.")
        found[parse_label(name, classes)] = _number(value, "--prior-shift")
    total = sum(found.values())
    if not total > 0:
        raise ValueError("--prior-shift must give a positive frequency to some class.")
    return {label: value / total for label, value in found.items()}


def parse_threshold(text: str, classes: np.ndarray) -> tuple:
    """``class=probability``."""
    name, mark, value = text.rpartition("=")
    if not mark:
        raise ValueError(f"--threshold must be class=probability, as in sick=0.2; got {text!r}.")
    at = _number(value, "--threshold")
    if not 0 <= at <= 1:
        raise ValueError(f"--threshold must have a probability between 0 and 1; got {value!r}.")
    return parse_label(name, classes), at


def above(P: np.ndarray, classes: np.ndarray, label, at: float) -> np.ndarray:
    """Decisions: one class where its probability is at least `at`, elsewhere the most probable of the others."""
    k = classes.tolist().index(label)
    others = np.where(np.arange(len(classes)) == k, -1.0, P).argmax(axis=1)
    return classes[np.where(P[:, k] >= at, k, others)]


def _number(text, where: str) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        raise ValueError(f"{where} must have numbers; got {text!r}.") from None
