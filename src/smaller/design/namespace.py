"""Arrays that are not NumPy's: PyTorch tensors and CuPy arrays, through array-api-compat; nothing of it is imported
before such an array comes."""

from __future__ import annotations

from typing import Any

import numpy as np

FOLLOWED = ("torch", "cupy", "array_api_strict")  # the last is what the tests check the standard with


def on_device(X) -> bool:
    """Whether X is an array that a fit is to follow: of PyTorch, CuPy or array-api-strict, wherever it lies."""
    return type(X).__module__.partition(".")[0] in FOLLOWED and hasattr(X, "shape") and hasattr(X, "dtype")


def _compat(x) -> Any:
    """array-api-compat, which an array like x needs."""
    try:
        import array_api_compat
    except ImportError:
        raise ImportError(
            f"An array of {type(x).__module__} was given, for which array-api-compat is needed: "
            "pip install 'smaller[gpu]'."
        ) from None
    return array_api_compat


def namespace(X) -> Any:
    """The functions of the array API for arrays like X."""
    return _compat(X).array_namespace(X)


def host(x) -> Any:
    """The same values as a NumPy array; what is not on a device stays as it is."""
    if not on_device(x):
        return x
    if _compat(x).is_torch_array(x):
        return x.detach().cpu().numpy()
    if _compat(x).is_cupy_array(x):
        return x.get()
    return np.asarray(x.to_device(namespace(x).Device("CPU_DEVICE")))  # array-api-strict


def precision(X) -> Any:
    """float32 for float32 and what holds less, float64 for float64 and whole numbers."""
    xp = namespace(X)
    less = xp.isdtype(X.dtype, "real floating") and X.dtype != xp.float64
    return xp.float32 if less else xp.float64


def follow(a, X) -> Any:
    """The numbers of `a` beside X: NumPy's, or in the namespace, device and precision of X."""
    if not on_device(X):
        return host(a)
    xp = namespace(X)
    a = np.ascontiguousarray(host(a))
    return xp.asarray(a, device=X.device, dtype=precision(X) if a.dtype.kind == "f" else None)
