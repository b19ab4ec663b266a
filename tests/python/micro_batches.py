"""Plans of a table or two, micro-batches in slots, checkpoints: what a stream is without Java."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from ringview.spark.slots import ATOM, MULTIPLICITY, PARTITION
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.locations import write
from ringview.spark.streaming.plan import Changes, Plan, TablePlan

COLUMNS = pa.schema({"id": pa.int64(), "x": pa.int64()})


def table(
    changes: Changes, *, name: str = "t", keys: tuple[str, ...] | None = None, ordered: bool = False
) -> TablePlan:
    order = pa.int64() if ordered else None
    return TablePlan(name, COLUMNS, keys, changes, False, order)


def plan(*tables: TablePlan, **views: str) -> Plan:
    return Plan(tables, views or {"v": "SELECT COUNT(*) AS n, SUM(x) AS x FROM t"})


def slots(of: Plan, *rows: tuple[Any, ...], atom: int = 0) -> pa.Table:
    """Rows of a stream in slots: their columns as they travel, and their multiplicities."""
    travelling = of.streams[atom].travelling
    schema = of.layout.schema
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    places = [of.layout.names[place] for place in of.layout.places[atom]]
    for *values, times in rows:
        row = dict(zip(places, values, strict=True))
        assert len(values) == len(travelling)
        row |= {ATOM: atom, PARTITION: 0, MULTIPLICITY: times}
        for name, column in columns.items():
            column.append(row.get(name))
    return pa.table(columns, schema)


def begun(checkpoint: Checkpoint, of: Plan | None = None) -> Checkpoint:
    """As Spark leaves it once it noted what the first micro-batch has."""
    if of is not None:
        checkpoint.agree({**of.described(), "mode": "driver"})
    (checkpoint.spark / "offsets").mkdir(parents=True)
    write(checkpoint.spark / "offsets" / "0", b"")
    return checkpoint


VIEWS = {
    "v": "SELECT id, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY id",
    "w": "SELECT COUNT(*) AS groups FROM v",
}
