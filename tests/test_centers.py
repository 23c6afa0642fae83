"""Candidates for the centres of kernels: all distinct rows, some that are spread over them, or given ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import smaller
from smaller import LRVM, SMLR, RVMClassifier, RVMRegressor
from smaller.basis import Kernel, Standardized, centers
from smaller.errors import CandidatesWarning

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 3)).round(3)
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(len(X))
CODES = (Y > 0).astype(int)


def chosen(X, weight=None, count=20):
    return Kernel(centers=count).fit(X, np.ones(X.shape[0]) if weight is None else weight)


def test_neither_the_order_of_the_rows_nor_repetitions_matter():
    basis, order = chosen(X), RNG.permutation(len(X))
    assert_array_equal(chosen(X[order]).centers_, basis.centers_)
    assert_array_equal(chosen(np.vstack([X, X[:50], X[:50]])).centers_, basis.centers_)
    weight = np.where(np.arange(len(X)) < 50, 3.0, 1.0)
    assert_array_equal(chosen(X, weight).centers_, basis.centers_)
    assert_allclose(chosen(np.vstack([X, X[:50], X[:50]])).gamma_, chosen(X, weight).gamma_, rtol=1e-12)
    weight[np.unique(basis.center_index_)[:5]] = 0.0
    assert_array_equal(chosen(X, weight).centers_, chosen(X[weight > 0]).centers_)


def test_chosen_rows_lie_apart_and_near_all_others():
    """Farthest-first rows: every row is nearer to a chosen one than the chosen ones are to each other."""
    C = chosen(X).centers_
    assert C.shape == (20, 3)
    apart = np.linalg.norm(C[:, None] - C, axis=2) + np.diag(np.full(20, np.inf))
    to_nearest = np.linalg.norm(X[:, None] - C, axis=2).min(axis=1)
    assert to_nearest.max() <= apart.min() + 1e-12
    assert_array_equal(C, np.unique(C, axis=0))


def test_sparse_rows_are_chosen_as_dense_ones():
    S = np.where(RNG.random(X.shape) < 0.5, 0.0, X)
    for format in (sparse.csr_array, sparse.csc_array):
        assert_allclose(chosen(format(S)).centers_.toarray(), chosen(S).centers_)


def test_a_number_that_is_not_below_that_of_the_rows_takes_all():
    for count in (None, 200, 10**6, "auto"):
        assert_array_equal(chosen(X, count=count).centers_, np.unique(X, axis=0))


def test_auto_chooses_where_there_are_many(monkeypatch):
    monkeypatch.setattr(centers, "MOST", 20)
    assert_array_equal(chosen(X, count="auto").centers_, chosen(X).centers_)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, lambda C: C.tolist()])
def test_given_centres_are_the_columns(layout):
    given = X[[5, 3, 5, 8]] + 0.5
    basis = Kernel(gamma=0.7, centers=layout(given)).fit(X, np.ones(len(X)))
    assert_array_equal(basis.centers_, np.unique(given, axis=0))
    assert_array_equal(given[basis.center_index_], basis.centers_)
    expected = np.exp(-0.7 * ((X[:, None] - basis.centers_) ** 2).sum(axis=2))
    assert_allclose(basis.transform(X), expected, rtol=1e-12)
    assert_allclose(basis.transform(sparse.csr_array(X)), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "wrong", [0, -3, 2.5, True, "all", [1.0, 2.0], np.ones((4, 2)), np.full((4, 3), np.nan), np.empty((0, 3))]
)
def test_other_centres_are_refused(wrong):
    with pytest.raises(ValueError, match=r"Kernel: centers must be None .*3 inputs; got"):
        RVMRegressor(Kernel(centers=wrong)).fit(X, Y)


MODELS = {
    "RVMRegressor": RVMRegressor(Kernel(centers=25)),
    "RVMRegressor, given": RVMRegressor(Kernel(centers=X[:25])),
    "RVMClassifier": RVMClassifier(Kernel(centers=25)),
    "SMLR": SMLR(basis=Kernel(centers=25)),
    "LRVM": LRVM(Kernel(centers=25), lam=1.0),
    "LRVM, given": LRVM(Kernel(centers=X[:25]), lam=1.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_find_their_relevance_vectors_among_them(name, tmp_path):
    model = clone(MODELS[name]).fit(X, Y if name.startswith("RVMRegressor") else CODES)
    assert model.coef_.shape[-1] == 25
    known = {tuple(row) for row in model.basis_.centers_}
    assert len(model.relevance_vectors_) == len(model.support_) > 0
    assert {tuple(row) for row in model.relevance_vectors_} <= known <= {tuple(row) for row in X}
    smaller.save(model, tmp_path / "my.model")
    loaded = smaller.load(tmp_path / "my.model")
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert_array_equal(clone(loaded).fit(X, Y if name.startswith("RVMRegressor") else CODES).coef_, model.coef_)


def test_given_centres_are_in_the_units_of_the_inputs_where_these_are_standardised():
    basis = Standardized(Kernel(centers=X[:25])).fit(X, np.ones(len(X)))
    every = Standardized(Kernel()).fit(X, np.ones(len(X)))
    assert_array_equal(basis.centers_, np.unique(X[:25], axis=0))
    place = [np.flatnonzero((every.centers_ == row).all(axis=1))[0] for row in basis.centers_]
    assert_allclose(basis.transform(X), every.transform(X)[:, place], rtol=1e-12)


@pytest.mark.parametrize("basis", ["rbf", "poly"])
@pytest.mark.parametrize("model", [RVMRegressor, RVMClassifier])
def test_relevance_vector_machines_say_when_some_rows_are_the_candidates(model, basis, monkeypatch):
    monkeypatch.setattr(centers, "MOST", 30)
    y = Y if model is RVMRegressor else CODES
    with pytest.warns(CandidatesWarning, match=rf"of the 200 distinct rows, 30 .* basis=Kernel\('{basis}'\) takes all"):
        found = model(basis).fit(X, y)
    same = model(Kernel(basis, centers="auto")).fit(X, y)  # without a warning, which would be an error
    assert_array_equal(found.coef_, same.coef_)
    assert model(Kernel(basis)).fit(X, y).coef_.shape[-1] == 200
    assert model(basis).fit(X[:30], y[:30]).coef_.shape[-1] == 30


@pytest.mark.slow
@pytest.mark.parametrize("model", [RVMRegressor, RVMClassifier])
def test_the_evidence_with_the_candidates_chosen_is_near_that_with_all(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5000, 5))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y += rng.standard_normal(5000)
    y = y if model is RVMRegressor else y > 14
    some, every = (model(Kernel(centers=centers)).fit(X, y).evidence_ for centers in ("auto", None))
    assert some >= every - 0.005 * 5000
