"""The partitions of a stream as data: their number, placement and labels.

Invariant: chosen once, when a checkpoint is made, and then read from it, so that a row finds the
engine that has its like. Cost: of planning.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ringview import Database
from ringview.errors import CheckpointError, InvalidValueError, UnsupportedError
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.locations import Location
from ringview.spark.streaming.partitioned import placement as placing
from ringview.spark.streaming.partitioned.heavy import Heavy
from ringview.spark.streaming.partitioned.placement import Placement
from ringview.spark.streaming.partitioned.reading import Query
from ringview.spark.streaming.partitioned.routing import labels
from ringview.spark.streaming.partitioned.segments import SIZES, Sizes
from ringview.spark.streaming.partitioned.setting import Setting
from ringview.spark.streaming.plan import Plan

_KEY, _HEAVY = "partitioned", "heavy"
_FORM = "segments"
"""What the state of a checkpoint is made of; earlier ones do not say, and are files beside it."""


@dataclass(frozen=True)
class Partitions:
    """The partitions of a stream."""

    placement: Placement
    labels: tuple[int, ...]
    spread: int
    """How many partitions Spark's own state has, which stays."""
    generation: int = 1
    """How often they were made: each time anew in a folder of its own."""
    since: int = 0
    """The first micro-batch of this generation."""
    retired: tuple[int, ...] = ()
    """The labels of earlier generations, whose state that micro-batch removes."""
    heavy: Heavy | None = None
    """Values of which rows are spread over all of them."""

    def described(self) -> dict[str, Any]:
        """Its form in a checkpoint."""
        heavy = {} if self.heavy is None else {_HEAVY: self.heavy.described()}
        return {
            _KEY: {
                **heavy,
                "placement": self.placement,
                "labels": list(self.labels),
                "spread": self.spread,
                "generation": self.generation,
                "since": self.since,
                "retired": list(self.retired),
                "state": _FORM,
            }
        }

    def folder(self, checkpoint: Checkpoint) -> Location:
        """Folder of their first rows."""
        state = (
            checkpoint.state.absolute() if isinstance(checkpoint.state, Path) else checkpoint.state
        )
        return state / f"g{self.generation}"

    def whole(self, plan: Plan) -> frozenset[str]:
        """The views of which a partition has whole groups."""
        located = placing.locations_of(plan, queries(plan), self.placement, self.heavy)
        return frozenset(plan.views) - located.split - located.on_driver

    def check_told(self, plan: Plan, in_partitions: Collection[str]) -> None:
        """Refuse sinks in partitions for views of which partitions have parts of groups.

        Raises:
            UnsupportedError: There is one.
        """
        whole = self.whole(plan) if in_partitions else ()
        for name in in_partitions:
            if name not in whole:
                raise UnsupportedError(
                    f'partition_sink: the checkpoint lets the driver keep view "{name}" whole, and '
                    "partitions have parts of it; give it sink= in the place of partition_sink="
                )

    def setting(self, plan: Plan, checkpoint: Checkpoint) -> Setting:
        """The options for workers."""
        return setting(
            plan,
            (self.placement, self.heavy),
            str(self.folder(checkpoint)),
            {label: partition for partition, label in enumerate(self.labels)},
            self.generation == 1,
            SIZES,
        )


def setting(
    plan: Plan,
    lies: tuple[Placement, Heavy | None],
    name: str,
    partitions: Mapping[int, int],
    is_first: bool,
    sizes: Sizes,
) -> Setting:
    """The options of a stream for its workers, under a placement of its tables."""
    placement, heavy = lies
    located = placing.locations_of(plan, queries(plan), placement, heavy)
    copied = {table for table, column in placement.items() if column is None}
    own = {view: sql for view, sql in plan.views.items() if view not in located.on_driver}
    return Setting(
        replace(plan, views=own),
        name,
        partitions,
        located.everywhere | copied,
        located.gathered,
        is_first,
        sizes,
    )


def new_partitions(
    plan: Plan, spark: SparkSession, count: int, whole: Collection[str]
) -> Partitions:
    """The partitions of a new checkpoint."""
    check(count)
    placement = placing.choose_placement(plan, queries(plan), whole)
    return Partitions(placement, tuple(labels(spark, count, count, 1)), count)


def asked_of(checkpoint: Checkpoint, count: int | None) -> Partitions | None:
    """The partitions that a checkpoint has; None if it has none yet.

    Raises:
        CheckpointError: It has another number of them than `count`, or is of an earlier form.
    """
    found = _read(checkpoint).get(_KEY)
    if found is None:
        return None
    if found.get("state") != _FORM:
        raise CheckpointError(
            f"the checkpoint {checkpoint.folder} has its state in files of snapshots, as earlier "
            "versions of ringview kept it; start with an empty folder, or use the version that "
            "wrote it"
        )
    has = Partitions(
        found["placement"],
        tuple(found["labels"]),
        found["spread"],
        found["generation"],
        found["since"],
        tuple(found["retired"]),
        Heavy.read(found.get(_HEAVY)),
    )
    if count not in (None, len(has.labels)):
        raise CheckpointError(
            f"the checkpoint {checkpoint.folder} has {len(has.labels)} partitions, not {count}; "
            "leave partitions= out, or move the state first: "
            f"asked.repartition(checkpoint, partitions={count})"
        )
    return has


def queries(plan: Plan) -> Mapping[str, Query]:
    """The logical queries of the views, as the engine has them."""
    draft = Database()
    plan.create_tables(draft)
    plan.create_views(draft)
    native = draft._native
    return {
        name: json.loads(native.view_query((name, native.view_id(name)))) for name in plan.views
    }


def _read(checkpoint: Checkpoint) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((checkpoint.folder / "plan.json").read_bytes())
    except (OSError, ValueError):
        # `Checkpoint.agree` raises the error.
        return {}
    return found


def check(count: int) -> None:
    """Refuse what is no number of partitions."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidValueError(f"partitions={count!r}; give a number, 1 or more")
