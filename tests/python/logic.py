"""Files of SQL logic tests, run beside DuckDB: each query once, and as a view that changes keep.

A file has records, with an empty line between two; `#` begins a line of comment.

    statement ok            both do it
    statement error WORDS   refused, with these words in the message (a regular expression)
    query                   the same rows, in any order, now and of the view after each statement
    query once              the same, and no view
    query ordered           the same, and in DuckDB's order now

After the last record all rows of each table are deleted and inserted again. Rows below `----` are
those that DuckDB must have, values joined by tabs: a pin for what another release of it may change.

Cost: that of all views of a file after each of its statements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import ringview as rv
from oracle import comparable


@dataclass
class Record:
    """A statement or a query, and the line that it begins in."""

    kind: str
    words: str
    sql: str
    line: int
    rows: list[str] | None = None


def records(path: Path) -> list[Record]:
    """The records of a file.

    Raises:
        ValueError: A record is neither a statement nor a query.
    """
    found: list[Record] = []
    lines = path.read_text().splitlines()
    blocks: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if line.strip():
            blocks[-1].append((number, line))
        elif blocks[-1]:
            blocks.append([])
    for block in filter(None, blocks):
        number, head = block[0]
        kind, _, words = head.partition(" ")
        if kind not in ("statement", "query") or (kind == "query" and words not in QUERIES):
            raise ValueError(f"{path.name}:{number}: {head!r} begins no record")
        text = [line for _, line in block[1:]]
        cut = text.index("----") if "----" in text else None
        rows = None if cut is None else text[cut + 1 :]
        found.append(Record(kind, words, "\n".join(text[:cut]), number, rows))
    return found


QUERIES = ("", "once", "ordered")


@dataclass
class Beside:
    """Two databases with the same tables, and the views of one of them."""

    path: Path
    options: dict[str, Any] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.db = rv.Database(**self.options)
        self.duck = duckdb.connect(":memory:", config={"threads": 1})
        self.duck.execute("SET TimeZone = 'UTC'")

    def run(self) -> None:
        """All records, then the rows of the tables deleted and inserted again."""
        for record in records(self.path):
            self.at = f"{self.path.name}:{record.line}"
            if record.kind == "query":
                self.query(record)
            elif record.words.startswith("error"):
                self.refused(record)
            else:
                self.duck.execute(record.sql)
                self.db.execute(record.sql)
            self.check(f"after {self.at}")
        self.churn()

    def query(self, record: Record) -> None:
        """One query, now and as a view."""
        wanted = self.duck.sql(record.sql).to_arrow_table()
        if record.rows is not None:
            shown = ["\t".join(map(str, row.values())) for row in wanted.to_pylist()]
            assert sorted(shown) == sorted(record.rows), f"{self.at}: DuckDB has other rows"
        found = self.db.sql(record.sql)
        self.same(found, wanted, self.at)
        if record.words == "ordered":
            assert plain(found) == plain(wanted), f"{self.at}: in another order"
        if record.words != "once":
            name = f"view_{record.line}"
            self.db.create_view(name, record.sql)
            self.views[name] = record.sql

    def refused(self, record: Record) -> None:
        """A refused statement; a query is also refused as a view."""
        words = record.words.removeprefix("error").strip()
        with pytest.raises(rv.errors.RingviewError, match=words or None):
            self.db.execute(record.sql)
        if re.match(r"\s*(SELECT|WITH)\b", record.sql, re.IGNORECASE):
            with pytest.raises(rv.errors.RingviewError, match=words or None):
                self.db.create_view(f"view_{record.line}", record.sql)

    def check(self, when: str) -> None:
        """Each view against its query, computed by DuckDB."""
        for name, sql in self.views.items():
            wanted = self.duck.sql(sql).to_arrow_table()
            self.same(self.db[name].to_arrow(), wanted, f"{name} {when}")

    def same(self, found: pa.Table, wanted: pa.Table, where: str) -> None:
        assert [name.lower() for name in found.column_names] == numbered(wanted), where
        assert comparable(found) == comparable(wanted), where

    def churn(self) -> None:
        """Deletes the rows of each table at once and inserts them again one by one."""
        for table in self.db.tables:
            rows = self.duck.sql(f'SELECT * FROM "{table}"').to_arrow_table()
            for database in (self.duck, self.db):
                database.execute(f'DELETE FROM "{table}"')
            self.check(f"without rows of {table}")
            for number in range(rows.num_rows):
                one = rows.slice(number, 1)
                self.duck.register("one", one)
                self.duck.execute(f'INSERT INTO "{table}" SELECT * FROM one')
                self.db.insert(table, one)
                self.check(f"after row {number} of {table}")


def numbered(table: pa.Table) -> list[str]:
    """Names in one case, those that are there before with a number, as ours are."""
    names: list[str] = []
    for name in map(str.lower, table.column_names):
        before = sum(other == name or other.startswith(f"{name}_") for other in names)
        names.append(f"{name}_{before}" if name in names else name)
    return names


def plain(table: pa.Table) -> list[Any]:
    """Rows in their order, in a comparable form."""
    return [comparable(table.slice(number, 1)) for number in range(table.num_rows)]
