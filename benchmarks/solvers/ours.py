"""smaller.SMLR, whose tolerance is a relative duality gap."""

import numpy as np

from . import decades, installed


class Ours:
    name = "smaller"

    @staticmethod
    def available():
        return installed("smaller")

    @staticmethod
    def supports(problem):
        return True

    @staticmethod
    def ladder():
        return decades(-1, -9)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.y, self.binary = problem.y, problem.binary

    def fit(self, lam, tol):
        from smaller import SMLR

        coef = SMLR(lam=lam, fit_intercept=False, tol=tol).fit(self.X, self.y).coef_
        return coef[0] if self.binary else coef.T

    def path(self, lams, tol):
        from smaller import path

        return path(self.X, self.y, lams=lams, fit_intercept=False, tol=tol)

    def unpack(self, found):
        return [coef[0] if self.binary else coef.T for coef in found.coefs]
