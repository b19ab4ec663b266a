"""Other views and more columns for a stream that is stopped; no row is read again.

On the driver a checkpoint only moves forwards: `plan.json` first names the plan that it is
becoming, the state follows, and then `plan.json` names that plan as its own. The changes that this
makes in views are kept in files of their own, for the sink of the next micro-batch.

Invariant: killed anywhere, the checkpoint is what it was, or says that it is becoming another, and
a repeated evolution ends that. Replayed, the changes that a sink was given of a view are the view,
through its replacement too. Cost: views that are new or replaced are filled from the rows that are
kept, and all views that are replaced are read; with mode="partitioned" all rows are moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ringview import Database
from ringview.errors import CheckpointError, InvalidValueError, did_you_mean
from ringview.spark.releases import STATE, require
from ringview.spark.streaming import locations, marks, persisting, replacing, unsent
from ringview.spark.streaming.checkpoint import BECOMING, Checkpoint, difference
from ringview.spark.streaming.marks import has_sent, is_waiting, last_batch
from ringview.spark.streaming.partitioned import evolving as partitioned
from ringview.spark.streaming.plan import Plan
from ringview.spark.streaming.source import Source
from ringview.spark.types import arrow_schema

Columns = Mapping[str, Sequence[str]]
"""Columns by table."""

_SQL_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "REAL",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}


def widened(plan: Plan, sources: Mapping[str, Source], checkpoint: Checkpoint) -> Plan:
    """The plan with all columns that its checkpoint keeps, read by a view or not, in its order."""
    try:
        noted = checkpoint.noted().get("tables", {})
    except (OSError, ValueError):
        # `Checkpoint.agree` raises the error.
        return plan
    tables = []
    for table in plan.tables:
        kept = noted.get(table.name, {}).get("columns", {})
        there = {field.name: field for field in arrow_schema(sources[table.name].row)[0]}
        fields = [
            there[name].with_nullable(True)
            for name, kind in kept.items()
            if name in there and (name in table.columns.names or str(there[name].type) == kind)
        ]
        fields += [field for field in table.columns if field.name not in kept]
        tables.append(replace(table, columns=pa.schema(fields)))
    return replace(plan, tables=tuple(tables))


def evolve(
    plan: Plan, sources: Mapping[str, Source], checkpoint: Checkpoint, new_columns: Columns
) -> None:
    """Give a checkpoint that no stream has open this plan."""
    if not checkpoint.is_made:
        raise CheckpointError(
            f"the checkpoint {checkpoint.folder} is of no stream; there is nothing to evolve"
        )
    plan, noted = widened(plan, sources, checkpoint), checkpoint.noted()
    was = noted.pop(BECOMING, None)
    if was is None:
        _check(noted, plan, checkpoint, new_columns)
    elif told := difference(noted, {**noted, **plan.described()}):
        raise CheckpointError(
            f"the checkpoint {checkpoint.folder} is becoming another query: {told}; ask what was "
            "asked then"
        )
    described = {**noted, **plan.described()}
    if noted["mode"] == "partitioned":
        require(STATE, 'a checkpoint with mode="partitioned"', "evolve it where the stream runs")
        partitioned.evolve(plan, sources, checkpoint, noted)
        return
    was_there = was or {"views": noted["views"]}
    with persisting.opened(checkpoint, plan, was_there["views"], tells_last=False) as persistence:
        if is_whole := _is_whole(plan, persistence.database):
            evolution = _Evolution(plan, checkpoint, persistence.database, was_there)
            if was is None:
                evolution.check()
                checkpoint.note({**described, BECOMING: evolution.begin()})
            evolution.run()
            persistence.rewrite()
    if not is_whole:
        locations.remove(checkpoint.state / persisting.STATE)
    checkpoint.note(described)


def _is_whole(plan: Plan, database: Database) -> bool:
    """Whether the first start was completed; if not, there is no row, and the next one does it."""
    return all(
        table.name in database.tables
        and (not table.static or database.is_applied(marks.loaded(table.name)))
        for table in plan.tables
    )


class _Evolution:
    """The move of a state to another plan; it can be repeated from any point."""

    def __init__(
        self, plan: Plan, checkpoint: Checkpoint, database: Database, was: Mapping[str, Any]
    ) -> None:
        self._plan, self._checkpoint, self._database = plan, checkpoint, database
        self._before: Mapping[str, str] = was["views"]
        self._last = last_batch(database)
        self._has_sink = has_sent(database, self._last)
        self._held = checkpoint.state / "evolving"
        state, batch = checkpoint.state, self._last + 1
        self._number: int = was.get("number", len(unsent.evolutions(state, batch)))

    def check(self) -> None:
        """Refuse changes that could not be sent to a sink."""
        if not self._has_sink:
            return
        if is_waiting(self._database, self._last):
            raise CheckpointError(
                f"the sink of the checkpoint {self._checkpoint.folder} has not taken micro-batch "
                f"{self._last}; start the stream as it was once more, and then evolve it"
            )
        views = self._database.views
        replacing.check(
            {name: views[name].schema for name in self._before}, replacing.schemas(self._plan)
        )

    def begin(self) -> dict[str, Any]:
        """Keep the rows of views that may be replaced, as a sink was given them.

        Returns:
            The state that a repetition needs.
        """
        locations.remove(self._held)
        changed = replacing.changed(self._before, self._plan.views)
        held = self._before if self._has_sink and changed else ()
        unsent.keep(self._held, {name: self._database[name].changes() for name in held})
        return {"views": dict(self._before), "number": self._number}

    def run(self) -> None:
        """Let the state follow, and keep what moves by it."""
        database, plan = self._database, self._plan
        for name in replacing.changed(self._before, plan.views):
            if name in database.views:
                database.drop_view(name, cascade=True)
        stay = [name for name in self._before if name in database.views]
        for table in plan.tables:
            known = database.tables[table.name].schema.names
            for field in table.columns:
                if field.name not in known:
                    kind = _sql_type(field.type)
                    database.execute(
                        f"ALTER TABLE {_quoted(table.name)} ADD COLUMN {_quoted(field.name)} {kind}"
                    )
        plan.create_views(database)
        if self._has_sink:
            self._keep_view_changes([name for name in plan.views if name not in stay])
        locations.remove(self._held)

    def _keep_view_changes(self, views: Sequence[str]) -> None:
        """Keep for the sink of the next batch what moved in views."""
        held = unsent.read(self._held) or {}
        moved = {
            name: replacing.delta(held.get(name), self._database[name].changes()) for name in views
        }
        state = self._checkpoint.state
        unsent.keep(unsent.of_evolution(state, self._last + 1, self._number), moved)


def _check(
    noted: Mapping[str, Any], plan: Plan, checkpoint: Checkpoint, new_columns: Columns
) -> None:
    """Refuse everything but other views and columns that the caller named as new."""
    now = plan.described()
    for name, columns in new_columns.items():
        if name not in now["tables"]:
            raise InvalidValueError(
                f'new_columns: there is no table "{name}"{did_you_mean(name, now["tables"])}'
            )
        for column in columns:
            if column not in now["tables"][name]["columns"]:
                raise InvalidValueError(
                    f'new_columns: no view reads column "{column}" of table "{name}"'
                )
    tables = {}
    for name, table in noted["tables"].items():
        new = {
            column: now["tables"][name]["columns"][column]
            for column in new_columns.get(name, ())
            if column not in table["columns"]
        }
        tables[name] = {**table, "columns": {**table["columns"], **new}}
    same = {key: noted.get(key) for key in now}
    if told := difference({**same, "tables": tables, "views": now["views"]}, now):
        raise CheckpointError(
            f"the checkpoint {checkpoint.folder} cannot become this query: {told}; views may "
            "change, and columns come: what rows before have not, since the source has it only "
            'now, is named by new_columns={"table": ["column"]} and NULL there'
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _SQL_TYPES[kind]
