"""Tables whose joins are cycles and paths, and rows for them in which one value is common."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import ringview as rv
from oracle import Oracle

SCHEMAS = {
    "e": pa.schema({"src": pa.int32(), "dst": pa.int32(), "w": pa.int64()}),
    "r": pa.schema({"a": pa.int64(), "b": pa.string(), "x": pa.int64(), "d": pa.decimal128(9, 2)}),
    "s": pa.schema({"b": pa.string(), "c": pa.int64(), "y": pa.float64()}),
    "t": pa.schema({"c": pa.int64(), "a": pa.int64(), "z": pa.int64()}),
}
ORACLE = Oracle(SCHEMAS)
CYCLE = "FROM e p JOIN e q ON p.dst = q.src JOIN e r ON q.dst = r.src AND r.dst = p.src"
RST = "FROM r JOIN s ON r.b = s.b JOIN t ON s.c = t.c AND t.a = r.a"
EPSILONS = [None, 0, 0.2, 1 / 3, 0.5, 0.7, 1, (0.2, 0.5, 1), (1, 0, 0), (0, 1, 1)]
SUMMED = {"x", "d", "y", "z", "w"}
Rows = list[dict[str, Any]]


def one_row(table: str, dice: random.Random, wide: int) -> dict[str, Any]:
    """A row in which one value is common; some are NULL."""

    def value() -> int | None:
        chosen = dice.choice([0, 0, dice.randrange(wide), dice.randrange(wide)])
        return None if dice.random() < 0.04 else chosen

    def cell(name: str, ty: pa.DataType) -> Any:
        number = value()
        if number is None:
            return None
        if pa.types.is_string(ty):
            return "nodes"[number % 5]
        if name in {"x", "z", "w"}:
            return number - 2
        return number / 4 if name in {"y", "d"} else number

    row = {field.name: cell(field.name, field.type) for field in SCHEMAS[table]}
    if row.get("d") is not None:
        row["d"] = Decimal(str(row["d"]))
    return row


def tables_of(db: rv.Database) -> rv.Database:
    """A database, in which the tables of `SCHEMAS` are made."""
    for name, schema in SCHEMAS.items():
        db.create_table(name, schema)
    return db


def database(**options: Any) -> rv.Database:
    return tables_of(rv.Database(**options))


def change(
    dbs: Sequence[rv.Database],
    tables: dict[str, Rows],
    dice: random.Random,
    *,
    wide: int,
    most: int,
) -> None:
    """One transaction, in each database: a row of some tables is deleted or changes its summand,
    others get some, less than `most`.
    """
    changes: list[tuple[str, int, Rows]] = []
    for _ in range(dice.randrange(1, 4)):
        table = dice.choice(sorted(SCHEMAS))
        chance = dice.random()
        if chance < 0.6 and tables[table]:
            row = tables[table].pop(dice.randrange(len(tables[table])))
            changes.append((table, -1, [row]))
            if chance < 0.3:
                drawn = one_row(table, dice, wide)
                row = {**row, **{name: drawn[name] for name in drawn if name in SUMMED}}
                changes.append((table, 1, [row]))
                tables[table].append(row)
            continue
        rows = [one_row(table, dice, wide) for _ in range(dice.randrange(1, most))]
        changes.append((table, 1, rows))
        tables[table] += rows
    for db in dbs:
        with db.transaction() as tx:
            for table, sign, rows in changes:
                (tx.insert if sign > 0 else tx.delete)(table, rows)
