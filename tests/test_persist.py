"""Model files: what was saved comes back exactly, and no file, however made, does more than being refused."""

import json
import os
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import sklearn
from conftest import clusters
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from test_mutated_files import use

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
    LaplaceRegressorCV,
    RVMClassifier,
    RVMRegressor,
    TypeIIClassifier,
    TypeIIRegressor,
    TypeIRegressor,
)
from smaller.atomic import replacing
from smaller.basis import Kernel, Polynomial
from smaller.decision import CostSensitive, PriorShift, Rejecting
from smaller.errors import EmptyModelWarning, ModelFileError
from smaller.inference import Knockoffs, StabilitySelection
from smaller.persist import load_with_notes, registry
from smaller.priors import Jeffreys, Power, Student

X, CODES = clusters(n=60, p=4)
NAMES = np.array(["red", "green", "blue"])
QUICK, THOROUGH = 300, 10_000


def equal(a, b) -> bool:
    """Whether two values are the same to the last bit, type and memory order."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype.kind == "O":
            return a.shape == b.shape and all(map(equal, a.ravel(), b.ravel()))
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return same and (a.flags.c_contiguous or not a.flags.f_contiguous or b.flags.f_contiguous)
    if sparse.issparse(a):
        return a.shape == b.shape and all(equal(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr"))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, np.random.RandomState):
        return equal(a.get_state(), b.get_state())
    if isinstance(a, (float, np.floating)) and np.isnan(a):
        return bool(np.isnan(b))
    if hasattr(a, "__dict__") and not isinstance(a, type):
        return equal(vars(a), vars(b)) if not hasattr(a, "_asdict") else all(map(equal, a, b))
    return bool(a == b)


def again(model, tmp_path, notes=None):
    smaller.save(model, tmp_path / "saved", notes)
    return smaller.load(tmp_path / "saved")


@pytest.fixture(scope="module")
def soundness(tmp_path_factory):
    """A sound model file with most of what a file can hold."""
    path = tmp_path_factory.mktemp("sound") / "sound.model"
    model = Rejecting(PriorShift(SMLR(basis="rbf", class_weight={"red": 2.0})), rate=0.1, cv=KFold(3, shuffle=True))
    model.estimator.set_params(training_priors=[0.2, 0.3, 0.5])
    smaller.save(model.fit(X, NAMES[CODES]), path, {"notes": [1, 2.5, "text"]})
    return path


# -- what was saved comes back

MODELS = {
    "SMLR": SMLR(),
    "SMLR, every option": SMLR(
        0.3, basis=Polynomial(2), parametrization="reference", solver="component-wise", l2=0.1, standardize=True,
        class_weight={0: 1.0, 1: 2.5, 2: 1.0}, random_state=np.random.RandomState(3), fit_intercept=False,
    ),
    "SMLR, penalty factors": SMLR(penalty_factor=np.asfortranarray(np.linspace(0.5, 2, 12).reshape(3, 4))),
    "SMLR, kernel": SMLR(basis=Kernel("poly", gamma=0.5, degree=2)),
    "SMLR, empty": SMLR(1e4),
    "RMLR": RMLR(),
    "RMLR, evidence": RMLR("evidence", basis="rbf"),
    "SBMLR": SBMLR(n_init=2),
    "SMLRCV": SMLRCV(lams=6, cv=KFold(3), rule="1se", scoring="accuracy"),
    "SMLRCV, splits": SMLRCV(lams=[1.0, 0.5], cv=[(np.arange(30), np.arange(30, 60))]),
    "SMLR, few centres": SMLR(basis=Kernel(centers=9)),
    "RVMClassifier, given centres": RVMClassifier(Kernel(centers=np.arange(16.0).reshape(4, 4))),
    "EvidenceSearch": EvidenceSearch(SBMLR(), {"basis": ["linear", "rbf", Kernel(gamma=0.1)]}),
    "PriorShift": PriorShift(SMLR(), priors={0: 0.5, 1: 0.25, 2: 0.25}),
    "CostSensitive": CostSensitive(RMLR(), cost={(0, 1): 20.0}, reject_cost=0.5),
    "Rejecting": Rejecting(CostSensitive(PriorShift(SBMLR())), error=0.3, cv=3),
    "JeffreysClassifier": JeffreysClassifier(basis="rbf"),
    "JeffreysRegressor": JeffreysRegressor(),
    "LaplaceRegressor": LaplaceRegressor(0.5),
    "LaplaceRegressorCV": LaplaceRegressorCV(lams=8),
    "RVMClassifier": RVMClassifier(),
    "RVMClassifier, one against the rest": RVMClassifier("linear", multiclass="ovr"),
    "RVMRegressor": RVMRegressor(),
    "TypeIRegressor": TypeIRegressor("student"),
    "TypeIRegressor, a prior of its own": TypeIRegressor(Power(0.3)),
    "TypeIRegressor, another": TypeIRegressor(Student(3)),
    "TypeIRegressor, Jeffreys": TypeIRegressor(Jeffreys()),
    "TypeIIRegressor": TypeIIRegressor("em"),
    "TypeIIClassifier": TypeIIClassifier(),
    "JCFO": JCFO(0.5, 1.0),
    "LRVM": LRVM(lam=1.0),
    "JFSCL": JFSCL(lam=1.0),
    "JFSCL, one against the rest": JFSCL(lam=1.0, multiclass="ovr"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::smaller.errors.EmptyModelWarning", "ignore::smaller.errors.RejectionWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_to_the_last_bit(name, tmp_path):
    model = MODELS[name].fit(X, CODES)
    loaded = again(model, tmp_path)
    assert equal(loaded, model)
    assert equal(loaded.predict(X), model.predict(X))
    if is_classifier(model):
        assert equal(loaded.predict_proba(X), model.predict_proba(X))
    else:
        assert equal(loaded.predict(X, return_std=True), model.predict(X, return_std=True))


SELECTORS = {
    "StabilitySelection": StabilitySelection(n_selected=1, threshold=0.6, max_false=None, random_state=0),
    "StabilitySelection, groups": StabilitySelection(
        SMLR(groups=[0, 0, 1, 1]), 5, n_selected=1, threshold=0.6, max_false=None, bound="worst-case", random_state=0
    ),
    "Knockoffs": Knockoffs(fdr=0.5, n_copies=2, random_state=0, covariance=np.eye(4)),
}


def selecting(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyModelWarning)
        return SELECTORS[name].fit(X, CODES)


@pytest.mark.parametrize("name", SELECTORS)
def test_a_selector_comes_back_to_the_last_bit(name, tmp_path):
    model = selecting(name)
    loaded = again(model, tmp_path)
    assert equal(loaded, model)
    assert equal(loaded.get_support(), model.get_support())
    assert loaded.sentence() == model.sentence()
    if hasattr(model, "frequency_path"):
        assert equal(loaded.frequency_path(), model.frequency_path())


@pytest.mark.parametrize(
    ("name", "field", "value", "said"),
    [
        ("StabilitySelection", "support_", np.array([0, 4]), "different positions among 4 features"),
        ("StabilitySelection", "frequencies_", np.full(4, 1.5), "a share for each of 4 features"),
        ("StabilitySelection", "entries_", sparse.csr_array(np.ones((3, 4))), "a row for each half-sample"),
        ("StabilitySelection", "expected_false_", float("nan"), "a finite number, at least 0"),
        ("Knockoffs", "statistics_", np.full((2, 4), np.nan), "rows of 4 finite numbers"),
        ("Knockoffs", "thresholds_", np.ones(3), "for each row of statistics_"),
        ("Knockoffs", "e_values_", np.ones(5), r"finite numbers of shape \(4,\)"),
        ("Knockoffs", "copies_", [np.array([0, 9])], "a list of sets of features"),
    ],
)
def test_a_selector_with_a_field_that_means_nothing_is_refused(name, field, value, said, tmp_path):
    model = selecting(name)
    setattr(model, field, value)
    smaller.save(model, tmp_path / "saved")
    refused(tmp_path / "saved", rf"model\.{field} must be .*{said}")


def test_every_exported_estimator_is_tried_and_can_be_saved():
    found = [getattr(smaller, name) for name in smaller.__all__]
    found += [getattr(smaller.decision, name) for name in smaller.decision.__all__]
    exported = {cls for cls in found if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert exported <= set(registry.ESTIMATORS.values())
    assert exported == {type(model) for model in MODELS.values()}


@pytest.mark.parametrize("labels", [NAMES, NAMES.astype(object), np.array([-1.0, 0.0, 2.0]), np.array([7, 3, 5], "i1")])
def test_classes_of_every_type_come_back(labels, tmp_path):
    model = SMLR().fit(X, labels[CODES])
    assert equal(again(model, tmp_path), model)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_weights_and_sparse_centres_come_back(make, tmp_path):
    thin = make(np.where(np.abs(X) > 1, X, 0.0))
    for model in (SMLR().fit(thin, CODES).sparsify(), SMLR(basis="rbf").fit(thin, CODES)):
        loaded = again(model, tmp_path)
        assert equal(loaded, model)
        assert equal(loaded.predict_proba(thin), model.predict_proba(thin))


def test_names_output_and_requests_come_back(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c", "é"])
    with sklearn.config_context(enable_metadata_routing=True):
        model = SMLR().set_fit_request(sample_weight=True, offset=False).set_output(transform="pandas")
        loaded = again(model.fit(frame, CODES), tmp_path)
        assert str(loaded.get_metadata_routing()) == str(model.get_metadata_routing())
    assert loaded.transform(frame).equals(model.transform(frame))
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_a_frozen_model_and_one_adapted_to_new_priors_come_back(tmp_path):
    inner = SMLR().fit(X, CODES)
    model = PriorShift(FrozenEstimator(inner), training_priors="uniform").fit(X, CODES).adapt(X[CODES != 1])
    loaded = again(model, tmp_path)
    assert equal(loaded.priors_, model.priors_)
    assert equal(loaded.estimate_, model.estimate_)
    assert equal(loaded.predict_proba(X), model.predict_proba(X))
    assert equal(loaded.fit(X, CODES).predict_proba(X), model.fit(X, CODES).predict_proba(X))


def test_a_model_that_is_not_fitted_yet_comes_back_as_it_is(tmp_path):
    loaded = again(SMLR(0.25, tol=1e-9), tmp_path)
    assert loaded.get_params() == SMLR(0.25, tol=1e-9).get_params()
    assert not hasattr(loaded, "coef_")


def test_warm_starts_go_on_from_a_loaded_model(tmp_path):
    model = SMLR(warm_start=True).fit(X, CODES)
    loaded = again(model, tmp_path)
    assert equal(loaded.fit(X, CODES).coef_, model.fit(X, CODES).coef_)


def test_notes_come_back_and_the_same_model_gives_the_same_bytes(tmp_path):
    model, notes = SMLR().fit(X, CODES), {"when": None, ("a", 1): [np.arange(3), float("nan"), np.float32(0.1)]}
    for name in ("one", "two"):
        smaller.save(model, tmp_path / name, notes)
    assert equal(load_with_notes(tmp_path / "one")[1], notes)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_numpy_reads_the_arrays_of_a_file(tmp_path):
    model = SMLR().fit(X, CODES)
    smaller.save(model, tmp_path / "saved")
    with np.load(tmp_path / "saved", allow_pickle=False) as archive:
        assert any(equal(archive[name], model.coef_) for name in archive.files if name != "header.json")


# -- what cannot be saved


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (make_pipeline(PCA(), SMLR()), "PCA, which a model file cannot hold"),
        (
            Rejecting(make_pipeline(PCA(), SMLR()), threshold=0.5),
            r"estimator.steps\[0\]\[1\] is a sklearn.decomp",
        ),
        (SMLR(basis=Kernel(lambda a, b: a @ b.T)), "model.basis.kernel"),
        (SMLRCV(scoring=lambda model, X, y: 0.0), "a function cannot be kept"),
        (SMLRCV(cv=RepeatedKFold()), "model.cv"),
        (SMLR(penalty_factor=np.array([1 + 2j])), "complex"),
        ("text", "model is a builtins.str"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name_and_leaves_no_file(model, said, tmp_path):
    with pytest.raises(ModelFileError, match=said):
        smaller.save(model, tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_an_impostor_with_a_known_name_is_not_saved(tmp_path):
    class SMLR(BaseEstimator):  # not ours
        pass

    with pytest.raises(ModelFileError, match="which a model file cannot hold"):
        smaller.save(SMLR(), tmp_path / "saved")


def test_state_of_a_model_that_no_file_knows_is_not_lost_in_silence(tmp_path):
    model = SMLR().fit(X, CODES)
    model._cache = np.arange(3)
    with pytest.raises(ModelFileError, match=r"model\._cache"):
        smaller.save(model, tmp_path / "saved")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    smaller.save(SMLR().fit(X, CODES), tmp_path / "saved")
    before = (tmp_path / "saved").read_bytes()

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", stop)
    with pytest.raises(KeyboardInterrupt):
        smaller.save(RMLR().fit(X, CODES), tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_link_stays_a_link_and_a_device_is_not_replaced(tmp_path):
    model = SMLR().fit(X, CODES)
    (tmp_path / "real").write_bytes(b"")
    try:
        (tmp_path / "link").symlink_to(tmp_path / "real")
    except OSError:
        pytest.skip("this system makes no links")
    smaller.save(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert equal(smaller.load(tmp_path / "real"), model)
    with replacing(os.devnull) as place:
        assert str(place) == os.devnull


# -- what is not loaded


def rewritten(source, target, change=None, members=None, compress=zipfile.ZIP_STORED):
    """A file like a sound one, with another header or other members; its checksums are right."""
    with zipfile.ZipFile(source) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(content["header.json"])
    if change:
        change(header)
    content = {**content, "header.json": json.dumps(header).encode(), **(members or {})}
    with zipfile.ZipFile(target, "w", compress) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return target


def refused(path, said="is not a model file"):
    with pytest.raises(ModelFileError, match=said) as caught:
        smaller.load(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_file_of_a_later_format_is_refused_with_the_version_that_wrote_it(soundness, tmp_path):
    target = rewritten(soundness, tmp_path / "later", lambda header: header.update(version=2, library="9.9"))
    refused(target, r"smaller 9\.9 in format 2.*upgrade")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x03\x04" + bytes(100), b"\x80\x04K\x01."])
def test_what_is_no_archive_is_refused(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    refused(tmp_path / "file", "is not a model file")


def test_a_missing_file_and_a_folder_are_said_to_be_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        smaller.load(tmp_path / "nothing")
    with pytest.raises(OSError, match="directory"):
        smaller.load(tmp_path)


def test_a_file_cut_short_anywhere_is_refused(soundness, tmp_path):
    whole = soundness.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 60).astype(int):
        (tmp_path / "cut").write_bytes(whole[:length])
        refused(tmp_path / "cut")


def test_a_pickle_in_the_place_of_an_array_is_not_run(soundness, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    import io

    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()], dtype=object), allow_pickle=True)
    refused(rewritten(soundness, tmp_path / "bomb", members={"0.npy": stream.getvalue()}), "type that is not allowed")
    assert not (tmp_path / "executed").exists()


def estimator(header):
    return header["model"]["estimator"]


HOSTILE = {
    "another class": lambda h: estimator(h).update({"class": "os.system"}),
    "a class of Python": lambda h: estimator(h).update({"class": "object"}),
    "an unknown kind": lambda h: h.update(model={"__reduce__": ["os.system", "true"]}),
    "no model": lambda h: h.update(model=3),
    "a basis for a model": lambda h: estimator(h).update({"class": "Path"}),
    "a parameter too many": lambda h: estimator(h)["parameters"].update({"self": 1}),
    "a dunder attribute": lambda h: estimator(h)["fitted"].update({"__class__": "x"}),
    "a method replaced": lambda h: estimator(h)["fitted"].update({"predict": 1}),
    "an array that is not there": lambda h: estimator(h)["fitted"].update({"classes_": {"array": "99"}}),
    "a path for an array": lambda h: estimator(h)["fitted"].update({"classes_": {"array": "../0"}}),
    "too long dimensions": lambda h: h.update(notes={"array": {"objects": [], "shape": [0, 1 << 60]}}),
    "a wrong shape": lambda h: h.update(notes={"array": {"objects": [1], "shape": [1 << 30]}}),
    "a key that is a list": lambda h: h.update(notes={"dict": [[[1], 2]]}),
    "a number of no kind": lambda h: h.update(notes={"scalar": ["|O", 1]}),
    "an enormous text": lambda h: h.update(notes={"scalar": [["<U1", [1 << 40]], "a"]}),
    "no random numbers": lambda h: h.update(notes={"random_state": ["MT19937", [1, 2], 3, 4, 5]}),
    "a matrix out of bounds": lambda h: h.update(
        notes={"sparse": {"class": "csr_array", "shape": [1, 1], "data": "0", "indices": "0", "indptr": "0"}}
    ),
    "a list for a header": lambda h: h.pop("format"),
    "another program": lambda h: h.update(format="something else"),
    "a version that is text": lambda h: h.update(version="1"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_header_is_refused(what, soundness, tmp_path):
    refused(rewritten(soundness, tmp_path / "hostile", HOSTILE[what]))


def test_a_header_nested_without_end_is_refused(soundness, tmp_path):
    deep = b'{"format": "smaller model", "version": 1, "notes": null, "model": ' + b"[" * 200_000
    refused(rewritten(soundness, tmp_path / "deep", members={"header.json": deep}))


def test_a_member_that_grows_on_being_read_is_refused_before_it_is_read(soundness, tmp_path):
    bomb = {"0.npy": bytes(50_000_000)}
    refused(rewritten(soundness, tmp_path / "bomb", members=bomb, compress=zipfile.ZIP_DEFLATED), "compressed")


@pytest.mark.parametrize("shape", [(1 << 50,), (1 << 20, 1 << 20), (3,) * 40, (-1,), (0, 1 << 62)])
def test_an_array_that_claims_an_absurd_size_is_refused_without_allocating_it(shape, soundness, tmp_path):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)
    refused(rewritten(soundness, tmp_path / "absurd", members={"0.npy": member}), "shape")


def test_weights_that_do_not_fit_their_columns_are_refused(tmp_path):
    model = SMLR().fit(X, CODES)
    model.support_ = np.array([0, 99])
    smaller.save(model, tmp_path / "saved")
    refused(tmp_path / "saved", r"model\.support_ must be the columns of coef_ that are not 0; got \[0, 99\]")


# -- mutations


def mutated(whole: bytes, header: bytes, rng) -> bytes:
    """A few changes: bytes replaced, inserted, removed, doubled; half of the time in the header or the directory."""
    content = bytearray(whole)
    start = whole.index(header)
    for _ in range(int(rng.integers(1, 5))):
        here = int(rng.integers(len(content)))
        if rng.random() < 0.3:
            here = min(start + int(rng.integers(len(header))), len(content) - 1)
        elif rng.random() < 0.3:
            here = len(content) - 1 - int(rng.integers(min(len(content), 600)))
        kind, length = rng.integers(5), int(rng.integers(1, 9))
        if kind == 0:
            content[here] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            content[here : here + length] = rng.bytes(length)
        elif kind == 2:
            del content[here : here + length]
        elif kind == 3:
            content[here:here] = rng.bytes(length)
        else:
            content[here:here] = content[here : here + 64]
    return bytes(content)


def survives(soundness, tmp_path, count: int, seed: int) -> int:
    """How many of the mutations are refused; the others must still be models that predict."""
    rng, whole, target = np.random.default_rng(seed), soundness.read_bytes(), tmp_path / "mutated"
    with zipfile.ZipFile(soundness) as archive:
        header = archive.read("header.json")
    number = 0
    for _ in range(count):
        if rng.random() < 0.5:
            target.write_bytes(mutated(whole, header, rng))
        else:  # checksums mended, so that what lies behind them is reached
            rewritten(soundness, target, members={"header.json": mutated(header, header, rng)})
        try:
            model = smaller.load(target)
        except ModelFileError:
            number += 1
        else:
            assert isinstance(model, BaseEstimator)
            if getattr(model, "n_features_in_", None) == X.shape[1]:
                with np.errstate(all="ignore"):
                    use(model, X[:5])
    return number


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_mutations_of_a_file_are_refused_or_load(soundness, tmp_path):
    assert survives(soundness, tmp_path, QUICK, seed=0) > 0.5 * QUICK


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_ten_thousand_mutations_of_a_file_are_refused_or_load(soundness, tmp_path):
    assert survives(soundness, tmp_path, THOROUGH, seed=1) > 0.5 * THOROUGH


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate name", "ignore::smaller.errors.EmptyModelWarning")
@pytest.mark.filterwarnings("ignore::smaller.errors.RejectionWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*MODELS, *SELECTORS])
def test_mutations_of_files_of_every_kind_are_refused_or_load(name, tmp_path):
    smaller.save({**MODELS, **SELECTORS}[name].fit(X, CODES), tmp_path / "sound")
    assert survives(tmp_path / "sound", tmp_path, QUICK, seed=2) > 0.5 * QUICK


def test_a_model_without_all_of_its_parts_is_refused(tmp_path):
    model = SMLR().fit(X, CODES)
    del model.intercept_
    smaller.save(model, tmp_path / "saved")
    refused(tmp_path / "saved", "lacks intercept_")


def test_loading_imports_nothing_that_the_package_did_not(soundness):
    code = """import sys, smaller
from smaller import *
before = set(sys.modules)
smaller.load(sys.argv[1])
print({name for name in set(sys.modules) - before if not name.startswith("encodings.")})"""
    done = subprocess.run([sys.executable, "-c", code, soundness], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
