"""Streams whose checkpoint is a URI.

Run as `python elsewhere.py FOLDER CHECKPOINT CONFIG`: a session of its own, such as one with the
jars of a file system, runs all operations of such a checkpoint.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import partition_crashes as crashes
import pyarrow as pa
import pytest
from oracle import comparable
from shop import replayed

if TYPE_CHECKING:
    import ringview.spark as rs
    from pyspark.sql import SparkSession

NAMES = pa.table({"id": list(range(6)), "name": [f"n{n}" for n in range(6)]})
VIEWS = {
    "v": "SELECT t.id, n.name, COUNT(*) AS n, SUM(x) AS x FROM t JOIN n ON n.id = t.id "
    "GROUP BY t.id, n.name",
    # No partition has these whole: the driver adds up one, and reads rows of all for the other.
    "all": "SELECT COUNT(*) AS n, SUM(x) AS x, MAX(x) AS most FROM t",
    "top": "SELECT id, x FROM v ORDER BY x DESC, id LIMIT 3",
}
MODES: list[tuple[Literal["driver", "partitioned"], str]] = [
    # Spark's reader of state, of which partitions are read, finds no folder with a blank.
    ("driver", "a state"),
    ("partitioned", "state"),
]
MORE = {**VIEWS, "w": "SELECT id, MAX(x) AS most FROM t GROUP BY id"}


def asked(spark: SparkSession, folder: Path, views: dict[str, str]) -> rs.streaming.Stream:
    """The views over files, and over a static table."""
    import ringview.spark as rs

    read = spark.readStream.schema("id long, x long, times long").option("maxFilesPerTrigger", 1)
    frames = {"t": read.parquet(str(folder / "t")), "n": spark.createDataFrame(NAMES)}
    return rs.stream(views, frames, multiplicity={"t": "times"})


def wanted(files: int) -> dict[str, Counter[Any]]:
    """The views behind so many files."""
    rows = crashes.left(files)
    of: dict[int, list[int]] = {}
    for (i, x), times in rows.items():
        of.setdefault(i, []).extend([x] * times)
    every = [x for xs in of.values() for x in xs]
    first = sorted(of, key=lambda i: (-sum(of[i]), i))[:3]
    return {
        "v": Counter((i, f"n{i}", len(xs), sum(xs)) for i, xs in of.items()),
        "w": Counter((i, max(xs)) for i, xs in of.items()),
        "all": Counter([(len(every), sum(every), max(every))]),
        "top": Counter((i, sum(of[i])) for i in first),
    }


def follow(
    spark: SparkSession, folder: Path, at: str, mode: Literal["driver", "partitioned"]
) -> None:
    """Restarts with a static table, dead letters, a move, another view, and who has it."""
    from ringview.spark import CheckpointError, ParquetSink
    from ringview.spark.streaming.checkpoint import Checkpoint
    from ringview.spark.streaming.locations import remove, write

    sink = ParquetSink(folder / "out")

    def start(views: dict[str, str]) -> rs.streaming.StreamQuery:
        of = asked(spark, folder, views)
        how: dict[str, Any] = {"mode": mode, "on_error": "dead_letter"}
        return of.write_stream(at, sink, dead_letters=folder / "letters", **how).start()

    def goes_on(views: dict[str, str], files: int) -> None:
        with start(views) as q:
            q.process_all_available()
            same(q, files)

    def same(q: rs.streaming.StreamQuery, files: int) -> None:
        for name in q.views:
            rows = q[name].to_arrow()
            assert Counter(tuple(row.values()) for row in rows.to_pylist()) == wanted(files)[name]
            assert replayed(sink.read(name)) == comparable(rows)

    for number in range(2):
        crashes.arrive(folder, number)
        goes_on(VIEWS, number + 1)
    if mode == "partitioned":
        asked(spark, folder, VIEWS).repartition(at, partitions=3)
    crashes.arrive(folder, 2)
    goes_on(VIEWS, 3)
    asked(spark, folder, MORE).evolve(at)
    crashes.arrive(folder, 3)
    first = start(MORE)
    first.process_all_available()
    same(first, 4)
    letters = sorted(path.name for path in (folder / "letters").glob("*.jsonl"))
    assert letters == ["000000000001.jsonl", "000000000003.jsonl"]
    # The last owner keeps it; the other one ends with its next micro-batch.
    state, places = first._state, Checkpoint(at, spark).state
    taken = places / "owner"
    if mode == "driver":
        (newest,) = places.glob("[0-9]*-*")
        taken = newest / f"log-{len(list(newest.glob('log-*'))):08d}"
    write(taken, b"another")
    crashes.arrive(folder, 4)
    with pytest.raises(CheckpointError, match=r"another stream (wrote|was started with the ch)"):
        first.process_all_available()
    assert isinstance(state.failure, CheckpointError)
    first.stop()
    if mode == "driver":
        remove(taken)
    goes_on(MORE, 5)


def main() -> None:
    """Run with the requested session."""
    import ringview.spark as rs

    folder, at, config = sys.argv[1:]
    spark = rs.session("elsewhere", json.loads(config))
    spark.sparkContext.setLogLevel("OFF")
    for mode, name in MODES:
        (Path(folder) / mode).mkdir()
        follow(spark, Path(folder) / mode, f"{at}/{name}", mode)
    print("went through")


if __name__ == "__main__":
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    main()
