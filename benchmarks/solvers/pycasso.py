"""pycasso (PICASSO): active-set Newton along a decreasing sequence of lam, 20 points to a single one; dense designs."""

import numpy as np

from . import decades, installed


class Pycasso:
    name = "pycasso"

    @staticmethod
    def available():
        return installed("pycasso")

    @staticmethod
    def supports(problem):
        return not problem.sparse

    @staticmethod
    def ladder():
        return decades(-3, -12)

    def prepare(self, problem):
        self.X, self.y, self.binary, self.lam_max = problem.X, problem.y, problem.binary, problem.lam_max

    def fit(self, lam, tol):
        return self.path(np.geomspace(self.lam_max, lam, 20), tol)[-1]

    def path(self, lams, tol):
        import pycasso

        solver = pycasso.Solver(
            self.X,
            self.y,
            lambdas=np.asarray(lams) / len(self.y),
            prec=tol,
            max_ite=10**5,
            family="binomial" if self.binary else "multinomial",
            useintercept=False,
            standardize=False,
        )
        solver.train()
        return [W if self.binary else W.T for W in solver.coef()["beta"]]
