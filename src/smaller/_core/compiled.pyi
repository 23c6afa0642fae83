"""The types of the compiled kernels. What they compute is said by their twins in reference.py, of rounds by rounds.hpp.

Every argument is positional. Matrices are in Fortran order, those of judge, distances, decay and squares, `G` of pull
and `W`, `G` and `unit` of rounds in C order, vectors contiguous, and nothing is converted: another layout or type is
refused. `w`, `b`, `F`, `P`, `alpha`, `v`, `D`, `S`, `K` of regate, `G` of pull and rounds, `W` of rounds, `residuals`,
`up`, `down`, `losses` and `total` of squares are written to.
"""

from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
Values: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Places: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.uint8]

def means(F: Reals, Y: Reals, s: Reals, family: int, P: Reals, /) -> float: ...
def negentropy(U: Reals, Y: Reals, s: Reals, shrink: float, family: int, /) -> float: ...
def judge(
    W: Reals, G: Reals, l1: Reals, l2: Reals, scale: Reals, residuals: Reals, /
) -> tuple[float, float, float]: ...
def pull(X: Values, R: Reals, G: Reals, /) -> None: ...
def sequential(
    X: Reals,
    C: Reals,
    total: float,
    yy: float,
    alpha: Reals,
    noise: float,
    floor: float,
    tol: float,
    aligned: float,
    max_steps: int,
    /,
) -> tuple[int, float]: ...
@overload
def newton(
    X: Values,
    target: float,
    max_steps: int,
    forcing: float,
    feature: Places,
    klass: Places,
    w: Reals,
    b: Reals,
    F: Reals,
    Y: Reals,
    s: Reals,
    l1: Reals,
    l2: Reals,
    scale: Reals,
    family: int,
    intercept: bool,
    /,
) -> tuple[int, int, float, float, bool]: ...
@overload
def newton(
    values: Values,
    rows: Indices,
    starts: Indices,
    target: float,
    max_steps: int,
    forcing: float,
    feature: Places,
    klass: Places,
    w: Reals,
    b: Reals,
    F: Reals,
    Y: Reals,
    s: Reals,
    l1: Reals,
    l2: Reals,
    scale: Reals,
    family: int,
    intercept: bool,
    /,
) -> tuple[int, int, float, float, bool]: ...
@overload
def rounds(
    X: Values,
    tol: float,
    max_iter: int,
    max_steps: int,
    screen: float,
    forcing: float,
    share: float,
    roughly: float,
    room: int,
    polished: float,
    polish_work: int,
    free_tolerance: float,
    lams: Reals,
    W: Reals,
    F: Reals,
    G: Reals,
    Y: Reals,
    s: Reals,
    unit: Reals,
    leads: Flags,
    family: int,
    intercept: bool,
    known: bool,
    /,
) -> tuple: ...
@overload
def rounds(
    values: Values,
    rows: Indices,
    starts: Indices,
    tol: float,
    max_iter: int,
    max_steps: int,
    screen: float,
    forcing: float,
    share: float,
    roughly: float,
    room: int,
    polished: float,
    polish_work: int,
    free_tolerance: float,
    lams: Reals,
    W: Reals,
    F: Reals,
    G: Reals,
    Y: Reals,
    s: Reals,
    unit: Reals,
    leads: Flags,
    family: int,
    intercept: bool,
    known: bool,
    /,
) -> tuple: ...
@overload
def componentwise(
    X: Values,
    bound: Reals,
    center: Reals,
    visit: Flags,
    greedy: bool,
    feature: Places,
    klass: Places,
    w: Reals,
    b: Reals,
    F: Reals,
    Y: Reals,
    s: Reals,
    l1: Reals,
    l2: Reals,
    scale: Reals,
    family: int,
    intercept: bool,
    /,
) -> float: ...
@overload
def componentwise(
    values: Values,
    rows: Indices,
    starts: Indices,
    bound: Reals,
    center: Reals,
    visit: Flags,
    greedy: bool,
    feature: Places,
    klass: Places,
    w: Reals,
    b: Reals,
    F: Reals,
    Y: Reals,
    s: Reals,
    l1: Reals,
    l2: Reals,
    scale: Reals,
    family: int,
    intercept: bool,
    /,
) -> float: ...
def climb(
    X: Reals,
    C: Reals,
    total: float,
    yy: float,
    coarse: Places,
    precisions: Reals,
    noises: Reals,
    alpha: Reals,
    follow: int,
    floor: float,
    tol: float,
    aligned: float,
    max_steps: int,
    /,
) -> tuple[float, float]: ...
def logistic(
    X: Reals,
    y: Reals,
    s: Reals,
    offset: Reals,
    level: float,
    coarse: Places,
    precisions: Reals,
    weights: Reals,
    alpha: Reals,
    v: Reals,
    follow: int,
    tol: float,
    change: float,
    near: float,
    aligned: float,
    max_steps: int,
    /,
) -> float: ...
def distances(X: Reals, Zt: Reals, D: Reals, /) -> None: ...
def decay(D: Reals, gamma: float, /) -> None: ...
def squares(X: Reals, omega: Reals, center: Reals, total: Reals, /) -> None: ...
@overload
def weight_moves(
    X: Values,
    column: Places,
    klass: Places,
    center: Reals,
    step: float,
    P: Reals,
    Q: Reals,
    Y: Reals,
    s: Reals,
    family: int,
    up: Reals,
    down: Reals,
    /,
) -> None: ...
@overload
def weight_moves(
    values: Values,
    rows: Indices,
    starts: Indices,
    column: Places,
    klass: Places,
    center: Reals,
    step: float,
    P: Reals,
    Q: Reals,
    Y: Reals,
    s: Reals,
    family: int,
    up: Reals,
    down: Reals,
    /,
) -> None: ...
def gate_moves(
    X: Reals,
    C: Reals,
    K: Reals,
    W: Reals,
    base: Reals,
    input: Places,
    rate: Reals,
    Y: Reals,
    s: Reals,
    family: int,
    intercept: bool,
    losses: Reals,
    /,
) -> None: ...
def regate(S: Reals, K: Reals, x: Reals, c: Reals, change: float, gamma: float, /) -> None: ...
