"""Models on Dask collections reach the optimum that they reach in memory, and the rows stay where they are."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import clusters, objective
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold

from smaller import RMLR, SBMLR, SMLR, SMLRCV, path
from smaller.basis import Kernel
from smaller.errors import EmptyModelWarning, FitInterrupted
from smaller.inference import Knockoffs, debiased

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from smaller.rows.dask import drawn as drawn_module  # noqa: E402
from smaller.rows.dask import shared_passes  # noqa: E402
from smaller.rows.dask.block_moments import add  # noqa: E402
from smaller.rows.dask.collections import row_blocks  # noqa: E402
from smaller.rows.dask.passes import Passes  # noqa: E402
from smaller.rows.dask.shared_passes import SharedPasses  # noqa: E402
from smaller.solvers.l1 import newton as newton_module  # noqa: E402

# Dask and its servers are not ours to keep free of warnings.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


def data(n=900, p=8, m=3, seed=0):
    """Clusters with columns of different centres and units, and labels that are words."""
    X, y = clusters(n, p, m, seed)
    rng = np.random.default_rng(seed + 1)
    return X * np.exp(rng.normal(size=p)) + 5 * rng.normal(size=p), np.array(["ash", "beech", "cedar", "elm"])[y]


def lazy(X, y, rows=170):
    """The same as Dask arrays, cut unlike each other."""
    return da.from_array(X, chunks=(rows, 5)), da.from_array(y, chunks=rows + 40)


def sparse_blocks(X, rows=170):
    """A Dask array whose blocks are SciPy's CSR arrays."""
    return da.from_array(X, chunks=(rows, X.shape[1])).map_blocks(sparse.csr_array)


@pytest.fixture
def here():
    """Everything in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def cluster():
    """Two real worker processes."""
    settings = {"distributed.worker.daemon": False, "distributed.scheduler.allowed-failures": 5}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


def same_optimum(model, there, X, y, weight=None, offset=None):
    """In memory and there: objective to 1e-6, certificates, probabilities, and the support where it is beyond doubt."""
    here = clone(model).fit(X, y, weight, offset)
    assert there.dual_gap_ <= there.tol
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=2e-3)
    return here


# -- The same optimum

VARIANTS = {
    "plain": SMLR(lam=8.0),
    "standardised": SMLR(lam=8.0, standardize=True),
    "reference": SMLR(lam=8.0, parametrization="reference"),
    "no intercept": SMLR(lam=8.0, fit_intercept=False),
    "elastic net": SMLR(lam=4.0, l2=3.0),
    "balanced": SMLR(lam=8.0, class_weight="balanced"),
    "class weights": SMLR(lam=8.0, class_weight={"ash": 2.0, "beech": 0.5, "cedar": 1.0}),
    "free columns": SMLR(lam=8.0, penalty_factor=[0, 1, 1, 1, 2, 1, 1, 0]),
    "groups": SMLR(lam=12.0, groups="features"),
    "labelled groups": SMLR(lam=8.0, groups=list("aabbbccd"), group_factor={"a": 1, "b": 2, "c": 1, "d": 0}),
    "sparse groups": SMLR(lam=6.0, groups=list("aabbbccd"), l1_share=0.4, standardize=True),
    "groups with a ridge": SMLR(lam=8.0, groups=list("aabbbccd"), l1_share=0.2, l2=3.0),
    "groups without some columns": SMLR(lam=8.0, groups="features", penalty_factor=[0, 1, np.inf, 1, 2, 1, 1, 1]),
    "quadratic": SMLR(lam=20.0, basis="quadratic", standardize=True),
    "ridge": RMLR(lam=3.0),
    "maximum likelihood": RMLR(lam=0.0),
    "bound": SMLR(lam=8.0, solver="bound"),
    "ridge by bound": RMLR(lam=3.0, solver="bound"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_optimum_is_that_in_memory(name, here):
    X, y = data()
    model = VARIANTS[name]
    there = type(model)(**model.get_params()).fit(*lazy(X, y))
    same_optimum(model, there, X, y)
    assert there.n_passes_ <= 20


@pytest.mark.parametrize("name", [name for name in VARIANTS if "group" in name])
def test_groups_too_large_for_a_hessian_reach_that_optimum(name, here, monkeypatch):
    monkeypatch.setattr(newton_module, "HESSIAN", 4)
    X, y = data()
    model = VARIANTS[name]
    same_optimum(model, type(model)(**model.get_params()).fit(*lazy(X, y)), X, y)


def test_the_strength_of_groups_is_that_in_memory(here):
    X, y = data()
    model = SBMLR(groups="features")
    there, at_home = SBMLR(groups="features").fit(*lazy(X, y)), model.fit(X, y)
    assert (there.lam_, there.evidence_) == pytest.approx((at_home.lam_, at_home.evidence_), rel=1e-4)
    assert (there.support_ == at_home.support_).all()


def test_two_classes_share_a_column(here):
    X, y = data(m=2)
    there = SMLR(lam=5.0).fit(*lazy(X, y))
    same_optimum(SMLR(lam=5.0), there, X, y)
    assert there.coef_.shape == (1, X.shape[1])


def test_offsets_count(here):
    X, y = data()
    offset = np.random.default_rng(3).normal(size=(len(y), 3))
    dX, dy = lazy(X, y)
    for model in (SMLR(lam=8.0), SMLR(lam=8.0, parametrization="reference")):
        there = type(model)(**model.get_params()).fit(dX, dy, offset=da.from_array(offset, chunks=(100, 2)))
        known = type(model)(**model.get_params()).fit(X, y, offset=offset)
        assert there.objective_ == pytest.approx(known.objective_, rel=1e-6)
        assert_allclose(there.coef_, known.coef_, atol=2e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted", "float32"])
def test_the_optimum_on_a_cluster_is_that_in_memory(kind, cluster):
    """On two processes; weights that the optimality conditions hold at zero, or away from it, are the same."""
    X, y = data(n=1200, p=20)
    weight = None
    if kind == "sparse":
        X = X * (np.random.default_rng(4).random(X.shape) < 0.2)
    elif kind == "float32":
        X = X.astype(np.float32)
    dX, dy = lazy(X, y, 200)
    dX = sparse_blocks(X) if kind == "sparse" else dX
    if kind == "weighted":
        weight = np.random.default_rng(5).integers(0, 4, len(y)).astype(float)
    lam = 0.1 * path(X, y, 1, sample_weight=weight).lams[0]
    model = SMLR(lam=lam, tol=1e-7)
    with cluster.as_current():
        there = SMLR(lam=lam, tol=1e-7).fit(
            dX, dy, sample_weight=None if weight is None else da.from_array(weight, chunks=300)
        )
    known = same_optimum(model, there, sparse.csr_array(X) if kind == "sparse" else X, y, weight)
    P = known.predict_proba(X) - (y[:, None] == known.classes_)
    G = (X.T * (1.0 if weight is None else weight)) @ P
    held = np.abs(np.abs(G.T) - lam) > 1e-3 * lam  # slack at zero
    away = np.abs(known.coef_) > 1e-4
    assert not there.coef_[held & (known.coef_ == 0)].any()
    assert there.coef_[away].all()


@pytest.mark.parametrize("hessian", [3000, 30, 5])
@pytest.mark.parametrize("solver", ["auto", "bound"])
def test_sparse_blocks_by_every_way(solver, hessian, here, monkeypatch):
    """Whole Hessian, that of a working set, and none at all; columns are centred without being densified."""
    monkeypatch.setattr(newton_module, "HESSIAN", hessian)
    X, y = data(n=600, p=15)
    X = X * (np.random.default_rng(4).random(X.shape) < 0.3)
    model = SMLR(lam=5.0, standardize=True, solver=solver)
    there = SMLR(lam=5.0, standardize=True, solver=solver).fit(sparse_blocks(X), y)
    same_optimum(model, there, sparse.csr_array(X), y)
    same_optimum(RMLR(lam=5.0), RMLR(lam=5.0, solver=solver).fit(sparse_blocks(X), y), X, y)


def test_a_weight_is_a_repetition(here):
    X, y = data(n=400)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    dX, dy = lazy(X, y)
    weighted = SMLR(lam=5.0, standardize=True, tol=1e-9).fit(dX, dy, sample_weight=da.from_array(weight, chunks=100))
    repeated = SMLR(lam=5.0, standardize=True, tol=1e-9).fit(*lazy(np.repeat(X, weight, 0), np.repeat(y, weight)))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


def test_how_the_rows_are_cut_does_not_matter(here):
    X, y = data()
    fits = [SMLR(lam=8.0, tol=1e-10).fit(*lazy(X, y, rows)) for rows in (37, 900)]
    assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-6)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("drawn", [False, True])
def test_problems_too_large_for_a_hessian(wide, drawn, here, monkeypatch):
    """With little room: a working set, then few rows' curvature, the Gram matrix, or its diagonal."""
    monkeypatch.setattr(newton_module, "HESSIAN", 12 if wide else 45)
    monkeypatch.setattr(newton_module, "GRAM", 10 if wide else 1000)
    if not drawn:
        monkeypatch.setattr(drawn_module, "DRAWN_ROWS", 0)
    X, y = data(p=30)
    there = SMLR(lam=8.0).fit(*lazy(X, y))
    same_optimum(SMLR(lam=8.0), there, X, y)
    assert there.n_passes_ <= (60 if wide or not drawn else 25)


def test_paths(here):
    X, y = data()
    there, known = path(*lazy(X, y), lams=8), path(X, y, lams=8)
    assert_allclose(there.lams, known.lams, rtol=1e-12)
    assert_allclose(there.objectives, known.objectives, rtol=1e-6)
    assert (there.dual_gaps <= 1e-6).all()


def test_the_strength_integrated_out(here):
    X, y = data()
    there, known = (SBMLR(tol=1e-9).fit(*rows) for rows in (lazy(X, y), (X, y)))
    assert there.lam_ == pytest.approx(known.lam_, rel=1e-6)
    assert there.evidence_ == pytest.approx(known.evidence_, rel=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        RMLR("evidence"),
        RMLR("evidence", standardize=True),
        RMLR("evidence", parametrization="reference"),
        RMLR("evidence", penalty_factor=[0, 1, 1, 1, 2, 1, 1, 0]),
        RMLR("evidence", fit_intercept=False),
    ],
    ids=["plain", "standardised", "reference", "free columns", "no intercept"],
)
def test_the_ridge_of_greatest_evidence(model, here):
    X, y = data()
    there, known = clone(model).fit(*lazy(X, y)), clone(model).fit(X, y)
    assert there.lam_ == pytest.approx(known.lam_, rel=1e-3)
    assert there.evidence_ == pytest.approx(known.evidence_, rel=1e-8)
    assert there.objective_ == pytest.approx(known.objective_, rel=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("gamma", ["scale", 0.02])
def test_kernels_with_given_centres(kernel, gamma, here):
    """The columns are computed block by block; the width is that of all rows of positive weight."""
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    dX, dy = lazy(X, y)
    basis = Kernel(kernel, gamma=gamma, centers=X[::25])
    for model in (
        SMLR(3.0, basis=basis, standardize=True),
        RMLR(2.0, basis=basis),
        SMLR(3.0, basis=basis, class_weight="balanced"),
    ):
        there = clone(model).fit(dX, dy, sample_weight=da.from_array(weight, chunks=200))
        known = same_optimum(model, there, X, y, weight)
        assert there.basis_.gamma_ == pytest.approx(known.basis_.gamma_, rel=1e-12)
        assert_allclose(there.relevance_vectors_, known.relevance_vectors_)
        assert_allclose(there.predict_proba(dX).compute(), there.predict_proba(X), rtol=1e-12)


def test_kernels_of_sparse_blocks_have_given_centres(here):
    X, y = data()
    X = X * (np.random.default_rng(4).random(X.shape) < 0.3)
    model = SMLR(3.0, basis=Kernel(centers=sparse.csr_array(X[::25])))
    same_optimum(model, clone(model).fit(sparse_blocks(X), y), sparse.csr_array(X), y)


def test_kernel_values_that_overflow_are_told(here):
    X, y = data()
    with pytest.raises(ValueError, match="Kernel basis returned NaN or infinity"):
        SMLR(basis=Kernel("poly", degree=200, gamma=9.0, centers=X[:3])).fit(*lazy(X, y))


def test_an_empty_model_is_told(here):
    X, y = data()
    with pytest.warns(EmptyModelWarning, match="weights appear below lam"):
        model = SMLR(lam=1e6).fit(*lazy(X, y))
    shares = np.array([(y == label).mean() for label in model.classes_])
    assert_allclose(model.predict_proba(X[:2]), [shares, shares], rtol=1e-8)


# -- The certificate


def test_the_gap_bounds_what_is_left_wherever_the_fit_stops(here):
    X, y = data()
    codes = np.unique(y, return_inverse=True)[1]
    best = SMLR(lam=3.0, tol=1e-10).fit(X, y).objective_
    for passes in (1, 2, 3):
        with pytest.warns(UserWarning, match="stopped after"):
            model = SMLR(lam=3.0, max_iter=passes, tol=1e-12, solver="bound").fit(*lazy(X, y))
        value = objective(model.coef_, model.intercept_, X, codes, 3.0)
        assert value <= model.objective_ * (1 + 1e-12)  # the representative of a row that is kept may cost less
        assert (model.objective_ - best) / model.objective_ <= model.dual_gap_
        assert model.dual_gap_ < np.inf


def test_passes_are_counted_as_blocks_are_read(here):
    X, y = data()
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    dX = da.from_array(X, chunks=(300, X.shape[1])).map_blocks(read, meta=X[:0])
    model = SMLR(lam=8.0).fit(dX, da.from_array(y, chunks=300))
    assert sum(reads) == model.n_passes_ * len(y)


@pytest.mark.parametrize("kind", ["arrays", "frame", "shared", "kept"])
def test_a_pass_computes_a_block_in_one_task(kind, here):
    """A task that several blocks need is one of its own and runs once in a pass; of what is kept nothing runs again."""
    X, y = data()
    ran = []

    def block(values, start):
        ran.append(start)
        return values[start : start + 300]

    whole = dask.delayed(lambda: ran.append("shared") or X)() if kind == "shared" else dask.delayed(X)
    parts = [dask.delayed(block)(whole, start) for start in (0, 300, 600)]
    dX = da.concatenate([da.from_delayed(part, (300, 8), dtype=float) for part in parts])
    dy = da.from_array(y, chunks=300)
    if kind == "frame":
        table = dd.from_delayed([dask.delayed(pd.DataFrame)(part, columns=list("abcdefgh")) for part in parts])
        dX, dy = table, table["a"] > 0
    if kind == "kept":
        dX, dy = dask.persist(dX, dy)
    passes = Passes(row_blocks(dX, dy, None, None))
    for count in (1, 2):
        ran.clear()
        total = passes.total(lambda X, y, weight, offset, task: np.array([len(y), len(X)]), add, None)
        assert total.tolist() == [900, 900]
        assert passes.count == count
        assert sorted(ran, key=str) == {"kept": [], "shared": [0, 300, 600, "shared"]}.get(kind, [0, 300, 600])
    graph = dict(passes._graph.of_pass(len, add, None).dask)
    assert len(graph) == 3 + 1 + 1 + (kind != "kept")  # blocks, their sum, what they are told, what they share


def test_rows_stay_where_they_are(cluster):
    """Blocks that cannot be sent fit all the same."""

    def stuck(seed):
        class Stuck(np.ndarray):
            def __reduce__(self):
                raise RuntimeError("a block of X was sent")

            __reduce_ex__ = __reduce__

        return data(400, 6, seed=0)[0][seed::4].view(Stuck)

    def labels(seed):
        return data(400, 6, seed=0)[1][seed::4]

    blocks = [dask.delayed(stuck)(i) for i in range(4)]
    dX = da.concatenate([da.from_delayed(block, (100, 6), dtype=float) for block in blocks])
    dy = da.concatenate([da.from_delayed(dask.delayed(labels)(i), (100,), dtype="<U5") for i in range(4)])
    with cluster.as_current():
        there = SMLR(lam=4.0).fit(dX, dy)
    assert there.objective_ == pytest.approx(SMLR(lam=4.0).fit(*data(400, 6)).objective_, rel=1e-6)


# -- Tables


def test_a_data_frame_keeps_its_names_and_predicts_lazily(here, tmp_path):
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"q{j}" for j in range(X.shape[1])]).assign(tree=y)
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "rows")
    table = dd.read_parquet(tmp_path / "rows")
    inputs = table.drop(columns="tree")
    model = SMLR(lam=8.0).fit(inputs, table["tree"])
    assert model.feature_names_in_.tolist() == list(frame.columns[:-1])
    known = SMLR(lam=8.0).fit(frame.iloc[:, :-1], y)
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-6)
    assert_allclose(model.predict_proba(inputs).compute(), model.predict_proba(frame.iloc[:, :-1]))
    assert model.score(inputs, table["tree"]) == pytest.approx(known.score(frame.iloc[:, :-1], y), abs=0.005)
    assert list(model.transform(inputs).columns) == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(inputs.rename(columns={"q0": "other"}))


def test_tables_with_empty_parts_whole_numbers_and_weights(here):
    """As filters and databases leave them."""
    X, y = data(n=300, p=4)
    frame = pd.DataFrame(np.round(X), columns=list("abcd")).astype({"a": "Int64", "b": "int32"}).assign(tree=y)
    frame["row"], frame["weight"] = np.arange(len(y)), np.arange(len(y)) % 3
    table = dd.from_pandas(frame, npartitions=6)
    table = table[(table["row"] < 100) | (table["row"] >= 200)]
    rows = np.r_[:100, 200:300]
    model = SMLR(lam=2.0).fit(table[list("abcd")], table["tree"], sample_weight=table["weight"])
    known = SMLR(lam=2.0).fit(np.round(X)[rows], y[rows], sample_weight=frame["weight"].to_numpy()[rows])
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-6)
    frame.loc[7, "a"] = pd.NA
    with pytest.raises(ValueError, match="NaN or infinity"):
        SMLR().fit(dd.from_pandas(frame[list("abcd")], npartitions=2), dd.from_pandas(frame["tree"], npartitions=2))


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("method", ["decision_function", "predict", "predict_proba", "predict_log_proba", "transform"])
def test_predictions_are_lazy(method, m):
    def nobody(*args, **kwargs):
        raise AssertionError("something was computed")

    X, y = data(m=m)
    model = SMLR(lam=8.0).fit(X, y)
    with dask.config.set(scheduler=nobody):
        answer = getattr(model, method)(lazy(X, y)[0])
        sparse_answer = getattr(model, method)(sparse_blocks(X))
    expected = getattr(model, method)(X)
    assert isinstance(answer, da.Array)
    assert answer.shape == expected.shape
    with dask.config.set(scheduler="synchronous"):
        assert (answer.compute() == expected).all() if method == "predict" else np.allclose(answer.compute(), expected)
        found = sparse_answer.compute()
    found = found.toarray() if sparse.issparse(found) else found
    assert (found == expected).all() if method == "predict" else np.allclose(found, expected)


# -- Cross-validation: all folds in the same passes

SEARCHES = {
    "plain": SMLRCV(lams=8, cv=3),
    "one standard error": SMLRCV(lams=8, cv=3, rule="1se", standardize=True),
    "given strengths": SMLRCV(lams=[30.0, 1.0, 8.0], cv=4),
    "several ridge terms": SMLRCV(lams=6, cv=3, l2=[0.0, 2.0]),
    "balanced": SMLRCV(lams=6, cv=3, class_weight="balanced"),
    "class weights": SMLRCV(lams=6, cv=3, class_weight={"ash": 2.0, "beech": 0.5, "cedar": 1.0}),
    "reference": SMLRCV(lams=6, cv=3, parametrization="reference"),
    "no intercept": SMLRCV(lams=6, cv=3, fit_intercept=False),
    "free columns": SMLRCV(lams=6, cv=3, penalty_factor=[0, 1, 1, 1, 2, 1, 1, 0]),
    "sparse groups": SMLRCV(lams=6, cv=3, groups=list("aabbbccd"), l1_share=0.4),
    "quadratic": SMLRCV(lams=6, cv=3, basis="quadratic", standardize=True, eps=0.05),
    "relaxed": SMLRCV(lams=6, cv=3, relax=True),
    "few centres": SMLRCV(lams=6, cv=3, basis=Kernel(centers=data()[0][::40])),
    "nothing kept": SMLRCV(lams=[1e6, 1e5], cv=3),
    "shuffled": SMLRCV(lams=6, cv=StratifiedKFold(3, shuffle=True, random_state=0)),
    "overlapping": SMLRCV(lams=6, cv=ShuffleSplit(3, test_size=0.4, random_state=0)),
    "listed": SMLRCV(lams=6, cv=[(np.arange(0, 900, 2), np.arange(1, 900, 2)), (np.arange(600), np.arange(600, 900))]),
    "masks": SMLRCV(lams=6, cv=[(np.arange(900) % 3 > 0, np.arange(900) % 3 == 0)]),
}


def same_search(there, here, tol=1e-6):
    """The same strength, scores, path and model; certificates hold."""
    assert (there.lam_, there.l2_, there.lasso_share_) == pytest.approx((here.lam_, here.l2_, here.lasso_share_))
    assert (there.lam_min_, there.lam_1se_) == pytest.approx((here.lam_min_, here.lam_1se_))
    assert_allclose(there.lams_, here.lams_, rtol=1e-12)
    assert_allclose(there.scores_, here.scores_, atol=1e-3 * np.abs(here.scores_).min())
    assert there.objective_ == pytest.approx(here.objective_, rel=tol)
    assert_allclose(there.path_.objectives, here.path_.objectives, rtol=tol)
    assert (there.path_.dual_gaps <= there.tol).all()
    assert there.dual_gap_ <= there.tol


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_that_in_memory(name, here):
    X, y = data()
    model = SEARCHES[name]
    same_search(clone(model).fit(*lazy(X, y)), model.fit(X, y))


@pytest.mark.parametrize("m", [2, 3])
def test_a_search_counts_weights_and_offsets(m, here):
    """Also rows of weight 0, which the folds leave out, and rows that are cut unlike each other."""
    X, y = data(m=m)
    rng = np.random.default_rng(3)
    weight, offset = rng.integers(0, 3, len(y)).astype(float), rng.normal(size=(len(y), m))
    dX, dy = lazy(X, y)
    model = SMLRCV(lams=6, cv=3)
    there = clone(model).fit(dX, dy, da.from_array(weight, chunks=111), da.from_array(offset, chunks=(100, 2)))
    same_search(there, model.fit(X, y, weight, offset))


def test_a_search_keeps_groups_of_samples_together(here):
    X, y = data()
    groups = np.random.default_rng(0).integers(0, 12, len(y))
    model = SMLRCV(lams=6, cv=GroupKFold(3))
    same_search(clone(model).fit(*lazy(X, y), groups=da.from_array(groups, chunks=70)), model.fit(X, y, groups=groups))
    with pytest.raises(ValueError, match="900 rows of X; got 5"):
        model.fit(*lazy(X, y), groups=da.from_array(groups[:5], chunks=5))


def test_a_fold_may_lack_a_class(here):
    X, y = data()
    y = y.astype("U6")
    y[[3, 700]] = "willow"
    cv = [(np.arange(500), np.arange(500, 900)), (np.arange(600, 900), np.arange(600))]
    cv += [(np.setdiff1d(np.arange(900), [3, 700]), np.array([3, 4, 5, 700]))]
    offset = np.random.default_rng(1).normal(size=(900, 4))
    model = SMLRCV(lams=4, cv=cv, class_weight={"ash": 1, "beech": 2, "cedar": 1, "willow": 3})
    there = clone(model).fit(*lazy(X, y), offset=da.from_array(offset, chunks=(200, 4)))
    same_search(there, model.fit(X, y, offset=offset))
    assert there.scores_[2].max() < -100  # nothing is known of a class that no training row has


@pytest.mark.parametrize("kind", ["sparse", "frame"])
def test_a_search_on_a_cluster_is_that_in_memory(kind, cluster, tmp_path):
    X, y = data(n=1200, p=12)
    model = SMLRCV(lams=8, cv=3)
    if kind == "sparse":
        X = X * (np.random.default_rng(4).random(X.shape) < 0.3)
        rows, known = (sparse_blocks(X, 200), lazy(X, y)[1]), (sparse.csr_array(X), y)
    else:
        frame = pd.DataFrame(X, columns=[f"q{j}" for j in range(12)]).assign(tree=y)
        dd.from_pandas(frame, npartitions=5).to_parquet(tmp_path / "rows")
        table = dd.read_parquet(tmp_path / "rows")
        rows, known = (table.drop(columns="tree"), table["tree"]), (frame.iloc[:, :-1], y)
    with cluster.as_current():
        there = clone(model).fit(*rows)
    same_search(there, model.fit(*known))


@pytest.mark.parametrize("standardize", [False, True])
def test_a_search_takes_few_more_passes_than_a_path(standardize, here):
    X, y = data(n=1500, p=12)
    dX, dy = lazy(X, y)
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    dX = da.from_array(X, chunks=(300, 12)).map_blocks(read, meta=X[:0])
    path(dX, dy, 20, standardize=standardize)
    single = sum(reads)
    reads.clear()
    model = SMLRCV(lams=20, standardize=standardize).fit(dX, dy)
    assert sum(reads) == model.n_passes_ * len(y)
    assert sum(reads) <= 2 * single


def test_hessians_beyond_the_room_of_a_pass_wait_for_the_next(here, monkeypatch):
    X, y = data()
    model = SMLRCV(lams=6, cv=3)
    whole = clone(model).fit(*lazy(X, y))
    monkeypatch.setattr(shared_passes, "ROOM", 2 * 8 * 27**2)  # of the four fits two at a time
    halved = clone(model).fit(*lazy(X, y))
    same_search(halved, whole)
    assert whole.n_passes_ < halved.n_passes_ <= 3 * whole.n_passes_


def test_a_search_whose_cluster_is_lost_is_told(monkeypatch, here):
    X, y = data()
    model = SMLRCV(lams=6, cv=3)
    with (
        dask.config.set(scheduler="dask.distributed"),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
        ) as local,
        distributed.Client(local) as client,
    ):
        interrupt(monkeypatch, 8, client.close)
        with pytest.raises(FitInterrupted, match="cluster was lost in pass") as caught:
            model.fit(*lazy(X, y))
    assert caught.value.model is None
    assert not hasattr(model, "coef_")


def test_one_fit_that_fails_ends_the_others(here):
    """Also while others wait for their answer, and in either of their threads."""
    X, y = data()
    passes = Passes(row_blocks(*lazy(X, y), None, None))
    together = SharedPasses(passes, [170] * 5 + [50], np.ones((900, 2), dtype=np.uint8))

    def count(X, y, weight, offset, task):
        return np.array([len(y)])

    def fails():
        together.part(0).total(count, add, None)
        raise FloatingPointError("this one")

    def goes_on():
        part = together.part(1)
        return [part.total(count, add, None) for _ in range(5)]

    def stopped(X, y, weight, offset, task):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(FloatingPointError, match="this one"):
        together.run([fails, goes_on])
    with pytest.raises(KeyboardInterrupt):
        together.run([lambda: together.part(0).total(stopped, add, None), goes_on])
    assert together.run([goes_on, goes_on]) == [[900] * 5] * 2
    assert passes.count <= 8
    assert threading.active_count() == before


def test_bad_divisions_are_refused_with_a_sentence(here):
    X, y = lazy(*data())
    twice = [(np.r_[:500, :500], np.arange(500, 900))]
    looks = [(np.arange(500), np.arange(500, 900))]
    with pytest.raises(ValueError, match="more than once"):
        SMLRCV(cv=twice).fit(X, y)
    with pytest.raises(ValueError, match="at least one fold"):
        SMLRCV(cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="rows of weight 0 to be scored on"):
        SMLRCV(cv=looks).fit(X, y, sample_weight=da.from_array(np.repeat([1.0, 0.0], [500, 400]), chunks=170))

    class Looks(StratifiedKFold):
        def split(self, X, y, groups=None):
            return super().split(X, np.asarray(X)[:, 0] > 0)

    with pytest.raises(ValueError, match="not X"):
        SMLRCV(cv=Looks()).fit(X, y)


def test_a_worker_killed_during_a_search_does_not_change_it(monkeypatch, cluster):
    """In the pass that measures the folds' columns, and in the middle of their paths."""
    X, y = data(n=1200, p=8)
    model = SMLRCV(lams=6, cv=3)
    known = clone(model).fit(X, y)
    for number in (2, 9):
        with cluster.as_current():
            dX = da.from_array(X, chunks=(100, 8)).map_blocks(slow, meta=X[:0]).persist()
            distributed.wait(dX)
            killed = []
            interrupt(monkeypatch, number, lambda killed=killed: killed.append(kill_a_worker(cluster)))
            same_search(clone(model).fit(dX, da.from_array(y, chunks=100)), known)
            assert len(killed) == 1
            assert killed[0] not in cluster.run(os.getpid).values()


# -- What can go wrong


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y: (da.where(X > 9, np.nan, X), y), "NaN or infinity"),
        (lambda X, y: (X[:-3], y), "897 rows but y has 900"),
        (lambda X, y: (X, da.zeros(900, chunks=170)), "at least two classes"),
        (lambda X, y: (X[:, 0], y), "two dimensions"),
        (lambda X, y: (X.astype("U3"), y), "numeric"),
        (lambda X, y: (X, da.random.default_rng(0).normal(size=900, chunks=170)), "Unknown label type"),
        (lambda X, y: (dd.from_array(X), np.zeros(900)), "cannot be split to match"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, sentence, here):
    X, y = lazy(*data())
    model = SMLR()
    with pytest.raises(ValueError, match=sentence):
        model.fit(*change(X, y))
    assert not hasattr(model, "n_features_in_")


def test_what_needs_all_rows_is_refused(here):
    X, y = lazy(*data())
    for basis in ("rbf", Kernel(centers=5), Kernel(centers="auto")):
        with pytest.raises(ValueError, match=r"needs its centres as a matrix.*Kernel\(centers=<matrix>\)"):
            SMLR(basis=basis).fit(X, y)
    with pytest.raises(ValueError, match="needs all rows in one place"):
        SMLR(basis="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="solver must be one of"):
        SMLR(solver="component-wise").fit(X, y)
    with pytest.raises(ValueError, match="solver must be one of"):
        SBMLR(solver="component-wise").fit(X, y)
    with pytest.raises(ValueError, match="scores by the log-loss"):
        SMLRCV(scoring="accuracy").fit(X, y)
    with pytest.raises(ValueError, match="determinant of 7500 unknowns, more than 3000"):
        RMLR(lam="evidence", basis=Kernel(centers=np.outer(np.arange(2500.0), np.ones(8)))).fit(X, y)
    with pytest.raises(ValueError, match="takes rows in memory"):
        Knockoffs().fit(X, y)
    with pytest.raises(ValueError, match="takes rows in memory"):
        debiased(SMLR(), X, y)
    with pytest.raises(ValueError, match="not negative"):
        SMLR().fit(X, y, sample_weight=-da.ones(900, chunks=170))


def interrupt(monkeypatch, number, action):
    """Do something at the start of a pass."""
    whole = Passes.total

    def total(self, *args, **kwargs):
        if self.count == number:
            action()
            monkeypatch.undo()
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(Passes, "total", total)


def slow(block):
    """A block that takes so long that a worker can be killed meanwhile."""
    import time

    time.sleep(0.02)
    return block


def kill_a_worker(cluster):
    """Soon, by a signal; its process number."""
    pid = next(iter(cluster.run(os.getpid).values()))
    threading.Timer(0.05, os.kill, (pid, signal.SIGKILL)).start()
    return pid


def test_a_worker_killed_in_the_middle_of_a_fit_does_not_change_the_answer(monkeypatch, cluster):
    """By a signal, while a pass is on its way; its blocks are computed again elsewhere."""
    X, y = data(n=2000, p=10)
    known = SMLR(lam=5.0).fit(X, y)
    killed = []
    with cluster.as_current():
        dX = da.from_array(X, chunks=(100, 10)).map_blocks(slow, meta=X[:0]).persist()
        distributed.wait(dX)
        interrupt(monkeypatch, 2, lambda: killed.append(kill_a_worker(cluster)))
        there = SMLR(lam=5.0).fit(dX, da.from_array(y, chunks=100))
        assert len(killed) == 1
        assert killed[0] not in cluster.run(os.getpid).values()
    assert there.objective_ == pytest.approx(known.objective_, rel=1e-6)
    assert_allclose(there.coef_, known.coef_, atol=1e-3)


def test_a_lost_cluster_is_told_and_the_fit_goes_on_elsewhere(monkeypatch, here):
    X, y = data(n=2000, p=10)
    dX, dy = lazy(X, y)
    whole = SMLR(lam=5.0).fit(dX, dy)
    model = SMLR(lam=5.0)
    with (
        dask.config.set(scheduler="dask.distributed"),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
        ) as local,
        distributed.Client(local) as client,
    ):
        interrupt(monkeypatch, whole.n_passes_ - 1, client.close)
        with pytest.raises(FitInterrupted, match="warm_start=True") as caught:
            model.fit(dX, dy)
    monkeypatch.undo()
    assert not hasattr(model, "coef_")
    unfinished = caught.value.model
    assert unfinished.status_ == "interrupted"
    assert unfinished.dual_gap_ > 1e-6
    assert unfinished.predict(X[:5]).shape == (5,)
    resumed = unfinished.set_params(warm_start=True).fit(dX, dy)
    assert resumed.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    assert resumed.n_passes_ < whole.n_passes_


def test_ctrl_c_leaves_the_model_after_the_last_whole_pass(monkeypatch, here):
    X, y = data(n=2000, p=10)
    dX, dy = lazy(X, y)

    def press():
        raise KeyboardInterrupt

    interrupt(monkeypatch, 3, press)
    with pytest.raises(KeyboardInterrupt) as caught:
        SMLR(lam=5.0).fit(dX, dy)
    monkeypatch.undo()
    assert caught.value.model.status_ == "interrupted"
    resumed = caught.value.model.set_params(warm_start=True).fit(dX, dy)
    assert resumed.objective_ == pytest.approx(SMLR(lam=5.0).fit(X, y).objective_, rel=1e-6)


# -- Around it


def test_folds_of_a_cross_validation_run_on_a_cluster(cluster):
    joblib = pytest.importorskip("joblib")
    X, y = data(n=300)
    alone = SMLRCV(lams=8, cv=3).fit(X, y)
    with cluster.as_current(), joblib.parallel_config(backend="dask", wait_for_workers_timeout=60):
        together = SMLRCV(lams=8, cv=3, n_jobs=2).fit(X, y)
    assert_allclose(together.scores_, alone.scores_, rtol=1e-12)
    assert together.lam_ == alone.lam_


def test_dask_is_imported_only_with_dask_input():
    code = (
        "import sys, numpy as np; from smaller import SMLR; rng = np.random.default_rng(0); "
        "X = rng.normal(size=(30, 2)); SMLR().fit(X, X[:, 0] > 0).predict(X); "
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
