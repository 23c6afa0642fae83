"""A solver in a process of its own, so that it can be stopped and cannot disturb the others."""

import contextlib
import math
import multiprocessing
import os
import signal
import time
import warnings

from .objective import bounds

FORK = multiprocessing.get_context("fork")  # the problem is shared, not sent
PREPARATION = 45.0  # seconds: imports, layout and a first fit, which may compile


class SolverError(RuntimeError):
    """The solver raised, died or ran out of time; the message says which."""


class Worker:
    """One solver on one problem. ask(lams, tol, limit) times a fit, or a path, and returns
    (processor seconds, wall-clock seconds), objectives, lower bounds.

    The process starts when it is first asked, and again after one that failed.
    """

    def __init__(self, adapter, problem):
        self.adapter, self.problem, self.process = adapter, problem, None

    def ask(self, lams, tol, limit):
        try:
            if self.process is None:
                self.start()
                self.answer(PREPARATION)
            self.pipe.send((lams, tol))
            return self.answer(limit)
        except SolverError:
            self.close()
            raise

    def start(self):
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(self.adapter, self.problem, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def answer(self, limit):
        share = max(1.0, os.getloadavg()[0] / os.cpu_count())  # a busy machine is slower by about so much
        if not self.pipe.poll(None if limit == math.inf else limit * share):
            raise SolverError("out of time")
        try:
            answer = self.pipe.recv()
        except EOFError:
            raise SolverError("its process died") from None
        if isinstance(answer, SolverError):
            raise answer
        return answer

    def close(self):
        """End the process and whatever it started: it leads a process group of its own."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.join()
            self.pipe.close()
            self.process = None


def serve(adapter, problem, pipe):
    os.setpgid(0, 0)
    warnings.simplefilter("ignore")  # loose tolerances warn; the suite judges by itself
    try:
        adapter.prepare(problem)
        adapter.fit(0.5 * problem.lam_max, adapter.ladder()[0])  # imports and caches
        pipe.send("ready")
        while True:
            lams, tol = pipe.recv()
            pipe.send(timed(adapter, problem, lams, tol))
    except Exception as error:
        pipe.send(SolverError(f"{type(error).__name__}: {error}"))


def timed(adapter, problem, lams, tol):
    clocks = time.process_time(), time.perf_counter()
    weights = [adapter.fit(lams[0], tol)] if len(lams) == 1 else adapter.path(lams, tol)
    seconds = time.process_time() - clocks[0], time.perf_counter() - clocks[1]
    if len(lams) > 1 and hasattr(adapter, "unpack"):
        weights = adapter.unpack(weights)
    if len(weights) != len(lams):
        raise ValueError(f"{len(lams)} lams were asked for, {len(weights)} came back.")
    values, duals = zip(*(bounds(problem, W, lam) for W, lam in zip(weights, lams, strict=True)), strict=True)
    return getattr(adapter, "seconds", seconds), values, duals
