"""skglm's SparseLogisticRegression (proximal Newton on working sets): two classes only."""

import numpy as np

from . import decades, installed


class Skglm:
    name = "skglm"

    @staticmethod
    def available():
        return installed("skglm")

    @staticmethod
    def supports(problem):
        return problem.binary

    @staticmethod
    def ladder():
        return decades(-1, -10)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.y = problem.y
        self.fit(0.1 * problem.lam_max, 1e-5)  # a loose fit may end before it has compiled all that a tight one needs

    def fit(self, lam, tol):
        from skglm import SparseLogisticRegression

        model = SparseLogisticRegression(alpha=lam / len(self.y), tol=tol, fit_intercept=False, max_iter=1000)
        return model.fit(self.X, self.y).coef_.ravel()
