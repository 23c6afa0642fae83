"""glum's GeneralizedLinearRegressor, iteratively reweighted least squares with coordinate descent: two classes only."""

import numpy as np

from . import decades, installed


class Glum:
    name = "glum"

    @staticmethod
    def available():
        return installed("glum")

    @staticmethod
    def supports(problem):
        return problem.binary

    @staticmethod
    def ladder():
        return decades(-2, -10)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.y = problem.y.astype(float)

    def fit(self, lam, tol):
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(
            family="binomial",
            alpha=lam / len(self.y),
            l1_ratio=1.0,
            fit_intercept=False,
            solver="irls-cd",
            gradient_tol=tol,
            max_iter=1000,
        )
        return model.fit(self.X, self.y).coef_
