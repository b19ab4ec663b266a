"""What a refusal of an expression, a name, a row or a type advises: see `test_advice_queries`."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.compute
import pytest
import ringview as rv
from advice import (
    COLUMN,
    GROUPS,
    Advice,
    Advised,
    computed,
    named,
    null_or,
    read,
    refuse,
    rows_of,
    take,
    with_column,
)
from oracle import plain_rows
from ringview import errors
from ringview.sql import scalars

ADVICE: Advice = [
    (
        "SELECT a, SUM(x) AS y FROM r GROUP BY a HAVING ABS(SUM(x)) > 3",
        GROUPS,
        computed("SELECT * FROM v0 WHERE ABS(y) > 3", "SELECT a, SUM(x) AS y FROM r GROUP BY a"),
    ),
    (
        "SELECT a || '!' AS y, COUNT(*) AS n FROM r GROUP BY a",
        GROUPS,
        computed("SELECT a || '!', n FROM v0", "SELECT a, COUNT(*) AS n FROM r GROUP BY a"),
    ),
    (
        "SELECT SUM(CASE WHEN a = 1 THEN x ELSE 2 END) FROM r",
        COLUMN,
        with_column(
            "r.k",
            "float64",
            lambda row: row["x"] if row["a"] == 1 else 2.0,
            "SELECT SUM(k) FROM r2",
        ),
    ),
    (
        "SELECT SUM(CAST(x AS INT)) FROM r",
        COLUMN,
        # Half to even, as DuckDB casts.
        with_column("r.k", "int64", null_or(round, "x"), "SELECT SUM(k) FROM r2"),
    ),
    (
        "SELECT SUM(x) FROM r WHERE ABS(x) > 2",
        COLUMN,
        with_column("r.k", "float64", null_or(abs, "x"), "SELECT SUM(x) FROM r2 WHERE k > 2"),
    ),
    (
        "SELECT SUM(x / a) FROM r",
        COLUMN,
        with_column(
            "r.k", "float64", null_or(lambda x, a: x / a, "x", "a"), "SELECT SUM(k) FROM r2"
        ),
    ),
    (
        "SELECT COUNT(x / 2) FROM r",
        COLUMN,
        with_column("r.k", "float64", null_or(lambda x: x / 2, "x"), "SELECT COUNT(k) FROM r2"),
    ),
    ("SELECT SUM(x / 2) FROM r", "divide the aggregate", read("SELECT SUM(x) / 2 FROM r")),
    ("SELECT AVG(a / 2) FROM r", "divide the aggregate", read("SELECT AVG(a) / 2 FROM r")),
    ("SELECT SUM(x ** 2) FROM r", "write x * x", read("SELECT SUM(x * x) FROM r")),
    (
        "SELECT SUM(x ** 0.5) FROM r WHERE x > 0",
        COLUMN,
        with_column(
            "r.k",
            "float64",
            null_or(lambda x: abs(x) ** 0.5, "x"),
            "SELECT SUM(k) FROM r2 WHERE x > 0",
        ),
    ),
    (
        "SELECT a, SUM(x) ** 2 AS y FROM r GROUP BY a",
        "write SUM(x) * SUM(x)",
        read("SELECT a, SUM(x) * SUM(x) AS y FROM r GROUP BY a"),
    ),
    (
        "SELECT a + b AS y FROM r",
        "select its columns and compute it from what you read",
        computed("SELECT a + b FROM v0", "SELECT a, b FROM r"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IN (1, b)",
        "write = and OR for columns",
        read("SELECT COUNT(*) FROM r WHERE a = 1 OR a = b"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a IS DISTINCT FROM 1",
        COLUMN,
        with_column("r.k", "bool", lambda row: row["a"] != 1, "SELECT COUNT(*) FROM r2 WHERE k"),
    ),
    (
        "SELECT COUNT(*) FROM r WHERE a + 1",
        "compare it with something",
        read("SELECT COUNT(*) FROM r WHERE a + 1 <> 0"),
    ),
]


@named(ADVICE)
def test_advice_comes_to_what_was_refused(sql: str, words: str, advised: Advised) -> None:
    take(sql, words, advised)


def test_a_row_that_is_deleted_is_given_whole() -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.insert("r", {"a": [1], "b": [2]})
    with pytest.raises(errors.InvalidValueError) as refused:
        db.delete("r", {"a": [1]})
    assert "a delete gives rows as they are there, with every column" in str(refused.value)
    # NULL is no stand-in for what is not known.
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
        with pytest.raises(errors.RingviewError, match=f"did you mean '{near}'"):
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
        with pytest.raises(errors.TypeMismatchError, match="declare the column as int8"):
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
    ("sql", "words", "advised"),
    [
        (
            "SELECT COUNT(*) FROM r WHERE t + INTERVAL 1 DAY > TIMESTAMP '2020-01-02'",
            "move the interval to the constant on the other side",
            "SELECT COUNT(*) FROM r WHERE t > TIMESTAMP '2020-01-02' - INTERVAL 1 DAY",
        ),
        (
            "SELECT COUNT(*) FROM r WHERE u > t + INTERVAL 1 DAY",
            COLUMN,
            "SELECT COUNT(*) FROM later WHERE u > t",
        ),
        (
            "SELECT COUNT(*) FROM r WHERE t > now() - INTERVAL 1 DAY",
            scalars.AS_TIME_PASSES,
            "SELECT COUNT(*) FROM r WHERE t > TIMESTAMP '2020-01-02' - INTERVAL 1 DAY",
        ),
        (
            "SELECT COUNT(*) FROM r WHERE t::DATE > current_date",
            "",
            None,
        ),
        ("SELECT k, MAX(t) - MIN(t) AS d FROM r GROUP BY k", GROUPS, None),
    ],
)
def test_advice_on_moments(sql: str, words: str, advised: str | None) -> None:
    db = rv.Database()
    db.create_table("r", MOMENTS)
    # A column that was computed before the rows were inserted.
    db.create_table("later", MOMENTS)
    day = 86_400_000_000
    start = 1_577_836_800_000_000
    rows = pa.table(
        {
            "t": pa.array([start, start + day, start + day // 2], pa.timestamp("us")),
            "u": pa.array([start + 2 * day, start + day, start + 3 * day], pa.timestamp("us")),
            "k": [1, 1, 2],
        }
    )
    assert words in refuse(db, sql).splitlines()[0]
    if advised is None:
        return
    db.insert("r", rows)
    shifted = pa.compute.add(rows["t"], pa.scalar(day, pa.duration("us")))
    db.insert("later", rows.set_column(0, "t", shifted))
    found = db.create_view("v", advised).scalar()
    with duckdb.connect() as connection:
        connection.register("r", rows)
        asked = sql.replace("now()", "TIMESTAMP '2020-01-02'")
        assert [(found,)] == connection.sql(asked).fetchall()
