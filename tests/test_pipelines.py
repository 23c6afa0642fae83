"""Pipelines of preparations and models are saved and loaded as plain data, and tables are taken as they are."""

# ruff: noqa: E402

import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.estimator_checks import check_estimator

pd = pytest.importorskip("pandas")

import smaller
from smaller import SMLR, LaplaceRegressor
from smaller.errors import ModelFileError
from smaller.tables import TableTransformer

RNG = np.random.default_rng(3)
N = 80
TABLE = pd.DataFrame(
    {
        "size": np.where(np.arange(N) % 9 == 0, np.nan, RNG.normal(size=N)),
        "dose": RNG.gamma(2.0, 3.0, N),
        "colour": np.array(["red", "green", "blue"])[RNG.integers(0, 3, N)],
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 400, N), unit="D"),
    }
)
Y = np.where(TABLE["dose"] + RNG.normal(size=N) > 6, "yes", "no")
NUMBERS, WORDS = ["size", "dose"], ["colour"]

PREPARATIONS = {
    "table": TableTransformer(),
    "table with options": TableTransformer(ignore=["when"], na=["blue"], categorical=["colour"]),
    "scaled": make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS), (OneHotEncoder(), WORDS)
    ),
    "ranks": ColumnTransformer(
        [("n", make_pipeline(SimpleImputer(strategy="median"), RobustScaler()), NUMBERS),
         ("w", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS)]
    ),
    "rare": make_column_transformer(
        (OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist", sparse_output=False), WORDS),
        ("passthrough", ["dose"]),
    ),
    "limits": make_column_transformer((make_pipeline(SimpleImputer(), MinMaxScaler(), MaxAbsScaler()), NUMBERS)),
}  # fmt: skip


@pytest.mark.parametrize("kind", PREPARATIONS)
def test_a_pipeline_comes_back_and_predicts_the_same(kind, tmp_path):
    model = make_pipeline(clone(PREPARATIONS[kind]), SMLR(0.5)).fit(TABLE, Y)
    smaller.save(model, tmp_path / "one.model")
    again = smaller.load(tmp_path / "one.model")
    np.testing.assert_array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert again[:-1].get_feature_names_out().tolist() == model[:-1].get_feature_names_out().tolist()
    clone(again).fit(TABLE, Y)


def test_a_pipeline_that_is_not_fitted_comes_back(tmp_path):
    smaller.save(make_pipeline(TableTransformer(), StandardScaler(), LaplaceRegressor(1.0)), tmp_path / "one.model")
    again = smaller.load(tmp_path / "one.model")
    target = TABLE["dose"] + RNG.normal(size=N)
    assert again.fit(TABLE, target).score(TABLE, target) > 0.9


def test_what_is_no_preparation_is_refused_by_name(tmp_path):
    with pytest.raises(ModelFileError, match="PCA, which a model file cannot hold"):
        smaller.save(make_pipeline(PCA(), SMLR()), tmp_path / "one.model")
    with pytest.raises(ModelFileError, match="a function cannot be kept"):
        smaller.save(make_pipeline(FunctionTransformer(np.log1p), SMLR()), tmp_path / "one.model")
    assert not list(tmp_path.iterdir())


def _changed(path, change):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    change(header)
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_file_of_another_scikit_learn_is_loaded_with_a_warning(tmp_path):
    path = tmp_path / "one.model"
    smaller.save(make_pipeline(StandardScaler(), SMLR()).fit(TABLE[["dose"]], Y), path)
    _changed(path, lambda header: header.update({"scikit-learn": "1.2.3"}))
    with pytest.warns(UserWarning, match=r"was saved with scikit-learn 1\.2\.3"):
        smaller.load(path)
    smaller.save(SMLR().fit(TABLE[["dose"]], Y), path)
    smaller.load(_changed(path, lambda header: header.update({"scikit-learn": "1.2.3"})))


def test_parts_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "one.model"
    model = make_pipeline(StandardScaler(), SMLR()).fit(TABLE[["dose"]], Y)
    model[0].scale_ = np.ones(3)
    smaller.save(model, path)
    with pytest.raises(ModelFileError, match="scale_ must be None, or finite numbers of shape"):
        smaller.load(path)
    model = make_pipeline(TableTransformer(), SMLR()).fit(TABLE, Y)
    smaller.save(model, path)

    def harm(header):
        text = json.dumps(header["model"]).replace("weekday", "moon")
        header["model"] = json.loads(text)

    with pytest.raises(ModelFileError, match="columns_ must be the columns of a table"):
        smaller.load(_changed(path, harm))


def test_a_frame_is_read_as_the_file_of_it_is(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    by_file = smaller.tables.read_table(tmp_path / "table.csv", impute=True)
    found = TableTransformer().fit(TABLE)
    np.testing.assert_allclose(found.transform(TABLE), by_file.X)
    assert found.get_feature_names_out().tolist() == by_file.columns.inputs
    with pytest.raises(ValueError, match="Values are missing"):
        TableTransformer(impute=False).fit(TABLE)
    with pytest.raises(ValueError, match="no column 'other'"):
        TableTransformer(ignore=["other"]).fit(TABLE)
    with pytest.raises(ValueError, match=r"lacks columns that the model needs|feature names"):
        found.transform(TABLE.drop(columns="dose"))


def test_the_transformer_of_tables_keeps_the_contract():
    failed = [
        row for row in check_estimator(TableTransformer(), on_fail=None, on_skip=None) if row["status"] == "failed"
    ]
    assert [(row["check_name"], row["exception"]) for row in failed] == []
