"""Changes by key that are late: in a later micro-batch than one that happened after them.

Of each key the last change is kept, by the column that orders changes, in a table of the same
database: so it is committed and lost with the rows. A deleted key is kept there too.

Invariant: the rows of a table whose changes are ordered are those of the last change of each key,
however the changes were cut into micro-batches. Cost: an upsert a key that changes, and a look-up
where a change is not behind all before it, or deletes; the key and its place in the order are kept
for every key that ever was. The first micro-batch reads them all once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.spark.streaming.changes import GONE, Change, tied
from ringview.spark.streaming.plan import AT, RANK, Plan, TablePlan

LATE = "late"
"""Under this name the metrics of a stream say how many keys came late, by table."""


class Latest:
    """The last changes of the keys of a database."""

    def __init__(self, plan: Plan, database: Database) -> None:
        self._plan, self._database = plan, database
        self._highest: dict[str, pa.Scalar] = {}

    def resolve(self, changes: Sequence[Change]) -> tuple[list[Change], dict[str, int]]:
        """The changes without late ones, with the history's; the number of late ones by table.

        Raises:
            InvalidValueError: Two changes of a key are at one place of the order.
        """
        found: list[Change] = []
        late: dict[str, int] = {}
        for change in changes:
            history = self._plan.histories.get(change.table.name)
            if history is None:
                found.append(change)
                continue
            fresh, kept = self._fresh(change, history)
            late[change.table.name] = change.rows.num_rows - kept.num_rows
            found += [fresh, Change(history, kept, kept.num_rows)]
        return found, late

    def _fresh(self, change: Change, history: TablePlan) -> tuple[Change, pa.Table]:
        """The changes that are the last of their keys so far, and the history's rows of them."""
        table, rows = change.table, change.rows
        assert table.keys is not None
        assert table.order_column is not None
        assert change.rank is not None
        told = _as_history(
            rows.select([*table.keys, table.order_column, change.rank]), history.columns
        )
        at, rank = told[AT], told[RANK]
        before = self._before(told, history)
        is_same = pc.equal(at, before[AT])
        if pc.any(tie := pc.and_(is_same, pc.equal(rank, before[RANK])), min_count=0).as_py():
            row = rows.slice(pc.index(tie, True).as_py(), 1)
            raise tied(table, row.select(list(table.keys)), row[table.order_column][0].as_py())
        after = pc.greater(at, before[AT])
        after = pc.or_(after, pc.and_(is_same, pc.greater(rank, before[RANK])))
        # A key that is new is compared with NULL.
        is_fresh = pc.fill_null(after, True)
        rows, told = rows.filter(is_fresh), told.filter(is_fresh)
        if table.op is not None:
            comes = _is_none_of(told[RANK], GONE)
            words = pc.if_else(comes, "upsert", "delete")
            rows = rows.set_column(rows.column_names.index(table.op), table.op, words)
            # An absent row need not be deleted.
            is_there = _is_none_of(before[RANK].filter(is_fresh), GONE)
            rows = rows.filter(pc.or_(comes, is_there))
        rows = rows.drop_columns([table.order_column, change.rank])
        return replace(change, rows=rows, rank=None), told

    def _before(self, told: pa.Table, history: TablePlan) -> pa.Table:
        """The last changes of these keys so far, row by row; NULL where there was none.

        Inserts behind all earlier changes are not looked up.
        """
        assert history.keys is not None
        schema = pa.schema([history.columns.field(AT), history.columns.field(RANK)])
        listed: list[dict[str, Any]] = [{}] * told.num_rows
        if told.num_rows:
            highest = self._above(told[AT], history)
            if highest is not None:
                asked = pc.invert(_is_none_of(told[RANK], GONE))
                asked = pc.or_(asked, pc.less_equal(told[AT], highest))
                places = pc.indices_nonzero(asked)
                keys = told.select(list(history.keys)).take(places)
                view = self._database[self._plan.history_view(history.name)]
                rows = view.get_many(keys) if len(places) else []
                for place, row in zip(places.to_pylist(), rows, strict=True):
                    if row is not None:
                        listed[place] = {AT: row[AT], RANK: row[RANK]}
        columns = [[row.get(name) for row in listed] for name in schema.names]
        arrays = [
            # A sum may be wider than what was summed.
            pa.chunked_array([pa.array(column)]).cast(kind)
            for column, kind in zip(columns, schema.types, strict=True)
        ]
        return pa.table(arrays, schema)

    def _above(self, places: pa.ChunkedArray, history: TablePlan) -> pa.Scalar | None:
        """The greatest place before these, None if there was none; from now on these count too."""
        highest = self._highest.get(history.name)
        if highest is None:
            known = self._database.tables[history.name].to_arrow()[AT]
            highest = pc.max(known) if len(known) else None
        greatest = pc.max(places)
        # Too high, where the transaction fails, only means more look-ups.
        is_higher = highest is None or pc.greater(greatest, highest).as_py()
        self._highest[history.name] = greatest if is_higher else highest
        return highest


def _as_history(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """Rows as the history has them."""
    arrays = []
    for column, kind in zip(rows.columns, columns.types, strict=True):
        if pa.types.is_date32(column.type) and kind == pa.int64():
            column = column.cast(pa.int32())
        arrays.append(column.cast(kind))
    return pa.table(arrays, columns)


def _is_none_of(ranks: pa.ChunkedArray, wanted: Sequence[int]) -> pa.ChunkedArray:
    """Whether a rank is known, and none of these."""
    differ = [pc.not_equal(ranks, rank) for rank in wanted]
    return pc.fill_null(reduce(pc.and_, differ), False)
