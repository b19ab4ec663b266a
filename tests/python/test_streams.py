"""Views under random streams of inserts and deletes equal DuckDB after every batch."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import ringview as rv
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, comparable
from queries import SCHEMAS, queries, rows

ORACLE = Oracle(SCHEMAS)
Batch = list[tuple[str, Any]]
"""Changes of one transaction: rows to insert, or numbers that choose rows to delete."""


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Inserts and deletes of a few tables."""
    chosen = st.lists(st.integers(0, 30), min_size=1, max_size=4)
    tables = draw(st.lists(st.sampled_from(sorted(SCHEMAS)), min_size=1, max_size=3))
    return [(table, draw(st.one_of(rows(table, 4), rows(table, 4), chosen))) for table in tables]


class Tables:
    """The rows that tables hold, and the changes of a batch as rows."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {table: [] for table in SCHEMAS}

    def change(self, batch: Batch) -> list[tuple[str, int, list[dict[str, Any]]]]:
        """Apply `batch` here; what it inserts (+1) and deletes (-1)."""
        changes = []
        for table, body in batch:
            if all(isinstance(row, dict) for row in body):
                self.rows[table] += body
                changes.append((table, 1, body))
                continue
            gone = [
                self.rows[table].pop(place % len(self.rows[table]))
                for place in body
                if self.rows[table]
            ]
            changes.append((table, -1, gone))
        return changes


def database(**options: Any) -> rv.Database:
    db = rv.Database(**options)
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
    return db


def apply(db: rv.Database, changes: list[tuple[str, int, list[dict[str, Any]]]]) -> None:
    with db.transaction() as tx:
        for table, sign, body in changes:
            (tx.insert if sign > 0 else tx.delete)(table, body)


def check(sql: str, stream: list[Batch]) -> None:
    """The view and its twins equal DuckDB after each batch, and its changes add up to it."""
    db, trusting, tables = database(), database(trust_deletes=True), Tables()
    view, twin = db.create_view("v", sql), trusting.create_view("v", sql)
    seen: Counter[tuple[Any, ...]] = Counter()
    for batch in [*stream, *everything_leaves()]:
        changes = tables.change(batch)
        apply(db, changes)
        apply(trusting, changes)
        expected = ORACLE.rows(sql, tables.rows)
        assert comparable(view.to_arrow()) == expected
        assert comparable(twin.to_arrow()) == expected
        assert len(view) == len(expected)
        for *row, multiplicity in comparable(view.changes()):
            seen[tuple(row)] += int(multiplicity)
        assert sorted(seen.elements(), key=repr) == expected
        assert all(count >= 0 for count in seen.values())
    late = db.create_view("late", sql)
    assert comparable(late.to_arrow()) == comparable(view.to_arrow())


def everything_leaves() -> list[Batch]:
    """Batches that delete whatever a short stream has inserted."""
    return [[(table, [0] * 200)] for table in SCHEMAS]


@settings(max_examples=150, deadline=None)
@given(queries(), st.lists(batches(), max_size=5))
def test_views_equal_duckdb(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@pytest.mark.long
@settings(max_examples=5_000, deadline=None)
@given(queries(), st.lists(batches(), max_size=8))
def test_views_equal_duckdb_at_length(sql: str, stream: list[Batch]) -> None:
    check(sql, stream)


@settings(max_examples=60, deadline=None)
@given(queries(), st.lists(batches(), max_size=4), st.lists(batches(), max_size=2))
def test_views_over_rows_that_are_there(sql: str, before: list[Batch], after: list[Batch]) -> None:
    db, tables = database(), Tables()
    for batch in before:
        apply(db, tables.change(batch))
    view = db.create_view("v", sql)
    for batch in [[], *after]:
        apply(db, tables.change(batch))
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(queries(), min_size=2, max_size=4),
    st.lists(batches(), max_size=4),
)
def test_several_views_share_tables(sqls: list[str], stream: list[Batch]) -> None:
    db, tables = database(), Tables()
    views = [db.create_view(f"v{i}", sql) for i, sql in enumerate(sqls)]
    for batch in stream:
        apply(db, tables.change(batch))
        for sql, view in zip(sqls, views, strict=True):
            assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


@settings(max_examples=60, deadline=None)
@given(
    queries(),
    rows("t", 8),
    rows("u", 8),
    st.lists(batches(), max_size=4),
)
def test_static_tables(
    sql: str, t: list[dict[str, Any]], u: list[dict[str, Any]], stream: list[Batch]
) -> None:
    db, tables = rv.Database(), Tables()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema, static=name in ("t", "u"))
    apply(db, tables.change([("t", t), ("u", u)]))
    view = db.create_view("v", sql)
    for batch in [[], *stream]:
        moving = [(table, body) for table, body in batch if table in ("r", "s")]
        apply(db, tables.change(moving))
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


@settings(max_examples=60, deadline=None)
@given(queries(), st.lists(batches(), min_size=1, max_size=3), batches())
def test_a_refused_transaction_moves_nothing(sql: str, stream: list[Batch], last: Batch) -> None:
    """A delete of a row that is not there undoes what came before it in the transaction."""
    db, tables = database(), Tables()
    view = db.create_view("v", sql)
    for batch in stream:
        apply(db, tables.change(batch))
    before, sizes = comparable(view.to_arrow()), {n: len(t) for n, t in db.tables.items()}
    view.changes()
    absent = {"a": 99, "b": 99, "x": 99, "name": "absent"}
    with pytest.raises(rv.errors.OverDeleteError):
        apply(db, [*twin_of(tables).change(last), ("r", -1, [absent])])
    assert comparable(view.to_arrow()) == before == ORACLE.rows(sql, tables.rows)
    assert {n: len(t) for n, t in db.tables.items()} == sizes
    assert view.changes().num_rows == 0


def twin_of(tables: Tables) -> Tables:
    copied = Tables()
    copied.rows = {name: list(body) for name, body in tables.rows.items()}
    return copied
