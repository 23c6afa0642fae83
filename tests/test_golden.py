"""Model files of released versions load, and predict what they predicted when they were written.

The files lie in tests/golden/VERSION; tests/golden/make.py wrote them with that version.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

import smaller

FOLDER = Path(__file__).parent / "golden"
MODELS = sorted(FOLDER.glob("[0-9]*/*.npz"))  # folders of a single model are tested with it
TABLES = sorted(FOLDER.glob("*/*.predicted.csv"))
SAME, SAME_IN_SINGLE = 1e-12, 1e-5  # relative; the second for inputs in float32

# Wrong when they were written, so that a later version may answer otherwise.
WRONG = {
    ("0.1", r"type-one.*", "std"): "TypeIRegressor of 0.1 used the paper's lambda as a variance in its error bars",
}


def told(path):
    return path.relative_to(FOLDER).as_posix()


def inputs(kept):
    if "indptr" in kept:
        return sparse.csr_array((kept["data"], kept["indices"], kept["indptr"]), shape=tuple(kept["shape"].tolist()))
    if "names" in kept:
        return pytest.importorskip("pandas").DataFrame(kept["X"], columns=kept["names"].astype(object))
    return kept["X"]


def same(found, expected, tolerance, what):
    if expected.dtype.kind in "fc":
        size = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * 1e-2 * size, err_msg=what)
    else:
        np.testing.assert_array_equal(np.asarray(found).astype(expected.dtype), expected, err_msg=what)


def wrong(path, method):
    return any(
        path.parent.name == version and re.fullmatch(name, path.stem) and method == which
        for version, name, which in WRONG
    )


@pytest.mark.parametrize("path", MODELS, ids=told)
def test_a_model_file_of_an_earlier_version_predicts_the_same(path):
    with np.load(path, allow_pickle=False) as archive:
        kept = dict(archive)
    model, X = smaller.load(path.with_suffix(".model")), inputs(kept)
    tolerance = SAME_IN_SINGLE if X.shape and getattr(X, "dtype", None) == np.float32 else SAME
    for method in ("predict", "predict_proba", "decision_function"):
        if method in kept:
            same(getattr(model, method)(X), kept[method], tolerance, method)
    if "std" in kept and not wrong(path, "std"):
        same(model.predict(X, return_std=True)[1], kept["std"], tolerance, "std")
    assert ("predict_proba" in kept) == is_classifier(model)


@pytest.mark.parametrize("path", TABLES, ids=told)
def test_a_model_file_of_an_earlier_command_predicts_the_same_table(path, tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    pd = pytest.importorskip("pandas")
    import warnings

    from smaller.cli import run

    name = path.name.removesuffix(".predicted.csv")
    with warnings.catch_warnings():  # the command sets filters of its own
        arguments = [path.parent / f"{name}.model", path.parent / f"{name}.csv", "--output", tmp_path / "new.csv"]
        assert run(["predict", *map(str, arguments)]) == 0
    found, expected = pd.read_csv(tmp_path / "new.csv"), pd.read_csv(path)
    assert list(found) == list(expected)
    for column in expected:
        values = expected[column].to_numpy()
        same(found[column].to_numpy(), values if values.dtype.kind == "f" else values.astype(str), SAME, column)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/unfitted.model")), ids=told)
def test_a_model_file_of_an_earlier_version_keeps_the_parameters(path):
    model = smaller.load(path)
    assert (model.lam, model.tol, model.basis.gamma) == (0.25, 1e-9, 0.5)
    assert not hasattr(model, "coef_")


def test_golden_files_of_every_estimator_are_there_and_small():
    from smaller.persist import registry
    from smaller.persist.feature_rules import SELECTORS
    from smaller.persist.preparations import PRIVATE

    ESTIMATORS = [name for name in registry.ESTIMATORS if name != "LaplaceRegressorCV"]  # since 0.2, as those below

    text = b"".join(path.read_bytes() for path in FOLDER.glob("*/*.model"))
    missing = [name for name in ESTIMATORS if f'"class": "{name}"'.encode() not in text]
    assert missing == [
        *(cls.__name__ for cls in SELECTORS),
        "TableTransformer",
        *(cls.__name__ for cls in PRIVATE),
    ]  # files hold them since 0.2
    for folder in FOLDER.iterdir():
        assert sum(file.stat().st_size for file in folder.glob("*.*")) < 300 * 1024, folder.name
