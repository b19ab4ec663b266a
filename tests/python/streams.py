"""Random streams of inserts and deletes: batches, and the rows they leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import ringview as rv
from durable_twin import durable_twin
from hypothesis import strategies as st
from oracle import Oracle, comparable
from queries import SCHEMAS, rows, updates

ORACLE = Oracle(SCHEMAS)
Batch = list[tuple[str, Any]]
"""Changes of one transaction: rows to insert, numbers that choose rows to delete, or numbers that
choose rows, each with new values of some columns."""


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Inserts, deletes and updates of a few tables."""
    chosen = st.lists(st.integers(0, 30), min_size=1, max_size=4)
    tables = draw(st.lists(st.sampled_from(sorted(SCHEMAS)), min_size=1, max_size=3))
    bodies = {
        table: st.one_of(rows(table, 4), rows(table, 4), chosen, updates(table)) for table in tables
    }
    return [(table, draw(bodies[table])) for table in tables]


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
            known, gone, come = self.rows[table], [], []
            for chosen in body if known else []:
                place, new = chosen if isinstance(chosen, tuple) else (chosen, None)
                if known:
                    gone.append(known.pop(place % len(known)))
                    come += [] if new is None else [{**gone[-1], **new}]
            known += come
            changes.append((table, -1, gone))
            changes += [(table, 1, come)] if come else []
        return changes


def tables_of(db: rv.Database) -> rv.Database:
    """A database, in which the tables of `SCHEMAS` are made."""
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
    return db


def database(**options: Any) -> rv.Database:
    return tables_of(rv.Database(**options))


def apply(db: rv.Database, changes: list[tuple[str, int, list[dict[str, Any]]]]) -> None:
    with db.transaction() as tx:
        for table, sign, body in changes:
            (tx.insert if sign > 0 else tx.delete)(table, body)


def everything_leaves() -> list[Batch]:
    """Batches that delete whatever a short stream has inserted: of joins first one side."""
    names = list(SCHEMAS)
    return [[(table, [0] * 200) for table in names[at::2]] for at in range(2)]


def twin_of(tables: Tables) -> Tables:
    copied = Tables()
    copied.rows = {name: list(body) for name, body in tables.rows.items()}
    return copied


def check(sql: str, stream: list[Batch]) -> None:
    """The view and its twin equal DuckDB after each batch, and its changes add up to it.

    The twin trusts deletes, and one is made late, or it is in a file: planning a view takes longer
    than the stream does.
    """
    if len(stream) % 2:
        trusting = database(trust_deletes=True)
        trusting.create_view("v", sql)
        db = _check(sql, stream, lambda: trusting)
        late = db.create_view("late", sql)
        assert comparable(late.to_arrow()) == comparable(db["v"].to_arrow())
        return
    with durable_twin(lambda db: (tables_of(db), db.create_view("v", sql))) as file:
        _check(sql, stream, file.next)


def _check(sql: str, stream: list[Batch], twin: Callable[[], rv.Database]) -> rv.Database:
    db, tables = database(), Tables()
    view = db.create_view("v", sql)
    seen: Counter[tuple[Any, ...]] = Counter()
    for batch in [*stream, *everything_leaves()]:
        changes = tables.change(batch)
        apply(db, changes)
        other = twin()
        apply(other, changes)
        expected = ORACLE.rows(sql, tables.rows)
        assert comparable(view.to_arrow()) == expected
        assert comparable(other["v"].to_arrow()) == expected
        assert len(view) == len(expected)
        for *row, multiplicity in comparable(view.changes()):
            seen[tuple(row)] += int(multiplicity)
        assert sorted(seen.elements(), key=repr) == expected
        assert all(count >= 0 for count in seen.values())
    return db


def check_static(sql: str, fixed: Batch, stream: list[Batch]) -> None:
    """A view over the static tables t and u, filled first, equals DuckDB after each batch."""
    db, tables = rv.Database(), Tables()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema, static=name in ("t", "u"))
    apply(db, tables.change(fixed))
    view = db.create_view("v", sql)
    for batch in [[], *stream]:
        apply(db, tables.change([(name, body) for name, body in batch if name in ("r", "s")]))
        assert comparable(view.to_arrow()) == ORACLE.rows(sql, tables.rows)


def small() -> tuple[rv.Database, rv.View]:
    """Two tables that join, and the rows of their join."""
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    db.create_table("s", {"b": "int64", "c": "int64"})
    return db, db.create_view("v", "SELECT * FROM r NATURAL JOIN s")
