"""One race: every solver brings the objective to within ACCURACIES of the best known, at one lam or along a path."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from .worker import SolverError, Worker

ACCURACIES = (1e-4, 1e-6, 1e-8)  # relative, in the objective, at every lam
ACCURACY = 1e-6  # the one that tables rank by
PATIENCE = 2  # times our tightest fit: a time limit, where it is longer than the one asked for
REPEAT_SHARE = 1 / 3  # of a solver's time limit, for its repeats together


@dataclass
class Race:
    problem: object
    label: str
    lams: list
    best: np.ndarray  # of each lam: the lowest objective known
    bound: np.ndarray = None  # of each lam: the highest dual value seen, which no objective can beat

    def __post_init__(self):
        self.bound = np.zeros(len(self.lams))

    def learn(self, values, duals):
        self.best = np.minimum(self.best, values)
        self.bound = np.maximum(self.bound, duals)

    def certified(self):
        """How far the best may lie above the true minimum, relative, at the worst lam."""
        return float(np.max(1 - self.bound / self.best))

    def excess(self, values):
        """How far above the best known, relative, at the worst lam."""
        return float(np.max(values / self.best - 1))


@dataclass
class Runner:
    """One solver in one race, going down its ladder by strides; fine also tries the rungs it strode over."""

    worker: Worker
    stride: int = 2
    fine: bool = True
    failure: str = ""
    rungs: dict = field(
        default_factory=dict
    )  # by place in the ladder: objectives and, per fit, (processor, wall clock)

    def __post_init__(self):
        self.adapter = self.worker.adapter
        self.ladder = self.adapter.ladder()

    def first(self, race, accuracy):
        """The place of the loosest rung that is accurate enough, None if there is none yet."""
        return next((k for k in sorted(self.rungs) if race.excess(self.rungs[k][0]) <= accuracy), None)

    def reached(self, race):
        return [self.first(race, accuracy) for accuracy in ACCURACIES]

    def next(self, race):
        """The place to go to: just above one that met an accuracy, else further down; None at the end."""
        above = [k - 1 for k in self.reached(race) if self.fine and k]
        if untried := [k for k in above if k not in self.rungs]:
            return untried[0]
        if self.first(race, ACCURACIES[-1]) is not None:
            return None
        bottom = len(self.ladder) - 1
        if bottom in self.rungs:
            raise SolverError("not accurate enough at its tightest tolerance")
        return min(max(self.rungs) + self.stride, bottom) if self.rungs else 0

    def fit(self, race, tol, limit):
        seconds, values, duals = self.worker.ask(race.lams, tol, limit)
        race.learn(values, duals)
        return seconds, np.array(values)

    def spent(self):
        return sum(processor for _, times in self.rungs.values() for processor, _ in times[:1])

    def descend(self, race, limit):
        """Down the ladder until the last accuracy is met or the time is spent."""
        try:
            while not self.failure and (place := self.next(race)) is not None:
                if (left := limit - self.spent()) <= 0:
                    raise SolverError("out of time")
                seconds, values = self.fit(race, self.ladder[place], left)
                self.rungs[place] = values, [seconds]
        except SolverError as reason:
            self.failure = str(reason)

    def repeat(self, race, limit):
        """Time once more the rungs that count, the chief one first, unless the solver has had its share."""
        for accuracy in (ACCURACY, *ACCURACIES):
            place = self.first(race, accuracy)
            again = sum(processor for _, times in self.rungs.values() for processor, _ in times[1:])
            if place is not None and again + self.rungs[place][1][0][0] <= limit * REPEAT_SHARE:
                with suppress(SolverError):
                    self.rungs[place][1].append(self.fit(race, self.ladder[place], limit)[0])

    def facts(self, race):
        met = self.reached(race)
        chief = self.first(race, ACCURACY)
        return {
            "solver": self.adapter.name,
            "version": self.adapter.available(),
            "reached": chief is not None,
            "failure": "" if met[-1] is not None else self.failure,
            "rungs": [self.rung(race, place) for place in sorted(self.rungs)],
        } | ({} if chief is None else self.rung(race, chief))

    def rung(self, race, place):
        values, times = self.rungs[place]
        processor, wall = zip(*times, strict=True)
        return {
            "tol": self.ladder[place],
            "excess": race.excess(values),
            "repeats": len(wall),
            "seconds": min(processor),
            "median": median(processor),
            "wall": min(wall),
            "wall_median": median(wall),
        }


def run(race, runners, repeats, limit):
    """Certify, then all ladders, then repeats in turn so that noise falls on everyone. Returns plain numbers.

    The solver in front is ours: it has no time limit, and its tightest fit extends that of the others.
    """
    load = os.getloadavg()[0]
    limit = max(limit, PATIENCE * certify(race, runners))
    changed = True
    while changed:  # a late solver may lower the best, so that an earlier one has further to go
        before = [runner.reached(race) for runner in runners]
        for runner in runners:
            runner.descend(race, np.inf if runner is runners[0] else limit)
        changed = before != [runner.reached(race) for runner in runners]
    for _ in range(repeats):
        for runner in runners:
            runner.repeat(race, limit)
    return {
        "problem": race.problem.name,
        "label": race.label,
        "lams": list(race.lams),
        "best": race.best.tolist(),
        "certified": race.certified(),
        "limit": limit,
        "load": [load, os.getloadavg()[0]],
        "solvers": [runner.facts(race) for runner in runners],
    }


def certify(race, runners):
    """An untimed tight fit by the solver in front, whose duality gap proves the best objective good; its seconds."""
    (seconds, _), _ = runners[0].fit(race, runners[0].ladder[-1], np.inf)
    return seconds
