"""Rows in every form, and what each form refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors

COLUMNS = {"a": [1, 2, None], "s": ["x", None, "y"], "p": [Decimal("1.50"), None, Decimal("2")]}
SCHEMA = {"a": "int64", "s": "string", "p": "decimal128(8, 2)"}
TABLE = pa.table(
    {
        "a": pa.array(COLUMNS["a"], pa.int64()),
        "s": COLUMNS["s"],
        "p": pa.array(COLUMNS["p"], pa.decimal128(8, 2)),
    }
)
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]

FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "batches": lambda: TABLE.to_batches(max_chunksize=1),
    "struct array": lambda: TABLE.to_struct_array().combine_chunks(),
    "columns in another order": lambda: TABLE.select(["p", "a", "s"]),
    "polars": lambda: pl.from_arrow(TABLE),
    "duckdb": lambda: duckdb.sql("SELECT * FROM rows_of_test", connection=_connection()),
    "pandas": lambda: TABLE.to_pandas(),
    "pandas with an index": lambda: TABLE.to_pandas().set_index(pd.Index([7, 8, 9])),
    "pandas of arrow types": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "dict of lists": lambda: COLUMNS,
    "dict of arrays": lambda: {name: TABLE[name] for name in TABLE.column_names},
    "dict of series": lambda: dict(TABLE.to_pandas().items()),
    "list of dicts": lambda: ROWS,
    "list of tuples": lambda: [tuple(row.values()) for row in ROWS],
    "list of tuples and dicts": lambda: [tuple(ROWS[0].values()), *ROWS[1:]],
    "tuple of batches": lambda: tuple(TABLE.to_batches(max_chunksize=2)),
    "generator of dicts": lambda: (row for row in ROWS),
    "dictionary-encoded": lambda: TABLE.set_column(1, "s", TABLE["s"].dictionary_encode()),
    "large strings": lambda: TABLE.set_column(1, "s", TABLE["s"].cast(pa.large_string())),
    "string views": lambda: TABLE.set_column(1, "s", TABLE["s"].cast(pa.string_view())),
    "narrower integers": lambda: TABLE.set_column(0, "a", TABLE["a"].cast(pa.int8())),
    "narrower decimals": lambda: TABLE.set_column(2, "p", TABLE["p"].cast(pa.decimal128(4, 1))),
    "slices": lambda: pa.concat_tables([TABLE, TABLE]).slice(3, 3),
}


def _connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    connection.register("rows_of_test", TABLE)
    return connection


def filled(schema: Any = SCHEMA) -> tuple[rv.Database, rv.View]:
    db = rv.Database()
    db.create_table("r", schema)
    return db, db.create_view("v", "SELECT a, s, p, COUNT(*) AS n FROM r GROUP BY a, s, p")


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_every_form(form: str) -> None:
    db, view = filled()
    db.insert("r", FORMS[form]())
    found = {tuple(row.values()) for row in view.to_arrow().to_pylist()}
    assert found == {(*row.values(), 1) for row in ROWS}
    db.delete("r", FORMS[form]())
    assert len(view) == 0


@pytest.mark.parametrize("rows", [[], TABLE.slice(0, 0), {"a": [], "s": [], "p": []}])
def test_no_rows(rows: Any) -> None:
    db, view = filled()
    db.insert("r", rows)
    assert len(view) == 0


def test_multiplicities() -> None:
    db, view = filled({"a": "int64", "s": "string", "p": "float64"})
    rows = {"a": [1, 1, 2], "s": ["x"] * 3, "p": [0.5] * 3, "times": [3, -1, 2]}
    db.insert("r", rows, multiplicity="times")
    assert {row["a"]: row["n"] for row in view.to_arrow().to_pylist()} == {1: 2, 2: 2}
    assert len(db.tables["r"]) == 4
    db.delete("r", {"a": [1], "s": ["x"], "p": [0.5], "times": [2]}, multiplicity="times")
    assert [row["a"] for row in view.to_arrow().to_pylist()] == [2]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int64", [1.0, None]),
        ("int64", [Decimal(3)]),
        ("int64", np.array([1, 2], dtype="uint8")),
        ("uint64", [2**64 - 1, 0, None]),
        ("uint64", [np.int64(5), 2**63]),
        ("decimal128(38, 0)", [10**37, Decimal(5), None]),
        ("float64", [1, 2.5]),
        ("float64", np.array([0.5], dtype="float32")),
        ("decimal128(8, 2)", [1, Decimal("2.5")]),
        ("timestamp[us]", [date(2020, 1, 1)]),
        ("timestamp[us]", [datetime(2020, 1, 1, 3)]),
        ("string", pd.Series(["a", "b"], dtype="category")),
        ("bool", np.array([True, False])),
        ("date32", [date(2020, 1, 1), None]),
    ],
)
def test_values_that_fit(kind: str, values: Any) -> None:
    db = rv.Database()
    db.create_table("r", {"a": kind})
    db.insert("r", {"a": values})
    assert len(db.tables["r"]) == len(values)


@pytest.mark.parametrize(
    ("kind", "values", "error"),
    [
        ("int64", [1, 1.5], errors.InvalidValueError),
        ("int64", [Decimal("1.5")], errors.InvalidValueError),
        ("int64", ["1"], errors.TypeMismatchError),
        ("int64", [True], errors.TypeMismatchError),
        ("int64", [2**70], errors.InvalidValueError),
        ("int8", [300], errors.InvalidValueError),
        ("uint8", [-1], errors.InvalidValueError),
        ("uint64", [2**63, -1], errors.InvalidValueError),
        ("uint64", [2**63, Decimal("1.5")], errors.InvalidValueError),
        ("uint64", [0, 2**64], errors.InvalidValueError),
        ("uint64", [2**63, 1.5], errors.InvalidValueError),
        ("uint64", [2**63, True], errors.TypeMismatchError),
        ("decimal128(5, 0)", [10**30], errors.InvalidValueError),
        ("bool", [2**70], errors.InvalidValueError),
        ("string", [2**70], errors.TypeMismatchError),
        ("bool", [1], errors.TypeMismatchError),
        ("string", [1], errors.TypeMismatchError),
        ("string", [b"x"], errors.TypeMismatchError),
        ("date32", ["1995-01-01"], errors.TypeMismatchError),
        ("date32", [5], errors.TypeMismatchError),
        ("date32", [datetime(2020, 1, 1, 3)], errors.TypeMismatchError),
        ("decimal128(8, 2)", [0.5], errors.TypeMismatchError),
        ("decimal128(8, 2)", [Decimal("0.125")], errors.InvalidValueError),
        ("decimal128(4, 2)", [Decimal(100)], errors.InvalidValueError),
        ("float64", [2**60 + 1], errors.InvalidValueError),
        ("int64", [[1]], errors.TypeMismatchError),
    ],
)
def test_values_that_do_not_fit(kind: str, values: Any, error: type[Exception]) -> None:
    db = rv.Database()
    db.create_table("r", {"a": kind})
    with pytest.raises(error, match=f'"r", column "a", row {len(values) - 1}: '):
        db.insert("r", {"a": values})
    assert len(db.tables["r"]) == 0


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (5, errors.TypeMismatchError, "no rows in a int"),
        ("rows", errors.TypeMismatchError, "no rows in a str"),
        ([(1, "x")], errors.InvalidValueError, "row 0 is a tuple of 2 values; one has all 3"),
        ([{1}], errors.TypeMismatchError, "no rows in a set"),
        ({"a": 1, "s": ["x"], "p": 1}, errors.TypeMismatchError, "not a list of values"),
        ({"a": [1], "s": [], "p": []}, errors.InvalidValueError, "different lengths"),
        ([ROWS[0], {"a": 1}], errors.InvalidValueError, 'row 1 lacks the column "p"'),
        ([{"a": 1}, ROWS[0]], errors.InvalidValueError, 'row 1 has the column "p"'),
        ({"a": [1], "z": [1]}, errors.UnknownColumnError, 'no column "z"; known: a, s, p'),
        ({"a": [1], "s": ["x"]}, errors.RingviewError, "p"),
        (TABLE.drop_columns(["p"]), errors.RingviewError, "p"),
        (TABLE.append_column("q", TABLE["a"]), errors.RingviewError, "q"),
        (TABLE.set_column(0, "a", TABLE["s"]), errors.TypeMismatchError, "a"),
    ],
)
def test_rows_that_are_none(rows: Any, error: type[Exception], message: str) -> None:
    db, _ = filled()
    with pytest.raises(error, match=message):
        db.insert("r", rows)
    assert len(db.tables["r"]) == 0
