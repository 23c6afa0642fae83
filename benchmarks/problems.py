"""The problems, float64, no intercept: seeded synthetic ones and real data.

NAME_bin is the same with two classes, NAME_groups with norms of groups for a penalty: of each row of the weights, or
with two classes, whose rows are single weights, of neighbouring columns.
"""

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RATIOS = (0.1, 0.01)  # lam / lam_max
PATHWAY = 10  # columns of a group of a problem with two classes
T_CELL = (2, 3, 6, 9, 10, 11, 14, 23, 67)  # numbers of Golub's patients

# Regimes of their own, from strong to weak priors: a solver that is fast at one end may be slow at the other.
RATIOS_OF = {
    "many": (0.5, 0.1, 0.01, 1e-3),
    "rare": (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5),
    "shuttle": (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5),
    "digits": (0.5, 0.1, 0.01, 1e-3, 1e-4),
    "squares_bin": (0.5, 0.1, 0.01, 1e-3),
}

# The best objectives known before any run, at each of RATIOS, where some are. A run may only lower them.
KNOWN = {
    "dense": (1968.048592861, 1131.647265813),
    "wide": (49.129999384, 8.735260015),
    "sparse": (6805.253097125, 1267.158306128),
    "dense_bin": (938.433298711, 664.590376612),
    "wide_bin": (26.430248797, 4.554413715),
    "sparse_bin": (2001.123717960, 391.432606277),
}


@dataclass
class Problem:
    """Minimise  sum_i [logsumexp_k F_ik - F_{i, y_i}] + lam norm(W),  F = X W  (two classes: F = [0, X w])."""

    name: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray
    n_classes: int
    Y: np.ndarray = field(init=False, repr=False)
    lam_max: float = field(init=False)
    grouped = False  # whether the norm is that of groups

    def __post_init__(self):
        self.Y = np.eye(self.n_classes)[self.y]
        self.lam_max = float(self.dual_norm(self.X.T @ (self.Y - 1 / self.n_classes)))

    def norm(self, W):
        """The L1 norm."""
        return np.abs(W).sum()

    def dual_norm(self, G):
        """The smallest lam that allows this gradient where W is 0."""
        return np.abs(G).max()

    @property
    def binary(self):
        return self.n_classes == 2

    @property
    def sparse(self):
        return sp.issparse(self.X)


class Grouped(Problem):
    """The same with the sum of the 2-norms of groups of rows of W: of each row, or of ten where a row is one number."""

    grouped = True

    @property
    def starts(self):
        """The first columns of the groups."""
        return np.arange(0, self.X.shape[1], PATHWAY if self.binary else 1)

    @property
    def labels(self):
        """The group of each column."""
        return np.arange(self.X.shape[1]) // (PATHWAY if self.binary else 1)

    def norm(self, W):
        """Group by group."""
        return self._lengths(W).sum()

    def dual_norm(self, G):
        """The longest group; of two classes the gradient of the one that is modelled."""
        return self._lengths(G[:, 1] if self.binary else G).max()

    def _lengths(self, W):
        return np.sqrt(np.add.reduceat((W * W).reshape(len(W), -1).sum(axis=1), self.starts))


def dense(rng):
    """2000 x 200, neighbours correlated 0.5; 5 classes, 20 features matter."""
    noise = rng.standard_normal((2000, 200))
    X = noise.copy()
    for j in range(1, X.shape[1]):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * noise[:, j]
    return X, 5, 20, 1.0


def wide(rng):
    """100 x 7000, like gene expression: 30 hidden factors and noise, standardised; 3 classes, 30 features matter."""
    factors = rng.standard_normal((100, 30))
    loadings = rng.standard_normal((30, 7000)) / np.sqrt(30)
    X = 0.7 * factors @ loadings + 0.7 * rng.standard_normal((100, 7000))
    return (X - X.mean(axis=0)) / X.std(axis=0), 3, 30, 1.0


def sparse(rng):
    """5000 x 20 000, 0.5 % non-zero and positive, like text; 8 classes, 2000 features matter."""
    return sparse_design(), 8, 2000, 2.0


@cache
def sparse_design():
    """Ten seconds to draw, and the same for both numbers of classes."""
    return sp.random(
        5000,
        20_000,
        density=0.005,
        format="csr",
        random_state=np.random.RandomState(13),
        data_rvs=lambda size: np.abs(np.random.RandomState(14).standard_normal(size)),
    )


def tall(rng):
    """20 000 x 100, neighbours correlated 0.5; 7 classes, 20 features matter."""
    noise = rng.standard_normal((20_000, 100))
    noise[:, 1:] += noise[:, :-1] / np.sqrt(3)
    return noise, 7, 20, 1.0


def kernel(rng):
    """2000 x 2000, Gaussian kernel of width 1 among points of 5 dimensions; 3 classes, 30 kernels matter."""
    points = rng.standard_normal((2000, 5))
    square = (points**2).sum(axis=1)
    return np.exp(-0.5 * (square[:, None] + square - 2 * points @ points.T).clip(0)), 3, 30, 5.0


def squares(rng):
    """3175 x 1890, all products of 60 letters of 4 kinds, standardised; 15 products matter."""
    letters = rng.integers(1, 5, (3175, 60)).astype(np.float64)
    first, second = np.triu_indices(60)
    return standardised(np.hstack([letters, letters[:, first] * letters[:, second]])), 2, 15, 1.0


def many(rng):
    """20 000 x 16, whole numbers as of character recognition, standardised; 26 classes around centres of their own."""
    y = rng.integers(26, size=20_000)
    centres, mixing = rng.standard_normal((26, 16)), rng.standard_normal((16, 16))
    return standardised(np.round(4 * centres[y] + 1.4 * rng.standard_normal((20_000, 16)) @ mixing)), y


def rare(rng):
    """20 000 x 9, whole numbers, nearly collinear, standardised; 7 classes, two of them of ten rows."""
    y = np.concatenate([np.repeat([5, 6], 10), rng.choice(5, 19_980, p=[0.78, 0.16, 0.05, 0.008, 0.002])])
    factors = 3.0 * rng.standard_normal((7, 4))[y] + rng.standard_normal((20_000, 4))
    X = np.round(10 * factors @ rng.standard_normal((4, 9)) + 0.3 * rng.standard_normal((20_000, 9)))
    return standardised(X), y


def digits(rng):
    """4000 x 256, blurred images of 16 x 16 with grey values from 0 to 1; 10 classes, each of three shapes."""
    y = rng.integers(10, size=4000)
    shapes = rng.random((10, 3, 16, 16)) < 0.3
    images = shapes[y, rng.integers(3, size=4000)] + 0.5 * rng.standard_normal((4000, 16, 16))
    for axis in (1, 2, 1, 2):
        images = (np.roll(images, 1, axis) + 2 * images + np.roll(images, -1, axis)) / 4
    return np.clip(images, 0, 1).reshape(4000, 256), y


def shuttle():
    """20 000 x 9, a sample of the space shuttle's sensors, standardised; 7 classes, some of a few rows."""
    import pandas as pd

    table = pd.read_csv(shuttle_file())
    return standardised(table.drop(columns="y").to_numpy(np.float64)), np.unique(table["y"], return_inverse=True)[1]


def shuttle_file():
    return Path(os.environ.get("SMALLER_DATA", ""), "shuttle_sample.csv.gz")


def golub():
    """72 x 7129, leukemia, prepared in the usual way; 2 classes."""
    data = datasets().load_golub()
    return standardised(datasets().golub_preprocess(data.data, data.train)), data.target


def leukemias():
    """72 x 7129, the same samples; lymphoblastic ones of B cells and of T cells, and myeloid ones: 3 classes.

    The lineage is that of the study's table; the expression of T-cell genes (CD3D, TCRB) agrees with it.
    """
    data = datasets().load_golub()
    y = 2 * data.target
    y[np.isin(np.arange(1, 73), T_CELL)] = 1
    return standardised(datasets().golub_preprocess(data.data, data.train)), y


def colon():
    """62 x 2000, tumour or not, logarithms; 2 classes."""
    X, y = datasets().load_colon(return_X_y=True)
    return standardised(np.log(X)), y


def isolet():
    """6238 x 617, spoken letters, the training part; 26 classes."""
    return training_part(datasets().load_isolet())


def covtype():
    """90 046 x 54, forest cover, standardised; 7 classes, or the most frequent one against the others."""
    X, y = datasets().load_covtype_sample(return_X_y=True)
    return standardised(X), y


def mnist():
    """10 000 x 784, the first training images, grey values from 0 to 1; 10 classes."""
    X, y = training_part(datasets().load_mnist())
    return X[:10_000].astype(np.float64) / 255, y[:10_000]


def news20():
    """11 314 x 130 107, the training texts, tf-idf with rows of norm 1; 20 classes."""
    from sklearn.feature_extraction.text import TfidfTransformer

    counts, y = training_part(datasets().load_news20())
    return sp.csr_array(TfidfTransformer().fit_transform(counts.astype(np.float64))), y


def datasets():
    """Imported where it is needed: a race without real data starts workers that have imported nothing."""
    from smaller import datasets

    return datasets


def training_part(data):
    return data.data[data.train], data.target[data.train]


def standardised(X):
    """Mean 0 and deviation 1 in each column that varies."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


SYNTHETIC = {
    "dense": (dense, 11),
    "wide": (wide, 12),
    "sparse": (sparse, 13),
    "tall": (tall, 14),
    "kernel": (kernel, 15),
    "squares": (squares, 16),
}
MADE = {"many": (many, 22), "rare": (rare, 23), "digits": (digits, 24)}  # with their own way of drawing labels
LOADERS = {"covtype": "covtype_sample", "leukemias": "golub"}  # where the data set has another name
REAL = {maker.__name__: maker for maker in (golub, leukemias, colon, isolet, covtype, mnist, news20, shuttle)}
PATHWAYS = ("dense_bin_groups", "tall_bin_groups", "wide_bin_groups", "sparse_bin_groups", "golub_groups")
NAMES = (
    *KNOWN,
    *("tall", "tall_bin", "kernel", "kernel_bin", "many", "many 2", "rare", "rare 2", "digits", "digits 2"),
    *("squares_bin", "squares_bin 2", "shuttle", "golub", "colon"),
    *(GROUPED := ("dense_groups", "tall_groups", "wide_groups", "sparse_groups", "leukemias_groups", *PATHWAYS)),
    *(BIG := ("covtype_bin", "covtype", "news20", "isolet", "mnist")),
)


def generate(name):
    """The problem of that name: NAME_bin is binary, NAME_groups has groups, and "NAME 2" has other random numbers."""
    if name in GROUPED:
        plain = generate(name.removesuffix("_groups"))
        return Grouped(name, plain.X, plain.y, plain.n_classes)
    first, _, number = name.partition(" ")
    stem, more = first.removesuffix("_bin"), 1000 * (int(number or 1) - 1)
    if stem in SYNTHETIC:
        make, seed = SYNTHETIC[stem]
        return draw(name, make, seed + more, first != stem)
    X, y = MADE[stem][0](np.random.default_rng(MADE[stem][1] + more)) if stem in MADE else REAL[stem]()
    if stem != first:
        y = (y == np.bincount(y).argmax()).astype(np.int64)
    return Problem(name, X, y, int(y.max()) + 1)


def ratios_of(name):
    """The strengths of the races of single fits, relative to lam_max."""
    return RATIOS_OF.get(name.partition(" ")[0], RATIOS)


def missing(name):
    """Why the data of that problem cannot be had, "" if they can."""
    stem = name.partition(" ")[0].removesuffix("_groups").removesuffix("_bin")
    if stem == "shuttle":
        return "" if shuttle_file().is_file() else "no data"
    return "" if stem in SYNTHETIC or stem in MADE or datasets().available()[LOADERS.get(stem, stem)] else "no data"


def draw(name, make, seed, binary):
    """A design, a sparse true W, labels drawn from its softmax."""
    rng = np.random.default_rng(seed)
    X, n_classes, n_active, scale = make(rng)
    n_classes = 2 if binary else n_classes
    active = rng.choice(X.shape[1], n_active, replace=False)
    W = np.zeros((X.shape[1], n_classes))
    W[active] = scale * rng.standard_normal((n_active, n_classes)) * (rng.random((n_active, n_classes)) < 0.6)
    return Problem(name, X, draw_labels(np.asarray(X @ W), rng), n_classes)


def draw_labels(F, rng):
    """One class per row, with probabilities softmax(F)."""
    P = np.exp(F - F.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    return (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1).astype(np.int64)
