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
from ringview.spark.streaming.changes import decode, is_net
from ringview.spark.streaming.latest import Latest
from ringview.spark.streaming.partitioned.store import BASE, Delta
from ringview.spark.streaming.plan import Plan


class PartitionEngine:
    """Tables and views of one partition."""

    def __init__(self, plan: Plan, database: Database, is_new: bool) -> None:
        self.database = database
        self._plan = plan
        self._latest = Latest(plan, database)
        self._is_new = is_new
        self._followers: dict[str, Follower] = {}
        self.rows: dict[str, int] = {}
        """How many rows the last micro-batch had, by table."""
        self.late: dict[str, int] = {}
        """How many keys came late in it, by table."""

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

    def apply(self, delta: Delta) -> None:
        """One micro-batch, as one transaction."""
        batches = [batch for message in delta for batch in pa.ipc.open_stream(message)]
        arrived = decode(self._plan, batches)
        changes, self.late = self._latest.settle(arrived)
        with self.database.transaction(net=is_net(changes)) as transaction:
            for change in changes:
                change.apply(transaction)
        self._is_new = False
        self.rows = {change.table.name: change.arrived for change in arrived}

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
