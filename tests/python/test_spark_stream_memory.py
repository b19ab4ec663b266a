"""`memory_limit` of streams: a batch beyond it counts for nothing, and the message helps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import ringview.spark as rs
from amounts import some
from pyspark.sql import SparkSession
from ringview.errors import InvalidValueError, OutOfMemoryError
from ringview.spark.streaming.partitioned.memory import limit_of, share
from test_spark_partition_steps import WHOLE, Streamed, table_of

ITEMS: Counter[tuple[Any, ...]] = Counter({(key, key % 7): 1 for key in range(20_000)})
LIMIT = 1_000_000


def streamed(folder: Path, partitions: int, patch: pytest.MonkeyPatch, limit: int) -> Streamed:
    of = Streamed(WHOLE, folder, partitions, patch)
    of.setting = replace(of.setting, memory_limit=limit)
    return of


def test_a_batch_beyond_the_limit_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda number: None)
    of = streamed(tmp_path / "one", 1, monkeypatch, LIMIT)
    few: Counter[tuple[Any, ...]] = Counter({(1, 5): 1})
    of.data["l"] = few
    of.take({"l": table_of("l", few)})
    before = {label: (meta.held, dict(held.held)) for label, (meta, held) in of.state.items()}
    with pytest.raises(OutOfMemoryError, match=r"1,000,000 bytes.*memory_limit=.*repartition"):
        of.take({"l": table_of("l", ITEMS)})
    assert before == {
        label: (meta.held, dict(held.held)) for label, (meta, held) in of.state.items()
    }
    of.check()
    # More for each partition.
    of.setting = replace(of.setting, memory_limit=20 * LIMIT)
    of.data["l"] = few + ITEMS
    of.take({"l": table_of("l", ITEMS)})
    of.check()
    # More partitions.
    many = streamed(tmp_path / "many", 16, monkeypatch, LIMIT)
    many.data["l"] = ITEMS
    many.take({"l": table_of("l", ITEMS)})
    many.check()


def session(master: str, **settings: str) -> Any:
    """A Spark that has these settings, and three executors beside the driver."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    tracker = SimpleNamespace(getExecutorInfos=lambda: ["driver", "a", "b", "c"])
    jvm = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: tracker))
    return SimpleNamespace(
        conf=SimpleNamespace(get=named.get),
        sparkContext=SimpleNamespace(master=master, _jsc=jvm),
    )


def test_spark_s_settings_are_the_limit_by_default() -> None:
    assert limit_of(session("local[2]"), 4, None) is None
    assert limit_of(session("local[2]"), 4, "2kB") == 2_000
    assert limit_of(session("spark://a:7077"), 4, None) is None
    with_room = {"spark_executor_memoryOverhead": "4g"}
    # Six partitions on three executors are two on each.
    each = limit_of(session("spark://a:7077", **with_room), 6, None)
    assert each == share(4 << 30, 6, 3) == share(4 << 30, 2, 1)
    said = session("yarn", spark_executor_instances="6", **with_room)
    assert limit_of(said, 6, None) == share(4 << 30, 1, 1) == 2 * (each or 0)
    mebibytes = session("yarn", spark_executor_memoryOverhead="4096")
    assert limit_of(mebibytes, 6, None) == each
    # Less than the process itself takes is no limit that a stream could run with.
    assert share(200 << 20, 1, 1) is None
    assert limit_of(session("yarn", spark_executor_memoryOverhead="200m"), 1, None) is None


def test_a_limit_that_is_no_size_is_told() -> None:
    with pytest.raises(InvalidValueError, match="memory_limit='much'"):
        limit_of(session("local[2]"), 4, "much")


@pytest.mark.parametrize("mode", some(["driver", "partitioned"]))
def test_a_stream_ends_at_its_limit_and_goes_on_with_a_larger_one(
    spark: SparkSession, tmp_path: Path, mode: Any
) -> None:
    (tmp_path / "l").mkdir()
    rows = pa.table({"k": list(range(60_000)), "p": [1] * 60_000})
    pq.write_table(rows, tmp_path / "l" / "0.parquet")
    frame = spark.readStream.schema("k long, p long").parquet(str(tmp_path / "l"))
    asked = rs.stream({"v": "SELECT k, SUM(p) AS s FROM l GROUP BY k"}, {"l": frame})
    options: dict[str, Any] = {} if mode == "driver" else {"partitions": 2}

    def take(limit: str | None) -> int:
        writer = asked.write_stream(
            tmp_path / "checkpoint", mode=mode, memory_limit=limit, **options
        )
        with writer.start() as q:
            q.process_all_available()
            return int(q["v"].to_arrow().num_rows)

    level = spark.sparkContext
    level.setLogLevel("OFF")
    with pytest.raises(OutOfMemoryError, match="raise memory_limit"):
        take("400kB")
    level.setLogLevel("ERROR")
    assert take(None) == 60_000
