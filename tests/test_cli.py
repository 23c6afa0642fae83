"""The command line: from a file to predictions, in the formats people have, with errors that say what to do."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

import typer
from rich.console import Console
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

import smaller
from smaller import SBMLR, SMLR, SMLRCV, JeffreysRegressor, LaplaceRegressor, RVMRegressor, decision, progress
from smaller.cli import app, run, terminal
from smaller.cli.options import parse_costs, parse_priors
from smaller.cli.selecting import METHODS
from smaller.cli.studies import KINDS
from smaller.data.tables.writing_csv import escaped, unescaped, write_csv
from smaller.inference.false_bounds import BOUNDS
from smaller.persist import load_with_notes
from smaller.tables import read_table
from smaller.tuning import ranking
from smaller.tuning.ranking import Score, advice, calibration_error, candidates, cross_validated, task_of
from smaller.tuning.ranking.number_scores import Mean

# NumPy 1.24 warns of a missing value that pandas writes as text.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")

ROOT = Path(__file__).resolve().parent.parent
IRIS = load_iris()
FLOWERS = pd.DataFrame(IRIS.data, columns=["sepal length", "sepal width", "petal length", "petal width"])
FLOWERS["species"] = IRIS.target_names[IRIS.target]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every command runs in a folder of its own, with the flowers in it; warnings go where they went before."""
    import warnings

    monkeypatch.chdir(tmp_path)
    FLOWERS[::2].to_csv("flowers.csv", index=False)
    FLOWERS[1::2].to_csv("new.csv", index=False)
    with warnings.catch_warnings():
        yield tmp_path


def smaller_command(text, capsys, code=0):
    """Run a command and give what it wrote to standard output and standard error."""
    returned = run(shlex.split(text))
    said = capsys.readouterr()
    assert returned == code, said.err
    return said.out, said.err


def mixed(n=120, missing=False):
    """A table as people have them: numbers, names, a column of numbers that are names, text for a target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "id": [f"row {i}" for i in range(n)],
        "age": rng.integers(20, 80, n),
        "sex": rng.choice(["f", "m"], n),
        "colour": rng.choice(["red", "green", "blue"], n),
        "ward": rng.integers(1, 4, n),
    })  # fmt: skip
    frame["outcome"] = np.where((frame["sex"] == "f") + frame["age"] / 80 + rng.normal(0, 0.3, n) > 1.1, "well", "ill")
    if missing:
        frame.loc[[3, 5, 8], "age"] = np.nan
        frame.loc[4, "colour"] = np.nan
    return frame


def numbers(n=90):
    """A table whose target is a number: two of five columns matter."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(n, 5)) * [1, 10, 0.1, 1, 5] + 3, columns=list("abcde"))
    frame["y"] = 2 * frame["a"] - 0.3 * frame["b"] + rng.normal(0, 0.7, n)
    return frame


# -- from a file to predictions


def test_two_commands_lead_from_a_file_to_predictions(capsys):
    out, _ = smaller_command("fit flowers.csv --target species -o flowers.model", capsys)
    assert re.search(r"Kept \d of 4 features", out)
    assert "fitted on: errors on new samples" in out
    smaller_command("predict flowers.model new.csv -o predictions.csv", capsys)
    found = pd.read_csv("predictions.csv")
    direct = SBMLR().fit(FLOWERS.iloc[::2, :4].to_numpy(), FLOWERS["species"][::2])
    assert found["prediction"].tolist() == direct.predict(FLOWERS.iloc[1::2, :4].to_numpy()).tolist()
    columns = [f"probability of {name}" for name in IRIS.target_names]
    np.testing.assert_allclose(found[columns], direct.predict_proba(FLOWERS.iloc[1::2, :4].to_numpy()), atol=1e-12)


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_every_file_with_columns_gives_the_same_table(ending):
    frame = mixed(missing=True)
    WRITERS[ending](frame, f"table.{ending}")
    found = read_table(f"table.{ending}", target="outcome", ignore=["id"], impute=True, categorical=["ward"])
    assert found.columns.inputs == [
        "age", "sex=m", "colour=blue", "colour=green", "colour=red", "ward=1", "ward=2", "ward=3",
    ]  # fmt: skip
    assert found.y.tolist() == frame["outcome"].tolist()
    expected = frame["age"].fillna(frame["age"].median())
    np.testing.assert_array_equal(found.X[:, 0], expected)
    np.testing.assert_array_equal(found.X[:, 1], frame["sex"] == "m")
    colour = frame["colour"].fillna(frame["colour"].mode()[0])
    np.testing.assert_array_equal(found.X[:, 2:5], [[c == k for k in ("blue", "green", "red")] for c in colour])
    np.testing.assert_array_equal(found.X[:, 5:], [[w == k for k in (1, 2, 3)] for w in frame["ward"]])


def test_portions_do_not_matter(monkeypatch):
    mixed(missing=True).to_csv("table.csv", index=False)
    whole = read_table("table.csv", target="outcome", ignore=["id"], impute=True)
    monkeypatch.setattr("smaller.data.tables.frames.PORTION", 7)
    parts = read_table("table.csv", target="outcome", ignore=["id"], impute=True)
    np.testing.assert_array_equal(parts.X, whole.X)
    assert (parts.y.tolist(), parts.columns) == (whole.y.tolist(), whole.columns)


def test_a_column_that_turns_to_text_late_is_text_from_the_start(monkeypatch):
    monkeypatch.setattr("smaller.data.tables.frames.PORTION", 4)
    pd.DataFrame({"code": [1, 2, 1, 2, 1, 2, "x", "x"], "y": list("abababab")}).to_csv("late.csv", index=False)
    assert read_table("late.csv", target="y").columns.inputs == ["code=1", "code=2", "code=x"]


def test_sparse_files_are_fitted_and_predicted_without_names(capsys):
    thin = sparse.csr_array(np.where(IRIS.data > 2, IRIS.data, 0.0))
    dump_svmlight_file(sparse.csr_matrix(thin), IRIS.target, "thin.svm")
    parts = {name: getattr(thin, name) for name in ("data", "indices", "indptr")}
    np.savez("thin.npz", **parts, shape=thin.shape, y=IRIS.target)
    np.savez("full.npz", X=thin.toarray(), y=IRIS.target, feature_names=FLOWERS.columns[:4].to_numpy(dtype=str))
    answers = []
    for file in ("thin.svm", "thin.npz", "full.npz"):
        out, _ = smaller_command(f"fit {file} -o one.model --model smlr --lam 1", capsys)
        smaller_command(f"predict one.model {file} -o out.parquet", capsys)
        answers.append(pd.read_parquet("out.parquet"))
        assert ("petal length" in out) == (file == "full.npz")
    pd.testing.assert_frame_equal(answers[0], answers[1], atol=1e-9)
    pd.testing.assert_frame_equal(answers[0], answers[2], atol=1e-4)


def test_a_model_applies_its_own_categories_and_imputations_to_new_files(capsys):
    frame = mixed(missing=True)
    frame.to_csv("table.csv", index=False)
    smaller_command("fit table.csv --target outcome --ignore id --impute -o one.model", capsys)
    new = frame.drop(columns="outcome")[list(frame.columns[-2::-1])].head(5)  # in another order, without the target
    new.loc[new.index[0], "age"] = np.nan
    new.loc[new.index[1], "colour"] = "violet"  # never seen: as if missing
    new.to_csv("new.csv", index=False)
    smaller_command("predict one.model new.csv -o out.csv --keep id", capsys)
    model, notes = load_with_notes("one.model")
    fill = notes["columns"]["fill"]
    colour = new["colour"].replace("violet", fill["colour"]).fillna(fill["colour"])
    X = np.column_stack([
        new["age"].fillna(fill["age"]), new["sex"] == "m",
        *(colour == c for c in ("blue", "green", "red")),
        new["ward"],
    ]).astype(float)  # fmt: skip
    found = pd.read_csv("out.csv")
    np.testing.assert_allclose(found["probability of well"], model.predict_proba(X)[:, 1], atol=1e-9)
    assert found["id"].tolist() == new["id"].tolist()


def test_decisions_follow_costs_rejection_and_priors(capsys):
    mixed().to_csv("table.csv", index=False)
    smaller_command("fit table.csv -t outcome --ignore id -o one.model", capsys)
    model, notes = load_with_notes("one.model")
    P = model.predict_proba(read_table("table.csv", target="outcome", ignore=["id"]).X)
    raised = P * [0.1, 0.9] / notes["training"]["priors"]
    shifted = raised / raised.sum(axis=1, keepdims=True)
    asked = "--costs ill:well=20 --reject-cost 0.4 --prior-shift ill=1,well=9"
    out, _ = smaller_command(f"predict one.model table.csv {asked} -o out.csv", capsys)
    found = pd.read_csv("out.csv")
    np.testing.assert_allclose(found["probability of well"], shifted[:, 1], atol=1e-12)
    expected = decision.decide(shifted, cost=[[0, 20], [1, 0]], reject_cost=0.4, classes=["ill", "well"])
    assert found["prediction"].tolist() == expected.tolist()
    assert found["rejected"].tolist() == (expected == "reject").tolist()
    assert f"{(expected == 'reject').sum()} of them rejected" in out
    smaller_command("predict one.model table.csv --reject 0.9 -o out.csv", capsys)
    assert pd.read_csv("out.csv")["rejected"].tolist() == (P.max(axis=1) < 0.9).tolist()
    _, err = smaller_command("predict one.model table.csv --prior-shift estimate -o out.csv", capsys)
    assert "estimated as ill" in err


def test_costs_come_from_a_file_too():
    pd.DataFrame([[0, 5], [1, 0]], index=["b", "a"], columns=["b", "a"]).to_csv("costs.csv")
    np.testing.assert_array_equal(parse_costs("costs.csv", np.array(["a", "b"])), [[0, 1], [5, 0]])
    assert parse_costs("1:2=3", np.array([1, 2])) == {(1, 2): 3.0}
    assert parse_priors("1=1,2=3", np.array([1, 2])) == {1: 0.25, 2: 0.75}


def test_a_kernel_model_keeps_the_units_of_its_training(capsys):
    smaller_command("fit flowers.csv -t species --basis rbf -o one.model", capsys)
    smaller_command("predict one.model new.csv -o out.csv", capsys)
    X = FLOWERS.iloc[::2, :4].to_numpy()
    mean, scale = X.mean(axis=0), X.std(axis=0)
    direct = SBMLR(basis="rbf").fit((X - mean) / scale, FLOWERS["species"][::2])
    expected = direct.predict_proba((FLOWERS.iloc[1::2, :4].to_numpy() - mean) / scale)
    np.testing.assert_allclose(pd.read_csv("out.csv").filter(like="probability"), expected, atol=1e-9)


def test_the_model_asked_for_is_the_model_fitted(capsys):
    for asked, kind in (("--model smlr --lam 2", SMLR), ("--model smlr", SMLRCV), ("", SBMLR)):
        smaller_command(f"fit flowers.csv -t species -o one.model {asked}", capsys)
        model = smaller.load("one.model")
        assert type(model) is kind
        assert model.standardize
    smaller_command("fit flowers.csv -t species -o one.model --no-standardize", capsys)
    assert not smaller.load("one.model").standardize


def test_predictions_go_to_the_terminal_as_csv_when_no_file_is_named(capsys):
    smaller_command("fit flowers.csv -t species -o one.model", capsys)
    out, _ = smaller_command("predict one.model new.csv", capsys)
    assert out.splitlines()[0].startswith("prediction,confidence,probability of setosa")
    assert len(out.splitlines()) == 76


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''@x", "＝1"]
PLAIN = ["", "a=1", "'quoted'", "-", "−1", "-1", "+2.5", "-1e-3", "'5", " =1"]


def starts_a_formula(cell):
    return cell[:1] in tuple("=+-@\t\r\n＝＋－＠") and not re.fullmatch(r"[+-]?[\d.]+([eE][+-]?\d+)?", cell)


@pytest.mark.parametrize("text", FORMULAS + PLAIN)
def test_no_text_is_written_as_a_formula_and_every_text_is_read_back(text):
    assert not starts_a_formula(escaped(text))
    assert unescaped(escaped(text)) == text
    if not starts_a_formula(text) and not text.startswith(("'=", "''@")):
        assert escaped(text) == text


def test_predictions_hold_no_formulas_and_negative_numbers_stay_numbers(capsys):
    """Labels, and names and texts of columns that are repeated, could be run by a spreadsheet."""
    frame = FLOWERS[::2].copy()
    frame["species"] = frame["species"].map({"setosa": "=HYPERLINK(1)", "versicolor": "@b", "virginica": "-c"})
    frame["=name"] = [f"+{i}*2" for i in range(len(frame))]
    frame["level"] = -1.5 - np.arange(len(frame))
    frame.to_csv("formulas.csv", index=False)
    smaller_command("fit formulas.csv -t species --ignore =name --ignore level -o one.model", capsys)
    smaller_command("predict one.model formulas.csv -o out.csv --keep =name --keep level", capsys)
    raw = pd.read_csv("out.csv", dtype=str)
    assert list(raw)[:3] == ["'=name", "level", "prediction"]
    assert not any(starts_a_formula(cell) for column in raw for cell in [column, *raw[column]])
    assert (pd.read_csv("out.csv")["level"] == frame["level"].to_numpy()).all()
    back = read_table("out.csv", target="prediction", ignore=["=name"])
    assert set(back.y) == {"=HYPERLINK(1)", "@b", "-c"}
    shown, _ = smaller_command("predict one.model formulas.csv", capsys)
    assert shown.splitlines()[1].startswith("'=HYPERLINK(1),")


def test_a_table_that_the_command_wrote_without_formulas_is_fitted_and_predicted_again(capsys):
    frame = FLOWERS.rename(columns={"sepal length": "-length"})
    write_csv(frame, "escaped.csv")
    assert Path("escaped.csv").read_text().startswith("'-length,")
    smaller_command("fit escaped.csv -t species -o one.model", capsys)
    assert load_with_notes("one.model")[1]["columns"]["names"][0] == "-length"
    frame.to_csv("plain.csv", index=False)
    for name in ("escaped", "plain"):
        smaller_command(f"predict one.model {name}.csv -o {name}.out.csv", capsys)
    assert Path("escaped.out.csv").read_bytes() == Path("plain.out.csv").read_bytes()


def test_the_weights_of_a_path_hold_no_formulas(capsys):
    FLOWERS.rename(columns={"petal width": "=w"}).to_csv("formulas.csv", index=False)
    smaller_command("path formulas.csv -t species --strengths 5 -o weights.csv", capsys)
    found = pd.read_csv("weights.csv")
    assert "'=w" in set(found["column"])
    assert (found["weight"] < 0).any()


# -- the other commands


def test_compare_gives_one_table_and_advice(capsys):
    out, _ = smaller_command("compare flowers.csv -t species --folds 3 --jobs 1", capsys)
    for name in ("sbmlr", "smlr", "rmlr", "rvm", "jeffreys", "sbmlr, rbf", "class frequencies", "calibration error"):
        assert name in out
    assert "Take " in out


def test_compare_of_numbers_tells_errors_densities_and_intervals(capsys):
    numbers().to_csv("numbers.csv", index=False)
    out, _ = smaller_command("compare numbers.csv --folds 3 --jobs 1", capsys)
    for name in ("rvm", "jeffreys", "laplace", "rvm, quadratic", "rvm, rbf", "the mean", "RMSE", "90 % intervals hold"):
        assert name in out
    assert re.search("Take (rvm|jeffreys|laplace): its log density loss|Take (rvm|jeffreys|laplace): it has", out)


def test_scores_of_numbers_are_those_of_the_held_out_samples():
    table = numbers()
    X, y = table.drop(columns="y").to_numpy(), table["y"].to_numpy()
    (score, nothing) = cross_validated("regression", {"rvm": RVMRegressor("linear"), "the mean": Mean()}, X, y, folds=4)
    mean, deviation = np.empty(len(y)), np.empty(len(y))
    losses = []
    for train, test in KFold(4, shuffle=True, random_state=0).split(X):
        model = RVMRegressor("linear").fit(X[train], y[train])
        mean[test], deviation[test] = model.predict(X[test], return_std=True)
        losses.append(-norm.logpdf(y[test], mean[test], deviation[test]).mean())
    assert score.loss == pytest.approx(np.mean(losses))
    assert score.loss_error == pytest.approx(np.std(losses, ddof=1) / 2)
    assert score.figures["RMSE"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert score.figures["R²"] == pytest.approx(r2_score(y, mean))
    low, high = norm.interval(0.9, mean, deviation)
    assert score.figures["90 % intervals hold"] == ((low <= y) & (y <= high)).mean()
    assert nothing.kept == 0
    assert nothing.figures["R²"] < 0.05


def test_advice_on_numbers_without_a_relation_is_to_take_nothing():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    models = {name: model for name, model in candidates("regression", X).items() if name in ("rvm", "the mean")}
    scores = cross_validated("regression", models, X, y, folds=3)
    assert advice("regression", scores).startswith("No model does better than the mean")


def test_advice_is_the_sparsest_of_the_good_and_nothing_where_nothing_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    models = {n: m for n, m in candidates("classification", X).items() if n in ("sbmlr", "rmlr", "class frequencies")}
    with pytest.warns(smaller.errors.EmptyModelWarning):
        noise = cross_validated("classification", models, X, rng.integers(0, 2, 80), folds=3)
    assert advice("classification", noise).startswith("No model does better")
    signal = cross_validated("classification", models, X, (X[:, 0] > 0).astype(int), folds=3)
    assert advice("classification", signal).startswith("Take sbmlr:")
    sparsest = min(signal[:2], key=lambda score: score.kept)
    assert sparsest.name == "sbmlr"


def score(name, fold_losses, kept, what="features", inputs=None):
    """A model with these losses in the folds."""
    losses = np.array(fold_losses)
    error = losses.std(ddof=1) / np.sqrt(len(losses))
    inputs = kept if inputs is None else inputs
    return Score(name, {}, losses.mean(), error, kept, what, 0.1, tuple(fold_losses), inputs)


NOTHING = score("class frequencies", [0.70, 0.71, 0.69, 0.70, 0.70], 0)
DENSE = score("dense", [0.20, 0.21, 0.19, 0.20, 0.20], 7129)  # as in the table of 7129 genes: it hardly varies


def test_a_model_of_two_features_is_advised_over_one_of_thousands_that_is_not_clearly_better():
    varying = score("sparse", [0.05, 0.60, 0.10, 0.30, 0.10], 2.4)  # far from the best by the error of the best alone
    said = advice("classification", [varying, DENSE, NOTHING])
    assert said.startswith("Take sparse: ")
    assert "keeps 2.4 features instead of 7129 features" in said
    difference = np.subtract(varying.fold_losses, DENSE.fold_losses)
    assert f"({difference.mean():.3f} ± {difference.std(ddof=1) / np.sqrt(5):.3f} above it on the same folds)" in said


def test_folds_that_are_hard_for_both_models_do_not_hide_that_one_is_always_worse():
    hard = np.array([0.1, 0.9, 0.2, 0.5, 0.3])
    scores = [score("worse", hard + 0.05, 3), score("better", hard, 20), score("class frequencies", hard + 1, 0)]
    assert advice("classification", scores) == "Take better: it has the least log-loss (20 features)."
    scores[0] = score("worse", np.add(hard, [0.05, -0.05, 0.05, 0, 0]), 3)
    assert advice("classification", scores).startswith("Take worse: ")


def test_a_kernel_needs_all_inputs_and_fewer_vectors_of_them_are_simpler():
    kernel = score("kernel", DENSE.fold_losses, 2, "vectors", inputs=7129)
    assert advice("classification", [DENSE, kernel, NOTHING]).startswith("Take kernel: ")
    few = score("few", DENSE.fold_losses, 5)
    assert advice("classification", [few, DENSE, kernel, NOTHING]).startswith("Take few: ")


def test_counts_of_what_is_kept_are_written_as_they_are():
    assert [score("one", [1, 2], kept).size for kept in (7129.0, 2.4, 0.0)] == [
        "7129 features",
        "2.4 features",
        "0 features",
    ]
    said = advice("classification", [DENSE, NOTHING])
    assert said == "Take dense: it has the least log-loss (7129 features)."


def test_the_calibration_error_is_the_mean_distance_of_confidence_and_truth():
    P = np.array([[0.85, 0.15]] * 4 + [[0.35, 0.65]] * 4)
    assert calibration_error(P, np.array([0, 0, 0, 1, 1, 1, 0, 0])) == pytest.approx(0.5 * 0.10 + 0.5 * 0.15)


def test_path_shows_what_enters_and_writes_the_weights(capsys):
    out, _ = smaller_command("path flowers.csv -t species --strengths 6 -o weights.csv", capsys)
    assert "petal" in out
    found = smaller.path(FLOWERS.iloc[::2, :4].to_numpy(), FLOWERS["species"][::2], 6, standardize=True)
    weights = pd.read_csv("weights.csv")
    assert len(weights) == sum(coef.nnz for coef in found.sparse_coefs)
    np.testing.assert_allclose(weights["weight"], np.concatenate([coef[coef != 0] for coef in found.coefs]))


def test_bound_speaks_of_held_out_data_and_refuses_the_training_data(capsys):
    smaller_command("fit flowers.csv -t species -o one.model", capsys)
    out, _ = smaller_command("bound one.model new.csv", capsys)
    assert "over test sets, true error ≤" in out
    _, err = smaller_command("bound one.model flowers.csv", capsys, code=1)
    assert "fitted on this very sample" in err
    _, err = smaller_command("bound one.model flowers.csv --kind pac-bayes", capsys, code=1)
    assert "chose the strength of its prior on the training set" in err


def test_report_writes_the_facts_that_it_prints(capsys):
    import json

    smaller_command("fit flowers.csv -t species -o one.model", capsys)
    out, _ = smaller_command("report one.model new.csv -o facts.json", capsys)
    facts = json.loads(Path("facts.json").read_text())
    assert f"{facts['quality']['wrong']} of 75 wrong" in out
    assert facts["model"]["training"]["samples"] == 75
    assert facts["data"]["priors"] == pytest.approx([1 / 3] * 3)
    kept = smaller.load("one.model").path_  # that of the training table
    assert facts["path"]["lams"] == kept.lams.tolist()
    assert facts["path"]["kept"][facts["path"]["at"]] == facts["kept"]["number"]
    assert kept.lams[0] == pytest.approx(
        smaller.path(FLOWERS.iloc[::2, :4], FLOWERS["species"][::2], 1, standardize=True).lams[0]
    )


def test_fit_names_the_class_that_a_weight_favours(capsys):
    two = FLOWERS[50:].assign(species=lambda frame: frame["species"].astype(str))
    two.to_csv("two.csv", index=False)
    out, _ = smaller_command("fit two.csv -t species --model smlr --lam 1 -o two.model", capsys)
    for name, favoured, sign in (("sepal width", "versicolor", "-"), ("petal width", "virginica", r"\+")):
        assert re.search(rf"{name} +{favoured} +{sign}", out)
    out, _ = smaller_command("fit flowers.csv -t species --model smlr --lam 1 -o one.model", capsys)
    assert re.search(r"petal length +not setosa +-", out)


def test_a_model_without_its_path_is_reported_with_the_reason(capsys):
    import json

    smaller_command("fit flowers.csv -t species -o one.model", capsys)
    model, notes = load_with_notes("one.model")
    del model.path_  # as in files that were written before the path was kept
    smaller.save(model, "older.model", notes)
    smaller_command("report older.model new.csv -o facts.json", capsys)
    assert "was not kept with the model" in json.loads(Path("facts.json").read_text())["path"]["reason"]


def test_datasets_are_listed_and_written(capsys):
    out, _ = smaller_command("datasets", capsys)
    assert "breast_cancer" in out
    smaller_command("datasets wine", capsys)
    assert len(pd.read_csv("wine.csv")) == 178
    smaller_command("datasets wine -o wine.npz", capsys)
    np.testing.assert_array_equal(read_table("wine.npz", target="y").X, read_table("wine.csv", target="y").X)
    _, err = smaller_command("datasets wine --part train", capsys, code=1)
    assert "wine has no train part" in err


def test_a_sparse_set_is_written_in_its_parts_as_a_matrix_with_names(capsys, monkeypatch):
    words = sparse.csr_matrix(np.where(IRIS.data > 2, IRIS.data, 0.0))
    bunch = Bunch(
        data=words, target=IRIS.target, target_names=IRIS.target_names, feature_names=IRIS.feature_names,
        train=np.arange(0, 150, 2), test=np.arange(1, 150, 2),
    )  # fmt: skip
    monkeypatch.setattr("smaller.data.datasets.load_news20", lambda: bunch)
    out, _ = smaller_command("datasets news20 --part test", capsys)
    assert "75 rows, 4 columns" in out
    found = read_table("news20.npz", target="y")
    np.testing.assert_array_equal(found.X.toarray(), words[1::2].toarray())
    assert found.y.tolist() == IRIS.target_names[IRIS.target][1::2].tolist()
    assert found.columns.inputs == IRIS.feature_names
    _, err = smaller_command("datasets news20 -o news.csv", capsys, code=1)
    assert "name a file .npz" in err


def test_the_demonstration_tells_what_it_found_and_leaves_two_reports(capsys):
    pytest.importorskip("vl_convert")
    pytest.importorskip("jinja2")
    out, _ = smaller_command("demo new/place", capsys)
    for said in ("worst radius", "of 171 wrong", "95 % interval", "RMS error", "90 % intervals", "Certificate"):
        assert said in out
    for page in ("new/place/index.html", "new/place/numbers.html"):
        assert page in out
        assert "<!doctype html>" in Path(page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("", RVMRegressor("linear")),
        ("--model jeffreys", JeffreysRegressor()),
        ("--model laplace", LaplaceRegressor()),
        ("--model laplace --lam 4 --no-standardize", LaplaceRegressor(4.0, standardize=False)),
        ("--model rvm --basis quadratic", RVMRegressor("quadratic")),
    ],
)
def test_two_commands_lead_from_a_table_to_predicted_numbers(asked, kind, capsys):
    table = numbers()
    table[::2].to_csv("numbers.csv", index=False)
    table[1::2].drop(columns="y").to_csv("new.csv", index=False)
    out, _ = smaller_command(f"fit numbers.csv -o one.model {asked}", capsys)
    assert "the 90 % intervals contain" in out
    assert "fitted on: errors on new samples" in out
    smaller_command("predict one.model new.csv -o out.csv --keep a", capsys)
    direct = kind.fit(table.iloc[::2, :5].to_numpy(), table["y"][::2])
    mean, deviation = direct.predict(table.iloc[1::2, :5].to_numpy(), return_std=True)
    found = pd.read_csv("out.csv")
    np.testing.assert_allclose(found["prediction"], mean, rtol=1e-9)
    np.testing.assert_allclose(found["standard deviation"], deviation, rtol=1e-9)


def test_a_kernel_regression_keeps_the_units_of_its_training(capsys):
    table = numbers()
    table.to_csv("numbers.csv", index=False)
    smaller_command("fit numbers.csv --basis rbf -o one.model", capsys)
    smaller_command("predict one.model numbers.csv -o out.csv", capsys)
    X = StandardScaler().fit_transform(table.iloc[:, :5])
    direct = RVMRegressor("rbf").fit(X, table["y"])
    np.testing.assert_allclose(pd.read_csv("out.csv")["prediction"], direct.predict(X), rtol=1e-9)


def test_what_is_for_classes_is_refused_for_numbers_with_a_sentence(capsys):
    numbers().to_csv("numbers.csv", index=False)
    smaller_command("fit numbers.csv -o one.model", capsys)
    _, err = smaller_command("predict one.model numbers.csv --reject 0.9", capsys, code=1)
    assert "this model predicts numbers" in err
    _, err = smaller_command("bound one.model numbers.csv", capsys, code=1)
    assert "for the probability of a wrong class" in err
    numbers().assign(y="text").to_csv("text.csv", index=False)
    _, err = smaller_command("report one.model text.csv", capsys, code=1)
    assert "needs numbers" in err


def test_the_path_of_numbers_is_that_of_the_lasso(capsys):
    table = numbers()
    table.to_csv("numbers.csv", index=False)
    out, _ = smaller_command("path numbers.csv --strengths 6 -o weights.csv", capsys)
    found = smaller.laplace_path(table.iloc[:, :5].to_numpy(), table["y"], 6)
    weights = pd.read_csv("weights.csv")
    np.testing.assert_allclose(weights["weight"], np.concatenate([coef[coef != 0] for coef in found.coefs]))
    assert found.n_kept[0] == 0
    assert found.n_kept[1] <= 2
    assert re.search(r"a, b|b", out)


def test_a_report_on_numbers_writes_the_facts_that_it_prints(capsys):
    import json

    table = numbers()
    table[::2].to_csv("numbers.csv", index=False)
    table[1::2].to_csv("rest.csv", index=False)
    smaller_command("fit numbers.csv -o one.model", capsys)
    out, _ = smaller_command("report one.model rest.csv -o facts.json", capsys)
    facts = json.loads(Path("facts.json").read_text())
    assert f"RMS error {facts['quality']['rmse']:.4g}" in out
    assert not facts["data"]["training_sample"]
    assert facts["model"]["training"]["samples"] == 45


@pytest.mark.parametrize("basis", ["linear", "rbf"])
def test_an_exported_model_takes_the_units_of_the_table(basis, capsys):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    table = numbers()
    table.to_csv("numbers.csv", index=False)
    smaller_command(f"fit numbers.csv --basis {basis} -o one.model", capsys)
    smaller_command("predict one.model numbers.csv -o out.csv", capsys)
    out, _ = smaller_command("export one.model -o one.onnx", capsys)
    assert "RVMRegressor of 5 inputs" in out
    X = table.iloc[:, :5].to_numpy()
    mean, deviation = runtime.InferenceSession("one.onnx").run(None, {"X": X})
    found = pd.read_csv("out.csv")
    np.testing.assert_allclose(mean, found["prediction"], rtol=1e-9)
    np.testing.assert_allclose(deviation, found["standard deviation"], rtol=1e-9)


def test_a_header_is_named_after_its_file_and_categories_are_told(capsys):
    mixed().to_csv("table.csv", index=False)
    smaller_command("fit table.csv -t outcome --ignore id -o one.model", capsys)
    out, _ = smaller_command("export one.model -o 2-wards.h", capsys)
    assert "in order: age, sex=m, colour=blue" in out
    assert "int _2_wards_predict(" in Path("2-wards.h").read_text()
    _, err = smaller_command("export one.model -o one.txt", capsys, code=1)
    assert "must be one of '.onnx', '.h'" in err


# -- problems


@pytest.mark.parametrize(
    ("command", "said", "code"),
    [
        ("fit nothing.csv", "There is no file nothing.csv", 1),
        ("fit flowers.csv -t color", "has no column 'color'; its columns are 'sepal length'", 1),
        ("fit flowers.csv -t species --model svm", "--model must be one of 'sbmlr', 'smlr', 'rmlr'", 1),
        ("fit flowers.csv -t species --model laplace", "--model laplace is not for classification", 1),
        ("fit flowers.csv -t 'sepal length' --model smlr", "--model smlr is not for regression", 1),
        ("fit flowers.csv -t 'sepal length' --lam 1", "takes no --lam; use --model laplace", 1),
        ("fit flowers.csv -t 'sepal length' --model laplace --no-standardize", "give --lam with --no-standardize", 1),
        ("fit flowers.csv -t species --task regression", "regression needs numbers", 1),
        ("fit flowers.csv -t species --lam 1", "takes no --lam", 1),
        ("fit flowers.csv -t species --task guess", "--task must be one of", 1),
        ("fit flowers.xls", "has an unknown ending; known are .csv", 1),
        ("predict flowers.csv new.csv", "flowers.csv is not a model file", 1),
        ("predict nothing.model new.csv", "There is no file nothing.model", 1),
        ("fit flowers.csv -o no/such/folder/one.model", "There is no folder no/such/folder", 1),
        ("fit flowers.csv -o flowers.csv", "an input file; name another file", 1),
        ("fit", "Missing argument", 2),
        ("fit flowers.csv --folds 3", "No such option", 2),
        ("ftt", "No such command", 2),
    ],
)  # fmt: skip
def test_problems_are_told_in_a_sentence_with_an_exit_code(command, said, code, capsys):
    Path("flowers.xls").write_bytes(b"")
    _, err = smaller_command(command, capsys, code)
    assert said in err
    assert "Traceback" not in err


TABLES = {
    "empty": ("", "is empty"),
    "only names": ("a,y\n", "has no rows"),
    "no inputs": ("y\n1\n2\n", "has no column beside the target"),
    "ragged": ("a,y\n1,2\n1,2,3,4\n", "is not a table"),
    "free text": ("a,y\n" + "".join(f"text {i},{i % 2}\n" for i in range(60)), "'a': left out, as it has a"),
    "target missing": ("a,y\n1,u\n2,\n3,v\n", "'y' is missing in 1 of 3 rows"),
    "values missing": ("a,b,y\n1,,u\n2,3,v\n,,u\n", "'a' 1, 'b' 2. Fit with --impute"),
    "one class": ("a,y\n1,u\n2,u\n", "at least two classes"),
    "infinity": ("a,y\n1,u\ninf,v\n3,u\n", "Values are infinite, of 3 rows: 'a' 1."),
    "latin": (b"a,y\n\xe9,u\n\xe8,v\n", "not text in UTF-8"),
}


@pytest.mark.parametrize("what", TABLES)
def test_tables_that_cannot_be_fitted_say_why(what, capsys):
    content, said = TABLES[what]
    Path("odd.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    _, err = smaller_command("fit odd.csv -o odd.model", capsys, code=1)
    assert said in err
    assert not Path("odd.model").exists()


def test_new_tables_that_do_not_fit_the_model_say_why(capsys):
    smaller_command("fit flowers.csv -t species -o one.model", capsys)
    FLOWERS.drop(columns="petal width").to_csv("lacks.csv", index=False)
    _, err = smaller_command("predict one.model lacks.csv", capsys, code=1)
    assert "lacks columns that the model needs: 'petal width'" in err
    FLOWERS.assign(**{"petal width": "wide"}).to_csv("text.csv", index=False)
    _, err = smaller_command("predict one.model text.csv", capsys, code=1)
    assert "have text now" in err
    FLOWERS.assign(**{"petal width": np.nan}).to_csv("missing.csv", index=False)
    _, err = smaller_command("predict one.model missing.csv -o out.csv", capsys, code=1)
    assert "'petal width' 150" in err
    _, err = smaller_command("predict one.model new.csv --costs setosa:rose=2", capsys, code=1)
    assert "There is no class 'rose'" in err
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes.clear(),
        lambda notes: notes["columns"]["names"].pop(),
        lambda notes: notes["columns"].update(names=[1, 2, 3, 4]),
        lambda notes: notes["columns"].update(fill={"sepal length": [1]}),
        lambda notes: notes.update(scaling={"mean": np.zeros(3), "scale": np.ones(3)}),
        lambda notes: notes["training"].update(priors=["a", "b", "c"]),
    ],
)
def test_notes_that_do_not_fit_the_model_are_refused(change, capsys):
    smaller_command("fit flowers.csv -t species -o one.model", capsys)
    model, notes = load_with_notes("one.model")
    change(notes)
    smaller.save(model, "odd.model", notes)
    _, err = smaller_command("predict odd.model new.csv", capsys, code=1)
    assert "notes that the command cannot use" in err


def test_a_plain_model_of_python_is_not_guessed_at(capsys):
    smaller.save(SMLR().fit(IRIS.data, IRIS.target), "plain.model")
    _, err = smaller_command("predict plain.model new.csv", capsys, code=1)
    assert "without a description of the table's columns" in err


def test_numbers_are_classes_or_not_by_what_they_look_like():
    rng = np.random.default_rng(0)
    assert task_of(np.array(["a", "b"])) == "classification"
    assert task_of(rng.integers(0, 5, 100)) == "classification"
    assert task_of(np.arange(100)) == "regression"
    assert task_of(rng.normal(size=100)) == "regression"
    assert task_of(np.array([0.5, 1.5] * 20)) == "classification"


def test_separators_and_marks_of_other_programs_are_understood():
    text = FLOWERS.to_csv(index=False, sep=";")
    Path("marked.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    with gzip.open("marked2.csv.gz", "wt") as stream:
        stream.write(text)
    for file in ("marked.csv", "marked2.csv.gz"):
        assert read_table(file, target="species").columns.inputs == list(FLOWERS.columns[:4])


def test_ctrl_c_leaves_no_broken_file(here):
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(3000, 5))).assign(y=rng.integers(0, 5, 3000)).to_csv("long.csv", index=False)
    Path("kept.model").write_bytes(b"what was there")
    # Loading the packages can take long on a busy machine: the work begins when this line is read.
    code = "import sys, smaller.cli.fitting; print('begun', flush=True); sys.exit(smaller.cli.run(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *shlex.split("fit long.csv -o kept.model --model smlr --basis rbf")]
    environment = {**os.environ, "PYTHONPATH": str(Path(smaller.__file__).parents[1])}
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    # Whoever runs the tests in the background may have told their children to ignore Ctrl-C.
    heed = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)} if os.name == "posix" else {}
    work = subprocess.Popen(command, env=environment, **pipes, **heed)
    assert work.stdout.readline() == "begun\n"
    time.sleep(2)
    work.send_signal(signal.SIGINT)
    _, err = work.communicate(timeout=60)
    assert work.returncode == 130, err
    assert "Interrupted; no file was changed." in err
    assert Path("kept.model").read_bytes() == b"what was there"
    assert not list(here.glob(".*.part"))


ODD = {
    "twice": ("a,a,y\n" + "1,2,0\n3,4,1\n" * 9, "fit odd.csv", "several columns named 'a'"),
    "no names": ("1.5,2,0\n" * 9, "fit odd.csv", "Its first line must have the names of the columns."),
    "one text": (
        "a,y\n?,0\n" + "".join(f"{i},{i % 2}\n" for i in range(50)),
        "fit odd.csv",
        "'a' 1. Fit with --impute",
    ),
    "infinite": ("a,y\ninf,0\n" + "1,0\n2,1\n" * 9, "fit odd.csv", "infinite, of 19 rows: 'a' 1."),
    "text now": (
        "sepal length,sepal width,petal length,petal width\n1,2,3,4\n1,wide,3,4\n",
        "predict my.model odd.csv",
        "have text now: 'sepal width' (such as 'wide').",
    ),
    "no model": ("a\n1\n", "predict none.model odd.csv", "There is no file none.model."),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_file_is_refused_with_the_column_and_what_is_wrong(kind, capsys):
    content, command, said = ODD[kind]
    smaller_command("fit flowers.csv --target species -o my.model", capsys)
    Path("odd.csv").write_text(content, encoding="utf-8")
    _, err = smaller_command(command, capsys, code=1)
    assert said in err


SHORT = {"--help": 0, "--version": 0, "fit --help": 0, "fit none.csv": 1, "predict none.model -": 1, "fit --strange": 2}
LARGE = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "joblib"}  # each takes a good part of a second to import
MOST_MODULES = 450  # Python's own, those of typer and rich, and ten of smaller


@pytest.mark.parametrize("arguments", SHORT)
def test_what_needs_no_data_imports_few_modules(arguments):
    """Counted, since a clock on a busy machine says little."""
    code = (
        "import json, sys; from smaller.__main__ import main; code = main()\n"
        "print(json.dumps([code, len(sys.modules), sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(smaller.__file__).parents[1])}
    command = [sys.executable, "-c", code, *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    code, count, names = json.loads(done.stdout.splitlines()[-1])
    assert code == SHORT[arguments], done.stderr
    assert not LARGE & set(names)
    assert count <= MOST_MODULES


def test_importing_the_package_imports_nothing_large():
    code = "import sys; before = set(sys.modules); import smaller; print(*sorted(set(sys.modules) - before))"
    environment = {**os.environ, "PYTHONPATH": str(Path(smaller.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    names = done.stdout.split()
    assert "smaller" in names
    assert not LARGE & {name.partition(".")[0] for name in names}


def test_the_help_names_what_the_tables_have():
    """The declarations of the commands write names out, since importing the tables takes a second."""
    losses = [name for target in ranking.TARGETS.values() for name in target.losses_by_name]
    named = {
        ("fit", "model"): ranking.NAMES,
        ("fit", "scoring"): ranking.SCORERS,
        ("fit", "task"): ranking.TARGETS,
        ("select", "bound"): BOUNDS,
        ("select", "method"): METHODS,
        ("compare", "scoring"): losses,
        ("bound", "kind"): KINDS,
    }
    commands = typer.main.get_command(app).commands
    for (command, option), names in named.items():
        told = next(each.help for each in commands[command].params if each.name == option)
        words = re.findall(r"[\w-]+", told)
        assert [word for word in words if word in names][: len(names)] == list(names), (command, option)


def test_without_its_packages_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from smaller.__main__ import main; sys.exit(main())"
    environment = {**os.environ, "PYTHONPATH": str(Path(smaller.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert 'pip install "smaller[cli]"' in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_large_file_is_read_and_fitted_in_less_than_three_times_its_array(task):
    code = """
import resource, pandas, pyarrow, smaller.cli
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert smaller.cli.run(["fit", "big.csv", "-o", "big.model"]) == 0
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (8 * 100_000 * 100))
"""
    rng = np.random.default_rng(0)
    for start in range(0, 100_000, 10_000):
        part = pd.DataFrame(rng.normal(size=(10_000, 100)))
        if task == "regression":  # every column is kept, or nearly
            part["y"] = part.to_numpy() @ np.linspace(-1, 1, 100) + rng.normal(size=10_000)
        else:
            part["y"] = (part[0] - part[1] + rng.logistic(size=10_000) > 0).astype(int)
        part.to_csv("big.csv", index=False, mode="a", header=start == 0)
    environment = {**os.environ, "PYTHONPATH": str(Path(smaller.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert float(done.stdout.splitlines()[-1]) < 3.0


@pytest.mark.slow
@pytest.mark.parametrize(("weighting", "error"), [("counts", 0.245), ("tf-idf", 0.21)])
def test_twenty_newsgroups_go_from_file_to_predictions_in_two_commands(weighting, error, capsys):
    if not Path(os.environ.get("SMALLER_DATA", ""), "news20_counts.npz").is_file():
        pytest.skip("the texts are in SMALLER_DATA, which is not set")
    news = smaller.datasets.load_news20()
    X, y = news.data, news.target_names[news.target]
    if weighting == "tf-idf":
        X = TfidfTransformer(sublinear_tf=True).fit(X[news.train]).transform(X)
    for part in ("train", "test"):
        rows = sparse.csr_array(X)[news[part]]
        arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
        np.savez(f"{part}.npz", **arrays, y=y[news[part]])
    begun = time.process_time()
    out, _ = smaller_command("fit train.npz -o news.model", capsys)
    smaller_command("predict news.model test.npz -o out.csv", capsys)
    assert time.process_time() - begun < 120
    # On counts a weight or two of 5454 are so near 0 that it takes more than this accuracy to say whether they are in.
    assert "(converged)" in out or "(no strength satisfies lam = N / S" in out
    assert float(re.search(r"relative duality gap ([\d.e-]+)", out)[1]) <= 1e-6
    assert (pd.read_csv("out.csv")["prediction"].to_numpy() != y[news.test]).mean() < error


# -- what the documentation shows


def shown():
    """The commands in the README and on the pages about the command line and deployment, in order."""
    for page in (ROOT / "README.md", ROOT / "docs" / "command-line.md", ROOT / "docs" / "howto" / "deploy.md"):
        commands = re.findall(r"^\$ smaller (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(commands) >= 2
        yield pytest.param(commands, id=page.name)


@pytest.mark.parametrize("commands", list(shown()))
def test_the_commands_that_the_documentation_shows_work(commands, capsys, monkeypatch):
    for package in ("vl_convert", "jinja2", "onnx"):
        pytest.importorskip(package)
    Path("parts.csv").write_text("column,group\nmean radius,size\nmean area,size\n", encoding="utf-8")
    for command in commands:
        smaller_command(command, capsys)


def test_progress_shows_what_a_fit_tells(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(terminal, "err", Console(file=screen, force_terminal=True, width=100))
    with terminal.working("Fitting"):
        progress.tell("L1 fit 7 [3 weights]")
    assert "Fitting, L1 fit 7 [3 weights]" in screen.getvalue()


def test_a_model_that_fits_its_rows_perfectly_still_says_that_it_was_fitted_on_them(capsys):
    """Separable classes leave no trace in the residuals; the marks of the training rows tell."""
    import json

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    table["y"] = np.where(table["a"] > 0.2, "high", "low")
    table[:200].to_csv("train.csv", index=False)
    table[200:].to_csv("test.csv", index=False)
    table[150:350].sample(frac=1, random_state=0).to_csv("both.csv", index=False)
    table[:200].sample(frac=1, random_state=0).to_csv("shuffled.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(shlex.split("fit train.csv -t y --model rvm --basis rbf -o one.model")) == 0
    for file, seen in (("train", 1.0), ("shuffled", 1.0), ("test", 0.0), ("both", 0.25)):
        assert run(shlex.split(f"report one.model {file}.csv -o facts.json")) == 0
        facts = json.loads(Path("facts.json").read_text())
        said = " ".join(facts["summary"]["says"] + facts["summary"]["watch"])
        assert facts["data"]["training_sample"] == (seen == 1.0)
        assert facts["data"]["seen"] == pytest.approx(seen)
        assert ("rows that it was fitted on" in said) == (seen == 1.0)
        assert ("rows that it has not seen" in said) == (seen == 0.0)
        assert ("About 25 % of these rows" in said) == (seen == 0.25)
    capsys.readouterr()
    assert run(shlex.split("bound one.model test.csv")) == 0
    assert run(shlex.split("bound one.model both.csv")) == 1
    assert "was fitted on rows of both.csv" in " ".join(capsys.readouterr().err.split())


# -- groups of columns


def test_groups_of_a_file_enter_together(capsys):
    Path("parts.csv").write_text("column,part\nsepal length,sepal\nsepal width,sepal\npetal length,petal\n")
    smaller_command("fit flowers.csv -t species --model smlr --lam 12 --groups parts.csv -o g.model", capsys)[0]
    model = smaller.load("g.model")
    assert model.groups.tolist() == ["sepal", "sepal", "petal", "petal width"]  # what is not named is by itself
    shown = smaller_command("fit flowers.csv -t species --model smlr --lam 12 --groups parts.csv -o g.model", capsys)[0]
    assert re.search(r"They are in \d of 3 groups: ", shown)
    smaller_command("report g.model new.csv -o g.html", capsys)[0]
    assert "of 3 groups of columns have a weight" in Path("g.html").read_text(encoding="utf-8")
    smaller_command("predict g.model new.csv -o out.csv", capsys)[0]
    assert "Of 3 features" in smaller_command("select flowers.csv -t species --groups parts.csv", capsys)[0]
    assert "smlr" in smaller_command("compare flowers.csv -t species --groups parts.csv --folds 2", capsys)[0]
    assert "enter here" in smaller_command("path flowers.csv -t species --groups parts.csv --strengths 5", capsys)[0]


def test_groups_of_features_join_the_codes_of_a_category(capsys):
    FLOWERS.assign(colour=np.array(["red", "blue", "green"])[np.arange(150) % 3]).to_csv("colours.csv", index=False)
    smaller_command("fit colours.csv -t species --groups features -o c.model", capsys)[0]
    assert smaller.load("c.model").groups.tolist()[-1] == "colour"
    smaller_command("fit flowers.csv -t species --groups features -o f.model", capsys)[0]
    assert smaller.load("f.model").groups == "features"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\nsepal length,x\nno such,x\n", "", "does not have: no such"),
        ("sepal length,x\nsepal length,y\n", "", "into two groups, x and y"),
        ("sepal length\n", "", "must have two columns"),
        ("sepal length,x\n", "--model rvm", "--groups is for models that take groups"),
        ("sepal length,x\n", "--basis quadratic", "--basis linear"),
    ],
)
def test_groups_that_cannot_be_are_refused(text, options, message, capsys):
    Path("parts.csv").write_text(text)
    assert message in smaller_command(f"fit flowers.csv -t species --groups parts.csv {options}", capsys, 1)[1]


def test_groups_need_a_file_and_a_method_that_takes_them(capsys):
    assert "there is no file" in smaller_command("fit flowers.csv -t species --groups nowhere.csv", capsys, 1)[1]
    assert (
        "--method stability"
        in smaller_command("select flowers.csv -t species --groups features --method knockoffs", capsys, 1)[1]
    )


def test_rows_far_from_all_training_rows_are_told_widened_or_refused(capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    table["y"] = np.sin(table["a"]) + 0.1 * rng.normal(size=80)
    table.to_csv("train.csv", index=False)
    pd.DataFrame({"a": [0.0, 90.0], "b": [0.0, 90.0]}).to_csv("far.csv", index=False)
    smaller_command("fit train.csv -t y --basis rbf -o one.model", capsys)
    _, err = smaller_command("predict one.model far.csv -o warned.csv", capsys)
    assert "1 of 2 samples are far from every training sample" in err
    smaller_command("predict one.model far.csv --outside widen -o wide.csv", capsys)
    plain, wide = (pd.read_csv(name)["standard deviation"] for name in ("warned.csv", "wide.csv"))
    assert wide[1] > 1.5 * plain[1]
    assert wide[0] < 1.5 * plain[0]
    _, err = smaller_command("predict one.model far.csv --outside error", capsys, code=1)
    assert "leave these samples out" in err
    smaller_command("fit flowers.csv -t species -o two.model", capsys)
    _, err = smaller_command("predict two.model new.csv --outside widen", capsys, code=1)
    assert "--outside is for models of numbers" in err
