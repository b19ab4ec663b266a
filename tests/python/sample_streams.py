"""A sample and its twin in a file, through inserts and deletes, against DuckDB's join."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
import ringview as rv
from durable_twin import durable_twin

Rows = list[dict[str, Any]]


def rows_of(table: pa.Table) -> Counter[str]:
    """Rows with their multiplicities, by their text: NaN is equal to itself there."""
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


@dataclass
class Stream:
    """Tables, the rows that are made for them, and how many of each leave in a step."""

    tables: dict[str, dict[str, str]]
    row: Callable[[str, random.Random], dict[str, Any]]
    unique: dict[str, list[str]] = field(default_factory=dict)
    leave: int = 1

    def columns(self, rows: Rows, table: str) -> pa.Table:
        kinds = self.tables[table].items()
        schema = pa.schema([(name, rv.convert.arrow.data_type(kind)) for name, kind in kinds])
        return pa.Table.from_pylist(rows, schema)

    def create(self, db: rv.Database) -> rv.Database:
        """A database, in which the tables are made."""
        for name, kinds in self.tables.items():
            db.create_table(name, kinds, unique=self.unique.get(name))
        return db

    def truth(self, sql: str, tables: dict[str, Rows]) -> Counter[str]:
        with duckdb.connect() as con:
            for name, rows in tables.items():
                con.register(name, self.columns(rows, name))
            return rows_of(con.sql(sql).to_arrow_table())

    def rows(self, table: str, there: Rows, chance: random.Random) -> Rows:
        """Some rows that agree with no other in a key."""
        found: Rows = []
        key = self.unique.get(table)
        for _ in range(chance.randrange(6)):
            made = self.row(table, chance)
            if key is None or all(any(r[c] != made[c] for c in key) for r in there + found):
                found.append(made)
        return found

    def check(
        self,
        sql: str,
        k: int,
        steps: int,
        seed: str,
        between: Callable[[rv.Database, int, dict[str, Rows]], None] = lambda *_: None,
    ) -> None:
        """After each step both samples are of the join, and all of it where they have room."""
        chance = random.Random(f"{seed} {k}")

        def define(db: rv.Database) -> rv.Sample:
            return self.create(db).create_sample("few", sql, k=k, seed=5)

        db = rv.Database()
        sample = define(db)
        there: dict[str, Rows] = {name: [] for name in self.tables}
        told: Counter[str] = Counter()
        seen = 0
        with durable_twin(define) as file:
            for step in range(steps):
                before = rows_of(file.db["few"].to_arrow())
                again = file.next()
                # One that is killed before it was ever written is filled anew.
                assert step == 1 or rows_of(again["few"].to_arrow()) == before
                with db.transaction() as tx, again.transaction() as other:
                    for name, rows in there.items():
                        come = self.rows(name, rows, chance)
                        rows.extend(come)
                        chance.shuffle(rows)
                        gone = [rows.pop() for _ in range(min(len(rows), step % 3 * self.leave))]
                        for each in (tx, other):
                            each.insert(name, self.columns(come, name))
                            each.delete(name, self.columns(gone, name))
                # In memory alone: the rows drawn next may differ, and the file holds no such step.
                between(db, step, there)
                expected = self.truth(sql, there)
                seen += expected.total()
                for one in (again["few"], sample):
                    assert isinstance(one, rv.Sample)
                    found = rows_of(one.to_arrow())
                    assert found <= expected
                    assert one.join_size() == expected.total()
                    assert len(one) == found.total() == min(k, expected.total())
                    assert rows_of(one.draw(10**6, seed=step, replacement=False)) == expected
                for change in sample.changes().to_pylist():
                    multiplicity = change.pop("multiplicity")
                    told[repr(tuple(change.values()))] += multiplicity
                assert +told == found
                if expected:
                    assert set(rows_of(sample.draw(5, seed=step))) <= set(expected)
        assert seen > 5, "nothing was tested"
        # Filled from the rows that are there.
        late = db.create_sample("late", sql, k=k, seed=6)
        assert rows_of(late.to_arrow()) <= expected
        assert len(late) == len(sample)
