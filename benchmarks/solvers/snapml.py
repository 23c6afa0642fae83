"""Snap ML's primal coordinate solver: two classes only."""

import numpy as np

from . import decades, installed


class SnapML:
    name = "snapml"

    @staticmethod
    def available():
        return installed("snapml")

    @staticmethod
    def supports(problem):
        return problem.binary

    @staticmethod
    def ladder():
        return decades(-1, -9)

    def prepare(self, problem):
        self.X = problem.X if problem.sparse else np.ascontiguousarray(problem.X)
        self.y = problem.y

    def fit(self, lam, tol):
        from snapml import LogisticRegression

        model = LogisticRegression(
            penalty="l1",
            dual=False,
            regularizer=lam,
            tol=tol,
            max_iter=10**5,
            n_jobs=1,
            fit_intercept=False,
            random_state=0,
        )
        return np.ravel(model.fit(self.X, self.y).coef_)
