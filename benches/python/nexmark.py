"""Nexmark's queries that are SQL as views of its stream, beside DuckDB; print JSON lines.

    python benches/python/nexmark.py [--events 1000000] [--only q3,q9] [--peer PYTHON]

A batch is a transaction of 1,000 events: 20 persons, 60 auctions, 920 bids. Each view is created
over the tables when half of the stream is there, and lives through the rest; DuckDB has the same
rows in tables of its own in memory, one thread, and is timed for the query alone at the end. With
`--peer` an interpreter that can import Pathway runs those of the queries that it can express over
the same events, in the same batches (`nexmark_pathway.py`).

Invariant: each view equals DuckDB's result at the end, row for row, floats to nine digits; a peer's
result has as many rows. Figures are time on the core.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import ringview as rv
from nexmark_data import SIDE, Generator
from tpch import Recomputed, comparable, queries

TEXTS = Path(__file__).parents[2] / "tests" / "python" / "data" / "nexmark.sql"
BATCH = 1_000
PEER_EVENTS = 200_000
Tables = dict[str, pa.Table]
Line = dict[str, Any]
# So many events, and what there is of them.
Early = tuple[int, Recomputed]


def batches(tables: Tables, events: int) -> list[Tables]:
    """A stream cut into transactions of as many events."""
    number = events // BATCH
    sizes = {name: len(table) // number for name, table in tables.items()}
    return [
        {name: table.slice(at * sizes[name], sizes[name]) for name, table in tables.items()}
        for at in range(number)
    ]


def lived(db: rv.Database, sql: str, stream: list[Tables]) -> tuple[pa.Table, Line]:
    """A view from its creation to its end: its result, and what it took."""
    start = time.process_time()
    view = db.create_view("v", sql)
    created = time.process_time() - start
    times = []
    for batch in stream:
        start = time.process_time()
        with db.transaction() as tx:
            for name, table in batch.items():
                tx.insert(name, table)
        times.append(time.process_time() - start)
    used = db.memory_usage()
    held = sum(size for part, size in used.items() if part.startswith(("view ", "block ")))
    result = view.to_arrow()
    measured = {
        "create_seconds": created,
        "batch_seconds": median(times),
        "stream_seconds": sum(times),
        "view_bytes": held,
        "rows": len(result),
    }
    return result, measured


def filled(schemas: Tables, tables: Tables) -> rv.Database:
    """A database of those tables, with some rows."""
    db = rv.Database()
    for name, table in schemas.items():
        db.create_table(name, table.schema)
        db.insert(name, tables[name])
    db.create_table("side", SIDE.schema, static=True)
    db.insert("side", SIDE)
    return db


def peer(python: str, name: str, sql: str, folder: Path, early: Early) -> Line:
    """A peer's time for an event, over the first of them, if it can express the query."""
    events, recomputed = early
    script = [python, str(Path(__file__).parent / "nexmark_pathway.py"), name]
    done = subprocess.run(
        [*script, "--folder", str(folder), "--events", str(events)], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    found: Line = json.loads(done.stdout.splitlines()[-1])
    expected = len(recomputed.run(sql))
    if found and found["rows"] != expected:
        raise SystemExit(f"{name}: the peer finds {found['rows']} rows, not {expected}")
    return {f"peer_{key}": value for key, value in found.items()}


def lines(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """The lines of all measurements, one after the other."""
    wanted = options.only.split(",") if options.only else None
    texts = {name: sql for name, sql in queries(TEXTS).items() if wanted is None or name in wanted}
    tables = Generator().events(0, options.events)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    half = options.events // 2
    stream = batches(tables, options.events)
    first, rest = stream[: len(stream) // 2], stream[len(stream) // 2 :]
    before = {name: pa.concat_tables([batch[name] for batch in first]) for name in tables}
    recomputed = Recomputed({**tables, "side": SIDE})
    few = min(PEER_EVENTS, options.events)
    heads = {
        name: table.slice(0, len(table) * few // options.events) for name, table in tables.items()
    }
    early = (few, Recomputed({**heads, "side": SIDE}))
    for name, sql in texts.items():
        line: Line = {"workload": "nexmark", "query": name, "events": options.events, "after": half}
        try:
            result, measured = lived(filled(tables, before), sql, rest)
        except rv.errors.RingviewError as error:
            yield {**line, "failed": str(error)}
            continue
        if comparable(result) != comparable(recomputed.run(sql)):
            raise SystemExit(f"{name}: not what DuckDB computes")
        line |= {**measured, "duckdb_seconds": recomputed.seconds(sql)}
        if options.peer:
            line |= peer(options.peer, name, sql, folder, early)
        yield line


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    import tempfile

    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000, help="a multiple of 2,000")
    parser.add_argument("--only", help="names of queries")
    parser.add_argument("--peer", help="an interpreter that can import Pathway")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        for line in lines(options, Path(folder)):
            json.dump(line, sys.stdout)
            print(flush=True)


if __name__ == "__main__":
    main()
