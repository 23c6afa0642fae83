"""What the posterior says, where users look for it: the report, the command and the plots."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from smaller import SMLR, JeffreysRegressor, LaplaceRegressor, load
from smaller.cli import run
from smaller.errors import ConvergenceWarning, EmptyModelWarning
from smaller.inference import CredibleSetsClassifier, CredibleSetsRegressor, PosteriorSample, sample_posterior
from smaller.report import facts, report

NAMES = [f"gene{j}" for j in range(5)]


def samples(kind, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)) * [1.0, 10.0, 1.0, 1.0, 0.1], columns=NAMES)
    score = 1.5 * X["gene0"].to_numpy() - 0.15 * X["gene1"].to_numpy()
    if kind == "numbers":
        return X, 100.0 * (score + rng.standard_normal(n))
    if kind == "two classes":
        return X, np.where(score + rng.logistic(size=n) > 0, "sick", "well")
    F = np.column_stack([score, -score, np.zeros(n)]) + rng.gumbel(size=(n, 3))
    return X, np.array(["a", "b", "c"])[F.argmax(axis=1)]


def model_of(kind):
    return LaplaceRegressor(6.0) if kind == "numbers" else SMLR(6.0, standardize=True)


def drawn(kind, **options):
    X, y = samples(kind)
    model = model_of(kind).fit(X, y)
    fixed = {"draws": 300, "chains": 2, "max_sweeps": 300, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return X, y, model, sample_posterior(model, X, y, **{**fixed, **options})


# -- the report


@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_report_has_intervals_beside_the_weights_and_plain_sentences(kind):
    X, y, model, sample = drawn(kind)
    found = facts(model, X, y, posterior=sample)
    json.dumps(found)
    low, high = np.quantile(sample.coef, [0.025, 0.975], axis=(0, 1))
    labels = [""] if kind == "numbers" else ["well"] if kind == "two classes" else list("abc")
    for row in found["kept"]["weights"]:
        k, j = labels.index(row["class"]), NAMES.index(row["name"])
        assert_allclose(row["posterior"], [low[k, j], high[k, j]])
        assert row["sign"] == max((sample.coef[:, :, k, j] > 0).mean(), (sample.coef[:, :, k, j] < 0).mean())
    told = found["posterior"]
    assert told["weights_number"] == sample.mode.size
    first = told["weights"][0]
    place = labels.index(first["class"]), NAMES.index(first["name"])
    assert_allclose(first["standard_mean"], sample.coef[:, :, *place].mean() * X[first["name"]].std(ddof=0))
    W = sample.coef - (sample.coef.mean(axis=2, keepdims=True) if kind == "three classes" else 0)
    ends = np.quantile(W, [0.025, 0.975], axis=(0, 1))
    sure = int(((ends[0] > 0) | (ends[1] < 0)).sum())
    assert told["plain"][0].startswith(f"For {sure} of {sample.mode.size} weights the data settle")
    assert ("less their mean over the classes" in told["plain"][0]) == (kind == "three classes")
    zeros = int((sample.mode == 0).sum())
    assert any(f"leaves out {zeros} of them" in each for each in told["plain"]) == (zeros > 0)
    assert ("above" in first) == (kind != "numbers")
    assert "posterior" not in facts(model, X, y)


def test_page_shows_intervals_and_sets():
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    X, y, model, sample = drawn("two classes")
    sets = CredibleSetsClassifier().fit(X, y)
    page = report(model, X, y, posterior=sample, sets=sets).html
    for text in ("How sure is each weight?", "95% posterior interval, per unit", "chart-posterior", "Which of several"):
        assert text in page
    assert "How sure is each weight?" not in report(model, X, y).html
    told = facts(model, X, y, sets=sets)["sets"]
    assert told["sets"][0]["features"][0]["name"] in NAMES
    assert told["sentence"] == sets.sentence()


def test_what_was_not_selected_has_no_row_and_the_page_says_so():
    X, y = samples("numbers")
    model = JeffreysRegressor().fit(X, y)
    sample = sample_posterior(model, X, y, random_state=0)
    told = facts(model, X, y, posterior=sample)["posterior"]
    assert {row["name"] for row in told["weights"]} == {NAMES[j] for j in model.support_}
    assert told["conditional"]
    assert any("has no interval, and the intervals shown are too short" in each for each in told["plain"])
    assert "conditional on the selected features" in told["sentence"]


def test_poor_draws_are_said_to_be_rough():
    X, y, model, sample = drawn("two classes", draws=20, max_sweeps=20)
    told = facts(model, X, y, posterior=sample)["posterior"]
    assert not told["converged"]
    assert "rough" in told["plain"][-1]


def test_draws_and_sets_of_other_data_are_refused():
    X, y, model, sample = drawn("two classes")
    with pytest.raises(ValueError, match="posterior has 5 columns, but the model has 4"):
        facts(SMLR().fit(X.iloc[:, :4], y), X.iloc[:, :4], y, posterior=sample)
    other = np.where(y == "sick", "ill", "well")
    with pytest.raises(ValueError, match="other classes"):
        facts(SMLR().fit(X, other), X, other, posterior=sample)
    with pytest.raises(ValueError, match="must be a PosteriorSample"):
        facts(model, X, y, posterior=model)
    with pytest.raises(ValueError, match="sets has 4 features, but the model has 5"):
        facts(model, X, y, sets=CredibleSetsClassifier().fit(X.iloc[:, :4], y))
    with pytest.raises(ValueError, match="must be a fitted CredibleSets"):
        facts(model, X, y, sets=model)


# -- the command


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    for kind in ("numbers", "two classes"):
        X, y = samples(kind)
        X.assign(y=y).to_csv(place / f"{kind.split()[0]}.csv", index=False)
    return place


def test_command_draws_saves_and_reports(files, capsys):
    table, model = files / "two.csv", files / "two.model"
    assert (
        run(["fit", str(table), "--model", "smlr", "--lam", "6", "-o", str(model), "--posterior", "--seed", "1"]) == 0
    )
    text = capsys.readouterr().out
    assert "weights the data settle whether they raise or lower a probability" in text
    assert f"The draws: {files / 'two.draws'}" in text
    sample = load(files / "two.draws")
    assert isinstance(sample, PosteriorSample)
    assert sample.names == NAMES
    X, y = samples("two classes")
    again = sample_posterior(SMLR(6.0, standardize=True).fit(X, y), X, y, random_state=1)
    assert_allclose(sample.coef, again.coef, rtol=1e-6, atol=1e-9)  # the file has rounded numbers
    page = files / "two.json"
    assert run(["report", str(model), str(table), "--posterior", str(files / "two.draws"), "-o", str(page)]) == 0
    assert {row["name"] for row in json.loads(page.read_text())["posterior"]["weights"]} == set(NAMES)


def test_command_that_is_interrupted_before_there_are_draws_says_where_the_model_is(files, capsys, monkeypatch):
    def interrupt(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("smaller.cli.posterior_draws.sample_posterior", interrupt)
    model = files / "begun.model"
    assert run(["fit", str(files / "two.csv"), "--model", "smlr", "--lam", "6", "-o", str(model), "--posterior"]) == 130
    assert f"Interrupted before there were draws; the model is in {model}." in capsys.readouterr().err
    assert load(model)


def test_command_says_that_intervals_of_kept_features_are_conditional(files, capsys):
    assert run(["fit", str(files / "numbers.csv"), "-o", str(files / "rvm.model"), "--posterior"]) == 0
    assert "conditional on the selected features" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "two.csv", "-o", "no.draws", "--posterior"], "an input file; name another file"),
        (["report", "two.model", "two.csv", "--posterior", "two.model"], "has no draws from a posterior"),
        (["fit", "two.csv", "-o", "no.model", "--groups", "features", "--posterior"], "does not go with --groups"),
    ],
)
def test_command_refuses_with_a_sentence(files, capsys, monkeypatch, arguments, said):
    monkeypatch.chdir(files)
    assert run(arguments) == 1
    assert said in capsys.readouterr().err
    assert not (files / "no.draws").exists()


def test_command_lists_credible_sets(files, capsys):
    output = files / "sets.csv"
    assert run(["select", str(files / "numbers.csv"), "--method", "sets", "-o", str(output)]) == 0
    assert "probabilities under the model, given one effect for each set" in capsys.readouterr().out
    written = pd.read_csv(output, index_col="feature")
    X, y = samples("numbers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        model = CredibleSetsRegressor().fit(X, y)
    assert_allclose(written["inclusion"], model.inclusion_, atol=1e-6)
    assert [name for name in NAMES if written.loc[name, "selected"]] == [NAMES[j] for j in model.support_]
    assert_allclose(written.loc[[NAMES[j] for j in model.sets_[0]], "set"], 1)
