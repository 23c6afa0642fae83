"""Arrays of PyTorch and CuPy, through array-api-compat, which is imported when the first such array is given."""

from __future__ import annotations

from typing import Any

import numpy as np

FOLLOWED = ("torch", "cupy", "array_api_strict")  # array_api_strict is for the tests


def on_device(X) -> bool:
    """Whether X is an array of PyTorch, CuPy or array-api-strict, which a fit leaves on its device."""
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
    """The same values as a NumPy array; anything that is not on a device is returned as it is."""
    if not on_device(x):
        return x
    if _compat(x).is_torch_array(x):
        return x.detach().cpu().numpy()
    if _compat(x).is_cupy_array(x):
        return x.get()
    return np.asarray(x.to_device(namespace(x).Device("CPU_DEVICE")))  # array-api-strict


def precision(X) -> Any:
    """float32 for floats of at most 32 bits, float64 for float64 and integers."""
    xp = namespace(X)
    less = xp.isdtype(X.dtype, "real floating") and X.dtype != xp.float64
    return xp.float32 if less else xp.float64


def follow(a, X) -> Any:
    """`a` in the namespace, on the device and in the precision of X; a NumPy array where X is one."""
    if not on_device(X):
        return host(a)
    xp = namespace(X)
    a = np.ascontiguousarray(host(a))
    return xp.asarray(a, device=X.device, dtype=precision(X) if a.dtype.kind == "f" else None)
