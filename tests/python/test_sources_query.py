"""Queries of other databases as sources: the first load, once, also when it was ended midway."""

from __future__ import annotations

import random
import sqlite3
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors, sources

TYPES = {"id": "int64", "name": "string", "price": "decimal128(12, 2)", "day": "date32"}
MODULES = ["duckdb", "sqlite", "sqlalchemy", "url"]


def given(count: int) -> list[tuple[Any, ...]]:
    draw = random.Random(count)
    return [
        (
            at * 3,
            draw.choice(["a: b", "50%", "{}", None]),
            f"{draw.randrange(999) / 100:.2f}",
            f"2026-03-{draw.randrange(1, 29):02}",
        )
        for at in range(count)
    ]


def connected(module: str, folder: Path, rows: list[tuple[Any, ...]]) -> Any:
    """A connection to a database that has the rows in a table `t`."""
    if module == "duckdb":
        con = duckdb.connect(config={"threads": 1})
        con.execute("CREATE TABLE t (id BIGINT, name VARCHAR, price DECIMAL(12, 2), day DATE)")
        if rows:
            con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        return con
    file = folder / "t.sqlite"
    lite = sqlite3.connect(file)
    lite.execute("CREATE TABLE t (id INTEGER, name TEXT, price TEXT, day TEXT)")
    lite.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    lite.commit()
    if module == "sqlite":
        return lite
    sqlalchemy = pytest.importorskip("sqlalchemy")
    url = f"sqlite:///{file}"
    return url if module == "url" else sqlalchemy.create_engine(url)


def wanted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(a, b, Decimal(c), date.fromisoformat(d)) for a, b, c, d in rows]


def held(db: rv.Database) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.tables["r"].to_arrow().to_pylist())


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("count", [0, 1, 10, 11])
@pytest.mark.parametrize("key", ["id", None])
def test_rows_are_loaded_once_wherever_it_was_ended(
    tmp_path: Path, module: str, count: int, key: str | None
) -> None:
    rows = given(count)
    con = connected(module, tmp_path, rows)
    db = rv.Database()
    db.create_table("r", TYPES)
    sql = "SELECT id, name, price, day FROM t WHERE name IS NULL OR name <> ':x %s {}' ;"
    source = sources.query(con, sql, table="r", key=key, rows=2)
    steps = 0
    while True:
        # Each batch in a life of its own.
        reader = sources.Reader(db, [source])
        moved = reader.step()
        reader.close()
        if not moved:
            break
        steps += 1
        assert len(held(db)) == (min(steps * 2, count) if key else count)
    assert held(db) == wanted(rows)
    assert steps == (1 if key is None else -(-count // 2) + 1)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("VARCHAR", ["a", "b'c", 'd"e', "ü"]),
        ("DATE", [date(2026, 3, 9), date(2026, 3, 10)]),
        ("TIMESTAMP", [datetime(2026, 3, 9, 12, 0, 0, at) for at in (1, 2, 3)]),
        ("DECIMAL(18, 3)", [Decimal("-0.5"), Decimal("0.001"), Decimal("12345678901.234")]),
        ("HUGEINT", [-(2**70), 2**70]),
    ],
)
def test_keys_of_all_types_that_have_an_order(kind: str, values: list[Any]) -> None:
    con = duckdb.connect(config={"threads": 1})
    con.execute(f"CREATE TABLE t (k {kind}, x INT)")
    con.executemany("INSERT INTO t VALUES (?, 1)", [[value] for value in values])
    db = rv.Database()
    schema = con.sql("SELECT * FROM t").to_arrow_table().schema
    if kind == "HUGEINT":
        schema = pa.schema([("k", pa.decimal128(38, 0)), ("x", pa.int64())])
    db.create_table("r", schema)
    while True:
        given = sources.query(con, "SELECT * FROM t", table="r", key="k", rows=1)
        reader = sources.Reader(db, [given])
        if not reader.step():
            break
        reader.close()
    found = db.tables["r"].to_arrow()["k"].to_pylist()
    assert sorted(found) == sorted(values)


def test_keys_that_are_none() -> None:
    con = duckdb.connect(config={"threads": 1})
    db = rv.Database()
    db.create_table("r", {"k": "float64", "x": "int64"})
    for name, sql, why in (
        ("null", "SELECT 0.5 AS k, NULL AS x", "the key 'x' is NULL"),
        ("double", "SELECT CAST(0.5 AS DOUBLE) AS x, CAST(1 AS DOUBLE) AS k", "key 0.5 cannot be"),
    ):
        given = sources.query(con, sql, table="r", key="x", name=name)
        with pytest.raises(errors.InvalidValueError, match=why):
            sources.run(db, [given])
    assert len(db.tables["r"]) == 0


def test_what_is_no_connection_and_what_does_not_fit(tmp_path: Path) -> None:
    db = rv.Database()
    db.create_table("r", TYPES)
    with pytest.raises(errors.UnsupportedError, match="no queries by a dict"):
        sources.run(db, [sources.query({}, "SELECT 1", table="r")])
    with pytest.raises(errors.InvalidValueError, match="rows=0"):
        sources.query({}, "SELECT 1", table="r", rows=0)
    con = connected("sqlite", tmp_path, [(1, "a", "x", "2026-03-09"), (2, "a", "1", "soon")])
    source = sources.query(con, "SELECT * FROM t", table="r")
    with pytest.raises(errors.InvalidValueError, match="query for r, row 0: column \"price\": 'x'"):
        sources.run(db, [source])
    assert sources.run(db, [source], dead_letters="rejected").rejected == 2
    with pytest.raises(errors.UnknownColumnError, match="lacks"):
        other = sources.query(con, "SELECT 1 AS idd", table="r", name="other")
        sources.run(db, [other])
