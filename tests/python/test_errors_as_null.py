"""`on_error="null"` and `try()`: NULL where a value cannot be computed, as by DuckDB's TRY."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from ringview.errors import FunctionError

TEXTS = ["1", "2", "-3", "x", "", "2020-02-30", "2021-03-04", "99999999999999999999", None]

# The query of a view, and the query of DuckDB that it must equal.
QUERIES = {
    "SELECT k, CAST(a AS BIGINT) AS n FROM t": "SELECT k, TRY_CAST(a AS BIGINT) AS n FROM t",
    "SELECT k, SUM(a::BIGINT) AS n FROM t GROUP BY k": "SELECT k, SUM(TRY_CAST(a AS BIGINT)) AS n "
    "FROM t GROUP BY k",
    "SELECT CAST(a AS DATE) AS d, COUNT(*) AS n FROM t GROUP BY CAST(a AS DATE)": "SELECT "
    "TRY_CAST(a AS DATE) AS d, COUNT(*) AS n FROM t GROUP BY d",
    "SELECT k FROM t WHERE CAST(a AS INTEGER) > 0": "SELECT k FROM t WHERE "
    "TRY_CAST(a AS INTEGER) > 0",
    "SELECT COALESCE(CAST(a AS BIGINT), -1) AS n FROM t": "SELECT "
    "COALESCE(TRY_CAST(a AS BIGINT), -1) AS n FROM t",
    "SELECT t.k, SUM(CAST(t.a AS BIGINT) * u.b) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.k": ""
    "SELECT t.k, SUM(TRY_CAST(t.a AS BIGINT) * u.b) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.k",
    "SELECT u.b FROM t JOIN u ON CAST(t.a AS BIGINT) = u.k": "SELECT u.b FROM t JOIN u "
    "ON TRY_CAST(t.a AS BIGINT) = u.k",
    "SELECT k, strptime(a, '%Y-%m-%d') AS n FROM t": "SELECT k, try_strptime(a, '%Y-%m-%d') AS n "
    "FROM t",
    "SELECT k, MAX(CAST(a AS SMALLINT)) AS n FROM t GROUP BY k HAVING n > 1": "SELECT k, "
    "MAX(TRY_CAST(a AS SMALLINT)) AS n FROM t GROUP BY k HAVING n > 1",
    "SELECT k, (SELECT MAX(CAST(a AS BIGINT)) FROM t WHERE t.k = u.k) AS n FROM u": "SELECT k, "
    "(SELECT MAX(TRY_CAST(a AS BIGINT)) FROM t WHERE t.k = u.k) AS n FROM u",
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY CAST(a AS BIGINT), a) AS n FROM t": ""
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY TRY_CAST(a AS BIGINT), a) AS n FROM t",
    "SELECT k, repeat(a, CAST(a AS BIGINT)) AS n FROM t": "SELECT k, "
    "repeat(a, TRY_CAST(a AS BIGINT)) AS n FROM t WHERE a <> '99999999999999999999' OR a IS NULL "
    "UNION ALL SELECT k, NULL FROM t WHERE a = '99999999999999999999'",
}
TRIES = {
    "SELECT try(CAST(a AS BIGINT)) AS n FROM t": "SELECT TRY(CAST(a AS BIGINT)) AS n FROM t",
    "SELECT k, SUM(TRY(CAST(a AS BIGINT) + 1)) AS n FROM t GROUP BY k": "SELECT k, "
    "SUM(TRY(CAST(a AS BIGINT) + 1)) AS n FROM t GROUP BY k",
    "SELECT COUNT(*) AS n FROM t WHERE try(CAST(a AS DATE) > DATE '2020-01-01')": "SELECT "
    "COUNT(*) AS n FROM t WHERE TRY(CAST(a AS DATE) > DATE '2020-01-01')",
    "SELECT try(COALESCE(CAST(a AS BIGINT), 5)) AS n FROM t": "SELECT "
    "TRY(COALESCE(CAST(a AS BIGINT), 5)) AS n FROM t",
}


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(map(str, row.values())) for row in table.to_pylist())


def stream(seed: int, steps: int) -> Any:
    """Changes of `t` and `u`, in both systems."""
    draw = random.Random(seed)
    db, other = rv.Database(), duckdb.connect()
    db.create_table("t", {"k": "int64", "a": "string"})
    db.create_table("u", {"k": "int64", "b": "int64"})
    other.execute("CREATE TABLE t (k BIGINT, a VARCHAR)")
    other.execute("CREATE TABLE u (k BIGINT, b BIGINT)")
    yield db, other
    for _ in range(steps):
        for table, column, values in (("t", "a", TEXTS), ("u", "b", [1, 2, 7])):
            for _ in range(draw.randrange(1, 5)):
                row = {"k": draw.randrange(4), column: draw.choice(values)}
                db.insert(table, [row])
                other.execute(f"INSERT INTO {table} VALUES (?, ?)", list(row.values()))
            if draw.random() < 0.5:
                gone = draw.randrange(4)
                db.execute(f"DELETE FROM {table} WHERE k = {gone}")
                other.execute(f"DELETE FROM {table} WHERE k = {gone}")
        yield db, other


@pytest.mark.parametrize("seed", range(3))
def test_views_equal_duckdb(seed: int) -> None:
    changes = stream(seed, 8)
    db, other = next(changes)
    views = {db.create_view(f"v{at}", sql, on_error="null"): sql for at, sql in enumerate(QUERIES)}
    views |= {db.create_view(f"w{at}", sql): sql for at, sql in enumerate(TRIES)}
    for _ in changes:
        for view, sql in views.items():
            asked = QUERIES.get(sql) or TRIES[sql]
            assert rows(view.to_arrow()) == rows(other.sql(asked).to_arrow_table()), sql
        for sql, asked in TRIES.items():
            assert rows(db.sql(sql)) == rows(other.sql(asked).to_arrow_table()), sql


def test_only_rows_that_fail_are_null() -> None:
    """Many rows in one batch, of which some fail."""
    db = rv.Database()
    db.create_table("t", {"a": "string"})
    view = db.create_view(
        "v", "SELECT SUM(CAST(a AS BIGINT)) AS s, COUNT(*) AS n FROM t", on_error="null"
    )
    db.insert("t", {"a": [str(at) if at % 1000 else "x" for at in range(10_000)]})
    whole = sum(at for at in range(10_000) if at % 1000)
    assert view.to_arrow().to_pylist() == [{"s": whole, "n": 10_000}]
    assert view.schema.names == ["s", "n"]
    shown = db.create_view("w", "SELECT CAST(a AS BIGINT) FROM t", on_error="null")
    strict = db.create_view("x", "SELECT CAST(a AS BIGINT) FROM t WHERE a <> 'x'")
    assert shown.schema.names == strict.schema.names


def test_functions_of_the_user_and_sums() -> None:
    db = rv.Database()
    db.create_table("t", {"a": "int64"})

    def odd(values: pa.Array) -> pa.Array:
        if any(value.as_py() % 2 == 0 for value in values):
            raise ValueError("an even number")
        return values

    db.create_function("odd", odd, ["int64"], "int64")
    strict = db.create_view("strict", "SELECT odd(a) AS a FROM t WHERE a > 100")
    view = db.create_view("v", "SELECT SUM(odd(a)) AS n FROM t", on_error="null")
    db.insert("t", {"a": [1, 2, 3, 4]})
    assert view.scalar() == 4
    with pytest.raises(FunctionError):
        db.insert("t", {"a": [102]})
    assert len(strict) == 0
    small = db.create_view("small", "SELECT SUM(a)::TINYINT AS n FROM t", on_error="null")
    assert small.scalar() == 10
    db.drop_view("strict")
    db.insert("t", {"a": [1000]})
    assert small.scalar() is None


def test_a_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ringview"
    with rv.Database.open(path) as db:
        db.create_table("t", {"a": "string"})
        db.create_view("v", "SELECT SUM(CAST(a AS BIGINT)) AS n FROM t", on_error="null")
        db.insert("t", {"a": ["1", "x"]})
    with rv.Database.open(path) as db:
        db.insert("t", {"a": ["y", "5"]})
        assert db.views["v"].scalar() == 6
