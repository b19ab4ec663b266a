"""Databases in files beside those in memory; print JSON lines.

Invariant: databases take turns, so each sees the same batches in the same moments of the machine;
the clock runs only inside calls of the package. Files lie in the folder of the system for such
things, so its disk is measured too; time on the core leaves the waiting for it out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ringview as rv
from data import Tables, Workload, load

BATCH = 1_000
THREADS = 8
Line = dict[str, Any]


def views(db: rv.Database, tables: Tables) -> None:
    """The sum and the matrix over the facts, beside the other tables."""
    names = Workload("retailer-fact", tables).stream.loaded
    for name, table in tables.items():
        db.create_table(name, table.schema, static=name in names)
    for name in names:
        db.insert(name, tables[name])
    for suffix in ("", "-cofactor"):
        db.create_view(f"view{suffix}", Workload(f"retailer-fact{suffix}", tables).sql)


def batches(tables: Tables, folder: Path, seconds: float) -> Line:
    """Batches of 1,000 facts into memory and into files that are synced always, or at the end."""
    paths = {"transaction": folder / "each", "snapshot": folder / "end"}
    kept = {"memory": rv.Database()}
    for durability, path in paths.items():
        kept[durability] = rv.Database.open(path, durability=durability)  # type: ignore[arg-type]
    for db in kept.values():
        views(db, tables)
    empty = paths["transaction"].stat().st_size
    wall, core = dict.fromkeys(kept, 0.0), dict.fromkeys(kept, 0.0)
    facts = tables["Inventory"]
    done = 0
    while done < facts.num_rows and sum(wall.values()) < seconds:
        batch = facts.slice(done, BATCH)
        for name, db in kept.items():
            spent = clocked(partial(db.insert, "Inventory", batch))
            wall[name] += spent[0]
            core[name] += spent[1]
        done += batch.num_rows
    results = {name: db["view"].to_arrow().to_pylist() for name, db in kept.items()}
    assert all(result == results["memory"] for result in results.values())
    grown = paths["transaction"].stat().st_size - empty
    for db in kept.values():
        db.close()
    count = -(-done // BATCH)
    return {
        "what": "batches",
        "rows": done,
        "microseconds": {name: spent / count * 1e6 for name, spent in wall.items()},
        "core_microseconds": {name: spent / count * 1e6 for name, spent in core.items()},
        "bytes_a_row": grown / done,
    }


def threads(tables: Tables, folder: Path, seconds: float) -> Line:
    """Transactions of one row from one thread and from eight, each synced when it returns."""
    rows = [tables["Inventory"].slice(at, 1) for at in range(1_000)]
    speeds = {}
    for count in (1, THREADS):
        db = rv.Database.open(folder / f"threads-{count}")
        db.create_table("Inventory", tables["Inventory"].schema)
        db.create_view("view", "SELECT COUNT(*) AS count FROM Inventory")
        until = time.perf_counter() + seconds / 2

        def fill(db: rv.Database = db, until: float = until) -> None:
            for row in rows:
                db.insert("Inventory", row)
                if time.perf_counter() > until:
                    return

        workers = [threading.Thread(target=fill) for _ in range(count)]

        def all_of_them(workers: list[threading.Thread] = workers) -> None:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        wall, _ = clocked(all_of_them)
        speeds[count] = db["view"].scalar() / wall
        db.close()
    return {"what": "threads", "transactions_per_second": speeds}


def opening(tables: Tables, folder: Path) -> Line:
    """All facts, and their views, from a file."""
    path = folder / "all"
    with rv.Database.open(path, durability="snapshot") as db:
        views(db, tables)
        filling, _ = clocked(lambda: db.insert("Inventory", tables["Inventory"]))
        result = db["view"].to_arrow().to_pylist()
        writing, _ = clocked(db.snapshot)
    opened: list[rv.Database] = []
    wall, core = clocked(lambda: opened.append(rv.Database.open(path)))
    assert opened[0]["view"].to_arrow().to_pylist() == result
    opened[0].close()
    rows = sum(table.num_rows for table in tables.values())
    return {
        "what": "opening",
        "rows": rows,
        "seconds": {"insert": filling, "snapshot": writing, "open": wall},
        "core_seconds": core,
        "bytes_a_row": path.stat().st_size / rows,
    }


def clocked(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and on the core."""
    started, core = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - started, time.process_time() - core


def main() -> None:
    """A line for each thing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="an exported data set, of retailer")
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    tables = load(options.folder)
    with tempfile.TemporaryDirectory() as folder:
        for line in (
            batches(tables, Path(folder), 5 * options.seconds),
            threads(tables, Path(folder), options.seconds),
            opening(tables, Path(folder)),
        ):
            line = {"workload": "files", "system": "python", "complete": True, **line}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
