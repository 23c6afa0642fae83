"""scikit-learn's LogisticRegression with solver="liblinear": two classes only."""

from . import decades
from .sklearn_saga import Saga


class Liblinear(Saga):
    name = "scikit-learn liblinear"
    solver = "liblinear"

    @staticmethod
    def supports(problem):
        return problem.binary

    @staticmethod
    def ladder():
        return decades(-1, -8)
