"""Stream a workload through ringview from Python, or through DuckDB recomputing; print JSON lines.

Invariant: the lines have the fields of those that `ringview-benches` prints. The clock runs only
inside calls of the system; batches are cut beforehand, a stretch at a time. DuckDB recomputes so
slowly that it is timed on a few rounds at five points of the stream and the whole is extrapolated
from them, which each of its lines says.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from data import KEYS, WORKLOADS, Workload, load, stream

STRETCH = 16_384
Batches = Iterable[tuple[str, pa.RecordBatch]]


def main() -> None:
    """Measure every system at every batch size once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="an exported data set")
    parser.add_argument("--workload", choices=WORKLOADS, required=True)
    parser.add_argument("--order", required=True)
    parser.add_argument("--batch", default="1000")
    parser.add_argument("--system", default="python-trusted,python-checked,duckdb")
    parser.add_argument("--repetition", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--deletes", action="store_true")
    options = parser.parse_args()
    tables = load(options.folder)
    for size in map(int, options.batch.split(",")):
        for system in options.system.split(","):
            workload = WORKLOADS[options.workload]
            for line in run(system, workload, tables, size, options.seconds, options.deletes):
                cell = {"workload": workload.name, "order": options.order, "batch": size}
                rest = {"system": system, "repetition": options.repetition}
                print(json.dumps({**cell, **rest, **line}), flush=True)


def run(
    system: str,
    workload: Workload,
    tables: dict[str, pa.RecordBatch],
    size: int,
    seconds: float,
    deletes: bool,
) -> list[dict[str, Any]]:
    """The lines of one system at one batch size."""
    if system == "duckdb":
        return [recompute(workload, tables, size)]
    return embedded(workload, tables, size, seconds, deletes, trust=system == "python-trusted")


def embedded(
    workload: Workload,
    tables: dict[str, pa.RecordBatch],
    size: int,
    seconds: float,
    deletes: bool,
    *,
    trust: bool,
) -> list[dict[str, Any]]:
    """Through ringview: an insert a batch, then a delete a batch, the last one first."""
    import ringview

    before = resident()
    database = ringview.Database(trust_deletes=trust)
    for name in (*workload.loaded, *workload.streamed):
        database.create_table(name, tables[name].schema, static=name in workload.loaded)
    for name in workload.loaded:
        database.insert(name, tables[name])
    view = database.create_view(workload.name, workload.sql)
    phases = [("insert", database.insert, False), ("delete-back", database.delete, True)]
    lines = []
    for phase, apply, back in phases[: 1 + deletes]:
        line = timed(apply, stream(tables, workload.streamed, size, back=back), seconds)
        result = outcome(workload, view)
        line |= {
            "phase": phase,
            "bytes": sum(database.memory_usage().values()),
            "resident_bytes": resident() - before,
            "result": result,
        }
        lines.append(line)
        if not line["complete"]:
            break
    return lines


def outcome(workload: Workload, view: Any) -> dict[str, int]:
    """What all systems must agree on: the count, and the sum of what is exact whatever the order.

    Of a cofactor these are all sums and products but those of two keys, which pass 2^53.
    """
    if not workload.name.endswith("-cofactor"):
        (row,) = view.to_arrow().to_pylist()
        return {"count": row["count"], "sum": row["sum"] or 0}
    found = view.cofactor()
    keys = [name in KEYS for name in found.names]
    total = int(sum(map(int, found.sums)))
    for i in range(len(keys)):
        total += sum(int(found.matrix[i, j]) for j in range(i, len(keys)) if not keys[i] & keys[j])
    return {"count": found.count, "sum": total}


def timed(apply: Any, batches: Batches, seconds: float) -> dict[str, Any]:
    """Call `apply` on each batch until they end or the time is over."""
    batches = iter(batches)
    wall = core = 0.0
    tuples = 0
    complete = False
    while wall < seconds:
        stretch = list(islice(batches, STRETCH))
        if not stretch:
            complete = True
            break
        start, core_start = time.perf_counter(), time.thread_time()
        for name, batch in stretch:
            apply(name, batch)
        wall += time.perf_counter() - start
        core += time.thread_time() - core_start
        tuples += sum(batch.num_rows for _, batch in stretch)
    return {
        "tuples": tuples,
        "complete": complete,
        "seconds": wall,
        "cpu_seconds": core,
        "tuples_per_second": tuples / wall,
    }


def recompute(workload: Workload, tables: dict[str, pa.RecordBatch], size: int) -> dict[str, Any]:
    """DuckDB on one thread: insert a batch, run the query; timed at five points of the stream."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, table in tables.items():
        columns = ", ".join(f"{column} INTEGER NOT NULL" for column in table.schema.names)
        connection.execute(f"CREATE TABLE {name} ({columns})")
    insert_all(connection, {name: tables[name] for name in workload.loaded})
    rows = {name: tables[name].num_rows for name in workload.streamed}
    rounds = ceil(max(rows.values()) / size)
    done, times = 0, []
    for point in [round(rounds * share) for share in (0.1, 0.3, 0.5, 0.7, 0.9)]:
        until = max(point, done)
        skip(connection, tables, workload, done * size, until * size)
        done = min(until + 3, rounds)
        some = {name: tables[name].slice(until * size, (done - until) * size) for name in rows}
        for name, batch in stream(some, workload.streamed, size):
            start = time.perf_counter()
            insert_all(connection, {name: batch})
            connection.sql(workload.sql).fetchall()
            times.append(time.perf_counter() - start)
    skip(connection, tables, workload, done * size, max(rows.values()))
    count, total = connection.sql(workload.sql).fetchall()[0]
    tuples = sum(rows.values())
    seconds = sum(times) / len(times) * sum(ceil(each / size) for each in rows.values())
    return {
        "phase": "insert",
        "tuples": tuples,
        "complete": True,
        "extrapolated_from_batches": len(times),
        "seconds": seconds,
        "tuples_per_second": tuples / seconds,
        "milliseconds_a_batch": 1000 * sum(times) / len(times),
        "result": {"count": count, "sum": int(total or 0)},
    }


def skip(
    connection: duckdb.DuckDBPyConnection,
    tables: dict[str, pa.RecordBatch],
    workload: Workload,
    start: int,
    stop: int,
) -> None:
    """Bring every table from row `start` to row `stop` without looking at the result."""
    insert_all(
        connection, {name: tables[name].slice(start, stop - start) for name in workload.streamed}
    )


def insert_all(connection: duckdb.DuckDBPyConnection, batches: dict[str, pa.RecordBatch]) -> None:
    """Append Arrow rows to the tables."""
    for name, batch in batches.items():
        connection.register("incoming", pa.Table.from_batches([batch]))
        connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
        connection.unregister("incoming")


def resident() -> int:
    """Resident bytes of this process; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


if __name__ == "__main__":
    main()
