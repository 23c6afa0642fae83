"""Exported models: runtimes and compiled C predict what the model does, and what cannot be exported says why."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import clusters
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import smaller
from smaller import (
    RMLR,
    SBMLR,
    SMLR,
    SMLRCV,
    EvidenceSearch,
    JeffreysClassifier,
    JeffreysRegressor,
    LaplaceRegressor,
    LaplaceRegressorCV,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
    to_c,
    to_onnx,
)
from smaller.basis import Kernel, Polynomial
from smaller.decision import PriorShift, Rejecting
from smaller.persist.registry import ESTIMATORS

X, CODES = clusters(n=90, p=4)
NEW = np.random.default_rng(7).normal(0, 2, size=(60, 4))
Y = X[:, 0] - 0.5 * X[:, 1] ** 2 + np.random.default_rng(0).normal(0, 0.3, len(X))
NAMES = np.array(["red", "green", 'blue "\\ é'])
COMPILERS = {"c": ["cc", "-std=c99"], "c++": ["c++", "-std=c++11", "-x", "c++"]}
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]

CLASSIFIERS = {
    "SMLR": SMLR(0.5),
    "SMLR, float labels": SMLR(0.5),
    "SMLR, products": SMLR(0.5, basis=Polynomial(3)),
    "SMLR, interactions": SMLR(0.5, basis=Polynomial(3, interaction_only=True)),
    "SMLR, rbf": SMLR(0.5, basis="rbf"),
    "SMLR, poly": SMLR(0.5, basis="poly"),
    "SMLR, linear kernel": SMLR(0.5, basis=Kernel("linear")),
    "SMLR, few centres": SMLR(0.5, basis=Kernel("rbf", centers=9)),
    "SMLR, reference": SMLR(0.5, parametrization="reference"),
    "SMLR, no intercept": SMLR(0.5, fit_intercept=False),
    "SMLR, empty": SMLR(1e4),
    "SMLRCV": SMLRCV(lams=4, cv=3),
    "RMLR": RMLR(),
    "SBMLR": SBMLR(),
    "EvidenceSearch": EvidenceSearch(SBMLR(), {"basis": ["linear", "rbf"]}),
    "RVMClassifier": RVMClassifier(),
    "RVMClassifier, linear": RVMClassifier("linear"),
    "RVMClassifier, no intercept": RVMClassifier("linear", fit_intercept=False),
    "RVMClassifier, one against the rest": RVMClassifier(multiclass="ovr"),
    "RVMClassifier, not moderated": RVMClassifier("linear", moderate=False),
    "JeffreysClassifier": JeffreysClassifier(),
    "JeffreysClassifier, rbf": JeffreysClassifier(basis="rbf"),
    "TypeIIClassifier": TypeIIClassifier(),
    "scaled": make_pipeline(StandardScaler(), RVMClassifier()),
}
REGRESSORS = {
    "RVMRegressor": RVMRegressor(),
    "RVMRegressor, given centres": RVMRegressor(Kernel("rbf", centers=NEW[:20])),
    "RVMRegressor, linear": RVMRegressor("linear"),
    "RVMRegressor, no intercept": RVMRegressor("linear", fit_intercept=False),
    "RVMRegressor, quadratic": RVMRegressor("quadratic"),
    "JeffreysRegressor": JeffreysRegressor(),
    "LaplaceRegressor": LaplaceRegressor(5.0),
    "LaplaceRegressorCV": LaplaceRegressorCV(lams=5, cv=3),
    "LaplaceRegressor, groups": LaplaceRegressor(5.0, groups="features", l1_share=0.2, l2=1.0),
    "LaplaceRegressor, empty": LaplaceRegressor(1e4),
    "TypeIRegressor": TypeIRegressor("student"),
    "TypeIIRegressor": TypeIIRegressor("em"),
    "scaled": make_pipeline(StandardScaler(with_mean=False), RVMRegressor()),
}
TARGETS = {
    "classes": [(name, classes) for name in CLASSIFIERS for classes in (2, 3)],
    "numbers": [(name, targets) for name in REGRESSORS for targets in (1, 2)],
}


@pytest.fixture(autouse=True)
def quiet(recwarn):
    """Some of these models keep nothing, on purpose."""
    import warnings

    warnings.simplefilter("ignore", smaller.errors.EmptyModelWarning)


def classifier(name, classes):
    labels = NAMES[CODES] if classes == 3 else (CODES == 0).astype(int) + 4
    labels = CODES.astype(float) if name.endswith("float labels") else labels
    return clone(CLASSIFIERS[name]).fit(X, labels)


def regressor(name, targets):
    model = clone(REGRESSORS[name])
    if targets == 2 and isinstance(model, JeffreysRegressor):
        pytest.skip("this model has one target")
    return model.fit(X, Y if targets == 1 else np.column_stack([Y, X[:, 2]]))


# -- ONNX


def through_onnx(model, X, **settings):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model, **settings).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


@pytest.mark.parametrize(("name", "classes"), TARGETS["classes"])
def test_a_runtime_says_the_same_labels_and_probabilities(name, classes):
    model = classifier(name, classes)
    found = through_onnx(model, NEW)
    assert_array_equal(found["label"], model.predict(NEW))
    assert_allclose(found["probabilities"], model.predict_proba(NEW), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("name", "targets"), TARGETS["numbers"])
def test_a_runtime_says_the_same_means_and_standard_deviations(name, targets):
    model = regressor(name, targets)
    found = through_onnx(model, NEW)
    mean, deviation = model.predict(NEW, return_std=True)
    assert found["mean"].shape == mean.shape
    assert_allclose(found["mean"], mean, rtol=1e-10, atol=1e-10)
    assert_allclose(found["standard_deviation"], deviation, rtol=1e-10)


def test_single_precision_goes_in_and_out():
    model = classifier("RVMClassifier", 3)
    found = through_onnx(model, NEW.astype(np.float32), dtype="float32")
    assert found["probabilities"].dtype == np.float32
    assert_allclose(found["probabilities"], model.predict_proba(NEW.astype(np.float32).astype(float)), atol=1e-6)


def test_far_from_the_training_samples_probabilities_stay_finite():
    model = JeffreysClassifier().fit(X, CODES)
    far = 1e6 * NEW
    found = through_onnx(model, far)
    assert_allclose(found["probabilities"], model.predict_proba(far), rtol=1e-8, atol=1e-14)


def test_the_graph_knows_its_inputs():
    pytest.importorskip("onnx")
    graph = to_onnx(SBMLR().fit(X, CODES), names=["a", "b", "c", "d"])
    told = {entry.key: entry.value for entry in graph.metadata_props}
    assert json.loads(told["inputs"]) == ["a", "b", "c", "d"]
    assert told["model"] == "SBMLR"


def test_without_its_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"smaller\[export\]"):
        to_onnx(SMLR().fit(X, CODES))


# -- C

READS = """
#include <stdio.h>
#include "model.h"
int main(void) {
    double x[odd_INPUTS];
    for (;;) {
        for (int j = 0; j < odd_INPUTS; ++j)
            if (scanf("%lf", &x[j]) != 1) return 0;
BODY
    }
}
"""
CLASSES = """
        double p[odd_CLASSES];
        printf("%s\\n", odd_classes[odd_predict(x, p)]);
        if (odd_predict(x, NULL) != odd_predict(x, p)) return 1;
        for (int c = 0; c < odd_CLASSES; ++c) printf("%.17g ", p[c]);
        printf("\\n");
"""
NUMBERS = """
        double mean[odd_SCORES], deviation[odd_SCORES] = {0};
        odd_predict(x, mean, deviation);
        odd_predict(x, NULL, NULL);
        for (int k = 0; k < odd_SCORES; ++k) printf("%.17g ", mean[k]);
        for (int k = 0; k < odd_SCORES; ++k) printf("%.17g ", deviation[k]);
        printf("\\n");
"""


def through_c(model, X, folder, language="c", **settings):
    """What the compiled header prints: lines of text."""
    compiler = COMPILERS[language]
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"there is no compiler {compiler[0]}")
    (folder / "model.h").write_text(to_c(model, "odd", **settings), encoding="utf-8")
    body = CLASSES if is_classifier(model) else NUMBERS
    (folder / "main.c").write_text(READS.replace("BODY", body))
    program = folder / "main"
    done = subprocess.run(
        [*compiler, *STRICT, "main.c", "-o", "main", "-lm"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = "\n".join(" ".join(map(repr, row)) for row in X.tolist())
    return subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(("name", "classes"), TARGETS["classes"])
def test_a_compiled_header_says_the_same_labels_and_probabilities(name, classes, tmp_path):
    model = classifier(name, classes)
    lines = through_c(model, NEW, tmp_path)
    assert lines[::2] == [str(label) for label in model.predict(NEW).tolist()]
    assert_allclose(numbers_of(lines[1::2]), model.predict_proba(NEW), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("name", "targets"), TARGETS["numbers"])
def test_a_compiled_header_says_the_same_means_and_standard_deviations(name, targets, tmp_path):
    model = regressor(name, targets)
    found = numbers_of(through_c(model, NEW, tmp_path))
    mean, deviation = model.predict(NEW, return_std=True)
    assert_allclose(np.squeeze(found[:, :targets]), mean, rtol=1e-12, atol=1e-12)
    apart = deviation.ndim == 2  # each target has a standard deviation of its own
    assert_allclose(found[:, targets:] if apart else found[:, targets], deviation, rtol=1e-12)


def numbers_of(lines):
    return np.array([[float(word) for word in line.split()] for line in lines])


@pytest.mark.parametrize("name", ["SMLR, poly", "RVMClassifier", "JeffreysClassifier", "SMLR, empty"])
def test_the_header_is_cpp_too(name, tmp_path):
    model = classifier(name, 3)
    lines = through_c(model, NEW, tmp_path, "c++")
    assert_allclose(numbers_of(lines[1::2]), model.predict_proba(NEW), rtol=1e-12, atol=1e-15)


def test_far_tails_of_the_normal_distribution_are_right_in_c(tmp_path):
    model = JeffreysClassifier().fit(X, CODES)
    model.covariance_, model.center_variance_ = 0 * model.covariance_, 0 * model.center_variance_
    far = 40 * NEW
    assert model.decision_function(far).min() < -40
    lines = through_c(model, far, tmp_path)
    assert_allclose(numbers_of(lines[1::2]), model.predict_proba(far), rtol=1e-9, atol=1e-15)


def test_names_cannot_break_a_header(tmp_path):
    odd = ["*/ int x;", "/* a", 'b "', "é\nc"]
    lines = through_c(SMLR(0.5).fit(X, NAMES[CODES]), NEW[:3], tmp_path, names=odd)
    assert len(lines) == 6
    with pytest.raises(ValueError, match="identifier of C"):
        to_c(SMLR().fit(X, CODES), "2 words")


# -- both


def test_scaling_and_a_scaler_are_one(tmp_path):
    scaler = StandardScaler().fit(X)
    model = RVMRegressor().fit(scaler.transform(X), Y)
    scaling = {"mean": scaler.mean_, "scale": scaler.scale_}
    *_, deviations = numbers_of(through_c(model, NEW, tmp_path, scaling=scaling)).T
    mean, deviation = model.predict(scaler.transform(NEW), return_std=True)
    assert_allclose(deviations, deviation, rtol=1e-12)
    assert_allclose(through_onnx(model, NEW, scaling=scaling)["mean"], mean, rtol=1e-10)


def test_precomputed_kernels_take_their_values(tmp_path):
    K, new = rbf_kernel(X, gamma=0.3), rbf_kernel(NEW, X, gamma=0.3)
    model = RVMRegressor("precomputed").fit(K, Y)
    means, _ = numbers_of(through_c(model, new, tmp_path)).T
    assert_allclose(means, model.predict(new), rtol=1e-12, atol=1e-12)


EXPORTED = {
    type(getattr(model, "estimator", model)).__name__ for model in (*CLASSIFIERS.values(), *REGRESSORS.values())
}


@pytest.mark.parametrize("write", [to_c, to_onnx])
def test_what_cannot_be_exported_says_why(write):
    pytest.importorskip("onnx")
    refused = {
        "export the classifier inside": PriorShift(SMLR()).fit(X, CODES),
        "makes decisions with the probabilities": Rejecting(SMLR(), threshold=0.5).fit(X, CODES),
        "LogisticRegression cannot be exported": LogisticRegression().fit(X, CODES),
        "is Python code": SMLR(basis=Kernel(lambda a, b: a @ b.T)).fit(X, CODES),
        "one StandardScaler before its model": make_pipeline(MinMaxScaler(), SMLR()).fit(X, CODES),
    }
    for said, model in refused.items():
        with pytest.raises(ValueError, match=said):
            write(model)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_model_is_exported_here_or_refused(name):
    """A new model gets a line above, or a sentence."""
    from smaller.export.plan import KINDS

    kind = ESTIMATORS[name]
    assert (name in EXPORTED) == any(issubclass(kind, known) for known in KINDS) or name in (
        "EvidenceSearch",
        "Pipeline",
    )
