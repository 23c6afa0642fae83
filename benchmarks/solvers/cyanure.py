"""cyanure's Classifier with its automatic choice of incremental or quasi-Newton solver."""

import numpy as np

from . import decades, installed


class Cyanure:
    name = "cyanure"

    @staticmethod
    def available():
        return installed("cyanure")

    @staticmethod
    def supports(problem):
        return True

    @staticmethod
    def ladder():
        return decades(-1, -8)

    def prepare(self, problem):
        self.X = problem.X if problem.sparse else np.ascontiguousarray(problem.X)
        self.y, self.binary = problem.y, problem.binary

    def fit(self, lam, tol):
        from cyanure.estimators import Classifier

        loss = "logistic" if self.binary else "multiclass-logistic"
        model = Classifier(
            loss=loss,
            penalty="l1",
            lambda_1=lam / len(self.y),
            tol=tol,
            fit_intercept=False,
            max_iter=10**5,
            n_threads=1,
            verbose=False,
        )
        W = np.squeeze(model.fit(self.X, self.y).coef_)
        return W if self.binary or len(W) == self.X.shape[1] else W.T
