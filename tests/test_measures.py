"""Measures of classes, rare ones too: those of scikit-learn, with intervals that hold."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    precision_recall_fscore_support,
    roc_auc_score,
)

from smaller.tuning.ranking import balanced_error, class_measures, cross_validated, threshold_curve
from smaller.tuning.ranking.offers import candidates


def drawn(rng, n, share, shift=1.5):
    truth = rng.random(n) < share
    truth[:2] = True, False
    return truth, rng.normal(size=n) + shift * truth


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 120)
    P = rng.dirichlet(np.ones(3), 120).round(2) + 0.3 * np.eye(3)[codes]  # rounding makes ties
    decided = P.argmax(axis=1)
    precision, recall, _, support = precision_recall_fscore_support(codes, decided)
    for k in range(3):
        found = class_measures(P, codes, decided, k)
        assert found["samples"] == support[k]
        assert found["precision"] == pytest.approx(precision[k])
        assert found["sensitivity"] == pytest.approx(recall[k])
        assert found["specificity"] == pytest.approx(np.mean(decided[codes != k] != k))
        assert found["auc"] == pytest.approx(roc_auc_score(codes == k, P[:, k]))
        assert found["average_precision"] == pytest.approx(average_precision_score(codes == k, P[:, k]))
        for name in ("sensitivity", "specificity", "precision", "auc", "average_precision"):
            low, high = found[f"{name}_interval"]
            assert 0 <= low <= found[name] <= high <= 1
    error, (low, high) = balanced_error(codes, decided, 3)
    assert error == pytest.approx(1 - balanced_accuracy_score(codes, decided))
    assert low < error < high


def test_intervals_contain_the_truth_at_least_nine_times_in_ten():
    """One class in ten, 150 samples: nominal 95 %; 400 draws put the fraction within 0.03 of it."""
    rng, inside = np.random.default_rng(0), {"auc": 0, "balanced": 0}
    for _ in range(400):
        truth = np.arange(150) < 15
        score = rng.normal(size=150) + truth
        P = np.column_stack([-score, score])
        decided = (score > 0.5).astype(int)
        low, high = class_measures(P, truth.astype(int), decided, 1)["auc_interval"]
        inside["auc"] += low <= norm.cdf(1 / np.sqrt(2)) <= high
        _, (low, high) = balanced_error(truth.astype(int), decided, 2)
        inside["balanced"] += low <= norm.cdf(-0.5) <= high
    assert inside["auc"] / 400 > 0.91
    assert inside["balanced"] / 400 > 0.93


def test_the_interval_of_an_average_precision_near_one_is_short():
    """Of 102 samples of a class, one stands behind one of the others."""
    score = np.r_[np.arange(102.0), 0.5, np.full(182, -1.0)]
    truth = np.arange(285) < 102
    found = class_measures(np.column_stack([-score, score]), truth.astype(int), truth.astype(int), 1)
    low, high = found["average_precision_interval"]
    assert 0.999 < found["average_precision"] < 1.0
    assert 0.95 < low < found["average_precision"] < high <= 1.0


def test_the_interval_of_an_average_precision_contains_its_mean():
    rng = np.random.default_rng(0)
    truth = np.arange(150) < 30
    draws = [rng.normal(size=150) + 2 * truth for _ in range(400)]
    found = [class_measures(np.column_stack([-s, s]), truth.astype(int), truth.astype(int), 1) for s in draws]
    mean = np.mean([one["average_precision"] for one in found])
    inside = [one["average_precision_interval"][0] <= mean <= one["average_precision_interval"][1] for one in found]
    assert np.mean(inside) > 0.93


def test_measures_without_a_sample_are_none_and_perfect_ones_have_an_interval():
    P, codes = np.eye(2)[[0, 0, 0, 1]], np.array([0, 0, 0, 1])
    perfect = class_measures(P, codes, codes, 1)
    assert perfect["auc"] == perfect["sensitivity"] == 1.0
    assert perfect["auc_interval"][0] < 1.0
    alone = class_measures(P[:3], codes[:3], codes[:3], 1)
    assert alone["auc"] is alone["average_precision"] is alone["sensitivity"] is alone["precision"] is None
    assert alone["specificity"] == 1.0


def test_curves_are_monotone_and_end_at_one():
    truth, score = drawn(np.random.default_rng(1), 300, 0.1)
    curve = threshold_curve(score, truth)
    assert (np.diff(curve["recall"]) >= 0).all()
    assert (np.diff(curve["threshold"]) < 0).all()
    assert curve["recall"][-1] == curve["false_alarms"][-1] == 1.0
    assert curve["precision"][-1] == pytest.approx(truth.mean())


def test_models_are_compared_by_the_measure_asked_for():
    rng = np.random.default_rng(2)
    truth, score = drawn(rng, 200, 0.2)
    X = np.column_stack([score, rng.normal(size=(200, 2))])
    models = {
        name: model for name, model in candidates("classification", X).items() if name in ("rmlr", "class frequencies")
    }
    by_loss = cross_validated("classification", models, X, truth.astype(int), 3)
    by_area = cross_validated("classification", models, X, truth.astype(int), 3, scoring="auc")
    assert by_area[0].loss == pytest.approx(1 - by_area[0].figures["AUC"], abs=0.05)
    assert by_area[1].loss == 0.5
    assert by_loss[0].figures == by_area[0].figures
    assert by_loss[0].errors["AUC"] > 0
    with pytest.raises(ValueError, match="--scoring must be one of 'log-loss', 'error', 'balanced-error', 'auc'"):
        cross_validated("classification", models, X, truth.astype(int), 3, scoring="kappa")


@pytest.fixture
def rare(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    truth, score = drawn(rng, 1_000, 0.03, 2.0)
    table = pd.DataFrame({"score": score, "noise": rng.normal(size=1_000), "y": np.where(truth, "fraud", "fine")})
    table.to_csv("rare.csv", index=False)
    return truth


def command(text, code=0):
    from smaller.cli import run

    assert run(shlex.split(text)) == code


def facts(name):
    return json.loads(Path(name).read_text())


def test_balanced_classes_find_more_of_a_rare_one_and_the_priors_say_so(rare, capsys):
    command("fit rare.csv -o plain.model")
    assert "found (sensitivity)" in capsys.readouterr().out
    command("fit rare.csv -o balanced.model --class-weight balanced")
    for name in ("plain", "balanced"):
        command(f"report {name}.model rare.csv -o {name}.json")
    plain, balanced = facts("plain.json"), facts("balanced.json")
    assert balanced["quality"]["classes"][1]["sensitivity"] > plain["quality"]["classes"][1]["sensitivity"] + 0.2
    assert balanced["data"]["priors"] == [0.5, 0.5]
    assert plain["threshold"]["class"] == 1
    assert any("fraud, a rare class, it found" in sentence for sentence in plain["summary"]["watch"])
    command("fit rare.csv --class-weight odd", 1)
    assert "--class-weight must be one of 'balanced'" in capsys.readouterr().err
    command("fit rare.csv --class-weight balanced -t score", 1)
    assert "--class-weight is for classifiers" in capsys.readouterr().err


def test_a_threshold_is_the_same_in_prediction_and_report(rare, capsys):
    import pandas as pd

    command("fit rare.csv -o one.model")
    command("predict one.model rare.csv --threshold fraud=0.1 -o out.csv")
    command("report one.model rare.csv --threshold fraud=0.1 -o facts.json --date 2024-02-29")
    decided = pd.read_csv("out.csv")["prediction"] == "fraud"
    cut = facts("facts.json")["threshold"]
    assert (cut["hits"], cut["false_alarms"]) == ((decided & rare).sum(), (decided & ~rare).sum())
    assert cut["sensitivity"] == pytest.approx((decided & rare).sum() / rare.sum())
    assert facts("facts.json")["date"] == "2024-02-29"
    for wrong, said in (
        ("fraud", "must be class=probability"),
        ("theft=0.1", "There is no class"),
        ("fraud=2", "between 0 and 1"),
    ):
        command(f"predict one.model rare.csv --threshold {wrong}", 1)
        assert said in capsys.readouterr().err
    command("predict one.model rare.csv --threshold fraud=0.1 --reject 0.9", 1)
    assert "leave out --reject" in capsys.readouterr().err


def test_a_strength_is_chosen_by_the_measure_asked_for(rare, capsys):
    from smaller import load

    command("fit rare.csv --model smlr --scoring auc -o one.model")
    assert load("one.model").scoring == "roc_auc_ovr"
    command("fit rare.csv --scoring auc", 1)
    assert "use --model smlr without --lam" in capsys.readouterr().err
    command("compare rare.csv --folds 2 --jobs 1 --scoring average-precision --class-weight balanced")
    said = capsys.readouterr().out
    assert "average precision" in said
    assert "1 - average precision" in said or "No model does better" in said
