"""A micro-batch as changes of a database.

Invariant: the result does not depend on the partitions of the rows, of which Spark keeps no order:
bags take the net effect of a micro-batch. Of changes by key the last one counts if a column orders
them (`latest` compares it with those of earlier micro-batches). Else they are applied in the only
order in which they make sense, and are refused if there are several. Cost: O(rows), and a sort of
the changes by key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ringview.convert.rows import Rows
from ringview.errors import InvalidValueError, NullKeyError, RingviewError
from ringview.spark.streaming.plan import RANK, Plan, TablePlan

COMES = ("insert", "i", "+i", "c", "create", "r", "read", "+u", "update_postimage")
GOES = ("delete", "d", "-d", "-u", "update_preimage")

GONE = 1, 3
"""The ranks of changes behind which there is no row of the key."""

# An insert is the first change of a key, the old half of an update precedes the new one, and a
# delete is the last.
_RANKS = (
    ("insert", "i", "+i", "c", "create", "r", "read"),
    ("-u", "update_preimage"),
    ("update", "u", "+u", "update_postimage", "upsert"),
    ("delete", "d", "-d"),
)


def rank_of(word: str) -> int:
    """Rank of a word among those of one micro-batch: the first changes of a key rank lowest.

    >>> rank_of("c") < rank_of("U") < rank_of("delete") < rank_of("no")
    True
    """
    found = (rank for rank, words in enumerate(_RANKS) if word.lower() in words)
    return next(found, len(_RANKS))


class Changing(Protocol):
    """A receiver of changes: a database, or a transaction."""

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


Problem = Callable[[pa.Table], RingviewError]
"""What is wrong with a row, given that row."""


class Refusing(Protocol):
    """Treatment of rows that break a contract."""

    def __call__(
        self, table: TablePlan, rows: pa.Table, wrong: pa.ChunkedArray, problem: Problem
    ) -> pa.Table:
        """The rows that are left, where a column of booleans says which ones are wrong."""


def refuse(table: TablePlan, rows: pa.Table, wrong: pa.ChunkedArray, problem: Problem) -> pa.Table:
    """End with the problem of the first row that is wrong; else all rows are left.

    Raises:
        RingviewError: That problem.
    """
    if pc.any(wrong, min_count=0).as_py():
        raise problem(rows.slice(pc.index(wrong, True).as_py(), 1))
    return rows


def decode(plan: Plan, batches: Iterable[pa.RecordBatch]) -> list[Change]:
    """The changes of the rows of a micro-batch, in slots as ``plan.layout`` has them.

    Raises:
        InvalidValueError: A word that says no change, or changes of one key in no order; the
            message names table and row.
        NullKeyError: NULL in a key, in a multiplicity, or in what changes are ordered by.
    """
    return changes_of(plan, plan.arrived(batches))


def changes_of(
    plan: Plan, arrived: Mapping[str, pa.Table], refusing: Refusing = refuse
) -> list[Change]:
    """The changes of rows, by table as `Plan.arrived` gives them.

    Further columns of them are in the changes too.

    Raises:
        RingviewError: What ``refusing`` raises; by default as `decode`.
    """
    return [
        _change(table, arrived[table.name], refusing)
        for table in plan.streams
        if table.name in arrived
    ]


def coming(table: TablePlan, rows: pa.Table) -> pa.ChunkedArray:
    """Mask of inserted rows: all but deletes, and rows that `changes_of` refuses save for ties."""
    if table.changes == "rows":
        comes = pc.greater(rows[table.multiplicity], 0)
    elif table.op is None:
        comes = pc.is_valid(rows[table.multiplicity])
    else:
        named = [*COMES, *(_RANKS[2] if table.keys else ())]
        comes = _among(pc.utf8_lower(rows[table.op]), named)
    known = list(table.keys or ())
    if table.order_column is not None:
        known.append(table.order_column)
    for name in known:
        comes = pc.and_(comes, pc.invert(pc.is_null(rows[name], nan_is_null=True)))
    return pc.fill_null(comes, False)


def is_net(changes: Sequence[Change]) -> bool:
    """Whether the net effect of a transaction of these must count."""
    return any(change.net for change in changes)


def _change(table: TablePlan, rows: pa.Table, refusing: Refusing) -> Change:
    if table.changes == "rows":
        return _counted(table, rows, refusing)
    rows = rows.drop_columns([table.multiplicity])
    if table.changes == "signs":
        return _signed(table, _without_tombstones(table, rows), refusing)
    arrived = rows.num_rows
    if table.changes == "words":
        rows = _without_tombstones(table, rows)
    rank = _fresh(RANK, rows)
    ordered = _in_order(table, rows, rank, refusing)
    if table.order_column is not None:
        return Change(table, _last(table, ordered), arrived, rank=rank)
    return Change(table, ordered.drop_columns([rank]), arrived)


def _counted(table: TablePlan, rows: pa.Table, refusing: Refusing) -> Change:
    arrived = rows.num_rows
    if rows[table.multiplicity].null_count:
        rows = refusing(
            table,
            rows,
            pc.is_null(rows[table.multiplicity]),
            lambda row: NullKeyError(
                f'table "{table.name}": the multiplicity of the row {_own(table, row)} is NULL; '
                "say how often it comes, or drop the row"
            ),
        )
    least = pc.min_max(rows[table.multiplicity]).as_py()
    if least["min"] == least["max"] == 1:
        return Change(table, rows.drop_columns([table.multiplicity]), arrived)
    return Change(table, rows, arrived, net=least["min"] is not None and least["min"] < 0)


def _signed(table: TablePlan, rows: pa.Table, refusing: Refusing) -> Change:
    assert table.op is not None
    op, arrived = table.op, rows.num_rows
    rows = refusing(
        table,
        rows,
        pc.invert(_among(pc.utf8_lower(rows[op]), [*COMES, *GOES])),
        lambda row: InvalidValueError(
            f'table "{table.name}": {_operation(row[op][0].as_py())} in the row {_own(table, row)} '
            f'needs a key to find the row that it changes; say keys={{"{table.name}": ..}}, or '
            "write insert or delete"
        ),
    )
    goes = _among(pc.utf8_lower(rows[op]), GOES)
    signs = pc.if_else(goes, pa.scalar(-1, pa.int64()), pa.scalar(1, pa.int64()))
    rows = rows.drop_columns([op]).append_column(table.multiplicity, signs)
    return Change(table, rows, arrived, net=bool(pc.any(goes, min_count=0).as_py()))


def _without_tombstones(table: TablePlan, rows: pa.Table) -> pa.Table:
    """Kafka keeps a NULL behind a delete; read as a row, it has no word and no value."""
    assert table.op is not None
    if not rows[table.op].null_count:
        return rows
    empty = pc.is_null(rows[table.op])
    for name in table.columns.names:
        empty = pc.and_(empty, pc.is_null(rows[name]))
    return rows.filter(pc.invert(empty))


def _in_order(table: TablePlan, rows: pa.Table, rank: str, refusing: Refusing) -> pa.Table:
    """Changes by key in the order in which they happened, with a column of ranks."""
    assert table.keys is not None
    rows = _with_keys(table, rows, refusing)
    by = [rank]
    if table.order_column is not None:
        rows = _with_order(table, rows, table.order_column, refusing)
        by = [table.order_column, rank]
    if table.op is None:
        rows = rows.append_column(rank, pa.repeat(pa.scalar(0, pa.int8()), rows.num_rows))
    else:
        rows = _with_operations(table, rows.append_column(rank, _ranks(rows[table.op])), refusing)
    rows = _without_ties(table, rows, [*table.keys, *by], refusing)
    return rows.sort_by([(name, "ascending") for name in by])


def _with_keys(table: TablePlan, rows: pa.Table, refusing: Refusing) -> pa.Table:
    """Rows whose key is known."""
    for name in table.keys or ():
        if rows[name].null_count:

            def without(row: pa.Table, name: str = name) -> RingviewError:
                return NullKeyError(
                    f'table "{table.name}": "{name}", which is of its key, is NULL in the row '
                    f"{_own(table, row)}; NULL equals nothing, so no row can be found by it: give "
                    "the key, or drop the row"
                )

            rows = refusing(table, rows, pc.is_null(rows[name]), without)
    return rows


def _with_order(table: TablePlan, rows: pa.Table, by: str, refusing: Refusing) -> pa.Table:
    """Rows whose place in the order is known."""

    def without(row: pa.Table) -> RingviewError:
        said = "NaN" if row[by][0].is_valid else "NULL"
        return NullKeyError(
            f'table "{table.name}": what changes are ordered by is {said} in the row '
            f"{_own(table, row)}"
        )

    rows = refusing(table, rows, pc.is_null(rows[by], nan_is_null=True), without)
    places = rows[by]
    if not pa.types.is_floating(places.type):
        return rows
    # Both zeros are one place.
    places = pc.add(places, pa.scalar(0, places.type))
    return rows.set_column(rows.column_names.index(by), by, places)


def _with_operations(table: TablePlan, rows: pa.Table, refusing: Refusing) -> pa.Table:
    """Rows whose word says a change; the last column is its rank."""
    op = table.op
    assert op is not None
    return refusing(
        table,
        rows,
        pc.equal(rows.columns[-1], len(_RANKS)),
        lambda row: InvalidValueError(
            f'table "{table.name}": {_operation(row[op][0].as_py())} in the row {_own(table, row)} '
            "is no change; write insert, update, upsert or delete (or I, U, D; +I, -U, +U, -D; c, "
            "u, d, r)"
        ),
    )


def _last(table: TablePlan, rows: pa.Table) -> pa.Table:
    """Of rows in order, the last one of each key."""
    assert table.keys is not None
    number = _fresh("number", rows)
    numbered = rows.select(list(table.keys)).append_column(number, pa.array(range(rows.num_rows)))
    grouped = numbered.group_by(list(table.keys), use_threads=False)
    return rows.take(grouped.aggregate([(number, "max")])[f"{number}_max"])


def _without_ties(
    table: TablePlan, rows: pa.Table, by: Sequence[str], refusing: Refusing
) -> pa.Table:
    """Rows without changes of a key whose order is not given."""
    counts = rows.select(by).group_by(by, use_threads=False).aggregate([([], "count_all")])
    if not rows.num_rows or pc.max(counts["count_all"]).as_py() == 1:
        return rows
    number = _fresh("number", rows)
    numbered = rows.select(by).append_column(number, pa.array(range(rows.num_rows)))
    places = numbered.group_by(by, use_threads=False).aggregate([(number, "list")])
    listed = places[f"{number}_list"]
    several = listed.filter(pc.greater(pc.list_value_length(listed), 1))
    wrong = pc.is_in(numbered[number], value_set=pc.list_flatten(several).combine_chunks())

    def problem(row: pa.Table) -> RingviewError:
        assert table.keys is not None
        key = row.select(list(table.keys))
        if table.order_column is not None:
            return tied(table, key, row[table.order_column][0].as_py())
        return InvalidValueError(
            f'table "{table.name}": two changes of the key {_shown(key)} came in one micro-batch, '
            f'in which Spark keeps no order: say order={{"{table.name}": ..}}, a column that says '
            "which came first"
        )

    return refusing(table, rows, wrong, problem)


def tied(table: TablePlan, key: pa.Table, at: object) -> InvalidValueError:
    """Two changes of a key at one place of the order, in one micro-batch or in two."""
    return InvalidValueError(
        f'table "{table.name}": two changes of the key {_shown(key)} are both at {at!r} of what '
        "they are ordered by; order by what tells them apart"
    )


def _ranks(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """The rank of each word; one behind all of them where it says no change."""
    words = pc.utf8_lower(words)
    ranks = pa.chunked_array([pa.repeat(pa.scalar(len(_RANKS), pa.int8()), len(words))])
    for rank, named in reversed(list(enumerate(_RANKS))):
        ranks = pc.if_else(_among(words, named), pa.scalar(rank, pa.int8()), ranks)
    return ranks


def _among(words: pa.ChunkedArray, named: Sequence[str]) -> pa.ChunkedArray:
    return pc.is_in(words, value_set=pa.array(named))


def _fresh(name: str, rows: pa.Table) -> str:
    while name in rows.column_names:
        name += "_"
    return name


def _operation(word: str | None) -> str:
    return "NULL" if word is None else f'"{word}"'


def _own(table: TablePlan, row: pa.Table) -> str:
    """One row without the columns that say how it counts."""
    return _shown(row.select(table.columns.names))


def _shown(row: pa.Table) -> str:
    """One row, as the messages of the database show rows."""
    values = row.to_pylist()[0]
    shown = (f"{name} = {_value(value)}" for name, value in values.items())
    return f"({', '.join(shown)})"


def _value(value: object) -> str:
    return "NULL" if value is None else repr(value) if isinstance(value, str) else str(value)
