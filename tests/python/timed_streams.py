"""Two streams with a clock, and a model of their results: lists of rows, and DuckDB.

Invariant: the model reads no code of streams. Cost: every view is computed anew after each step.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from oracle import comparable
from ringview.convert.moments import interval
from ringview.spark.streaming.clock import delay
from ringview.spark.streaming.plan import Changes, TablePlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from ringview.spark.streaming import Stream

BEGIN = datetime(2026, 3, 1)
COLUMNS = pa.schema({"id": pa.int64(), "ts": pa.timestamp("us")})
VIEWS = {
    "v": "SELECT id, COUNT(*) AS n, MAX(ts) AS last FROM t GROUP BY id",
    "recent": "SELECT id, COUNT(*) AS n FROM t WHERE ts > now() - INTERVAL '6 hours' GROUP BY id",
    "quiet": "SELECT id, COUNT(*) AS n FROM t GROUP BY id "
    "HAVING MAX(ts) < now() - INTERVAL '3 hours'",
    "both": "SELECT t.id, COUNT(*) AS n FROM t JOIN u ON t.id = u.id "
    "WHERE u.ts > now() - INTERVAL '12 hours' GROUP BY t.id",
}

Row = tuple[int, datetime | None]
Batch = dict[str, list[tuple[Row, int]]]
"""Rows by table, with how often each comes."""
STAY = {"t": timedelta(days=1), "u": timedelta(hours=18)}
LATE = {"t": timedelta(hours=1), "u": timedelta(hours=2)}


def timed(name: str, changes: Changes = "rows") -> TablePlan:
    keys = None if changes in ("rows", "signs") else ("id",)
    stay, late = interval(STAY[name]), delay(LATE[name])
    return TablePlan(
        name, COLUMNS, keys, changes, False, keep_for=("ts", stay), watermark=("ts", late)
    )


class Model:
    """Tables as lists of rows, and a clock."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {name: [] for name in STAY}
        self.greatest: dict[str, datetime] = {}
        self.now = datetime(1970, 1, 1)
        self.expired: dict[str, int] = {}

    @staticmethod
    def of(came: Iterable[Batch]) -> Model:
        """Behind micro-batches."""
        found = Model()
        for changes in came:
            found.take(changes)
        return found

    def take(self, changes: Batch) -> None:
        for name, rows in changes.items():
            self.rows[name] += [row for row, times in rows if times > 0]
            for row, times in rows:
                if times < 0:
                    self.rows[name].remove(row)
                elif row[1] is not None:
                    self.greatest[name] = max(row[1], self.greatest.get(name, row[1]))
        if len(self.greatest) == len(LATE):
            to = min(at - LATE[name] for name, at in self.greatest.items())
            self.now = max(to, self.now)
        for name, held in self.rows.items():
            first = self.now - STAY[name] if self.now.year > 1970 else self.now
            left = [row for row in held if row[1] is None or row[1] >= first]
            self.expired[name] = len(held) - len(left)
            self.rows[name] = left

    def views(self, views: dict[str, str] = VIEWS) -> dict[str, list[tuple[Any, ...]]]:
        with duckdb.connect(config={"threads": 1}) as con:
            for name, rows in self.rows.items():
                columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
                con.register(name, pa.table(columns, schema=COLUMNS))
            now = f"TIMESTAMP '{self.now}'"
            return {
                name: comparable(con.sql(sql.replace("now()", now)).to_arrow_table())
                for name, sql in views.items()
            }


def draw(drawn: random.Random, model: Model, moved: float) -> Batch:
    """A micro-batch: rows of few ids, late ones, deletes, NULL times, often of one table alone."""
    found: Batch = {}
    for name in drawn.choice([["t"], ["u"], ["t", "u"], ["t", "u"], []]):
        # Often of one id, so that most partitions get none.
        ids = drawn.choice([[0], [1], range(5)])
        changes = []
        for _ in range(drawn.randrange(4)):
            at = BEGIN + timedelta(hours=moved - drawn.choice([0, 0, 1, 5, 12, 26, 40]))
            changes.append(((drawn.choice(ids), drawn.choice([at, at, at, None])), 1))
        here = list(model.rows[name])
        drawn.shuffle(here)
        changes += [(row, -1) for row in here[: drawn.choice([0, 0, 1, 2])]]
        drawn.shuffle(changes)
        found[name] = changes
    return found


def batches(seed: int, number: int) -> Iterator[tuple[Model, Batch]]:
    """So many micro-batches, each with the model behind it."""
    drawn, model, moved = random.Random(seed), Model(), 0.0
    for _ in range(number):
        moved += drawn.choice([0, 0.1, 1, 1, 3, 8, 20])
        changes = draw(drawn, model, moved)
        model.take(changes)
        yield model, changes


def arrive(folder: Path, number: int, changes: Batch) -> None:
    """A file of each table, whole when it is seen, later than those before; some have no row."""
    for name in STAY:
        (folder / name).mkdir(exist_ok=True)
        rows = [(*row, times) for row, times in changes.get(name, [])]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        draft = folder / f"{name}-{number}.part"
        pq.write_table(pa.table(columns, COLUMNS.append(pa.field("times", pa.int64()))), draft)
        os.utime(draft, (2**30 + 10 * number,) * 2)
        draft.rename(folder / name / f"{number:06d}.parquet")


def asked(spark: SparkSession, folder: Path, views: dict[str, str] = VIEWS) -> Stream:
    """The views over the streams, a file of each a micro-batch."""
    import ringview.spark as rs

    read = spark.readStream.schema("id long, ts timestamp_ntz, times long")
    read = read.option("maxFilesPerTrigger", 1).option("maxFileAge", "100000d")
    return rs.stream(
        views,
        {name: read.parquet(str(folder / name)) for name in STAY},
        multiplicity="times",
        watermark={name: ("ts", late) for name, late in LATE.items()},
        keep_for={name: ("ts", stay) for name, stay in STAY.items()},
    )
