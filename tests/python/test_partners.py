"""Rows with or without a partner: views, and queries that are run once, equal DuckDB.

Semi-joins and anti-joins by a comparison: of each type, of columns and expressions, alone or beside
another condition, so that those which MIN and MAX decide and those which need all pairs both occur.
Groups of a LEFT JOIN: with aggregates that can be grouped before the join, and with others.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, comparable

# By column, its type and its few values.
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "k": (pa.int64(), [None, 0, 1, 2]),
    "i": (pa.int32(), [None, -1, 0, 1]),
    "n": (pa.int64(), [None, -1, 0, 1, 2]),
    "d": (pa.decimal128(12, 2), [None, Decimal("-0.50"), Decimal(0), Decimal("1.00")]),
    "s": (pa.string(), [None, "", "a", "b"]),
    "t": (pa.date32(), [None, date(2024, 1, 1), date(2024, 1, 2)]),
    "m": (pa.timestamp("us"), [None, datetime(2024, 1, 1), datetime(2024, 1, 1, 12)]),
    "x": (pa.float64(), [None, -0.5, 0.0, 1.0]),
    "b": (pa.bool_(), [None, False, True]),
}
SCHEMA = pa.schema([(name, ty) for name, (ty, _) in COLUMNS.items()])
SCHEMAS = {"l": SCHEMA, "r": SCHEMA}
ORACLE = Oracle(SCHEMAS)

# Types that compare with each other.
KINDS = (("i", "n", "d"), ("s",), ("t", "m"), ("x",), ("b",))
OPERATORS = ("<>", "<>", "<", "<=", ">", ">=")

Rows = dict[str, list[dict[str, Any]]]
Batch = tuple[Rows, int]


def rows(most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.fixed_dictionaries({name: st.sampled_from(of) for name, (_, of) in COLUMNS.items()})
    return st.lists(one, max_size=most)


def batches(most: int) -> st.SearchStrategy[list[Batch]]:
    """By batch, rows to insert, and how many of the oldest of each table are deleted."""
    inserted = st.fixed_dictionaries({name: rows(most) for name in SCHEMAS})
    return st.lists(st.tuples(inserted, st.integers(0, most)), min_size=1, max_size=3)


@st.composite
def asked(draw: st.DrawFn) -> str:
    """A query whose rows have such a partner, or none."""
    kind = draw(st.sampled_from(KINDS))
    own, other = (f"{side}.{draw(st.sampled_from(kind))}" for side in "lr")
    if kind == KINDS[0]:
        own = draw(st.sampled_from([own, own, f"({own} + 1)", f"(l.i - {own})"]))
        other = draw(st.sampled_from([other, other, other, f"({other} + 1)"]))
    sides = draw(st.permutations([own, other]))
    conditions = ["l.k = r.k", f"{sides[0]} {draw(st.sampled_from(OPERATORS))} {sides[1]}"]
    further = ["r.n > 0", "r.s = l.s", "l.i > 0", "r.i <> l.n", "(r.i = 1 OR l.i = 1)"]
    conditions += draw(st.lists(st.sampled_from(further), max_size=1))
    condition = " AND ".join(draw(st.permutations(conditions)))
    is_exists = draw(st.booleans())
    if is_exists or "l.i > 0" in condition:
        word = draw(st.sampled_from(["EXISTS", "NOT EXISTS"]))
        source = f"l WHERE {word} (SELECT 1 FROM r WHERE {condition})"
    else:
        source = f"l {draw(st.sampled_from(['SEMI', 'ANTI']))} JOIN r ON {condition}"
    shown = ["SELECT l.k, l.i, l.s FROM", "SELECT l.s, COUNT(*) AS n, SUM(l.n) AS t FROM"]
    if draw(st.booleans()):
        return f"{shown[0]} {source}"
    return f"{shown[1]} {source} GROUP BY l.s"


# Aggregates of the right side of a LEFT JOIN, some of which are 1 or not NULL without a partner.
AGGREGATES = (
    "COUNT(*)",
    "COUNT(r.n)",
    "COUNT(r.one)",
    "SUM(r.n)",
    "SUM(r.d)",
    "SUM(r.i)",
    "SUM(r.x)",
    "MIN(r.s)",
    "MAX(r.t)",
    "MIN(3)",
    "SUM(1)",
    "COUNT(DISTINCT r.n)",
    "AVG(r.n)",
    "SUM(r.n * r.i)",
    "COUNT(CASE WHEN r.n IS NULL THEN 1 END)",
    "COUNT(r.n) FILTER (WHERE r.i > 0)",
    "COUNT(*) FILTER (WHERE r.n IS NULL)",
    "SUM(l.n)",
    "BOOL_OR(r.b)",
    "STRING_AGG(r.s, ',' ORDER BY r.s)",
)


@st.composite
def grouped(draw: st.DrawFn) -> str:
    """Aggregates over a LEFT JOIN, mostly of the right side by columns of the left one."""
    conditions = ["l.k = r.k"]
    further = ["r.n > 0", "r.s = l.s", "l.i > 0", "r.i < l.n", "r.i + 1 = l.n"]
    conditions += draw(st.lists(st.sampled_from(further), max_size=1))
    groups = draw(
        st.sampled_from(["l.k", "l.s", "l.s", "l.i, l.s", "l.n + 1", "r.s", "l.k, r.i", ""])
    )
    shown = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3))
    columns = ([groups] if groups else []) + [f"{of} AS v{at}" for at, of in enumerate(shown)]
    right = draw(st.sampled_from(["r", "r", "(SELECT * FROM r WHERE n <> 1)"]))
    rows = f"(SELECT *, 1 AS one FROM {right} AS q) AS r"
    left = draw(st.sampled_from(["l", "l", "(SELECT DISTINCT k, i, n, s FROM l) AS l"]))
    where = draw(st.sampled_from(["", "", " WHERE l.i >= 0", " WHERE r.n IS NULL"]))
    having = draw(st.sampled_from(["", "", " HAVING COUNT(*) > 1"])) if groups else ""
    group = f" GROUP BY {groups}" if groups else ""
    on = " AND ".join(conditions)
    return f"SELECT {', '.join(columns)} FROM {left} LEFT JOIN {rows} ON {on}{where}{group}{having}"


def check(sql: str, stream: list[Batch]) -> None:
    # The second one has no view that the query could be read from.
    kept, asked = rv.Database(), rv.Database()
    for table in SCHEMAS:
        kept.create_table(table, SCHEMA)
        asked.create_table(table, SCHEMA)
    view = kept.create_view("v", sql)
    held: Rows = {table: [] for table in SCHEMAS}
    last: Batch = ({table: [] for table in SCHEMAS}, 100)
    for inserted, going in [*stream, last]:
        for db in (kept, asked):
            with db.transaction() as tx:
                for table, body in inserted.items():
                    tx.delete(table, held[table][:going])
                    tx.insert(table, body)
        held = {table: rows[going:] + inserted[table] for table, rows in held.items()}
        wanted = ORACLE.rows(sql, held)
        assert comparable(view.to_arrow()) == wanted
        found = asked.sql(sql)
        assert comparable(found) == wanted
        assert found.schema.types == view.schema.types


@examples(60)
@given(asked(), batches(4))
def test_partners_that_compare_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@examples(60)
@given(grouped(), batches(4))
def test_groups_of_a_left_join_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@pytest.mark.long
@examples(5_000)
@given(st.one_of(asked(), grouped()), batches(6))
def test_partners_that_compare_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@pytest.mark.parametrize("operator", OPERATORS[1:])
@pytest.mark.parametrize("word", ["", "NOT "])
def test_one_of_many_partners_decides(operator: str, word: str) -> None:
    db = rv.Database()
    for table in SCHEMAS:
        db.create_table(table, SCHEMA)
    own = [-1, 0, 500, 999, 1_000]
    db.insert("l", [dict.fromkeys(COLUMNS) | {"k": 1, "n": n} for n in own])
    db.insert("r", [dict.fromkeys(COLUMNS) | {"k": 1, "n": n} for n in range(1_000)])
    partner = f"SELECT 1 FROM r WHERE r.k = l.k AND l.n {operator} r.n"
    found = db.sql(f"SELECT n FROM l WHERE {word}EXISTS ({partner}) ORDER BY n")
    holds = {
        "<>": own,
        "<": [n for n in own if n < 999],
        "<=": [n for n in own if n <= 999],
        ">": [n for n in own if n > 0],
        ">=": [n for n in own if n >= 0],
    }
    assert found["n"].to_pylist() == [n for n in own if (n in holds[operator]) != bool(word)]
