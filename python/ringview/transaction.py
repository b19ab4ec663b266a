"""A transaction: changes that are applied together or not at all.

Invariant: rows are taken as they are at each call: a stream is read, memory copied, so that both
may be used for something else at once. Nothing changes before the block ends; the engine then takes
all changes in one call, so views move once. Cost: what the changes cost, plus the copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, Unpack, overload

from .changes import Change, How, apply_changes, changes_of
from .convert.factors import Factors, products
from .convert.moments import Moment, microseconds
from .convert.rows import Handle, Rows
from .errors import RingviewError, TypeMismatchError
from .queries import Parameters
from .statements import CHANGES, Condition, define, delete_where, shown, update_where

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native


class Transaction:
    """Changes that happen at once, when the block ends without an exception.

    `Database.transaction` makes one.

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
        self, native: _native.Database, *, net: bool = False, batch_id: int | str | None = None
    ) -> None:
        self._native = native
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
            return self._changed_by(delete_where(table, where, parameters, dialect))[0]
        if where is not None or rows is None:
            raise TypeMismatchError("delete takes rows, or where=; give one of them")
        self._add(table, -1, rows, multiplicity)
        return None

    def upsert(self, table: str, rows: Rows) -> None:
        """Add `rows`, or put them in the place of those with their key; see `Database.upsert`."""
        self._add(table, "upsert", rows, None)

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
            return self._changed_by(update_where(table, rows, where, parameters, dialect))[0]
        self._add(table, "update", rows, None)
        return None

    def apply(self, table: str, rows: Rows, *, op: str) -> None:
        """Apply a feed of changes at the end of the block; see `Database.apply`."""
        self._add(table, "apply", rows, op)

    def update_factorised(
        self,
        table: str,
        factors: Factors,
        *,
        delete: bool = False,
        multiplicity: str | None = None,
    ) -> None:
        """Change `table` by a product at the end of the block; see `Database.update_factorised`."""
        changes, native = self._collected(), self._native
        sign = -1 if delete else 1
        for term in products(factors, native, self._handle(table), multiplicity):
            changes.append((table, sign, [(native.take(factor), times) for factor, times in term]))

    def advance(self, to: Moment) -> None:
        """Advance the clock to `to` at this place among the changes; see `Database.advance`.

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

    def _changed_by(self, statement: _native.Statement) -> tuple[int, _native.Rows | None]:
        """Add what a statement changes: how many rows, and what RETURNING shows of them."""
        changes = self._collected()
        rows, own, returned = self._native.changes_of(statement, changes, self._net)
        changes += own
        return rows, returned

    def _add(self, table: str, how: How, rows: Rows, column: str | None) -> None:
        changes, native = self._collected(), self._native
        found = changes_of(native, self._handle(table), how, rows, column)
        changes += [(name, how, native.take(part), column) for name, _, part, _ in found]

    def _handle(self, table: str) -> Handle:
        return table, self._native.table_id(table)

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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Apply them all, unless an exception leaves the block."""
        changes, self._changes = self._changes, None
        # Without changes it was applied, too.
        if kind is None and changes is not None and (changes or self._batch_id is not None):
            apply_changes(self._native, changes, net=self._net, batch_id=self._batch_id)

    def __repr__(self) -> str:
        if self._changes is None:
            return "Transaction(closed)"
        return f"Transaction(changes={len(self._changes)})"


Mark = tuple[int, int | None]
"""A place in a transaction: how many changes, and how many operations if it has definitions."""


class SqlTransaction:
    """Statements between BEGIN and COMMIT: they happen at once, or not at all.

    Each statement sees what those before it did, and nobody else does. Without definitions it costs
    what a `Transaction` does. The first definition costs a plan of each view; a statement behind it
    copies the tables that it reads, once a transaction.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> block = SqlTransaction(db._native)
    >>> for statement in rv._native.script("CREATE TABLE r (a INT); INSERT INTO r VALUES (1)"):
    ...     _ = block.do(statement)
    >>> block, len(db.tables)
    (SqlTransaction(operations=2), 0)
    >>> block.commit()
    >>> len(db.tables["r"])
    1
    """

    def __init__(self, native: _native.Database) -> None:
        self._native = native
        self._transaction = Transaction(native).__enter__()
        # A copy without rows, for statements behind the first definition.
        self._draft: _native.Database | None = None
        # The line of the statement that failed, after which only ROLLBACK is left.
        self.failed: int | None = None

    def do(self, statement: _native.Statement) -> int | pa.Table | None:
        """Do a statement that changes rows, or defines something.

        Returns:
            The number of rows that it changed, or those that RETURNING shows.

        Raises:
            RingviewError: As the statement by itself.
        """
        if statement.kind in CHANGES:
            return shown(self.changed(statement))
        return self.define(statement)

    def changed(self, statement: _native.Statement) -> tuple[int, _native.Rows | None]:
        """Do a statement that changes rows; how many, and those that RETURNING shows.

        Raises:
            RingviewError: As the statement by itself.
        """
        if self._draft is None:
            return self._transaction._changed_by(statement)
        self._native.fill_draft(self._draft, statement)
        return self._draft.change(statement)

    def define(self, statement: _native.Statement) -> int | None:
        """Do a statement that defines something; of a table with rows, how many they are.

        Raises:
            RingviewError: As the statement by itself.
        """
        if self._draft is None:
            self._draft = self._native.draft(self._transaction._collected())
        self._native.fill_draft(self._draft, statement)
        return define(self._draft, statement)

    def insert(self, table: str, rows: _native.Batches) -> None:
        """Add rows that were taken in already.

        Raises:
            RingviewError: As `Database.insert`, at once or at the commit.
        """
        if self._draft is None:
            self._transaction._collected().append((table, 1, rows, None))
        else:
            self._draft.apply([(table, 1, rows, None)])

    @property
    def native(self) -> _native.Database:
        """The database with the definitions so far; it need not have the rows."""
        return self._native if self._draft is None else self._draft

    def select(self, statement: _native.Statement) -> _native.Rows:
        """The rows of a query behind the statements so far.

        Raises:
            RingviewError: As the query by itself; `UnsupportedError` for a sample whose tables the
                transaction changed.
        """
        if self._draft is None:
            return self._native.select(statement, self._transaction._collected())
        self._native.fill_draft(self._draft, statement)
        return self._draft.select(statement, [])

    def mark(self) -> Mark:
        """The place that the transaction is at. O(1)."""
        changes = len(self._transaction._collected())
        return changes, None if self._draft is None else self._draft.draft_len()

    def back(self, to: Mark) -> None:
        """Undo the statements behind a place."""
        changes, operations = to
        del self._transaction._collected()[changes:]
        if operations is None:
            self._draft = None
        elif self._draft is not None:
            self._native.undo_draft(self._draft, operations)

    def commit(self) -> None:
        """Do all of it, or nothing; the transaction is at its end.

        Raises:
            RingviewError: As the statements; keys are checked here, and what else changed since.
        """
        if self._draft is None:
            self._transaction.__exit__(None)
        else:
            self._native.commit_draft(self._draft)

    def __repr__(self) -> str:
        changes, operations = self.mark()
        return f"SqlTransaction(operations={changes if operations is None else operations})"
