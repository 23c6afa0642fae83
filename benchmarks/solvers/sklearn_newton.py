"""scikit-learn's coordinate-descent Newton solvers for L1, in the versions that have them."""

import subprocess
import sys
from functools import cache

from . import decades
from .sklearn_saga import Saga

PROBE = """
import sys
from benchmarks.solvers.sklearn_saga import l1_option
from sklearn.linear_model import LogisticRegression
LogisticRegression(solver=sys.argv[1], **l1_option()).fit([[0.], [1.], [2.], [3.]], [0, 0, 1, 1])
"""


@cache
def accepts_l1(solver):
    """Asked in another process, so that this one does not import scikit-learn before its workers."""
    return subprocess.run([sys.executable, "-c", PROBE, solver], capture_output=True).returncode == 0


class NewtonCD(Saga):
    name = "scikit-learn newton-cd"
    solver = "newton-cd"
    order = "F"

    @classmethod
    def available(cls):
        return Saga.available() if accepts_l1(cls.solver) else ""

    @staticmethod
    def ladder():
        return decades(-2, -10)


class NewtonCDGram(NewtonCD):
    name = "scikit-learn newton-cd-gram"
    solver = "newton-cd-gram"
