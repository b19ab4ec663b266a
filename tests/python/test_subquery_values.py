"""Conditions on the value of a correlated subquery: rows without a group, NULL, counts of no rows.

A condition that NULL does not meet joins rows with their groups; each other one keeps the rows that
have none. Texts of both kinds equal DuckDB, as views and when they are run once.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable

SCHEMAS = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int32(), "d": pa.decimal128(6, 2)}),
    "s": pa.schema({"a": pa.int64(), "b": pa.int32(), "c": pa.int64()}),
}
ORACLE = Oracle(SCHEMAS)

VALUES = [
    "(SELECT SUM(s.c) FROM s WHERE s.a = r.a)",
    "(SELECT 2 * MAX(s.c) + 1 FROM s WHERE s.a = r.a AND s.b = r.b)",
    "(SELECT 0.5 * AVG(s.c) FROM s WHERE s.a = r.a AND s.c < 2)",
    "(SELECT COUNT(*) FROM s WHERE s.a = r.a)",
    "(SELECT COUNT(s.c) + 1 FROM s WHERE s.a = r.b)",
    "(SELECT COALESCE(MIN(s.c), 0) FROM s WHERE s.a = r.a)",
    "(SELECT 1 + COUNT(*) - SUM(s.c) FROM s WHERE s.a = r.a)",
    "(SELECT MIN(s.c) FROM s WHERE s.a = r.a HAVING COUNT(*) > 1)",
]
CONDITIONS = [
    "r.b < {}",
    "r.d >= {} - 1",
    "NOT (r.b <= {})",
    "{} IS NULL",
    "{} IS NOT NULL",
    "{} BETWEEN 0 AND r.b",
    "{} NOT IN (1, 2)",
    "(r.b IS NULL OR {} = 1)",
    "(r.b > {} OR r.a = 1 AND r.b < {})",
    "COALESCE({}, 7) > r.b",
    "r.b + r.a <> {}",
    "({} > 0) IS NOT TRUE",
    "CASE WHEN {} > 0 THEN FALSE ELSE TRUE END",
]
SMALL = st.one_of(st.none(), st.integers(-1, 3))
Rows = dict[str, list[dict[str, Any]]]


@st.composite
def contents(draw: st.DrawFn) -> Rows:
    """A few rows of each table; few values, so that many meet."""
    rows = {
        name: draw(st.lists(st.fixed_dictionaries(dict.fromkeys(schema.names, SMALL)), max_size=5))
        for name, schema in SCHEMAS.items()
    }
    return rows


def database(rows: Rows) -> rv.Database:
    """A database with these rows, and no views."""
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
        db.insert(name, rows[name])
    return db


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("value", VALUES)
@examples(6)
@given(first=contents(), second=contents())
def test_rows_equal_duckdb(value: str, condition: str, first: Rows, second: Rows) -> None:
    sql = f"SELECT r.a, r.b FROM r WHERE {condition.replace('{}', value)}"
    db = database(first)
    assert comparable(db.sql(sql)) == ORACLE.rows(sql, first)
    view = db.create_view("v", sql)
    both = {name: first[name] + second[name] for name in SCHEMAS}
    with db.transaction() as tx:
        for name in SCHEMAS:
            tx.insert(name, second[name])
    assert comparable(view.to_arrow()) == ORACLE.rows(sql, both)
    with db.transaction() as tx:
        for name in SCHEMAS:
            tx.delete(name, first[name])
    assert comparable(view.to_arrow()) == ORACLE.rows(sql, second)
    assert comparable(database(both).sql(sql)) == ORACLE.rows(sql, both)
