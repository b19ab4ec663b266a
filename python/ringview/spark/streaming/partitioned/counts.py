"""Metrics of partitions, as numbers that Spark adds up.

A partition reports one number for each name, in the order of the names, so that Spark's own metrics
(`observe`) and ringview's progress read the same.

Invariant: numbers of partitions are added, but for the clock, which all that had rows agree on; a
name is there whether anything happened or not.
Cost: O(tables + views) a partition and micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as sf

from ringview.spark.streaming import letters
from ringview.spark.streaming.clock import CLOCK, EXPIRED
from ringview.spark.streaming.latest import LATE
from ringview.spark.streaming.plan import Plan

ROWS, MOVED = "rows", "moved"
_BY_TABLE = (ROWS, LATE, letters.NAME)
_OF_ENGINES = (
    "engines.found",
    "engines.rebuilt",
    "engine_nanoseconds",
    "state_bytes",
    "log_bytes",
    "snapshots",
    "snapshot_bytes",
)


@dataclass(frozen=True)
class Counts:
    """The numbers of a stream, by name: ``rows.orders``, ``moved.spent``, ``engines.found``, .."""

    names: tuple[str, ...]

    @staticmethod
    def of(plan: Plan) -> Counts:
        """Those of a plan."""
        by_table = [f"{what}.{table.name}" for what in _BY_TABLE for table in plan.streams]
        by_table += [f"{EXPIRED}.{table.name}" for table in plan.expiring]
        clock = (CLOCK,) if plan.watermarked else ()
        views = (f"{MOVED}.{view}" for view in plan.views)
        return Counts((*by_table, *views, *clock, *_OF_ENGINES))

    def listed(self, known: Mapping[str, int]) -> list[int]:
        """Numbers in the order of their names; those that are not known are 0."""
        return [known.get(name, 0) for name in self.names]

    def added(self, lists: Iterable[Sequence[int]]) -> dict[str, int]:
        """The numbers of partitions together, by name."""
        found = dict.fromkeys(self.names, 0)
        for numbers in lists:
            for name, number in zip(self.names, numbers, strict=True):
                found[name] = max(found[name], number) if name == CLOCK else found[name] + number
        return found

    def columns(self, listed: str) -> list[Column]:
        """Spark's observations of a column of such lists, which is NULL in other rows."""
        return [
            sf.coalesce(_merged(name, sf.element_at(listed, number + 1)), sf.lit(0)).alias(name)
            for number, name in enumerate(self.names)
        ]


def _merged(name: str, numbers: Column) -> Column:
    return sf.max(numbers) if name == CLOCK else sf.sum(numbers)


def by(what: str, numbers: Mapping[str, int]) -> dict[str, int]:
    """Of numbers by name those of one kind, by table or view, but for those that are 0.

    >>> by("rows", {"rows.orders": 3, "rows.items": 0, "moved.spent": 2})
    {'orders': 3}
    """
    start = f"{what}."
    return {
        name.removeprefix(start): n for name, n in numbers.items() if n and name.startswith(start)
    }


def named(what: str, numbers: Mapping[str, Any]) -> dict[str, int]:
    """The same as numbers by name, to be listed."""
    return {f"{what}.{name}": number for name, number in numbers.items()}
