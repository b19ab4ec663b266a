"""Options of a caller besides views and tables, checked before anything runs.

Invariant: a wrong option raises at once, in a sentence. Cost: none of Spark's, but for counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from ringview.errors import InvalidValueError, TypeMismatchError, UnknownTableError
from ringview.spark.releases import CONNECT, require
from ringview.spark.session import cores
from ringview.text import quoted

# Rows that one engine takes in a second: with two, a shuffle costs more than both save.
_ROWS_AN_ENGINE = 1_000_000
_COMPRESSION = 4


def check_frame(name: str, frame: DataFrame) -> None:
    """Refuse what is no DataFrame with an end, or none that this PySpark has functions for."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        # Before, its columns are made by functions of their own.
        require(CONNECT, "a DataFrame of Spark Connect", "give those of a session in the process")
    if not isinstance(frame, DataFrame):
        raise TypeMismatchError(f"tables: {name!r} is no DataFrame but a {type(frame).__name__}")
    if frame.isStreaming:
        raise InvalidValueError(
            f"table {quoted(name)} is a stream, which has no end to evaluate: "
            "ringview.spark.stream keeps views over streams fresh"
        )


def check_partitions(partitions: object) -> None:
    """Refuse what is no number of partitions."""
    if partitions is None:
        return
    if isinstance(partitions, bool) or not isinstance(partitions, int):
        raise TypeMismatchError(f"partitions={partitions!r} is not an integer")
    if partitions < 1:
        raise InvalidValueError(f"partitions must be at least 1, not {partitions}")


def multiplicities(
    given: str | Mapping[str, str] | None, tables: Mapping[str, pa.Schema]
) -> dict[str, str]:
    """The column that says how often a row is there, of each table that has one."""
    if given is None:
        return {}
    named = dict.fromkeys(tables, given) if isinstance(given, str) else dict(given)
    for name, column in named.items():
        if name not in tables:
            raise UnknownTableError(f'multiplicity: there is no table "{name}" in tables')
        if column not in tables[name].names:
            raise InvalidValueError(f'multiplicity: table "{name}" has no column "{column}"')
        kind = tables[name].field(column).type
        if not pa.types.is_integer(kind):
            raise TypeMismatchError(
                f'multiplicity: column "{column}" of table "{name}" is {kind}; how often a row is '
                "there is an integer"
            )
    return named


def engines(frame: DataFrame, rows: int | None) -> int:
    """Number of engines that are worth their tasks."""
    most = cores(frame.sparkSession) or _shuffle_partitions(frame)
    return most if rows is None else max(1, min(most, -(-rows // _ROWS_AN_ENGINE)))


def _shuffle_partitions(frame: DataFrame) -> int:
    said = frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")
    # Some platforms say "auto" here.
    return int(said) if said is not None and said.isdigit() else 200


def estimated(tables: Iterable[DataFrame]) -> int | None:
    """About the most rows that tables have, as Spark estimates their bytes; None where it does not.

    No job runs. Compressed files take down to a quarter of what Spark takes a row to be.
    """
    rows = 0
    for frame in tables:
        # Spark Connect has no plan on this side.
        plan: Any = getattr(frame, "_jdf", None)
        if plan is None:
            return None
        size = int(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))
        rows += _COMPRESSION * size // max(1, plan.schema().defaultSize())
    return rows


def counted(tables: Mapping[str, DataFrame]) -> dict[str, int]:
    """The rows of each table, in one job with one shuffle of a row a task."""
    rows = [frame.select(sf.lit(at).alias("table")) for at, frame in enumerate(tables.values())]
    counts = [sf.count_if(sf.col("table") == at).alias(str(at)) for at in range(len(tables))]
    (found,) = reduce(DataFrame.union, rows).agg(*counts).collect()
    return dict(zip(tables, found, strict=True))
