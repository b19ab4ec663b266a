"""The statements between BEGIN and COMMIT.

Invariant: nothing is changed before `commit`, which does all of it or nothing; each statement sees
what those before it did, and nobody else does. Cost: without definitions that of a `Transaction`.
The first definition costs a plan of each view; a statement behind it copies the tables that it
reads, once a block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conditions import shown
from .transaction import Transaction

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native
    from .protocols import Definable

Mark = tuple[int, int | None]
"""A place in a block: how many changes, and how many operations if it has definitions."""


class Block:
    """Statements that happen at once, or not at all.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> block = Block(db)
    >>> for statement in rv._native.script("CREATE TABLE r (a INT); INSERT INTO r VALUES (1)"):
    ...     _ = block.do(statement)
    >>> block, len(db.tables)
    (Block(operations=2), 0)
    >>> block.commit()
    >>> len(db.tables["r"])
    1
    """

    def __init__(self, db: Definable) -> None:
        self._db = db
        self._transaction = Transaction(db).__enter__()
        # What statements run on once a definition is among them.
        self._draft: Definable | None = None

    def do(self, statement: _native.Statement) -> int | pa.Table | None:
        """Do a statement that changes rows, or defines something.

        Returns:
            How many rows it changed, or those that RETURNING shows.

        Raises:
            RingviewError: As the statement by itself.
        """
        if statement.kind in ("insert", "update", "delete"):
            return shown(self.changed(statement))
        return self.define(statement)

    def changed(self, statement: _native.Statement) -> tuple[int, _native.Rows | None]:
        """Do a statement that changes rows; how many, and those that RETURNING shows.

        Raises:
            RingviewError: As the statement by itself.
        """
        if self._draft is None:
            return self._transaction._changed_by(statement)
        self._db._native.fill_draft(self._draft._native, statement)
        return self._draft._native.change(statement)

    def define(self, statement: _native.Statement) -> int | None:
        """Do a statement that defines something; of a table with rows, how many they are.

        Raises:
            RingviewError: As the statement by itself.
        """
        if self._draft is None:
            native = self._db._native.draft(self._transaction._collected())
            self._draft = self._db._over(native)
        self._db._native.fill_draft(self._draft._native, statement)
        return self._draft._define(statement, 9)

    def insert(self, table: str, rows: _native.Batches) -> None:
        """Add rows that were taken in already.

        Raises:
            RingviewError: As `Database.insert`, at once or at the commit.
        """
        if self._draft is None:
            self._transaction._collected().append((table, 1, rows, None))
        else:
            self._draft._native.apply([(table, 1, rows, None)])

    @property
    def native(self) -> _native.Database:
        """The database with the definitions so far; it need not have the rows."""
        return self._db._native if self._draft is None else self._draft._native

    def select(self, statement: _native.Statement) -> _native.Rows:
        """The rows of a query behind the statements so far.

        Raises:
            RingviewError: As the query by itself; `UnsupportedError` for a sample whose tables the
                block changed.
        """
        if self._draft is None:
            return self._db._native.select(statement, self._transaction._collected())
        self._db._native.fill_draft(self._draft._native, statement)
        return self._draft._native.select(statement, [])

    def mark(self) -> Mark:
        """The place that the block is at. O(1)."""
        changes = len(self._transaction._collected())
        return changes, None if self._draft is None else self._draft._native.draft_len()

    def back(self, to: Mark) -> None:
        """Undo the statements behind a place."""
        changes, operations = to
        del self._transaction._collected()[changes:]
        if operations is None:
            self._draft = None
        elif self._draft is not None:
            self._db._native.undo_draft(self._draft._native, operations)

    def commit(self) -> None:
        """Do all of it, or nothing; the block is at its end.

        Raises:
            RingviewError: As the statements; keys are checked here, and what else changed since.
        """
        if self._draft is None:
            self._transaction.__exit__(None, None, None)
        else:
            self._db._native.commit_draft(self._draft._native)

    def __repr__(self) -> str:
        changes, operations = self.mark()
        return f"Block(operations={changes if operations is None else operations})"
