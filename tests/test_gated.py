"""Boosted lasso and the kernel machines along its path: the L1 path in the limit, gates that select inputs."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal
from reference_cases import case
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit

import smaller
from smaller import JFSCL, LRVM, RMLR, SMLR, tune_width
from smaller.basis import GatedKernel, Kernel
from smaller.design import as_design
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.likelihoods import Gaussian, Multinomial
from smaller.moves import GatedMoves, WeightMoves
from smaller.solvers.blasso import blasso
from smaller.synthetic import make_gaussians

BAYES = 0.158655  # Phi(-1)


def logistic(n=80, p=6, seed=0):
    """Two overlapping classes, columns of unit variance."""
    X, y = clusters(n, p, 2, seed)
    return np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0)), y


def walk(X, y, step, tol=0.0, **options):
    problem = WeightMoves(as_design(X, True), (y == 1)[:, None], Multinomial(True), step)
    return blasso(problem, tol, **options)[0]


def gated(steepness=3.0, step=0.5, classes=2, seed=0):
    """A gated problem in the middle of a walk, some gates moved and some weights not zero."""
    X, y = clusters(40, 4, classes, seed)
    reference = classes == 2
    Y = (y == 1)[:, None] if reference else y[:, None] == np.arange(classes)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    problem = GatedMoves(X, X[:30], 0.3, steepness, Y, Multinomial(reference), step, weight)
    for coordinate, sign in ((3, 1), (problem.n_weights + 1, 1), (7, -1), (problem.n_weights, -1), (3, 1)):
        problem.commit(coordinate, sign)
    return problem


# -- boosted lasso


@pytest.mark.parametrize("step", [0.01, 0.002, 0.001])
def test_the_reference_path_on_the_diabetes_data(step):
    """An independent BLasso for squares: the same first and last strengths, as near to the lasso as it came."""
    data, facts = case("blasso_diabetes")
    X, y = np.asfortranarray(data["X"]), data["y"]
    run = facts["runs"][f"blassol2.m eps={step}"]
    # Its loss has no half, so that every sample counts twice.
    path = blasso(WeightMoves(as_design(X), y[:, None], Gaussian(), step, np.full(len(y), 2.0)), 1e-12)[0]
    levels = np.unique(path.lams[1:])
    assert_allclose(levels[-1], run["lambda_first"], rtol=1e-10)
    assert_allclose(levels[0], run["lambda_last"], atol=3e-9)
    assert abs(len(levels) - run["n_lambdas"]) <= 1
    assert (np.diff(path.penalties) < 0).sum() >= run["n_backward"]
    for lam, dev, gap in zip(run["at_lambdas"], run["max_abs_dev_from_exact_lasso"], run["objective_gap"], strict=True):
        exact, ours = np.array(facts["exact_lasso_at_lambda"][str(lam)]), path.parameters(path.point_at(lam))
        value = [((y - X @ w) ** 2).sum() + lam * np.abs(w).sum() for w in (exact, ours)]
        assert np.abs(ours - exact).max() <= max(2 * dev, step)
        assert -1e-12 <= value[1] - value[0] <= 3 * gap


@pytest.mark.parametrize("classes", [2, 3])
def test_as_the_step_shrinks_the_path_becomes_that_of_the_lasso(classes):
    """Zhao & Yu 2007, Theorem 1; the optimum is certified. The excess of the objective is of the order of step^2."""
    X, y = clusters(80, 6, classes, 0)
    X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    Y = (y == 1)[:, None] if classes == 2 else y[:, None] == np.arange(classes)
    lams = [8.0, 4.0, 2.0, 1.0]
    best = [SMLR(lam=lam, tol=1e-10).fit(X, y).objective_ for lam in lams]
    excess, distance = [], []
    exact = SMLR(lam=2.0, tol=1e-10).fit(X, y).predict_proba(X)[:, 1]
    for step in (0.2, 0.05, 0.0125):
        problem = WeightMoves(as_design(X, True), Y, Multinomial(classes == 2), step)
        path = blasso(problem, 0.0, end=0.5)[0]
        points = [path.point_at(lam) for lam in lams]
        values = [path.losses[t] + lam * path.penalties[t] for t, lam in zip(points, lams, strict=True)]
        excess.append(np.max(np.array(values) - best))
        F = X @ path.parameters(points[2]).reshape(-1, 6).T + path.intercepts[points[2]]
        F = np.column_stack([np.zeros(len(F)), F]) if classes == 2 else F
        P = np.exp(F - F.max(axis=1, keepdims=True))
        distance.append(np.abs(P[:, 1] / P.sum(axis=1) - exact).max())
    assert all(later < earlier / 4 for earlier, later in pairwise(excess))
    assert 0 <= excess[-1] < 2e-2
    assert distance[2] < distance[1] < distance[0]
    assert distance[2] < 0.01


@pytest.mark.parametrize("penalty", ["ridge", "weighted"])
def test_the_generalised_walk_meets_the_path_of_other_penalties(penalty):
    """Squares against ridge regression, weighted L1 against penalty factors."""
    X, y = logistic()
    factor = np.linspace(0.5, 2.0, 6)
    cost = {"ridge": lambda w: w**2 / 2, "weighted": lambda w: factor * np.abs(w)}[penalty]
    model = {"ridge": RMLR, "weighted": lambda **k: SMLR(penalty_factor=factor, **k)}[penalty]
    excess = []
    for step in (0.1, 0.02):
        problem = WeightMoves(as_design(X, True), (y == 1)[:, None], Multinomial(True), step, cost=cost)
        path = blasso(problem, 0.0, end=0.5, general=True)[0]
        # Strengths between two of the walk's own have no point: unequal penalties make it leap.
        points = path.ends[(path.lams[path.ends] > 1) & (path.lams[path.ends] < 8)]
        points = points[:: max(1, len(points) // 4)]
        lams = path.lams[points]
        best = [model(lam=lam, tol=1e-10).fit(X, y).objective_ for lam in lams]
        excess.append(np.max(path.losses[points] + lams * path.penalties[points] - best))
    assert -1e-9 <= excess[1] < excess[0] / 4
    assert excess[1] < 5e-3


def test_strengths_never_rise_and_moves_at_a_strength_lower_the_penalised_loss():
    """On correlated columns backward steps happen; each gains more than the tolerance."""
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((100, 8))
    X = np.asfortranarray(Z + 0.9 * rng.standard_normal((100, 1)) @ np.ones((1, 8)) * np.linspace(1, 3, 8))
    y = (Z[:, 0] - Z[:, 1] + rng.standard_normal(100) > 0).astype(int)
    tol = 1e-6
    path = walk(X, y, 0.02, tol, ratio=0.01)
    lams, change = path.lams[1:], np.diff(path.losses) + path.lams[1:] * np.diff(path.penalties)
    assert (np.diff(lams) <= 0).all()
    backward = np.diff(path.penalties) < 0
    assert backward.sum() > 5
    assert (change[backward] < -tol).all()
    assert (np.diff(lams)[backward[1:]] == 0).all()


def test_a_path_can_be_rebuilt_from_its_moves():
    X, y = logistic()
    path = walk(X, y, 0.1, ratio=0.05)
    for t in (0, 1, len(path) // 2, len(path) - 1):
        w, b = path.parameters(t), path.intercepts[t]
        F = X @ w + b
        assert_allclose(path.losses[t], np.logaddexp(0, F).sum() - F[y == 1].sum(), rtol=1e-12)
        assert_allclose(path.penalties[t], np.abs(w).sum(), rtol=1e-12, atol=1e-12)
        assert abs((1 / (1 + np.exp(-F)) - y).sum()) < 1e-8  # the intercept is free
    assert path.point_at(np.inf) == 0
    assert path.point_at(path.lams[5]) >= 5


@pytest.mark.parametrize("classes", [2, 3])
def test_a_shortlist_by_bounds_leaves_the_path_as_it_is(classes):
    X, y = clusters(60, 5, classes, 2)
    Y = (y == 1)[:, None] if classes == 2 else y[:, None] == np.arange(classes)
    K = np.asfortranarray(np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2)))
    paths = [
        blasso(WeightMoves(as_design(K, True), Y, Multinomial(classes == 2), 0.3), 1e-6, ratio=0.1, shortlist=short)[0]
        for short in (True, False)
    ]
    assert_array_equal(paths[0].coordinates, paths[1].coordinates)
    assert_array_equal(paths[0].signs, paths[1].signs)
    assert len(paths[0]) > 20


# -- gates


@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_of_the_gated_loss_equal_finite_differences(classes):
    """In every weight and in every gate parameter v, the intercept at its optimum."""
    problem = gated(classes=classes)

    def loss(W, v):
        g = 1 / (1 + np.exp(-problem.steepness * v))
        K = np.exp(-problem.gamma * (((problem.X[:, None] - problem.C) * g) ** 2).sum(axis=2))
        return problem.likelihood.fit(np.asfortranarray(K @ W + problem.b), problem.Y, problem.s)[2]

    W, v, h = problem.weights, problem.v, 1e-6
    in_weights, in_gates = problem.gradients()
    assert_allclose(loss(W, v), problem.loss, rtol=1e-10)
    for index in np.ndindex(*W.shape):
        D = np.zeros_like(W)
        D[index] = h
        assert_allclose((loss(W + D, v) - loss(W - D, v)) / (2 * h), in_weights[index], atol=2e-6)
    for j in range(len(v)):
        d = h * np.eye(len(v))[j]
        assert_allclose((loss(W, v + d) - loss(W, v - d)) / (2 * h), in_gates[j], atol=2e-6)
    assert np.abs(in_gates).min() > 1e-4


@pytest.mark.parametrize("classes", [2, 3])
def test_candidates_promise_what_a_move_then_gives(classes):
    """With the intercept held where it follows they are upper bounds, and good ones."""
    problem = gated(classes=classes)
    every = np.arange(problem.size)
    promised, penalties = problem.loss_changes(every), problem.penalty_changes()
    for coordinate in (0, 3, 5, problem.n_weights, problem.n_weights + 2):
        for row, sign in enumerate((1, -1)):
            other = gated(classes=classes)
            loss, penalty = other.loss, other.penalty
            other.commit(coordinate, sign)
            gained = other.loss - loss
            assert gained - 1e-9 <= promised[row, coordinate] <= gained + 0.1 * abs(gained) + 1e-3
            assert_allclose(other.penalty - penalty, penalties[row, coordinate], atol=1e-12)


def test_only_the_steps_of_gates_that_are_wanted_are_evaluated():
    problem = gated()
    every = np.arange(problem.size)
    wanted = np.zeros((2, problem.size), dtype=bool)
    wanted[0, problem.n_weights + 2] = wanted[1, problem.n_weights + 3] = True
    found, full = problem.loss_changes(every, wanted), problem.loss_changes(every)
    assert_allclose(found[wanted], full[wanted], rtol=0, atol=0)
    gates = slice(problem.n_weights, None)
    assert np.isnan(found[:, gates][~wanted[:, gates]]).all()
    assert np.isfinite(full[:, gates][wanted[:, gates]]).all()


def test_the_changes_that_an_escape_promises_are_those_of_its_steps():
    """A gate half opened and several steps of weights, taken one after the other."""
    problem = gated(steepness=10.0, step=1.2)
    longest = max(problem.escapes(), key=lambda escape: len(escape[0]))
    steps, loss_change, penalty_change = longest
    assert len(steps) > 3
    loss, penalty = problem.loss, problem.penalty
    for step in steps:
        problem.commit(*step)
    assert_allclose(problem.penalty - penalty, penalty_change, atol=1e-12)
    gained = problem.loss - loss
    assert gained - 1e-9 <= loss_change <= gained + 0.1 * abs(gained) + 1e-3


def test_shut_and_open_gates_go_no_further():
    problem = gated(steepness=10.0, step=1.2)
    changes = problem.penalty_changes()[:, problem.n_weights :]
    assert np.isnan(changes[1, 0])  # shut by one step down
    assert np.isnan(changes[0, 1])  # open by one step up
    assert np.isfinite(changes[:, 2:]).all()


@pytest.mark.parametrize("data", [load_wine, load_breast_cancer, "gaussians"])
def test_a_shortlist_by_gradients_leaves_the_gated_path_as_it_is(data):
    """No bound, but the same moves; of breast cancer's 30 correlated inputs, the same points within a thousandth."""
    X, y = data(return_X_y=True) if callable(data) else make_gaussians(300, 20, random_state=1).values()
    X, y = X[::3], y[::3]
    paths = [JFSCL(lam=1.0, shortlist=short).fit(X, y).path_ for short in (True, False)]
    assert_array_equal(paths[0].coordinates, paths[1].coordinates)
    assert_allclose(paths[0].losses, paths[1].losses, rtol=1e-9)


# -- the models


def test_lrvm_at_a_small_step_is_the_certified_l1_machine():
    X, y = clusters(60, 3, 2, 0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = SMLR(lam=1.0, basis=Kernel("rbf", gamma=1 / 3), tol=1e-10).fit(Z, y)
    gaps = []
    for step in (0.5, 0.02):
        model = LRVM(lam=1.0, step=step).fit(X, y)
        gaps.append(model.dual_gap_)
        assert model.objective_ >= exact.objective_ - 1e-9
    assert gaps[1] < gaps[0]
    assert_allclose(model.predict_proba(X), exact.predict_proba(Z), atol=0.01)
    assert model.objective_ < exact.objective_ * (1 + 1e-3)


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
@pytest.mark.parametrize("model", [LRVM, JFSCL])
def test_several_classes(model, multiclass):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = model(lam=0.3, multiclass=multiclass).fit(X, names)
    P = found.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_allclose(np.exp(found.predict_log_proba(X)), P, atol=1e-12)
    assert_array_equal(found.predict(X), found.classes_[P.argmax(axis=1)])
    assert found.score(X, names) > 0.93
    assert isinstance(found.path_, list) == (multiclass == "ovr")
    assert len(found.support_) < 40


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
@pytest.mark.parametrize("model", [LRVM, JFSCL])
def test_a_weight_is_a_repetition(model, multiclass):
    X, y = clusters(45, 4, 3, 5)
    times = np.random.default_rng(0).integers(0, 3, len(y))
    once = model(lam=0.8, multiclass=multiclass).fit(X, y, sample_weight=times)
    again = model(lam=0.8, multiclass=multiclass).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(once.predict_proba(X), again.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("model", [LRVM, JFSCL])
def test_units_of_the_inputs_do_not_matter(model):
    X, y = clusters(60, 4, 2, 1)
    P = model(lam=1.0).fit(X, y).predict_proba(X)
    Z = X * [1e-4, 1.0, 1e5, 3.0] + [0.0, 5.0, 0.0, -2.0]
    assert_allclose(model(lam=1.0).fit(Z, y).predict_proba(Z), P, atol=1e-8)


def test_sparse_inputs_give_what_dense_ones_give_or_are_refused():
    X, y = clusters(60, 4, 2, 1)
    X[np.abs(X) < 1] = 0
    dense, scarce = LRVM(lam=1.0).fit(X, y), LRVM(lam=1.0).fit(sparse.csr_array(X), y)
    assert_allclose(scarce.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-9)
    linear = LRVM("linear", lam=1.0, step=0.05).fit(sparse.csr_array(X), y)
    assert linear.score(sparse.csr_array(X), y) > 0.6
    with pytest.raises(TypeError, match="dense data is required"):
        JFSCL().fit(sparse.csr_array(X), y)


def test_rejected_inputs_have_no_say_and_transform_leaves_them_out():
    data = make_gaussians(150, 12, random_state=0)
    X, y = data.data, data.target
    model = JFSCL(lam=2.5).fit(X, y)
    mask = model.get_support()
    assert mask[:2].all()
    assert mask.sum() < 6
    assert_array_equal(model.get_support(indices=True), np.flatnonzero(mask))
    assert_array_equal(model.transform(X), X[:, mask])
    assert model.get_feature_names_out().tolist() == [f"x{j}" for j in np.flatnonzero(mask)]
    assert_array_equal(model.gates_ > 0, mask)
    other = np.where(mask, X, 1e3)
    assert_array_equal(model.predict_proba(other), model.predict_proba(X))


def test_one_machine_for_each_class_has_gates_for_each_class():
    X, y = load_wine(return_X_y=True)
    model = JFSCL(lam=1.0, multiclass="ovr").fit(X, y)
    assert model.gates_.shape == (3, 13)
    assert_array_equal(model.get_support(), model.gates_.any(axis=0))
    assert model.score(X, y) > 0.95


def test_inputs_that_matter_only_together_are_found():
    """Exclusive or: neither input tells anything alone, so that no filter finds them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = JFSCL(0.8, lam=1.0).fit(X, y)
    assert model.features_.tolist() == [0, 1]
    assert model.score(X, y) > 0.85


def test_where_all_gates_would_shut_at_first_one_is_opened_again():
    """Well separated classes make the first strength so great that no gate is worth its penalty."""
    X, y = make_blobs(150, random_state=0)
    model = JFSCL(lam=0.5).fit(X, y)
    states = np.array([model.path_.parameters(t) for t in range(len(model.path_))])
    assert ((states[:, :-2] == 0).all(axis=1) & (states[:, -2:] < 0).all(axis=1)).any()
    assert model.score(X, y) > 0.9


def test_a_gate_shut_too_early_opens_again_with_the_weights_that_this_takes():
    for seed in (0, 24, 30):  # draws in which the opening of the second gate pays only after several steps of weights
        data = make_gaussians(200, 2, random_state=seed)
        model = JFSCL(0.375 / 2, lam=1.0).fit(data.data, data.target)
        counts = np.array([model.path_.parameters(t)[-2:] for t in range(len(model.path_))])
        assert (counts < 0).any(), "no gate was ever shut"
        assert model.get_support().all()


@pytest.mark.parametrize("model", [LRVM(), JFSCL()])
def test_the_point_is_chosen_by_folds_by_held_out_samples_or_by_strength(model):
    X, y = clusters(240, 4, 2, 3, spread=0.8)
    X, y, held = X[:80], y[:80], (X[80:], y[80:])
    best = model.set_params(lam="validation").fit(X, y, X_val=held[0], y_val=held[1])
    assert_allclose(-log_loss(held[1], best.predict_proba(held[0])), np.max(best.scores_[0]), rtol=1e-6)
    same = model.__class__(**{**model.get_params(), "lam": best.lam_}).fit(X, y)
    assert_allclose(same.predict_proba(X), best.predict_proba(X), atol=1e-12)
    folds = model.__class__(**{**model.get_params(), "lam": "cv", "cv": 3}).fit(X, y)
    assert folds.scores_.shape == (3, len(folds.lams_))
    assert folds.lam_ in folds.lams_
    once = StratifiedShuffleSplit(1, random_state=0)
    assert model.__class__(**{**model.get_params(), "lam": "cv", "cv": once}).fit(X, y).scores_.shape[0] == 1
    model.set_params(lam="cv")


def test_what_does_not_fit_together_is_refused():
    X, y = clusters(40, 3, 2, 0)
    with pytest.raises(ValueError, match="X_val"):
        LRVM().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="X_val"):
        LRVM(lam="validation").fit(X, y)
    with pytest.raises(ValueError, match="lam='cv'"):
        tune_width(LRVM(lam=1.0), X, y)
    with pytest.raises(ValueError, match="steepness"):
        JFSCL(steepness=0).fit(X, y)


def test_a_walk_cut_short_says_so_and_an_empty_model_too():
    X, y = clusters(40, 3, 2, 0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert LRVM(lam=0.1, max_iter=3).fit(X, y).status_ == "unfinished"
    with pytest.warns(EmptyModelWarning, match="class frequencies"):
        model = JFSCL(lam=1e6).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], y.mean())


def test_the_width_is_tuned_by_the_best_path():
    X, y = clusters(50, 3, 2, 0)
    for model in (LRVM(cv=3, lam_ratio=0.1), JFSCL(cv=3, lam_ratio=0.1)):
        best = tune_width(model, X, y, factors=[200.0, 1.0])
        assert len(best.width_scores_) == 2
        width = best.gamma if isinstance(best, JFSCL) else best.basis.gamma
        assert width == best.widths_[best.width_scores_.argmax()]
        assert best.width_scores_.argmax() == 1
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("model", [LRVM(cv=3), JFSCL(lam=1.0, multiclass="ovr")])
def test_models_come_back_from_a_file_with_their_path(model, tmp_path):
    X, y = load_iris(return_X_y=True)
    model.fit(X[::2], y[::2])
    smaller.save(model, tmp_path / "model")
    again = smaller.load(tmp_path / "model")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    paths = [m.path_ if isinstance(m.path_, list) else [m.path_] for m in (model, again)]
    assert_array_equal(paths[0][0].coordinates, paths[1][0].coordinates)


def test_the_gated_kernel_is_the_kernel_of_gated_inputs():
    X, _ = clusters(20, 3, 2, 0)
    basis = GatedKernel(gamma=0.7, standardize=False).fit(X, np.ones(20))
    basis.gates_ = np.array([0.5, 0.0, 1.0])
    Z = X * basis.gates_
    order = basis.center_index_
    assert_allclose(basis.transform(X), np.exp(-0.7 * ((Z[:, None] - Z[order]) ** 2).sum(axis=2)), rtol=1e-10)


@pytest.mark.slow
def test_of_forty_inputs_the_two_that_matter_are_found():
    """Lapedriza et al. 2008, section 4.2, 38 noise inputs, 50 draws, default settings."""
    errors, both, noise = [], [], []
    for seed in range(50):
        train, test = make_gaussians(200, 40, random_state=seed), make_gaussians(5000, 40, random_state=1000 + seed)
        model = JFSCL().fit(train.data, train.target)
        errors.append(1 - model.score(test.data, test.target))
        both.append({0, 1} <= set(model.features_.tolist()))
        noise.append(int((model.features_ > 1).sum()))
    print(np.mean(errors), np.mean(both), np.bincount(noise))
    assert np.mean(errors) <= BAYES + 0.01
    assert np.mean(both) >= 0.95
    assert np.mean(np.array(noise) <= 2) >= 0.8
