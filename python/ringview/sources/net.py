"""Net effect of upserts and deletes by key, for feeds that repeat themselves.

Invariant: the last row of each key decides; a delete of a key that the table lacks is left out. So
a batch that is sent twice, a second delete and a tombstone behind a delete change nothing. Cost:
nothing without deletes; else O(rows) in pyarrow, and a look-up by key a delete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .batch import Change
from .casts import DELETES, cast
from .values import Kept

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table import Table

_NUMBER = "ringview_number"


def netted(rows: pa.Table, op: str, table: Table) -> pa.Table:
    """Rows of upserts and deletes without those that have no effect.

    >>> import pyarrow as pa
    >>> import ringview as rv
    >>> table = rv.Database().create_table("r", {"a": "int64"}, unique="a")
    >>> table.insert({"a": [1]})
    >>> feed = {"op": ["upsert", "d", "d", "d"], "a": [2, 2, 1, 1]}
    >>> netted(pa.table(feed), "op", table).to_pylist()
    [{'op': 'd', 'a': 1}]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.unique is None or not pc.any(_deletes(rows, op)).as_py():
        return rows
    keys = rows.select(table.unique).combine_chunks()
    numbered = keys.append_column(_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    last = numbered.group_by(table.unique).aggregate([(_NUMBER, "max")])[f"{_NUMBER}_max"]
    rows = rows.take(last.take(pc.sort_indices(last)))
    gone = _deletes(rows, op)
    there = iter(table.get_many(rows.filter(gone).select(table.unique)))
    return rows.filter(
        pa.array([not each or next(there) is not None for each in gone.to_pylist()], pa.bool_())
    )


def _deletes(rows: pa.Table, op: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(pc.utf8_lower(rows[op]), pa.array(sorted(DELETES)))


def filled(change: Change, table: Table) -> Change:
    """A change whose rows have the values that their messages leave out.

    Each is that of the last row of its key before, in the change or in the table; where there is
    none it stays left out, which no column takes. Cost: a look at each value, and a look-up by key
    a row with such a value.
    """
    rows: Any = change.rows
    if not isinstance(rows, list) or not any(Kept.KEPT in row.values() for row in rows):
        return change
    keys = table.unique or []
    fields = {field.name: field for field in table.schema}
    listed = [
        cast([row.get(name) for row in rows], fields[name].type, change.casts)[0].to_pylist()
        for name in keys
    ]
    of_rows = list(zip(*listed, strict=True)) or [()] * len(rows)
    asked = list(
        {key: None for key, row in zip(of_rows, rows, strict=True) if Kept.KEPT in row.values()}
    )
    latest: dict[tuple[Any, ...], Mapping[str, Any] | None] = {}
    if keys:
        latest = dict(zip(asked, table.get_many(asked), strict=True))
    found: list[Mapping[str, Any]] = []
    for key, row in zip(of_rows, rows, strict=True):
        old = latest.get(key) or {}
        new = {
            name: old.get(name, value) if value is Kept.KEPT else value
            for name, value in row.items()
        }
        gone = change.op is not None and str(row.get(change.op)).lower() in DELETES
        latest[key] = None if gone else new
        found.append(new)
    return replace(change, rows=found)
