"""The state of a stream in other engines: another number of them, or with other views.

The old engines give their rows, which are routed again to new ones, in a folder of their own;
labels of a new generation have no past in Spark's state store, so a new engine begins with its
base. Spark's notes of the sources stay as they are. The first micro-batch of the new generation
removes the state of the old one.

Invariant: `plan.json` names one generation, and it is replaced last: killed before that, the stream
continues as it was. Cost: one shuffle of all rows, and every view refilled.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Self

from pyspark.sql import DataFrame

from ringview.errors import CheckpointError, CostWarning, UnsupportedError
from ringview.spark.failure import raising
from ringview.spark.ship import Shipped
from ringview.spark.streaming import locations, unsent
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.partitioned import versions
from ringview.spark.streaming.partitioned.engine import rows_of
from ringview.spark.streaming.partitioned.heavy import Heavy, Value
from ringview.spark.streaming.partitioned.holding import Holding
from ringview.spark.streaming.partitioned.layout import Partitions, asked_of, check, queries
from ringview.spark.streaming.partitioned.placement import Placement, spread
from ringview.spark.streaming.partitioned.routing import heavy_values, labels
from ringview.spark.streaming.partitioned.worker import Empty
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.source import Source
from ringview.spark.types import spark_schema


def move(
    plan: Plan,
    sources: Mapping[str, Source],
    checkpoint: Checkpoint,
    partitions: int,
    *,
    split_heavy: bool = False,
) -> None:
    """Give a checkpoint that nobody has open this number of partitions.

    Args:
        plan: Its plan.
        sources: The streams.
        checkpoint: Where the state is.
        partitions: How many.
        split_heavy: Whether rows of values that are too frequent for one of them are spread.
    """
    check(partitions)
    old = asked_of(checkpoint, None)
    if old is None:
        raise CheckpointError(
            f'the checkpoint {checkpoint.folder} is of no stream with mode="partitioned"; there is '
            "nothing to move"
        )
    checkpoint.agree({**checkpoint.noted(), **plan.described()})
    with Moving(sources, checkpoint, old) as moving:
        heavy = moving.heavy(plan, partitions) if split_heavy else None
        new = moving.partitions(partitions, old.placement, heavy)
        moving.rows((plan, old), (plan, new))
        moving.end(plan, new)


class Moving:
    """A checkpoint whose rows move to engines of a new generation, until `end`."""

    def __init__(
        self, sources: Mapping[str, Source], checkpoint: Checkpoint, old: Partitions
    ) -> None:
        self.spark = next(iter(sources.values())).frame.sparkSession
        self.batch = versions.last(checkpoint)
        """The last micro-batch."""
        self.generation = old.generation + 1
        if self.batch < 0:
            raise CheckpointError(
                f"the checkpoint {checkpoint.folder} has no micro-batch yet; start with an empty "
                "folder"
            )
        self._checkpoint, self._old = checkpoint, old
        self._held = Holding(checkpoint)
        # Of one that was ended before its end.
        unsent.forget_from(checkpoint.state, self.generation)

    def heavy(self, plan: Plan, count: int) -> Heavy | None:
        """The values that are too frequent for one of so many partitions, if they can be split."""
        rows = rows_of(plan)
        with raising():
            streams = {table.name for table in plan.streams}
            slots = self._slots(plan, rows)
            found = heavy_values(slots, rows, streams, self._old.placement, count)
        why: dict[str, str] = {}
        for table, values in found.items():
            try:
                return spread(plan, queries(plan), self._old.placement, table, values)
            except UnsupportedError as problem:
                why[table] = str(problem)
        for table, reason in why.items():
            warnings.warn(
                f'values of table "{table}" that its partition has too many rows of stay in one: '
                f"{reason}",
                CostWarning,
                stacklevel=4,
            )
        return None

    def partitions(
        self, count: int, placement: Placement, heavy: Heavy | None = None
    ) -> Partitions:
        """So many partitions of the new generation."""
        old, since = self._old, self.batch + 1
        named = tuple(labels(self.spark, count, old.spread, self.generation))
        # Of a generation that has had no micro-batch, the one before is still there.
        retired = (*old.labels, *(old.retired if old.since == since else ()))
        return Partitions(placement, named, old.spread, self.generation, since, retired, heavy)

    def rows(self, before: tuple[Plan, Partitions], after: tuple[Plan, Partitions]) -> None:
        """Let the engines of one plan and its partitions give their rows to those of another."""
        (plan, _), (becomes, new) = before, after
        setting = new.setting(becomes, self._checkpoint)
        folder = new.folder(self._checkpoint)
        locations.remove(folder)
        rows = rows_of(becomes)
        placement = of_all_tables(becomes, new.placement)
        heavy = None if new.heavy is None else new.heavy.with_histories(becomes)
        lies = replace(new, placement=placement, heavy=heavy)
        with raising():
            versions.begin(self._slots(plan, rows), lies, setting, rows, folder)

    def _slots(self, plan: Plan, rows: Plan) -> DataFrame:
        """The rows of all tables that the old engines have, each as often as it is there."""
        old = self._old
        placed = of_all_tables(plan, old.placement)
        copied: dict[str, tuple[str, Sequence[Value]] | None] = {
            name: None for name, column in placed.items() if column is None
        }
        if old.heavy is not None:
            heavy = old.heavy.with_histories(plan)
            columns = {name: placed[name] for name in heavy.copied}
            copied |= {n: (column, heavy.values) for n, column in columns.items() if column}
        giving = old.setting(plan, self._checkpoint)
        bases = versions.bases(self.spark, old.folder(self._checkpoint))
        step = Shipped(Empty(giving, bases, rows, copied))
        version = versions.version(self.spark, giving, self._checkpoint, self.batch)
        return version.mapInArrow(step, spark_schema(rows.layout.schema))

    def end(self, plan: Plan, new: Partitions) -> None:
        """Let the checkpoint be of the new generation."""
        noted = self._checkpoint.noted()
        self._held.check()
        self._checkpoint.note({**noted, **plan.described(), **new.described()})
        with suppress(OSError):
            locations.remove(self._old.folder(self._checkpoint))

    def __enter__(self) -> Self:
        """The checkpoint itself; nobody else has it open until the end of the block."""
        return self

    def __exit__(self, *problem: object) -> None:
        self._held.close()


def of_all_tables(plan: Plan, placement: Placement) -> Placement:
    """Placement with the histories: last changes with the rows of their keys; times everywhere."""
    found = dict(placement)
    for table in plan.tables:
        history = plan.histories.get(table.name)
        if history is None:
            continue
        column = placement[table.name]
        assert table.keys is not None
        assert history.keys is not None
        found[history.name] = None if column is None else history.keys[table.keys.index(column)]
    if plan.watermarked:
        found[plan.greatest.name] = None
    return found
