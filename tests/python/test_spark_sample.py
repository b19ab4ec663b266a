"""Samples of joins of DataFrames: uniform for any parts, and the same for any order of rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from math import comb, erfc, sqrt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

import cells
from amounts import some
from ringview import errors
from ringview._native import merge_samples
from ringview.spark.drawn import Draw, MergeDrawn
from ringview.spark.slots import rows_to_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUNS = 20_000


def p_value(counts: Counter[Any], cells: int, runs: int) -> float:
    """Of a chi-square of counts that should be equal (Wilson and Hilferty)."""
    expected = runs / cells
    seen = sum((count - expected) ** 2 for count in counts.values())
    statistic = seen / expected + (cells - len(counts)) * expected
    n = cells - 1
    spread = 2 / (9 * n)
    return erfc(((statistic / n) ** (1 / 3) - (1 - spread)) / sqrt(2 * spread)) / 2


def merged(sizes: list[int], k: int, seed: int, counts: list[int] | None = None) -> tuple[int, ...]:
    """k numbers of the whole, each part a range that is sampled by itself."""
    own = random.Random(seed)
    held, first = [], 0
    for size in sizes:
        held.append(own.sample(range(first, first + size), min(k, size)))
        first += size
    told = [len(part) for part in held] if counts else sizes
    chosen = merge_samples(
        [(size, len(part)) for size, part in zip(told, held, strict=True)], k, seed
    )
    both = zip(held, chosen, strict=True)
    return tuple(sorted(part[place] for part, places in both for place in places))


@pytest.mark.parametrize("sizes", [[4, 4], [1, 7], [0, 5, 0, 3], [1, 1, 1, 1, 1, 1]])
def test_merged_samples_are_uniform(sizes: list[int]) -> None:
    counts = Counter(merged(sizes, 3, seed) for seed in range(RUNS))
    assert 1e-3 < p_value(counts, comb(sum(sizes), 3), RUNS) < 0.9999


def test_a_biased_merge_fails() -> None:
    """Parts that count as what was drawn of them, not as what they have."""
    counts = Counter(merged([1, 7], 3, seed, counts=[1, 3]) for seed in range(RUNS))
    assert p_value(counts, comb(8, 3), RUNS) < 1e-9


SCHEMAS = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int64(), "n": pa.int32()}),
    "s": pa.schema({"b": pa.int64(), "c": pa.string()}),
}
JOIN = "SELECT a, r.b AS b, c FROM r JOIN s USING (b)"
TABLES = {
    "r": pa.Table.from_pylist(
        [{"a": a, "b": b, "n": 1} for a, b in [(1, 0), (2, 0), (3, 1), (4, 2), (5, None)]],
        schema=SCHEMAS["r"],
    ),
    "s": pa.Table.from_pylist(
        [
            {"b": b, "c": c}
            for b, c in [(0, "x"), (0, "y"), (1, "z"), (2, "x"), (2, None), (9, "u")]
        ],
        schema=SCHEMAS["s"],
    ),
}
RESULTS = 7


def in_process(k: int, seed: int, partitions: int, order: random.Random) -> list[tuple[Any, ...]]:
    """Spark's work, with rows in random order and cells in any."""
    [stage] = cells.plan({"v": JOIN}, TABLES, {"r": 5, "s": 6}, partitions).grids
    schema = stage.wanted[0].schema
    draw = Draw(stage.relations, stage.layout, stage.results[0].query, schema, k, seed)
    parts: list[pa.RecordBatch] = []
    for rows in cells._cells(stage, TABLES, order).values():
        parts += draw(rows_to_batches(rows, stage.layout.schema, size=3))
    order.shuffle(parts)
    found = MergeDrawn(schema, k, seed)(parts)
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


@pytest.mark.parametrize("partitions", some([4, 1]))
def test_cells_draw_uniform_samples(partitions: int) -> None:
    order = random.Random(5)
    runs = 300
    pairs = Counter(
        tuple(sorted(in_process(2, seed, partitions, order), key=repr)) for seed in range(runs)
    )
    assert 1e-3 < p_value(pairs, comb(RESULTS, 2), runs) < 0.9999
    assert {*pairs} <= {*combinations(sorted(in_process(9, 1, 1, order), key=repr), 2)}


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_the_order_of_rows_does_not_matter(partitions: int) -> None:
    for seed in range(4):
        found = {tuple(in_process(3, seed, partitions, random.Random(at))) for at in range(5)}
        assert len(found) == 1
    assert len({tuple(in_process(3, seed, partitions, random.Random(1))) for seed in range(9)}) > 1


def test_a_sample_of_more_than_there_is_is_the_join() -> None:
    assert len({*in_process(99, 3, 4, random.Random(1))}) == RESULTS


def spark_tables(spark: SparkSession) -> dict[str, DataFrame]:
    order = random.Random(3)
    made = {
        "r": [(order.randrange(9), order.choice([None, *range(6)]), 1) for _ in range(60)],
        "s": [(order.randrange(6), order.choice("xyz")) for _ in range(20)],
    }
    kinds = {"r": "a bigint, b bigint, n int", "s": "b bigint, c string"}
    return {name: spark.createDataFrame(rows, kinds[name]) for name, rows in made.items()}


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[dict[str, DataFrame]]:
    found = {name: frame.persist() for name, frame in spark_tables(spark).items()}
    yield found
    for frame in found.values():
        frame.unpersist()


def listed(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_every_sampled_row_is_in_the_join(
    spark: SparkSession, tables: dict[str, DataFrame]
) -> None:
    from ringview.spark import sample

    for name, frame in tables.items():
        frame.createOrReplaceTempView(name)
    join = Counter(listed(spark.sql(JOIN)))
    for k, partitions in ((1, 3), (40, 2), (10**6, 3)):
        found = sample(JOIN, tables, k, 11, partitions=partitions)
        assert found.columns == ["a", "b", "c"]
        rows = Counter(listed(found))
        assert rows <= join
        assert rows.total() == min(k, join.total())


def test_the_same_sample_however_rows_lie(tables: dict[str, DataFrame]) -> None:
    from ringview.spark import sample

    expected = listed(sample(JOIN, tables, 9, 5, partitions=3))
    moved = {name: frame.repartition(4).orderBy(frame[0].desc()) for name, frame in tables.items()}
    assert listed(sample(JOIN, moved, 9, 5, partitions=3)) == expected
    twice = {**tables, "r": tables["r"].union(tables["r"].limit(0)).coalesce(1)}
    assert listed(sample(JOIN, twice, 9, 5, partitions=3)) == expected
    assert listed(sample(JOIN, tables, 9, 6, partitions=3)) != expected
    single = "SELECT a, b FROM r WHERE a > 2"
    assert listed(sample(single, tables, 4, 1)) == listed(sample(single, moved, 4, 1))


def test_multiplicities_count_rows(spark: SparkSession) -> None:
    from ringview.spark import sample

    kinds = "a bigint, n int"
    rows = spark.createDataFrame([(1, 3), (2, 2), (2, -2), (3, 1), (4, 0)], kinds)
    found = listed(sample("SELECT a FROM r", {"r": rows}, 10, 1, multiplicity="n", partitions=2))
    assert sorted(found) == [(1,), (1,), (1,), (3,)]
    gone = spark.createDataFrame([(1, 1), (1, -2)], kinds)
    with pytest.raises(Exception, match="deleted more often than it is inserted"):
        sample("SELECT a FROM r", {"r": gone}, 1, 1, multiplicity="n").collect()


def test_an_empty_join_has_an_empty_sample(tables: dict[str, DataFrame]) -> None:
    from ringview.spark import sample

    assert listed(sample(f"{JOIN} WHERE a > 99", tables, 3, 1, partitions=2)) == []


def test_what_cannot_be_sampled_is_told_at_once(tables: dict[str, DataFrame]) -> None:
    from ringview.spark import sample

    for sql in ("SELECT COUNT(*) AS n FROM r", "SELECT DISTINCT a FROM r"):
        with pytest.raises(errors.UnsupportedError, match="rows of a join"):
            sample(sql, tables, 3, 1)
    with pytest.raises(errors.UnsupportedError, match="without the condition"):
        sample("SELECT a, c FROM r JOIN s ON r.b < s.b", tables, 3, 1)
    for k, seed in ((0, 1), (-1, 1), (3, -1), (3, 2**64), (2**64, 1)):
        with pytest.raises(errors.InvalidValueError, match="is out of range"):
            sample(JOIN, tables, k, seed)
    with pytest.raises(errors.TypeMismatchError, match="not an integer"):
        sample(JOIN, tables, 2.5, 1)  # type: ignore[arg-type]


@pytest.mark.long
def test_spark_samples_are_uniform(tables: dict[str, DataFrame]) -> None:
    """Few runs, as each is a job: single rows of a small join over three cells."""
    from ringview.spark import sample

    few = {name: frame.limit(0).union(_frame(frame, name)) for name, frame in tables.items()}
    runs = 30
    seen: Counter[Any] = Counter()
    for seed in range(runs):
        seen.update(listed(sample(JOIN, few, 4, seed, partitions=3, rows={"r": 5, "s": 6})))
    assert seen.total() == 4 * runs
    # Without replacement counts vary less than those of draws with it.
    expected = 4 * runs / RESULTS
    statistic = sum((count - expected) ** 2 for count in seen.values()) / expected
    assert statistic * (RESULTS - 1) / (RESULTS - 4) < 22.5, "a chance of 10^-3"


def _frame(like: DataFrame, name: str) -> DataFrame:
    rows = [tuple(row.values()) for row in TABLES[name].to_pylist()]
    return like.sparkSession.createDataFrame(rows, like.schema)
