"""One race: every solver brings the objective to within ACCURACY of the best known, at one lam or along a path."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from .worker import SolverError, Worker

ACCURACY = 1e-6  # relative, in the objective, at every lam
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
    """One solver in one race."""

    worker: Worker
    rungs: list = field(default_factory=list)  # (tol, seconds, objectives) down the ladder
    repeats: list = field(default_factory=list)  # seconds; here as above a pair, (processor, wall clock)
    failure: str = ""

    def __post_init__(self):
        self.adapter = self.worker.adapter
        self.ladder = self.adapter.ladder()

    def reached(self, race):
        return bool(self.rungs) and race.excess(self.rungs[-1][2]) <= ACCURACY

    def fit(self, race, tol, limit):
        seconds, values, duals = self.worker.ask(race.lams, tol, limit)
        race.learn(values, duals)
        return seconds, np.array(values)

    def descend(self, race, limit):
        """Down the ladder to the first rung that is accurate enough, or until the time is spent."""
        left = limit - sum(processor for _, (processor, _), _ in self.rungs)
        try:
            while not self.reached(race) and not self.failure:
                if len(self.rungs) == len(self.ladder):
                    raise SolverError("not accurate enough at its tightest tolerance")
                tol = self.ladder[len(self.rungs)]
                self.rungs.append((tol, *self.fit(race, tol, max(left, 0.0))))
                left -= self.rungs[-1][1][0]
        except SolverError as reason:
            self.failure = str(reason)

    def repeat(self, race, limit):
        """Time the accepted rung once more, unless the solver has had its share."""
        spent = sum(processor for processor, _ in self.repeats)
        if self.reached(race) and spent + self.rungs[-1][1][0] <= limit * REPEAT_SHARE:
            with suppress(SolverError):
                self.repeats.append(self.fit(race, self.rungs[-1][0], limit)[0])

    def facts(self, race):
        facts = {
            "solver": self.adapter.name,
            "version": self.adapter.available(),
            "reached": self.reached(race),
            "failure": "" if self.reached(race) else self.failure,
            "rungs": [
                {"tol": tol, "seconds": processor, "wall": wall, "excess": race.excess(values)}
                for tol, (processor, wall), values in self.rungs
            ],
        }
        if self.reached(race):
            processor, wall = zip(*self.repeats, self.rungs[-1][1], strict=True)
            facts |= {
                "tol": self.rungs[-1][0],
                "repeats": len(wall),
                "seconds": min(processor),
                "median": median(processor),
                "wall": min(wall),
                "wall_median": median(wall),
            }
        return facts


def run(race, runners, repeats, limit):
    """Certify, then all ladders, then repeats in turn so that noise falls on everyone. Returns plain numbers."""
    load = os.getloadavg()[0]
    certify(race, runners, limit)
    changed = True
    while changed:  # a late solver may lower the best, so that an earlier one has further to go
        before = [runner.reached(race) for runner in runners]
        for runner in runners:
            runner.descend(race, limit)
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
        "load": [load, os.getloadavg()[0]],
        "solvers": [runner.facts(race) for runner in runners],
    }


def certify(race, runners, limit):
    """Untimed tight fits, by at most two solvers, until the best objective is proved good."""
    for runner in runners[:2]:
        for tol in (runner.ladder[-1], runner.ladder[-5]):
            if race.certified() <= ACCURACY / 10:
                return
            with suppress(SolverError):
                runner.fit(race, tol, limit)
                break
