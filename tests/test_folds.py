"""Folds of cross-validation where classes have few samples."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from smaller import JFSCL, LRVM, SMLR, SMLRCV, tune_width
from smaller.decision import Rejecting
from smaller.errors import SmallClassWarning
from smaller.models.folds import class_folds

SEARCHES = [
    SMLRCV(lams=5),
    LRVM(step=0.5, lam_ratio=0.3),
    JFSCL(step=0.5, lam_ratio=0.3),
    Rejecting(SMLR(0.1), rate=0.1),
    Rejecting(SMLR(0.1), error=0.5),
]
some_data = pytest.mark.filterwarnings(
    "ignore::smaller.errors.EmptyModelWarning", "ignore::smaller.errors.ConvergenceWarning"
)


def sample(*counts, seed=0):
    """So many samples of each class, a little apart."""
    y = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(seed).standard_normal((len(y), 2)) + y[:, None], y


@some_data
@pytest.mark.parametrize("model", SEARCHES, ids=repr)
def test_there_are_as_many_folds_as_the_smallest_class_has_samples(model):
    X, y = sample(3, 9)
    with pytest.warns(SmallClassWarning, match=r"has 3, so that cross-validation has 3 folds instead of 5"):
        model.fit(X, y)
    if hasattr(model, "scores_"):
        assert len(model.scores_) == 3


@some_data
def test_a_search_for_the_width_takes_fewer_folds_too():
    X, y = sample(3, 9)
    with pytest.warns(SmallClassWarning):
        model = tune_width(LRVM(step=0.5, lam_ratio=0.3), X, y, factors=[0.5, 1.0])
    assert len(model.scores_) == 3


@some_data
@pytest.mark.parametrize("model", SEARCHES, ids=repr)
def test_a_class_of_one_sample_is_missing_from_one_fold_only(model):
    X, y = sample(6, 7, 1)
    with pytest.warns(SmallClassWarning, match="Class 2 has one sample only"):
        model.fit(X, y)
    assert model.predict_proba(X).shape == (14, 3)


@some_data
@pytest.mark.parametrize("counts", [(1, 1), (8, 1), (5, 1, 1)])
@pytest.mark.parametrize("model", SEARCHES, ids=repr)
def test_too_few_samples_for_any_folds_are_refused_with_a_remedy(model, counts):
    with pytest.raises(ValueError, match=r"two samples of each of at least two classes.*without cross-validation"):
        model.fit(*sample(*counts))


def test_samples_of_weight_0_are_in_no_fold():
    X, y = sample(4, 9)
    weight = np.ones(len(y))
    weight[[0, 5]] = 0
    with pytest.warns(SmallClassWarning, match="3 folds"):
        splits = class_folds(5, X, y, weight)
    assert not set(np.concatenate([np.concatenate(split) for split in splits]).tolist()) & {0, 5}
    with pytest.warns(SmallClassWarning):
        without = class_folds(5, X[weight > 0], y[weight > 0], None)
    kept = np.flatnonzero(weight)
    for (train, test), (train_kept, test_kept) in zip(splits, without, strict=True):
        np.testing.assert_array_equal(train, kept[train_kept])
        np.testing.assert_array_equal(test, kept[test_kept])


@some_data
@pytest.mark.parametrize("kind", [SMLRCV, LRVM])
def test_a_class_whose_training_samples_have_weight_0_is_missing_from_that_fold(kind):
    """With a splitter of one's own, rows of weight 0 are in the folds."""
    X, y = sample(6, 6, 4)
    weight, rows = np.ones(len(y)), np.arange(len(y))
    weight[14:] = 0
    held_out = rows[[0, 6, 12, 13]]
    offset = np.zeros((len(y), 3))
    model = kind(
        **({"lams": 3} if kind is SMLRCV else {"step": 0.5, "lam_ratio": 0.3}),
        cv=[(np.setdiff1d(rows, held_out), held_out)],
    )
    model.fit(X, y, weight, offset)
    assert len(model.classes_) == 3


def test_splitters_and_numbers_that_fit_are_taken_as_they_are(recwarn):
    X, y = sample(6, 7)
    plain = list(StratifiedKFold(5).split(X, y))
    for cv in (5, None, StratifiedKFold(5)):
        for split, expected in zip(class_folds(cv, X, y, None), plain, strict=True):
            np.testing.assert_array_equal(split[0], expected[0])
            np.testing.assert_array_equal(split[1], expected[1])
    assert not recwarn.list
