"""The facts of a report, as plain numbers and words, for the page, the terminal and JSON."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse

from .._version import __version__
from ..design.operator import refuse_operator
from ..models.selector import input_names
from ..tuning.ranking import CLASSIFICATION, REGRESSION
from .certainty import add_posterior_columns, check_posterior, posterior_facts, sets_facts
from .certificate_words import certificate
from .classes import class_facts
from .explanations import row_facts
from .kept_weights import kept
from .numbers import number_facts
from .paths import path_facts
from .seen import share_of_training
from .selection import add_columns, selection_facts
from .summary import fingerprint, summary
from .unwrapped import INSIDE, core

OF_TASK = {CLASSIFICATION: class_facts, REGRESSION: number_facts}
MOST = 0.5  # share of rows seen in training above which the errors are those of a training sample
SEEN = "These are the samples that the model was fitted on: errors on new samples are usually larger."


def facts(
    model, X, y, *, names=None, source: str = "", training=None, path=None, with_path=True, selection=None,
    intervals=None, posterior=None, sets=None, threshold=None, date=None,
) -> dict[str, Any]:  # fmt: skip
    """The facts of a report, as a dict that JSON can hold.

    Parameters
    ----------
    model : classifier or regressor
        Fitted: a model of this package, or a meta-estimator with one inside.
    X, y : array-like of shape (n_samples, n_features), array-like of shape (n_samples,)
        The samples to report on, best samples that the model was not fitted on. Where the training samples are
        recognised, the report says so.
    names : sequence of str, default=None
        Names of the inputs.
    source : str
        Where the samples come from.
    training : dict, default=None
        Facts about the training, such as ``{"samples": 200}``; ``"priors"`` are its class frequencies, by default
        those of the samples given, and ``"marks"``, of :func:`smaller.report.seen.training_marks`, tell whether the
        samples given are those of the training.
    path : Path, default=None
        The regularisation path of the training samples, as :func:`smaller.training_path` computes it; by default the
        one kept with the model (``path_``), if any.
    with_path : bool, default=True
        Whether to include the path.
    selection : StabilitySelection or Knockoffs, default=None
        Fitted on the inputs of the model, or on more, of which the model has those selected: the weights get the
        frequencies (or e-values) of their features, and the facts a sentence about how many of them may be false.
    intervals : WeightTable, default=None
        As :func:`smaller.inference.debiased` returns it: the weights get intervals and p-values.
    posterior : PosteriorSample, default=None
        Of this model, as :func:`smaller.inference.sample_posterior` returns it: the weights get intervals and
        probabilities of their signs, those of weight 0 too.
    sets : CredibleSetsClassifier or CredibleSetsRegressor, default=None
        Fitted on the inputs of the model: sets of similar features of which one matters.
    threshold : tuple of a class and a probability, default=None
        For classifiers: the measures are also given where this class is decided if its probability is at least this.
    date : str, default=None
        A date for the foot of the page; none by default, so that the same model and samples give the same page.

    Returns
    -------
    dict
        ``"task"`` is "classification" or "regression"; the facts about errors depend on it.
    """
    refuse_operator(X, "report")
    y, inner, training = np.asarray(y), core(model), dict(training or {})
    X = X if sparse.issparse(X) or hasattr(X, "columns") else np.asarray(X)
    if X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)}; they must describe the same samples.")
    names = input_names(inner, names if names is None else np.asarray(names, dtype=object))
    task = CLASSIFICATION if hasattr(inner, "classes_") else REGRESSION
    labels = [str(label) for label in getattr(inner, "classes_", [])]
    baseline, share = training.pop("means", None), share_of_training(training, X)
    asked = {"threshold": threshold} if task == CLASSIFICATION else {}
    found = OF_TASK[task](model, inner, X, y, training.pop("priors", None), not with_path, known=share > MOST, **asked)
    weights = kept(inner, X, names, labels)
    add_columns(weights, names, selection, intervals)
    if posterior is not None:
        check_posterior(posterior, inner)
        columns = [str(name) for name in inner.basis_.names(names)]
        add_posterior_columns(weights, columns, labels, posterior)
        found["posterior"] = posterior_facts(posterior, columns, labels)
    data = {"source": source, "samples": len(y), "inputs": int(X.shape[1]), "sparse": bool(sparse.issparse(X))}
    told = found.pop("told")
    gathered = {
        "title": f"{type(inner).__name__} on {source or f'{len(y)} samples'}",
        "task": task,
        **found,
        "data": {**data, **found["data"], "seen": share, "note": SEEN if found["data"]["training_sample"] else ""},
        "model": _model(model, inner, training),
        "kept": weights,
        **({} if selection is None else {"selection": selection_facts(selection, X, names)}),
        **({} if sets is None else {"sets": sets_facts(sets, names)}),
        "path": path_facts(path, inner, X, y, names, labels, found["data"]["training_sample"])
        if with_path
        else {"reason": "The path was not requested."},
        "rows": row_facts(inner, X, names, labels, baseline, told) if with_path else {"rows": [], "of": len(y)},
        "certificate": certificate(inner),
        "versions": _versions(),
        "fingerprint": fingerprint(X, y) if with_path else "",
        "date": date,
    }
    return {**gathered, "summary": summary(gathered)}


def _model(model, inner, training) -> dict[str, Any]:
    wrappers = []
    while model is not inner:
        wrappers.append(type(model).__name__)
        model = next(getattr(model, name) for name in INSIDE if hasattr(model, name))
    plain = {key: value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)[:120]
             for key, value in inner.get_params(deep=False).items()}  # fmt: skip
    told = ("lam", "evidence", "noise")
    found = {name: float(getattr(inner, f"{name}_")) for name in told if hasattr(inner, f"{name}_")}
    return {
        "class": type(inner).__name__,
        "inside": wrappers,
        "parameters": plain,
        "found": found,
        "training": training,
    }


def _versions() -> dict[str, str]:
    return {
        "smaller": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
