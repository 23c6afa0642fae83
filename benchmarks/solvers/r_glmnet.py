"""R's glmnet: one R process holds the problem, times itself, and hands coefficients over in a file."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from . import decades

SERVER = Path(__file__).with_suffix(".R")


@cache
def version():
    try:
        answer = subprocess.run(
            ["Rscript", "-e", "cat(as.character(packageVersion('glmnet')))"], capture_output=True, text=True
        )
    except FileNotFoundError:
        return ""
    return answer.stdout if answer.returncode == 0 else ""


class RGlmnet:
    name = "R glmnet"
    grouped = True

    @staticmethod
    def available():
        return version()

    @staticmethod
    def supports(problem):
        return not (problem.grouped and problem.binary)  # it has norms of rows, not of columns

    @staticmethod
    def ladder():
        return decades(-3, -16)

    def prepare(self, problem):
        self.shape, self.lam_max = (*problem.X.shape, problem.n_classes), problem.lam_max
        self.folder = tempfile.TemporaryDirectory()
        for name, array in files(problem).items():
            (Path(self.folder.name) / name).write_bytes(array.tobytes(order="F"))
        self.R = subprocess.Popen(
            ["Rscript", SERVER, self.folder.name], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if self.answer() != "ready":
            raise RuntimeError("R ended while it read the problem; its message is above.")

    def fit(self, lam, tol):
        return self.path([lam], tol)[-1]

    def path(self, lams, tol):
        print(tol, *lams, file=self.R.stdin, flush=True)
        self.seconds = tuple(float(word) for word in self.answer().split())
        _, n_features, n_classes = self.shape
        coefs = np.fromfile(Path(self.folder.name) / "coef").reshape(len(lams), -1, n_features)
        return [coef[0] if n_classes == 2 else coef.T for coef in coefs]

    def answer(self):
        return self.R.stdout.readline().strip()


class RGlmnetPath(RGlmnet):
    """The road glmnet's authors recommend to a single lam."""

    name = "R glmnet, 20-point path"

    def fit(self, lam, tol):
        return super().path(np.geomspace(self.lam_max, lam, 20), tol)[-1]

    path = None


def files(problem):
    shape = np.array([*problem.X.shape, problem.n_classes, problem.grouped], dtype=np.int32)
    arrays = {"shape": shape, "y": problem.y.astype(np.int32)}
    if problem.sparse:
        X = problem.X.tocsc().sorted_indices()
        return arrays | {"data": X.data, "indices": X.indices.astype(np.int32), "indptr": X.indptr.astype(np.int32)}
    return arrays | {"data": problem.X}
