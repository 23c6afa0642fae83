"""glmnet for Python with the C++ core (distribution glmstar, module glmnet), at one lam and along a path to it."""

import numpy as np

from . import decades, installed


class Glmstar:
    name = "glmstar"
    grouped = True

    @staticmethod
    def available():
        return installed("glmstar")

    @staticmethod
    def supports(problem):
        return not (problem.grouped and problem.binary)  # it has norms of rows, not of columns

    @staticmethod
    def ladder():
        return decades(-3, -16)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.y, self.binary, self.lam_max = problem.y, problem.binary, problem.lam_max
        self.options = {"grouped": True} if problem.grouped else {}

    def fit(self, lam, tol):
        return self.path([lam], tol)[-1]

    def path(self, lams, tol):
        from glmnet import LogNet, MultiClassNet
        from glmnet.paths.fastnet import FastNetControl

        # fdev and devmax would end the path early; every other default stays.
        control = FastNetControl(thresh=tol, fdev=0.0, devmax=1.0, maxit=10**7)
        model = (LogNet if self.binary else MultiClassNet)(
            lambda_values=np.asarray(lams) / len(self.y),
            standardize=False,
            fit_intercept=False,
            control=control,
            **self.options,
        )
        return model.fit(self.X, self.y).coefs_


class GlmstarPath(Glmstar):
    """The road glmnet's authors recommend to a single lam."""

    name = "glmstar, 20-point path"

    def fit(self, lam, tol):
        return super().path(np.geomspace(self.lam_max, lam, 20), tol)[-1]

    path = None
