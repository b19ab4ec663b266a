"""The rows that the Rust side generated, in the order of the stream, and the queries over them.

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

Tables = dict[str, pa.RecordBatch]


@dataclass(frozen=True)
class Stream:
    """Tables that stream; the others are static and loaded beforehand. `summed` of their join."""

    streamed: tuple[str, ...]
    loaded: tuple[str, ...] = ()
    summed: str | None = None


STREAMS = {
    "retailer": Stream(
        ("Inventory", "Location", "Census", "Item", "Weather"), summed="inventoryunits"
    ),
    "retailer-fact": Stream(
        ("Inventory",), ("Census", "Location", "Item", "Weather"), "inventoryunits"
    ),
    "housing": Stream(
        ("House", "Shop", "Institution", "Restaurant", "Demographics", "Transport"),
        summed="postcode",
    ),
    "triangles": Stream(("R", "S", "T")),
}
SUFFIXES = ("-cofactor", "-join")
WORKLOADS = [stream + suffix for stream in STREAMS for suffix in ("", *SUFFIXES)]


class Workload:
    """A query over a stream, by its name: a sum, or with a suffix a degree-m matrix or the rows."""

    def __init__(self, name: str, tables: Tables) -> None:
        self.name = name
        self.asked = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
        self.stream = STREAMS[name.removesuffix(self.asked)]
        # All columns, once each, in the order in which the tables first have them.
        columns = [column for table in tables.values() for column in table.schema.names]
        self.features = list(dict.fromkeys(columns))
        self.keys = [columns.count(feature) > 1 for feature in self.features]
        first, *rest = tables
        self.join = f"FROM {first} " + " ".join(f"NATURAL JOIN {table}" for table in rest)

    @property
    def sql(self) -> str:
        """The view, as ringview takes it."""
        match self.asked:
            case "-cofactor":
                return f"SELECT COFACTOR(*) {self.join}"
            case "-join":
                return f"SELECT * {self.join}"
        summed = f", SUM({self.stream.summed}) AS sum" if self.stream.summed else ""
        return f"SELECT COUNT(*) AS count{summed} {self.join}"

    @property
    def plain_sql(self) -> str:
        """The same without `COFACTOR`: a sum for each number of the matrix."""
        if self.asked != "-cofactor":
            return self.sql
        sums = [f"SUM({column}::DOUBLE)" for column in self.features]
        products = [
            f"SUM({left}::DOUBLE * {right})"
            for at, left in enumerate(self.features)
            for right in self.features[at:]
        ]
        return f"SELECT COUNT(*), {', '.join(sums + products)} {self.join}"

    def digest(self, numbers: list[float]) -> int:
        """The sums and products of the matrix as one number, as the Rust side adds them up.

        Each weighs its place; products of two keys nothing, since they are not exact.
        """
        count = len(self.keys)
        exact = [True] * count
        for left in range(count):
            exact += [not (self.keys[left] and self.keys[right]) for right in range(left, count)]
        total = sum(
            place * int(number)
            for place, (number, counts) in enumerate(zip(numbers, exact, strict=True), 1)
            if counts
        )
        return (total + 2**63) % 2**64 - 2**63


def load(folder: Path) -> Tables:
    """Every table of an exported data set, whole."""
    tables = {}
    for entry in json.loads((folder / "dataset.json").read_text()):
        names, rows = entry["columns"], entry["rows"]
        values = np.fromfile(folder / f"{entry['name']}.i32", dtype="<i4").reshape(len(names), rows)
        schema = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in names])
        tables[entry["name"]] = pa.record_batch([pa.array(column) for column in values], schema)
    return tables


def stream(
    tables: Tables, streamed: tuple[str, ...], size: int, *, back: bool = False
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Batches of `size` rows, round robin over the tables; the last one first if `back`."""
    step = -1 if back else 1
    longest = max(tables[name].num_rows for name in streamed)
    for start in range(0, longest, size)[::step]:
        for name in streamed[::step]:
            if start < tables[name].num_rows:
                yield name, tables[name].slice(start, size)
