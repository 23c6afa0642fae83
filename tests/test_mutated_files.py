"""Model files that were changed: each is refused with a sentence, or is a model that predicts."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from test_golden import inputs, told

import smaller
from smaller.errors import ModelFileError

FOLDER = Path(__file__).parent / "golden" / "0.1"
FILES = sorted(FOLDER.glob("*.npz"))
pytestmark = pytest.mark.filterwarnings("ignore:This TypeIRegressor was fitted by smaller 0.1")  # it was
QUICK, THOROUGH = 40, 2000  # mutations of each file

VALUES = [None, True, -1, 0, 3, 2**40, 0.5, -2.5, 1e308, "text", "", "rbf", [], [1], {"tuple": []}, {"dict": []}]
VALUES += [{"float": "nan"}, {"float": "inf"}, {"array": "0"}, {"array": {"objects": [None, 1], "shape": [2]}}]
VALUES += [{"scalar": ["<f8", 1.5]}, {"scalar": ["<i8", -3]}, {"scalar": ["<U3", "abc"]}]
PRIOR = {"prior": {"class": "Jeffreys", "parts": {}}}
VALUES += [PRIOR]


def read(path):
    """The header, and the arrays by their names."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts.pop("header.json"))
    return header, {name: np.load(io.BytesIO(part), allow_pickle=False) for name, part in parts.items()}


def write(path, header, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array, allow_pickle=False)
            archive.writestr(name, stream.getvalue())
    return path


def places(tree):
    """Every place of a tree: the container, and the key in it."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from places(value)


def change_tree(header, arrays, rng):
    """Another value somewhere in the tree, a value taken from elsewhere in it, or a value left out."""
    found = list(places(header))
    container, key = found[rng.integers(len(found))]
    kind = rng.integers(4)
    if kind == 0 and isinstance(container, dict):
        del container[key]
    elif kind == 1:
        other, at = found[rng.integers(len(found))]
        container[key] = json.loads(json.dumps(other[at]))
    else:
        container[key] = json.loads(json.dumps(VALUES[rng.integers(len(VALUES))]))


def change_array(header, arrays, rng):
    """An array with other values, another shape or another type."""
    if not arrays:
        return change_tree(header, arrays, rng)
    name = list(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    numbers = array.dtype.kind in "iuf"
    changes = [
        lambda: array.reshape(-1)[: array.size // 2],
        lambda: np.concatenate([array.reshape(-1), array.reshape(-1)]),
        lambda: array.T,
        lambda: array[None],
        lambda: np.roll(array, 1),
        lambda: np.zeros_like(array),
        lambda: array.astype(str) if numbers else np.arange(array.size).reshape(array.shape),
        lambda: array.astype(np.float32) if numbers else array[::-1],
        lambda: -array if numbers else array[:0],
        lambda: one_value(array, rng) if numbers else np.full_like(array, "a"),
        lambda: one_value(array, rng) if numbers else array[:1],
    ]
    arrays[name] = np.ascontiguousarray(changes[rng.integers(len(changes))]())
    return None


def one_value(array, rng):
    changed = array.astype(np.float64) if array.dtype.kind != "f" or rng.random() < 0.3 else array.copy()
    if array.dtype.kind != "f" and rng.random() < 0.7:
        changed = array.copy()
    if changed.size:
        choices = {"f": [np.nan, np.inf, -np.inf, -1, 0, 1e6, 1e-300], "i": [-1, 0, 5, 100], "u": [0, 5, 100]}
        choices = choices[changed.dtype.kind]
        changed.flat[rng.integers(changed.size)] = choices[rng.integers(len(choices))]
    return changed


def mutated(path, target, rng):
    """One to three changes of a sound file."""
    header, arrays = read(path)
    for _ in range(int(rng.integers(1, 4))):
        change = change_tree if rng.random() < 0.6 else change_array
        change(header, arrays, rng)
    return write(target, header, arrays)


def use(model, X):
    """Everything that a prediction, or a selection of features, needs."""
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            getattr(model, method)(X)
    for method in ("get_support", "sentence", "frequency_path"):
        if hasattr(model, "frequencies_") or hasattr(model, "e_values_"):
            getattr(model, method, list)()
    if hasattr(model, "noise_"):
        model.predict(X, return_std=True)


def made_for(model, X):
    """Whether a model is fitted, on as many inputs as X has, of the same names."""
    names = list(getattr(model, "feature_names_in_", []))
    return getattr(model, "n_features_in_", None) == X.shape[1] and names == list(getattr(X, "columns", []))


def failures(path, tmp_path, count, seed):
    """Mutations that load and do not predict, told by their seeds."""
    kept = dict(np.load(path, allow_pickle=False))
    X, found, refused = inputs(kept), [], 0
    for number in range(count):
        target = mutated(path.with_suffix(".model"), tmp_path / "mutated", np.random.default_rng([seed, number]))
        try:
            model = smaller.load(target)
        except ModelFileError as error:
            refused += 1
            found += [] if str(target) in str(error) else [f"{seed}, {number} does not name the file: {error}"]
            continue
        if not made_for(model, X):
            continue
        try:
            with np.errstate(all="ignore"):
                use(model, X)
        except Exception as error:
            found.append(f"{seed}, {number}: {type(error).__name__}: {error}")
    return found, refused


@pytest.mark.parametrize("path", FILES, ids=told)
def test_a_changed_file_is_refused_or_predicts(path, tmp_path):
    found, refused = failures(path, tmp_path, QUICK, seed=0)
    assert found == []
    assert refused > QUICK // 4


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=told)
def test_two_thousand_changes_of_a_file_are_refused_or_predict(path, tmp_path):
    found, refused = failures(path, tmp_path, THOROUGH, seed=1)
    assert found == []
    assert refused > THOROUGH // 4


# What is refused, field by field: the file, the field, and what the message says of it.


def fields(header):
    return header["model"]["estimator"]["fitted"]


def put(name, value):
    return lambda header, arrays: fields(header).update({name: value})


def entries(name, change):
    """The array of a field, changed."""

    def apply(header, arrays):
        member = fields(header)[name]["array"] + ".npy"
        arrays[member] = np.asarray(change(arrays[member].copy()))

    return apply


def basis_entries(name, change):
    def apply(header, arrays):
        part = fields(header)["basis_"]["estimator"]["fitted"][name]
        if isinstance(part, dict) and "array" in part:
            arrays[part["array"] + ".npy"] = np.asarray(change(arrays[part["array"] + ".npy"].copy()))
        else:
            fields(header)["basis_"]["estimator"]["fitted"][name] = change(part)

    return apply


def first(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


NONSENSE = {
    "weights that are NaN": ("smlr", entries("coef_", first(np.nan)), r"model\.coef_ must be finite numbers"),
    "weights that are infinite": ("type-one", entries("coef_", first(np.inf)), r"model\.coef_ must be finite"),
    "weights of another shape": ("smlr", entries("coef_", lambda W: W[:2]), r"model\.coef_ .* shape \(3, 3\)"),
    "weights as text": ("smlr", entries("coef_", lambda W: W.astype(str)), r"model\.coef_ must be finite numbers"),
    "too many classes": ("smlr", entries("classes_", lambda c: np.arange(4)), r"model\.coef_ .* shape \(4, 3\)"),
    "one class": ("smlr-two-classes", entries("classes_", lambda c: c[:1]), r"model\.classes_ .* two different labels"),
    "repeated classes": ("smlr", entries("classes_", lambda c: c * 0), r"model\.classes_ .* different labels"),
    "classes as a number": ("smlr", put("classes_", 3), r"model\.classes_ must be an array .*; got 3"),
    "classes that are NaN": (
        "smlr-float-labels", entries("classes_", first(np.nan)), r"model\.classes_ .* different labels"
    ),
    "a number as basis": ("smlr", put("basis_", 7), r"model\.basis_ must be a fitted basis of 3 inputs; got 7"),
    "a basis of another model": ("smlr", put("basis_", PRIOR), r"model\.basis_"),
    "a negative number of inputs": (
        "smlr", put("n_features_in_", -3), r"model\.n_features_in_ must be a whole number of at least 1; got -3"
    ),
    "half an input": ("smlr", put("n_features_in_", 2.5), r"model\.n_features_in_ .* got 2\.5"),
    "another support": ("smlr-rbf", entries("support_", lambda s: s[1:]), r"model\.support_ must be the columns"),
    "a support with zeros": ("smlr-rbf", entries("support_", lambda s: np.arange(24)), r"model\.support_ must be"),
    "a support beyond the columns": ("rvm", entries("support_", lambda s: s + 24), r"model\.support_ must be"),
    "an intercept too many": ("smlr", entries("intercept_", lambda b: np.append(b, 0.0)), r"model\.intercept_ must be"),
    "an intercept that is NaN": ("smlr", entries("intercept_", first(np.nan)), r"model\.intercept_ must be"),
    "an intercept as text": ("laplace", put("intercept_", "0"), r"model\.intercept_ must be .*; got '0'"),
    "a negative noise": ("laplace", put("noise_", -1.0), r"model\.noise_ must be .*, at least 0; got -1\.0"),
    "a covariance that is not square": (
        "laplace", entries("covariance_", lambda C: C[:1]), r"model\.covariance_ must be symmetric"
    ),
    "a covariance that is not symmetric": (
        "rvm-two", entries("joint_covariance_", lambda C: C + np.triu(np.ones_like(C), 1)), r"model\.joint_covariance_"
    ),
    "a negative variance": ("laplace", entries("covariance_", lambda C: -C), r"model\.covariance_ .* negative var"),
    "negative variances of weights": ("type-two-regressor", entries("gamma_", lambda g: -g), r"model\.gamma_ must be"),
    "centres that are NaN": ("smlr-rbf", basis_entries("centers_", first(np.nan)), r"model\.basis_\.centers_ must be"),
    "a centre too few": ("smlr-rbf", basis_entries("centers_", lambda c: c[1:]), r"model\.basis_\.centers_ must be 24"),
    "a width of 0": ("smlr-poly", basis_entries("gamma_", lambda g: 0.0), r"model\.basis_\.gamma_ must be"),
    "products too few": ("smlr-quadratic", basis_entries("n_columns_", lambda n: 3), r"model\.basis_\.n_columns_ must"),
    "a scale of 0": ("lrvm", basis_entries("scale_", first(0.0)), r"model\.basis_\.scale_ must be .* greater than 0"),
    "negative priors": ("prior-shift", entries("priors_", lambda p: -p), r"model\.priors_ must be"),
    "costs that are not square": ("cost-sensitive", entries("cost_", lambda c: c[:2]), r"model\.cost_ must be"),
    "a threshold that is NaN": ("rejecting", put("threshold_", {"float": "nan"}), r"model\.threshold_ must be"),
    "nothing inside a wrapper": ("prior-shift", put("estimator_", None), r"model\.estimator_ must be a fitted class"),
    "other classes inside a wrapper": (
        "prior-shift", put("classes_", {"array": {"objects": ["a", "b", "c"], "shape": [3]}}), r"model\.estimator_ must"
    ),
    "no winner": ("evidence-search", put("best_estimator_", 1), r"model\.best_estimator_ must be a fitted model"),
    "scalings of other inputs": ("jcfo", entries("theta_", lambda t: t[:, 1:]), r"model\.theta_ must be"),
    "gates of other inputs": ("jfscl", entries("gates_", lambda g: g[1:]), r"model\.gates_ must be"),
    "a status that is no text": ("smlr", put("status_", 0), r"model\.status_ must be a text; got 0"),
    "names of other inputs": (
        "smlr-named-inputs", put("feature_names_in_", {"array": {"objects": ["a"], "shape": [1]}}),
        r"model\.feature_names_in_ must be the names of 3 inputs",
    ),
    "an array that is not there": ("smlr", put("coef_", {"array": "99"}), r"model\.coef_ cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_is_refused_by_the_name_of_its_field(what, tmp_path):
    name, change, said = NONSENSE[what]
    header, arrays = read(FOLDER / f"{name}.model")
    change(header, arrays)
    target = write(tmp_path / "nonsense.model", header, arrays)
    with pytest.raises(ModelFileError, match=said) as caught:
        smaller.load(target)
    assert str(target) in str(caught.value)
    assert str(caught.value).endswith("Use a file that smaller.save wrote.")


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("path", FILES, ids=told)
def test_a_fitted_model_that_lacks_a_field_of_its_predictions_is_refused_or_predicts(path, tmp_path):
    kept = dict(np.load(path, allow_pickle=False))
    header, _ = read(path.with_suffix(".model"))
    for name in fields(header):
        header, arrays = read(path.with_suffix(".model"))
        del fields(header)[name]
        target = write(tmp_path / "lacking", header, arrays)
        try:
            model = smaller.load(target)
        except ModelFileError:
            continue
        use(model, inputs(kept))
