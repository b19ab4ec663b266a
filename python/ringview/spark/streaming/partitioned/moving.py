"""The state of a stream in another number of partitions.

The old engines give their rows, which are routed anew to new ones, in a folder of their own; labels
of a new generation have no past in Spark's state store, so a new engine begins with its file. What
Spark notes of the sources stays as it is.

Invariant: `plan.json` names one generation, and it is replaced last: killed before that, the stream
goes on as it was. Cost: one shuffle of all rows, and every view filled anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace

from ringview import Database
from ringview.errors import CheckpointError
from ringview.spark.failure import raising
from ringview.spark.ship import Shipped
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.partitioned import versions
from ringview.spark.streaming.partitioned.layout import asked_of, check
from ringview.spark.streaming.partitioned.placement import Placement
from ringview.spark.streaming.partitioned.routing import labels
from ringview.spark.streaming.partitioned.worker import Empty
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.source import Source
from ringview.spark.types import spark_schema


def move(
    plan: Plan, sources: Mapping[str, Source], checkpoint: Checkpoint, partitions: int
) -> None:
    """Give a checkpoint that nobody has open this number of partitions."""
    check(partitions)
    old = asked_of(checkpoint, None)
    if old is None:
        raise CheckpointError(
            f'the checkpoint {checkpoint.folder} is of no stream with mode="partitioned"; there is '
            "nothing to move"
        )
    path = checkpoint.folder / "plan.json"
    described = json.loads(path.read_bytes())
    checkpoint.agree({**described, **plan.described()})
    batch = versions.last(checkpoint)
    if batch < 0:
        raise CheckpointError(
            f"the checkpoint {checkpoint.folder} has no micro-batch yet; start with partitions= "
            "and an empty folder"
        )
    with Database.open(checkpoint.state / "open.ringview"):
        spark = next(iter(sources.values())).frame.sparkSession
        generation = old.generation + 1
        named = tuple(labels(spark, partitions, old.spread, generation))
        new = replace(old, labels=named, generation=generation)
        before, after = old.setting(plan, checkpoint), new.setting(plan, checkpoint)
        shutil.rmtree(after.folder, ignore_errors=True)
        placement = with_histories(plan, old.placement)
        rows = versions.as_rows([*plan.tables, *plan.histories.values()])
        copied = frozenset(name for name, column in placement.items() if column is None)
        step = Shipped(Empty(before, rows, copied))
        version = versions.version(spark, before, checkpoint, batch)
        with raising():
            slots = version.mapInArrow(step, spark_schema(rows.layout.schema))
            versions.begin(slots, replace(new, placement=placement), after, rows)
        checkpoint.note({**described, **new.described()})
        shutil.rmtree(before.folder, ignore_errors=True)


def with_histories(plan: Plan, placement: Placement) -> Placement:
    """Where the last changes of keys lie: with the rows of the keys."""
    found = dict(placement)
    for table in plan.tables:
        history = plan.histories.get(table.name)
        if history is None:
            continue
        column = placement[table.name]
        assert table.keys is not None
        assert history.keys is not None
        found[history.name] = None if column is None else history.keys[table.keys.index(column)]
    return found
