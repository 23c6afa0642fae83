"""blitzl1 (Johnson and Guestrin's Blitz): two classes only."""

import numpy as np

from . import decades, installed


class Blitz:
    name = "blitzl1"

    @staticmethod
    def available():
        return installed("blitzl1")

    @staticmethod
    def supports(problem):
        return problem.binary

    @staticmethod
    def ladder():
        return decades(-1, -10)

    def prepare(self, problem):
        import blitzl1
        from blitzl1 import _blitzl1

        # Its conversion of arrays to other types fails with NumPy 2; ours have the right ones.
        _blitzl1.data_as = lambda array, pointer: (array, array.ctypes.data_as(pointer))
        blitzl1.set_use_intercept(False)
        X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.X = X.astype(np.float64)
        self.y = 2.0 * problem.y - 1.0

    def fit(self, lam, tol):
        import blitzl1

        blitzl1.set_tolerance(tol)
        return np.array(blitzl1.LogRegProblem(self.X, self.y).solve(lam).x)
