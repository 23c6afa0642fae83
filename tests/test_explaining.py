"""Explanations add up to the scores, in Python and in the command; lines of a stream are answered as a file is."""

import io
import shlex
import sys

import numpy as np
import pytest
from conftest import clusters

from smaller import SMLR, LaplaceRegressor, RVMClassifier, RVMRegressor, explain
from smaller.models.base import raw_scores
from smaller.report import mean_columns

X, CODES = clusters(n=90, p=5, m=3)
Y = X[:, 0] - 2 * X[:, 1] + np.random.default_rng(0).normal(size=90)
MODELS = {
    "three classes": (SMLR(1.0), CODES),
    "two classes": (SMLR(0.5, standardize=True), (CODES == 1).astype(int)),
    "products": (SMLR(1.0, basis="quadratic"), CODES),
    "kernel": (RVMClassifier("rbf"), (CODES == 1).astype(int)),
    "numbers": (LaplaceRegressor(), Y),
    "kernel of numbers": (RVMRegressor("rbf"), Y),
}


@pytest.mark.parametrize("kind", MODELS)
def test_contributions_add_up_to_the_scores(kind):
    model, y = MODELS[kind]
    model.fit(X, y)
    found = explain(model, X[:6], X)
    scores = np.reshape(raw_scores(model, X[:6]), (6, -1))
    for why, score in zip(found, scores, strict=True):
        np.testing.assert_allclose(why.base + why.contributions.sum(axis=1), score, atol=1e-9)
        np.testing.assert_allclose(why.scores, score, atol=1e-9)
        sizes = np.abs(why.contributions).max(axis=0)
        assert (np.diff(sizes) <= 0).all()
        assert len(why.names) == len(model.support_)
    again = explain(model, X[:6], mean_columns(model, X))
    np.testing.assert_array_equal(again[3].contributions, found[3].contributions)


def test_of_a_linear_model_the_contribution_is_the_weight_times_the_distance_to_the_mean():
    model = SMLR(1.0).fit(X, CODES)
    (why,) = explain(model, X[4:5], X, names=list("abcde"))
    for name, value, added in zip(why.names, why.values, why.contributions.T, strict=True):
        j = "abcde".index(name)
        assert value == X[4, j]
        np.testing.assert_allclose(added, model.coef_[:, j] * (X[4, j] - X[:, j].mean()))
    mean = explain(model, X.mean(axis=0)[None], X)[0]
    np.testing.assert_allclose(mean.contributions, 0.0, atol=1e-12)


def test_of_a_kernel_the_values_are_similarities_to_relevance_vectors():
    model = RVMRegressor("rbf").fit(X, Y)
    (why,) = explain(model, model.relevance_vectors_[:1], X)
    assert why.values.max() == pytest.approx(1.0)
    np.testing.assert_allclose(why.base, model.intercept_)


def test_a_background_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="background must be the training samples, or the means of the"):
        explain(SMLR(1.0).fit(X, CODES), X[:1], np.zeros(77))
    with pytest.raises(ValueError, match="X has 2 features, but SMLR is expecting"):
        explain(SMLR(1.0).fit(X, CODES), X[:1, :2], X)
    with pytest.raises(ValueError, match=r"A fitted model of smaller is needed here; got SMLR\. Fit it first"):
        explain(SMLR(1.0), X[:1], X)


@pytest.fixture
def here(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    monkeypatch.chdir(tmp_path)
    names = np.array(["one", "two", "three"])
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.assign(colour=np.where(CODES == 0, "red", "blue"), y=names[CODES]).to_csv("table.csv", index=False)
    frame.assign(y=Y).to_csv("numbers.csv", index=False)


def command(text, code=0):
    from smaller.cli import run

    assert run(shlex.split(text)) == code


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("options", ["table.csv", "numbers.csv", "numbers.csv --basis rbf", "table.csv --model rvm"])
def test_the_command_explains_rows_and_writes_all_contributions(options, capsys):
    import pandas as pd

    file = options.split()[0]
    command(f"fit {options} -o one.model")
    capsys.readouterr()
    command(f"explain one.model {file} --row 3 -o all.csv")
    said = capsys.readouterr().out
    assert said.startswith("Row 3: predicted ")
    lines = [line.split() for line in said.splitlines()]
    parts = [float(line[-1]) for line in lines[2:] if line and line[-1][0] in "+-"]
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=0.02 * sum(map(abs, parts)))
    written = pd.read_csv("all.csv")
    assert set(written["row"]) == set(range(1, 91))
    command(f"explain one.model {file}")
    assert "85 more rows" in capsys.readouterr().out
    command(f"explain one.model {file} --row 91", 1)
    assert "--row must be from 1 to 90" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("file", ["table.csv", "numbers.csv"])
def test_lines_are_answered_one_by_one_as_a_file_is(file, capsys, monkeypatch):
    command(f"fit {file} -o one.model")
    capsys.readouterr()
    command(f"predict one.model {file}")
    whole = capsys.readouterr().out
    with open(file, encoding="utf-8") as stream:
        text = stream.read()
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    command("predict one.model - --stream")
    lines = capsys.readouterr().out
    assert lines.count("\n") == 91
    for one, other in zip(lines.split(), whole.split(), strict=True):
        for a, b in zip(one.split(","), other.split(","), strict=True):
            assert a == b or float(a) == pytest.approx(float(b), rel=1e-9)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("options", "text", "said"),
    [
        ("table.csv --stream", "", "give - instead of table.csv"),
        ("- --stream -o out.csv", "", "without --output"),
        ("- --stream", "", "Standard input is empty"),
        ("- --stream", "a,b\n1,2,3\n", "Line 2 has 3 values, and the first line names 2 columns"),
        ("- --stream", "a,b,c,d,e,colour\n1,2,x,4,5,red\n", "Line 2: Columns that were numbers"),
        ("- --stream", "a,b\n1,2\n", "Line 2: Standard input lacks columns"),
    ],
)
def test_a_stream_that_cannot_be_answered_says_why_and_where(options, text, said, capsys, monkeypatch):
    command("fit table.csv -o one.model")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    command(f"predict one.model {options}", 1)
    assert said in " ".join(capsys.readouterr().err.split())
