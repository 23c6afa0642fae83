"""A matrix known by its products with vectors alone: SciPy's LinearOperator, and what looks like one (PyLops)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from .protocol import Design

BLOCK_BYTES, LEAST = 2**21, 8  # of the vectors multiplied at a time, which stay in the cache; and how many at least


def is_operator(X: Any) -> bool:
    """Whether X is known by products alone; matrices and arrays, which have entries, are not."""
    return isinstance(X, LinearOperator) or (
        hasattr(X, "matvec") and hasattr(X, "rmatvec") and hasattr(X, "shape") and not issparse(X)
    )


def refuse_operator(X: Any, name: str) -> None:
    """Refuse an operator where entries of X are needed."""
    if is_operator(X):
        raise ValueError(
            f"{name} needs the entries of X, and a LinearOperator has products only. TypeIIRegressor, "
            "TypeIRegressor, LaplaceRegressor, LaplaceRegressorCV and maximally_sparse take it; its matrix is "
            "X @ numpy.eye(X.shape[1])."
        )


def checked_operator(X: Any) -> LinearOperator:
    """X as an operator of SciPy, refused where one of the two products is missing or returns other shapes."""
    operator = aslinearoperator(X)
    n, d = operator.shape
    if 0 in (n, d):
        raise ValueError(f"Found an operator of shape {(n, d)} while at least one row and one column are required.")
    for name, length, wanted in (("matvec", d, n), ("rmatvec", n, d)):
        try:
            found = np.asarray(getattr(operator, name)(np.zeros(length, dtype=operator.dtype)))
        except (NotImplementedError, AttributeError, TypeError) as error:
            raise ValueError(
                f"X is a LinearOperator without {name}; products with X and with its adjoint are both needed, so give "
                "it matvec and rmatvec."
            ) from error
        if found.shape != (wanted,):
            raise ValueError(f"{name} of X must return {wanted} numbers; got shape {found.shape}.")
    return operator


def blocks(count: int, length: int) -> Iterator[slice]:
    """Slices of so many vectors: those of one slice are multiplied at a time."""
    step = int(np.clip(BLOCK_BYTES // (8 * max(length, 1)), LEAST, 256))
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


def unit_vectors(places: np.ndarray, length: int) -> np.ndarray:
    """A column for each place, 1 there and 0 elsewhere: (length, len(places))."""
    E = np.zeros((length, len(places)))
    E[places, np.arange(len(places))] = 1.0
    return E


def operator_columns(operator: LinearOperator, columns: np.ndarray) -> np.ndarray:
    """Some columns, by products with unit vectors: (n, len(columns))."""
    n, d = operator.shape
    found = np.empty((n, len(columns)), dtype=np.result_type(operator.dtype, np.float64), order="F")
    for part in blocks(len(columns), max(n, d)):
        found[:, part] = operator.matmat(unit_vectors(columns[part], d))
    return found


class RowsOperator(LinearOperator):
    """Some rows of an operator."""

    def __init__(self, operator: LinearOperator, rows: np.ndarray):
        super().__init__(operator.dtype, (len(rows), operator.shape[1]))
        self.operator, self.rows = operator, rows

    def _matmat(self, V):
        return self.operator.matmat(V)[self.rows]

    def _matvec(self, v):
        return self.operator.matvec(v)[self.rows]

    def _rmatmat(self, U):
        full = np.zeros((self.operator.shape[0], U.shape[1]), dtype=U.dtype)
        full[self.rows] = U
        return self.operator.rmatmat(full)

    def _rmatvec(self, u):
        return self._rmatmat(u.reshape(-1, 1))[:, 0]


class EmbeddedOperator(LinearOperator):
    """The real operator [[Re, -Im], [Im, Re]] of a complex one, its columns about the numbers `center` (p,)."""

    def __init__(self, operator: LinearOperator, center: np.ndarray):
        n, d = operator.shape
        super().__init__(np.dtype(np.float64), (2 * n, 2 * d))
        self.operator, self.center = operator, center

    def _matmat(self, V):
        d = len(self.center)
        F = self.operator.matmat(V[:d] + 1j * V[d:]) - self.center @ (V[:d] + 1j * V[d:])
        return np.vstack([F.real, F.imag])

    def _matvec(self, v):
        return self._matmat(v.reshape(-1, 1))[:, 0]

    def _rmatmat(self, U):
        n = U.shape[0] // 2
        u = U[:n] + 1j * U[n:]
        G = self.operator.rmatmat(u) - np.outer(self.center.conj(), u.sum(axis=0))
        return np.vstack([G.real, G.imag])

    def _rmatvec(self, u):
        return self._rmatmat(u.reshape(-1, 1))[:, 0]


class NormedOperator(LinearOperator):
    """The columns of an operator divided by their norms; X[:, columns] are some of them, as of a matrix."""

    def __init__(self, operator: LinearOperator, norm: np.ndarray):
        super().__init__(np.dtype(np.float64), operator.shape)
        self.operator, self.norm = operator, norm

    def __getitem__(self, key: tuple[slice, np.ndarray]) -> np.ndarray:
        return operator_columns(self.operator, key[1]) / self.norm[key[1]]

    def _matmat(self, V):
        return self.operator.matmat(V / self.norm[:, None])

    def _matvec(self, v):
        return self.operator.matvec(v.ravel() / self.norm)

    def _rmatmat(self, U):
        return self.operator.rmatmat(U) / self.norm[:, None]

    def _rmatvec(self, u):
        return self.operator.rmatvec(u.ravel()) / self.norm


class OperatorDesign(Design):
    """Products are the operator's; single columns, where a solver needs them, are products with unit vectors."""

    centred = False

    def __init__(self, operator: LinearOperator, intercept: bool = False):
        n, d = operator.shape
        super().__init__(n, d, intercept)
        self.operator = operator
        self._known: tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Phi W; which weights are 0 makes no difference to the cost."""
        F = self._product(W, None)
        if self.intercept:
            F += W[self.d]
        return F

    def pull(self, R: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Phi^T R, all rows of it or those of some of the columns."""
        return super().pull(R, columns) if self.intercept else self._adjoint(R, self._split(columns)[0])

    def _product(self, W: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        F = np.empty((self.n, W.shape[1]), order="F")
        for part in blocks(W.shape[1], max(self.n, self.d)):
            F[:, part] = self.operator.matmat(W[: self.d, part])
        return F

    def _adjoint(self, R: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        G = np.empty((self.d if columns is None else len(columns), R.shape[1]))
        for part in blocks(R.shape[1], max(self.n, self.d)):
            pulled = self.operator.rmatmat(R[:, part])
            G[:, part] = pulled if columns is None else pulled[columns]
        return G

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Some of the d columns, by as many products."""
        return operator_columns(self.operator, columns)

    def _cross(self, omega: np.ndarray, left: np.ndarray | None, right: np.ndarray | None) -> np.ndarray:
        """By products with the fewer of the two sets of columns."""
        every = np.arange(self.d)
        first, second = (every if columns is None else columns for columns in (left, right))
        if len(first) < len(second):
            return self._cross(omega, right, left).T
        K = np.empty((len(first), len(second)))
        for part in blocks(len(second), max(self.n, self.d)):
            K[:, part] = self._adjoint(omega[:, None] * self.take(second[part]), left)
        return K

    def _moments(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row by row, as products of the adjoint with unit vectors; those of the same weights are kept."""
        if self._known is None or not np.array_equal(self._known[0], s):
            mean = self.operator.rmatvec(s) / s.sum()
            spread, mass = np.zeros(self.d), np.zeros(self.d)
            for part, rows in self._rows():
                mass += np.abs(rows) @ s[part]
                spread += np.square(rows - mean[:, None]) @ s[part]
            if not np.isfinite(spread).all():
                raise ValueError("Products with X contain NaN or infinity; every entry of X must be finite.")
            self._known = s.copy(), (mean, spread, mass)
        return self._known[1]

    def _rows(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows of the matrix, each as a column: (d, rows)."""
        for part in blocks(self.n, max(self.n, self.d)):
            yield part, np.asarray(self.operator.rmatmat(unit_vectors(np.arange(part.start, part.stop), self.n)))

    def squares(self, omega: np.ndarray, center: np.ndarray) -> np.ndarray:
        """sum_i omega_il (x_ij - center_j)^2, (d, L)."""
        return sum(np.square(rows - center[:, None]) @ omega[part] for part, rows in self._rows())

    def spread(self, omega: np.ndarray, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """C^T diag(omega) C, C = Phi[:, columns] - center."""
        C = (self.take(columns) - center) * np.sqrt(omega)[:, None]
        return C.T @ C

    def outer(self, root: np.ndarray, center: np.ndarray, gamma: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """diag(root) C diag(gamma) C^T diag(root), a block of columns at a time."""
        B = np.zeros((self.n, self.n))
        for part in blocks(len(columns), max(self.n, self.d)):
            C = (self.take(columns[part]) - center[part]) * np.sqrt(gamma[part]) * root[:, None]
            B += C @ C.T
        return B

    def restricted(self, rows: np.ndarray) -> OperatorDesign:
        """Products of some of the rows."""
        return OperatorDesign(RowsOperator(self.operator, rows), self.intercept)
