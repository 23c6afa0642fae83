"""Support recovery against the number of non-zeros and the signal-to-noise ratio, beside Lasso, OMP and gamma-MAP."""

from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import Lasso, OrthogonalMatchingPursuit

from smaller import TypeIIRegressor, maximally_sparse

from .problems import drawn

KINDS, DRAWS = ("independent", "correlated"), 20
NON_ZEROS, AT_DECIBELS = (2, 6, 10, 14, 18), 20
DECIBELS, AT_NON_ZEROS = (0, 7, 14, 21, 28), 8


def tasks():
    """A key and a function for each problem."""
    for seed in range(DRAWS):
        for kind in KINDS:
            for k in NON_ZEROS:
                yield f"{kind} k {k} {seed}", (shares, kind, AT_DECIBELS, k, seed)
            for decibels in DECIBELS:
                yield f"{kind} dB {decibels} {seed}", (shares, kind, decibels, AT_NON_ZEROS, seed)


def shares(kind: str, decibels: int, k: int, seed: int) -> dict:
    """The share of the true columns among the k largest weights of each method; all but one know the noise."""
    data = drawn(kind, decibels, seed, k=k)
    truth = set(np.flatnonzero(data.X[:, 0]))
    found = {}
    for name, method in METHODS.items():
        x = method(data, k)
        if x is not None:
            largest = np.argsort(-np.abs(x), kind="stable")[:k]
            found[name] = len(truth & set(largest[x[largest] != 0])) / k
    return found


def type_two(data, k):
    return TypeIIRegressor(noise=data.noise, fit_intercept=False).fit(data.Phi, data.Y[:, 0]).coef_


def type_two_learned(data, k):
    return TypeIIRegressor(fit_intercept=False).fit(data.Phi, data.Y[:, 0]).coef_


def sparsest(data, k):
    return maximally_sparse(data.Phi, data.Y[:, 0], alpha=1e-2, q=1.0, noise=data.noise).x


def lasso(data, k):
    """scikit-learn's Lasso at the strength that keeps pure noise out, halved."""
    n, p = data.Phi.shape
    alpha = 0.5 * np.sqrt(2 * data.noise * np.log(p)) / n
    return Lasso(alpha, fit_intercept=False, max_iter=20_000).fit(data.Phi, data.Y[:, 0]).coef_


def matching_pursuit(data, k):
    """Told the number of non-zeros."""
    return OrthogonalMatchingPursuit(n_nonzero_coefs=k, fit_intercept=False).fit(data.Phi, data.Y[:, 0]).coef_


def gamma_map(data, k):
    """MNE's."""
    if find_spec("mne") is None:
        return None
    from mne.inverse_sparse._gamma_map import _gamma_map_opt

    found, active = _gamma_map_opt(data.Y.copy(), data.Phi.copy(), data.noise, verbose=False)
    x = np.zeros(data.Phi.shape[1])
    x[active] = found[:, 0]
    return x


METHODS = {
    "TypeIIRegressor": type_two, "TypeIIRegressor, noise learned": type_two_learned, "maximally_sparse": sparsest,
    "Lasso": lasso, "OMP, told k": matching_pursuit, "MNE gamma-MAP": gamma_map,
}  # fmt: skip


def curves(found: dict) -> dict:
    """Of each kind of columns and axis: numbers on the axis, and for each method mean shares and their errors."""
    drawn_curves = {}
    for kind in KINDS:
        for axis, values in (("k", NON_ZEROS), ("dB", DECIBELS)):
            lines: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
            for value in values:
                rows = [row for key, row in found.items() if key.startswith(f"{kind} {axis} {value} ")]
                for name, line in lines.items():
                    line.append(mean_and_error([row[name] for row in rows if name in row]))
            drawn_curves[kind, axis] = values, lines
    return drawn_curves


def mean_and_error(shares: list[float]) -> tuple[float, float]:
    """The mean over the draws, and its standard error."""
    if len(shares) < 2:
        return np.nan, np.nan
    return float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(len(shares)))


def summary(found: dict) -> list[str]:
    """A table for each curve, with standard errors."""
    lines = []
    for (kind, axis), (values, methods) in curves(found).items():
        lines += [f"| {kind}, {axis} | {' | '.join(map(str, values))} |", "|" + "---|" * (1 + len(values))]
        lines += [f"| {name} | {' | '.join(f'{v:.2f} ± {e:.2f}' for v, e in line)} |" for name, line in methods.items()]
    return lines
