"""A Cofactor against NumPy on the rows that it summarises."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from materialised import cofactor
from ringview import errors
from ringview.stats.cofactor import Cofactor, cofactors

ROWS = st.lists(st.tuples(*[st.integers(-50, 50)] * 3, st.sampled_from("abc")), max_size=30)


def frame(rows: list[tuple[int, int, int, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["x", "y", "z", "c"])


def arrow(*found: Cofactor, keys: list[int] | None = None) -> pa.Table:
    """The rows as the engine hands them out."""
    names = found[0].names
    upper = np.triu_indices(len(names))
    kind = pa.struct(
        {
            "count": pa.int64(),
            "sums": pa.list_(pa.float64(), len(names)),
            "products": pa.list_(pa.float64(), len(upper[0])),
        }
    )
    rows = [{"count": f.count, "sums": f.sums, "products": f.matrix[upper]} for f in found]
    field = pa.field("statistics", kind, metadata={"ringview.cofactor": json.dumps(names)})
    fields, columns = [field], [pa.array(rows, kind)]
    if keys is not None:
        fields, columns = [pa.field("k", pa.int64()), *fields], [pa.array(keys), *columns]
    return pa.table(columns, schema=pa.schema(fields))


def same(a: Cofactor, b: Cofactor) -> None:
    assert (a.names, a.count) == (b.names, b.count)
    np.testing.assert_array_equal(a.sums, b.sums)
    np.testing.assert_array_equal(a.matrix, b.matrix)


@given(ROWS.filter(lambda rows: len(rows) > 1))
def test_statistics_are_numpys(rows: list[tuple[int, int, int, str]]) -> None:
    found = cofactor(frame(rows), ["c"])
    numbers = frame(rows)[["x", "y", "z"]]
    np.testing.assert_allclose(found.mean(), numbers.mean(), atol=1e-12)
    np.testing.assert_allclose(found.covariance(), numbers.cov(), atol=1e-9)
    np.testing.assert_allclose(found.covariance(ddof=0), numbers.cov(ddof=0), atol=1e-9)
    np.testing.assert_allclose(found.correlation(), numbers.corr(), atol=1e-9)


@given(ROWS, ROWS)
def test_rows_that_come_and_go_leave_nothing(
    stay: list[tuple[int, int, int, str]], go: list[tuple[int, int, int, str]]
) -> None:
    kept, gone = cofactor(frame(stay), ["c"]), cofactor(frame(go), ["c"])
    same(kept + gone - gone, kept)
    same(kept + gone, cofactor(frame(stay + go), ["c"]))
    nothing = kept + gone - gone - kept
    assert nothing.count == 0
    assert not any(map(np.any, nothing.category_sums.values()))
    both = kept + gone
    for value, count in zip(both.categories["c"], both.category_counts["c"], strict=True):
        assert count == sum(row[3] == value for row in stay + go)


def test_pairs_of_categories_add() -> None:
    a = pd.DataFrame({"x": [1, 2], "c": ["u", "v"], "d": ["p", "p"]})
    b = pd.DataFrame({"x": [3, 4], "c": ["w", "u"], "d": ["q", "p"]})
    found = cofactor(a, ["c", "d"]) + cofactor(b, ["d", "c"])
    assert found.categories == {"c": ["u", "v", "w"], "d": ["p", "q"]}
    np.testing.assert_array_equal(found.pairs("d", "c"), [[2, 1, 0], [0, 0, 1]])


def test_other_columns_do_not_add() -> None:
    a = cofactor(frame([(1, 2, 3, "a")]), ["c"])
    with pytest.raises(errors.TypeMismatchError, match="different columns"):
        _ = a + a.subset(["x", "y"])
    same(a.subset(["y", "x"]) + a.subset(["x", "y"]), (a + a).subset(["y", "x"]))


@given(st.lists(ROWS, min_size=1, max_size=4), st.integers(0, 2))
def test_arrow_rows(groups: list[list[tuple[int, int, int, str]]], width: int) -> None:
    names = ["x", "y", "z"][: width + 1]
    found = [cofactor(frame(rows)[names]) for rows in groups]
    table = arrow(*found, keys=list(range(len(found))))
    for chunked in (table, pa.concat_tables([table.slice(0, 1), table.slice(1)])):
        back = list(cofactors(chunked))
        assert [key for key, _ in back] == [(i,) for i in range(len(found))]
        for (_, read), made in zip(back, found, strict=True):
            same(read, made)
        field = chunked.schema.field("statistics")
        same(Cofactor.from_arrow(chunked["statistics"], field, len(found) - 1), found[-1])
    ((key, only),) = cofactors(arrow(found[0]))
    assert key == ()
    same(only, found[0])
    same(Cofactor.from_table(arrow(found[0])), found[0])
    with pytest.raises(errors.UnsupportedError, match="for each group"):
        Cofactor.from_table(table)


def test_other_columns_are_no_cofactors() -> None:
    table = pa.table({"x": [1]})
    with pytest.raises(errors.TypeMismatchError, match=r'"x" is int64, not a cofactor'):
        Cofactor.from_arrow(table["x"], table.schema.field("x"))
    with pytest.raises(errors.UnsupportedError, match=r"0 columns .* SELECT COFACTOR"):
        list(cofactors(table))


def test_subset_keeps_what_is_named() -> None:
    rows = frame([(1, 2, 3, "a"), (4, 5, 7, "b"), (1, 0, 2, "a")])
    found = cofactor(rows, ["c"]).subset(["z", "c", "x"])
    same(found, cofactor(rows[["z", "x"]]))
    np.testing.assert_array_equal(found.category_sums["c"], [[5, 2], [7, 4]])
    assert repr(found) == "Cofactor(count=3, names=['z', 'x'], categories=['c'])"
    assert cofactor(rows, ["c"]).subset(["x"]).categories == {}


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["x", "prize"], errors.UnknownColumnError, 'did you mean "price"'),
        (["qqq"], errors.UnknownColumnError, r"there are \['x', 'price'\]"),
        (["x", "x"], errors.InvalidValueError, '"x" is named twice'),
        ("x", errors.TypeMismatchError, r"write \['x'\]"),
    ],
)
def test_wrong_names(names: list[str], error: type[Exception], message: str) -> None:
    found = Cofactor(["x", "price"], 1, [1, 2], [[1, 2], [2, 4]])
    with pytest.raises(error, match=message):
        found.subset(names)


def test_too_few_rows() -> None:
    nothing = Cofactor(["x"], 0, [0], [[0]])
    with pytest.raises(errors.TooFewRowsError, match="a mean needs 1 row, the view has 0"):
        nothing.mean()
    one = Cofactor(["x"], 1, [3], [[9]])
    with pytest.raises(errors.TooFewRowsError, match="a covariance needs 2 rows, the view has 1"):
        one.covariance()
    assert one.covariance(ddof=0) == 0
    with pytest.raises(errors.TooFewRowsError):
        one.correlation()


def test_infinite_sums_name_their_column() -> None:
    found = Cofactor(["x", "huge"], 2, [1, 1e200], [[1, 1], [1, np.inf]])
    with pytest.raises(errors.ArithmeticOverflowError, match="sums of 'huge' went to infinity"):
        found.covariance()
    same(found.subset(["x"]), Cofactor(["x"], 2, [1], [[1]]))


def test_a_constant_column_does_not_vary() -> None:
    rows = pd.DataFrame({"x": np.arange(1000.0), "k": 0.1})
    found = cofactor(rows)
    assert (found.covariance()[1] == 0).all()
    assert np.isnan(found.correlation()[1]).all()
    assert found.correlation()[0, 0] == 1


def test_a_large_mean_does_not_hide_a_small_spread() -> None:
    years = pd.DataFrame({"seconds": 1.7e9 + np.arange(5000.0), "y": np.arange(5000.0) % 7})
    np.testing.assert_allclose(cofactor(years).covariance(), years.cov(), rtol=1e-3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sums": [1]}, r"sums have shape \(1,\), \(2,\) is wanted"),
        ({"matrix": [[1]]}, "matrix have shape"),
        ({"names": ["x", "x"]}, "comes twice"),
        ({"categories": {"c": ["a"]}}, "counts of the categories of 'c' are missing"),
        (
            {"categories": {"c": ["a"]}, "category_counts": {"c": [1, 2]}},
            "counts of 'c' have shape",
        ),
    ],
)
def test_shapes_are_checked(wrong: dict[str, object], message: str) -> None:
    right = {"names": ["x", "y"], "count": 1, "sums": [1, 2], "matrix": np.ones((2, 2))}
    with pytest.raises(errors.InvalidValueError, match=message):
        Cofactor(**{**right, **wrong})
