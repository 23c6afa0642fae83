"""Pictures: each display draws what its model says, on the axes it is given, and names the extra that it needs."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import sys

import numpy as np
import pytest
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from smaller import (
    SBMLR,
    SMLR,
    SMLRCV,
    EvidenceSearch,
    JeffreysRegressor,
    LaplaceRegressor,
    RVMClassifier,
    RVMRegressor,
    laplace_path,
    path,
    plots,
)
from smaller.basis import Kernel
from smaller.decision import PriorShift, estimate_priors, risk_coverage
from smaller.tuning.ranking import candidates, cross_validated

X, CODES = clusters(n=150, p=4)
NAMES = np.array(["red", "green", "blue"])
Y = X[:, 0] - X[:, 1] + np.random.default_rng(0).normal(0, 0.3, len(X))
LINE = np.sort(np.random.default_rng(1).uniform(-8, 8, 70))[:, None]
WAVE = np.sinc(LINE[:, 0] / np.pi) + 0.1 * np.random.default_rng(2).standard_normal(70)


@pytest.fixture(autouse=True)
def closed():
    """No figure is left open."""
    yield
    pyplot.close("all")


def shift():
    """A classifier whose classes have shifted, and the samples of operation."""
    rng = np.random.default_rng(0)
    y, new = rng.integers(0, 2, 400), (rng.random(800) < 0.1).astype(int)
    model = PriorShift(SMLR()).fit(y[:, None] * 1.5 + rng.normal(size=(400, 3)), y)
    return model, new[:, None] * 1.5 + rng.normal(size=(800, 3))


def displays():
    """One of each kind, by name: functions of axes."""
    return {
        "path": lambda ax: plots.PathDisplay.from_estimator(SBMLR().fit(X, NAMES[CODES]), X, NAMES[CODES], ax=ax),
        "path of numbers": lambda ax: plots.PathDisplay.from_estimator(LaplaceRegressor().fit(X, Y), X, Y, ax=ax),
        "sparsity": lambda ax: plots.SparsityDisplay.from_estimator(SMLRCV(lams=15).fit(X, CODES), X, CODES, ax=ax),
        "models": lambda ax: plots.SparsityDisplay.from_scores(compared(), ax=ax),
        "boundary": lambda ax: plots.BoundaryDisplay.from_estimator(machine(), X[:, :2], NAMES[CODES], ax=ax),
        "band": lambda ax: plots.BandDisplay.from_estimator(wave(), LINE, WAVE, ax=ax),
        "priors": lambda ax: plots.PriorShiftDisplay.from_estimator(shift()[0].adapt(shift()[1]), ax=ax),
        "risk": lambda ax: plots.RiskCoverageDisplay.from_estimator(SBMLR().fit(X, CODES), X, CODES, ax=ax),
    }


def machine():
    return make_pipeline(StandardScaler(), RVMClassifier()).fit(X[:, :2], NAMES[CODES])


def wave():
    return RVMRegressor(Kernel("rbf", gamma=0.1)).fit(LINE, WAVE)


def compared():
    found = candidates("regression", X)
    return cross_validated("regression", {name: found[name] for name in ("rvm", "jeffreys", "the mean")}, X, Y, 3)


@pytest.mark.parametrize("kind", displays())
def test_a_display_draws_on_its_own_axes_or_on_those_given_and_again(kind):
    display = displays()[kind](None)
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() or kind == "priors"
    assert display.ax_.get_ylabel()
    _, ax = pyplot.subplots()
    again = display.plot(ax)
    assert again is display
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    display.figure_.canvas.draw()


def test_the_path_is_that_of_the_settings_per_standard_deviation():
    model = SMLR(2.0, standardize=True).fit(X, CODES)
    display = plots.PathDisplay.from_estimator(model, X, CODES, lams=10, names=list("abcd"))
    found = path(X, CODES, 10, standardize=True)
    assert_allclose(display.lams, found.lams)
    assert_allclose(display.weights, found.coefs * X.std(axis=0), atol=1e-3)
    assert display.chosen == 2.0
    drawn = {line.get_label(): line.get_ydata() for line in display.lines_}
    assert set("abcd") <= set(drawn)
    raw = plots.PathDisplay.from_path(found)
    assert_array_equal(raw.weights, found.coefs)
    assert raw.ax_.get_ylabel() == "weight per unit"


def test_a_model_that_lies_on_no_path_is_not_marked_and_a_kernel_has_none():
    assert plots.PathDisplay.from_estimator(JeffreysRegressor().fit(X, Y), X, Y).chosen is None
    with pytest.raises(ValueError, match="too many for a kernel"):
        plots.PathDisplay.from_estimator(wave(), LINE, WAVE)
    assert len(plots.PathDisplay.from_path(laplace_path(X, Y, 5)).lams) == 5


def test_sparsity_shows_the_scores_of_the_strengths_and_the_one_chosen():
    model = SMLRCV(lams=12, rule="1se").fit(X, CODES)
    display = plots.SparsityDisplay.from_estimator(model, X, CODES)
    assert_allclose(display.losses, -model.scores_.mean(axis=0))
    assert_array_equal(display.kept[: len(model.path_)], model.path_.n_kept)
    assert display.kept[display.chosen] == len(model.support_)
    scores = compared()
    assert_allclose(plots.SparsityDisplay.from_scores(scores).losses, [score.loss for score in scores])
    with pytest.raises(ValueError, match="has not tried several strengths"):
        plots.SparsityDisplay.from_estimator(SMLR().fit(X, CODES), X, CODES)


def test_the_boundary_shows_the_probabilities_and_relevance_vectors_in_units_of_the_inputs():
    model = machine()
    display = plots.BoundaryDisplay.from_estimator(model, X[:, :2], NAMES[CODES], grid=20)
    place = [[display.x[3], display.y[7]]]
    assert_allclose(display.probabilities[7, 3], model.predict_proba(place)[0])
    rows = [np.abs(X[:, :2] - centre).sum(axis=1).min() for centre in display.centres]
    assert len(rows) == len(model[-1].relevance_vectors_)
    assert max(rows) < 1e-9
    assert len(display.centres_.get_offsets()) == len(rows)
    plain = plots.BoundaryDisplay.from_estimator(SMLR().fit(X, CODES > 0), X, CODES > 0, features=(2, 1), grid=10)
    assert plain.centres_ is None
    assert plain.ax_.get_xlabel() == "x2"


def test_the_band_is_the_predictive_one():
    model = wave()
    display = plots.BandDisplay.from_estimator(model, LINE, WAVE, level=0.95)
    mean, deviation = model.predict(display.x[:, None], return_std=True)
    assert_allclose(display.line_.get_ydata(), mean)
    edges = display.band_.get_paths()[0].vertices
    assert edges[:, 1].max() == pytest.approx((mean + 1.959964 * deviation).max(), rel=1e-6)
    order = np.random.default_rng(0).permutation(70)
    predicted = model.predict(LINE[order], return_std=True)
    again = plots.BandDisplay.from_predictions(LINE[order, 0], *predicted, WAVE[order])
    assert_array_equal(again.x, LINE[:, 0])
    search = EvidenceSearch(RVMRegressor(), {"basis": [Kernel(gamma=0.1), Kernel(gamma=1.0)]}).fit(LINE, WAVE)
    assert plots.BandDisplay.from_estimator(search, LINE).noise == search.best_estimator_.noise_


def test_bars_of_the_priors_are_those_that_were_estimated():
    model, new = shift()
    display = plots.PriorShiftDisplay.from_estimator(model, new, truth=[0.9, 0.1])
    expected = estimate_priors(model.estimator_.predict_proba(new), model.training_priors_).priors
    assert_allclose([bar.get_height() for bar in display.bars_["operation"]], expected)
    assert_allclose(display.priors["training"], model.training_priors_)
    adapted = plots.PriorShiftDisplay.from_estimator(model.adapt(new))
    assert "nothing has shifted”: p =" in adapted.ax_.get_title()
    with pytest.raises(ValueError, match="has no priors"):
        plots.PriorShiftDisplay.from_estimator(SMLR().fit(X, CODES))


def test_the_risk_is_that_of_the_curve_also_at_a_cost():
    model = SBMLR().fit(X[::2], NAMES[CODES][::2])
    P, y = model.predict_proba(X[1::2]), NAMES[CODES][1::2]
    cost = [[0, 5, 1], [1, 0, 1], [1, 1, 0]]
    display = plots.RiskCoverageDisplay.from_predictions(y, P, classes=model.classes_, cost=cost)
    expected = risk_coverage(P, y, classes=model.classes_, cost=cost)
    assert_array_equal(display.line_.get_ydata(), expected.risk)
    assert "cost" in display.ax_.get_ylabel()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"smaller\[plot\]"):
        plots.RiskCoverageDisplay.from_estimator(SBMLR().fit(X, CODES), X, CODES)
