"""Refused SQL beside what its refusal advises, over two tables that change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute
import pytest
import ringview as rv
from oracle import plain_rows
from ringview import errors
from ringview.sql import scalars, translate

SCHEMAS = {
    "r": {"a": "int64", "b": "int64", "x": "float64", "d": "decimal128(10, 2)"},
    "s": {"b": "int64", "c": "int64", "t": "string"},
}
Row = dict[str, Any]
ROWS: dict[str, list[Row]] = {
    "r": [
        {"a": a, "b": b, "x": x, "d": None if x is None else Decimal(str(x))}
        for a, b, x in [
            *((1, 1, 1.5), (1, 1, 1.5), (1, 2, -2.25), (2, 2, 4.0), (2, 3, None)),
            *((None, 1, 8.5), (3, None, 1.0), (3, 4, -1.75), (3, 2, 2.5)),
        ]
    ],
    "s": [
        {"b": b, "c": c, "t": t}
        for b, c, t in [
            *((1, 1, "u"), (1, 2, "v"), (1, 2, "v"), (2, 1, None), (3, 7, "w")),
            *((None, 1, "u"), (9, 9, "u"), (2, None, "v")),
        ]
    ],
}


@dataclass
class Setting:
    """A database that is filled in two steps, and views of it kept as the advice says."""

    db: rv.Database
    views: list[rv.View] = field(default_factory=list)

    def view(self, sql: str) -> rv.View:
        self.views.append(self.db.create_view(f"v{len(self.db.views)}", sql))
        return self.views[-1]


Advised = Callable[[Setting], Callable[[], list[tuple[Any, ...]]]]


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


def read(sql: str) -> Advised:
    """Another view."""

    def advised(at: Setting) -> Callable[[], list[tuple[Any, ...]]]:
        view = at.view(sql)
        return lambda: rows_of(view.to_arrow())

    return advised


def computed(after: str, *views: str) -> Advised:
    """Something computed from what is read of views, called `v0`, `v1`, .. in `after`."""

    def advised(at: Setting) -> Callable[[], list[tuple[Any, ...]]]:
        made = [at.view(sql) for sql in views]

        def compute() -> list[tuple[Any, ...]]:
            with duckdb.connect(":memory:", config={"threads": 1}) as connection:
                for number, view in enumerate(made):
                    connection.register(f"v{number}", view.to_arrow())
                return rows_of(connection.sql(after).to_arrow_table())

        return compute

    return advised


def with_column(column: str, kind: str, function: Callable[[Row], Any], sql: str) -> Advised:
    """A view over `r`, or `s` if it has the column's prefix, with a column computed beforehand."""
    table, name = column.split(".")

    def advised(at: Setting) -> Callable[[], list[tuple[Any, ...]]]:
        more = at.db.create_table(f"{table}2", {**SCHEMAS[table], name: kind})
        view = at.view(sql)

        def compute() -> list[tuple[Any, ...]]:
            # As if its rows had come with the column: those that are there now.
            found = pa.table(at.db[f"all_{table}"]).to_pylist()
            assert len(more) == 0
            at.db.insert(f"{table}2", [{**row, name: function(row)} for row in found])
            result = rows_of(view.to_arrow())
            at.db.delete(f"{table}2", [{**row, name: function(row)} for row in found])
            return result

        return compute

    return advised


def null_or(function: Callable[..., Any], *names: str) -> Callable[[Row], Any]:
    return lambda row: None if None in (v := [row[n] for n in names]) else function(*v)


JOINED = "FROM r, s WHERE r.b = s.b"
AROUND = (
    "join in a subquery that shows the columns, and put the condition around it: "
    "FROM (SELECT .. FROM .. JOIN ..) AS q WHERE .."
)
COLUMN, GROUPS, ROWS_READ = scalars.IN_COLUMN, scalars.FROM_GROUPS, scalars.FROM_ROWS

# The rows of one table, and the groups of the other.
APART = ("SELECT a, b, x FROM r", "SELECT b, COUNT(*) AS n, SUM(c) AS c FROM s GROUP BY b")

# The SQL that is refused, words of the advice, the advice.
Advice = list[tuple[str, str, Advised]]


def setting() -> Setting:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
        db.create_view(f"all_{name}", f"SELECT * FROM {name}")
        db.insert(name, ROWS[name][::2])
    return Setting(db)


def refuse(db: rv.Database, sql: str) -> str:
    """Why a query that is not cut into blocks is refused."""
    catalog = {name: table.schema for name, table in db.tables.items()}
    catalog |= {name: view.schema for name, view in db.views.items()}
    with pytest.raises(errors.RingviewError) as refused:
        translate(sql, catalog)
    return str(refused.value)


def take(sql: str, words: str, advised: Advised) -> None:
    """The SQL is refused with the words, and the advice comes to it before and after a batch.

    Samples and Spark refuse it. A view may be kept in blocks: then it comes to the same, too.
    """
    made = setting()
    refused = refuse(made.db, sql)
    assert words in refused.splitlines()[0]
    answer = advised(made)
    check(made, sql, answer)
    kept, why = None, refused
    try:
        kept = made.db.create_view("refused", sql)
    except errors.RingviewError as error:
        why = str(error)
    assert why == refused
    if kept is not None:
        check(made, sql, lambda: rows_of(kept.to_arrow()))
    for name in SCHEMAS:
        made.db.insert(name, [*ROWS[name][1::2], *ROWS[name][:3]])
        made.db.delete(name, ROWS[name][:2])
    check(made, sql, answer)


def check(setting: Setting, sql: str, answer: Callable[[], list[tuple[Any, ...]]]) -> None:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for name in SCHEMAS:
            connection.register(name, setting.db[f"all_{name}"].to_arrow())
        expected = rows_of(connection.sql(sql).to_arrow_table())
    assert plain_rows(answer()) == plain_rows(expected)


def named(advice: Advice) -> pytest.MarkDecorator:
    ids = [f"{sql[:60]}-{words[:12]}" for sql, words, _ in advice]
    return pytest.mark.parametrize(("sql", "words", "advised"), advice, ids=ids)
