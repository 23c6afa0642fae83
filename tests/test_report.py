"""Reports: the facts are those of the model, and the page shows them without a network, with a keyboard, on a phone."""

import copy
import importlib
import json
import os
import re
import shutil
import warnings
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from conftest import clusters
from scipy import sparse
from scipy.stats import binomtest, norm
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import confusion_matrix, log_loss

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
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
    report,
    training_path,
)
from smaller.decision import PriorShift, Rejecting
from smaller.inference import CredibleSetsClassifier, StabilitySelection, sample_posterior
from smaller.tuning.training_path import path_of

X, CODES = clusters(n=240, p=6)
NAMES = ["first", "second", "third", "<b>fourth</b>", "fifth", 'six "th"']
LABELS = np.array(["red", "green", "blue & <i>"])
TRAIN, TEST = slice(0, 120), slice(120, None)
LARGEST = 1_500_000  # bytes of a page
NEEDED = bool(os.environ.get("SMALLER_REQUIRE_BROWSER"))


@pytest.fixture(scope="module")
def model():
    return SBMLR().fit(X[TRAIN], LABELS[CODES][TRAIN])


@pytest.fixture(scope="module")
def found(model):
    training = {"samples": 120, "priors": [0.2, 0.3, 0.5]}
    path = training_path(model, X[TRAIN], LABELS[CODES][TRAIN])
    return report(model, X[TEST], LABELS[CODES][TEST], names=NAMES, source="clusters.csv", training=training, path=path)


# -- the facts


def test_facts_survive_json(found):
    assert json.loads(json.dumps(found.facts, allow_nan=False)) == found.facts


def test_facts_are_those_of_the_model(found, model):
    P, y = model.predict_proba(X[TEST]), LABELS[CODES][TEST]
    quality = found.facts["quality"]
    wrong = int((model.predict(X[TEST]) != y).sum())
    assert (quality["wrong"], quality["tested"]) == (wrong, 120)
    interval = binomtest(wrong, 120).proportion_ci(method="exact")
    np.testing.assert_allclose(quality["interval"], [interval.low, interval.high], rtol=1e-9)
    assert quality["log_loss"] == pytest.approx(log_loss(y, P, labels=model.classes_))
    table = confusion_matrix(y, model.predict(X[TEST]), labels=model.classes_)
    assert quality["confusion"] == table.tolist()
    assert found.facts["certificate"]["gap"] == model.dual_gap_
    assert found.facts["bound"]["sentence"] == smaller.bounds.test_set(model, X[TEST], y).sentence
    assert sum(row["count"] for row in found.facts["calibration"]) == 120


def test_a_status_that_is_not_known_is_not_taken_for_convergence(model, tmp_path):
    """As a model file of a later version may have it."""
    changed = copy.copy(model)
    changed.status_ = "exhausted"
    smaller.save(changed, tmp_path / "later.model")
    told = smaller.report(smaller.load(tmp_path / "later.model"), X[TEST], LABELS[CODES][TEST]).facts["certificate"]
    assert told["status"] == "exhausted"
    assert "'exhausted' is unknown" in told["ended"]
    assert "counts as not converged" in told["ended"]


def test_weights_are_listed_by_size_with_their_names(found, model):
    weights = found.facts["kept"]["weights"]
    assert len(weights) == np.count_nonzero(model.coef_)
    sizes = [abs(row["standard"]) for row in weights]
    assert sizes == sorted(sizes, reverse=True)
    for row in weights:
        k, j = model.classes_.tolist().index(row["class"]), NAMES.index(row["name"])
        assert row["weight"] == model.coef_[k, j]
        assert row["standard"] == pytest.approx(model.coef_[k, j] * X[TEST][:, j].std())


def test_every_weight_is_listed_with_the_class_that_it_favours(found):
    for row in found.facts["kept"]["weights"]:
        assert row["favours"] == (row["class"] if row["weight"] > 0 else f"not {row['class']}")
    assert {row["weight"] > 0 for row in found.facts["kept"]["weights"]} == {True, False}


@pytest.mark.parametrize("kind", [SMLR(), RVMClassifier("linear"), JeffreysClassifier(), SMLR(basis="rbf")], ids=repr)
def test_of_two_classes_a_negative_weight_favours_the_first(kind):
    labels = np.where(CODES == 1, "one", "rest")
    weights = report(kind.fit(X, labels), X, labels).facts["kept"]["weights"]
    assert any(row["weight"] < 0 for row in weights)
    assert all(row["favours"] == ("rest" if row["weight"] > 0 else "one") for row in weights)


ON_PATH = [
    SBMLR(), SMLR(2.0), SMLR(2.0, standardize=True, l2=0.5), SMLR(3.0, penalty_factor=[1, 2, 1, 0, 1, 1]),
    SMLR(2.0, parametrization="reference"), SMLR(500.0), SMLR(0.01), SMLR(4.0, class_weight="balanced"),
    SMLR(5.0, basis="quadratic"), SMLRCV(lams=8, cv=3), LaplaceRegressor(), LaplaceRegressor(15.0, standardize=False),
    LaplaceRegressor(30.0, noise=1.0),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.parametrize("kind", ON_PATH, ids=repr)
def test_the_path_is_that_of_the_training_samples_and_has_the_model_on_it(kind):
    y = Y if isinstance(kind, LaplaceRegressor) else CODES
    model = kind.fit(X[TRAIN], y[TRAIN])
    trained = training_path(model, X[TRAIN], y[TRAIN])
    facts = report(model, X[TEST], y[TEST], names=NAMES, path=trained).facts
    path, at = facts["path"], facts["path"]["at"]
    assert path["lams"][at] == path["lam"] == getattr(model, "lam_", model.get_params().get("lam"))
    assert path["kept"][at] == facts["kept"]["number"] == len(model.support_)
    assert path["names"][at] == [str(model.basis_.names(np.array(NAMES, object))[j]) for j in model.support_]
    assert path["lams"] == sorted(path["lams"], reverse=True)
    shown = {(row["name"], row["class"]): row["standard"] for row in facts["kept"]["weights"]}
    for curve in path["curves"]:
        assert curve["values"][at] == pytest.approx(shown.get((curve["name"], curve["class"]), 0.0), rel=1e-12)


@pytest.mark.parametrize("kind", [SBMLR(), SMLR(2.0, l2=0.5), LaplaceRegressor()], ids=repr)
def test_the_model_continues_the_path_beside_it(kind):
    """The point of the model is its own solution; the path solves the same problem at the same strength."""
    y = Y if isinstance(kind, LaplaceRegressor) else CODES
    model = kind.fit(X, y)
    lam = getattr(model, "lam_", model.get_params().get("lam"))
    followed = path_of(model, X, y, [2 * lam, lam], tol=1e-9)
    np.testing.assert_allclose(followed.coefs[-1], np.atleast_2d(model.coef_), atol=2e-5)


def test_the_path_kept_with_a_model_is_drawn_and_a_refit_forgets_it(tmp_path):
    model = SMLR(2.0).fit(X[TRAIN], CODES[TRAIN])
    without = report(model, X[TEST], CODES[TEST]).facts["path"]
    assert "was not kept with the model" in without["reason"]
    model.path_ = training_path(model, X[TRAIN], CODES[TRAIN])
    smaller.save(model, tmp_path / "one.model")
    facts = report(smaller.load(tmp_path / "one.model"), X[TEST], CODES[TEST]).facts
    assert facts["path"]["kept"][facts["path"]["at"]] == facts["kept"]["number"]
    assert not hasattr(model.fit(X, CODES), "path_")


def test_on_the_training_samples_the_path_is_computed():
    model = SMLR(2.0).fit(X, CODES)
    facts = report(model, X, CODES).facts
    assert facts["path"]["kept"][facts["path"]["at"]] == len(model.support_)


@pytest.mark.parametrize("kind", [RVMRegressor("linear"), JeffreysRegressor(), RMLR(), SMLR(0.0), RVMClassifier("rbf")])
def test_a_model_that_is_no_point_of_a_path_is_shown_none(kind):
    y = Y if isinstance(kind, (RVMRegressor, JeffreysRegressor)) else CODES
    model = kind.fit(X, y)
    reason = report(model, X, y).facts["path"]["reason"]
    assert "has no path" in reason or "not for kernels" in reason
    if "has no path" in reason:
        with pytest.raises(ValueError, match="no point of a regularisation path"):
            training_path(model, X, y)


def test_a_path_of_other_columns_and_of_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        training_path(SMLR(), X, CODES)
    model = SMLR(2.0).fit(X, CODES)
    with pytest.raises(ValueError, match="but the model has 3 x 6"):
        report(model, X, CODES, path=smaller.path(X[:, :4], CODES, 5))


def test_the_training_sample_is_recognised_and_said_to_flatter(model):
    seen = report(model, X[TRAIN], LABELS[CODES][TRAIN]).facts
    assert seen["data"]["training_sample"]
    assert "errors on new samples are usually larger" in seen["data"]["note"]
    assert "chose the strength" in seen["bound"]["reason"]


def test_a_model_with_a_bound_of_its_training_sample_shows_it():
    binary = CODES[TRAIN] == 0
    plain = SMLR(5.0, fit_intercept=False).fit(X[TRAIN], binary)
    bound = report(plain, X[TRAIN], binary).facts["bound"]
    assert bound["sentence"] == smaller.bounds.pac_bayes(plain, X[TRAIN], binary).sentence


@pytest.mark.parametrize(
    "kind",
    [
        SMLR(), SMLRCV(lams=5, cv=3), RMLR(), SBMLR(basis="rbf"), SMLR(basis="quadratic"), RMLR("evidence"),
        EvidenceSearch(SBMLR(), {"basis": ["linear", "rbf"]}),
        Rejecting(PriorShift(SMLR()), threshold=0.6), SMLR(class_weight="balanced"),
        RVMClassifier(), RVMClassifier("linear", multiclass="ovr"), JeffreysClassifier(), TypeIIClassifier(),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("labels", [CODES, (CODES == 1).astype(int)], ids=["three classes", "two classes"])
def test_every_classifier_has_facts(kind, labels):
    fitted = kind.fit(X[TRAIN], labels[TRAIN])
    facts = report(fitted, X[TEST], labels[TEST]).facts
    json.dumps(facts, allow_nan=False)
    assert facts["quality"]["tested"] == 120
    assert sum(map(sum, facts["quality"]["confusion"])) == 120
    assert not facts["data"]["training_sample"]
    if not isinstance(fitted, (Rejecting, EvidenceSearch)) and getattr(fitted, "class_weight", None) is None:
        assert report(fitted, X[TRAIN], labels[TRAIN]).facts["data"]["training_sample"]


def test_sparse_data_and_sparse_weights_have_the_same_facts(found, model):
    thin = report(model, sparse.csr_array(X[TEST]), LABELS[CODES][TEST], names=NAMES)
    assert thin.facts["quality"]["confusion"] == found.facts["quality"]["confusion"]
    for one, other in zip(thin.facts["kept"]["weights"], found.facts["kept"]["weights"], strict=True):
        assert one == {**other, "standard": pytest.approx(other["standard"], rel=1e-12)}


def test_many_samples_travel_in_part_and_the_page_says_so(model):
    many = np.tile(X, (100, 1))
    facts = report(model, many, np.tile(LABELS[CODES], 100)).facts
    assert not facts["samples"]["whole"]
    assert len(facts["samples"]["codes"]) == 20_000 // 3
    assert facts["quality"]["tested"] == 24_000


def test_what_is_no_model_and_labels_that_are_unknown_are_refused(model):
    with pytest.raises(ValueError, match="labels that are not classes of the model"):
        report(model, X, CODES.astype(str))
    with pytest.raises(ValueError, match="X has 240 rows but y has 9"):
        report(model, X, LABELS[CODES][:9])
    with pytest.raises(ValueError, match="A fitted model of smaller is needed"):
        report(SMLR(), X, CODES)


# -- the facts about numbers

Y = X[:, 0] * 2 - X[:, 3] + np.random.default_rng(5).normal(0, 0.8, len(X))
REGRESSORS = [
    RVMRegressor("linear"), RVMRegressor("rbf"), RVMRegressor("quadratic"), JeffreysRegressor(), LaplaceRegressor(),
    LaplaceRegressor(20.0, standardize=False), TypeIRegressor("student"), TypeIIRegressor("em"),
    RVMRegressor("linear", fit_intercept=False), EvidenceSearch(RVMRegressor(), {"basis": ["linear", "rbf"]}),
]  # fmt: skip


@pytest.fixture(scope="module")
def machine():
    return RVMRegressor("linear").fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def numbers(machine):
    return report(machine, X[TEST], Y[TEST], names=NAMES, source="numbers.csv", training={"samples": 120})


def test_facts_about_numbers_are_those_of_the_model(numbers, machine):
    facts = numbers.facts
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    mean, deviation = machine.predict(X[TEST], return_std=True)
    y, quality = Y[TEST], facts["quality"]
    assert quality["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert quality["r2"] == pytest.approx(machine.score(X[TEST], y))
    assert quality["density_loss"] == pytest.approx(-norm.logpdf(y, mean, deviation).mean())
    for row in facts["coverage"]:
        low, high = norm.interval(row["level"], mean, deviation)
        assert row["inside"] == ((low <= y) & (y <= high)).mean()
        assert row["width"] == pytest.approx((high - low).mean())
    surest = np.argsort(deviation, kind="stable")[:60]
    row = next(row for row in facts["surest"] if row["accepted"] == 60)
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean)[surest] ** 2)))
    assert facts["noise"]["deviation"] == machine.noise_**0.5
    assert facts["model"]["found"]["evidence"] == machine.evidence_
    assert not facts["data"]["training_sample"]
    assert "RMS error" in repr(numbers)


def test_weights_come_with_their_standard_deviations(numbers, machine):
    errors = dict(zip(machine.support_.tolist(), np.sqrt(np.diag(machine.covariance_)), strict=True))
    weights = numbers.facts["kept"]["weights"]
    assert len(weights) == len(machine.support_)
    for row in weights:
        j = NAMES.index(row["name"])
        assert row["weight"] == machine.coef_[j]
        assert row["error"] == pytest.approx(errors[j] * X[TEST][:, j].std())


@pytest.mark.parametrize("kind", REGRESSORS, ids=repr)
def test_every_regressor_has_facts_and_knows_its_training_sample(kind):
    fitted = kind.fit(X[TRAIN], Y[TRAIN])
    facts = report(fitted, X[TEST], Y[TEST]).facts
    json.dumps(facts, allow_nan=False)
    assert facts["task"] == "regression"
    assert not facts["data"]["training_sample"]
    seen = report(fitted, X[TRAIN], Y[TRAIN]).facts
    assert seen["data"]["training_sample"] == getattr(fitted, "fit_intercept", True)
    assert sparse_facts(fitted)["quality"]["rmse"] == pytest.approx(facts["quality"]["rmse"])


def sparse_facts(fitted):
    return report(fitted, sparse.csr_array(X[TEST]), Y[TEST]).facts


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_constant_target_has_facts_too():
    facts = report(JeffreysRegressor().fit(X, np.ones(len(X))), X, np.ones(len(X))).facts
    json.dumps(facts, allow_nan=False)
    assert facts["quality"]["rmse"] == 0
    assert facts["quality"]["r2"] is None


def test_targets_that_are_no_numbers_or_several_are_refused(machine):
    with pytest.raises(ValueError, match="the target has text"):
        report(machine, X, CODES.astype(str))
    with pytest.raises(ValueError, match="about one target"):
        report(RVMRegressor("linear").fit(X, np.column_stack([Y, -Y])), X, Y)
    with pytest.raises(ValueError, match="X has 240 rows but y has 10"):
        report(machine, X, Y[:10])


# -- the page


class Elements(HTMLParser):
    """Collects the attributes of all elements."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {key: value or "" for key, value in attrs}))


@pytest.fixture(scope="module")
def page(found):
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    return found.html


@pytest.fixture(scope="module")
def page_of_numbers(page, numbers):
    return numbers.html


def rough_posterior(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return sample_posterior(model, X, y, draws=20, chains=2, max_sweeps=40, random_state=0)


@pytest.fixture(scope="module")
def page_of_everything(page):
    """Every panel that a page can have, with names that are too long for a telephone."""
    model, (A, a), (B, b) = SMLR(1.0), (X[TRAIN], LABELS[CODES][TRAIN]), (X[TEST], LABELS[CODES][TEST])
    model.path_ = training_path(model.fit(A, a), A, a)
    told = {
        "posterior": rough_posterior(model, A, a),
        "selection": StabilitySelection(n_pairs=5, random_state=0).fit(A, a),
        "sets": CredibleSetsClassifier(n_effects=2).fit(A, a),
    }
    return report(model, B, b, names=[f"{name}, {LONG[0]}" for name in NAMES], **told).html


PAGES = {"classes": "page", "numbers": "page_of_numbers", "everything": "page_of_everything"}


@pytest.fixture(params=PAGES)
def either(request):
    return request.getfixturevalue(PAGES[request.param])


def test_the_page_needs_nothing_else_and_is_small(either):
    page = either
    elements = Elements(page).found
    fetched = [a[key] for _, a in elements for key in ("src", "href", "srcset") if key in a]
    assert [value for value in fetched if not value.startswith(("#", "data:"))] == []
    assert not re.search(r"@import|url\(", page.partition("<script")[0])
    assert len(page.encode()) < LARGEST


LONG = [f"a name that begins like all the others of its table and ends with the number {j:03d}" for j in range(150)]


def test_the_page_with_the_most_that_it_can_hold_is_small_too(page):
    """Twelve classes, more rows than the page takes, long names, many weights, a path."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 150)), rng.integers(0, 12, 500)
    X[np.arange(500), y] += 2.0
    model = SMLR(4.0).fit(X, y)
    model.path_ = training_path(model, X, y)
    found = report(model, np.tile(X, (10, 1)), np.tile(y, 10), names=LONG)
    assert not found.facts["samples"]["whole"]
    assert found.facts["kept"]["weights_number"] > 60
    assert len(found.html.encode()) < LARGEST
    many = np.tile(X, (50, 1))
    target = X[:, 0] + rng.normal(size=500)
    found = report(RVMRegressor("linear").fit(X, target), many, np.tile(target, 50), names=LONG)
    assert len(found.html.encode()) < LARGEST


def imbalanced():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4))
    return X, np.where(X[:, 0] + rng.logistic(size=600) > 4.5, "sick", "well")


def unrelated():
    rng = np.random.default_rng(2)
    return rng.normal(size=(200, 4)), np.where(rng.random(200) < 0.4, "no", "yes")


SCEPTIC = {
    "three classes": lambda: (SBMLR(), X, LABELS[CODES]),
    "a rare class": lambda: (SBMLR(), *imbalanced()),
    "a rare class, balanced": lambda: (SBMLR(class_weight="balanced"), *imbalanced()),
    "nothing kept": lambda: (SMLR(1e4), *unrelated()),
    "a kernel": lambda: (SMLR(2.0, basis="rbf"), X, LABELS[CODES]),
    "relevance vectors": lambda: (RVMClassifier(max_iter=40), X, np.where(CODES == 1, "yes", "no")),
    "relaxed": lambda: (SMLRCV(lams=15, relax=True, rule="1se"), X, LABELS[CODES]),
    "all kept": lambda: (SMLR(1e-3), X, np.where(CODES == 1, "yes", "no")),
}


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.filterwarnings("ignore::smaller.errors.ConvergenceWarning")
@pytest.mark.parametrize("kind", SCEPTIC)
def test_two_panels_never_contradict_each_other(kind, page):
    model, X, y = SCEPTIC[kind]()
    found = report(model.fit(X, y), X, y)
    facts, said = found.facts, " ".join(found.facts["summary"]["says"] + found.facts["summary"]["watch"])
    quality, table = facts["quality"], np.array(facts["quality"]["confusion"])
    assert table.sum() == quality["tested"] == len(y) == sum(facts["data"]["counts"])
    assert table.sum() - table.trace() == quality["wrong"]
    assert f"right {quality['tested'] - quality['wrong']} times" in said
    for k, one in enumerate(quality["classes"]):
        assert one["sensitivity"] == pytest.approx(table[k, k] / table[k].sum())
        assert one["samples"] == table[k].sum() == facts["data"]["counts"][k]
    if len(table) == 2:  # at one half the threshold decides as the model does
        cut = facts["threshold"]
        assert cut["hits"] == table[cut["class"], cut["class"]]
        assert cut["false_alarms"] == table[1 - cut["class"], cut["class"]]
    assert quality["balanced_error"] == pytest.approx(1 - np.mean(table.diagonal() / table.sum(axis=1)))
    assert facts["risk_coverage"]["risk"][-1] == pytest.approx(quality["error"])
    assert ("from 0 of" in said) == (facts["kept"]["number"] == 0) == ("No column was found useful" in said)
    if "at" in facts["path"]:
        assert facts["path"]["kept"][facts["path"]["at"]] == facts["kept"]["number"]
        assert facts["path"]["lams"][facts["path"]["at"]] == pytest.approx(facts["path"]["lam"])
    assert ("not exact" in said) == (model.status_ not in ("converged", "jump"))
    assert kind != "a rare class" or model.status_ == "jump"  # at the optimum of its strength: nothing to watch
    prose = found.html.partition('<script type="application/json"')[0]
    assert ("weights of all others are exactly zero" in prose) == (0 < facts["kept"]["number"] < facts["kept"]["of"])
    assert ("none was switched off" in prose) == (facts["kept"]["number"] == facts["kept"]["of"])
    assert ("predicts the same for every row" in prose) == (facts["kept"]["number"] == 0)


def test_names_and_labels_cannot_break_the_page(either):
    page = either
    assert "<b>fourth</b>" not in page
    assert "<i>" not in page.partition('<script type="module">')[0]
    assert "&lt;b&gt;fourth&lt;/b&gt;" in page


def test_the_page_is_labelled_for_those_who_cannot_see_it(either):
    page = either
    elements = Elements(page).found
    inputs = [a for tag, a in elements if tag in ("input", "select")]
    labelled = {a.get("for") for tag, a in elements if tag == "label"}
    assert inputs
    assert [a for a in inputs if a.get("id") not in labelled and not a.get("aria-label")] == []
    charts = [a for tag, a in elements if a.get("id", "").startswith("chart-")]
    assert charts
    assert [a for a in charts if a.get("role") != "img" or not a.get("aria-label")] == []
    assert ("html", {"lang": "en"}) in elements
    targets = {a["id"] for _, a in elements if "id" in a}
    assert [a["href"] for tag, a in elements if tag == "a" and a["href"][1:] not in targets] == []


def test_a_report_is_saved_as_page_or_facts_and_shown_in_notebooks(found, page, tmp_path):
    found.save(tmp_path / "page.html")
    found.save(tmp_path / "facts.json")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert json.loads((tmp_path / "facts.json").read_text()) == found.facts
    assert found._repr_html_().startswith("<iframe srcdoc=")
    assert "120 wrong" in repr(found)


def test_without_its_packages_a_page_says_what_to_install_and_facts_need_nothing(found, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    fresh = smaller.report(SMLR().fit(X, CODES), X, CODES)
    with pytest.raises(ImportError, match=r"smaller\[report\]"):
        fresh.save(tmp_path / "page.html")
    fresh.save(tmp_path / "facts.json")
    assert [path.name for path in tmp_path.iterdir()] == ["facts.json"]


# -- in a browser


@pytest.fixture(scope="module")
def browser():
    sync_api = importlib.import_module("playwright.sync_api") if NEEDED else pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        assert not NEEDED, "SMALLER_REQUIRE_BROWSER is set, and there is no chromium to open the page with"
        pytest.skip("there is no chromium to open the page with")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def opened(browser, page, folder, width):
    """The page opened from disk without a network; on leaving, nothing was said and nothing was asked for."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    tab, said, asked = context.new_page(), [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((folder / "page.html").as_uri())
    tab.wait_for_selector("html[data-ready=yes]", timeout=30_000)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    yield tab
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_opens_from_disk_and_its_controls_change_the_numbers(browser, found, page, tmp_path, width):
    with opened(browser, page, tmp_path, width) as tab:
        assert tab.locator("figure svg").count() == 6
        check_untouched(tab, found.facts)
        check_threshold(tab, found.facts)
        check_path(tab, found.facts)
        check_costs(tab, found.facts)
        check_cut(tab, found.facts)
        check_row(tab, found.facts)
        check_dark(tab)


@pytest.mark.parametrize("width", [1400, 390])
def test_the_page_about_numbers_opens_and_its_controls_change_them(browser, numbers, page_of_numbers, tmp_path, width):
    with opened(browser, page_of_numbers, tmp_path, width) as tab:
        assert tab.locator("figure svg").count() == 5
        assert "RVMRegressor has no path" in tab.inner_text("main")
        check_level(tab, numbers.facts)
        check_share(tab, numbers.facts)
        check_row(tab, numbers.facts)
        check_dark(tab)


def check_cut(tab, facts):
    """The threshold starts at the facts, and its counts follow the probabilities."""
    cut = facts["threshold"]
    counts = {"hits": "hits", "misses": "misses", "alarms": "false_alarms"}
    assert {name: text(tab, f"cut-{name}") for name in counts} == {name: str(cut[key]) for name, key in counts.items()}
    assert text(tab, "cut-sensitivity") == f"{100 * cut['sensitivity']:.1f}\u00a0%"
    assert text(tab, "cut-specificity") == f"{100 * cut['specificity']:.1f}\u00a0%"
    tab.locator("#cut-at").fill("0.2")
    tab.locator("#cut-class").select_option("1")
    P, codes = np.array(facts["samples"]["P"]), np.array(facts["samples"]["codes"])
    assert text(tab, "cut-hits") == str(int(((P[:, 1] >= 0.2) & (codes == 1)).sum()))
    assert text(tab, "cut-alarms") == str(int(((P[:, 1] >= 0.2) & (codes != 1)).sum()))


def check_row(tab, facts):
    """The first row is that of the facts, and another can be picked."""
    for place in (0, 7):
        why = facts["rows"]["rows"][place]
        tab.locator("#row").select_option(str(place))
        assert tab.inner_text("#row-says").startswith(f"Row {why['row']}: ")
        lines = tab.locator("#row-parts tr")
        assert lines.nth(0).locator("th").inner_text() == facts["rows"]["names"][why["columns"][0]]
        numbers = [cell.replace("−", "-") for cell in tab.locator("#row-parts tr td:nth-child(3)").all_inner_texts()]
        parts = [float(number) for number in numbers]
        assert parts[-1] == pytest.approx(why["score"], rel=1e-3)
        assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=1e-3 * sum(map(abs, parts)))


def check_dark(tab):
    """The button turns the page dark, charts too, and light again."""
    colour = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(colour)
    tab.locator("#theme").click()
    tab.wait_for_function("document.querySelector('figure svg') && document.documentElement.dataset.theme === 'dark'")
    assert tab.evaluate(colour) != light
    assert tab.locator("#theme").get_attribute("aria-pressed") == "true"
    tab.wait_for_function("document.querySelector('#chart-weights svg').outerHTML.includes('#56B4E9')")
    tab.locator("#theme").click()
    tab.wait_for_function("document.querySelector('#chart-weights svg').outerHTML.includes('#0072B2')")
    assert tab.evaluate(colour) == light


@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_serious(browser, either, tmp_path, width):
    """axe-core of npm: SMALLER_AXE names its axe.min.js, else build/node_modules is looked into."""
    script = Path(
        os.environ.get("SMALLER_AXE", Path(__file__).parent.parent / "build/node_modules/axe-core/axe.min.js")
    )
    if not script.is_file():
        pytest.skip("there is no axe-core; npm install --prefix build axe-core brings it")
    with opened(browser, either, tmp_path, width) as tab:
        for _ in range(2):
            tab.evaluate(script.read_text(encoding="utf-8"))
            found = tab.evaluate("axe.run()")["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
            tab.locator("#theme").click()
            tab.wait_for_timeout(300)


def test_a_confusion_matrix_of_many_long_names_fits_and_its_inputs_are_in_reach(browser, page, tmp_path):
    X, y = clusters(n=360, p=6, m=12)
    names = np.array([f"a.class.with-a-long-name.{label:02d}" for label in range(12)])
    found = smaller.report(SMLR().fit(X, names[y]), X, names[y])
    for width in (1000, 390):
        with opened(browser, found.html, tmp_path, width) as tab:
            table = tab.locator("[aria-label='Confusion matrix']")
            assert width < 1000 or table.evaluate("e => e.scrollWidth <= e.clientWidth")
            edges = tab.locator(".prior").evaluate_all("all => all.map(e => e.getBoundingClientRect().right)")
            assert max(edges) <= width


def test_long_names_that_begin_alike_fit_a_telephone_and_can_be_told_apart(browser, page, tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 40)), rng.integers(0, 3, 120)
    X[np.arange(120), y] += 1.5
    model = SMLR(4.0).fit(X, y)
    model.path_ = training_path(model, X, y)
    found = report(model, X, y, names=LONG[:40])
    with opened(browser, found.html, tmp_path, 390) as tab:
        shown = [
            tab.locator("#row-parts th").all_inner_texts(),
            tab.locator("#chart-weights svg text").all_text_contents(),
        ]
        for names in shown:
            ends = [name for name in names if "…" in name]
            assert len(ends) >= 5
            assert len(set(ends)) == len(ends)
        cells = tab.locator("#row-parts td:nth-child(3)").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().right)"
        )
        assert max(cells) <= 390


@pytest.mark.parametrize("kind", [SMLR(1.0), LaplaceRegressor()], ids=repr)
def test_the_slider_of_the_path_starts_at_the_model(browser, page, kind, tmp_path):
    y = Y if isinstance(kind, LaplaceRegressor) else np.where(CODES == 1, "yes", "no")
    model = kind.fit(X[TRAIN], y[TRAIN])
    model.path_ = training_path(model, X[TRAIN], y[TRAIN])
    found = report(model, X[TEST], y[TEST], names=NAMES)
    with opened(browser, found.html, tmp_path, 1000) as tab:
        assert text(tab, "strength-kept") == str(found.facts["kept"]["number"])
        assert text(tab, "strength-names") == ", ".join(NAMES[j] for j in model.support_)
        check_path(tab, found.facts)


def test_costs_and_priors_that_nobody_touched_repeat_the_page(browser, page, tmp_path):
    """Priors of many digits, classes less frequent than in training, probabilities that are equal once rounded."""
    labels = np.where(CODES == 1, "yes", "no")
    model = SMLR(1.0).fit(X[TRAIN], labels[TRAIN])
    training = {"priors": [83 / 120 - 0.0004, 37 / 120 + 0.0004]}
    close = np.vstack([X[TEST], np.repeat(on_the_boundary(model, X[TEST]), 4, axis=0)])
    y = np.append(labels[TEST], ["yes", "no"] * (len(close[120:]) // 2))
    found = report(model, close, y, training=training)
    assert np.abs(np.array(found.facts["samples"]["P"][120:]) - 0.5).max() <= 1.001e-5  # one half each, once rounded
    with opened(browser, found.html, tmp_path, 1000) as tab:
        check_untouched(tab, found.facts)
        tab.locator(".prior").nth(0).fill("0.5")
        assert "each class is weighted by its future frequency" in tab.inner_text("#cost-says")
        tab.locator(".prior").nth(0).fill(tab.locator(".prior").nth(0).evaluate("field => field.defaultValue"))
        check_untouched(tab, found.facts)


def on_the_boundary(model, X):
    """Two samples whose probabilities are 1/2 but for the sixth decimal, one to each side."""
    w, b = model.coef_[0], model.intercept_[0]
    start = X[0] - w * (w @ X[0] + b) / (w @ w)
    return np.array([start + side * 4e-6 * w / (w @ w) for side in (-1, 1)])


def check_untouched(tab, facts):
    """Before a control was moved the panel says what the rest of the page says."""
    quality = facts["quality"]
    assert text(tab, "changed") == "0"
    assert text(tab, "aside") == "0"
    assert float(text(tab, "mean-cost")) == pytest.approx(quality["error"], rel=5e-3, abs=1e-12)
    decided = np.sum(quality["confusion"], axis=0).tolist()
    assert tab.locator("#decided td").all_inner_texts() == [*map(str, decided), "0"]


def check_level(tab, facts):
    for at in (9, 49, 89):
        tab.fill("#level", str(at))
        row = facts["coverage"][at]
        assert text(tab, "inside") == str(round(row["inside"] * 120))
        assert text(tab, "outside") == str(120 - round(row["inside"] * 120))
        assert float(text(tab, "width")) == pytest.approx(row["width"], rel=1e-3)
    before = text(tab, "inside")
    tab.focus("#level")
    for _ in range(30):
        tab.keyboard.press("ArrowLeft")
    assert text(tab, "inside") != before


def check_share(tab, facts):
    for at in (10, 60, 119):
        tab.fill("#share", str(at))
        row = facts["surest"][at]
        assert text(tab, "share-accepted") == str(row["accepted"])
        assert text(tab, "share-aside") == str(120 - row["accepted"])
        assert float(text(tab, "share-rmse")) == pytest.approx(row["rmse"], rel=1e-3)


def text(tab, name):
    return tab.inner_text(f"#{name}")


def check_threshold(tab, facts):
    P, codes = np.array(facts["samples"]["P"]), np.array(facts["samples"]["codes"])
    for threshold in (0.5, 0.75, 0.9):
        tab.fill("#threshold", str(threshold))
        accepted = P.max(axis=1) >= threshold
        wrong = int((accepted & (P.argmax(axis=1) != codes)).sum())
        assert text(tab, "accepted") == str(accepted.sum())
        assert text(tab, "rejected") == str((~accepted).sum())
        assert text(tab, "accepted-wrong") == str(wrong)
    before = text(tab, "accepted")
    tab.focus("#threshold")
    for _ in range(10):
        tab.keyboard.press("ArrowLeft")
    assert text(tab, "accepted") != before


def check_path(tab, facts):
    for at in (0, 20, 39):
        tab.fill("#strength", str(at))
        assert text(tab, "strength-kept") == str(facts["path"]["kept"][at])


def check_costs(tab, facts):
    P, codes = np.array(facts["samples"]["P"]), np.array(facts["samples"]["codes"])
    tab.locator(".cost").nth(1).fill("20")  # to say the second class when it is the first
    tab.locator(".prior").nth(0).fill("0.6")
    tab.fill("#reject-cost", "0.3")
    future = np.array([0.6, *facts["data"]["priors"][1:]])
    cost = np.ones((3, 3)) - np.eye(3)
    cost[0, 1] = 20
    shifted = smaller.decision.shift_priors(P, future / future.sum(), facts["data"]["priors"])
    decided = smaller.decision.decide(shifted, cost=cost, reject_cost=0.3)
    counts = [int((decided == k).sum()) for k in (0, 1, 2, -1)]
    assert tab.locator("#decided td").all_inner_texts() == [str(count) for count in counts]
    incurred = np.where(decided < 0, 0.3, cost[codes, decided])
    mean = sum(f * incurred[codes == k].mean() for k, f in enumerate(future / future.sum()))
    assert float(text(tab, "mean-cost")) == pytest.approx(mean, rel=6e-3)
