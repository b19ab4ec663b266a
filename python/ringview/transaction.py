"""A transaction: changes that are applied together or not at all.

Invariant: rows are taken as they are at each call: a stream is read, memory copied, so that both
may be used for something else at once. Nothing changes before the block ends; the engine then takes
all changes in one call, so views move once. Cost: what the changes cost, plus the copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack, overload

from .changing import Change, How, change
from .clock import Moment, microseconds
from .conditions import Condition, delete_where, update_where
from .errors import RingviewError, TypeMismatchError
from .factors import Factors, products
from .queries import Parameters
from .rows import Rows, to_arrow

if TYPE_CHECKING:
    from . import _native
    from .protocols import DatabaseLike


class Transaction:
    """Inserts and deletes that happen at once, when the block ends without an exception.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> table = db.create_table("r", {"a": "int64"})
    >>> with db.transaction() as tx:
    ...     tx.insert("r", {"a": [1, 2]})
    ...     tx.delete("r", {"a": [1]})
    >>> len(table)
    1
    """

    def __init__(
        self, database: DatabaseLike, *, net: bool = False, batch_id: int | str | None = None
    ) -> None:
        self._database = database
        self._net = net
        self._batch_id = batch_id
        self._changes: list[Change] | None = None

    def insert(self, table: str, rows: Rows, *, multiplicity: str | None = None) -> None:
        """Add `rows`, as they are now, to `table` at the end; see `Database.insert`."""
        self._add(table, 1, rows, multiplicity)

    @overload
    def delete(self, table: str, rows: Rows, *, multiplicity: str | None = None) -> None: ...

    @overload
    def delete(self, table: str, **condition: Unpack[Condition]) -> int: ...

    def delete(
        self,
        table: str,
        rows: Rows | None = None,
        *,
        where: str | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
        multiplicity: str | None = None,
    ) -> int | None:
        """Take `rows`, as they are now, from `table` at the end; see `Database.delete`.

        With `where`, those that meet it behind the changes of this block so far: how many is
        returned.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> with db.transaction() as tx:
        ...     tx.insert("r", {"a": [1, 2, 3]})
        ...     tx.delete("r", where="a > 1")
        2
        >>> len(table)
        1
        """
        if where is not None and rows is None and multiplicity is None:
            return self._do(delete_where(table, where, parameters, dialect))
        if where is not None or rows is None:
            raise TypeMismatchError("delete takes rows, or where=; give one of them")
        self._add(table, -1, rows, multiplicity)
        return None

    def upsert(self, table: str, rows: Rows) -> None:
        """Add `rows`, or put them in the place of those with their key; see `Database.upsert`."""
        self._add_by_key(table, "upsert", rows, None)

    @overload
    def update(self, table: str, rows: Rows) -> None: ...

    @overload
    def update(
        self, table: str, rows: Mapping[str, str], **condition: Unpack[Condition]
    ) -> int: ...

    def update(
        self,
        table: str,
        rows: Rows | Mapping[str, str],
        *,
        where: str | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
    ) -> int | None:
        """Change rows found by their key, at the end of the block; see `Database.update`.

        With `where`, those that meet it behind the changes of this block so far: how many is
        returned.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> with db.transaction() as tx:
        ...     tx.insert("r", {"a": [1, 2]})
        ...     tx.update("r", {"a": "a * 10"}, where="a = 2")
        1
        >>> sorted(row["a"] for row in table)
        [1, 20]
        """
        if where is not None:
            return self._do(update_where(table, rows, where, parameters, dialect))
        self._add_by_key(table, "update", rows, None)
        return None

    def apply(self, table: str, rows: Rows, *, op: str) -> None:
        """Apply a feed of changes at the end of the block; see `Database.apply`."""
        self._add_by_key(table, "apply", rows, op)

    def update_factorised(
        self,
        table: str,
        factors: Factors,
        *,
        delete: bool = False,
        multiplicity: str | None = None,
    ) -> None:
        """Change `table` by a product at the end of the block; see `Database.update_factorised`."""
        changes, held = self._collected(), self._database.tables[table]
        sign = -1 if delete else 1
        take = self._database._native.take
        for term in products(factors, held, multiplicity):
            changes.append((table, sign, [(take(factor), times) for factor, times in term]))

    def advance(self, to: Moment) -> None:
        """Let the clock go on to `to` at this place among the changes; see `Database.advance`.

        >>> import ringview as rv
        >>> from datetime import date
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"day": "date32"}, keep_for=("day", "1 day"))
        >>> with db.transaction() as tx:
        ...     tx.insert("r", {"day": [date(2026, 3, 1), date(2026, 3, 2)]})
        ...     tx.advance("2026-03-02T12:00:00")
        >>> len(table)
        1
        """
        self._collected().append(("", "advance", microseconds(to)))

    def _do(self, statement: _native.Statement) -> int:
        """Add what a statement changes behind the changes so far; how many rows."""
        return self._changed_by(statement)[0]

    def _changed_by(self, statement: _native.Statement) -> tuple[int, _native.Rows | None]:
        """The same; also what RETURNING shows of them."""
        changes = self._collected()
        rows, own, shown = self._database._native.changes_of(statement, changes, self._net)
        changes += own
        return rows, shown

    def _add(self, table: str, sign: int, rows: Rows, multiplicity: str | None) -> None:
        changes, held = self._collected(), self._database.tables[table]
        parts = to_arrow(rows, held, multiplicity)
        taken = [self._database._native.take(part) for part in parts]
        changes += [(table, sign, part, multiplicity) for part in taken]

    def _add_by_key(self, table: str, how: How, rows: Rows, op: str | None) -> None:
        changes, held = self._collected(), self._database.tables[table]
        taken = [self._database._native.take(part) for part in to_arrow(rows, held, op=op)]
        changes += [(table, how, part, op) for part in taken]

    def _collected(self) -> list[Change]:
        if self._changes is None:
            raise RingviewError("a transaction takes changes inside its with block only")
        return self._changes

    def __enter__(self) -> Self:
        """Begin to collect changes; raises RingviewError if that has begun already."""
        if self._changes is not None:
            raise RingviewError("a transaction is one with block; begin another for this one")
        self._changes = []
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Apply them all, unless an exception leaves the block."""
        changes, self._changes = self._changes, None
        # Without changes it was applied, too.
        if kind is None and changes is not None and (changes or self._batch_id is not None):
            native = self._database._native
            change(native, changes, None, net=self._net, batch_id=self._batch_id)

    def __repr__(self) -> str:
        if self._changes is None:
            return "Transaction(closed)"
        return f"Transaction(changes={len(self._changes)})"
