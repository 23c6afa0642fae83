"""What happens on a worker: sums over the rows of one block, small whatever the number of rows."""

from __future__ import annotations

import zlib
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..likelihoods import Multinomial

PART_BYTES = 2**24  # a block is worked on in parts of this size, so that temporaries stay small beside it
MOST_CLASSES = 10_000

# Where, between the labels (0) and the fitted probabilities (1), the entropy of the dual point is known. It is concave,
# so that chords between these lie below it.
SHRINKAGES = 1.0 - np.array([1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 0.0])


# -- Labels, which do not need X


class Labels(NamedTuple):
    """The distinct labels of positive weight, sorted, the weight and the number of rows of each, and of all rows."""

    classes: np.ndarray
    weight: np.ndarray
    number: np.ndarray
    rows: int


def find_labels(X, y, weight, offset, task) -> Labels:
    """Of one block."""
    y = _vector(y, "y")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; every sample needs a label.")
    s = _weight(weight, len(y))
    classes, codes = np.unique(y[s > 0], return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y has more than {MOST_CLASSES} distinct values in one block; is it a class label?")
    weight = np.bincount(codes, weights=s[s > 0], minlength=len(classes))
    return Labels(classes, weight, np.bincount(codes, minlength=len(classes)), len(y))


def join_labels(found: list[Labels]) -> Labels:
    """Of several blocks."""
    values = [each.classes for each in found if len(each.classes)]
    classes = np.unique(np.concatenate(values)) if values else found[0].classes
    weight, number = np.zeros((2, len(classes)))
    for each in found:
        at = np.searchsorted(classes, each.classes)
        weight[at] += each.weight
        number[at] += each.number
    return Labels(classes, weight, number, sum(each.rows for each in found))


# -- Moments of the columns


class Draw(NamedTuple):
    """A few rows, for a first guess on the client: columns of the basis, label positions, weights, offset."""

    Z: Any
    codes: np.ndarray
    s: np.ndarray
    offset: np.ndarray | None


class Moments(NamedTuple):
    """Of the columns: total weight, weighted mean, spread about it, sum of |x|, and the sum of each class (d, m)."""

    total: float
    mean: np.ndarray
    spread: np.ndarray
    mass: np.ndarray
    by_class: np.ndarray
    drawn: list[Draw]


class Task(NamedTuple):
    """What a worker is told: how rows become columns and labels codes, and the point that is asked about."""

    basis: Any
    classes: np.ndarray
    factor: np.ndarray  # of the weight of each class, (m,)
    k: int
    offset_columns: Any = None  # turns an offset into columns of the objective
    share: np.ndarray | None = None  # of the rows of each class, to be drawn, (m,)
    center: Any = None  # subtracted from the columns, (d,)
    W: Any = None  # (d, k), and the intercepts of centred columns:
    b: Any = None
    thin: int = 1  # one in so many rows is enough for the Hessian
    active: Any = None  # row and class of the weights whose Hessian is asked for

    @property
    def reference(self) -> bool:
        """Whether a further class has score 0."""
        return self.k < len(self.classes)


def find_moments(X, y, weight, offset, task: Task) -> Moments:
    """Of one block; here X is checked, once."""
    block = _Block(X, y, weight, offset, task, check=True)
    s, total = block.s, float(block.s.sum())
    d, m = task.basis.n_columns_, len(task.classes)
    by_class = np.zeros((d, m))
    if not total:
        return Moments(0.0, np.zeros(d), np.zeros(d), np.zeros(d), by_class, [])
    mean, spread, mass = np.zeros((3, d))
    for part in block.parts():
        Z, w = block.columns(part), s[part]
        mean += Z.T @ w
        mass += abs(Z).T @ w
        own = np.zeros((len(w), m))
        own[np.arange(len(w)), block.codes[part]] = w
        by_class += Z.T @ own
    mean /= total
    for part in block.parts():
        Z, w = block.columns(part), s[part]
        if sparse.issparse(Z):
            stored = np.bincount(Z.indices, weights=np.repeat(w, np.diff(Z.indptr)), minlength=d)
            away = (Z.data - mean[Z.indices]) ** 2 * np.repeat(w, np.diff(Z.indptr))
            spread += np.bincount(Z.indices, weights=away, minlength=d) + (w.sum() - stored) * mean**2
        else:
            spread += np.square(Z - mean).T @ w
    return Moments(total, mean, spread, mass, by_class, _draw(block, task))


def _draw(block: _Block, task: Task) -> list[Draw]:
    """The rows of a block that go to the client: by chance, but always the same of the same block."""
    if task.share is None:
        return []
    seed = zlib.crc32(np.ascontiguousarray(block.codes).tobytes() + np.float64(block.X.sum()).tobytes())
    lot = np.random.default_rng(seed).random(len(block.s))
    rows = np.flatnonzero((lot < task.share[block.codes]) & (block.s > 0))
    codes = block.codes[rows]
    offset = None if block.offset is None else block.offset[rows]
    Z = block.basis.transform(block.X[rows])
    return [Draw(Z, codes, block.s[rows] / task.share[codes], offset)] if len(rows) else []


def join_moments(found: list[Moments]) -> Moments:
    """Of several blocks, without loss of digits (Chan, Golub & LeVeque 1983)."""
    return reduce(_join_two, found)


def _join_two(a: Moments, b: Moments) -> Moments:
    total = a.total + b.total
    share = b.total / total if total else 0.0
    step = b.mean - a.mean
    return Moments(
        total,
        a.mean + share * step,
        a.spread + b.spread + a.total * share * step**2,
        a.mass + b.mass,
        a.by_class + b.by_class,
        a.drawn + b.drawn,
    )


def find_gram(X, y, weight, offset, task: Task) -> np.ndarray:
    """C^T diag(s) C of the centred columns, (d, d)."""
    block = _Block(X, y, weight, offset, task)
    K: Any = 0.0
    for part in block.parts():
        Z, w = block.columns(part), block.s[part]
        if sparse.issparse(Z):
            # sum s x x^T - mean-corrections: what is subtracted is exact because the center is common to all blocks.
            cross = np.outer(Z.T @ w, task.center)
            K = K + (Z.T @ (Z * w[:, None])).toarray() - cross - cross.T + w.sum() * np.outer(task.center, task.center)
        else:
            C = (Z - task.center) * np.sqrt(w)[:, None]
            K = K + C.T @ C
    return K


def add(found: list[np.ndarray]) -> np.ndarray:
    """The sum."""
    return sum(found[1:], found[0])


# -- The objective at a point


class Sums(NamedTuple):
    """Of the likelihood at a point, over rows: its value, gradient and curvature, and what the certificate needs."""

    loss: float
    gradient: np.ndarray  # in the centred columns, (d, k)
    tilt: np.ndarray  # sum s (P - Y), the gradient in the intercepts, (k,)
    curvature: np.ndarray  # sum s (diag P - P P^T), (k, k)
    entropies: np.ndarray  # of the dual points at SHRINKAGES
    offsets: np.ndarray  # sum s P offset^T over all classes (m, k), and sum s Y offset in a last row
    hessian: np.ndarray | None  # in the active weights and the intercepts
    least: float  # probability of a sample's own class
    doubt: float  # the least 1 - probability of a sample's own class


def evaluate(X, y, weight, offset, task: Task) -> Sums:
    """Of one block."""
    block = _Block(X, y, weight, offset, task)
    width = 0 if task.active is None else len(task.active[0])
    return join([_evaluate(block, part, task) for part in block.parts(width)])


def join(found: list[Sums]) -> Sums:
    """Of several blocks."""
    *summed, least, doubt = zip(*found, strict=True)
    added: list[Any] = [None if each[0] is None else add(list(each)) for each in summed]
    return Sums._make([*added, min(least), min(doubt)])


def _evaluate(block: _Block, part: slice, task: Task) -> Sums:
    Z, s, codes, k = block.columns(part), block.s[part], block.codes[part], task.k
    W, b, center = task.W, task.b, task.center
    dense = not sparse.issparse(Z)
    if dense:
        Z = Z - center
        F = np.asfortranarray(Z @ W + b)
    else:
        F = np.asfortranarray(Z @ W + (b - center @ W))
    if block.offset is not None:
        F += block.offset[part]
    labelled = np.arange(k) if len(task.classes) > 2 else np.array([1])
    Y = np.asfortranarray(codes[:, None] == labelled, dtype=np.float64)
    P, loss = Multinomial(task.reference).fit(F, Y, s)
    R = s[:, None] * (P - Y)
    tilt = R.sum(axis=0)
    gradient = Z.T @ np.ascontiguousarray(R)
    entropies, own, other = _entropies(F, P, Y, s, task.reference)
    C = -(P.T * s) @ P
    C.flat[:: k + 1] += s @ P
    if not dense:
        gradient -= np.outer(center, tilt)
    offsets = np.zeros((len(task.classes) + 1, k))
    if block.offset is not None:
        o = block.offset[part]
        offsets[labelled], offsets[-1] = (P.T * s) @ o, s @ (Y * o)
        if task.reference:
            offsets[0 if k == 1 else k] = (s * (1.0 - P.sum(axis=1))) @ o
    H = None
    if task.active is not None:
        some = slice(None, None, task.thin)
        H = _hessian(Z[some], P[some], task.thin * s[some], C, task)
    counted = s > 0
    least, doubt = own[counted].min(initial=1.0), other[counted].min(initial=1.0)
    return Sums(loss, gradient, tilt, C, entropies, offsets, H, float(least), float(doubt))


def _entropies(F, P, Y, s, reference: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """sum s entropy((1 - rho) Y + rho P) at each shrinkage rho; the probability of the own class, and 1 minus it.

    Of (1 - rho) Y + rho P only the own class's part needs a logarithm of its own: the others are rho P.
    """
    top, best = F.max(axis=1), P.max(axis=1)
    if reference:
        below = top < 0
        top, best = np.where(below, 0.0, top), np.where(below, 1.0 - P.sum(axis=1), best)
    normaliser = top - np.log(best)  # log sum exp F: the greatest probability is at least 1 / m
    log_own = (Y * F).sum(axis=1) - normaliser
    own = np.exp(log_own)
    other = -np.expm1(log_own)
    others = np.maximum(normaliser - (P * F).sum(axis=1) + own * log_own, 0.0)  # -sum of P log P over other classes
    found = np.zeros(len(SHRINKAGES))
    for i, rho in enumerate(SHRINKAGES):
        if rho > 0:
            left = rho * other
            found[i] = s @ (-(1 - left) * np.log1p(-np.minimum(left, 1 - 1e-300)) + rho * others) - rho * np.log(
                rho
            ) * (s @ other)
    return found, own, other


def _hessian(Z, P: np.ndarray, s: np.ndarray, C: np.ndarray, task: Task) -> np.ndarray:
    """Second derivatives in the active weights (class by class) and then the intercepts, C among the latter.

    With v_a = sqrt(s) P_l z_j of the weight a = (j, l) it is D - V^T V, D = Z^T diag(s P_l) Z within each class and 0
    between classes. Only the columns of active weights are touched.
    """
    feature, klass = task.active
    k, N, root = task.k, len(feature), np.sqrt(s)
    used, where = np.unique(feature, return_inverse=True)
    if sparse.issparse(Z):
        return _sparse_hessian(sparse.csc_array(Z[:, used]), where, klass, P, s, C, task.center[used])
    Zu = Z if len(used) == Z.shape[1] else Z[:, used]
    V = np.empty((len(s), N + k))
    H = np.zeros((N + k, N + k))
    np.multiply(root[:, None], P, out=V[:, N:])
    ends = np.searchsorted(klass, np.arange(k + 1))
    for at in range(k):
        a, b = ends[at], ends[at + 1]
        columns = where[a:b]
        Zl = Zu if len(columns) == Zu.shape[1] else Zu[:, columns]
        np.multiply(Zl, V[:, N + at, None], out=V[:, a:b])
        weighted = Zl * np.sqrt(s * P[:, at])[:, None]
        H[a:b, a:b] = weighted.T @ weighted
        H[a:b, N + at] = H[N + at, a:b] = Zl.T @ (s * P[:, at])
    H -= V.T @ V
    H[N:, N:] = C
    return H


def _sparse_hessian(Z, where, klass, P, s, C, center: np.ndarray) -> np.ndarray:
    """The same of columns not centred, then moved to the center: H with z_j replaced by z_j - c_j."""
    k, N = P.shape[1], len(where)
    H = np.zeros((N + k, N + k))
    root = np.sqrt(s)
    columns, ends = [], np.searchsorted(klass, np.arange(k + 1))
    for at in range(k):
        a, b = ends[at], ends[at + 1]
        Zl = Z[:, where[a:b]]
        columns.append(sparse.diags_array(root * P[:, at]) @ Zl)
        H[a:b, a:b] = (Zl.T @ (sparse.diags_array(s * P[:, at]) @ Zl)).toarray()
        H[a:b, N + at] = Zl.T @ (s * P[:, at])
    V = sparse.csc_array(sparse.hstack(columns))
    H[:N, :N] -= (V.T @ V).toarray()
    H[:N, N:] -= V.T @ (root[:, None] * P)
    H[N:, :N] = H[:N, N:].T
    H[N:, N:] = C
    c = center[where]
    B = H[:N, N:]
    shifted = B[:, klass] * c  # of weight a and the intercept of weight b's class, times c_b
    H[:N, :N] += np.outer(c, c) * C[np.ix_(klass, klass)] - shifted - shifted.T
    H[:N, N:] = B - c[:, None] * C[klass]
    H[N:, :N] = H[:N, N:].T
    return H


# -- One block


class _Block:
    """Rows as the objective wants them: columns of the basis, positions of labels, weights, offset."""

    def __init__(self, X, y, weight, offset, task: Task, check: bool = False):
        X = _matrix(X)
        y = _vector(y, "y")
        if len(y) != X.shape[0]:
            raise ValueError(f"A block of X has {X.shape[0]} rows but that of y has {len(y)}; they must be cut alike.")
        if check and not np.isfinite(X.data if sparse.issparse(X) else X).all():
            raise ValueError("X contains NaN or infinity; every entry must be finite.")
        s = _weight(weight, len(y))
        position = np.searchsorted(task.classes, y)
        self.codes = np.where(s > 0, np.minimum(position, len(task.classes) - 1), 0)
        self.s = s * task.factor[self.codes]
        self.X, self.basis = X, task.basis
        self.offset = None if offset is None else task.offset_columns(_offset(offset, len(y)))
        if check:
            width = self.columns(slice(0, 1)).shape[1]
            if width != task.basis.n_columns_:
                raise ValueError(f"A block of X gives {width} columns where {task.basis.n_columns_} were expected.")

    def parts(self, width: int = 0) -> list[slice]:
        """Slices of rows, small enough to copy and to have `width` more columns beside them."""
        n, d = self.X.shape[0], max(1, self.basis.n_columns_)
        d = 1 + self.X.nnz // max(1, n) if sparse.issparse(self.X) else max(d, width)
        step = max(256, PART_BYTES // (8 * d))
        return [slice(i, i + step) for i in range(0, n, step)] or [slice(0, 0)]

    def columns(self, part: slice):
        """The basis columns of some rows, in float64, dense or CSR."""
        Z = self.basis.transform(self.X[part])
        return sparse.csr_array(Z, dtype=np.float64) if sparse.issparse(Z) else np.asarray(Z, dtype=np.float64)


def _matrix(X):
    if sparse.issparse(X):
        return X if X.format == "csr" else X.tocsr()
    if hasattr(X, "to_numpy"):  # a frame, whose columns may be of types that are not NumPy's
        single = all(kind == np.float32 for kind in X.dtypes)
        return X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    return np.asarray(X)


def _vector(y, name: str) -> np.ndarray:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{name} must have one dimension, a value for each sample; got shape {y.shape}.")
    return y


def _weight(weight, n: int) -> np.ndarray:
    if weight is None:
        return np.ones(n)
    s = _vector(weight, "sample_weight").astype(np.float64)
    if len(s) != n:
        raise ValueError(f"A block of y has {n} rows but that of sample_weight has {len(s)}; they must be cut alike.")
    if not np.isfinite(s).all() or (s < 0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    return s


def _offset(offset, n: int) -> np.ndarray:
    offset = np.asarray(offset, dtype=np.float64)
    if len(offset) != n:
        raise ValueError(f"A block of y has {n} rows but that of offset has {len(offset)}; they must be cut alike.")
    return offset
