"""The types of the compiled kernels. What they compute is said by their twins in reference*.py, or by rounds.hpp.

Matrices are in Fortran order, but those of judge, distances, decay and squares, `H` of quadratic, `G` of pull, the
fields of Penalty, `W` and `G` of Point, and `root`, `momenta`, `ends` and `told` of trajectories in C order; vectors
are contiguous. Nothing is converted: another layout or type is refused. `w`, `b`, `F`, `P`, `U`, `W`, `alpha`, `v`,
`d`, `slope`, `D`, `S`, `K` of regate, `G` of pull and of Point, `residuals`, `up`, `down`, `losses`, `total` of
squares, `ends` and `told` are written to.
"""

from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
Values: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Places: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.uint8]

class Samples:
    def __init__(
        self,
        *,
        Y: Reals,
        s: Reals,
        offset: Reals | None,
        family: int,
        intercept: bool,
        measure: float,
        negligible: float,
    ) -> None: ...

class Groups:
    def __init__(self, *, start: Places, column: Places, of: Places, tau: Reals, unit: Reals) -> None: ...

class Penalty:
    def __init__(
        self, *, l1: Reals, l2: Reals | None, scale: Reals, leads: Flags | None, groups: Groups | None = None
    ) -> None: ...

class Rule:
    def __init__(self, *, tol: float, max_iter: int, screen: float, exact: bool, room: int) -> None: ...

class Point:
    def __init__(self, *, W: Reals, F: Reals, G: Reals, known: bool) -> None: ...

class Density:
    def __init__(self, *, unit: Reals, normal: Reals, power: int, lam: float, shape: float, rate: float) -> None: ...

class WorkingSet:
    def __init__(self, *, feature: Places, klass: Places, w: Reals, l1: Reals, l2: Reals, scale: Reals) -> None: ...

class Sweep:
    def __init__(self, *, bound: Reals, center: Reals, visit: Flags, greedy: bool) -> None: ...

class GaussianData:
    def __init__(self, *, C: Reals, total: float, yy: float, floor: float) -> None: ...

class BinaryData:
    def __init__(self, *, y: Reals, s: Reals, offset: Reals, level: float) -> None: ...

class Starts:
    def __init__(self, *, coarse: Places, precisions: Reals, follow: int) -> None: ...

class SearchRule:
    def __init__(self, *, tol: float, aligned: float, max_steps: int) -> None: ...

class ModeRule:
    def __init__(self, *, change: float, near: float) -> None: ...

class Moves:
    def __init__(self, *, column: Places, klass: Places, center: Reals, step: float) -> None: ...

class State:
    def __init__(self, *, P: Reals, Q: Reals, Y: Reals, s: Reals, family: int) -> None: ...

class Gates:
    def __init__(self, *, X: Reals, C: Reals, K: Reals, W: Reals, base: Reals) -> None: ...

def means(F: Reals, Y: Reals, s: Reals, family: int, P: Reals, U: Reals) -> float: ...
def negentropy(U: Reals, Y: Reals, s: Reals, shrink: float, family: int) -> float: ...
def judge(W: Reals, G: Reals, l1: Reals, l2: Reals, scale: Reals, residuals: Reals) -> tuple[float, float, float]: ...
def pull(X: Values, R: Reals, G: Reals) -> None: ...
def distances(X: Reals, Zt: Reals, D: Reals) -> None: ...
def decay(D: Reals, gamma: float) -> None: ...
def squares(X: Reals, omega: Reals, center: Reals, total: Reals) -> None: ...
@overload
def minimise(X: Values, samples: Samples, penalty: Penalty, rule: Rule, point: Point, lams: Reals) -> tuple: ...
@overload
def minimise(
    values: Values,
    rows: Indices,
    starts: Indices,
    samples: Samples,
    penalty: Penalty,
    rule: Rule,
    point: Point,
    lams: Reals,
) -> tuple: ...
@overload
def minimise_by_rows(X: Values, samples: Samples, penalty: Penalty, rule: Rule, point: Point, lams: Reals) -> tuple: ...
@overload
def minimise_by_rows(
    values: Values,
    columns: Indices,
    starts: Indices,
    samples: Samples,
    penalty: Penalty,
    rule: Rule,
    point: Point,
    lams: Reals,
) -> tuple: ...
def quadratic(H: Reals, slope: Reals, w: Reals, l1: Reals, scale: Reals, d: Reals, tolerance: float) -> int: ...
def block_quadratic(
    H: Reals,
    slope: Reals,
    w: Reals,
    l1: Reals,
    scale: Reals,
    d: Reals,
    start: Places,
    member: Places,
    tau: Reals,
    tolerance: float,
) -> int: ...
def settle_intercepts(samples: Samples, b: Reals, F: Reals, target: float) -> None: ...
@overload
def componentwise(X: Values, samples: Samples, set: WorkingSet, sweep: Sweep, b: Reals, F: Reals) -> float: ...
@overload
def componentwise(
    values: Values,
    rows: Indices,
    starts: Indices,
    samples: Samples,
    set: WorkingSet,
    sweep: Sweep,
    b: Reals,
    F: Reals,
) -> float: ...
def sequential(X: Reals, data: GaussianData, alpha: Reals, noise: float, rule: SearchRule) -> tuple[int, float]: ...
def climb(
    X: Reals, data: GaussianData, starts: Starts, noises: Reals, alpha: Reals, rule: SearchRule
) -> tuple[float, float]: ...
def logistic(
    X: Reals,
    data: BinaryData,
    starts: Starts,
    weights: Reals,
    alpha: Reals,
    v: Reals,
    rule: SearchRule,
    modes: ModeRule,
) -> float: ...
@overload
def weight_moves(X: Values, moves: Moves, state: State, up: Reals, down: Reals) -> None: ...
@overload
def weight_moves(
    values: Values, rows: Indices, starts: Indices, moves: Moves, state: State, up: Reals, down: Reals
) -> None: ...
def gate_moves(gates: Gates, samples: Samples, input: Places, rate: Reals, losses: Reals) -> None: ...
def regate(S: Reals, K: Reals, x: Reals, c: Reals, change: float, gamma: float) -> None: ...
def trajectories(
    A: Reals,
    samples: Samples,
    density: Density,
    root: Reals,
    start: Reals,
    momenta: Reals,
    steps: Places,
    thresholds: Reals,
    step: float,
    ends: Reals,
    told: Reals,
) -> None: ...
