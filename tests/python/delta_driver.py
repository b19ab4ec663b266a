"""A driver for tests, on the PySpark that Delta Lake is made for: views merged into Delta tables.

    python delta_driver.py '{"folder": .., "config": ..}'

Each mode takes the files of a folder in their order, with a sink that fails behind its merge, so
that batches are sent again; then a new checkpoint takes other files, into the same table. Behind
each life the Delta tables are written as Parquet.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from ringview.spark import session, stream
from ringview.spark.types import spark_schema

VIEW = "SELECT k, SUM(x) AS x, COUNT(*) AS n, MAX(x) AS most FROM r GROUP BY k"
FILES: list[dict[str, list[int]]] = [
    {"k": [1, 1, 2, 3], "x": [5, 6, 7, 8], "times": [1, 2, 1, 1]},
    {"k": [2, 3, 4], "x": [7, 9, 1], "times": [-1, 1, 1]},
    {"k": [1, 4, 5], "x": [6, 1, 2], "times": [-2, 3, 1]},
]
NEW_LIFE: list[dict[str, list[int]]] = [
    {"k": [1, 7], "x": [6, 2], "times": [1, 2]},
    {"k": [1, 7], "x": [5, 2], "times": [1, -2]},
]


class FailedError(Exception):
    """The sink took the changes, and nobody heard that it did."""


class DeltaSink:
    """Merges what moved into a Delta table, by the columns of GROUP BY.

    A group is replaced by its current row, or deleted. So a repeat of the last batch leaves the
    table as it was. The first batch of a checkpoint is the whole view.
    """

    def __init__(self, spark: SparkSession, path: Path, keys: list[str]) -> None:
        self.spark, self.path, self.keys = spark, path, keys
        self.whole: set[str] = set()

    def begin(self, checkpoint: str, views: Sequence[str], is_new: bool) -> None:
        """The first batch replaces the rows of an earlier checkpoint."""
        self.whole = set(views) if is_new else set()

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        """Merge the changes of a batch."""
        came = changes.filter(pc.field("multiplicity") > 0)
        went = changes.filter(pc.field("multiplicity") < 0)
        went = went.join(came.select(self.keys), self.keys, join_type="left anti")
        # A join forgets which columns have no NULL.
        went = went.select(changes.column_names).cast(changes.schema)
        rows = pa.concat_tables([came, went])
        frame = self.spark.createDataFrame(rows.to_pylist(), spark_schema(rows.schema))
        if not (self.path / "_delta_log").exists():
            empty = frame.drop("multiplicity").where(sf.lit(False))
            empty.write.format("delta").save(str(self.path))
        frame.createOrReplaceTempView("moved")
        same = " AND ".join(f"t.{key} <=> m.{key}" for key in self.keys)
        columns = [name for name in changes.column_names if name != "multiplicity"]
        values = ", ".join(f"m.{name}" for name in columns)
        self.spark.sql(
            f"MERGE INTO delta.`{self.path}` t USING moved m ON {same} "
            "WHEN MATCHED AND m.multiplicity < 0 THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = m.{c}' for c in columns)} "
            f"WHEN NOT MATCHED AND m.multiplicity > 0 THEN INSERT ({', '.join(columns)}) "
            f"VALUES ({values})"
            + (" WHEN NOT MATCHED BY SOURCE THEN DELETE" if view in self.whole else "")
        )
        self.whole.discard(view)


class Failing(DeltaSink):
    """Fails once for each batch, behind its merge."""

    failed: set[int]

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        """Merge, and fail."""
        super().__call__(view, batch_id, changes)
        if batch_id not in self.failed:
            self.failed.add(batch_id)
            raise FailedError


LIVES: list[list[dict[str, list[int]]]] = [FILES, NEW_LIFE]
"""By life of the checkpoint, the files that it takes."""


def run(spark: SparkSession, folder: Path, mode: str, life: int) -> None:
    """One life in one mode: after each file the sink fails once."""
    source, table = folder / f"{mode}-rows-{life}", folder / f"{mode}-delta"
    source.mkdir()
    sink = Failing(spark, table, ["k"])
    sink.failed = set()
    for number, rows in enumerate(LIVES[life]):
        draft = folder / "draft"
        pq.write_table(pa.table(rows), draft)
        draft.rename(source / f"{number}.parquet")
        for attempt in range(2):
            frame = spark.readStream.schema("k long, x long, times long").parquet(str(source))
            asked = stream({"v": VIEW}, {"r": frame}, multiplicity="times")
            checkpoint = folder / f"{mode}-state-{life}"
            with asked.write_stream(checkpoint, sink, mode=mode).start() as q:  # type: ignore[arg-type]
                try:
                    q.process_all_available()
                    assert attempt == 1
                except FailedError:
                    assert attempt == 0
    assert sink.failed == set(range(len(LIVES[life])))
    rows_now = spark.read.format("delta").load(str(table)).toArrow()
    pq.write_table(rows_now, folder / f"{mode}-{life}.parquet")


def main(asked: dict[str, Any]) -> None:
    """Both modes, one behind the other."""
    spark = session("delta", asked["config"])
    spark.sparkContext.setLogLevel("OFF")
    for mode in ("driver", "partitioned"):
        for life in range(len(LIVES)):
            run(spark, Path(asked["folder"]), mode, life)
    import pyspark

    print("ran on", pyspark.__version__)


if __name__ == "__main__":
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    main(json.loads(sys.argv[1]))
