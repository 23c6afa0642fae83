"""skein's lasso of rows for several classes, of columns for two, along a path: its fit of one lam is a path of one."""

import numpy as np

from . import decades, installed


class Skein:
    name = "skein"
    grouped = True

    @staticmethod
    def available():
        return installed("skein-glm")

    @staticmethod
    def supports(problem):
        return problem.grouped

    @staticmethod
    def ladder():
        return decades(-2, -12)

    def prepare(self, problem):
        self.X = problem.X.tocsc() if problem.sparse else np.ascontiguousarray(problem.X)
        self.y, self.labels = problem.y, problem.labels
        # Its loss is divided by the samples and, for several classes, by the classes too.
        self.binary, self.scale = problem.binary, len(problem.y) if problem.binary else problem.Y.size

    def fit(self, lam, tol):
        return self.unpack(self.path([lam], tol))[-1]

    def path(self, lams, tol):
        from skein_glm.estimators import LogisticGroupLassoPathRegressor
        from skein_glm.multinomial import MultinomialLassoPathClassifier

        # Steps with a bound for a Hessian: the default number of them ends long before the tolerance.
        options = {"max_iter": 1000, "max_outer": 1000, "fit_intercept": False, "tol": tol, "outer_tol": tol}
        options["lambdas"] = np.asarray(lams) / self.scale
        if self.binary:
            ones = np.ones(self.labels[-1] + 1)
            return LogisticGroupLassoPathRegressor(self.labels, weights=ones, **options).fit(self.X, self.y)
        return MultinomialLassoPathClassifier(**options).fit(self.X, self.y)

    def unpack(self, found):
        return [coef if self.binary else coef.T for coef in found.coefs_]
