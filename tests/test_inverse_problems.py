"""Type II regression for inverse problems: operators instead of matrices, groups, complex numbers, and "auto"."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference_cases import case
from scipy.fft import dct, idct
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from smaller import TypeIIRegressor, load, maximally_sparse, save
from smaller.design import as_design
from smaller.errors import ConvergenceWarning, EmptyModelWarning, ModelFileError, UnidentifiedNoiseWarning
from smaller.objective.evidence import Evidence
from smaller.solvers.type2.grouped import GroupedEvidence, GroupFit, promises
from smaller.solvers.type2.variance_newton import _not_below_0, newton_on_variances


def cosines(rows, p):
    """Some rows of the inverse discrete cosine transform, as products."""

    def forward(v):
        return idct(v, norm="ortho", axis=0)[rows]

    def adjoint(u):
        full = np.zeros((p, *u.shape[1:]))
        full[rows] = u
        return dct(full, norm="ortho", axis=0)

    products = {"matvec": forward, "rmatvec": adjoint, "matmat": forward, "rmatmat": adjoint}
    return LinearOperator((len(rows), p), dtype=float, **products)


def wide_problem(seed=0, n=30, p=80, k=None, imaginary=False):
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if imaginary else 0.0)

    Phi, x = draw(n, p), np.zeros((p, k or 1), dtype=complex if imaginary else float)
    x[rng.choice(p, 6, replace=False)] = 1 + draw(6, k or 1)
    Y = Phi @ x + 0.1 * draw(n, k or 1)
    return Phi, Y if k else Y[:, 0]


def group_stationarity(Phi, Y, gamma, noise, labels):
    """Largest |slope| of the log evidence in a group's log variance, and largest q2 / (k z) of a group outside."""
    Y = Y.reshape(len(Y), -1)
    S = noise * np.eye(len(Phi)) + (Phi * gamma) @ Phi.conj().T
    solved = np.linalg.solve(S, Phi)
    z, q2 = (Phi.conj() * solved).sum(axis=0).real, (np.abs(solved.conj().T @ Y) ** 2).sum(axis=1)
    names = np.unique(labels)
    z, q2, inside = (np.array([values[labels == name].sum() for name in names]) for values in (z, q2, gamma))
    scale = np.array([gamma[labels == name].mean() for name in names])
    slope = scale * (Y.shape[1] * z - q2)
    return np.abs(slope).max(), (q2 / (Y.shape[1] * z))[inside == 0].max()


# -- operators


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_operator_is_its_matrix(intercept, weighted):
    """The same evidence, weights and error bars to 1e-8, with sample weights (0 among them) and an intercept."""
    Phi, y = wide_problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = TypeIIRegressor(noise=0.01, fit_intercept=intercept, tol=1e-9)
    matrix = model.fit(Phi + 1.0, y, sample_weight=weight)
    expected = matrix.predict(Phi, return_std=True)
    operator = TypeIIRegressor(noise=0.01, fit_intercept=intercept, tol=1e-9, groups=np.arange(80))
    operator.fit(aslinearoperator(Phi + 1.0), y, sample_weight=weight)
    assert operator.status_ == "converged"
    assert operator.evidence_ == pytest.approx(matrix.evidence_, abs=1e-8)
    assert_allclose(operator.coef_, matrix.coef_, atol=1e-8)
    assert operator.intercept_ == pytest.approx(matrix.intercept_, abs=1e-7)
    for found, wanted in zip(operator.predict(aslinearoperator(Phi), return_std=True), expected, strict=True):
        assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


def test_the_products_of_an_operator_are_those_of_its_matrix():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((7, 5)), rng.random(7)
    here, there = as_design(X, True), as_design(aslinearoperator(X), True)
    columns, R = np.array([0, 2, 3, 5]), rng.standard_normal((7, 2))
    for name, given in {
        "scores": (rng.standard_normal((6, 2)),), "pull": (R, columns), "gram": (s, columns), "take": (columns[:3],),
        "squares": (np.abs(R), np.ones(5)), "spread": (s, X[0, :3], columns[:3]),
        "outer": (s, np.ones(3), np.arange(1.0, 4.0), columns[:3]), "cross": (s, np.array([1, 4]), columns),
    }.items():  # fmt: skip
        assert_allclose(getattr(there, name)(*given), getattr(here, name)(*given), atol=1e-12)
    for found, wanted in zip(there.moments(s), here.moments(s), strict=True):
        assert_allclose(found, wanted, atol=1e-12)


def test_undersampled_cosines_by_products_alone():
    """The larger case of the reference, whose covariance would have 16 million numbers: within a nat of the best."""
    data, reference = case("inverse_dct")
    operator, truth = cosines(data["rows4096"], 4096), data["x_true4096"]
    model = TypeIIRegressor(noise=reference["lam"], fit_intercept=False).fit(operator, data["y4096"])
    assert model.status_ == "converged"
    assert model.evidence_ > reference["problems"]["4096"]["best"]["log_evidence"] - 1.0
    early = TypeIIRegressor(noise=reference["lam"], fit_intercept=False, em_steps=30).fit(operator, data["y4096"])
    errors = [np.linalg.norm(each.coef_ - truth) / np.linalg.norm(truth) for each in (early, model)]
    assert errors[0] < 0.037 < 0.04 < errors[1]  # what the documentation says of early stopping
    assert early.status_ == "stopped"
    assert early.evidence_ < model.evidence_ - 10


def test_operators_that_lack_what_is_needed_are_refused():
    Phi, y = wide_problem()
    without = LinearOperator(Phi.shape, matvec=lambda v: Phi @ v, dtype=float)
    with pytest.raises(ValueError, match="without rmatvec"):
        TypeIIRegressor(noise=0.1).fit(without, y)
    operator = aslinearoperator(Phi)
    with pytest.raises(ValueError, match="basis='linear'"):
        TypeIIRegressor(basis="rbf", noise=0.1).fit(operator, y)
    with pytest.raises(ValueError, match="algorithm='auto'"):
        TypeIIRegressor("mackay", noise=0.1).fit(operator, y)
    with pytest.raises(ValueError, match="complex=True"):
        TypeIIRegressor(noise=0.1).fit(aslinearoperator(Phi + 1j), y)
    with pytest.raises(ValueError, match="inconsistent"):
        TypeIIRegressor(noise=0.1).fit(operator, y[:-1])
    with pytest.raises(ValueError, match="NaN or infinity"):
        TypeIIRegressor(noise=0.1).fit(aslinearoperator(np.where(Phi > 2, np.nan, Phi)), y)
    model = TypeIIRegressor(noise=0.1).fit(operator, y)
    with pytest.raises(ValueError, match="expecting 80"):
        model.predict(aslinearoperator(Phi[:, 1:]))


# -- groups


@pytest.mark.parametrize("k", [None, 3])
def test_groups_of_one_column_are_none(k):
    Phi, Y = wide_problem(k=k)
    alone = TypeIIRegressor(noise=0.01, tol=1e-9).fit(Phi, Y)
    grouped = TypeIIRegressor(noise=0.01, groups=[f"column {j}" for j in range(80)], tol=1e-9).fit(Phi, Y)
    assert grouped.evidence_ == pytest.approx(alone.evidence_, abs=1e-8)
    assert_allclose(grouped.coef_, alone.coef_, atol=1e-8)


@pytest.mark.parametrize("k", [None, 4])
def test_groups_end_at_a_maximum_over_all_groups(k):
    """Groups of one to four columns, in any order, of columns in different units."""
    Phi, Y = wide_problem(3, k=k)
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(32), rng.permutation(np.repeat([1, 2, 3, 4], 8))))
    Phi *= np.exp(rng.standard_normal(80))
    model = TypeIIRegressor(noise=0.02, fit_intercept=False, groups=labels, tol=1e-8).fit(Phi, Y)
    assert model.status_ == "converged"
    slope, ratio = group_stationarity(Phi, Y, model.gamma_, 0.02, labels)
    assert slope < 1e-7
    assert ratio <= 1 + 1e-6
    for name in np.unique(labels[model.support_]):
        assert np.ptp(model.gamma_[labels == name]) <= 1e-12 * model.gamma_.max()
    S = 0.02 * np.eye(30) + (Phi * model.gamma_) @ Phi.T
    Z = Y.reshape(30, -1)
    quadratic = np.trace(Z.T @ np.linalg.solve(S, Z))
    value = -0.5 * (Z.shape[1] * (np.linalg.slogdet(S)[1] + 30 * np.log(2 * np.pi)) + quadratic)
    assert model.evidence_ == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("size", [1, 3])
def test_sources_of_free_orientation(size):
    """The simulated leadfield: at least the best evidence known, and far above the fixed points of MNE's rule."""
    data, reference = case("inverse_leadfield")
    labels = np.repeat(np.arange(500), 3) if size == 3 else None
    model = TypeIIRegressor(noise=reference["lam"], fit_intercept=False, groups=labels).fit(data["G"], data["Y"])
    assert model.status_ == "converged"
    assert model.evidence_ > reference["solutions"][f"group size {size}"]["log_evidence"] - 1e-3
    theirs = [value["L"] for name, value in reference["solutions"].items() if f"group_size={size}" in name]
    assert -2 * model.evidence_ - 1200 * np.log(2 * np.pi) < min(theirs)


def test_labels_of_another_number_of_columns_are_refused():
    Phi, y = wide_problem()
    with pytest.raises(ValueError, match="one label for each of the 80 columns"):
        TypeIIRegressor(noise=0.1, groups=np.arange(7)).fit(Phi, y)
    with pytest.raises(ValueError, match="em_steps needs the variance"):
        TypeIIRegressor(em_steps=7).fit(Phi, y)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_grouped_columns_and_targets_do_not_matter(scale):
    Phi, y = wide_problem(2)
    labels = np.arange(80) // 2
    one = TypeIIRegressor(noise=0.02, groups=labels, tol=1e-8).fit(Phi, y)
    other = TypeIIRegressor(noise=0.02 * scale**2, groups=labels, tol=1e-8).fit(Phi * 1e3, y * scale)
    assert_allclose(other.coef_ * 1e3 / scale, one.coef_, rtol=1e-6, atol=1e-8)
    assert other.evidence_ == pytest.approx(one.evidence_ - 29 * np.log(scale), abs=1e-6)


# -- complex numbers


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("kind", ["matrix", "operator"])
def test_complex_data_are_their_real_embedding(kind, k):
    """Blocks of two with half the variances; densities of complex numbers are those of their parts."""
    Phi, Y = wide_problem(imaginary=True, k=k)
    noise = 0.02
    given = Phi if kind == "matrix" else aslinearoperator(Phi)
    model = TypeIIRegressor(noise=noise, fit_intercept=False, complex=True, tol=1e-9).fit(given, Y)
    wide = np.block([[Phi.real, -Phi.imag], [Phi.imag, Phi.real]])
    real = TypeIIRegressor(noise=noise / 2, fit_intercept=False, groups=np.tile(np.arange(80), 2), tol=1e-9)
    real.fit(wide, np.concatenate([Y.real, Y.imag]))
    coef = real.coef_[..., :80] + 1j * real.coef_[..., 80:]
    assert_allclose(model.coef_, coef, atol=1e-10)
    assert_allclose(model.gamma_, 2 * real.gamma_[:80], atol=1e-10)
    assert model.noise_ == noise
    S = noise * np.eye(30) + (Phi * model.gamma_) @ Phi.conj().T
    Z = Y.reshape(30, -1)
    quadratic = np.trace(Z.conj().T @ np.linalg.solve(S, Z)).real
    value = -Z.shape[1] * (30 * np.log(np.pi) + np.linalg.slogdet(S)[1]) - quadratic
    assert model.evidence_ == pytest.approx(value, abs=1e-8)
    kept = Phi[:, model.support_]
    covariance = np.linalg.inv(kept.conj().T @ kept / noise + np.diag(1 / model.gamma_[model.support_]))
    assert_allclose(model.covariance_, covariance, atol=1e-10)
    mean, std = model.predict(Phi, return_std=True)
    assert_allclose(mean, (Phi @ model.coef_.T), atol=1e-10)
    assert_allclose(std**2 - noise, np.einsum("ij,jk,ik->i", kept, covariance, kept.conj()).real, atol=1e-10)
    slope, ratio = group_stationarity(Phi, Y, model.gamma_, noise, np.arange(80))
    assert slope < 1e-8
    assert ratio <= 1 + 1e-6


@pytest.mark.parametrize("operator", [False, True])
def test_a_constant_complex_column_is_the_intercept_once_more(operator):
    """Taking the means out leaves rounding of it, which is no column."""
    Phi, y = wide_problem(imaginary=True)
    Phi[:, 3] = 0.1 * (1 + 2j)
    s = np.linspace(0.5, 2, len(y))
    rest = np.delete(Phi, 3, axis=1)
    known, alone = (
        TypeIIRegressor(noise=0.02, complex=True).fit(aslinearoperator(X) if operator else X, y + 5, s)
        for X in (Phi, rest)
    )
    assert known.coef_[3] == 0
    assert known.evidence_ == pytest.approx(alone.evidence_, abs=1e-5)
    with pytest.warns(EmptyModelWarning, match="kept no column"):
        level = TypeIIRegressor(noise=0.02, complex=True).fit(Phi, np.full(len(y), 0.1 + 0.7j), s)
    assert not level.coef_.any()
    assert level.intercept_ == pytest.approx(0.1 + 0.7j)


def test_a_complex_intercept_is_integrated_out():
    """As a column of ones whose weight has a variance without end, up to the density of that weight."""
    Phi, y = wide_problem(imaginary=True)
    model = TypeIIRegressor(noise=0.02, complex=True, tol=1e-9).fit(Phi, y + 3 - 2j)
    moved = TypeIIRegressor(noise=0.02, complex=True, tol=1e-9).fit(Phi, y)
    assert model.intercept_ - moved.intercept_ == pytest.approx(3 - 2j)
    assert model.evidence_ == pytest.approx(moved.evidence_, abs=1e-9)
    flat = 1e9
    S = 0.02 * np.eye(30) + (Phi * model.gamma_) @ Phi.conj().T + flat
    value = -30 * np.log(np.pi) - np.linalg.slogdet(S)[1] - (y.conj() @ np.linalg.solve(S, y)).real
    assert model.evidence_ == pytest.approx(value + np.log(np.pi * flat), abs=1e-4)
    ones = np.ones(30)
    kept = np.column_stack([Phi[:, model.support_], ones])
    precision = kept.conj().T @ kept / 0.02 + np.diag(np.append(1 / model.gamma_[model.support_], 0.0))
    variance = np.einsum("ij,jk,ik->i", kept, np.linalg.inv(precision), kept.conj()).real
    assert_allclose(model.predict(Phi, return_std=True)[1] ** 2 - 0.02, variance, rtol=1e-8)


def test_directions_of_arrival():
    data, reference = case("inverse_doa")
    model = TypeIIRegressor(noise=reference["lam"], fit_intercept=False, complex=True).fit(data["Phi"], data["Y"])
    assert model.evidence_ > reference["best"]["log_evidence"] - 1e-3
    assert set(data["true"]) <= set(model.support_)


def test_complex_data_are_refused_unless_asked_for():
    Phi, y = wide_problem(imaginary=True)
    with pytest.raises(ValueError, match="Complex data not supported"):
        TypeIIRegressor(noise=0.1).fit(Phi, y)
    for wrong, message in ((Phi[0], "2D array"), (np.where(Phi.real > 2, np.nan, Phi), "NaN or infinity")):
        with pytest.raises(ValueError, match=message):
            TypeIIRegressor(noise=0.1, complex=True).fit(wrong, y)
    with pytest.raises(ValueError, match="basis='linear'"):
        TypeIIRegressor(noise=0.1, complex=True, basis="rbf").fit(Phi, y)


# -- "auto"


def test_a_variance_that_is_all_but_0_stops_no_newton_step():
    """Its row of the Hessian is 0: no multiple of a curvature that is 0 as well makes that positive."""
    Phi, Y = wide_problem(k=3)
    problem = GroupedEvidence(Evidence(as_design(Phi), Y))
    fit = GroupFit(problem, np.array([0, 1, 2]), np.array([1.0, 1e-320, 1e-200]), 0.01)
    assert np.isfinite(newton_on_variances(fit, 1e-8, 20).log_evidence)


def test_a_newton_step_ends_at_the_least_of_its_model_where_no_variance_is_below_0():
    """No slope where a variance moved freely, and none that would raise one that was held at 0."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        A, slope = rng.standard_normal((30, 40)), 20 * rng.standard_normal(30)
        H = A @ A.T
        step = _not_below_0(H, slope)
        pull, held = slope + H @ step, step == -1
        assert 0 < held.sum() < 30
        assert step.min() == -1
        assert np.abs(pull[~held]).max() < 1e-10
        assert pull[held].min() >= 0


def test_newton_drops_no_groups_that_would_gain():
    """From all groups of blurred columns: steps that were cut off where variances fall below 0 lost 8 nats of them."""
    promised = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        Phi, X = np.exp(-0.5 * ((np.linspace(0, 1, 40)[:, None] - rng.random(90)) / 0.08) ** 2), np.zeros((90, 1))
        X[rng.choice(90, 6, replace=False)] = rng.standard_normal((6, 1))
        Y = Phi @ X + 0.1 * rng.standard_normal((40, 1))
        problem = GroupedEvidence(Evidence(as_design(Phi), Y, groups=np.arange(90) // 3))
        fit = newton_on_variances(GroupFit(problem, np.arange(30), np.full(30, 0.1), 0.01), 1e-7, 20)
        outside = np.setdiff1d(np.arange(30), fit.groups)
        z, q2 = fit.slopes()
        promised += promises(problem, outside, z[outside], q2[outside]).sum()
    assert promised < 0.5


def test_auto_with_a_prior_of_the_variances_reweights():
    Phi, y = wide_problem(n=60, p=12)
    expected = TypeIIRegressor("reweighted-l2", prior="laplace", noise=0.01).fit(Phi, y)
    assert TypeIIRegressor(prior="laplace", noise=0.01).fit(Phi, y).objective_ == expected.objective_


def test_a_search_that_is_stopped_says_what_is_left():
    Phi, y = wide_problem(4, n=40, p=160)
    with pytest.warns(ConvergenceWarning, match="before the evidence reached a maximum"):
        model = TypeIIRegressor(noise=1e-4, groups=np.arange(160) // 2, max_iter=1).fit(Phi, y)
    assert model.status_ == "sloping"
    assert model.violation_ > model.tol


def test_files_hold_groups_and_refuse_complex_weights(tmp_path):
    Phi, y = wide_problem()
    model = TypeIIRegressor(noise=0.02, groups=np.arange(80) // 2).fit(Phi, y)
    save(model, tmp_path / "model.smaller")
    found = load(tmp_path / "model.smaller")
    for one, other in zip(found.predict(Phi, return_std=True), model.predict(Phi, return_std=True), strict=True):
        assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(ModelFileError, match="complex128"):
        save(TypeIIRegressor(noise=0.02, complex=True).fit(Phi, y), tmp_path / "complex.smaller")


# -- a noise that is not known


def drawn(kind, decibel, seed, n=50, p=200, k=5, targets=1):
    """Unit columns that are independent, correlated with their neighbours, or smooth bumps; noise of a known size."""
    rng = np.random.default_rng([seed, decibel, len(kind)])
    if kind == "smooth":
        at, center, width = np.linspace(0, 1, n)[:, None], 1.1 * rng.random(p) - 0.05, 0.03 + 0.05 * rng.random(p)
        Phi = 1 / (1 + ((at - center) / width) ** 2)
    else:
        Phi = rng.standard_normal((n, p))
        for j in range(1, p if kind == "correlated" else 0):
            Phi[:, j] = 0.9 * Phi[:, j - 1] + np.sqrt(1 - 0.81) * Phi[:, j]
    Phi /= np.linalg.norm(Phi, axis=0)
    X = np.zeros((p, targets))
    size = (
        rng.standard_normal((k, targets)) if targets > 1 else rng.choice([-1.0, 1.0], (k, 1)) * (1 + rng.random((k, 1)))
    )
    X[rng.choice(p, k, replace=False)] = size
    clean = Phi @ X
    noise = float((clean**2).mean()) / 10 ** (decibel / 10)
    return Phi, clean + np.sqrt(noise) * rng.standard_normal(clean.shape), noise, X


@pytest.mark.parametrize("targets", [1, 20])
def test_the_noise_of_four_columns_to_a_sample_is_learned(targets):
    """Five draws: the median within 40 % of the truth, none off by a factor of 5; the evidence would end at 1e-8."""
    ratios = []
    for seed in range(5):
        Phi, Y, noise, _ = drawn("iid", 20, seed, targets=targets)
        with pytest.warns(UnidentifiedNoiseWarning, match="50 samples exactly with 200 columns"):
            model = TypeIIRegressor(fit_intercept=False).fit(Phi, Y if targets > 1 else Y[:, 0])
        assert model.status_ == "converged"
        ratios.append(model.noise_ / noise)
    assert 1 / 1.4 < np.median(ratios) < 1.4
    assert 0.2 < min(ratios) < max(ratios) < 5


def test_the_noise_of_grouped_complex_and_operator_problems_is_learned():
    Phi, Y, noise, _ = drawn("iid", 20, 0)
    blurred = Phi + 1j * Phi[::-1]
    clean = blurred[:, :3] @ np.ones(3)
    rng = np.random.default_rng(0)
    noisy = clean + 0.05 * (rng.standard_normal(50) + 1j * rng.standard_normal(50))
    for options, given, target, expected in (
        ({"groups": np.arange(200) // 2}, Phi, Y[:, 0], noise),
        ({}, aslinearoperator(Phi), Y[:, 0], noise),
        ({"complex": True}, blurred, noisy, 0.005),
    ):
        with pytest.warns(UnidentifiedNoiseWarning):
            model = TypeIIRegressor(fit_intercept=False, **options).fit(given, target)
        assert 0.3 < model.noise_ / expected < 3


def test_the_noise_of_many_targets_is_learned_in_groups_and_by_products_too():
    Phi, Y, noise, _ = drawn("iid", 10, 0, targets=20)
    ratios = []
    for groups, given in ((None, Phi), (None, aslinearoperator(Phi)), (np.arange(200) // 2, Phi)):
        with pytest.warns(UnidentifiedNoiseWarning, match="scaled lasso"):
            model = TypeIIRegressor(fit_intercept=False, groups=groups).fit(given, Y)
        ratios.append(model.noise_ / noise)
    assert ratios[1] == pytest.approx(ratios[0], rel=1e-6)
    assert 0.8 < min(ratios) < max(ratios) < 1.25


def test_few_grouped_columns_leave_the_noise_to_the_evidence():
    Phi, y = wide_problem(n=120, p=20)
    alone = TypeIIRegressor(tol=1e-8).fit(Phi, y)
    grouped = TypeIIRegressor(tol=1e-8, groups=np.arange(20)).fit(Phi, y)
    assert grouped.status_ == "converged"
    assert grouped.noise_ == pytest.approx(alone.noise_, rel=1e-6)
    assert grouped.evidence_ == pytest.approx(alone.evidence_, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_a_noise_chosen_by_held_out_samples_has_the_units_of_the_targets(scale):
    Phi, Y, _, _ = drawn("iid", 20, 1)
    with pytest.warns(UnidentifiedNoiseWarning):
        one, other = TypeIIRegressor().fit(Phi, Y[:, 0]), TypeIIRegressor().fit(3 * Phi, scale * Y[:, 0])
    assert other.noise_ == pytest.approx(scale**2 * one.noise_, rel=1e-6)
    assert other.support_.tolist() == one.support_.tolist()


# -- the sparsest solution of noisy data


def test_the_sparsest_solution_notices_noise():
    """Without noise it is exact; with noise no exact solution is sparse, and the noise is estimated."""
    Phi, Y, noise, X = drawn("iid", 30, 2)
    clean, noisy = maximally_sparse(Phi, Phi @ X[:, 0]), maximally_sparse(Phi, Y[:, 0])
    truth = np.flatnonzero(X).tolist()
    assert clean.support.tolist() == truth
    assert clean.noise == 0
    assert noisy.support.tolist() == truth
    assert 0.3 < noisy.noise / noise < 3
    assert np.count_nonzero(maximally_sparse(Phi, Y[:, 0], noise=0.0).x) == 50
    operator = maximally_sparse(aslinearoperator(Phi), Y[:, 0])
    assert_allclose(operator.x, noisy.x, atol=1e-10)
    tall = maximally_sparse(Phi[:, :20], Y[:, 0])
    assert tall.noise > 0
