"""Other units of X and y give the same regression model in these units: support, status, weights and error bars."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from smaller import (
    JeffreysRegressor,
    LaplaceRegressor,
    LaplaceRegressorCV,
    RVMRegressor,
    TypeIIRegressor,
    TypeIRegressor,
)
from smaller.inference import CredibleSetsRegressor
from smaller.priors import Power, Student

pytestmark = pytest.mark.filterwarnings(
    "ignore::smaller.errors.ConvergenceWarning",
    "ignore::smaller.errors.EmptyModelWarning",
    "ignore::smaller.errors.UnidentifiedNoiseWarning",
)

SAME = 1e-6
SCALES = [1e-8, 1e-4, 1e4, 1e8]
EXTREMES = [1e-150, 1e-100, 1e100, 1e150]
ALGORITHMS = ["auto", "fast", "em", "mackay", "reweighted-l2", "reweighted-l1"]


class Entry(NamedTuple):
    """A model, and the units of the parameters that it was given: with y * s and X * t each is times s**a t**b."""

    model: object
    units: dict[str, tuple[float, float]] = {}

    def in_units(self, s=1.0, t=1.0):
        """The model with its given parameters rescaled."""
        powers = {name: float(s) ** a * float(t) ** b for name, (a, b) in self.units.items()}
        model = clone(self.model)
        return model.set_params(**{name: getattr(model, name) * power for name, power in powers.items()})


# One line for every regression model and every parameter that has a unit. A strength of LaplaceRegressor has none with
# standardize=True; "student" with a given noise is not here, for no number makes up for the unit of its prior.
REGRESSORS = [
    Entry(TypeIRegressor()),
    Entry(TypeIRegressor(fit_intercept=False)),
    Entry(TypeIRegressor("gaussian")),
    Entry(TypeIRegressor("jeffreys")),
    Entry(TypeIRegressor("student")),
    Entry(TypeIRegressor("lp")),
    Entry(TypeIRegressor(Power(0.01))),
    Entry(TypeIRegressor(Power(1.5))),
    Entry(TypeIRegressor(Student(3))),
    Entry(TypeIRegressor(noise=0.4), {"noise": (1, 0)}),
    Entry(TypeIRegressor("gaussian", noise=0.4), {"noise": (0, 0)}),
    Entry(TypeIRegressor("jeffreys", noise=0.4), {"noise": (2, 0)}),
    Entry(TypeIRegressor("lp", noise=0.4), {"noise": (1.5, 0)}),
    Entry(LaplaceRegressor()),
    Entry(LaplaceRegressor(5.0)),
    Entry(LaplaceRegressor(5.0, noise=0.2), {"noise": (2, 0)}),
    Entry(LaplaceRegressor(5.0, solver="em")),
    Entry(LaplaceRegressor(3.0, standardize=False), {"lam": (-1, 1)}),
    Entry(LaplaceRegressorCV()),
    Entry(LaplaceRegressorCV(rule="1se", l2=0.5)),
    Entry(JeffreysRegressor()),
    Entry(JeffreysRegressor(fit_intercept=False)),
    Entry(JeffreysRegressor(noise=0.2), {"noise": (2, 0)}),
    *(Entry(TypeIIRegressor(algorithm)) for algorithm in ALGORITHMS),
    *(Entry(TypeIIRegressor(algorithm, noise=0.2), {"noise": (2, 0)}) for algorithm in ALGORITHMS),
    Entry(RVMRegressor("linear")),
    Entry(RVMRegressor("linear", algorithm="original")),
    Entry(RVMRegressor("linear", noise=0.2), {"noise": (2, 0)}),
    Entry(RVMRegressor("linear", algorithm="original", noise=0.2), {"noise": (2, 0)}),
]
EVIDENCE = [entry for entry in REGRESSORS if hasattr(entry.model, "algorithm")]
every = pytest.mark.parametrize("entry", REGRESSORS, ids=lambda entry: repr(entry.model))
each_of_evidence = pytest.mark.parametrize("entry", EVIDENCE, ids=lambda entry: repr(entry.model))


def problem(n, p, k=None, seed=1):
    """Inputs, targets (n,) or (n, k), and five further inputs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    w = np.zeros(p if k is None else (p, k))
    w.T[..., :4] = 2, -1, 0.5, 1
    y = 1 + X @ w
    return X, y + 0.4 * rng.standard_normal(y.shape), rng.standard_normal((5, p))


def assert_same(found, expected, new, s, t):
    """`found` is `expected` with y * s and X * t."""
    assert_array_equal(found.support_, expected.support_)
    assert found.status_ == expected.status_
    assert_allclose(found.coef_ * t / s, expected.coef_, rtol=SAME, atol=SAME * np.abs(expected.coef_).max())
    mean, std = found.predict(new * t, return_std=True)
    known, spread = expected.predict(new, return_std=True)
    assert_allclose(mean / s, known, rtol=0, atol=SAME * np.abs(known).max())
    assert_allclose(std / s, spread, rtol=SAME)
    assert found.noise_ / s**2 == pytest.approx(expected.noise_, rel=SAME)


@every
@pytest.mark.parametrize("shape", [(60, 12), (25, 40)], ids=str)
def test_units_of_the_target(entry, shape):
    X, y, new = problem(*shape)
    expected = entry.in_units().fit(X, y)
    for s in SCALES:
        assert_same(entry.in_units(s).fit(X, y * s), expected, new, s, 1.0)


@every
@pytest.mark.parametrize("shape", [(60, 12), (25, 40)], ids=str)
def test_units_of_the_inputs(entry, shape):
    X, y, new = problem(*shape)
    expected = entry.in_units().fit(X, y)
    for t in SCALES:
        assert_same(entry.in_units(1.0, t).fit(X * t, y), expected, new, 1.0, t)


@every
@pytest.mark.parametrize("shape", [(60, 12), (25, 40)], ids=str)
def test_units_of_each_input_apart(entry, shape):
    """Ten to the powers from -8 to 8, together with other units of the target."""
    if any(b for _, b in entry.units.values()):
        pytest.skip("the parameter is one number for all columns, whose units it has")
    X, y, new = problem(*shape)
    expected = entry.in_units().fit(X, y)
    t = 10.0 ** (np.arange(X.shape[1]) % 17 - 8)
    for s in (1e-8, 1.0, 1e8):
        assert_same(entry.in_units(s).fit(X * t, y * s), expected, new, s, t)


@every
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_the_largest_and_the_smallest_numbers_that_can_be_squared(entry, size):
    """No overflow, no division by zero, no failed factorisation: warnings are errors here."""
    X, y, new = problem(60, 12)
    expected = entry.in_units().fit(X, y)
    powers = [a for a, _ in entry.units.values()]
    if 2 * abs(np.log10(size)) * max(powers, default=0) <= 600:
        assert_same(entry.in_units(size).fit(X, y * size), expected, new, size, 1.0)
    assert_same(entry.in_units(1.0, size).fit(X * size, y), expected, new, 1.0, size)


@pytest.mark.parametrize("model", [TypeIRegressor(), LaplaceRegressor(), JeffreysRegressor()], ids=repr)
def test_numbers_that_cannot_be_squared_are_refused(model):
    X, y, _ = problem(60, 12)
    for factor in (1e-200, 1e200):
        with pytest.raises(ValueError, match=r"^y has values that are too large or too small"):
            model.fit(X, y * factor)
        with pytest.raises(ValueError, match=r"^X has values that are too large or too small"):
            model.fit(X * factor, y)
        with pytest.raises(ValueError, match="variances overflow or vanish"):
            model.fit(X * np.sqrt(factor), y / np.sqrt(factor))


# -- models of the evidence


@each_of_evidence
def test_the_evidence_is_a_density_of_the_targets(entry):
    X, y, _ = problem(60, 12)
    expected = entry.in_units().fit(X, y).evidence_
    for s in SCALES + EXTREMES:
        found = entry.in_units(s).fit(X, y * s).evidence_ + (len(y) - 1) * np.log(s)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    "model", [TypeIIRegressor("fast"), TypeIIRegressor("mackay"), RVMRegressor("linear")], ids=repr
)
def test_several_targets_in_other_units(model):
    X, Y, new = problem(30, 8, 3)
    expected = clone(model).fit(X, Y)
    for s in SCALES + EXTREMES:
        assert_same(clone(model).fit(X, Y * s), expected, new, s, 1.0)


def test_a_kernel_machine_in_other_units():
    X = np.random.default_rng(0).uniform(-5, 5, (60, 1))
    y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(60)
    expected = RVMRegressor().fit(X, y)
    for s in SCALES + EXTREMES:
        assert_same(RVMRegressor().fit(X, y * s), expected, X, s, 1.0)
    for t in SCALES:  # the weights belong to kernel values, which have no unit
        found = RVMRegressor().fit(X * t, y)
        assert_array_equal(found.support_, expected.support_)
        assert found.status_ == expected.status_
        for ours, known in zip(
            found.predict(X * t, return_std=True), expected.predict(X, return_std=True), strict=True
        ):
            assert_allclose(ours, known, rtol=SAME, atol=SAME * np.abs(y).max())


@each_of_evidence
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_columns_and_targets_that_say_nothing(entry, scale):
    """Constant, zero and repeated columns, and constant targets: no overflow, no division by zero."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 4))
    X = np.column_stack([A, A[:, 0], 2 * A[:, 1], np.full(20, 0.1), np.zeros(20)])
    y = A[:, 0] - A[:, 1] + 0.1 * rng.standard_normal(20)
    assert np.isfinite(entry.in_units(0.2).fit(X, y).predict(X)).all()
    if entry.units:
        return
    for target in (np.full(20, 0.1), np.zeros(20), np.full(20, scale)):
        constant = entry.in_units().fit(X * scale, target)
        assert len(constant.support_) == 0
        assert_allclose(constant.predict(X * scale), target)


@each_of_evidence
def test_what_no_number_can_hold_is_refused(entry):
    """Weights of 1e300 have variances beyond the largest number; a noise of 1e-8 is lost in the targets' rounding."""
    X, y, _ = problem(60, 12)
    if entry.units:
        with pytest.raises(ValueError, match="rounding"):
            entry.in_units(1e-4).fit(X, 1e30 * y)
    else:
        with pytest.raises(ValueError, match="variances"):
            entry.in_units().fit(1e-150 * X, 1e150 * y)


# -- credible sets


@pytest.mark.parametrize("shape", [(60, 12), (25, 40)], ids=str)
@pytest.mark.parametrize(
    "entry",
    [
        Entry(CredibleSetsRegressor()),
        Entry(CredibleSetsRegressor(noise=0.2), {"noise": (2, 0)}),
        Entry(CredibleSetsRegressor(prior_variance=0.5), {"prior_variance": (2, 0)}),
    ],
    ids=lambda entry: repr(entry.model),
)
def test_credible_sets_in_other_units(entry, shape):
    X, y, _ = problem(*shape)
    expected = entry.in_units().fit(X, y)
    for s, t in [(s, 1.0) for s in SCALES] + [(1.0, t) for t in SCALES]:
        found = entry.in_units(s, t).fit(X * t, y * s)
        assert [features.tolist() for features in found.sets_] == [features.tolist() for features in expected.sets_]
        assert (found.n_iter_, found.converged_) == (expected.n_iter_, expected.converged_)
        assert_allclose(found.inclusion_, expected.inclusion_, atol=SAME)
        assert_allclose(found.coef_ * t / s, expected.coef_, rtol=SAME, atol=SAME * np.abs(expected.coef_).max())
        assert_allclose(found.prior_variance_ / s**2, expected.prior_variance_, rtol=SAME)
        assert found.noise_ / s**2 == pytest.approx(expected.noise_, rel=SAME)
