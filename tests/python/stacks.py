"""Stacks of views over the tables of `queries`, and DuckDB's word on each of them.

DuckDB recomputes a view from the tables alone: a WITH before it defines the views that it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import ringview as rv
from durable_twin import DurableTwin, durable_twin
from oracle import comparable
from ringview import errors
from streams import ORACLE, Batch, Tables, apply, database, everything_leaves, tables_of

Row = tuple[Any, ...]


def alone(views: Mapping[str, str], name: str) -> str:
    """The SQL of a view with that of all before it, over tables alone."""
    names = list(views)
    below = [f"{other} AS ({views[other]})" for other in names[: names.index(name) + 1]]
    return f"WITH {', '.join(below)} SELECT * FROM {name}"


def create(db: rv.Database, views: Mapping[str, str]) -> None:
    for name, sql in views.items():
        db.create_view(name, sql)


class Stack:
    """Views in a database, and in its twin in a file if there is one, each over tables and those
    before it, and the rows of the tables."""

    def __init__(
        self,
        views: Mapping[str, str],
        static: Sequence[str] = (),
        file: DurableTwin | None = None,
        share: bool = True,
    ) -> None:
        self.views, self.tables, self.file = dict(views), Tables(), file
        self.db = rv.Database() if static else database(share=share)
        if static:
            for name, schema in ORACLE.schemas.items():
                self.db.create_table(name, schema, static=name in static)
        self.seen: dict[str, Counter[Row]] = {name: Counter() for name in views}

    def create(self) -> None:
        create(self.db, self.views)

    def expected(self, name: str) -> list[Row]:
        return ORACLE.rows(alone(self.views, name), self.tables.rows)

    def rows(self, name: str) -> list[Row]:
        return comparable(self.db[name].to_arrow())

    def run(self, batch: Batch) -> None:
        changes = self.tables.change(batch)
        apply(self.db, changes)
        if self.file:
            apply(self.file.next(), changes)

    def check(self) -> None:
        """Every view is DuckDB's, and its changes add up to it."""
        for name in self.views:
            expected, view = self.expected(name), self.db[name]
            assert self.rows(name) == expected, name
            assert len(view) == len(expected), name
            if self.file:
                assert comparable(self.file.db[name].to_arrow()) == expected, name
            seen = self.seen[name]
            for *row, multiplicity in comparable(view.changes()):
                seen[tuple(row)] += int(multiplicity)
            assert sorted(seen.elements(), key=repr) == expected, name
            assert all(count >= 0 for count in seen.values()), name

    def check_refusal(self) -> None:
        """A transaction that fails at its end leaves all views as they are, and moves none."""
        before = {name: self.rows(name) for name in self.views}
        for db in [self.db, *([self.file.db] if self.file else [])]:
            self._refuse(db)
            after = {name: comparable(db[name].to_arrow()) for name in self.views}
            assert after == before
        assert all(view.changes().num_rows == 0 for view in self.db.views.values())

    def _refuse(self, db: rv.Database) -> None:
        come: list[dict[str, Any]]
        come = [{"a": 1, "b": 1, "x": 1, "name": "a"}, {"a": 2, "b": 2, "x": -1, "name": None}]
        with pytest.raises(errors.OverDeleteError), db.transaction() as tx:
            tx.insert("r", come)
            tx.delete("r", self.tables.rows["r"][:2])
            tx.delete("r", [{"a": 99, "b": 99, "x": 99, "name": "absent"}])
        # Far above, where most has been done.
        if "guard" in self.views:
            with pytest.raises(errors.ArithmeticOverflowError), db.transaction() as tx:
                tx.insert("r", [*come, {"a": 1, "b": 0, "x": 2**62, "name": "new"}])
                tx.delete("r", self.tables.rows["r"][:1])


def check_stack(views: Mapping[str, str], stream: Sequence[Batch]) -> None:
    """Equal to DuckDB after each batch, down to nothing; and made late, all the same."""
    with durable_twin(lambda db: create(tables_of(db), views)) as file:
        _check_stack(views, stream, Stack(views, file=file))


def _check_stack(views: Mapping[str, str], stream: Sequence[Batch], stack: Stack) -> None:
    stack.create()
    for batch in [*stream, *everything_leaves()]:
        stack.run(batch)
        stack.check()
        stack.check_refusal()
    for batch in stream:
        stack.run(batch)
    share = len(stream) % 2 == 0
    late = Stack(views, share=share)
    late.tables = stack.tables
    for table, rows in stack.tables.rows.items():
        late.db.insert(table, rows)
    if share:
        late.db.create_views(views)
    else:
        late.create()
    late.check()
    for name in reversed(list(views)):
        stack.db.drop_view(name)
    assert list(stack.db.views) == []
