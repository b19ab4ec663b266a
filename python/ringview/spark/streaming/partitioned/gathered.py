"""Views on the driver: those of which partitions have parts, added up, and views over them.

    partials of partitions -> a view over all rows -> its rows -> views over it

Invariant: between micro-batches they are what their texts say over the rows of all partitions.
Nothing of them is kept with the checkpoint: a driver that starts again adds up what partitions
have. Cost: of a micro-batch, the groups and values that changed in any partition, and what the
views over them take; memory for the groups, and for the values of MIN, MAX and COUNT(DISTINCT).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import pyarrow as pa

from ringview import Database
from ringview.spark.streaming.plan import Plan
from ringview.view import View


class Gathered:
    """Views of a plan, whole; their first changes are all rows."""

    def __init__(self, plan: Plan, parts: Collection[str], over: Collection[str] = ()) -> None:
        """Those that partitions have in parts, and those over them."""
        self._parts = {name: _empty(plan, name) for name in plan.views if name in parts}
        # Rows are inserted and deleted as they are in the views below.
        self._over = Database(trust_deletes=True)
        self._read = {name: _readable(view) for name, view in self._parts.items()} if over else {}
        for name, columns in self._read.items():
            self._over.create_table(name, columns)
        own = {name: sql for name, sql in plan.views.items() if name in over}
        replace(plan, views=own).create_views(self._over)
        self._told = {name: view.follow() for name, view in self._parts.items()}
        self._told |= {name: self._over[name].follow() for name in own}
        self.names = tuple(name for name in plan.views if name in self._told)

    def __getitem__(self, name: str) -> View:
        """A view."""
        return self._parts[name] if name in self._parts else self._over[name]

    def add(self, parts: Iterable[tuple[str, pa.Table]]) -> dict[str, pa.Table]:
        """Add partials of views; what moved since the last call, at first all that views hold."""
        for name, partial in parts:
            self._parts[name].merge(partial)
        moved = {name: self._told[name].changes() for name in self._parts}
        with self._over.transaction() as transaction:
            for name, columns in self._read.items():
                rows, times = moved[name], moved[name].column_names[-1]
                rows = rows.select([*columns.names, times])
                transaction.insert(name, rows, multiplicity=times)
        moved |= {name: self._told[name].changes() for name in self.names if name not in moved}
        return {name: moved[name] for name in self.names if moved[name].num_rows}


def _empty(plan: Plan, name: str) -> View:
    """A view that partials are added to, and no rows."""
    database = Database(trust_deletes=True)
    names = [*plan.views]
    views = {view: plan.views[view] for view in names[: names.index(name) + 1]}
    # They get no rows, so none leaves by time.
    tables = tuple(replace(table, keep_for=None) for table in plan.tables)
    own = replace(plan, tables=tables, views=views)
    own.create_tables(database)
    own.create_views(database)
    view = database[name]
    view.merge(view.partial())
    return view


def _readable(view: View) -> pa.Schema:
    """The columns of a view that views over it can read."""
    return pa.schema([field for field in view.schema if not pa.types.is_struct(field.type)])
