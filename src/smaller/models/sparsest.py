"""The sparsest solution of a linear system, by reweighted L1 (Wipf & Wu 2012, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ..design import as_design, is_operator
from ..design.operator import NormedOperator, checked_operator, operator_columns
from ..objective.evidence import Evidence
from ..solvers.type2.reweighted_l1 import EXACT, Attempt, noiseless, noisy
from ..solvers.type2.unknown_noise import FEWEST, noise_of_many_columns


@dataclass(frozen=True)
class SparseSolution:
    """What :func:`maximally_sparse` found.

    Attributes
    ----------
    x : ndarray of shape (m,)
    support : ndarray
        Where x is not 0.
    alpha, q : float
        The setting that found it; of plain L1, the first one.
    plain : ndarray of shape (m,)
        The plain L1 solution, whose support is never better than that of x.
    residual : float
        \\|y - Phi x\\| / \\|y\\|.
    noise : float
        Variance of the noise, given or estimated; 0 where y = Phi x was asked for, or holds.

    Examples
    --------
    >>> from smaller import maximally_sparse
    >>> maximally_sparse([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [2.0, 2.0]).support
    array([2])
    """

    x: np.ndarray
    support: np.ndarray
    alpha: float
    q: float
    plain: np.ndarray
    residual: float
    noise: float = 0.0


def maximally_sparse(Phi, y, alpha=(1e-2, 1e-4, 1e-6), q=(1.0, 0.5, 2.0), noise=None, max_iter=15) -> SparseSolution:
    """A solution of y = Phi x with as few non-zeros as reweighted L1 finds, also where columns are strongly correlated.

    Iterates ``min sum_j w_j |x_j| s.t. y = Phi x`` and ``w_j = [phi_j^T (alpha I + Phi |X|^2 Phi^T)^-1 phi_j]^q``
    (Wipf & Wu 2012, eqs. 19-20) from plain L1, w = 1. For q >= 1 and small alpha it provably recovers solutions on
    clustered dictionaries on which L1 fails (Theorem 2). Settings are tried in turn until one gives a solution with no
    more than half as many non-zeros as samples, which is unique where the columns are in general position; the best
    support over all iterations is kept, so that it is never worse than that of plain L1.

    Parameters
    ----------
    Phi : array-like of shape (n, m), or LinearOperator
        The dictionary; its columns are scaled to unit norm inside. Of an operator, products are enough where `noise` is
        positive; for y = Phi x all columns are formed.
    y : array-like of shape (n,)
    alpha : float or sequence of floats
        In units of the largest squared coefficient.
    q : float or sequence of floats
    noise : float, default=None
        Variance of the noise. 0 asks for y = Phi x. None asks for that too, unless no solution has fewer non-zeros than
        there are samples, or none exists: then y has noise, whose variance is chosen by cross-validation as that of
        :class:`TypeIIRegressor` is. If it is positive, y = Phi x is relaxed to \\|y - Phi x\\|^2 / (2 noise),
        solved to a duality gap, and supports are compared by \\|y - Phi x\\|^2 / noise + 2 log(m) times their size.
    max_iter : int, default=15
        Reweightings for each setting.

    Returns
    -------
    SparseSolution

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import maximally_sparse
    >>> rng = np.random.default_rng(0)
    >>> Phi = np.repeat(rng.standard_normal((30, 12)), 7, axis=1) + 0.01 * rng.standard_normal((30, 84))
    >>> x = np.zeros(84)
    >>> x[[0, 2, 4, 15, 17, 18, 30, 31, 33]] = 1.0, -0.6, 0.9, 0.8, -1.3, 0.7, 0.7, -0.9, 1.1
    >>> found = maximally_sparse(Phi, Phi @ x)
    >>> print(found.support, "where plain L1 has", np.count_nonzero(found.plain), "non-zeros")
    [ 0  2  4 15 17 18 30 31 33] where plain L1 has 30 non-zeros
    """
    Phi = _dictionary(Phi, noise)
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
    check_consistent_length(Phi, y)
    settings = list(product(_several("alpha", alpha), _several("q", q)))
    norm, size = _norms(Phi), np.linalg.norm(y)
    norm = np.where(norm > 0, norm, 1.0)
    if size == 0:
        zero = np.zeros(len(norm))
        return SparseSolution(zero, np.empty(0, dtype=int), settings[0][0], settings[0][1], zero.copy(), 0.0)
    columns, target = NormedOperator(Phi, norm) if is_operator(Phi) else Phi / norm, y / size
    found, variance = None, 0.0 if noise is None else noise / size**2
    if noise is not None or _in_span(columns, target):
        found = _search(columns, target, variance, settings, max_iter)
    if found is None or (noise is None and len(norm) > len(y) > FEWEST and np.count_nonzero(found[0].x) >= len(y)):
        variance = noise_of_many_columns(Evidence(as_design(columns), target[:, None]))
        found = _search(columns, target, variance, settings, max_iter)
    best, (alpha, q), plain = found
    x = best.x * size / norm
    residual = float(np.linalg.norm(y - Phi @ x) / size)
    return SparseSolution(x, np.flatnonzero(x), alpha, q, plain.x * size / norm, residual, float(variance * size**2))


def _dictionary(Phi, noise: float | None) -> Any:
    """The matrix, of which y = Phi x needs all columns; or the operator, where a noise is given."""
    if not is_operator(Phi):
        return check_array(Phi, dtype=np.float64, input_name="Phi")
    operator = checked_operator(Phi)
    if np.issubdtype(operator.dtype, np.complexfloating):
        raise ValueError(
            "Complex data not supported: Phi is a complex operator; TypeIIRegressor(complex=True) takes it."
        )
    return operator if noise else operator_columns(operator, np.arange(operator.shape[1]))


def _norms(Phi) -> np.ndarray:
    if not is_operator(Phi):
        return np.linalg.norm(Phi, axis=0)
    n = Phi.shape[0]
    return np.sqrt(as_design(Phi).moments(np.ones(n)).second(float(n)))


def _in_span(Phi: np.ndarray, y: np.ndarray) -> bool:
    """Whether columns fit y exactly, up to rounding."""
    return len(y) <= FEWEST or bool(np.linalg.norm(y - Phi @ np.linalg.lstsq(Phi, y, rcond=None)[0]) <= EXACT)


def _several(name: str, value) -> list[float]:
    values = [value] if isinstance(value, Real) else list(value)
    if not values or not all(isinstance(v, Real) and 0 < float(v) < np.inf for v in values):
        raise ValueError(f"{name} must be a positive number or a sequence of them; got {value!r}.")
    return [float(v) for v in values]


def _search(Phi, y, noise: float, settings: list, max_iter: int) -> tuple[Attempt, tuple, Attempt]:
    """The best attempt over the settings, with the setting that made it, and plain L1's."""
    best: Attempt | None = None
    plain: Attempt | None = None
    chosen = settings[0]
    for setting in settings:
        alpha, q = setting
        solve = partial(noisy, noise=noise) if noise > 0 else noiseless
        attempts = solve(Phi, y, alpha=alpha, q=q, max_iter=max_iter)
        if not attempts:
            raise ValueError("y is not in the span of the columns of Phi; give noise a positive value.")
        plain = plain or attempts[0]
        found = min([best or plain, *attempts], key=lambda attempt: (attempt.cost, attempt.size))
        if found is not best:
            best, chosen = found, setting if found is not attempts[0] else chosen
        if noise == 0 and 2 * np.count_nonzero(best.x) <= len(y):
            break
    assert best is not None
    assert plain is not None
    return best, chosen, plain
