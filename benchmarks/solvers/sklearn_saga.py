"""scikit-learn's LogisticRegression with solver="saga"."""

import numpy as np

from . import decades, installed


class Saga:
    name = "scikit-learn saga"
    solver = "saga"
    order = "C"

    @staticmethod
    def available():
        return installed("scikit-learn")

    @staticmethod
    def supports(problem):
        return True

    @staticmethod
    def ladder():
        return decades(-2, -9)

    def prepare(self, problem):
        self.X = problem.X if problem.sparse else np.asarray(problem.X, order=self.order)
        self.y, self.binary = problem.y, problem.binary

    def fit(self, lam, tol):
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(
            C=1 / lam, tol=tol, solver=self.solver, fit_intercept=False, max_iter=10**6, random_state=0, **l1_option()
        )
        coef = model.fit(self.X, self.y).coef_
        return coef[0] if self.binary else coef.T


def l1_option():
    """How this scikit-learn asks for L1: by l1_ratio since 1.8, by penalty before."""
    from sklearn.linear_model import LogisticRegression

    return {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}
