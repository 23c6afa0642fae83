"""One crossing: make the data, fit the model, compare what it claims with what the judges find."""

import warnings

import numpy as np

import smaller
from smaller.basis import Kernel
from smaller.errors import (
    ConvergenceWarning,
    EmptyModelWarning,
    IntervalWarning,
    OutsideWarning,
    SmallClassWarning,
    UnidentifiedNoiseWarning,
)

from . import judges, posterior_draws, samples
from .claims import CLAIMS

# Warnings that are part of an honest answer.
# OutsideWarning: rows of weight 0 take no part in the fit and may lie far from those that do.
HONEST = (
    *(ConvergenceWarning, EmptyModelWarning, IntervalWarning, OutsideWarning, SmallClassWarning),
    UnidentifiedNoiseWarning,
)

# Refusals that the documentation states, each a sentence with its remedy.
DOCUMENTED = (
    "No column is related to the target at all",
    "A class is missing from a fold of cv, where penalty factors of the reference parametrisation mean nothing",
    "needs two samples of each of at least two classes",
    "are beyond the range of floating-point numbers",
    "whose squares overflow when they are summed",
    "of the targets' variance, ",  # a given noise that rounding would lose
    "returned NaN or infinity for X; scale X",
    "Halving needs at least",
    "Cross-validation needs two samples at least",
    "groups could not be divided into two halves that both have all",
    "chooses between at least 2 columns that vary and differ",
    "bound says nothing about n_selected=",
    "samples of each class; class ",
    "separate the classes exactly, so that the weights have no finite values",
    "Estimates and intervals need at least 2 samples for each weight",
    "offset decides the class of nearly every sample",
    "rate='learn' is refused: the columns separate the classes",
    "Sparse X with an intercept is not implemented for regression",
    "the prior does not scale with the noise",
    "For LaplaceRegressor l2 and penalty_factor are not sampled",
)
# Models that select features of X by fits of an estimator, which labels or numbers call for.
SELECTORS = {
    "none": (None, None),
    "path": (smaller.SMLR(standardize=True), smaller.LaplaceRegressor()),
    "weights": (smaller.JeffreysClassifier(max_iter=100), smaller.JeffreysRegressor()),
}


def run(table, row, seed):
    """Sentences about what is wrong with one fit; an exception or a foreign warning is one. None: nothing is wrong."""
    if row["layout"] == "strict" and not samples.STRICT:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in HONEST:
            warnings.simplefilter("ignore", category)
        # scikit-learn's word where rows without weight leave fewer than two of a class.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
        try:
            data = samples.make(row, seed)
            given = parameters(table, row, data)
            return CLAIMS[table.judge](fit(table, row, data, given, seed), row, data, given)
        except Exception as error:  # whatever else reaches a user is a finding
            if isinstance(error, ValueError) and any(sentence in str(error) for sentence in DOCUMENTED):
                return []
            return [f"{type(error).__name__}: {error}"]


def parameters(table, row, data):
    """Constructor parameters of the model."""
    given = {name: value for name, value in row.items() if name not in samples.OPTIONS}
    if given.get("basis") == "laplacian":
        given["basis"] = Kernel("laplacian")
    if given.get("basis") == "few centres":
        given["basis"] = Kernel(centers=judges.FEW)
    if given.get("basis") == "given centres":
        given["basis"] = Kernel(centers=judges.farthest(np.unique(data.plain, axis=0), judges.FEW))
    if given.get("l2") == "two":
        given["l2"] = [0.0, 0.5]
    if "class_weight" in given:
        given["class_weight"] = _class_weight(row["class_weight"], data)
    if "penalty_factor" in given:
        given["penalty_factor"] = _penalty_factor(row, data)
    if table.model == "sample_posterior":
        given["estimator"] = posterior_draws.estimator(row, given)
    elif "estimator" in given:
        given["estimator"] = _selector(row, data)
    if given.get("prior_inclusion") is not None:
        d = data.plain.shape[1]
        given["prior_inclusion"] = None if row["prior_inclusion"] == "none" else 1.0 + np.arange(d) % 3
    if "groups" in given:
        given.update(_groups(row, data))
    if "blocks" in row:
        given["groups"] = _blocks(row["blocks"], data.plain.shape[1])
    if row.get("solver") in table.limits:
        given["max_iter"] = table.limits[row["solver"]]
    return {**table.fixed, **given}


def fit(table, row, data, given, seed):
    """The fitted model, or the path; a warm start begins with a fit to other data."""
    if table.model == "path":
        return smaller.path(data.X, data.y, sample_weight=data.weight, offset=data.offset, **given)
    if table.model == "CredibleSets":
        kind = smaller.inference.CredibleSetsClassifier if row["classes"] else smaller.inference.CredibleSetsRegressor
        options = {name: value for name, value in given.items() if name in kind().get_params()}
        tight = {} if row["classes"] else {"tol": 1e-9}
        return kind(**{**options, **tight}).fit(data.X, data.y, data.weight)
    if hasattr(smaller.inference, table.model):
        known = {"sample_weight": data.weight, "offset": data.offset}
        if row.get("together"):
            known["groups"] = np.arange(len(data.y)) // 3
        known = {name: value for name, value in known.items() if value is not None}
        if table.model == "sample_posterior":
            return posterior_draws.sampled(row, data, given, known)
        if table.model == "debiased":
            options = {name: value for name, value in given.items() if name != "estimator"}
            return smaller.inference.debiased(given["estimator"], data.X, data.y, **options, **known)
        return getattr(smaller.inference, table.model)(**given).fit(data.X, data.y, **known)
    model = getattr(smaller, table.model)(**given)
    if row.get("warm_start"):
        other = samples.make(row, seed + 1)
        if other.X.shape == data.X.shape:
            model.fit(other.X, other.y, other.weight, other.offset)
    return model.fit(data.X, data.y, data.weight, data.offset)


def _selector(row, data):
    """The estimator of a selector; with groups, pairs of columns are the features."""
    if row["estimator"] == "groups":
        pairs = np.arange(data.plain.shape[1]) // 2
        return (
            smaller.SMLR(standardize=True, groups=pairs) if row["classes"] else smaller.LaplaceRegressor(groups=pairs)
        )
    if row["estimator"] == "free":
        return smaller.SMLR(standardize=True, penalty_factor=(np.arange(data.plain.shape[1]) > 0).astype(float))
    return SELECTORS[row["estimator"]][0 if row["classes"] else 1]


def _class_weight(kind, data):
    if kind != "dict" or data.labels is None:
        return None if kind in ("none", "dict") else kind
    return {label: 0.5 + at for at, label in enumerate(data.labels.tolist())}


def _groups(row, data):
    """Groups of columns: none, each column, or labels, of which the first column has one to itself."""
    kind, d = row["groups"], judges.columns(data.plain, data.s, row["basis"]).shape[1]
    labels = np.where(np.arange(d) == 0, 0, 1 + np.arange(d) % min(4, max(1, d - 1)))
    labels = np.unique(labels, return_inverse=True)[1]
    groups = None if kind == "none" else "features" if "features" in kind else labels
    factor = np.where(np.arange(labels.max() + 1) == 0, 0.0, 1.5) if "factors" in kind else None
    return {"groups": groups, "l1_share": 0.3 if "sparse" in kind else 0.0, "group_factor": factor}


def _blocks(kind, d):
    """No labels, one for each column, neighbours, or columns of one remainder."""
    return {"none": None, "single": np.arange(d), "pairs": np.arange(d) // 2, "apart": np.arange(d) % max(2, d // 4)}[
        kind
    ]


def _penalty_factor(row, data):
    """None; one for each column, 0 for the first and 2 for every third; or one for each weight."""
    kind, d = row["penalty_factor"], judges.columns(data.plain, data.s, row.get("basis", "linear")).shape[1]
    if kind == "none":
        return None
    factor = np.where(np.arange(d) % 3 == 2, 2.0, 1.0)
    if kind == "zeros and twos":
        factor[0] = 0.0
        return factor
    if "targets" in row and not row.get("classes"):
        k = row["targets"]
    else:
        m = row["classes"]
        k = 1 if m == 2 else m - (row["parametrization"] == "reference")
    return factor * np.linspace(0.5, 1.5, k)[:, None]
