"""Matrices larger than memory, mapped from a file, are read where they are and never copied."""

import numpy as np
import pytest
from conftest import peak_of

from smaller import RMLR, SBMLR, SMLR
from smaller.design import DenseDesign
from smaller.models.base import problem_of

BLOCKS = 3 * 2**23  # a few blocks of rows in float64


def mapped(folder, dtype, order="C", p=100):
    """A matrix of 48 MB in a file, and labels that depend on two of its columns."""
    n = 480_000 // np.dtype(dtype).itemsize
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=dtype, shape=(n, p), fortran_order=order == "F")
    for i in range(0, n, 5000):
        X[i : i + 5000] = rng.standard_normal(size=(5000, p), dtype=np.float32)
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0).astype(int)
    X.flush()
    return np.load(folder / "X.npy", mmap_mode="r"), y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_matrix_is_not_copied(tmp_path, dtype, order):
    """What a fit allocates beside the file are vectors of its length, the columns it keeps, and a few blocks."""
    X, y = mapped(tmp_path, dtype, order)
    model = SMLR(lam=3000.0)
    assert peak_of(lambda: model.fit(X, y)) < BLOCKS + 120 * len(X) < X.nbytes
    assert model.support_.tolist() == [0, 1]
    assert peak_of(lambda: model.predict(X)) < 50 * len(X)


def test_ridge_and_the_strength_integrated_out_do_not_copy_either(tmp_path):
    X, y = mapped(tmp_path, np.float64)
    assert peak_of(lambda: RMLR(lam=100.0).fit(X, y)) < BLOCKS + 120 * len(X) < X.nbytes
    assert peak_of(lambda: SBMLR(tol=1e-3).fit(X[:, :10], y)) < BLOCKS + 120 * len(X)


def test_the_design_is_the_file_itself(tmp_path):
    X, y = mapped(tmp_path, np.float64)
    problem = problem_of(SMLR(), X, y)
    assert isinstance(problem.sample.design, DenseDesign)
    assert np.shares_memory(problem.sample.design.X, X)
    assert problem.objective.design is problem.sample.design


def test_a_file_that_must_not_be_written_is_not(tmp_path):
    X, y = mapped(tmp_path, np.float32)
    before = (tmp_path / "X.npy").read_bytes()
    SMLR(lam=3000.0, standardize=True).fit(X, y)
    assert (tmp_path / "X.npy").read_bytes() == before
