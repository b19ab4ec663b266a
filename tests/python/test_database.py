"""The public face: tables, views, transactions, what they say and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors


@pytest.fixture
def db() -> rv.Database:
    """Two tables and a view over both."""
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "string"}, unique=["b"])
    db.create_view("v", "SELECT c, SUM(a) AS total FROM r NATURAL JOIN s GROUP BY c")
    return db


def fill(db: rv.Database) -> None:
    db.insert("r", {"a": [1, 2, 3], "b": [1, 1, 2]})
    db.insert("s", {"b": [1, 2], "c": ["one", "two"]})


@pytest.mark.parametrize(
    "schema",
    [
        {"x": "int64", "y": "string"},
        {"x": pa.int64(), "y": pa.field("ignored", pa.string())},
        pa.schema({"x": pa.int64(), "y": pa.string()}),
        pa.table({"x": [1], "y": ["a"]}),
        pa.record_batch({"x": [1], "y": ["a"]}),
        pl.DataFrame({"x": [1], "y": ["a"]}),
        pd.DataFrame({"x": [1], "y": ["a"]}),
    ],
    ids=["texts", "types", "schema", "table", "batch", "polars", "pandas"],
)
def test_schemas_of_every_form(schema: Any) -> None:
    db = rv.Database()
    table = db.create_table("t", schema)
    assert table.schema.names == ["x", "y"]
    assert table.schema.types == [pa.int64(), pa.string()]
    assert len(table) == 0
    db.insert("t", {"x": [1], "y": ["a"]})


def test_nullability_is_kept() -> None:
    db = rv.Database()
    table = db.create_table("t", {"x": "int64 not null", "y": "date"})
    assert [field.nullable for field in table.schema] == [False, True]
    with pytest.raises(errors.NullKeyError, match="x"):
        db.insert("t", [{"x": None, "y": None}])


@pytest.mark.parametrize(
    ("schema", "error", "message"),
    [
        ({"x": "int63"}, errors.TypeMismatchError, "no type 'int63'"),
        ({"x": 5}, errors.TypeMismatchError, 'column "x"'),
        ({5: "int64"}, errors.TypeMismatchError, "named by a text"),
        ({"x": "decimal128(50, 2)"}, errors.TypeMismatchError, "decimal128"),
        (5, errors.TypeMismatchError, "no schema in a int"),
        ({"x": pa.list_(pa.int64())}, errors.RingviewError, "x"),
    ],
)
def test_schemas_that_are_none(schema: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rv.Database().create_table("t", schema)


def test_tables_and_views_by_name(db: rv.Database) -> None:
    fill(db)
    assert list(db.tables) == ["r", "s"]
    assert list(db.views) == ["v"]
    assert "v" in db
    assert "r" not in db
    assert len(db.tables["r"]) == 3
    assert db.tables["s"].unique == ["b"]
    assert db["v"].to_arrow().sort_by("c").to_pydict() == {"c": ["one", "two"], "total": [3, 3]}
    assert repr(db) == "Database(tables=['r', 's'], views=['v'])"
    assert repr(db.views) == "{'v': View('v', rows=2)}"
    assert "unique=['b']" in repr(db.tables["s"])


def test_names_that_are_not_there(db: rv.Database) -> None:
    views: list[Callable[[], object]] = [
        lambda: db["w"],
        lambda: db.views["w"],
        lambda: db.drop_view("w"),
    ]
    for look in views:
        with pytest.raises(errors.UnknownViewError, match="w"):
            look()
    tables: list[Callable[[], object]] = [
        lambda: db.tables["w"],
        lambda: db.drop_table("w"),
        lambda: db.insert("w", []),
        lambda: db.delete("w", {"a": [1]}),
    ]
    for look in tables:
        with pytest.raises(errors.UnknownTableError, match="w"):
            look()
    assert db.tables.get("w") is None


def test_names_that_are_taken(db: rv.Database) -> None:
    with pytest.raises(errors.ExistsError):
        db.create_table("r", {"a": "int64"})
    with pytest.raises(errors.ExistsError):
        db.create_view("v", "SELECT COUNT(*) FROM r")


def test_dropping(db: rv.Database) -> None:
    view = db["v"]
    with pytest.raises(errors.InUseError, match="v"):
        db.drop_table("r")
    db.drop_view("v")
    db.drop_table("r")
    assert list(db.tables) == ["s"]
    with pytest.raises(errors.UnknownViewError):
        view.to_arrow()


def test_reading_a_view(db: rv.Database) -> None:
    fill(db)
    view = db["v"]
    assert len(view) == 2
    assert view
    assert isinstance(view.to_pandas(), pd.DataFrame)
    assert pl.DataFrame(view).height == 2
    assert view.to_reader().read_all().equals(view.to_arrow())
    assert "<th>total</th>" in view._repr_html_()
    assert "v" in view.explain()
    with pytest.raises(errors.InvalidValueError, match="2 rows and 2 columns"):
        view.scalar()


def test_an_aggregate_over_nothing_has_one_row() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    view = db.create_view("v", "SELECT COUNT(*) AS n, SUM(a) AS s, AVG(a) AS m FROM r")
    assert view.to_arrow().to_pylist() == [{"n": 0, "s": None, "m": None}]
    db.insert("r", {"a": [None]})
    assert view.to_arrow().to_pylist() == [{"n": 1, "s": None, "m": None}]
    db.insert("r", {"a": [3, 4]})
    assert view.to_arrow().to_pylist() == [{"n": 3, "s": 7, "m": 3.5}]


def test_a_transaction_moves_views_once(db: rv.Database) -> None:
    fill(db)
    view = db["v"]
    view.changes()
    with db.transaction() as tx:
        tx.insert("r", {"a": [5], "b": [1]})
        tx.delete("r", {"a": [5], "b": [1]})
        tx.delete("r", {"a": [3], "b": [2]})
        assert repr(tx) == "Transaction(changes=3)"
        assert len(view) == 2
    assert view.changes().to_pylist() == [{"c": "two", "total": 3, "multiplicity": -1}]
    assert view.changes().num_rows == 0


def test_an_exception_drops_the_transaction(db: rv.Database) -> None:
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.insert("r", {"a": [1], "b": [1]})
        raise ZeroDivisionError
    assert len(db.tables["r"]) == 0
    with pytest.raises(errors.RingviewError, match="inside its with block"):
        tx.insert("r", {"a": [1], "b": [1]})


def test_a_failing_transaction_changes_nothing(db: rv.Database) -> None:
    fill(db)
    before = db["v"].to_arrow()
    with pytest.raises(errors.OverDeleteError, match="r"), db.transaction() as tx:
        tx.insert("s", {"b": [3], "c": ["three"]})
        tx.delete("r", {"a": [1, 1], "b": [1, 1]})
    assert db["v"].to_arrow().equals(before)
    assert len(db.tables["s"]) == 2


def test_orders(db: rv.Database) -> None:
    sql = "SELECT SUM(a) AS total FROM r NATURAL JOIN s"
    db.create_view("ordered", sql, order={"b": {}})
    with pytest.raises(errors.UnknownColumnError):
        db.create_view("w", sql, order={"z": {}})
    assert "w" not in db


def test_explain_creates_nothing(db: rv.Database) -> None:
    assert db.explain("SELECT SUM(a) AS total FROM r NATURAL JOIN s")
    assert list(db.views) == ["v"]


def test_memory_is_counted(db: rv.Database) -> None:
    before = sum(db.memory_usage().values())
    db.insert("r", {"a": range(100_000), "b": range(100_000)})
    assert sum(db.memory_usage().values()) > before + 100_000 * 16
    # Three bytes are enough for each value, and one counts the row.
    assert 100_000 * 7 <= db.tables["r"].nbytes < 100_000 * 10


def test_a_name_that_is_not_there_says_so() -> None:
    anything: Any = rv
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = anything.nothing_of_the_kind
