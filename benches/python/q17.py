"""TPC-H Q17 under batches of new lineitems, read after each; print JSON lines.

    python benches/python/q17.py [--scale 1] [--seconds 60]

"What would be lost a year if small orders of some parts were no longer taken": the lineitems of a
brand in a container whose quantity is less than a fifth of their part's mean. Parts are static, as
dbgen makes them; lineitems arrive in random order, and in the skewed variant half of them are of
one part of that brand and container.

Invariant: all systems take the same rows and must have the same result after each batch. DuckDB
runs the query anew after a few batches, and is timed there alone, its inserts left out; first order
means lineitems by part kept by hand, of which those of the touched parts are looked at again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Protocol

import duckdb
import numpy as np
import pyarrow as pa
import ringview as rv
from numpy.typing import NDArray

QUERY = """
    SELECT SUM(l.extendedprice) / 7.0 AS avg_yearly FROM lineitem l, part p
    WHERE p.partkey = l.partkey AND p.brand = 'Brand#23' AND p.container = 'MED BOX'
      AND l.quantity < (SELECT 0.2 * AVG(l2.quantity) FROM lineitem l2
                        WHERE l2.partkey = p.partkey)"""
SIZES = ("SM", "LG", "MED", "JUMBO", "WRAP")
KINDS = ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
MONEY = pa.decimal128(15, 2)
PARTS, LINEITEMS = 200_000, 6_001_215
DUCKDB_BATCHES = 3
# Quantities are whole, so a mean is compared with five times that without rounding.
LESS_THAN = 5


class System(Protocol):
    """A system that is measured."""

    def change(self, rows: pa.Table) -> Decimal | float | None:
        """Take rows, and read the result."""


def money(cents: NDArray[np.int64]) -> pa.Array:
    """Cents as decimals."""
    words = np.stack([cents, cents >> 63], axis=1)
    return pa.Array.from_buffers(MONEY, len(cents), [None, pa.py_buffer(words)])


def part(rng: np.random.Generator, rows: int) -> tuple[pa.Table, NDArray[np.int64]]:
    """The parts as dbgen has them, and the keys of those that the query is about."""
    keys = np.arange(1, rows + 1)
    brand = 10 * rng.integers(1, 6, rows) + rng.integers(1, 6, rows)
    size, kind = rng.integers(0, len(SIZES), rows), rng.integers(0, len(KINDS), rows)
    # The query is about one part at least, even if there are few.
    brand[0], size[0], kind[0] = 23, SIZES.index("MED"), KINDS.index("BOX")
    boxes = [f"{SIZES[s]} {KINDS[k]}" for s, k in zip(size, kind, strict=True)]
    table = pa.table(
        {"partkey": keys, "brand": [f"Brand#{of}" for of in brand], "container": boxes},
        schema=pa.schema([of(name) for name, of in PART.items()]),
    )
    meant = (brand == 23) & (size == SIZES.index("MED")) & (kind == KINDS.index("BOX"))
    return table, keys[meant]


def _column(kind: pa.DataType) -> Any:
    return lambda name: pa.field(name, kind, False)


PART = {
    "partkey": _column(pa.int64()),
    "brand": _column(pa.string()),
    "container": _column(pa.string()),
}
LINEITEM = pa.schema(
    [
        pa.field("partkey", pa.int64(), False),
        pa.field("quantity", MONEY, False),
        pa.field("extendedprice", MONEY, False),
    ]
)


def lineitem(
    rng: np.random.Generator, rows: int, parts: int, heavy: int | None
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Lineitems as dbgen has them, half of them of one part if `heavy`; as Arrow and as numbers."""
    key = rng.integers(1, parts + 1, rows)
    if heavy is not None:
        key[rng.random(rows) < 0.5] = heavy
    quantity = rng.integers(1, 51, rows)
    price = quantity * (90_000 + key // 10 % 20_001 + 100 * (key % 1_000))
    table = pa.table([key, money(100 * quantity), money(price)], schema=LINEITEM)
    return table, np.stack([key, quantity, price], axis=1)


class Ringview:
    """A view of a database."""

    def __init__(self, parts: pa.Table, _: NDArray[np.int64]) -> None:
        self.db = rv.Database()
        self.db.create_table("part", parts.schema, static=True)
        self.db.create_table("lineitem", LINEITEM)
        self.db.insert("part", parts)
        self.view = self.db.create_view("q17", QUERY)

    def change(self, rows: pa.Table) -> Any:
        """One transaction."""
        self.db.insert("lineitem", rows)
        return self.view.scalar()


class Recomputed:
    """DuckDB on one thread, the query run again."""

    def __init__(self, parts: pa.Table, _: NDArray[np.int64]) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        self.connection.execute("CREATE TABLE part AS SELECT * FROM parts")
        empty = LINEITEM.empty_table()
        self.connection.execute("CREATE TABLE lineitem AS SELECT * FROM empty")
        del empty, parts

    def insert(self, rows: pa.Table) -> None:
        """Bring the table up to date."""
        self.connection.execute("INSERT INTO lineitem SELECT * FROM rows")
        del rows

    def change(self, _: pa.Table) -> Any:
        """Run the query."""
        found = self.connection.execute(QUERY).fetchone()
        return found[0] if found else None


class FirstOrder:
    """Quantities and prices of each part that is meant kept by hand."""

    def __init__(self, _: pa.Table, meant: NDArray[np.int64]) -> None:
        self.meant = np.sort(meant)
        self.held: dict[int, list[NDArray[np.int64]]] = {}
        self.lost: dict[int, int] = {}
        self.kept: set[int] = set()

    def change(self, rows: NDArray[np.int64]) -> float | None:
        """Look at the parts of the rows again."""
        for key in np.unique(rows[np.isin(rows[:, 0], self.meant), 0]).tolist():
            held = self.held.setdefault(key, [])
            held.append(rows[rows[:, 0] == key, 1:])
            own = np.concatenate(held)
            self.held[key] = [own]
            chosen = own[:, 0] * LESS_THAN * len(own) < own[:, 0].sum()
            self.lost[key] = int(own[chosen, 1].sum())
            (self.kept.add if chosen.any() else self.kept.discard)(key)
        return sum(self.lost.values()) / 100 / 7 if self.kept else None


def batches(table: pa.Table, numbers: NDArray[np.int64], size: int, own: bool) -> Iterator[Any]:
    """The rows, some at a time, in the form of their own that a system takes."""
    for at in range(0, len(table), size):
        yield numbers[at : at + size] if own else table.slice(at, size)


def measure(
    query: str,
    parts: tuple[pa.Table, NDArray[np.int64]],
    rows: tuple[pa.Table, NDArray[np.int64]],
    options: argparse.Namespace,
) -> None:
    """Print a line for each system."""
    agreed: dict[int, float | None] = {}
    systems = (("ringview", Ringview), ("first-order", FirstOrder), ("duckdb", Recomputed))
    size = options.batch
    count = -(-len(rows[0]) // size)
    for name, make in systems:
        system: Any = make(*parts)
        seconds, used, done = 0.0, 0.0, 0
        every = max(count // DUCKDB_BATCHES, 1) if name == "duckdb" else 1
        for at, batch in enumerate(batches(*rows, size, name == "first-order")):
            if name == "duckdb":
                system.insert(batch)
                if (at + 1) % every and at + 1 < count:
                    continue
            if seconds > options.seconds:
                break
            start, cpu = time.perf_counter(), time.process_time()
            result = system.change(batch)
            seconds += time.perf_counter() - start
            used += time.process_time() - cpu
            done += len(batch)
            result = None if result is None else float(result)
            other = agreed.setdefault(at, result)
            if (other is None) != (result is None) or (
                other is not None and result is not None and abs(other - result) > 1e-9 * abs(other)
            ):
                raise SystemExit(f"{query}: {name} has {result} after batch {at}, not {other}")
        line = {"workload": "q17", "query": query, "batch": size, "system": name}
        speed = {"tuples_per_second": done / used, "seconds": seconds, "cpu_seconds": used}
        print(
            json.dumps({**line, "tpch_scale": options.scale, "tuples": done, **speed}), flush=True
        )


def main(arguments: list[str] | None = None) -> None:
    """Measure Q17 and its skewed variant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="where a stream is cut")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(17)
    count = max(int(PARTS * options.scale), 2_000)
    parts = part(rng, count)
    for query, heavy in (("Q17", None), ("Q17, half of one part", int(parts[1][0]))):
        rows = lineitem(rng, int(LINEITEMS * options.scale), count, heavy)
        measure(query, parts, rows, options)


if __name__ == "__main__":
    main()
