"""Principal components from cofactors against scikit-learn's on the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from amounts import examples
from hypothesis import example, given
from hypothesis import strategies as st
from materialised import cofactor
from ringview import errors
from ringview.ml import PCA
from ringview.stats.cofactor import Cofactor
from sklearn import decomposition
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator


def table(rows: int = 200, width: int = 5, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=(rows, width)) @ random.normal(size=(width, width)) + 3
    return pd.DataFrame(numbers, columns=[f"x{i}" for i in range(width)])


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it() -> None:
    check_estimator(PCA())


@given(st.integers(0, 10_000), st.sampled_from([None, 1, 3, 0.8]), st.booleans())
@example(5808, None, False)
@examples(40)
def test_components(seed: int, wanted: int | float | None, scale: bool) -> None:
    rows = table(seed=seed)
    model = PCA(wanted, scale=scale).fit(cofactor(rows))
    numbers = rows.to_numpy()
    if scale:
        # The same variance as a sample has, not a population.
        numbers = StandardScaler().fit_transform(numbers) * np.sqrt(1 - 1 / len(rows))
    oracle = decomposition.PCA(wanted, svd_solver="full").fit(numbers)
    assert model.n_components_ == oracle.n_components_
    np.testing.assert_allclose(model.components_, oracle.components_, rtol=1e-5, atol=1e-7)
    # An eigenvalue is known up to the rounding of the largest one.
    for found, expected in (
        (model.explained_variance_, oracle.explained_variance_),
        (model.explained_variance_ratio_, oracle.explained_variance_ratio_),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-13 * expected.max())
    np.testing.assert_allclose(model.mean_, rows.mean())
    np.testing.assert_allclose(model.transform(rows), oracle.transform(numbers), 1e-5, 1e-6)


def test_all_components_give_the_rows_back() -> None:
    rows = table()
    for scale in (False, True):
        model = PCA(scale=scale).fit(cofactor(rows))
        back = model.inverse_transform(model.transform(rows))
        np.testing.assert_allclose(back, rows, atol=1e-9)
    assert model.get_feature_names_out().tolist() == [f"pca{i}" for i in range(5)]


def test_features_are_chosen_by_name() -> None:
    rows = table().assign(kind=["a", "b", "c", "a"] * 50)
    found = cofactor(rows, ["kind"])
    assert PCA().fit(found).feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "x4"]
    model = PCA(features=["kind", "x3"]).fit(found)
    assert model.column_names_.tolist() == ["kind=a", "kind=b", "kind=c", "x3"]
    kinds = OneHotEncoder(sparse_output=False).fit_transform(rows[["kind"]])
    oracle = decomposition.PCA().fit(np.hstack([kinds, rows[["x3"]]]))
    np.testing.assert_allclose(model.explained_variance_, oracle.explained_variance_, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (PCA(6), errors.InvalidValueError, "there are 1 to 5 of 5 columns"),
        (PCA(0), errors.InvalidValueError, "n_components=0"),
        (PCA(1.5), errors.InvalidValueError, "n_components=1.5"),
        (PCA(features=["x9"]), errors.UnknownColumnError, "did you mean"),
        (PCA(features=[]), errors.InvalidValueError, "no features"),
    ],
)
def test_wrong_questions(model: PCA, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        model.fit(cofactor(table()))


def test_bad_views() -> None:
    with pytest.raises(errors.TooFewRowsError, match="need 2 rows, there is 1"):
        PCA().fit(cofactor(table(1)))
    with pytest.raises(errors.TooFewRowsError, match="no rows"):
        PCA().fit(cofactor(table(0)))
    with pytest.raises(errors.ArithmeticOverflowError, match="'x'"):
        PCA().fit(Cofactor(["x"], 2, [1], [[np.inf]]))
    with pytest.raises(errors.UnknownColumnError, match='no column "x1"'):
        PCA().fit(cofactor(table())).transform({"x0": [1]})


def test_a_constant_column_is_harmless() -> None:
    model = PCA(scale=True).fit(cofactor(table().assign(one=0.1)))
    assert model.explained_variance_[-1] == pytest.approx(0, abs=1e-12)
    assert model.scale_[-1] == 1
