"""Advice of a refusal of an expression, a name, a row or a type: see `test_advice_queries`."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from advice import refuse, rows_of, take
from oracle import plain_rows
from ringview import errors

TAKEN = [
    "SELECT a, SUM(x) AS y FROM r GROUP BY a HAVING ABS(SUM(x)) > 3",
    "SELECT a || '!' AS y, COUNT(*) AS n FROM r GROUP BY a",
    "SELECT SUM(CASE WHEN a = 1 THEN x ELSE 2 END) FROM r",
    "SELECT SUM(CAST(x AS INT)) FROM r",
    "SELECT SUM(x) FROM r WHERE ABS(x) > 2",
    "SELECT SUM(x / a) FROM r",
    "SELECT COUNT(x / 2) FROM r",
    "SELECT SUM(x / 2) FROM r",
    "SELECT AVG(a / 2) FROM r",
    "SELECT SUM(x ** 2) FROM r",
    "SELECT a, SUM(x) ** 2 AS y FROM r GROUP BY a",
    "SELECT a + b AS y FROM r",
    "SELECT COUNT(*) FROM r WHERE a IN (1, b)",
    "SELECT COUNT(*) FROM r WHERE a IS DISTINCT FROM 1",
    "SELECT COUNT(*) FROM r WHERE a + 1",
]


@pytest.mark.parametrize("sql", TAKEN)
def test_what_was_refused_equals_duckdb(sql: str) -> None:
    take(sql)


def test_a_row_that_is_deleted_is_given_whole() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.insert("r", {"a": [1], "b": [2]})
    with pytest.raises(errors.InvalidValueError) as refused:
        db.delete("r", {"a": [1]})
    assert "a delete gives rows as they are there, with every column" in str(refused.value)
    # NULL does not replace an unknown value.
    with pytest.raises(errors.OverDeleteError):
        db.delete("r", {"a": [1], "b": [None]})
    db.delete("r", {"a": [1], "b": [2]})
    assert len(db.tables["r"]) == 0


def test_the_engine_s_names_have_near_ones_too() -> None:
    db = rv.Database()
    db.create_table("orders", {"customer": "int64"})
    db.create_view("totals", "SELECT COUNT(*) AS n FROM orders")
    for call, near in (
        (lambda: db.drop_table("order"), "orders"),
        (lambda: db.drop_view("total"), "totals"),
        (lambda: db["totls"], "totals"),
        (lambda: db.tables["oders"], "orders"),
        (lambda: db.insert("orders", {"custmer": [1]}), "customer"),
        (lambda: db.insert("orders", pa.table({"customers": [1]})), "customer"),
        (lambda: db.create_table("t", {"key": "int64"}, unique=["kee"]), "key"),
    ):
        with pytest.raises(errors.RingviewError, match=f'did you mean "{near}"'):
            call()
    with pytest.raises(errors.UnknownTableError) as far:
        db.drop_table("xyz")
    assert "did you mean" not in str(far.value)


def test_sums_of_bools_are_of_columns_of_numbers() -> None:
    """COUNT would count FALSE, too, and be 0 where SUM is NULL."""
    db = rv.Database()
    db.create_table("r", {"k": "int64", "f": "bool"})
    db.create_table("n", {"k": "int64", "f": "int8"})
    for function in ("SUM", "AVG"):
        with pytest.raises(errors.TypeMismatchError, match="found bool"):
            db.create_view("v", f"SELECT k, {function}(f) AS s FROM r GROUP BY k")
    with pytest.raises(errors.TypeMismatchError) as text:
        db.create_table("t", {"t": "string"})
        db.create_view("v", "SELECT SUM(t) FROM t")
    assert str(text.value).splitlines()[0].endswith("this is a text")
    view = db.create_view("v", "SELECT k, SUM(f) AS s FROM n GROUP BY k")
    keys, flags = [1, 1, 1, 2, 2, 3], [True, False, True, False, None, None]
    db.insert("n", {"k": keys, "f": [None if f is None else int(f) for f in flags]})
    with duckdb.connect() as connection:
        connection.register("r", pa.table({"k": keys, "f": flags}))
        expected = connection.sql("SELECT k, SUM(f) FROM r GROUP BY k").to_arrow_table()
        assert plain_rows(rows_of(view.to_arrow())) == plain_rows(rows_of(expected))


MOMENTS = {"t": "timestamp[us]", "u": "timestamp[us]", "k": "int64"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM r WHERE t + INTERVAL 1 DAY > TIMESTAMP '2020-01-02'",
        "SELECT COUNT(*) FROM r WHERE u > t + INTERVAL 1 DAY",
        "SELECT COUNT(*) FROM r WHERE t > now() - INTERVAL 1 DAY",
        "SELECT COUNT(*) FROM r WHERE t::DATE < current_date",
    ],
)
def test_conditions_on_moments(sql: str) -> None:
    db = rv.Database()
    db.create_table("r", MOMENTS)
    db.advance(datetime(2020, 1, 2))
    view = db.create_view("v", sql)
    day = 86_400_000_000
    start = 1_577_836_800_000_000
    rows = pa.table(
        {
            "t": pa.array([start, start + day, start + day // 2], pa.timestamp("us")),
            "u": pa.array([start + 2 * day, start + day, start + 3 * day], pa.timestamp("us")),
            "k": [1, 1, 2],
        }
    )
    db.insert("r", rows)
    with duckdb.connect() as connection:
        connection.register("r", rows)
        asked = sql.replace("now()", "TIMESTAMP '2020-01-02'")
        asked = asked.replace("current_date", "DATE '2020-01-02'")
        assert [(view.scalar(),)] == connection.sql(asked).fetchall()


def test_differences_of_moments_are_refused() -> None:
    db = rv.Database()
    db.create_table("r", MOMENTS)
    refuse(db, "SELECT k, MAX(t) - MIN(t) AS d FROM r GROUP BY k")
