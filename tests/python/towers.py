"""Towers of plain views: sixty alive at once, most over one another.

No view of them is hard. Many views with several groupings read few relations, so views share
nodes, unions of sums take one another's place, and levels are three to six deep. DuckDB keeps
each view as a table and recomputes it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import ringview as rv
from oracle import comparable

Row = tuple[Any, ...]

TABLES = {"t": ("k", "j", "a"), "u": ("k", "b")}
VIEWS = 60
DEEPEST = 6
AGGREGATES = ("sum({})", "count(*)", "count({})", "min({})", "max({})", "count(DISTINCT {})")


class Tower:
    """Views in ringview and DuckDB, each over tables and views before it."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.draw = random.Random(seed)
        self.db = rv.Database(**options)
        self.oracle = duckdb.connect(":memory:", config={"threads": 1})
        self.rows: dict[str, Counter[Row]] = {}
        self.columns: dict[str, tuple[str, ...]] = {}
        self.depths: dict[str, int] = {}
        self.views: dict[str, str] = {}
        self.followed: dict[str, Counter[Row]] = {}
        self.made = 0
        for name, columns in TABLES.items():
            self.db.create_table(name, dict.fromkeys(columns, "int64"))
            typed = ", ".join(f"{column} BIGINT" for column in columns)
            self.oracle.execute(f"CREATE TABLE {name} ({typed})")
            self.rows[name], self.columns[name], self.depths[name] = Counter(), columns, 0

    def create(self) -> None:
        """One more view, and now and then somebody who follows it."""
        name = f"v{self.made}"
        self.made += 1
        sql, columns, depth = self._query()
        self.db.create_view(name, sql)
        self.views[name], self.columns[name], self.depths[name] = sql, columns, depth
        if self.draw.random() < 0.3:
            self.followed[name] = Counter()

    def define(self) -> None:
        """A definition elsewhere moves no row: it may neither heal a view nor silence one."""
        kind = self.draw.choice(("add", "table", "view", "replace", "drop"))
        number = self.made = self.made + 1
        if kind == "add":
            table = self.draw.choice(list(TABLES))
            self.db.execute(f"ALTER TABLE {table} ADD COLUMN extra BIGINT")
            self.db.execute(f"ALTER TABLE {table} DROP COLUMN extra")
        elif kind == "table":
            self.db.execute(f"CREATE TABLE other{number} (x BIGINT); DROP TABLE other{number}")
        elif kind == "view":
            name = f"v{number}"
            self.db.create_view(name, self._query()[0])
            self.db.drop_view(name)
        elif kind == "replace":
            name = self.draw.choice(list(self.views))
            self.db.execute(f"CREATE OR REPLACE VIEW {name} AS {self.views[name]}")
            if name in self.followed:
                del self.followed[name]
        else:
            top = [name for name in self.views if not self._is_read(name)]
            name = self.draw.choice(top)
            self.db.drop_view(name)
            for known in (self.views, self.columns, self.depths, self.followed):
                known.pop(name, None)

    def change(self) -> None:
        """A transaction of some inserts and deletes."""
        with self.db.transaction() as tx:
            for name, columns in TABLES.items():
                if self.draw.random() < 0.3:
                    continue
                for _ in range(self.draw.randint(1, 4)):
                    row = tuple(self._value() for _ in columns)
                    tx.insert(name, [dict(zip(columns, row, strict=True))])
                    self.rows[name][row] += 1
                gone = self.draw.sample(sorted(self.rows[name].elements(), key=repr), k=1)
                if self.draw.random() < 0.6:
                    tx.delete(name, [dict(zip(columns, gone[0], strict=True))])
                    self.rows[name][gone[0]] -= 1

    def stale(self) -> Iterator[str]:
        """The views that are not what DuckDB computes, or whose changes do not add up to that."""
        for name in TABLES:
            self.oracle.execute(f"DELETE FROM {name}")
            rows = sorted(self.rows[name].elements(), key=repr)
            if rows:
                marks = ", ".join("?" for _ in rows[0])
                self.oracle.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        for name, sql in self.views.items():
            self.oracle.execute(f"CREATE OR REPLACE TABLE {name} AS {sql}")
            expected = comparable(self.oracle.sql(f"SELECT * FROM {name}").to_arrow_table())
            view = self.db[name]
            if comparable(view.to_arrow()) != expected:
                yield f"{name}: {sql}"
            if name in self.followed:
                seen = self.followed[name]
                for *row, multiplicity in comparable(view.changes()):
                    seen[tuple(row)] += int(multiplicity)
                if sorted(seen.elements(), key=repr) != expected:
                    yield f"changes of {name}: {sql}"

    def _value(self) -> int | None:
        return None if self.draw.random() < 0.08 else self.draw.randint(-1, 3)

    def _is_read(self, name: str) -> bool:
        words = (sql.replace("(", " ").replace(")", " ").split() for sql in self.views.values())
        return any(name in one for one in words)

    def _query(self) -> tuple[str, tuple[str, ...], int]:
        """A query over existing views, its columns, and its depth."""
        low = [name for name, depth in self.depths.items() if depth < DEEPEST]
        # The few first and the few last, so that many views read one.
        one = self.draw.choice(low[:5] + low[-4:] * 2)
        columns, depth = self.columns[one], self.depths[one] + 1
        where = ""
        if self.draw.random() < 0.25:
            other = self.draw.choice(low)
            column = self.draw.choice(columns)
            # Planning may leave the subquery out: then its rows must be waited for by nobody.
            where = f" WHERE {column} IS NOT NULL OR EXISTS (SELECT 1 FROM {other})"
            if self.draw.random() < 0.4:
                where = f" WHERE {column} < (SELECT max({self.columns[other][0]}) FROM {other})"
            depth = max(depth, self.depths[other] + 1)
        shape = self.draw.random()
        if shape < 0.1:
            shown = self.draw.sample(columns, k=self.draw.randint(1, len(columns)))
            named = [f"{column} AS c{at}" for at, column in enumerate(shown)]
            return f"SELECT {', '.join(named)} FROM {one}{where}", self._names(named), depth
        if shape < 0.2:
            other = self.draw.choice(low[:5])
            on = f"p.{self.draw.choice(columns)} = q.{self.draw.choice(self.columns[other])}"
            named = [f"p.{columns[0]} AS c0", f"sum(q.{self.columns[other][-1]}) AS c1"]
            text = f"SELECT {', '.join(named)} FROM {one} AS p JOIN {other} AS q ON {on}"
            depth = max(depth, self.depths[other] + 1)
            return f"{text} GROUP BY p.{columns[0]}", self._names(named), depth
        groups = self.draw.sample(columns, k=self.draw.randint(0, min(2, len(columns))))
        aggregates = self.draw.choices(AGGREGATES, k=self.draw.randint(1, 2))
        calls = [call.format(self.draw.choice(columns)) for call in aggregates]
        named = [f"{shown} AS c{at}" for at, shown in enumerate([*groups, *calls])]
        text = f"SELECT {', '.join(named)} FROM {one}{where}"
        if groups:
            text += f" GROUP BY {', '.join(groups)}"
        return text, self._names(named), depth

    @staticmethod
    def _names(named: list[str]) -> tuple[str, ...]:
        return tuple(f"c{at}" for at in range(len(named)))
