"""The database of one partition, as the store keeps it.

Invariant: it has the plan's tables, with the rows that lie in the partition, and the plan's views
over them; a micro-batch is one transaction. Rows are kept, so that what cannot be deleted is told.
Cost: the engine's.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from ringview import Database
from ringview.follower import Follower
from ringview.spark.streaming.applying import Applied, Applier
from ringview.spark.streaming.partitioned.routing import in_slots, message
from ringview.spark.streaming.partitioned.store import BASE, Delta
from ringview.spark.streaming.plan import Plan


class PartitionEngine:
    """Tables and views of one partition."""

    def __init__(self, plan: Plan, database: Database, is_new: bool) -> None:
        self.database = database
        self._plan = plan
        self._applier = Applier(plan, database)
        self._is_new = is_new
        self._followers: dict[str, Follower] = {}
        self.leaves_out = False
        """Whether rows that break a contract are left out; the log has none of them."""
        self.applied: Applied | None = None
        """What came of the last micro-batch."""

    @staticmethod
    def start(plan: Plan, is_first: bool, path: Path | None) -> PartitionEngine:
        """Of a file, or empty; of the first file nobody was told yet."""
        if path is not None:
            return PartitionEngine(plan, Database.load(path), is_first and path.name == BASE)
        database = Database()
        plan.create_tables(database)
        plan.create_histories(database)
        plan.create_views(database)
        return PartitionEngine(plan, database, True)

    @staticmethod
    def begin(plan: Plan, rows: Plan, delta: Delta) -> PartitionEngine:
        """With rows of some tables, before the views: static tables take them only then."""
        database = Database()
        plan.create_tables(database)
        plan.create_histories(database)
        loaded = PartitionEngine(rows, database, True)
        loaded.apply(delta)
        plan.create_views(database)
        return PartitionEngine(plan, database, True)

    def apply(self, delta: Delta) -> Delta:
        """One micro-batch, as one transaction; what of it was applied."""
        batches = [batch for message in delta for batch in pa.ipc.open_stream(message)]
        applied = self._applier.apply(self._plan.arrived(batches), leaves_out=self.leaves_out)
        self._is_new = False
        self.applied = applied
        if not applied.refused:
            return delta
        layout, names = self._plan.layout, [table.name for table in self._plan.streams]
        kept = [
            message(batch, layout)
            for name, rows in applied.kept.items()
            for batch in in_slots(self._plan, names.index(name), rows)
        ]
        # A micro-batch of which nothing is left has a message all the same: the log counts it.
        nothing = [pa.array([], kind) for kind in layout.schema.types]
        return kept or [message(pa.record_batch(nothing, schema=layout.schema), layout)]

    def save(self, path: Path) -> None:
        """Write all of it to a file."""
        self.database.save(path)

    def follow(self) -> None:
        """Begin to remember what moves, of all views; the first time, all that they hold."""
        for name in self._plan.views:
            if name not in self._followers:
                follower = self.database[name].follow(initial=self._is_new)
                self._followers[name] = follower

    def moved(self) -> dict[str, pa.Table]:
        """What moved since the last look, by view."""
        return {name: each.changes() for name, each in self._followers.items()}
