"""DuckDB on one thread: a batch inserted, the query run again.

That is so slow that it is timed at five points of the stream and the whole extrapolated from them,
as each of its lines says. Invariant: no query runs for longer than the time that a stream may take;
one that would is stopped, and then the figure is a bound: the system is slower than that.
"""

from __future__ import annotations

import time
from math import ceil
from threading import Timer
from typing import Any

import duckdb
import pyarrow as pa
from data import Tables, Workload, stream

POINTS = (0.1, 0.3, 0.5, 0.7, 0.9)
ROUNDS = 3


def recompute(workload: Workload, tables: Tables, size: int, seconds: float) -> dict[str, Any]:
    """The line of one batch size."""
    recomputed = Recomputed(workload, tables, seconds)
    rows = {name: tables[name].num_rows for name in workload.stream.streamed}
    rounds = ceil(max(rows.values()) / size)
    done, timed = 0, 0
    means: list[float] = []
    for share in POINTS:
        until = max(round(rounds * share), done)
        recomputed.skip(done * size, until * size)
        done = min(until + ROUNDS, rounds)
        times: list[float] = []
        some = {
            name: tables[name].slice(min(until * size, rows[name]), (done - until) * size)
            for name in rows
        }
        for name, batch in stream(some, workload.stream.streamed, size):
            if recomputed.stopped or sum(times) > seconds / len(POINTS):
                recomputed.insert({name: batch})
            else:
                times.append(recomputed.change(name, batch))
        timed += len(times)
        means.append(sum(times) / len(times) if times else max(means, default=seconds))
        if recomputed.stopped:
            # Later points have more rows, so they take no less.
            means += [max(seconds, means[-1])] * (len(POINTS) - len(means))
            break
    mean = sum(means) / len(means)
    whole = mean * sum(ceil(each / size) for each in rows.values())
    # A last time, for the result, where that is quick.
    result = None
    if not recomputed.stopped and max(means) < seconds / 2:
        recomputed.skip(done * size, max(rows.values()))
        result = recomputed.result()
    return {
        "phase": "insert",
        "tuples": sum(rows.values()),
        "complete": result is not None,
        "extrapolated_from_batches": timed,
        "bound": recomputed.stopped,
        "seconds": whole,
        "tuples_per_second": sum(rows.values()) / whole,
        "milliseconds_a_batch": 1000 * mean,
        "result": result,
    }


class Recomputed:
    """The tables of a workload and its query."""

    def __init__(self, workload: Workload, tables: Tables, seconds: float) -> None:
        self.workload, self.tables, self.seconds = workload, tables, seconds
        self.stopped = False
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        for name, table in tables.items():
            columns = ", ".join(f"{column} INTEGER NOT NULL" for column in table.schema.names)
            self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self.insert({name: tables[name] for name in workload.stream.loaded})

    def change(self, name: str, batch: pa.RecordBatch) -> float:
        """Insert a batch and run the query; how long that takes."""
        start = time.perf_counter()
        self.insert({name: batch})
        stop = Timer(self.seconds, self.connection.interrupt)
        stop.start()
        try:
            self.query()
        except duckdb.InterruptException:
            self.stopped = True
        finally:
            stop.cancel()
        return time.perf_counter() - start

    def query(self) -> list[Any]:
        """The result: its one row, or for a join the table that holds its rows."""
        query = self.workload.plain_sql
        if self.workload.asked == "-join":
            query = f"CREATE OR REPLACE TEMP TABLE result AS {query}"
        return self.connection.execute(query).fetchall()

    def result(self) -> dict[str, int]:
        """The numbers that all systems must agree on."""
        row = self.query()[0]
        if self.workload.asked == "-join":
            last = f"SELECT COUNT(*), SUM({self.workload.features[-1]}) FROM result"
            row = self.connection.execute(last).fetchall()[0]
        count, *numbers = row
        if self.workload.asked == "-cofactor":
            return {"count": count, "sum": self.workload.digest(numbers)}
        return {"count": count, "sum": int(sum(number or 0 for number in numbers))}

    def skip(self, start: int, stop: int) -> None:
        """Bring every table from row `start` to row `stop` without looking at the result."""
        for name in self.workload.stream.streamed:
            table = self.tables[name]
            if start < min(stop, table.num_rows):
                self.insert({name: table.slice(start, stop - start)})

    def insert(self, batches: Tables) -> None:
        """Append Arrow rows to the tables."""
        for name, batch in batches.items():
            self.connection.register("incoming", pa.Table.from_batches([batch]))
            self.connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
            self.connection.unregister("incoming")
