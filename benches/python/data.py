"""The rows that the Rust side generated, as Arrow batches in the order of the stream.

Invariant: the same rows in the same order as `ringview-benches` streams: that program exports them,
this one reads the files. Cutting a batch copies nothing: O(columns).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Workload:
    """A query and which of its tables stream; the others are static and loaded beforehand."""

    name: str
    sql: str
    streamed: tuple[str, ...]
    loaded: tuple[str, ...] = ()


_RETAILER = (
    "SELECT COUNT(*) AS count, SUM(inventoryunits) AS sum FROM Inventory NATURAL JOIN Location "
    "NATURAL JOIN Census NATURAL JOIN Item NATURAL JOIN Weather"
)
_HOUSING = (
    "SELECT COUNT(*) AS count, SUM(postcode) AS sum FROM House NATURAL JOIN Shop "
    "NATURAL JOIN Institution NATURAL JOIN Restaurant NATURAL JOIN Demographics "
    "NATURAL JOIN Transport"
)
KEYS = ("locn", "dateid", "ksn", "zip", "postcode")
_SNOWFLAKE = ("Inventory", "Location", "Census", "Item", "Weather")
_DIMENSIONS = ("Census", "Location", "Item", "Weather")
_STAR = ("House", "Shop", "Institution", "Restaurant", "Demographics", "Transport")


def _cofactor(sums: str) -> str:
    """The cofactor matrix of all attributes over the join of another query."""
    return f"SELECT COFACTOR(*) FROM {sums.partition(' FROM ')[2]}"


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("retailer", _RETAILER, _SNOWFLAKE),
        Workload("retailer-fact", _RETAILER, _SNOWFLAKE[:1], _DIMENSIONS),
        Workload("housing", _HOUSING, _STAR),
        Workload("retailer-cofactor", _cofactor(_RETAILER), _SNOWFLAKE),
        Workload("retailer-fact-cofactor", _cofactor(_RETAILER), _SNOWFLAKE[:1], _DIMENSIONS),
        Workload("housing-cofactor", _cofactor(_HOUSING), _STAR),
    )
}


def load(folder: Path) -> dict[str, pa.RecordBatch]:
    """Every table of an exported data set, whole."""
    tables = {}
    for entry in json.loads((folder / "dataset.json").read_text()):
        names, rows = entry["columns"], entry["rows"]
        values = np.fromfile(folder / f"{entry['name']}.i32", dtype="<i4").reshape(len(names), rows)
        schema = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in names])
        tables[entry["name"]] = pa.record_batch([pa.array(column) for column in values], schema)
    return tables


def stream(
    tables: dict[str, pa.RecordBatch], streamed: tuple[str, ...], size: int, *, back: bool = False
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches of `size` rows, round robin over the tables; the last one first if `back`."""
    step = -1 if back else 1
    longest = max(tables[name].num_rows for name in streamed)
    for start in range(0, longest, size)[::step]:
        for name in streamed[::step]:
            if start < tables[name].num_rows:
                yield name, tables[name].slice(start, size)
