"""A driver on a cluster, of which an executor is killed in a query, and another one in a stream.

Run by `spark-submit cluster_job.py FOLDER FILES`; the last line that it prints is its result, as
JSON. Functions of this file are sent to executors: they have no folder of tests.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = "SELECT t.id, COUNT(*) AS n, SUM(t.x * u.x) AS s FROM t JOIN u USING (id) GROUP BY t.id"
BATCH = 3
"""In which micro-batch an executor is killed."""


def kill_executor(marker: str) -> None:
    """Kill the executor of this worker, unless one was killed before."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    java = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(java, signal.SIGKILL)
    # The daemon of this worker ends with its executor, and the worker with it.
    signal.pause()


def evaluated(spark: SparkSession, folder: str) -> list[list[Any]]:
    """A join, of whose tables one is read by a step that kills an executor in its last task."""
    from pyspark import TaskContext
    from ringview.spark import evaluate

    marker = f"{folder}/killed-in-query"

    def step(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        if context.partitionId() == 3:
            kill_executor(marker)
        yield from batches

    t = spark.read.parquet(f"{folder}/join/t.parquet").repartition(4)
    u = spark.read.parquet(f"{folder}/join/u.parquet")
    tables = {"t": t.mapInArrow(step, "id long, x long"), "u": u}
    return [list(map(int, row)) for row in evaluate(SQL, tables, partitions=4).collect()]


def streamed(spark: SparkSession, folder: str) -> dict[str, Any]:
    """A stream in partitions with a clock, in whose sink an executor is killed."""
    from timed_streams import VIEWS, asked

    marker, out = f"{folder}/killed-in-stream", f"{folder}/out"

    def sink(partition: int, batch: int, rows: pa.Table) -> None:
        if batch == BATCH:
            kill_executor(marker)
        draft = f"{out}/.{partition}.{batch}.{os.getpid()}"
        pq.write_table(rows, draft)
        os.rename(draft, f"{out}/{partition}-{batch}.parquet")

    os.makedirs(out)
    writer = asked(spark, Path(folder), {"v": VIEWS["v"]}).write_stream(
        f"{folder}/checkpoint", mode="partitioned", partitions=2, partition_sink=sink
    )
    with writer.start() as q:
        q.process_all_available()
        progress = q.progress
        assert progress is not None
        rows = q["v"].to_arrow().to_pylist()
        return {
            "rows": [[row["id"], row["n"], str(row["last"])] for row in rows],
            "batch": q.batch_id,
            "clock": progress["ringview"]["clock"],
        }


def homes(spark: SparkSession) -> list[str]:
    """Paths of ringview on executors."""

    def step(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import ringview

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"home": [ringview.__file__]})

    found = spark.range(8).repartition(4).mapInArrow(step, "home string").distinct()
    return [row.home for row in found.collect()]


def main() -> None:
    """Everything, one after the other."""
    from ringview.spark import session

    spark = session("cluster", {"spark.sql.shuffle.partitions": "2"})
    spark.sparkContext.setLogLevel("ERROR")
    folder = sys.argv[1]
    found = {
        "homes": homes(spark),
        "evaluated": evaluated(spark, folder),
        "streamed": streamed(spark, folder),
    }
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
