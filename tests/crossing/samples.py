"""Data of every kind that a user may bring, with plain float64 copies for the judges."""

import tempfile
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

OPTIONS = {
    "shape",
    "outside",
    "weight",
    "offset",
    "columns",
    "scale",
    "layout",
    "classes",
    "labels",
    "separable",
    "unit",
    "targets",
    "blocks",
    "together",
}
SHAPES = {"tall": (70, 5), "wide": (24, 40), "tiny": (6, 2)}
# Without NumPy 2 array-api-strict cannot move arrays between its devices.
STRICT = find_spec("array_api_strict") is not None and np.lib.NumpyVersion(np.__version__) >= "2.0.0"
PER_CLASS = 3  # samples of each class, at least


@dataclass(frozen=True)
class Data:
    """What the user hands over, and what the judges see: rows of positive weight only."""

    X: object
    y: object
    weight: object
    offset: object
    plain: np.ndarray  # X, (n, p), float64
    target: np.ndarray  # positions of the classes, (n,); or real targets, (n,) or (n, t)
    s: np.ndarray  # (n,)
    shift: np.ndarray | None  # offset, (n, m) for classes, in the shape of the targets else
    labels: np.ndarray | None
    kept: np.ndarray  # which of the user's rows have a positive weight


def make(row, seed):
    """The data of one row of the tables: labels of `classes`, or as many real targets as `targets` says."""
    data = _inputs_and_targets(row, seed)
    return _with_kernel(data, row["layout"]) if row.get("basis") == "precomputed" else data


def _inputs_and_targets(row, seed):
    rng = np.random.default_rng(seed)
    m = row.get("classes", 0)
    n, p = SHAPES[row["shape"]]
    n = max(n, PER_CLASS * m)
    codes = rng.permutation(np.concatenate([np.repeat(np.arange(m), 2), rng.integers(0, m, n - 2 * m)])) if m else None
    signal, plain = _inputs(rng, n, p, row, codes)
    target = _targets(rng, n, row["targets"], signal, row) if codes is None else codes
    if row.get("complex"):
        turned = _inputs(rng, n, p, {**row, "columns": "plain"}, codes)[1]
        turned[:, -1] *= row["columns"] not in ("zero", "constant")
        plain, target = plain + 1j * turned, target + 1j * target[::-1]
    weight = _weights(rng, n, row["weight"], target if m else None)
    shift = _offset(rng, target, m, row["offset"])
    X = _laid_out(plain, row["layout"], seed)
    plain = plain.astype(np.float32).astype(np.float64) if row["layout"] in ("float32", "csr32") else plain
    names = _names(m, row["labels"]) if m else None
    y = names[target] if m else target
    kept = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    return Data(
        X=X,
        y=_like(X, y),
        weight=_like(X, weight),
        offset=_like(X, _as_given(shift, m, row["offset"])),
        plain=plain[kept],
        target=target[kept],
        s=np.ones(len(kept)) if weight is None else weight[kept],
        shift=None if shift is None else shift[kept],
        labels=names,
        kept=kept,
    )


def _inputs(rng, n, p, row, codes):
    """Standard normal columns, the first third of which differ between the classes, in the units of the row."""
    X, informative = rng.standard_normal((n, p)), max(1, p // 3)
    if codes is not None:
        X[:, :informative] += (20.0 if row["separable"] else 1.0) * rng.standard_normal((codes.max() + 1, informative))[
            codes
        ]
    if row["layout"] in ("csr", "csc", "csr32"):
        X[rng.random((n, p)) < 0.5] = 0.0
    if row["columns"] == "shifted":
        X += 50.0
    elif row["columns"] != "plain":
        X[:, -1] = {"constant": 3.0, "zero": 0.0, "duplicated": X[:, 0]}[row["columns"]]
    units = 10.0 ** rng.integers(-6, 7, p) if row["scale"] == "mixed" else float(row["scale"])
    return X, X * units


def _with_kernel(data, layout):
    """The kernel values of all of the user's rows instead of the inputs."""
    X = np.asarray(data.X, dtype=np.float64)
    Z = (X - X.mean(axis=0)) / np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / X.shape[1]).astype(data.X.dtype)
    K = np.asfortranarray(K) if layout == "F" else K
    plain = K.astype(np.float64)[np.ix_(data.kept, data.kept)]
    return replace(data, X=K, plain=plain)


def _targets(rng, n, t, signal, row):
    F = signal[:, :3] @ rng.standard_normal((min(3, signal.shape[1]), t))
    y = (F + 0.5 * rng.standard_normal((n, t))) * float(row["unit"])
    return y[:, 0] if t == 1 else y


def _weights(rng, n, kind, codes):
    if kind == "none":
        return None
    weight = {
        "random": rng.uniform(0.2, 2.0, n),
        "zeros": rng.integers(0, 3, n).astype(float),
        "wide": 10.0 ** rng.uniform(-3, 3, n),
    }[kind]
    if codes is not None:  # no class may vanish
        weight[[np.flatnonzero(codes == c)[0] for c in np.unique(codes)]] = 1.0
    weight[0] = 1.0
    return weight


def _offset(rng, target, m, size):
    if size == "none":
        return None
    shape = (len(target), m) if m else target.shape
    return float(size) * rng.standard_normal(shape)


def _as_given(shift, m, size):
    """Two classes may be given one column: the difference."""
    return shift[:, 1] - shift[:, 0] if shift is not None and m == 2 and size == "1e3" else shift


def _names(m, kind):
    names = {"int": np.arange(m) * 3 - 1, "str": np.array([f"class {c:02d}" for c in range(m)])}
    return names[kind]


def _laid_out(X, layout, seed):
    return LAYOUTS[layout](X, seed)


def _frame(X, seed):
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _mapped(X, seed):
    """Read from a file without a name, which ends with the map."""
    with tempfile.TemporaryFile() as file:
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, dtype=np.float64, mode="r", shape=X.shape)


def _dask(X, seed):
    import dask.array as da

    return da.from_array(X, chunks=(max(1, len(X) // 3), X.shape[1]))


def _strict(X, seed):
    """On a device whose arrays NumPy cannot read, as those of a GPU."""
    import array_api_strict

    return array_api_strict.asarray(X, device=array_api_strict.Device("device1"))


def at_home(values):
    """NumPy's array of one on a device; anything else as it is."""
    if isinstance(values, np.ndarray | np.generic) or not hasattr(values, "__array_namespace__"):
        return values
    xp = values.__array_namespace__()
    return np.asarray(xp.asarray(values, device=xp.Device("CPU_DEVICE")))


def _like(X, values):
    """Labels, weights and offsets beside a Dask array are Dask arrays."""
    if values is None or not hasattr(X, "dask"):
        return values
    import dask.array as da

    return da.from_array(values, chunks=(X.chunks[0], *values.shape[1:]))


LAYOUTS = {
    "C": lambda X, seed: np.ascontiguousarray(X),
    "F": lambda X, seed: np.asfortranarray(X),
    "float32": lambda X, seed: X.astype(np.float32),
    "csr": lambda X, seed: sparse.csr_array(X),
    "operator": lambda X, seed: aslinearoperator(X),
    "csc": lambda X, seed: sparse.csc_matrix(X),
    "csr32": lambda X, seed: sparse.csr_matrix(X.astype(np.float32)),
    "frame": _frame,
    "memmap": _mapped,
    "dask": _dask,
    "strict": _strict,
}
