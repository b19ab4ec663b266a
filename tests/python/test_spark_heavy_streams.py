"""Heavy values of streams in partitions on a local Spark: split by a move, and together again."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

from amounts import some
from pyspark.sql import SparkSession
from ringview.errors import CostWarning
from ringview.spark import ParquetSink, stream
from ringview.spark.streaming import StreamQuery
from starting import through
from test_spark_partitioned import VIEWS, Rows, replayed, same


@pytest.mark.long
def test_heavy_values_are_split_by_a_move(quick: SparkSession, tmp_path: Path) -> None:
    """And merged again with the next one."""
    rows, sink, at = Rows(tmp_path, 6), ParquetSink(tmp_path / "out"), tmp_path / "state"
    drawn = random.Random(6)

    def many(number: int) -> None:
        """Items of one order."""
        changes = [((0, drawn.randrange(1000)), 1) for _ in range(number)]
        rows.items.update([row for row, _ in changes])
        rows.put_items(changes)

    def start(views: dict[str, str] = VIEWS) -> StreamQuery:
        asked = rows.asked(quick, views)
        return asked.write_stream(at, sink, mode="partitioned", partitions=3).start()

    def parts(q: StreamQuery) -> dict[str, Any]:
        q.process_all_available()
        same(q, rows, sink)
        assert q.progress is not None
        found: dict[str, Any] = q.progress["ringview"]["partitions"]
        return found

    rows.put()
    many(30)
    assert through(start, parts)["heavy"] == {}
    rows.asked(quick).repartition(at, 3, split_heavy=True)
    many(30)
    found = through(start, parts)
    assert (found["heavy"], found["touched"]) == ({"items": [0]}, 3)
    more = {**VIEWS, "most": "SELECT MAX(price) AS most FROM items"}
    rows.asked(quick, more).evolve(at)
    rows.put()
    assert through(lambda: start(more), parts)["heavy"] == {"items": [0]}
    rows.asked(quick, more).repartition(at, 3)
    many(30)
    found = through(lambda: start(more), parts)
    assert (found["heavy"], found["touched"]) == ({}, 1)
    # A view over orders alone would count the copies.
    asked = rows.asked(
        quick, {**VIEWS, "orders_of": "SELECT id, COUNT(*) AS n FROM orders GROUP BY id"}
    )
    asked.evolve(at)
    with pytest.warns(CostWarning, match='values of table "items" .* stay in one: '):
        asked.repartition(at, 3, split_heavy=True)


@pytest.mark.parametrize("count", some([3, 6]))
@pytest.mark.long
def test_heavy_values_of_rows_with_keys_are_split(
    quick: SparkSession, tmp_path: Path, count: int
) -> None:
    """Changes in any order find the rows that they are about, and the last changes of keys."""
    (tmp_path / "t").mkdir()
    sink, at = ParquetSink(tmp_path / "out"), tmp_path / "state"
    frame = quick.readStream.schema("g string, id long, x long, at long")
    asked = stream(
        {"v": "SELECT g, SUM(x) AS x, COUNT(*) AS n, MAX(x) AS most FROM t GROUP BY g"},
        {"t": frame.parquet(str(tmp_path / "t"))},
        keys={"t": ["g", "id"]},
        order="at",
    )
    drawn, last = random.Random(3), dict[tuple[str, int], tuple[int, int]]()
    for number in range(count):
        times = drawn.sample(range(10**6), 60)
        changes = [
            (drawn.choice("aaaaaaaaaabcdefghijk"), drawn.randrange(20), drawn.randrange(9), when)
            for when in times
        ]
        # Spark may bring the rows of a file in any order.
        for g, i, x, when in changes:
            last[g, i] = max(last.get((g, i), (-1, 0)), (when, x))
        table = pa.Table.from_pylist(
            [dict(zip(("g", "id", "x", "at"), row, strict=True)) for row in changes]
        )
        pq.write_table(table, tmp_path / "draft")
        (tmp_path / "draft").rename(tmp_path / "t" / f"{number}.parquet")

        def goes_on(q: StreamQuery) -> dict[str, Any]:
            q.process_all_available()
            wanted: dict[str, list[int]] = {}
            for (g, _), (_, x) in last.items():
                wanted.setdefault(g, []).append(x)
            groups = Counter((g, sum(xs), len(xs), max(xs)) for g, xs in wanted.items())
            assert Counter(tuple(row.values()) for row in q["v"].to_arrow().to_pylist()) == groups
            assert replayed(sink, "v") == groups
            assert q.progress is not None
            found: dict[str, Any] = q.progress["ringview"]["partitions"]
            return found

        found = through(lambda: asked.write_stream(at, sink, mode="partitioned").start(), goes_on)
        assert found["heavy"] == ({"t": ["a"]} if 1 < number < 5 else {})
        if number in (1, 3):
            asked.repartition(at, partitions=3, split_heavy=True)
        if number == 4:
            asked.repartition(at, partitions=2)
