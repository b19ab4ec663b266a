"""Changes by key that come late: in a later micro-batch than one that happened after them.

Of each key the last change is kept, by the column that orders changes, in a table of the same
database: so it stands and falls with the rows. A key that is gone is kept there too.

Invariant: the rows of a table whose changes are ordered are those of the last change of each key,
however the changes were cut into micro-batches. Cost: a look-up and an upsert a key that changes;
the key and its place in the order are kept for every key that ever was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from ringview import Database
from ringview.spark.streaming.changes import GONE, Change, tied
from ringview.spark.streaming.plan import AT, RANK, Plan, TablePlan

LATE = "late"
"""Under this name the metrics of a stream say how many keys came late, by table."""


def settled(
    database: Database, plan: Plan, changes: Sequence[Change]
) -> tuple[list[Change], dict[str, int]]:
    """The changes without those that come late, and with what is kept of them; how many came late.

    Raises:
        InvalidValueError: Two changes of a key are at one place of the order.
    """
    found: list[Change] = []
    late: dict[str, int] = {}
    for change in changes:
        history = plan.histories.get(change.table.name)
        if history is None:
            found.append(change)
            continue
        view = plan.history_view(history.name)
        fresh, kept = _fresh(database, view, change, history)
        late[change.table.name] = change.rows.num_rows - kept.num_rows
        found += [fresh, Change(history, kept, kept.num_rows)]
    return found, late


def _fresh(
    database: Database, view: str, change: Change, history: TablePlan
) -> tuple[Change, pa.Table]:
    """The changes behind which none of their key has come, and the rows of the history for them."""
    table, rows = change.table, change.rows
    assert table.keys is not None
    assert table.order_column is not None
    assert change.rank is not None
    named = [*table.keys, table.order_column, change.rank]
    told = rows.select(named).rename_columns(history.columns.names).cast(history.columns)
    before = _before(database, view, told, history)
    at, rank = told[AT], told[RANK]
    is_same = pc.equal(at, before[AT])
    if pc.any(tie := pc.and_(is_same, pc.equal(rank, before[RANK])), min_count=0).as_py():
        first = pc.index(tie, True).as_py()
        raise tied(table, rows.slice(first, 1).select(list(table.keys)), at[first].as_py())
    after = pc.greater(at, before[AT])
    after = pc.or_(after, pc.and_(is_same, pc.greater(rank, before[RANK])))
    # A key that is new is compared with NULL.
    is_fresh = pc.fill_null(after, True)
    is_there = _none_of(before[RANK], GONE)
    rows, told = rows.filter(is_fresh), told.filter(is_fresh)
    if table.op is not None:
        comes = _none_of(told[RANK], GONE)
        words = pc.if_else(comes, "upsert", "delete")
        rows = rows.set_column(rows.column_names.index(table.op), table.op, words)
        # What is not there need not go.
        rows = rows.filter(pc.or_(comes, is_there.filter(is_fresh)))
    rows = rows.drop_columns([table.order_column, change.rank])
    return replace(change, rows=rows, rank=None), told


def _none_of(ranks: pa.ChunkedArray, wanted: Sequence[int]) -> pa.ChunkedArray:
    """Whether a rank is known, and none of these."""
    differ = [pc.not_equal(ranks, rank) for rank in wanted]
    return pc.fill_null(reduce(pc.and_, differ), False)


def _before(database: Database, view: str, told: pa.Table, history: TablePlan) -> pa.Table:
    """The last changes of these keys so far, row by row; NULL where there was none."""
    assert history.keys is not None
    schema = pa.schema([history.columns.field(AT), history.columns.field(RANK)])
    if not len(database[view]):
        return pa.table([pa.nulls(told.num_rows, kind) for kind in schema.types], schema)
    rows = database[view].get_many(told.select(list(history.keys)))
    listed = [{} if row is None else {AT: row[AT], RANK: row[RANK]} for row in rows]
    return pa.Table.from_pylist(listed, schema)
