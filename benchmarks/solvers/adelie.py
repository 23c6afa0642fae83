"""adelie's group elastic net, every group of one coefficient, or of a feature, at one lam and along a path to it."""

import numpy as np
from scipy.sparse import csc_matrix

from . import decades, installed


class PerCoefficient(np.ndarray):
    """Group starts in the flat (feature, class) order. adelie multiplies starts by the number of classes, because it
    groups each feature over them; the plain lasso needs that undone."""

    def __mul__(self, n_classes):
        return np.asarray(self)


class Adelie:
    name = "adelie"
    grouped = True

    @staticmethod
    def available():
        return installed("adelie")

    @staticmethod
    def supports(problem):
        return True

    @staticmethod
    def ladder():
        return decades(-2, -14)

    def prepare(self, problem):
        import adelie

        self.X = (
            adelie.matrix.sparse(csc_matrix(problem.X), method="naive")
            if problem.sparse
            else np.asfortranarray(problem.X)
        )
        self.glm = adelie.glm.binomial(problem.y.astype(float)) if problem.binary else adelie.glm.multinomial(problem.Y)
        # Its loss is divided by the samples and, for several classes, by the classes too.
        self.scale = len(problem.y) * (1 if problem.binary else problem.n_classes)
        self.shape, self.n_classes, self.lam_max = problem.X.shape, problem.n_classes, problem.lam_max
        self.binary, self.grouped = problem.binary, problem.grouped
        self.starts = problem.starts if problem.grouped and problem.binary else None
        # The factor of a row of the weights.
        self.scale *= np.sqrt(problem.n_classes) if problem.grouped and not problem.binary else 1.0

    def fit(self, lam, tol):
        return self.unpack(self.path([lam], tol))[-1]

    def path(self, lams, tol):
        import adelie

        whole = self.binary or self.grouped
        groups = self.starts if whole else np.arange(self.shape[1] * self.n_classes).view(PerCoefficient)
        return adelie.grpnet(
            self.X,
            self.glm,
            groups=groups,
            penalty=None if self.starts is None else np.ones(len(self.starts)),  # by default the roots of their sizes
            intercept=False,
            lmda_path=np.asarray(lams) / self.scale,
            tol=tol,
            irls_tol=tol,
            early_exit=False,
            adev_tol=1.0,
            progress_bar=False,
        )

    def unpack(self, state):
        coefs = state.betas.toarray()
        return [coef if self.binary else coef.reshape(self.shape[1], -1) for coef in coefs]


class AdeliePath(Adelie):
    name = "adelie, 20-point path"

    def fit(self, lam, tol):
        return self.unpack(super().path(np.geomspace(self.lam_max, lam, 20), tol))[-1]

    path = None
