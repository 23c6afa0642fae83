"""Writes the golden files of this version: small model files of every kind, each with inputs and its predictions.

    python tests/golden/make.py

A released version's files are never made again: they show that later versions read them and predict the same. So the
folder of this version, tests/golden/MAJOR.MINOR, must not be there yet. For a model NAME there are NAME.model, and
NAME.npz with inputs (X, or the parts of a sparse matrix) and what the model predicted for them. For a model that the
command wrote there are NAME.model, NAME.csv with a table, and NAME.predicted.csv with what the command predicted.
made.json has the versions of the packages.
"""

import json
import platform
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

import smaller
from smaller import (
    JCFO,
    JFSCL,
    LRVM,
    RMLR,
    SBMLR,
    SMLR,
    SMLRCV,
    EvidenceSearch,
    JeffreysClassifier,
    JeffreysRegressor,
    LaplaceRegressor,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
)
from smaller.basis import Kernel, Polynomial
from smaller.decision import CostSensitive, PriorShift, Rejecting
from smaller.priors import Jeffreys, Power, Student

HERE = Path(__file__).resolve().parent
RNG = np.random.default_rng(0)
N, P, NEW = 24, 3, 5  # training rows, inputs, rows to predict
CODES = np.arange(N) % 3
CENTRES = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.5, 0.0]])
X = CENTRES[CODES] + 0.8 * RNG.normal(size=(N, P))
X_NEW = RNG.normal(size=(NEW, P))
NUMBERS = X @ [1.0, -2.0, 0.0] + 0.3 * RNG.normal(size=N) + 5.0
COLOURS = np.array(["red", "green", "blue"])
WAVE, WAVE_NEW = np.linspace(-5, 5, N)[:, None], np.linspace(-4, 6, NEW)[:, None]
SINC = np.sinc(WAVE[:, 0]) + 0.1 * RNG.normal(size=N)


def thin(A):
    """Most entries are 0."""
    return sparse.csr_array(np.where(np.abs(A) > 0.8, A, 0.0))


def named(A):
    import pandas as pd

    return pd.DataFrame(A, columns=["length", "width", "größe"])


def classifiers():
    """Name: (model, inputs, labels, new inputs)."""
    three, two, words = CODES, CODES == 2, COLOURS[CODES]
    plain = {
        "smlr": (SMLR(), three),
        "smlr-two-classes": (SMLR(0.5), np.where(two, 7, -7)),
        "smlr-text-labels": (SMLR(), words),
        "smlr-object-labels": (SMLR(), words.astype(object)),
        "smlr-float-labels": (SMLR(), 2.0 * CODES - 1.0),
        "smlr-options": (
            SMLR(
                0.3, parametrization="reference", solver="component-wise", l2=0.1, standardize=True,
                class_weight={0: 1.0, 1: 2.5, 2: 1.0}, fit_intercept=False, penalty_factor=np.array([1.0, 0.5, 2.0]),
                random_state=np.random.RandomState(3), warm_start=True,
            ),
            three,
        ),
        "smlr-quadratic": (SMLR(basis="quadratic"), three),
        "smlr-products": (SMLR(basis=Polynomial(2, interaction_only=True), standardize=True), three),
        "smlr-rbf": (SMLR(basis="rbf"), words),
        "smlr-poly": (SMLR(basis=Kernel("poly", gamma=0.5, degree=2, coef0=0.5)), three),
        "smlr-empty": (SMLR(1e4), three),
        "rmlr": (RMLR(), three),
        "rmlr-evidence-rbf": (RMLR("evidence", basis="rbf"), words),
        "sbmlr": (SBMLR(n_init=2), words),
        "sbmlr-rbf": (SBMLR(basis=Kernel(gamma=0.3)), three),
        "smlrcv": (SMLRCV(lams=6, cv=KFold(3, shuffle=True, random_state=0), rule="1se"), three),
        "smlrcv-rbf": (SMLRCV(lams=[2.0, 1.0, 0.5], cv=3, basis="rbf", scoring="accuracy"), words),
        "evidence-search": (EvidenceSearch(SBMLR(), {"basis": ["linear", Kernel(gamma=0.1)]}), three),
        "jeffreys": (JeffreysClassifier(basis="rbf"), three),
        "jeffreys-linear-two": (JeffreysClassifier(), two),
        "rvm": (RVMClassifier(), three),
        "rvm-rest": (RVMClassifier("linear", multiclass="ovr", moderate=False), words),
        "rvm-two": (RVMClassifier(Kernel(gamma=0.5)), two),
        "type-two": (TypeIIClassifier(), three),
        "type-two-two": (TypeIIClassifier("rbf"), two),
        "jcfo": (JCFO(0.5, 1.0), words),
        "lrvm": (LRVM(lam=2.0), three),
        "lrvm-cv": (LRVM(cv=3, max_iter=15), two),
        "jfscl": (JFSCL(lam=2.0), words),
        "jfscl-rest": (JFSCL(lam=2.0, multiclass="ovr"), three),
        "prior-shift": (PriorShift(SMLR(), priors={0: 0.5, 1: 0.25, 2: 0.25}), three),
        "prior-shift-adapted": (PriorShift(SMLR(), training_priors="uniform"), three),
        "cost-sensitive": (CostSensitive(RMLR(), cost={(0, 1): 20.0}, reject_cost=0.2), three),
        "rejecting": (Rejecting(CostSensitive(PriorShift(SBMLR())), error=0.3, cv=3), words),
        "rejecting-frozen": (Rejecting(FrozenEstimator(SMLR().fit(X, words)), threshold=0.6), words),
    }  # fmt: skip
    yield from ((name, model, X, y, X_NEW) for name, (model, y) in plain.items())
    yield "smlr-sparse", SMLR(), thin(X), three, thin(X_NEW)
    yield "smlr-sparse-rbf", SMLR(basis="rbf"), thin(X), words, thin(X_NEW)
    yield "smlr-float32", SMLR(), X.astype(np.float32), three, X_NEW.astype(np.float32)
    yield "smlr-named-inputs", SMLR().set_output(transform="pandas"), named(X), words, named(X_NEW)
    K, K_NEW = np.exp(-((X[:, None] - X) ** 2).sum(2)), np.exp(-((X_NEW[:, None] - X) ** 2).sum(2))
    yield "smlr-precomputed", SMLR(basis="precomputed"), K, three, K_NEW


def regressors():
    """Name: (model, inputs, targets, new inputs)."""
    plain = {
        "laplace": LaplaceRegressor(),
        "laplace-options": LaplaceRegressor(0.5, noise=0.1, standardize=False),
        "jeffreys-regressor": JeffreysRegressor(),
        "type-one": TypeIRegressor(),
        "type-one-power": TypeIRegressor(Power(0.5)),
        "type-one-student": TypeIRegressor(Student(3)),
        "type-one-jeffreys": TypeIRegressor(Jeffreys()),
        "type-two-regressor": TypeIIRegressor(),
        "type-two-regressor-em": TypeIIRegressor("em"),
    }
    yield from ((name, model, X, NUMBERS, X_NEW) for name, model in plain.items())
    yield "rvm-regressor", RVMRegressor(), WAVE, SINC, WAVE_NEW
    yield "jeffreys-regressor-rbf", JeffreysRegressor(basis=Kernel(gamma=0.2)), WAVE, SINC, WAVE_NEW
    several = np.column_stack([NUMBERS, -2 * NUMBERS + X[:, 0]])
    yield "type-two-regressor-several", TypeIIRegressor(), X, several, X_NEW


def predictions(model, X) -> dict[str, np.ndarray]:
    """What a model says of X, by the names of what was asked."""
    if not is_classifier(model):
        mean, std = model.predict(X, return_std=True)
        return {"predict": mean, "std": std}
    found = {"predict": np.asarray(model.predict(X)), "predict_proba": model.predict_proba(X)}
    if hasattr(model, "decision_function"):
        found["decision_function"] = model.decision_function(X)
    if found["predict"].dtype == object:
        found["predict"] = found["predict"].astype(str)
    return found


def inputs(X) -> dict[str, np.ndarray]:
    """X as plain arrays."""
    if sparse.issparse(X):
        return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    if hasattr(X, "columns"):
        return {"X": X.to_numpy(), "names": np.array(X.columns, dtype=str)}
    return {"X": X}


def shorten(model) -> None:
    """Keep the first rows of each history, which is most of a small file."""
    for inner in ("estimator_", "best_estimator_", "estimator"):
        if hasattr(model, inner):
            shorten(getattr(model, inner))
    if hasattr(model, "history_"):
        many = bool(model.history_) and isinstance(model.history_[0], list)
        model.history_ = [each[:2] for each in model.history_] if many else model.history_[:2]


def write_models(folder: Path) -> None:
    for name, model, X, y, X_new in [*classifiers(), *regressors()]:
        model.fit(X, y)
        if name == "smlr-sparse-rbf":
            model.sparsify()
        if name == "prior-shift-adapted":
            model.adapt(X_new)
        shorten(model)
        smaller.save(model, folder / f"{name}.model")
        np.savez_compressed(folder / f"{name}.npz", **inputs(X_new), **predictions(model, X_new))
    smaller.save(SMLR(0.25, basis=Kernel(gamma=0.5), tol=1e-9), folder / "unfitted.model")


def mixed(rows: int):
    """A table with numbers, texts, codes and missing values; its rows differ from call to call."""
    import pandas as pd

    frame = pd.DataFrame({
        "age": RNG.integers(20, 80, rows).astype(float),
        "sex": RNG.choice(["f", "m"], rows),
        "colour": RNG.choice(["red", "green", "blue"], rows),
        "ward": RNG.integers(1, 4, rows),
    })  # fmt: skip
    frame["cost"] = (10 * (frame["sex"] == "f") + frame["age"] / 8 + RNG.normal(0, 1.0, rows)).round(3)
    frame["outcome"] = np.where(frame["cost"] + RNG.normal(0, 2.0, rows) > 11, "well", "ill")
    frame.loc[2, "age"], frame.loc[3, "colour"] = np.nan, np.nan
    return frame


def write_tables(folder: Path) -> None:
    from smaller.cli import run

    options = {
        "table-classes": ("outcome", "--ignore cost --impute --categorical ward"),
        "table-rbf": ("outcome", "--ignore cost --impute --basis rbf --model rmlr --lam 1"),
        "table-numbers": ("cost", "--ignore outcome --impute"),
    }
    with tempfile.TemporaryDirectory() as place:
        training = Path(place, "training.csv")
        mixed(40).to_csv(training, index=False)
        for name, (target, more) in options.items():
            model, new, out = folder / f"{name}.model", folder / f"{name}.csv", folder / f"{name}.predicted.csv"
            mixed(6).drop(columns=["cost", "outcome"]).to_csv(new, index=False)
            if run(["fit", str(training), "--target", target, "--output", str(model), *more.split()]):
                raise RuntimeError(f"{name} could not be fitted")
            if run(["predict", str(model), str(new), "--output", str(out)]):
                raise RuntimeError(f"{name} could not predict")


def main() -> None:
    folder = HERE / ".".join(smaller.__version__.split(".")[:2])
    if folder.exists():
        sys.exit(f"{folder} is there already, and the files of a version are made once; nothing was written.")
    beside = HERE / f"{folder.name}.part"  # a run that fails leaves no folder of the version
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # empty models and short paths are meant
        write_models(beside)
        write_tables(beside)
    versions = {"smaller": smaller.__version__, "python": platform.python_version(), "numpy": np.__version__}
    versions |= {"scipy": scipy.__version__, "scikit-learn": sklearn.__version__, "machine": platform.machine()}
    (beside / "made.json").write_text(json.dumps(versions, indent=1) + "\n")
    beside.rename(folder)
    print(sum(file.stat().st_size for file in folder.iterdir()) >> 10, "KiB in", folder.name)


if __name__ == "__main__":
    main()
