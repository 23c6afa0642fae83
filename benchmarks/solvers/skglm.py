"""skglm's proximal Newton on working sets, of single weights or of groups of columns: two classes only."""

import numpy as np

from . import decades, installed


class Skglm:
    name = "skglm"
    grouped = True

    @staticmethod
    def available():
        return installed("skglm")

    @staticmethod
    def supports(problem):
        return problem.binary and not (problem.grouped and problem.sparse)  # its groups are of dense columns

    @staticmethod
    def ladder():
        return decades(-1, -10)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.asfortranarray(problem.X)
        self.y = problem.y
        self.starts = problem.starts if problem.grouped else None
        self.fit(0.1 * problem.lam_max, 1e-5)  # a loose fit may end before it has compiled all that a tight one needs

    def fit(self, lam, tol):
        from skglm import SparseLogisticRegression

        if self.starts is not None:
            return self.fit_groups(lam, tol)
        model = SparseLogisticRegression(alpha=lam / len(self.y), tol=tol, fit_intercept=False, max_iter=1000)
        return model.fit(self.X, self.y).coef_.ravel()

    def fit_groups(self, lam, tol):
        from skglm import GeneralizedLinearEstimator
        from skglm.datafits import LogisticGroup
        from skglm.penalties import WeightedGroupL2
        from skglm.solvers import GroupProxNewton

        d = self.X.shape[1]
        groups = np.append(self.starts, d).astype(np.int32), np.arange(d, dtype=np.int32)
        penalty = WeightedGroupL2(lam / len(self.y), np.ones(len(self.starts)), *groups)
        solver = GroupProxNewton(tol=tol, max_iter=1000)
        model = GeneralizedLinearEstimator(LogisticGroup(*groups), penalty, solver)
        return model.fit(self.X, np.where(self.y == 1, 1.0, -1.0)).coef_.ravel()
