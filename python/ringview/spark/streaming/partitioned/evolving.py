"""Other views and more columns for engines in partitions: all of them are made anew.

Rows are routed as the new views want it, in as many partitions as before.

Invariant: as `moving`; what moves in views by it is kept for the micro-batch behind it under the
number of the new generation, and counts once `plan.json` names that. Cost: as `moving`; views that
are new or replaced are read by the driver.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ringview.errors import UnsupportedError
from ringview.spark.failure import raising
from ringview.spark.streaming import replacing, unsent
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.partitioned import versions
from ringview.spark.streaming.partitioned.heavy import Heavy
from ringview.spark.streaming.partitioned.layout import Partitions, asked_of, queries
from ringview.spark.streaming.partitioned.moving import Moving
from ringview.spark.streaming.partitioned.placement import Placement, choose_placement, spread
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.source import Source


def _placement(plan: Plan, whole: Collection[str]) -> Placement:
    """Placement of tables now: views whose groups were whole in a partition stay so if possible."""
    asked = queries(plan)
    try:
        return choose_placement(plan, asked, whole)
    except UnsupportedError:
        return choose_placement(plan, asked, ())


def _heavy(plan: Plan, placement: Placement, old: Partitions) -> Heavy | None:
    """The values that were split, if the new views allow it."""
    if old.heavy is None:
        return None
    table, *_ = old.heavy.spread
    if placement[table] != old.placement[table]:
        return None
    try:
        return spread(plan, queries(plan), placement, table, old.heavy.values)
    except UnsupportedError:
        return None


def evolve(
    plan: Plan, sources: Mapping[str, Source], checkpoint: Checkpoint, noted: Mapping[str, Any]
) -> None:
    """Let a checkpoint that nobody has open be of this plan, which has all its columns."""
    old = asked_of(checkpoint, None)
    assert old is not None
    tables = []
    for table in plan.tables:
        names = noted["tables"][table.name]["columns"]
        kept = pa.schema([table.columns.field(name) for name in names])
        tables.append(replace(table, columns=kept))
    before = Plan(tuple(tables), noted["views"], plan.parameters, plan.dialect)
    tells = bool(noted["sink"])
    placement = _placement(plan, old.whole(before) & plan.views.keys())
    if tells:
        replacing.check(replacing.schemas(before), replacing.schemas(plan))
    with Moving(sources, checkpoint, old) as moving:
        new = moving.partitions(len(old.labels), placement, _heavy(plan, placement, old))

        def read(of_plan: Plan, partitions: Partitions, name: str) -> pa.Table:
            setting = partitions.setting(of_plan, checkpoint)
            with raising():
                bases = versions.bases(moving.spark, partitions.folder(checkpoint))
                of = moving.spark, of_plan, setting, bases, checkpoint
                found = versions.view(*of, name, moving.batch)
            return found.changes()

        told = [name for name in plan.views if tells and name not in before.views]
        if tells and replacing.changed(before.views, plan.views):
            told = list(plan.views)
        held = {name: read(before, old, name) for name in told if name in before.views}
        moving.rows((before, old), (plan, new))
        if told:
            moved = {name: replacing.delta(held.get(name), read(plan, new, name)) for name in told}
            folder = unsent.of_evolution(checkpoint.state, moving.batch + 1, moving.generation)
            unsent.keep(folder, moved)
        moving.end(plan, new)
