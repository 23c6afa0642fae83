"""What selection says, where users look for it: the report, the command and the plot."""

# ruff: noqa: E402  (the imports below need what is checked for first)

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from smaller import SMLR, LaplaceRegressor
from smaller.cli import run
from smaller.errors import SameRowsWarning
from smaller.inference import Knockoffs, StabilitySelection, debiased
from smaller.report import facts, report

NAMES = [f"gene{j}" for j in range(12)]


def samples(n=240, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    W = np.zeros((12, classes))
    W[:3] = 1.5 * rng.standard_normal((3, classes)) if classes > 2 else [[0, 2.0], [0, -2.0], [0, 1.5]]
    return X, (X @ W + rng.gumbel(size=(n, classes))).argmax(axis=1)


@pytest.fixture(scope="module")
def halves():
    X, y = samples()
    frame = pd.DataFrame(X, columns=NAMES)
    return frame[:120], y[:120], frame[120:], y[120:]


@pytest.fixture(scope="module")
def selector(halves):
    return StabilitySelection(n_selected=3, n_pairs=10, random_state=0).fit(*halves[:2])


# -- the report


def test_report_has_frequencies_intervals_and_the_plain_sentence(halves, selector):
    X, y, new, truth = halves
    model = SMLR(3.0, standardize=True).fit(X, y)
    table = debiased(model, X, y)
    found = facts(model, new, truth, selection=selector, intervals=table)
    json.dumps(found)
    for row in found["kept"]["weights"]:
        j = NAMES.index(row["name"])
        assert row["frequency"] == selector.frequencies_[j]
        assert row["interval"] == [table.lower[0, j], table.upper[0, j]]
        assert row["p_holm"] == table.p_holm[j]
    assert found["kept"]["tests"] == table.sentence()
    told = found["selection"]
    assert (
        told["plain"] == f"Of these 3 features (of 12), at most {selector.expected_false_:.2g} is expected to be false."
    )
    assert [row["name"] for row in told["features"] if row["selected"]] == NAMES[:3]
    assert told["note"] == ""
    assert "columns" in facts(model, new, truth)["kept"]
    assert "selection" not in facts(model, new, truth)


def test_page_shows_them(halves, selector):
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    X, y, new, truth = halves
    model = SMLR(3.0, standardize=True).fit(X, y)
    page = report(model, new, truth, selection=selector, intervals=debiased(model, X, y)).html
    assert "intervals can be trusted." in page
    assert "How far can this list be trusted?" in page
    assert "expected to be false." in page
    assert '<th scope="col">frequency</th>' in page
    assert "95% interval of 1 against 0, per unit" in page
    assert "p-value (Holm)" in page
    assert "How far can this list be trusted?" not in report(model, new, truth).html


def test_report_of_p_values_of_splits_says_why_there_are_no_intervals(halves):
    X, y, new, truth = halves
    model = SMLR(3.0, standardize=True).fit(X, y)
    table = debiased(model, X, y, p_values="multi-split", n_splits=20, random_state=0)
    found = facts(model, new, truth, intervals=table)["kept"]
    assert [column["title"] for column in found["columns"]] == ["p-value (many splits)"]
    assert "p-values come from 20 splits" in found["tests"]
    assert "tests" not in facts(model, new, truth)["kept"]


def test_report_on_the_rows_that_selected_says_so(halves, selector):
    X, y, *_ = halves
    model = SMLR(3.0, standardize=True).fit(X, y)
    with pytest.warns(SameRowsWarning, match="100% of these samples were used to select the features"):
        found = facts(model, X, y, selection=selector)
    assert "look better than errors on new samples" in found["selection"]["note"]


@pytest.mark.parametrize("frames", [True, False])
def test_report_of_a_model_on_the_selected_columns(halves, frames):
    X, y, new, truth = halves
    X, new = (X, new) if frames else (X.to_numpy(), new.to_numpy())
    chosen = StabilitySelection(n_selected=3, n_pairs=10, random_state=0).fit(X, y)
    reduced = chosen.set_output(transform="pandas" if frames else "default")
    model = SMLR(0.1).fit(reduced.transform(X), y)
    found = facts(model, reduced.transform(new), truth, selection=chosen)
    assert {row["frequency"] for row in found["kept"]["weights"]} == set(chosen.frequencies_[chosen.support_])
    assert [row["name"] for row in found["selection"]["features"] if row["selected"]] == (
        NAMES[:3] if frames else ["x0", "x1", "x2"]
    )
    assert found["selection"]["note"] == ""
    with pytest.warns(SameRowsWarning, match="100% of these samples were used to select the features"):
        facts(model, reduced.transform(X), y, selection=chosen)


def test_several_classes_have_p_values_and_knockoffs_e_values():
    X, y = samples(classes=3)
    model = SMLR(3.0, standardize=True).fit(X, y)
    chosen = Knockoffs(fdr=0.9, n_copies=1, random_state=0).fit(X, y)
    table = debiased(model, X, y)
    with pytest.warns(SameRowsWarning):
        found = facts(model, X, y, selection=chosen, intervals=table)
    assert [column["key"] for column in found["kept"]["columns"]] == ["e-value", "interval", "interval 2", "p_holm"]
    assert found["kept"]["columns"][2]["title"] == "95% interval of 1 against 2, per unit"
    row = found["kept"]["weights"][0]
    j = int(row["name"].removeprefix("x"))
    assert [row["interval"], row["interval 2"]] == np.column_stack([table.lower[:, j], table.upper[:, j]]).tolist()
    assert "on average over such lists" in found["selection"]["plain"]


def test_what_does_not_belong_together_is_refused(halves, selector):
    X, y, new, truth = halves
    model = SMLR(3.0).fit(X.iloc[:, :5], y)
    table = debiased(SMLR(3.0), X, y)
    with pytest.raises(ValueError, match="selection has 12 features and selected 3, but the model has 5"):
        facts(model, new.iloc[:, :5], truth, selection=selector)
    with pytest.raises(ValueError, match="intervals has 12 features, but the model has 5"):
        facts(model, new.iloc[:, :5], truth, intervals=table)
    with pytest.raises(ValueError, match="must be a fitted StabilitySelection or Knockoffs; got SMLR"):
        facts(SMLR().fit(X, y), new, truth, selection=SMLR())
    with pytest.raises(ValueError, match="the model keeps relevance vectors; give a model with basis='linear'"):
        facts(SMLR(basis="rbf").fit(X, y), new, truth, selection=selector)


# -- the command


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    X, y = samples()
    frame, rng = pd.DataFrame(X, columns=NAMES), np.random.default_rng(1)
    frame["patient"] = [f"p{i // 3}" for i in range(len(y))]
    frame.assign(y=np.where(y, "sick", "well")).to_csv(place / "classes.csv", index=False)
    frame.assign(y=np.round(X[:, 0] - X[:, 1] + rng.standard_normal(len(y)), 3)).to_csv(
        place / "numbers.csv", index=False
    )
    return place


def test_command_lists_features_with_their_frequencies(files, capsys):
    output = files / "list.csv"
    arguments = ["select", str(files / "classes.csv"), "--max-false", "1", "--group", "patient", "--jobs", "1"]
    assert run([*arguments, "-o", str(output)]) == 0
    text = capsys.readouterr().out
    written = pd.read_csv(output, index_col="feature")
    assert list(written.index) == NAMES
    X, y = samples()
    groups = np.arange(len(y)) // 3
    expected = StabilitySelection(SMLR(standardize=True), max_false=1.0, random_state=0)
    expected.fit(X, np.where(y, "sick", "well"), groups=np.array([f"p{g}" for g in groups]))
    assert np.allclose(written["frequency"], expected.frequencies_)
    assert list(written.index[written["selected"]]) == [NAMES[j] for j in expected.support_]
    assert "is expected to be false" in text
    assert "gene0" in text


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        ("numbers.csv", ["--max-false", "0.5"], "at most"),
        ("classes.csv", ["--selected", "3", "--threshold", "0.7"], "at least 70% of 100 half-samples"),
        ("classes.csv", ["--selected", "2", "--bound", "worst-case"], "The bound is the worst-case one"),
        ("classes.csv", ["--threshold", "0.9"], "at least 90% of 100 half-samples"),
        ("classes.csv", [], "measure its errors, and test its weights, on other rows"),
        ("classes.csv", ["--method", "tests", "--ignore", "patient"], "at least 8 for each: intervals can be trusted"),
        (
            "classes.csv",
            ["--method", "tests", "--ignore", "patient"],
            "how the log odds of well against sick change",
        ),
        ("numbers.csv", ["--method", "tests", "--ignore", "patient"], "how the target changes for one unit more"),
        ("classes.csv", ["--method", "splits", "--ignore", "patient"], "p-values come from 50 splits"),
        ("classes.csv", ["--method", "knockoffs", "--fdr", "0.5", "--ignore", "patient"], "sets of knockoffs"),
    ],
)
def test_command_has_every_method(files, capsys, table, options, said):
    options = options if "--ignore" in options else [*options, "--group", "patient"]
    assert run(["select", str(files / table), *options, "--jobs", "1"]) == 0
    assert said in capsys.readouterr().out.replace("set(s)", "sets")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "lasso"], "--method must be one of 'stability', 'knockoffs', 'tests', 'splits'"),
        (["--method", "tests", "--group", "patient"], "--group is for --method stability"),
        (["--group", "hospital"], "hospital"),
        (["--max-false", "0"], "max_false"),
        (["--bound", "sharp"], "--bound must be one of 'worst-case'"),
        (["--selected", "9", "--threshold", "0.6", "--max-false", "1"], "more than max_false=1"),
        (["--selected", "99"], "n_selected=99 features cannot be selected from"),
        (["--fdr", "0.2"], "--fdr is for --method knockoffs; leave it out, or give --method knockoffs instead of stab"),
        (["--method", "tests", "--max-false", "1"], "--max-false is for --method stability; leave it out"),
    ],
)
def test_command_refuses_with_a_sentence(files, capsys, options, said):
    assert run(["select", str(files / "classes.csv"), *options]) == 1
    assert said in capsys.readouterr().err


# -- the plot


def test_plot_has_frequencies_against_weights(halves, selector):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from smaller.plots import FrequencyDisplay

    X, y, *_ = halves
    model = SMLR(3.0, standardize=True).fit(X, y)
    display = FrequencyDisplay.from_estimator(selector, model, X)
    assert np.allclose(display.weights, np.abs(model.coef_[0]) * X.to_numpy().std(axis=0))
    offsets = display.points_.get_offsets()
    shown = (selector.frequencies_ > 0) | (model.coef_[0] != 0)
    assert np.allclose(offsets[:, 1], selector.frequencies_[shown])
    assert {text.get_text() for text in display.ax_.texts} == set(NAMES[:3])
    assert "false expected" in display.ax_.get_legend().get_texts()[0].get_text()
    again = display.plot(pyplot.subplots()[1])
    assert again.ax_ is not None
    chosen = Knockoffs(LaplaceRegressor(), fdr=0.9, n_copies=1, random_state=0).fit(X, X["gene0"] + X["gene1"] ** 3)
    with pytest.raises(ValueError, match="Knockoffs has no frequencies"):
        FrequencyDisplay.from_estimator(chosen, model, X)
    with pytest.raises(ValueError, match="The model has 5 weights for 12 features"):
        FrequencyDisplay.from_estimator(selector, SMLR().fit(X.iloc[:, :5], y))
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
def test_plot_has_the_paths_of_the_frequencies(halves, selector):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from smaller.plots import FrequencyPathDisplay

    display = FrequencyPathDisplay.from_estimator(selector)
    levels, frequencies = selector.frequency_path()
    assert [line.get_label() for line in display.lines_] == sorted(
        NAMES[:3], key=lambda name: -frequencies.sum(axis=0)[NAMES.index(name)]
    )
    for line in display.lines_:
        assert np.array_equal(line.get_ydata(), frequencies[:, NAMES.index(line.get_label())])
    assert display.ax_.get_xlim() == (1.0, levels[-1])
    assert "false expected" in display.ax_.get_legend().get_texts()[-1].get_text()
    with pytest.raises(ValueError, match="SMLR has no frequencies; give a fitted StabilitySelection"):
        FrequencyPathDisplay.from_estimator(SMLR().fit(*halves[:2]))
    few = StabilitySelection(n_selected=1, n_pairs=2, threshold=1.0, max_false=None, random_state=0).fit(*halves[:2])
    assert FrequencyPathDisplay.from_estimator(few, levels=[1.0]).frequencies.shape == (1, 12)
    pyplot.close("all")
