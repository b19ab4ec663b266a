"""Samples of joins kept from Python; print JSON lines (paper, figures 5 to 12).

Invariant: the rows of all tables are one shuffled stream, cut into batches; a batch is one
transaction, and the sample is uniform after each. The clock runs only inside calls of the package.
A stream is cut after some seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import ringview as rv
from shaped import Query, of_edges, relational

RELATIONAL = ("QX", "QY", "QZ", "Q10")
Batch = list[tuple[str, pa.RecordBatch]]


def batches(query: Query, size: int) -> Iterator[Batch]:
    """The stream: of each table a row as often as it has rows, in random order."""
    names = list(query.tables)
    lengths = [query.tables[name].num_rows for name in names]
    chance = np.random.default_rng(3)
    stream = np.repeat(np.arange(len(names)), lengths)
    chance.shuffle(stream)
    orders = [chance.permutation(length) for length in lengths]
    taken = [0] * len(names)
    for first in range(0, len(stream), size):
        counts = np.bincount(stream[first : first + size], minlength=len(names))
        cut: Batch = []
        for at, count in enumerate(counts.tolist()):
            if count:
                rows = orders[at][taken[at] : taken[at] + count]
                taken[at] += count
                cut.append((names[at], query.tables[names[at]].take(pa.array(rows))))
        yield cut


def measure(query: Query, options: argparse.Namespace) -> dict[str, Any]:
    """Keep one sample over its stream."""
    db = rv.Database(trust_deletes=True)
    for name, table in query.tables.items():
        db.create_table(name, table.schema, unique=query.unique.get(name))
    sample = db.create_sample("sample", query.sql, k=options.k, seed=7)
    seconds = cpu = 0.0
    tuples = 0
    complete = True
    for batch in batches(query, options.batch):
        if seconds > options.seconds:
            complete = False
            break
        started, core = time.perf_counter(), time.process_time()
        with db.transaction() as tx:
            for name, rows in batch:
                tx.insert(name, rows)
        seconds += time.perf_counter() - started
        cpu += time.process_time() - core
        tuples += sum(rows.num_rows for _, rows in batch)
    kept = [bytes for part, bytes in db.memory_usage().items() if "sample" in part]
    return {
        "workload": query.name,
        "system": "python",
        "k": options.k,
        "batch": options.batch,
        "tuples": tuples,
        "complete": complete,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "tuples_per_second": tuples / seconds,
        "bytes": sum(kept),
        "results": sample.join_size(),
        "held": len(sample),
    }


def main() -> None:
    """A line for each query."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("queries", nargs="+", help="line-N, star-N, dumbbell, QX, QY, QZ, Q10")
    parser.add_argument("--edges", type=Path, help="sources, then targets, as raw int32")
    parser.add_argument("--scale", type=float, default=0.05, help="of QX, QY, QZ and Q10")
    parser.add_argument("--k", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    for name in options.queries:
        if name in RELATIONAL:
            line = {**measure(relational(name, options.scale), options), "size": options.scale}
        elif options.edges is None:
            parser.error(f"{name} needs --edges")
        else:
            edges = np.fromfile(options.edges, dtype="<i4").reshape(2, -1)
            line = {**measure(of_edges(name, edges), options), "edges": edges.shape[1]}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
