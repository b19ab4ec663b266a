"""Conditions with queries within: what SQL becomes means what DuckDB says; views keep it fresh."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from catalog import translate
from durable_twin import DurableTwin, durable_twin
from hypothesis import given
from hypothesis import strategies as st
from nested import SCHEMAS, contents, nested
from oracle import Oracle, comparable
from spelt import sql_of

ORACLE = Oracle(SCHEMAS)


def check_meaning(sql: str, tables: dict[str, Any]) -> None:
    query = translate(sql, SCHEMAS)
    blocks = [block["query"] for block in query.get("blocks", ())]
    if any(one.get("rows") for one in blocks):
        # The engine computes queries that are evaluated row by row.
        db = rv.Database()
        found = comparable(filled(db, sql, tables).to_arrow())
    else:
        found = ORACLE.rows(sql_of(query), tables)
    assert found == ORACLE.rows(sql, tables)


def filled(db: rv.Database, sql: str, tables: dict[str, Any]) -> rv.View:
    view = define(db, sql)
    for table, schema in SCHEMAS.items():
        db.insert(table, pa.Table.from_pylist(tables[table], schema=schema))
    return view


@examples(150)
@given(nested(), contents())
def test_translation_keeps_the_meaning(sql: str, tables: dict[str, Any]) -> None:
    check_meaning(sql, tables)


@pytest.mark.long
@examples(10_000)
@given(nested(depth=3), contents())
def test_translation_keeps_the_meaning_at_length(sql: str, tables: dict[str, Any]) -> None:
    check_meaning(sql, tables)


Batch = tuple[dict[str, list[dict[str, Any]]], int]


def batches(most: int) -> st.SearchStrategy[list[Batch]]:
    """Inserts, and the number of oldest rows of each table that are deleted after them."""
    return st.lists(st.tuples(contents(most), st.integers(0, most)), min_size=1, max_size=4)


def define(db: rv.Database, sql: str) -> rv.View:
    for table, schema in SCHEMAS.items():
        db.create_table(table, schema)
    return db.create_view("v", sql)


def check_stream(sql: str, stream: list[Batch]) -> None:
    """In memory and in a file."""
    with durable_twin(lambda db: define(db, sql)) as file:
        _check_stream(sql, stream, file)


def _check_stream(sql: str, stream: list[Batch], file: DurableTwin) -> None:
    db = rv.Database()
    view = define(db, sql)
    held: dict[str, list[dict[str, Any]]] = {table: [] for table in SCHEMAS}
    assert comparable(view.to_arrow()) == ORACLE.rows(sql, held)
    for came, going in stream:
        gone = {table: rows[:going] for table, rows in held.items()}
        for each in (db, file.next()):
            with each.transaction() as tx:
                for table in SCHEMAS:
                    tx.insert(table, came[table])
                    tx.delete(table, gone[table])
        for table in SCHEMAS:
            held[table] = held[table][going:] + came[table]
        assert comparable(file.db["v"].to_arrow()) == ORACLE.rows(sql, held)
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, held)
    # One that is made over rows that are there.
    again = db.create_view("again", sql)
    assert comparable(again.to_arrow()) == comparable(view.to_arrow())
    for table, rows in held.items():
        db.delete(table, rows)
        held[table] = []
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, held)


@examples(30)
@given(nested(), batches(3))
def test_views_equal_duckdb_after_every_batch(sql: str, stream: list[Batch]) -> None:
    check_stream(sql, stream)


@pytest.mark.long
@examples(5_000)
@given(nested(depth=3), batches(6))
def test_views_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check_stream(sql, stream)


# Columns of a group in subqueries of HAVING, and names of SELECT beside them.
HAVING = [
    "SELECT b, SUM(a) AS s FROM r GROUP BY b HAVING SUM(a) > (SELECT 0.5 * AVG(y) FROM s)",
    "SELECT SUM(a) AS s FROM r GROUP BY b HAVING COUNT(*) >= (SELECT COUNT(*) FROM s)",
    "SELECT b, COUNT(*) AS n FROM r GROUP BY b "
    "HAVING COUNT(*) < (SELECT SUM(y) FROM s WHERE s.b = r.b) OR b IS NULL",
    "SELECT b, COUNT(*) AS n FROM r GROUP BY b HAVING n + SUM(a) / 2 <= (SELECT MAX(y) FROM s "
    "WHERE s.b <= r.b)",
    "SELECT b, AVG(a) AS m FROM r GROUP BY b HAVING b IN (SELECT s.b FROM s WHERE y > 0)",
    "SELECT b, MIN(a) AS m FROM r GROUP BY b HAVING NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b)",
    "SELECT COUNT(*) AS n, SUM(a) AS t FROM r HAVING SUM(a) > (SELECT COUNT(*) FROM s)",
    "SELECT COUNT(*) AS n FROM r HAVING COUNT(*) >= (SELECT COUNT(*) FROM s)",
    "SELECT r.b, SUM(y) AS t FROM r JOIN s ON r.b = s.b GROUP BY r.b "
    "HAVING SUM(y) > (SELECT SUM(z.a) FROM r z WHERE z.b = r.b) AND COUNT(*) > 1",
]

# Conditions that are joins with a block, of which the rows may be shown; and some that are none.
JOINS = [
    "SELECT a, b FROM r WHERE a IN (SELECT y FROM s)",
    "SELECT a, b FROM r WHERE b IN (SELECT y FROM s WHERE s.b = r.a)",
    "SELECT a, d FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.b = r.b AND y > 0)",
    "SELECT a, d FROM r WHERE a = (SELECT MIN(y) FROM s WHERE s.b = r.b) AND d > 0",
    "SELECT a, d FROM r WHERE (SELECT MAX(a) FROM r) = a",
    "SELECT a FROM r WHERE d = (SELECT MAX(d) FROM r z WHERE z.b = r.b)",
    "SELECT DISTINCT b FROM r WHERE a IN (SELECT b FROM s GROUP BY b HAVING COUNT(*) > 1)",
    "SELECT b, MIN(a) AS m FROM r WHERE a IN (SELECT b FROM s WHERE y IN (SELECT a FROM r)) "
    "GROUP BY b",
    "SELECT COUNT(*) AS n FROM r WHERE b NOT IN (SELECT y FROM s)",
    "SELECT COUNT(*) AS n FROM r WHERE b NOT IN (SELECT y FROM s WHERE s.b = r.a)",
    "SELECT COUNT(*) AS n FROM r WHERE b = (SELECT COUNT(*) FROM s WHERE s.y = r.b)",
    "SELECT DISTINCT r.b FROM r, s WHERE r.a < s.y AND r.b > (SELECT AVG(y) FROM s)",
    "SELECT COUNT(*) AS n, SUM(a * y) AS t FROM r, s WHERE r.a < s.y OR r.b = s.b + 1",
    "SELECT a, b FROM r WHERE b = ANY (SELECT y FROM s WHERE s.b = r.a)",
    "SELECT COUNT(*) AS n FROM r WHERE a > ALL (SELECT y FROM s WHERE s.b = r.b)",
    "SELECT COUNT(*) AS n FROM r WHERE a > ANY (SELECT b FROM s)",
    "SELECT COUNT(*) AS n FROM r WHERE NOT b <= ALL (SELECT y FROM s)",
    "SELECT COUNT(*) AS n FROM r WHERE b <> ANY (SELECT y FROM s) OR a = 0",
]

# Least, greatest and distinct values of rows that a condition chooses which is no join.
EXTREMES = [
    "SELECT MIN(b) AS l, MAX(d) AS g, COUNT(DISTINCT a) AS n FROM r "
    "WHERE 0.5 * (SELECT SUM(y) FROM s) < (SELECT SUM(z.a) FROM r z WHERE z.a <= r.a)",
    "SELECT b, MAX(a) AS g, SUM(a) AS t FROM r WHERE a > (SELECT AVG(z.a) FROM r z "
    "WHERE z.b = r.b) GROUP BY b HAVING MAX(a) > 1",
    "SELECT MIN(r.a) AS l, MAX(s.f) AS g FROM r, s WHERE r.a < s.y",
    "SELECT s.b, COUNT(DISTINCT r.d) AS n FROM r, s WHERE r.a < s.y GROUP BY s.b",
]


@pytest.mark.parametrize("sql", [*HAVING, *JOINS, *EXTREMES])
@examples(5)
@given(stream=batches(4))
def test_forms_of_conditions_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check_stream(sql, stream)
