"""Stream a workload through ringview from Python, or through DuckDB recomputing; print JSON lines.

Invariant: the lines have the fields of those that `ringview-benches` prints. The clock runs only
inside calls of the system; batches are cut beforehand, a stretch at a time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from data import WORKLOADS, Tables, Workload, load, stream

STRETCH = 16_384
Batches = Iterable[tuple[str, pa.RecordBatch]]
Line = dict[str, Any]


def main() -> None:
    """Measure every system at every batch size once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="an exported data set")
    parser.add_argument("--workload", choices=WORKLOADS, required=True)
    parser.add_argument("--order", required=True)
    parser.add_argument("--scale", type=int)
    parser.add_argument("--batch", default="1000")
    parser.add_argument("--system", default="python-trusted,python-checked,duckdb")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--deletes", choices=["back"])
    options = parser.parse_args()
    tables = load(options.folder)
    workload = Workload(options.workload, tables)
    for size in map(int, options.batch.split(",")):
        for system in options.system.split(","):
            for line in run(system, workload, tables, size, options):
                cell = {"workload": workload.name, "order": options.order, "batch": size}
                rest = {"scale": options.scale, "system": system}
                # Sums are wider than a number of JSON's readers: Python has them as decimals.
                print(json.dumps({**cell, **rest, **line}, default=int), flush=True)


def run(
    system: str, workload: Workload, tables: Tables, size: int, options: argparse.Namespace
) -> Iterator[Line]:
    """The lines of one system at one batch size."""
    if system == "duckdb":
        from recompute import recompute

        yield recompute(workload, tables, size, options.seconds)
    else:
        yield from embedded(system, workload, tables, size, options)


def embedded(
    system: str, workload: Workload, tables: Tables, size: int, options: argparse.Namespace
) -> Iterator[Line]:
    """Through ringview: an insert a batch, then a delete a batch, the last one first."""
    import ringview

    before = resident()
    database = ringview.Database(trust_deletes=system != "python-checked")
    engine = "epsilon" if system == "python-epsilon" else None
    streamed, loaded = workload.stream.streamed, workload.stream.loaded
    for name in (*loaded, *streamed):
        database.create_table(name, tables[name].schema, static=name in loaded)
    for name in loaded:
        database.insert(name, tables[name])
    view = database.create_view("view", workload.sql, engine=engine)
    phases = [("insert", database.insert, False), ("delete-back", database.delete, True)]
    for phase, apply, back in phases[: 1 + bool(options.deletes)]:
        line = timed(apply, stream(tables, streamed, size, back=back), options.seconds)
        line |= {
            "phase": phase,
            "bytes": sum(database.memory_usage().values()),
            "resident_bytes": resident() - before,
            "result": outcome(workload, view) if line["complete"] else None,
        }
        yield line
        if not line["complete"]:
            break


def outcome(workload: Workload, view: Any) -> dict[str, int]:
    """The numbers that all systems must agree on."""
    if workload.asked == "-join":
        sums = (sum(block.columns[-1].to_pylist()) for block in view.to_reader())
        return {"count": len(view), "sum": sum(sums)}
    if workload.asked == "":
        (row,) = view.to_arrow().to_pylist()
        return {"count": row["count"], "sum": row.get("sum") or 0}
    found = view.cofactor()
    places = [found.names.index(feature) for feature in workload.features]
    numbers = [found.sums[place] for place in places]
    for at, left in enumerate(places):
        numbers += [found.matrix[left, right] for right in places[at:]]
    return {"count": found.count, "sum": workload.digest(numbers)}


def timed(apply: Any, batches: Batches, seconds: float) -> Line:
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
        until = start + seconds - wall
        for name, batch in stretch:
            apply(name, batch)
            tuples += batch.num_rows
            if time.perf_counter() > until:
                break
        wall += time.perf_counter() - start
        core += time.thread_time() - core_start
    return {
        "tuples": tuples,
        "complete": complete,
        "seconds": wall,
        "cpu_seconds": core,
        "tuples_per_second": tuples / wall,
    }


def resident() -> int:
    """Resident bytes of this process; 0 where the system has no figure."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


if __name__ == "__main__":
    main()
