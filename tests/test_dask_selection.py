"""Stability selection on Dask collections: the halves of memory, their first features, and passes that they share."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

from smaller import SBMLR, SMLR, SMLRCV, LaplaceRegressor
from smaller.errors import SameRowsWarning
from smaller.inference import StabilitySelection, debiased, halves_in_passes
from smaller.rows.dask import shared_passes

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(autouse=True)
def here():
    """Everything in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def data(n=400, p=12, m=3, seed=0):
    """Columns of different centres and units, four of them related to the labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    W = np.zeros((p, m))
    W[:4] = rng.standard_normal((4, m))
    y = (X @ W + rng.gumbel(size=(n, m))).argmax(axis=1)
    return X * np.exp(rng.normal(size=p)) + 5 * rng.normal(size=p), np.array(["ash", "beech", "cedar"])[y]


def lazy(X, y, rows=170):
    """The same as Dask arrays, cut unlike each other."""
    return da.from_array(X, chunks=(rows, 5)), da.from_array(y, chunks=rows + 40)


def same_selection(there, here, step=1e-9):
    """The same numbers, frequencies and features, and strengths of entry."""
    for name in ("n_selected_", "threshold_", "n_distinct_", "expected_false_"):
        assert getattr(there, name) == getattr(here, name)
    assert_array_equal(there.frequencies_, here.frequencies_)
    assert_array_equal(there.support_, here.support_)
    assert_array_equal(there.n_entered_, here.n_entered_)
    assert_allclose(there.entries_.toarray(), here.entries_.toarray(), rtol=step)
    assert_allclose(there.row_marks_, here.row_marks_, rtol=1e-12)
    for one, other in zip(there.copies_, here.copies_, strict=True):
        assert_array_equal(one, other)


# With offsets or free columns the largest strength is that of a fit: what enters there may enter at the next strength.
NEXT = 0.03
FACTOR = [0, 1, 1, 1, 2, 1, 1, 0, 1, 1, 1, np.inf]
SELECTORS = {
    "usual": StabilitySelection(n_pairs=2, n_selected=4, max_false=None, threshold=0.6, random_state=0),
    "by the bound": StabilitySelection(n_pairs=2, max_false=4, random_state=1),
    "SMLRCV": StabilitySelection(SMLRCV(l2=2.0), n_pairs=2, n_selected=3, max_false=None, threshold=0.8),
    "SBMLR": StabilitySelection(SBMLR(class_weight="balanced"), n_pairs=2, n_selected=3, max_false=None, threshold=0.8),
    "no intercept": StabilitySelection(
        SMLR(fit_intercept=False, standardize=True), n_pairs=2, n_selected=3, max_false=None, threshold=0.8
    ),
    "free columns": StabilitySelection(
        SMLR(groups="features", penalty_factor=FACTOR, standardize=True), n_pairs=2, n_selected=3, max_false=None,
        threshold=0.8,
    ),
    "groups": StabilitySelection(
        SMLR(groups=list("aabbbccdddee"), standardize=True), n_pairs=2, n_selected=2, max_false=None, threshold=0.8
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SELECTORS)
def test_a_selection_is_that_in_memory(name):
    X, y = data()
    selector = clone(SELECTORS[name]).set_params(random_state=0)
    there = clone(selector).fit(*lazy(X, y))
    here = selector.fit(X, y)
    same_selection(there, here, NEXT if name == "free columns" else 1e-9)
    assert there.group_support_ is here.group_support_ or list(there.group_support_) == list(here.group_support_)


@pytest.mark.parametrize("kind", ["sparse", "frame", "wide"])
def test_blocks_of_other_kinds(kind, tmp_path):
    X, y = data(n=400, p=150 if kind == "wide" else 12)
    selector = StabilitySelection(n_pairs=2, n_selected=3, max_false=None, threshold=0.8, random_state=0)
    if kind == "frame":
        frame = pd.DataFrame(X, columns=[f"q{j}" for j in range(12)]).assign(tree=y)
        dd.from_pandas(frame, npartitions=3).to_parquet(tmp_path / "rows")
        table = dd.read_parquet(tmp_path / "rows")
        rows, known = (table.drop(columns="tree"), table["tree"]), (frame.iloc[:, :-1], y)
    elif kind == "sparse":
        X = X * (np.random.default_rng(4).random(X.shape) < 0.4)
        blocks = da.from_array(X, chunks=(150, 12)).map_blocks(sparse.csr_array)
        rows, known = (blocks, da.from_array(y, chunks=150)), (sparse.csr_array(X), y)
    else:
        rows, known = lazy(X, y), (X, y)
    there = clone(selector).fit(*rows)
    here = selector.fit(*known)
    same_selection(there, here)
    kept = there.transform(rows[0])
    assert hasattr(kept, "dask")
    assert_array_equal(there.get_feature_names_out(), here.get_feature_names_out())
    found = kept.compute()
    wanted = here.transform(known[0])
    assert_allclose(*(v.toarray() if sparse.issparse(v) else np.asarray(v) for v in (found, wanted)))


def test_constant_columns_and_copies_are_found_in_blocks():
    X, y = data()
    X = np.column_stack([X, np.full(len(y), 7.1), -3.7 * X[:, 0] + 2.0, X[:, 1] + X[:, 2], np.zeros(len(y))])
    X = np.column_stack([X, X[:, 3] * 1e-3])
    selector = StabilitySelection(n_pairs=2, n_selected=4, max_false=None, threshold=0.6, random_state=0)
    there = clone(selector).fit(*lazy(X, y))
    here = selector.fit(X, y)
    same_selection(there, here)
    assert there.n_distinct_ == 13
    assert sorted(members.tolist() for members in there.copies_) == [[0, 13], [3, 16]]


def test_weights_offsets_and_groups_of_samples_count():
    X, y = data()
    rng = np.random.default_rng(3)
    weight = rng.integers(0, 3, len(y)).astype(float)
    extra = {"sample_weight": weight, "offset": rng.normal(size=(len(y), 3))}
    selector = StabilitySelection(n_pairs=2, n_selected=3, max_false=None, threshold=0.8, random_state=0)
    remote = {"sample_weight": da.from_array(weight, chunks=111), "offset": da.from_array(extra["offset"], chunks=100)}
    same_selection(clone(selector).fit(*lazy(X, y), **remote), clone(selector).fit(X, y, **extra), NEXT)
    groups = rng.integers(0, 60, len(y))
    there = clone(selector).fit(*lazy(X, y), groups=da.from_array(groups, chunks=70))
    same_selection(there, clone(selector).fit(X, y, groups=groups))


def test_halves_share_their_passes(monkeypatch):
    """All halves take about as many passes as two of them; where there is no room for all, pairs take turns."""
    X, y = data()
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    dX, dy = da.from_array(X, chunks=(200, 12)).map_blocks(read, meta=X[:0]), lazy(X, y)[1]
    selector = StabilitySelection(n_pairs=4, n_selected=3, max_false=None, threshold=0.8, random_state=0)
    one = clone(selector).set_params(n_pairs=1).fit(dX, dy).n_passes_
    reads.clear()
    whole = clone(selector).fit(dX, dy)
    assert sum(reads) == whole.n_passes_ * len(y)
    assert whole.n_passes_ <= 2 * one
    monkeypatch.setattr(halves_in_passes, "ROOM", 2 * len(y))
    turns = clone(selector).fit(dX, dy)
    same_selection(turns, whole)
    assert whole.n_passes_ < turns.n_passes_ <= 3 * 2 * one
    monkeypatch.setattr(shared_passes, "ROOM", 2 * 8 * 39**2)  # of the four fits of a turn two at a time
    same_selection(clone(selector).fit(dX, dy), whole)


def test_labels_without_any_relation_select_nothing():
    X = np.repeat(data(n=300)[0], 2, axis=0)
    y = np.tile(["ash", "beech"], 300)
    groups = np.repeat(np.arange(300), 2)
    selector = StabilitySelection(n_pairs=2, n_selected=3, max_false=None, threshold=0.8, random_state=0)
    with pytest.warns(UserWarning, match="selected no feature"):
        selector.fit(*lazy(X, y), groups=groups)
    assert not selector.n_entered_.any()


def test_samples_that_selected_are_known_again():
    X, y = data()
    y = np.where(y == "ash", "ash", "other")
    dX, dy = lazy(X, y)
    selector = StabilitySelection(n_pairs=2, n_selected=3, max_false=None, threshold=0.8, random_state=0).fit(dX, dy)
    model = make_pipeline(selector, SMLR(3.0).fit(X[:, selector.support_], y))
    with pytest.warns(SameRowsWarning, match="100% of these samples were used by StabilitySelection"):
        debiased(model, X, y)


REFUSED = {
    "numbers": (StabilitySelection(LaplaceRegressor()), {}, "enter the path of SMLR, SMLRCV or SBMLR; LaplaceRegr"),
    "another basis": (StabilitySelection(SMLR(basis="quadratic")), {}, "selects columns of X"),
    "reference": (StabilitySelection(SMLR(parametrization="reference")), {}, "depends on which class is the last"),
    "groups": (StabilitySelection(), {"groups": np.zeros(5)}, "400 rows of X; got 5"),
    "an unknown word": (StabilitySelection(), {"weights": 1}, "fit takes sample_weight and offset"),
    "factors": (StabilitySelection(SMLR(penalty_factor=[1, 2])), {}, "penalty_factor has 2 column"),
    "too few": (StabilitySelection(n_selected=6, threshold=0.9, max_false=0.01), {}, "more than max_false"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_work_is_refused_with_a_sentence(name):
    selector, more, said = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=said):
        clone(selector).fit(*lazy(*data()), **more)
    assert not hasattr(selector, "n_features_in_")
