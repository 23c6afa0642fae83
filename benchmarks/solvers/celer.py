"""celer's LogisticRegression: two classes, no intercept."""

import numpy as np

from . import decades, installed


class Celer:
    name = "celer"

    @staticmethod
    def available():
        return installed("celer")

    @staticmethod
    def supports(problem):
        return problem.binary

    @staticmethod
    def ladder():
        return decades(0, -12)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.y = problem.y

    def fit(self, lam, tol):
        from celer import LogisticRegression

        return LogisticRegression(C=1 / lam, tol=tol, max_iter=1000).fit(self.X, self.y).coef_.ravel()
