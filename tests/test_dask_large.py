"""What must hold at size: few passes over the data, and workers much smaller than the data. Minutes each."""

import numpy as np
import pytest

from smaller import SMLR, datasets, path

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Dask and its servers are not ours to keep free of warnings
]
FRACTION, TOL = 0.02, 1e-4


def block(seed, rows, p):
    """Normal inputs, neighbours correlated."""
    X = np.random.default_rng(seed).normal(size=(rows, p))
    X[:, 1:] += 0.5 * X[:, :-1]
    return X


def labels(X, seed, m=3):
    """Drawn from a softmax that depends on 20 columns."""
    F = X[:, :20] @ np.random.default_rng(0).normal(size=(20, m))
    return (F + np.random.default_rng(seed + 10**6).gumbel(size=F.shape)).argmax(axis=1)


def artificial(blocks, rows, p):
    """Blocks that are made where they are needed."""
    made = [dask.delayed(block)(i, rows, p) for i in range(blocks)]
    X = da.concatenate([da.from_delayed(each, (rows, p), dtype=float) for each in made])
    y = [da.from_delayed(dask.delayed(labels)(each, i), (rows,), dtype=int) for i, each in enumerate(made)]
    return X, da.concatenate(y)


def cluster(memory):
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=memory, dashboard_address=":0", silence_logs=50
    )


@pytest.mark.parametrize(("solver", "passes"), [("auto", 12), ("bound", 60)])
def test_forest_cover_needs_few_passes(solver, passes):
    try:
        X, y = datasets.load_covtype_sample(return_X_y=True)
    except OSError as error:
        pytest.skip(str(error))
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    lam = FRACTION * path(X, y, 1).lams[0]
    rows = (da.from_array(X, chunks=(12_000, X.shape[1])), da.from_array(y, chunks=12_000))
    model = SMLR(lam, tol=TOL, solver=solver).fit(*rows)
    assert model.dual_gap_ <= TOL
    assert model.n_passes_ <= passes
    assert model.objective_ == pytest.approx(SMLR(lam, tol=1e-8).fit(X, y).objective_, rel=1e-6)


@pytest.mark.parametrize(("solver", "passes"), [("auto", 12), ("bound", 60)])
def test_two_million_rows_need_few_passes(solver, passes):
    with cluster(0) as local, distributed.Client(local):
        X, y = dask.persist(*artificial(40, 50_000, 100))
        lam = FRACTION * path(X, y, 1, tol=0.1).lams[0]
        model = SMLR(lam, tol=TOL, solver=solver).fit(X, y)
    assert model.dual_gap_ <= TOL
    assert model.n_passes_ <= passes


def test_six_gibibytes_fit_workers_of_one_and_a_half():
    """Blocks are made anew in each pass, as they would be read from a file; no worker is ever restarted for memory."""
    with cluster("1.5GiB") as local, distributed.Client(local) as client:
        before = client.run(lambda: __import__("os").getpid())
        X, y = artificial(330, 25_000, 100)
        assert X.nbytes > 6 * 2**30
        model = SMLR(2e4, tol=TOL).fit(X, y)
        assert client.run(lambda: __import__("os").getpid()) == before
    assert model.dual_gap_ <= TOL
    assert set(model.support_) <= set(range(21))
