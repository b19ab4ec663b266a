"""A micro-batch as changes of a database.

Invariant: what comes out does not depend on how rows lay in partitions, of which Spark keeps no
order: bags take the net effect of a micro-batch. Of changes by key the last one counts where a
column orders them (`latest` compares it with those of earlier micro-batches); else they go in the
only order in which they make sense, and where there are several they are refused. Cost: O(rows),
and a sort of the changes by key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ringview.errors import InvalidValueError, NullKeyError
from ringview.rows import Rows
from ringview.spark.streaming.plan import RANK, Plan, TablePlan

COMES = ("insert", "i", "+i", "c", "create", "r", "read", "+u", "update_postimage")
GOES = ("delete", "d", "-d", "-u", "update_preimage")

GONE = 1, 3
"""The ranks of changes behind which there is no row of the key."""

# An insert is the first thing that happens to a key, the old half of an update comes before the
# new one, and a delete is the last.
_RANKS = (
    ("insert", "i", "+i", "c", "create", "r", "read"),
    ("-u", "update_preimage"),
    ("update", "u", "+u", "update_postimage", "upsert"),
    ("delete", "d", "-d"),
)


class Changing(Protocol):
    """What takes changes: a database, or a transaction."""

    def insert(self, table: str, rows: Rows, *, multiplicity: str | None = None) -> None:
        """As `ringview.Database.insert`."""

    def upsert(self, table: str, rows: Rows) -> None:
        """As `ringview.Database.upsert`."""

    def apply(self, table: str, rows: Rows, *, op: str) -> None:
        """As `ringview.Database.apply`."""


@dataclass(frozen=True)
class Change:
    """Rows of one table, ready to be applied."""

    table: TablePlan
    rows: pa.Table
    arrived: int
    """How many rows came."""
    net: bool = False
    """Whether rows leave, maybe such as come in the same micro-batch."""
    rank: str | None = None
    """Of the last change of each key, the column of ranks; the column to order by is there, too."""

    def apply(self, to: Changing) -> None:
        """Hand the rows over."""
        table, name = self.table, self.table.name
        if table.changes == "upserts":
            to.upsert(name, self.rows)
        elif table.changes == "words":
            assert table.op is not None
            to.apply(name, self.rows, op=table.op)
        elif table.multiplicity in self.rows.column_names:
            to.insert(name, self.rows, multiplicity=table.multiplicity)
        else:
            to.insert(name, self.rows)


def decode(plan: Plan, batches: Iterable[pa.RecordBatch]) -> list[Change]:
    """The changes that the rows of a micro-batch ask for, in slots as ``plan.layout`` has them.

    Raises:
        InvalidValueError: A word that says no change, or changes of one key in no order; the
            message names table and row.
        NullKeyError: NULL in a multiplicity, or in what changes are ordered by.
    """
    arrived = plan.arrived(batches)
    return [_change(table, arrived[table.name]) for table in plan.streams if table.name in arrived]


def is_net(changes: Sequence[Change]) -> bool:
    """Whether the net effect of a transaction of these must count."""
    return any(change.net for change in changes)


def _change(table: TablePlan, rows: pa.Table) -> Change:
    if table.changes == "rows":
        return _counted(table, rows)
    rows = rows.drop_columns([table.multiplicity])
    if table.changes == "signs":
        return _signed(table, _without_tombstones(table, rows))
    arrived = rows.num_rows
    if table.changes == "words":
        rows = _without_tombstones(table, rows)
    if table.order_column is not None:
        rank = _fresh(RANK, rows)
        return Change(table, _last(table, _in_order(table, rows, rank)), arrived, rank=rank)
    rank = _fresh(RANK, rows)
    return Change(table, _in_order(table, rows, rank).drop_columns([rank]), arrived)


def _counted(table: TablePlan, rows: pa.Table) -> Change:
    counts = rows[table.multiplicity]
    if counts.null_count:
        at = pc.index(pc.is_null(counts), True).as_py()
        row = rows.slice(at, 1).drop_columns([table.multiplicity])
        raise NullKeyError(
            f'table "{table.name}": the multiplicity of the row {_shown(row)} is NULL; say how '
            "often it comes, or drop the row"
        )
    least = pc.min_max(counts).as_py()
    if least["min"] == least["max"] == 1:
        return Change(table, rows.drop_columns([table.multiplicity]), rows.num_rows)
    return Change(table, rows, rows.num_rows, net=least["min"] is not None and least["min"] < 0)


def _signed(table: TablePlan, rows: pa.Table) -> Change:
    assert table.op is not None
    words = pc.utf8_lower(rows[table.op])
    comes, goes = _among(words, COMES), _among(words, GOES)
    known = pc.or_(comes, goes)
    if not pc.all(known, min_count=0).as_py():
        row = rows.slice(pc.index(known, False).as_py(), 1)
        word = row[table.op][0].as_py()
        raise InvalidValueError(
            f'table "{table.name}": {_word(word)} in the row '
            f"{_shown(row.drop_columns([table.op]))} needs a key to find the row that it changes; "
            f'say keys={{"{table.name}": ..}}, or write insert or delete'
        )
    signs = pc.if_else(comes, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    rows = rows.drop_columns([table.op]).append_column(table.multiplicity, signs)
    return Change(table, rows, rows.num_rows, net=bool(pc.any(goes, min_count=0).as_py()))


def _without_tombstones(table: TablePlan, rows: pa.Table) -> pa.Table:
    """Kafka keeps a NULL behind a delete; read as a row, it has no word and no value."""
    assert table.op is not None
    if not rows[table.op].null_count:
        return rows
    empty = pc.is_null(rows[table.op])
    for name in table.columns.names:
        empty = pc.and_(empty, pc.is_null(rows[name]))
    return rows.filter(pc.invert(empty))


def _in_order(table: TablePlan, rows: pa.Table, rank: str) -> pa.Table:
    """Changes by key in the order in which they happened, with a column of ranks."""
    assert table.keys is not None
    by = [rank]
    if table.order_column is not None:
        rows, by = _ordered(table, rows, table.order_column), [table.order_column, rank]
    if table.op is None:
        ranks: pa.ChunkedArray | pa.Array = pa.repeat(pa.scalar(0, pa.int8()), rows.num_rows)
    else:
        ranks = _ranks(pc.utf8_lower(rows[table.op]))
    rows = rows.append_column(rank, ranks)
    _check_order(table, rows, [*table.keys, *by])
    return rows.sort_by([(name, "ascending") for name in by])


def _ordered(table: TablePlan, rows: pa.Table, by: str) -> pa.Table:
    """Rows whose place in the order is known, and whose words are."""
    places = rows[by]
    unknown = pc.is_null(places, nan_is_null=True)
    if pc.any(unknown, min_count=0).as_py():
        at = pc.index(unknown, True).as_py()
        row = rows.slice(at, 1)
        shown = _shown(row.select(table.columns.names))
        said = "NaN" if row[by][0].is_valid else "NULL"
        raise NullKeyError(
            f'table "{table.name}": what changes are ordered by is {said} in the row {shown}'
        )
    if pa.types.is_floating(places.type):
        # Both zeros are one place.
        places = pc.add(places, pa.scalar(0, places.type))
        rows = rows.set_column(rows.column_names.index(by), by, places)
    if table.op is not None:
        known = _among(pc.utf8_lower(rows[table.op]), [word for words in _RANKS for word in words])
        if not pc.all(known, min_count=0).as_py():
            row = rows.slice(pc.index(known, False).as_py(), 1)
            raise InvalidValueError(
                f'table "{table.name}": {_word(row[table.op][0].as_py())} in the row '
                f"{_shown(row.select(table.columns.names))} is no change; write insert, update, "
                "upsert or delete (or I, U, D; +I, -U, +U, -D; c, u, d, r)"
            )
    return rows


def _last(table: TablePlan, rows: pa.Table) -> pa.Table:
    """Of rows in order, the last one of each key."""
    assert table.keys is not None
    number = _fresh("number", rows)
    numbered = rows.select(list(table.keys)).append_column(number, pa.array(range(rows.num_rows)))
    grouped = numbered.group_by(list(table.keys), use_threads=False)
    return rows.take(grouped.aggregate([(number, "max")])[f"{number}_max"])


def _check_order(table: TablePlan, rows: pa.Table, by: Sequence[str]) -> None:
    """Refuse two changes of a key of which nothing says which one came first."""
    counts = rows.select(by).group_by(by, use_threads=False).aggregate([([], "count_all")])
    times = counts["count_all"]
    if not rows.num_rows or pc.max(times).as_py() == 1:
        return
    row = counts.slice(pc.index(pc.greater(times, 1), True).as_py(), 1)
    assert table.keys is not None
    key = row.select(list(table.keys))
    if table.order_column is not None:
        raise tied(table, key, row[table.order_column][0].as_py())
    raise InvalidValueError(
        f'table "{table.name}": two changes of the key {_shown(key)} came in one micro-batch, in '
        f'which Spark keeps no order: say order={{"{table.name}": ..}}, a column that says which '
        "came first"
    )


def tied(table: TablePlan, key: pa.Table, at: object) -> InvalidValueError:
    """Two changes of a key at one place of the order, in one micro-batch or in two."""
    return InvalidValueError(
        f'table "{table.name}": two changes of the key {_shown(key)} are both at {at!r} of what '
        "they are ordered by; order by what tells them apart"
    )


def _ranks(words: pa.ChunkedArray) -> pa.ChunkedArray:
    # A word that says no change is told by the database, which knows them all.
    ranks = pa.scalar(len(_RANKS), pa.int8())
    for rank, named in reversed(list(enumerate(_RANKS))):
        ranks = pc.if_else(_among(words, named), pa.scalar(rank, pa.int8()), ranks)
    return ranks


def _among(words: pa.ChunkedArray, named: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(words, value_set=pa.array(named))


def _fresh(name: str, rows: pa.Table) -> str:
    while name in rows.column_names:
        name += "_"
    return name


def _word(word: str | None) -> str:
    return "NULL" if word is None else f'"{word}"'


def _shown(row: pa.Table) -> str:
    """One row, as the messages of the database show rows."""
    values = row.to_pylist()[0]
    shown = (f"{name} = {_value(value)}" for name, value in values.items())
    return f"({', '.join(shown)})"


def _value(value: object) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
