"""Regressions from cofactors against scikit-learn on the rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from materialised import cofactor
from ringview import errors
from ringview.ml import LinearRegression, Ridge
from ringview.stats.cofactor import Cofactor
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator


def shop(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    found = pd.DataFrame(
        {
            "price": random.integers(1, 90, rows),
            "area": random.normal(500, 40, rows),
            "rain": random.random(rows) * 1e-3,
            "kind": random.choice(["tea", "ale", "pie"], rows),
            "city": random.choice(["Rome", "Oslo", "Bern", "Lima"], rows),
        }
    )
    found["units"] = (
        3.0 * found["price"]
        - 0.1 * found["area"]
        + 4e3 * found["rain"]
        + found["kind"].map({"tea": 0, "ale": 5, "pie": -2})
        + random.normal(0, 1, rows)
    )
    return found


NUMBERS = ["price", "area", "rain"]


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(), Ridge(solver="gradient")])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_them(estimator: Any) -> None:
    # Arrays in place of a view: every check applies.
    check_estimator(estimator)


@given(
    st.integers(0, 10_000),
    st.sampled_from([*NUMBERS, "units"]),
    st.booleans(),
    st.sampled_from([0.0, 1e-3, 1.0, 1e4]),
    st.data(),
)
@examples(60)
def test_any_label_and_any_features(
    seed: int, label: str, intercept: bool, alpha: float, data: Any
) -> None:
    rows = shop(60, seed)
    others = [name for name in [*NUMBERS, "units"] if name != label]
    features = data.draw(st.lists(st.sampled_from(others), min_size=1, unique=True))
    model = Ridge(label, features, alpha=alpha, fit_intercept=intercept)
    model.fit(cofactor(rows, ["kind", "city"]))
    oracle = linear_model.Ridge(alpha=alpha, fit_intercept=intercept, solver="svd")
    oracle.fit(rows[features].to_numpy(), rows[label])
    np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, oracle.intercept_, rtol=1e-5, atol=1e-6)
    assert model.feature_names_in_.tolist() == features
    assert model.score(cofactor(rows, ["kind", "city"])) == pytest.approx(
        oracle.score(rows[features].to_numpy(), rows[label]), abs=1e-7
    )


def test_least_squares() -> None:
    rows = shop()
    model = LinearRegression("units", NUMBERS).fit(cofactor(rows, ["kind", "city"]))
    oracle = linear_model.LinearRegression().fit(rows[NUMBERS], rows["units"])
    np.testing.assert_allclose(model.coef_, oracle.coef_, rtol=1e-7)
    np.testing.assert_allclose(model.intercept_, oracle.intercept_, rtol=1e-7)
    np.testing.assert_allclose(model.predict(rows), oracle.predict(rows[NUMBERS]), rtol=1e-7)
    expected = oracle.score(rows[NUMBERS], rows["units"])
    assert model.score(rows, rows["units"]) == pytest.approx(expected)
    assert model.score(cofactor(rows, ["kind", "city"])) == pytest.approx(expected)
    assert (model.n_features_in_, model.n_rows_, model.converged_) == (3, 300, True)
    assert list(model.coefficients()) == ["intercept", *NUMBERS]


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_categories_are_columns(alpha: float) -> None:
    rows = shop()
    features = ["kind", "price", "city", "area"]
    model = Ridge("units", features, alpha=alpha).fit(cofactor(rows, ["kind", "city"]))
    encoder = OneHotEncoder(drop=None if alpha else "first", sparse_output=False)
    kinds = encoder.fit_transform(rows[["kind", "city"]])
    names = encoder.get_feature_names_out()
    both = np.hstack([kinds, rows[["price", "area"]]])
    oracle = linear_model.Ridge(alpha=alpha, solver="svd").fit(both, rows["units"])
    expected = dict(zip([*names, "price", "area"], oracle.coef_, strict=True))
    assert model.coef_names_[0] == ("kind=ale" if alpha else "kind=pie")
    for name, value in zip(model.coef_names_, model.coef_, strict=True):
        assert value == pytest.approx(expected[name.replace("=", "_")], rel=1e-6, abs=1e-8)
    np.testing.assert_allclose(model.predict(rows), oracle.predict(both), rtol=1e-8)
    r2 = oracle.score(both, rows["units"])
    assert model.score(cofactor(rows, ["kind", "city"])) == pytest.approx(r2)
    assert model.feature_names_in_.tolist() == features
    assert model.n_features_in_ == 4


def test_categories_do_not_depend_on_the_order_of_rows() -> None:
    rows = shop()
    a = Ridge("units").fit(cofactor(rows, ["kind", "city"]))
    b = Ridge("units").fit(cofactor(rows[::-1], ["city", "kind"]))
    assert a.coefficients() == pytest.approx(b.coefficients(), rel=1e-9)


def test_a_category_without_rows_has_no_column() -> None:
    rows = shop()[["kind", *NUMBERS, "units"]]
    gone = cofactor(rows, ["kind"])
    left = gone - cofactor(rows[rows["kind"] == "ale"], ["kind"])
    model = LinearRegression("units", ["kind", "price"]).fit(left)
    assert model.categories_ == {"kind": ["pie", "tea"]}
    assert model.coef_names_.tolist() == ["kind=tea", "price"]
    with pytest.raises(errors.InvalidValueError, match="category 'ale' that the model has not"):
        model.predict(rows)
    with pytest.raises(errors.InvalidValueError, match="category 'ale'"):
        model.score(gone)
    # The other way: a model of all categories scores a view that has lost one.
    lost = rows[rows["kind"] != "ale"]
    whole = LinearRegression("units", ["kind", "price"]).fit(gone)
    assert whole.score(left) == pytest.approx(whole.score(lost, lost["units"]))


def dependent(rows: int = 100) -> pd.DataFrame:
    found = shop(rows)[[*NUMBERS, "units"]]
    found["gross"] = 1.2 * found["price"] - 0.5 * found["area"]
    return found


@pytest.mark.parametrize("intercept", [True, False])
def test_dependent_features_are_named(intercept: bool) -> None:
    model = LinearRegression("units", fit_intercept=intercept)
    with pytest.raises(errors.SingularSystemError) as caught:
        model.fit(cofactor(dependent()))
    assert "'gross' is a linear combination of 'price' and 'area'," in str(caught.value)
    assert "Ridge with alpha > 0" in str(caught.value)


@given(st.integers(0, 10_000), st.integers(2, 8), st.floats(1e-3, 1e3))
@examples(60)
def test_singular_systems_are_found(seed: int, width: int, unit: float) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(random.normal(0, 10, width), 1, (200, width))
    weights = random.normal(size=width) + 0.1
    names = [f"x{i}" for i in range(width)]
    frame = pd.DataFrame(rows, columns=names)
    frame["y"] = random.normal(size=200)
    LinearRegression("y").fit(cofactor(frame))
    frame["copy"] = unit * (rows @ weights) + 3
    with pytest.raises(errors.SingularSystemError, match="'copy' is a linear combination"):
        LinearRegression("y").fit(cofactor(frame))


def test_constant_features_are_named() -> None:
    rows = shop()[["price", "units"]].assign(one=0.1, two=2)
    with pytest.raises(errors.SingularSystemError, match="'one' and 'two' are constant"):
        LinearRegression("units").fit(cofactor(rows))
    model = Ridge("units").fit(cofactor(rows))
    assert model.coef_[1:].tolist() == [0, 0]
    # Without an intercept a constant replaces it, but two of them do not.
    LinearRegression("units", ["price", "one"], fit_intercept=False).fit(cofactor(rows))
    with pytest.raises(errors.SingularSystemError, match="'two' is a linear combination of 'one'"):
        LinearRegression("units", fit_intercept=False).fit(cofactor(rows))


def test_nested_categories_are_dependent() -> None:
    rows = shop()
    rows["country"] = rows["city"].map({"Rome": "IT", "Oslo": "NO", "Bern": "CH", "Lima": "PE"})
    found = cofactor(rows[["city", "country", "units"]], ["city", "country"])
    with pytest.raises(errors.SingularSystemError, match="'country=IT'"):
        LinearRegression("units").fit(found)
    Ridge("units").fit(found)


@pytest.mark.parametrize("alpha", [1e-30, 1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_is_never_singular(alpha: float, intercept: bool) -> None:
    rows = dependent()
    features = [*NUMBERS, "gross"]
    model = Ridge("units", features, alpha=alpha, fit_intercept=intercept).fit(cofactor(rows))
    x, y = rows[features].to_numpy(), rows["units"].to_numpy()
    if intercept:
        x, y = x - x.mean(axis=0), y - y.mean()
    # By singular values, without those that are rounding: scikit-learn would divide by them.
    left, singular, right = np.linalg.svd(x, full_matrices=False)
    kept = singular > 1e-9 * singular[0]
    shrunk = singular[kept] / (singular[kept] ** 2 + alpha)
    expected = right[kept].T @ (shrunk * (left.T @ y)[kept])
    assert kept.sum() == 3
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-5, atol=1e-5)


def test_units_do_not_matter() -> None:
    rows = shop()[[*NUMBERS, "units"]]
    small = LinearRegression("units").fit(cofactor(rows))
    large = LinearRegression("units").fit(cofactor(rows.assign(price=rows["price"] * 1e9)))
    np.testing.assert_allclose(small.coef_ / [1e9, 1, 1], large.coef_, rtol=1e-6)


def test_gradient_descent_arrives_and_starts_where_it_was() -> None:
    rows = shop()
    found = cofactor(rows, ["kind", "city"])
    exact = Ridge("units").fit(found)
    model = Ridge("units", solver="gradient", tol=1e-12).fit(found)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6, atol=1e-6)
    assert model.intercept_ == pytest.approx(exact.intercept_)
    assert model.converged_
    assert model.gradient_ <= 1e-12
    cold = model.n_iter_
    assert cold > 5
    assert model.fit(found).n_iter_ == 0
    moved = found + cofactor(shop(3, seed=5), ["kind", "city"])
    assert model.fit(moved).n_iter_ > 0
    np.testing.assert_allclose(model.coef_, Ridge("units").fit(moved).coef_, rtol=1e-6, atol=1e-6)
    assert model.set_params(warm_start=False).fit(found).n_iter_ == cold


def test_warm_start_is_shorter_after_a_small_batch() -> None:
    found = cofactor(shop(3000)[[*NUMBERS, "units"]])
    moved = found + cofactor(shop(3, seed=5)[[*NUMBERS, "units"]])
    warm = LinearRegression("units", solver="gradient", tol=1e-6).fit(found).fit(moved)
    cold = LinearRegression("units", solver="gradient", tol=1e-6).fit(moved)
    assert warm.n_iter_ < cold.n_iter_


def test_gradient_descent_by_name_when_columns_come_and_go() -> None:
    rows = shop()
    model = Ridge("units", solver="gradient")
    model.fit(cofactor(rows[rows["kind"] != "tea"], ["kind", "city"]))
    model.fit(cofactor(rows, ["kind", "city"]))
    exact = Ridge("units").fit(cofactor(rows, ["kind", "city"]))
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-3, atol=1e-3)


def test_gradient_descent_says_when_it_has_not_arrived() -> None:
    model = Ridge("units", solver="gradient", max_iter=2)
    with pytest.warns(ConvergenceWarning, match="not converged in 2 steps"):
        model.fit(cofactor(shop(), ["kind", "city"]))
    assert (model.n_iter_, model.converged_) == (2, False)
    assert model.gradient_ > model.tol


def test_gradient_descent_answers_singular_systems() -> None:
    rows = dependent().assign(one=1.0)
    model = LinearRegression("units", solver="gradient", max_iter=100_000).fit(cofactor(rows))
    best = LinearRegression("units", NUMBERS).fit(cofactor(rows))
    np.testing.assert_allclose(model.predict(rows), best.predict(rows), rtol=1e-4)


@pytest.mark.parametrize("give", [dict, pd.DataFrame, pl.DataFrame, pa.table, "batch", "array"])
def test_rows_come_in_many_shapes(give: Any) -> None:
    rows = shop(20)
    features = ["kind", "price", "area"]
    model = Ridge("units", features).fit(cofactor(rows, ["kind", "city"]))
    expected = model.predict(rows)
    columns = {name: rows[name].tolist() for name in features[::-1]}
    if give == "batch":
        given = pa.RecordBatch.from_pydict(columns)
    elif give == "array":
        given = rows[features].to_numpy(object)
    else:
        given = give(columns)
    np.testing.assert_allclose(model.predict(given), expected)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"price": [1]}, errors.UnknownColumnError, 'no column "area"'),
        ({"price": [1], "area": ["x"]}, errors.TypeMismatchError, '"area" must be numbers'),
        ({"price": [1, 2], "area": [1, np.nan]}, errors.InvalidValueError, '"area" is nan in row'),
        ({"price": [np.inf], "area": [1]}, errors.InvalidValueError, '"price" is inf in row 0'),
        ({"price": [1, 2], "area": [1]}, errors.InvalidValueError, "of one length"),
        ([[1, 2, 3]], errors.InvalidValueError, r"array of 2 columns .* shape \(1, 3\)"),
        ([1, 2], errors.InvalidValueError, r"shape \(2,\)"),
        ("rows", errors.InvalidValueError, "got str"),
    ],
)
def test_wrong_rows(rows: Any, error: type[Exception], message: str) -> None:
    model = Ridge("units", ["price", "area"]).fit(cofactor(shop(), ["kind", "city"]))
    with pytest.raises(error, match=message):
        model.predict(rows)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Ridge(), errors.InvalidValueError, r"Ridge\(label=\.\.\)"),
        (Ridge("unit"), errors.UnknownColumnError, 'did you mean "units"'),
        (Ridge("kind"), errors.InvalidValueError, 'label "kind" is categorical'),
        (Ridge("units", ["prise"]), errors.UnknownColumnError, 'did you mean "price"'),
        (Ridge("units", ["area", "units"]), errors.InvalidValueError, "among the features"),
        (Ridge("units", ["area", "area"]), errors.InvalidValueError, "named twice"),
        (Ridge("units", "area"), errors.TypeMismatchError, r"write \['area'\]"),
        (Ridge("units", []), errors.InvalidValueError, "no features"),
        (Ridge("units", alpha=-1), errors.InvalidValueError, "alpha must be finite"),
        (Ridge("units", alpha=float("nan")), errors.InvalidValueError, "alpha must be finite"),
        (Ridge("units", solver="magic"), errors.InvalidValueError, "no solver 'magic'"),
    ],
)
def test_wrong_questions(model: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        model.fit(cofactor(shop(), ["kind", "city"]))
    assert not hasattr(model, "coef_")


def test_too_few_rows() -> None:
    numbers = [*NUMBERS, "units"]
    with pytest.raises(errors.TooFewRowsError, match="no rows to learn from"):
        Ridge("units").fit(cofactor(shop()[:0][numbers]))
    with pytest.raises(errors.TooFewRowsError, match=r"3 rows .* cannot give 4 coefficients"):
        LinearRegression("units").fit(cofactor(shop(3)[numbers]))
    assert Ridge("units").fit(cofactor(shop(1)[numbers])).coef_.tolist() == [0, 0, 0]


def test_infinite_sums() -> None:
    found = Cofactor(["x", "y", "z"], 2, [1, 2, 1], [[1, 1, 1], [1, np.inf, 1], [1, 1, 2]])
    for model in (Ridge("x"), Ridge("y"), Ridge("x", fit_intercept=False)):
        with pytest.raises(errors.ArithmeticOverflowError, match="'y' went to infinity"):
            model.fit(found)
    Ridge("x", ["z"]).fit(found)


def test_not_a_view() -> None:
    with pytest.raises(errors.InvalidValueError, match="among the columns of a view, and this is"):
        Ridge("units").fit(shop()[NUMBERS], shop()["units"])
    with pytest.raises(errors.InvalidValueError, match="requires y to be passed"):
        Ridge().fit(shop()[NUMBERS])
    with pytest.raises(NotFittedError):
        Ridge("units").predict(shop())


def test_parameters_and_pipelines() -> None:
    model = Ridge("units", ["price"], alpha=3.0)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert repr(copy) == "Ridge(alpha=3.0, features=['price'], label='units')"
    assert copy.set_params(alpha=1.0, label="rain").label == "rain"
    rows = shop()
    piped = make_pipeline(StandardScaler(), Ridge()).fit(rows[NUMBERS], rows["units"])
    oracle = make_pipeline(StandardScaler(), linear_model.Ridge()).fit(rows[NUMBERS], rows["units"])
    np.testing.assert_allclose(piped.predict(rows[NUMBERS]), oracle.predict(rows[NUMBERS]))


def test_the_label_of_arrays_may_share_a_name_with_a_feature() -> None:
    rows = shop().rename(columns={"area": "y"})
    Ridge().fit(rows[["price", "y"]], rows["units"])


def test_a_fit_takes_no_step_a_feature_in_python() -> None:
    """The work for each feature or pair is NumPy's, so that 43 attributes are as quick as 5."""

    def calls(features: int) -> int:
        random = np.random.default_rng(1)
        names = [f"a{i}" for i in range(features)]
        found = cofactor(pd.DataFrame(random.normal(size=(500, features)), columns=names))
        model, seen = Ridge("a0"), [0]

        def count(frame: object, event: str, argument: object) -> None:
            seen[0] += event == "call"

        model.fit(found)
        sys.setprofile(count)
        try:
            model.fit(found)
        finally:
            sys.setprofile(None)
        return seen[0]

    assert calls(43) < calls(5) + 100
