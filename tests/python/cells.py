"""Spark's execution of a plan, in this process: rows to cells, an engine a cell, parts added up.

Invariant: `grid.cells` assigns rows to cells, in any order, and workers are pickled, as over Spark;
Spark's own functions (hashes, shuffles) are left to the tests that start it.
"""

from __future__ import annotations

import pickle
import random
import zlib
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from ringview.spark.frames import as_sent
from ringview.spark.grid import cells
from ringview.spark.planning import Planner
from ringview.spark.plans import Plan, Sizes, plan_of
from ringview.spark.skew import Heavy
from ringview.spark.slots import MULTIPLICITY, NOBODY, rows_to_batches
from ringview.spark.stage import Stage
from ringview.spark.steps import stream
from ringview.spark.types import shown_schema

Tables = dict[str, pa.Table]
dumps: Any = cloudpickle.dumps


def hashed(values: tuple[object, ...]) -> int:
    """A number for values, the same in every run."""
    return zlib.crc32(repr(values).encode())


def plan(
    views: Mapping[str, str],
    tables: Tables,
    rows: Mapping[str, float] | None,
    partitions: int,
    *,
    small: Collection[str] = (),
    multiplicity: str | None = None,
    heavy: Heavy | None = None,
) -> Plan:
    """The plan of views over tables of which so many rows are known."""
    planner = Planner()
    counted = {} if multiplicity is None else dict.fromkeys(tables, multiplicity)
    for name, table in tables.items():
        planner.create_table(name, table.schema, counted.get(name), [])
    return plan_of(views, planner, counted, Sizes(rows, partitions, small, heavy or {}))


def run(made: Plan, tables: Tables, draw: random.Random) -> Tables:
    """Every view and block that the plan finds."""
    data = dict(tables)
    for stage in made.grids:
        data |= _run(stage, data, draw)
    return data


def _run(stage: Stage, data: Tables, draw: random.Random) -> Tables:
    found: list[list[pa.RecordBatch]] = [[] for _ in stage.results]
    sent = {table: stream(as_sent(stage, table, data[table])) for table in stage.sends}
    worker = dumps(stage.sent(sent).partition)
    for rows in _cells(stage, data, draw).values():
        for batch in pickle.loads(worker)(rows_to_batches(rows, stage.layout.schema, size=7)):
            if stage.output is None:
                found[0].append(batch)
                continue
            schemas = [result.schema for result in stage.results]
            for number, part in stage.output.relations(batch, schemas):
                found[number].append(part.drop_columns([MULTIPLICITY]))
    named = {}
    for number, (one, batches) in enumerate(zip(stage.wanted, found, strict=True)):
        merge = stage.merge(number)
        draw.shuffle(batches)
        # As a shuffle brings them: parts of all cells, in any order.
        merged = batches if merge is None else list(pickle.loads(dumps(merge))(iter(batches)))
        named[one.name] = pa.Table.from_batches(merged, schema=shown_schema(one.schema))
    return named


def _cells(stage: Stage, data: Tables, draw: random.Random) -> dict[int, list[tuple[Any, ...]]]:
    """The rows of each cell, in slots."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    width = len(stage.layout.slots)
    for table, numbers in stage.shuffled.items():
        for row in data[table].to_pylist():
            for number in numbers:
                relation = stage.relations[number]
                used = {name: row[name] for name in relation.schema.names}
                slots = [None] * width
                for place, value in zip(stage.layout.places[number], used.values(), strict=True):
                    slots[place] = value
                often = [row[relation.multiplicity] if relation.multiplicity else 1]
                often = often if stage.layout.counted else []
                for cell in cells(relation.distribution, used, hashed):
                    assert 0 <= cell < stage.cells
                    found.setdefault(cell, []).append((number, cell, *often, *slots))
    nobody = (NOBODY, 0, 0) if stage.layout.counted else (NOBODY, 0)
    found.setdefault(0, []).append((*nobody, *[None] * width))
    for rows in found.values():
        draw.shuffle(rows)
    return found
