"""smaller.SMLR, whose tolerance is a relative duality gap."""

import numpy as np

from . import decades, installed


class Ours:
    name = "smaller"
    grouped = True

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
        self.options = {"fit_intercept": False}
        if problem.grouped:
            self.options["groups"] = problem.labels if self.binary else "features"
            self.options["group_factor"] = np.ones(len(problem.starts)) if self.binary else None

    def fit(self, lam, tol):
        from smaller import SMLR

        coef = SMLR(lam=lam, tol=tol, **self.options).fit(self.X, self.y).coef_
        return coef[0] if self.binary else coef.T

    def path(self, lams, tol):
        from smaller import path

        return path(self.X, self.y, lams=lams, tol=tol, **self.options)

    def unpack(self, found):
        return [coef[0] if self.binary else coef.T for coef in found.coefs]
