"""A stream whose checkpoint is a URI, which becomes another one again and again, and is killed.

Run as `python elsewhere_crashes.py FOLDER AT CONFIG MODE NUMBER STEPS`: with mode="driver" the
checkpoint becomes the query of a number, with mode="partitioned" it gets another number of
partitions; then the stream takes all that there is. The process is killed, with its Java, after so
many calls of ringview's own functions.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

import partition_crashes as crashes
from conftest import SPARK
from elsewhere import wanted

if TYPE_CHECKING:
    import ringview.spark as rs
    from pyspark.sql import DataFrame, SparkSession
    from ringview.spark.streaming.state import State

Mode = Literal["driver", "partitioned"]

GATHERED = {
    "all": "SELECT COUNT(*) AS n, SUM(x) AS x, MAX(x) AS most FROM t",
    "top": "SELECT id, x FROM v ORDER BY x DESC, id LIMIT 3",
}
"""Views that no partition has whole: the driver adds up one, and reads all rows for the other."""


def asked(spark: SparkSession, folder: Path, number: int) -> rs.streaming.Stream:
    """The query of a number, whose views are others than those of the one before, but for one."""
    import ringview.spark as rs

    read = spark.readStream.schema("id long, x long, times long").option("maxFilesPerTrigger", 1)
    views = {"v": crashes.VIEW, **GATHERED}
    if number:
        views[f"w{number}"] = "SELECT id, MAX(x) AS most FROM t GROUP BY id"
    frame = read.option("maxFileAge", "100000d").parquet(str(folder / "t"))
    return rs.stream(views, {"t": frame}, multiplicity={"t": "times"})


def writer(of: rs.streaming.Stream, folder: Path, at: str, mode: Mode) -> rs.streaming.StreamWriter:
    """The stream with its sink and its dead letters."""
    import ringview.spark as rs

    how: dict[str, Any] = {"mode": mode, "on_error": "dead_letter"}
    return of.write_stream(
        at, rs.ParquetSink(folder / "out"), dead_letters=folder / "letters", **how
    )


def follow(of: rs.streaming.Stream, folder: Path, at: str, mode: Mode) -> None:
    """Take all that is there."""
    with writer(of, folder, at, mode).start() as q:
        q.process_all_available()


def live(spark: SparkSession, folder: Path, at: str, mode: Mode, number: int) -> None:
    """One life of the stream."""
    from ringview.spark import CheckpointError
    from ringview.spark.streaming.checkpoint import Checkpoint

    of = asked(spark, folder, number if mode == "driver" else 0)
    try:
        if mode == "driver":
            of.evolve(at)
        else:
            of.repartition(at, partitions=1 + number % 3)
    except CheckpointError as refused:
        if "has not taken micro-batch" in str(refused):
            is_there = f"w{number}" in Checkpoint(at, spark).noted()["views"]
            follow(asked(spark, folder, number - (not is_there)), folder, at, mode)
            of.evolve(at)
        elif not any(said in str(refused) for said in ("nothing to", "no micro-batch", "of no s")):
            raise
    follow(of, folder, at, mode)


def same(spark: SparkSession, folder: Path, at: str, mode: Mode, number: int, files: int) -> None:
    """The views, and what sinks and files of letters have, are those of the rows."""
    import ringview.spark as rs

    of = asked(spark, folder, number if mode == "driver" else 0)
    views = {"v": "v", f"w{number}": "w", "all": "all", "top": "top"}
    rows = crashes.left(files)
    values: dict[int, list[int]] = {}
    for (i, x), times in rows.items():
        values.setdefault(i, []).extend([x] * times)
    right = {
        "v": Counter((i, len(xs), sum(xs)) for i, xs in values.items()),
        **{name: wanted(files)[name] for name in ("w", "all", "top")},
    }
    with writer(of, folder, at, mode).start() as q:
        q.process_all_available()
        assert q.batch_id == files - 1
        for name in q.views:
            found = Counter(tuple(row.values()) for row in q[name].to_arrow().to_pylist())
            assert found == right[views[name]], name
            told: Counter[tuple[Any, ...]] = Counter()
            for *row, times in map(
                list, map(dict.values, rs.ParquetSink(folder / "out").read(name).to_pylist())
            ):
                told[tuple(row)] += times
            assert Counter({row: n for row, n in told.items() if n}) == found, name
    letters = sorted(int(path.stem) for path in (folder / "letters").glob("*.jsonl"))
    assert letters == [file for file in range(files) if crashes.wrong(file)]


def main() -> None:
    """Until it is killed, or all is taken."""
    import ringview.spark as rs
    from ringview.spark.streaming.driver import DriverState
    from ringview.spark.streaming.partitioned.state import PartitionedState

    folder, at, config, mode, number, steps = sys.argv[1:]
    left, own, group = int(steps), os.path.dirname(rs.__file__), os.getpgid(0)

    def step(frame: FrameType, *_: object) -> None:
        nonlocal left
        left -= frame.f_code.co_filename.startswith(own)
        if left <= 0:
            os.killpg(group, signal.SIGKILL)

    def counts(kind: type[State]) -> None:
        take = kind.take

        def counted(state: State, rows: DataFrame, batch_id: int) -> None:
            sys.setprofile(step)
            try:
                take(state, rows, batch_id)
            finally:
                sys.setprofile(None)

        setattr(kind, "take", counted)  # noqa: B010

    spark = rs.session("crashes", {**SPARK, **json.loads(config)})
    spark.sparkContext.setLogLevel("OFF")
    counts(DriverState)
    counts(PartitionedState)
    sys.setprofile(step)
    live(spark, Path(folder), at, "driver" if mode == "driver" else "partitioned", int(number))
    sys.setprofile(None)


if __name__ == "__main__":
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    main()
