"""Tensors and other arrays are fitted where they lie, to the optimum and certificate that NumPy arrays reach."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import smaller
from smaller import RMLR, SBMLR, SMLR, SMLRCV, RVMClassifier, RVMRegressor, TypeIIRegressor, path
from smaller.basis import Kernel, Polynomial
from smaller.design import as_design, host, namespace
from smaller.likelihoods import Multinomial
from smaller.objective.posterior import Posterior
from smaller.priors import ElasticNet
from smaller.solvers.l1 import newton as newton_module

pytest.importorskip("array_api_compat", reason="array-api-compat is not installed: pip install 'smaller[gpu]'")
try:
    import torch
except ImportError:
    torch = None
try:
    import array_api_strict as strict
except ImportError:
    strict = None

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed: pip install 'smaller[gpu]'")
CUDA = torch is not None and torch.cuda.is_available()
STRICT = strict is not None and np.lib.NumpyVersion(np.__version__) >= "2.0.0"  # without which it cannot move arrays


def array_maker(xp, device):
    """A function that makes an array of the namespace `xp` of a NumPy array: reals in the precision asked for."""

    def make(X, dtype="float64"):
        X = np.asarray(X)
        return xp.asarray(X, device=device, dtype=getattr(xp, dtype) if X.dtype.kind == "f" else None)

    return make


def array_makers():
    """How to make an array of each namespace that is installed, on each of its devices."""
    makers = {}
    if STRICT:
        # A device whose arrays NumPy cannot read, as those of a GPU: what mixes the two is an error.
        makers["strict"] = array_maker(strict, strict.Device("device1"))
    if torch is not None:
        makers |= {f"torch-{device}": array_maker(torch, device) for device in ["cpu", *(["cuda"] if CUDA else [])]}
    if CUDA:
        try:
            import array_api_compat.cupy as cupy
        except ImportError:
            pass
        else:
            makers["cupy"] = array_maker(cupy, cupy.cuda.Device(0))
    return makers


MAKERS = array_makers()


@pytest.fixture(params=MAKERS)
def array(request):
    return MAKERS[request.param]


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def sinc(n=150):
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, (n, 1))
    return X, np.sinc(X[:, 0] / np.pi) + 0.1 * rng.standard_normal(n)


MULTINOMIAL = {
    "SMLR": SMLR(3.0),
    "SMLR, reference": SMLR(0.5, parametrization="reference"),
    "SMLR, elastic net, standardised": SMLR(1.0, l2=1.0, standardize=True),
    "SMLR, no intercept": SMLR(1.0, fit_intercept=False),
    "SMLR, free columns": SMLR(1.0, penalty_factor=np.r_[0.0, np.ones(12)]),
    "SMLR, balanced": SMLR(1.0, class_weight="balanced"),
    "SMLR, rbf": SMLR(0.3, basis="rbf"),
    "SMLR, quadratic": SMLR(2.0, basis="quadratic"),
    "SMLR, cubic kernel": SMLR(5.0, basis=Kernel("poly", degree=3)),
    "SMLR, groups": SMLR(3.0, groups="features"),
    "SMLR, sparse groups, units": SMLR(2.0, groups=np.arange(13) // 3, l1_share=0.3, l2=0.5, standardize=True),
    "SMLR, groups of a kernel": SMLR(0.5, basis="rbf", groups="features"),
    "SBMLR, groups": SBMLR(groups="features"),
    "RMLR": RMLR(1.0),
    "RMLR, evidence": RMLR("evidence"),
    "SBMLR": SBMLR(),
}


@pytest.mark.parametrize("name", MULTINOMIAL)
def test_a_tensor_gives_the_model_that_an_array_gives(name, array):
    X, y = wine()
    here, there = clone(MULTINOMIAL[name]).fit(X, y), clone(MULTINOMIAL[name]).fit(array(X), array(y))
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)
    assert_allclose(host(there.predict_proba(array(X))), here.predict_proba(X), atol=1e-6)
    assert_array_equal(there.support_, here.support_)
    assert there.dual_gap_ <= 1e-6


@pytest.mark.parametrize("name", [name for name in MULTINOMIAL if name.startswith("SMLR") and "group" in name])
def test_groups_too_large_for_a_hessian_give_that_model(name, array, monkeypatch):
    monkeypatch.setattr(newton_module, "HESSIAN", 0)
    X, y = wine()
    here, there = clone(MULTINOMIAL[name]).fit(X, y), clone(MULTINOMIAL[name]).fit(array(X), array(y))
    assert there.dual_gap_ <= 1e-6
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)


@pytest.mark.parametrize("name", ["SMLR", "SMLR, groups", "SMLR, rbf", "SBMLR"])
def test_in_float32_it_is_the_same_model_up_to_the_rounding_of_the_data(name, array):
    X, y = wine()
    X = X.astype(np.float32)
    here = clone(MULTINOMIAL[name]).fit(X.astype(np.float64), y)
    there = clone(MULTINOMIAL[name]).fit(array(X, "float32"), array(y))
    assert_allclose(there.objective_, here.objective_, rtol=1e-5)
    assert_allclose(host(there.predict_proba(array(X, "float32"))), here.predict_proba(X), atol=2e-5)


def test_two_classes_share_one_column_there_too(array):
    X, y = load_breast_cancer(return_X_y=True)
    here = SMLR(2.0, standardize=True).fit(X, y)
    there = SMLR(2.0, standardize=True).fit(array(X), array(y))
    assert there.coef_.shape == (1, 30)
    assert_allclose(host(there.coef_), here.coef_, atol=1e-6 * np.abs(here.coef_).max())
    assert_array_equal(host(there.predict(array(X))), here.predict(X))
    assert_allclose(host(there.predict_log_proba(array(X))), here.predict_log_proba(X), rtol=1e-6, atol=1e-9)


def test_the_certificate_holds_for_the_weights_that_are_returned(array):
    """Evaluated in NumPy in float64, at coefficients that were rounded to float32."""
    X, y = wine()
    X = X.astype(np.float32)
    model = SMLR(1.0).fit(array(X, "float32"), array(y))
    Y = np.asfortranarray(y[:, None] == np.arange(3), dtype=float)
    objective = Posterior(as_design(X.astype(np.float64), True), Y, Multinomial(False), ElasticNet(1.0))
    W = np.vstack([host(model.coef_).T, host(model.intercept_)]).astype(np.float64)
    assert model.dual_gap_ <= 1e-6
    assert objective.value(W) == pytest.approx(model.objective_, rel=1e-6)
    best = SMLR(1.0, tol=1e-10).fit(X.astype(np.float64), y).objective_
    assert (objective.value(W) - best) / best <= 1e-6


# -- Many weights: accelerated gradient steps


@pytest.fixture
def no_systems(monkeypatch):
    monkeypatch.setattr("smaller.solvers.l1.newton.HESSIAN", 0)


@pytest.mark.usefixtures("no_systems")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"fit_intercept": False},
        {"l2": 2.0},
        {"penalty_factor": np.r_[0.0, np.ones(12)]},
        {"parametrization": "reference"},
    ],
    ids=["plain", "no intercept", "elastic net", "free column", "reference"],
)
def test_gradient_steps_reach_the_same_optimum(parameters, dtype, array):
    X, y = wine()
    X = X.astype(dtype)
    here = SMLR(3.0, **parameters).fit(X.astype(np.float64), y)
    there = SMLR(3.0, **parameters).fit(array(X, dtype), array(y))
    assert there.dual_gap_ <= 1e-6
    assert_allclose(there.objective_, here.objective_, rtol=2e-6)


@pytest.mark.usefixtures("no_systems")
def test_gradient_steps_do_not_mind_large_means_or_other_units(array):
    X, y = wine()
    X = X[:, :6] * np.array([1e-3, 1.0, 1e3, 1.0, 1.0, 1.0]) + np.array([0.0, 1e3, 0.0, -50.0, 5.0, 0.0])
    here = SMLR(3.0, standardize=True).fit(X, y)
    there = SMLR(3.0, standardize=True).fit(array(X), array(y))
    assert_allclose(there.objective_, here.objective_, rtol=2e-6)


@pytest.mark.usefixtures("no_systems")
def test_weights_offsets_and_gradient_steps(array):
    X, y = wine()
    rng = np.random.default_rng(0)
    weight, offset = rng.integers(0, 3, len(y)).astype(float), rng.standard_normal((len(y), 3))
    here = SMLR(2.0).fit(X, y, weight, offset)
    there = SMLR(2.0).fit(array(X), array(y), array(weight), array(offset))
    assert_allclose(there.objective_, here.objective_, rtol=2e-6)
    P = there.predict_proba(array(X), offset=array(offset))
    assert_allclose(host(P), here.predict_proba(X, offset=offset), atol=1e-3)


# -- Weights


def test_a_weight_is_a_repetition(array):
    X, y = wine()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = SMLR(1.0, standardize=True).fit(array(X), array(y), sample_weight=array(times.astype(float)))
    repeated = SMLR(1.0, standardize=True).fit(array(np.repeat(X, times, axis=0)), array(np.repeat(y, times)))
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9)
    assert_allclose(host(weighted.coef_), host(repeated.coef_), atol=1e-6)


def test_weights_may_be_those_of_kernel_centres(array):
    X, y = wine()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    here = SMLR(0.3, basis="rbf").fit(X, y, weight)
    there = SMLR(0.3, basis="rbf").fit(array(X), array(y), weight)
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)
    assert there.coef_.shape == here.coef_.shape


# -- Paths and cross-validation


def test_the_path_is_the_same(array):
    X, y = wine()
    here, there = path(X, y, 8), path(array(X), array(y), 8)
    assert_allclose(there.lams, here.lams, rtol=1e-9)
    assert_allclose(there.objectives, here.objectives, rtol=2e-6)
    assert_array_equal(there.n_kept, here.n_kept)
    assert (there.dual_gaps <= 1e-6).all()


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_cross_validation_chooses_the_same_strength(scoring, array):
    X, y = wine()
    here = SMLRCV(8, cv=3, scoring=scoring, rule="1se").fit(X, y)
    there = SMLRCV(8, cv=3, scoring=scoring, rule="1se").fit(array(X), array(y))
    assert_allclose(there.scores_, here.scores_, rtol=1e-5)
    assert there.lam_ == pytest.approx(here.lam_)


def test_cross_validation_of_a_precomputed_kernel(array):
    X, y = wine()
    K = np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    here = SMLRCV([1.0, 0.3], cv=3, basis="precomputed").fit(K, y)
    there = SMLRCV([1.0, 0.3], cv=3, basis="precomputed").fit(array(K), array(y))
    assert_allclose(there.scores_, here.scores_, rtol=1e-5)


# -- Evidence


@pytest.mark.parametrize(
    "model",
    [
        RVMRegressor(),
        RVMRegressor(algorithm="original"),
        RVMRegressor(noise=0.01, fit_intercept=False),
        TypeIIRegressor(basis="rbf"),
    ],
    ids=["fast", "original", "known noise", "Type II"],
)
def test_regression_by_evidence_is_the_same(model, array):
    X, y = sinc()
    here, there = clone(model).fit(X, y), clone(model).fit(array(X), array(y))
    # The search ends where nothing gains tol nats: rounding may end it a step earlier.
    assert there.evidence_ == pytest.approx(here.evidence_, abs=2 * model.tol)
    expected, found = here.predict(X, return_std=True), there.predict(array(X), return_std=True)
    for a, b in zip(expected, found, strict=True):
        assert_allclose(host(b), a, atol=0.02 * np.std(y))


@pytest.mark.parametrize("algorithm", ["em", "mackay", "reweighted-l2", "reweighted-l1"])
def test_every_algorithm_of_type_two_takes_tensors(algorithm, array):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    y = X[:, 0] - X[:, 3] + 0.1 * rng.standard_normal(40)
    here = TypeIIRegressor(algorithm).fit(X, y)
    there = TypeIIRegressor(algorithm).fit(array(X), array(y))
    assert there.evidence_ == pytest.approx(here.evidence_, rel=1e-6)
    assert_allclose(host(there.coef_), here.coef_, atol=1e-5)


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
def test_classification_by_evidence_is_the_same(multiclass, array):
    X, y = load_iris(return_X_y=True)
    here = RVMClassifier(multiclass=multiclass).fit(X, y)
    there = RVMClassifier(multiclass=multiclass).fit(array(X), array(y))
    assert_allclose(there.objective_, here.objective_, rtol=1e-6)
    assert_allclose(host(there.predict_proba(array(X))), here.predict_proba(X), atol=1e-5)
    assert_array_equal(there.support_, here.support_)


def test_a_large_precision_matrix_is_inverted_on_the_device(array, monkeypatch):
    monkeypatch.setattr("smaller.design.device.LARGE_SYSTEM", 20)
    X, y = sinc()
    here = RVMRegressor(algorithm="original").fit(X, y)
    there = RVMRegressor(algorithm="original").fit(array(X), array(y))
    assert there.evidence_ == pytest.approx(here.evidence_, rel=1e-6)


# -- Everything follows X


def test_what_is_learned_and_predicted_follows_x(array):
    X, y = wine()
    X, y = array(X, "float32"), array(y)
    model = SMLR(1.0).fit(X, y)
    for name in ("coef_", "intercept_"):
        found = getattr(model, name)
        assert type(found) is type(X)
        assert found.dtype == X.dtype
        assert found.device == X.device
    for found in (model.predict_proba(X), model.decision_function(X), model.transform(X), model.predict(X)):
        assert type(found) is type(X)
        assert found.device == X.device
    assert isinstance(model.classes_, np.ndarray)
    assert model.score(X, y) > 0.9


def test_relevance_vectors_and_variances_follow_x(array):
    X, y = sinc()
    X = array(X, "float32")
    model = RVMRegressor().fit(X, array(y))
    for name in ("relevance_vectors_", "coef_", "gamma_", "covariance_"):
        found = getattr(model, name)
        assert (type(found), found.dtype, found.device) == (type(X), X.dtype, X.device), name


def test_labels_may_be_names(array):
    X, y = wine()
    names = np.array(["red", "white", "rose"])[y]
    model = SMLR(1.0).fit(array(X), names)
    assert_array_equal(model.predict(array(X)), SMLR(1.0).fit(X, names).predict(X))


@pytest.mark.skipif(not STRICT, reason="array-api-strict and NumPy 2 are not installed")
def test_labels_may_lie_elsewhere_than_x():
    X, y = wine()
    there, labels = strict.asarray(X, device=strict.Device("device1")), strict.asarray(y)
    model = SMLR(1.0).fit(there, labels)
    assert model.predict(there).device == there.device
    assert model.score(there, labels) == SMLR(1.0).fit(X, y).score(X, y)
    assert SMLR(1.0).fit(X, labels).objective_ == pytest.approx(model.objective_)


@pytest.mark.parametrize("alone", [False, True], ids=["X and y", "y alone"])
def test_without_array_api_compat_the_error_names_the_extra(alone, array, monkeypatch):
    X, y = wine()
    data = X if alone else array(X), array(y)
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"pip install 'smaller\[gpu\]'"):
        SMLR(1.0).fit(*data)


def test_a_model_fitted_there_predicts_here_and_the_other_way_round(array):
    X, y = wine()
    for model in (SMLR(1.0), SMLR(0.3, basis="rbf"), RVMClassifier()):
        there, here = clone(model).fit(array(X), array(y)), clone(model).fit(X, y)
        assert isinstance(there.predict_proba(X), np.ndarray)
        assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-6)
        assert_allclose(host(here.predict_proba(array(X))), here.predict_proba(X), atol=1e-6)


def test_a_model_fitted_there_is_saved_and_loaded(array, tmp_path):
    X, y = wine()
    model = SMLR(0.3, basis="rbf").fit(array(X), array(y))
    smaller.save(model, tmp_path / "model.smaller")
    loaded = smaller.load(tmp_path / "model.smaller")
    assert_allclose(loaded.predict_proba(X), host(model.predict_proba(array(X))), atol=1e-9)
    assert isinstance(loaded.coef_, np.ndarray)


def test_a_warm_start_continues_from_tensors(array):
    X, y = wine()
    model = SMLR(1.0, warm_start=True).fit(array(X), array(y))
    first = model.objective_
    assert model.fit(array(X), array(y)).n_iter_ <= 1
    assert model.objective_ == pytest.approx(first, rel=1e-9)


def test_whole_numbers_are_converted(array):
    X, y = wine()
    whole = np.round(3 * X).astype(np.int64)
    assert SMLR(1.0).fit(array(whole), array(y)).coef_.dtype == array(X).dtype


@needs_torch
def test_half_precision_is_converted():
    X, y = wine()
    half = torch.asarray(X).to(torch.float16)
    assert SMLR(1.0).fit(half, torch.asarray(y)).coef_.dtype == torch.float32


@needs_torch
def test_a_tensor_that_needs_a_gradient_is_read_without_one():
    X, y = wine()
    model = SMLR(1.0).fit(torch.asarray(X).requires_grad_(), torch.asarray(y))
    assert not model.coef_.requires_grad


# -- Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X * float("nan"), y), "NaN or infinity"),
        (lambda X, y: (X[:, 0], y), "Expected 2D"),
        (lambda X, y: (X[:0, :], y[:0]), "minimum of 1"),
        (lambda X, y: (X, y[:-1]), "rows but y has"),
        (lambda X, y: (X, y * 0), "at least two classes"),
        (lambda X, y: (X, None), "y is None"),
        (lambda X, y: (namespace(X).astype(X, namespace(X).complex64), y), "Complex data"),
    ],
    ids=["nan", "vector", "empty", "lengths", "one class", "no targets", "complex"],
)
def test_bad_input_is_refused_and_leaves_the_model_as_it_was(change, message, array):
    X, y = wine()
    model = SMLR(1.0).fit(array(X), array(y))
    before = model.coef_
    with pytest.raises(ValueError, match=message):
        model.fit(*change(array(X), array(y)))
    assert model.coef_ is before


def test_solvers_of_the_host_are_refused_by_name(array):
    X, y = wine()
    with pytest.raises(ValueError, match="solver='component-wise' needs a NumPy array"):
        SMLR(1.0, solver="component-wise").fit(array(X), array(y))


def test_the_accelerated_solver_is_refused_for_numpy_arrays():
    with pytest.raises(ValueError, match="solver='accelerated' needs a tensor"):
        SMLR(1.0, solver="accelerated").fit(*wine())


def test_another_number_of_columns_is_refused_in_predict(array):
    X, y = wine()
    model = SMLR(1.0).fit(array(X), array(y))
    with pytest.raises(ValueError, match="features"):
        model.predict(array(X[:, :5]))


# -- The design and the gradient


@pytest.mark.parametrize("intercept", [True, False])
def test_every_operation_of_the_design_is_that_of_numpy(intercept, array):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 7)) + 3.0
    here, there = as_design(X, intercept), as_design(array(X), intercept)
    W, R = rng.standard_normal((7 + intercept, 3)), rng.standard_normal((60, 3))
    s, rows = rng.random(60), np.array([1, 4, 5])
    with_ones = np.append(rows, 7) if intercept else rows
    assert_allclose(host(there.scores(W)), here.scores(W))
    assert_allclose(there.pull(array(R)), here.pull(R))
    assert_allclose(there.pull(array(R), with_ones), here.pull(R, with_ones))
    assert_allclose(there.gram(array(s)), here.gram(s))
    assert_allclose(there.cross(array(s), with_ones, rows), here.cross(s, with_ones, rows))
    assert_allclose(there.cross(array(s), rows, with_ones), here.cross(s, rows, with_ones))
    for a, b in zip(here.moments(s), there.moments(s), strict=True):
        assert_allclose(b, a)
    assert_allclose(there.take(rows), here.take(rows))
    assert_allclose(there.squares(array(R**2), X.mean(axis=0)), here.squares(R**2, X.mean(axis=0)))
    center = (s @ X / s.sum())[rows]
    assert_allclose(there.spread(array(s), center, rows), here.spread(s, center, rows))
    assert_allclose(there.outer(s, center, s[:3], rows), here.outer(s, center, s[:3], rows))


def test_polynomials_on_a_device_are_those_of_numpy(array):
    X = np.random.default_rng(0).standard_normal((20, 3))
    for basis in (Polynomial(2), Polynomial(3), Polynomial(3, interaction_only=True)):
        basis.fit(X, np.ones(20))
        assert_allclose(host(basis.transform(array(X))), basis.transform(X))
        assert_allclose(host(basis.transform(array(X), np.array([2, 4]))), basis.transform(X, np.array([2, 4])))


KERNEL_CHECK = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import array_api_compat.torch as xp, torch
from smaller.design.triton_kernels import Cut, KernelGradient
from smaller.design.loss_gradient import LossGradient
torch.manual_seed(0)
for n, d, k, reference, offset in ((70, 20, 10, False, False), (40, 17, 3, True, True), (33, 9, 1, True, False)):
    X, y = torch.randn(n, d), torch.randint(0, k + reference, (n,))
    Y, s = (y[:, None] == torch.arange(k)).double(), torch.rand(n, dtype=torch.float64)
    known = torch.randn(n, k, dtype=torch.float64) if offset else None
    W, b = torch.randn(d, k, dtype=torch.float64), torch.randn(1, k, dtype=torch.float64)
    exact = LossGradient(xp, X, Y, s, known, reference, torch.float64)(W, b)
    found = KernelGradient(X, Y, s, known, reference, Cut((32, 16, 4, 2), (16, 16, 4, 2)))(W, b)
    for a, b in zip(exact, found, strict=True):
        assert a.shape == b.shape
        assert float((a - b).abs().max()) < 1e-5 * float(a.abs().max()), (n, d, k)
"""


@pytest.mark.skipif(CUDA, reason="the device itself is asked below")
def test_the_kernels_give_the_gradient():
    """In Triton's interpreter, so that no device is needed."""
    pytest.importorskip("triton", reason="Triton is not installed: it comes with PyTorch on Linux")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", KERNEL_CHECK], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(not CUDA, reason="no CUDA device")
@pytest.mark.parametrize(("k", "reference"), [(10, False), (3, True), (1, True), (40, False)])
def test_the_kernels_give_the_gradient_on_the_device(k, reference):
    import array_api_compat.torch as xp

    from smaller.design.loss_gradient import LossGradient
    from smaller.design.triton_kernels import KernelGradient

    torch.manual_seed(0)
    X = torch.randn(5003, 301, device="cuda")
    y = torch.randint(0, k + reference, (5003,), device="cuda")
    Y, s = (y[:, None] == torch.arange(k, device="cuda")).double(), torch.rand(5003, dtype=torch.float64, device="cuda")
    W = 0.1 * torch.randn(301, k, dtype=torch.float64, device="cuda")
    b = torch.randn(1, k, dtype=torch.float64, device="cuda")
    exact = LossGradient(xp, X, Y, s, None, reference, torch.float64)(W, b)
    found = KernelGradient(X, Y, s, None, reference)(W, b)
    for a, e in zip(found, exact, strict=True):
        assert float((a - e).abs().max()) < 2e-6 * float(e.abs().max())


def test_numpy_fits_import_neither_torch_nor_array_api_compat():
    code = (
        "import sys, numpy as np, smaller\n"
        "X = np.random.default_rng(0).standard_normal((40, 3))\n"
        "smaller.SMLR(1.0).fit(X, X[:, 0] > 0).predict(X)\n"
        "assert not {'torch', 'array_api_compat', 'triton', 'cupy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


WITHOUT_CORE = """
import sys, warnings
sys.modules["smaller._core.compiled"] = None  # as where there was no compiler
import array_api_strict as xp
from sklearn.datasets import load_iris
from smaller import SMLR, _core
X, y = load_iris(return_X_y=True)
X = xp.asarray(X, device=xp.Device("device1"))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    models = [SMLR(lam=1.0).fit(X, y) for _ in range(2)]
assert not _core.COMPILED
assert models[1].dual_gap_ <= 1e-6
print(*(f"{each.category.__name__}: {each.message}" for each in told), sep="\\n")
"""


@pytest.mark.skipif(not STRICT, reason="array-api-strict is not installed")
def test_without_the_compiled_core_a_fit_on_a_device_warns_once():
    environment = {**os.environ, "SMALLER_PURE": ""}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CORE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1, done.stdout
    assert done.stdout.startswith("CompiledCoreWarning: smaller was installed without its compiled core")
    assert "many times slower. Install a C++ compiler" in done.stdout
