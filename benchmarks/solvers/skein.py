"""skein's multinomial lasso of rows, along a path: its fit of one lam is a path of one."""

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
        self.y, self.scale = problem.y, problem.Y.size  # its loss is divided by the samples and by the classes

    def fit(self, lam, tol):
        return self.unpack(self.path([lam], tol))[-1]

    def path(self, lams, tol):
        from skein_glm.multinomial import MultinomialLassoPathClassifier

        # Steps with a bound for a Hessian: the default number of them ends long before the tolerance.
        many = {"max_iter": 1000, "max_outer": 1000, "fit_intercept": False}
        model = MultinomialLassoPathClassifier(lambdas=np.asarray(lams) / self.scale, tol=tol, outer_tol=tol, **many)
        return model.fit(self.X, self.y)

    def unpack(self, found):
        return [coef.T for coef in found.coefs_]
