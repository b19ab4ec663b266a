"""SQL beside DuckDB, and refused SQL beside what is advised, over two tables that change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb
import pytest
import ringview as rv
from oracle import plain_rows
from ringview import errors

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


def rows_of(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.to_pylist()]


def setting() -> Setting:
    db = rv.Database()
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
        db.create_view(f"all_{name}", f"SELECT * FROM {name}")
        db.insert(name, ROWS[name][::2])
    return Setting(db)


def refuse(db: rv.Database, sql: str) -> str:
    """Why a view is refused."""
    with pytest.raises(errors.RingviewError) as refused:
        db.create_view("refused", sql)
    return str(refused.value)


def fill(made: Setting) -> None:
    """The second batch, and deletes of the first."""
    for name in SCHEMAS:
        made.db.insert(name, [*ROWS[name][1::2], *ROWS[name][:3]])
        made.db.delete(name, ROWS[name][:2])


def take(sql: str) -> None:
    """The view equals DuckDB before and after a batch."""
    made = setting()
    view = made.view(sql)
    check(made, sql, lambda: rows_of(view.to_arrow()))
    fill(made)
    check(made, sql, lambda: rows_of(view.to_arrow()))


def advise(sql: str, words: str, advised: str) -> None:
    """The SQL is refused with the words, and the advised view equals what DuckDB says of it."""
    made = setting()
    assert words in refuse(made.db, sql).splitlines()[0]
    view = made.view(advised)
    check(made, sql, lambda: rows_of(view.to_arrow()))
    fill(made)
    check(made, sql, lambda: rows_of(view.to_arrow()))


def check(setting: Setting, sql: str, answer: Callable[[], list[tuple[Any, ...]]]) -> None:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        for name in SCHEMAS:
            connection.register(name, setting.db[f"all_{name}"].to_arrow())
        expected = rows_of(connection.sql(sql).to_arrow_table())
    assert plain_rows(answer()) == plain_rows(expected)
