"""Scripts of SQL on a database: statements that declare, change and ask.

Invariant: a script is read whole before any of it is done; each statement is a transaction of its
own, or, between BEGIN and COMMIT, all are one. Cost: that of what the statements do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from . import _native
from .block import Block
from .changeable import Changeable
from .changing import Progress
from .conditions import changed_by, shown
from .declaring import Declaring
from .errors import ExistsError, QueryError, TypeMismatchError, UnsupportedError
from .queries import Parameters
from .words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

_CHANGES = ("insert", "update", "delete")


class _Open:
    """A transaction between BEGIN and COMMIT."""

    def __init__(self, block: Block) -> None:
        self.block = block
        # Where a statement failed, after which only ROLLBACK is left.
        self.failed: int | None = None


class Executing(Declaring, Changeable):
    """The part of a database that takes scripts of SQL."""

    _open: _Open | None = None

    def execute(
        self,
        sql: str,
        parameters: Parameters | None = None,
        *,
        dialect: str = "duckdb",
        progress: Progress | None = None,
    ) -> Any:
        """Do a statement of SQL, or a script of several.

        `CREATE TABLE`, `CREATE VIEW`, `ALTER TABLE`, `DROP`, `INSERT`, `UPDATE`, `DELETE`,
        `TRUNCATE`, `BEGIN`, `COMMIT`, `ROLLBACK` and `SELECT`, as docs/changes.md has them. Each is
        a transaction of its own, so those before one that fails stay; between `BEGIN` and `COMMIT`
        all are one, definitions too, over as many calls as it takes. There, statements see what
        those before them did, nobody else does, and views move at `COMMIT`, which also checks keys.
        After one that fails only `ROLLBACK` is left. A script that is no SQL somewhere does
        nothing.

        Args:
            sql: Statements, with `;` between them.
            parameters: The values of `$1`, `$2` or of each `?` of the script in their order, or by
                name those of `$name` and `:name`.
            dialect: That of the text, as of `create_view`.
            progress: As of `insert`.

        Returns:
            What the last statement gives: of a `SELECT` its rows, a `pyarrow.Table`, and of what
            says `RETURNING` those that it changed; of other `INSERT`, `UPDATE`, `DELETE`,
            `TRUNCATE` and `CREATE TABLE .. AS` how many rows it changed, an int; else None.

        Raises:
            QueryError: A text that is no SQL, with its place in the script; a statement of a
                transaction that failed; `COMMIT` without `BEGIN`.
            UnknownTableError, UnknownColumnError: A name that is not there.
            ExistsError: A name that is taken; InUseError: what views read is dropped, or altered.
            InvalidValueError: A value that its column cannot hold; the message has column and row.
            NullKeyError: NULL in a key, or in a column that is NOT NULL.
            UnsupportedError: A statement, or a part of one, that is not done; the message says what
                is. Between `BEGIN` and `COMMIT`, a view replaced that others read.
            Others: As `create_table`, `create_view`, `insert`, `sql`.

        Warns:
            CostWarning: As `create_view`.

        Complexity: that of the calls that do the same. An UPDATE, and a DELETE with a condition,
        ask for their rows first, O(rows of the table) for a plain condition; a statement that reads
        what its transaction changed copies those tables for that. The first definition of a
        transaction plans all views once more.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> db.execute('''
        ...     CREATE TABLE r (id BIGINT PRIMARY KEY, a VARCHAR NOT NULL, x DECIMAL(9, 2));
        ...     CREATE VIEW v AS SELECT a, SUM(x) AS x FROM r GROUP BY a;
        ...     INSERT INTO r VALUES (1, 'one', 1.5), (2, 'two', 2)''')
        2
        >>> db.execute("UPDATE r SET x = x + ? WHERE a = 'two'", [0.25])
        1
        >>> db.execute("DELETE FROM r WHERE id = 3 RETURNING *").num_rows
        0
        >>> db.execute("SELECT x FROM v ORDER BY x").to_pylist()
        [{'x': Decimal('1.50')}, {'x': Decimal('2.25')}]
        >>> db.execute("DELETE FROM s")
        Traceback (most recent call last):
        ringview.errors.UnknownTableError: line 1, column 13: no table "s"; known: r
            DELETE FROM s
                        ^
        """
        if not isinstance(sql, str):
            raise TypeMismatchError(f"a script is a text, not {sql!r}")
        statements = _native.script(sql, dialect, parameters)
        found: pa.Table | int | None = None
        for number, statement in enumerate(statements, start=1):
            try:
                found = self._done(statement, progress)
            except BaseException as problem:
                if self._open is not None and statement.kind not in ("begin", "commit"):
                    self._open.failed = statement.line
                if len(statements) > 1:
                    problem.add_note(
                        f"in statement {number} of {len(statements)}, at line {statement.line}; "
                        + _outcome(number - 1, self._open is not None)
                    )
                raise
        return found

    def _done(
        self, statement: _native.Statement, progress: Progress | None
    ) -> pa.Table | int | None:
        kind, held = statement.kind, self._open
        if kind in ("begin", "commit", "rollback"):
            self._bounded(kind, held)
            return None
        if held is not None and held.failed is not None:
            raise QueryError(
                f"the transaction failed at its statement of line {held.failed}; ROLLBACK ends it"
            )
        if kind == "select":
            return self._asked(statement, held)
        if held is not None:
            return held.block.do(statement)
        if kind in _CHANGES:
            return shown(changed_by(self._native, statement, progress))
        return self._define(statement, 7)

    def _define(self, statement: _native.Statement, above: int) -> int | None:
        """Do a statement that declares, alters or drops something, where so many calls are above.

        Those are counted from what declares a view on, for its warnings.
        """
        doers: dict[str, Callable[[_native.Statement], int | None]] = {
            "alter_table": self._native.alter,
            "create_table": self._create_table,
            "create_view": lambda of: self._create_view(of, above + 1),
            "drop_table": self._drop,
            "drop_view": self._drop,
        }
        return doers[statement.kind](statement)

    def _over(self, native: _native.Database) -> Self:
        """A database of the same kind over this one or a draft, with no transaction open."""
        made = type(self).__new__(type(self))
        made._native = native
        return made

    def _bounded(self, kind: str, held: _Open | None) -> None:
        """BEGIN, COMMIT, ROLLBACK."""
        if kind == "begin":
            if held is not None:
                raise QueryError("a transaction has begun already; COMMIT or ROLLBACK ends it")
            self._open = _Open(Block(self))
            return
        if held is None:
            raise QueryError(f"{kind.upper()} without BEGIN; each statement is there already")
        self._open = None
        if kind == "rollback":
            return
        if held.failed is not None:
            raise QueryError(
                f"the transaction failed at its statement of line {held.failed} and is undone; "
                "begin another"
            )
        held.block.commit()

    def _asked(self, statement: _native.Statement, held: _Open | None) -> pa.Table:
        import pyarrow as pa

        found = self._native.select(statement, []) if held is None else held.block.select(statement)
        return pa.RecordBatchReader.from_stream(found).read_all()

    def _create_table(self, statement: _native.Statement) -> int | None:
        [name], options = statement.names, statement.options
        known = spelt(name, self.tables)
        if known is not None and options["if_not_exists"]:
            return None
        taken = known or spelt(name, self.views)
        if taken is not None and not (known is not None and options["or_replace"]):
            kind = "view" if known is None else "table"
            raise ExistsError(
                f"there is a {kind} {quoted(taken)} already; DROP it first, or take another name"
            )
        if statement.schema is None:
            if known is not None:
                raise UnsupportedError(
                    "CREATE OR REPLACE TABLE .. AS is not supported: the rows might come of the "
                    "table that goes; create another and DROP this one"
                )
            return self._native.create_table_filled(statement, name)
        unique, static, keep_for = options["unique"], options["static"], options["keep_for"]
        if known is not None:
            # Whether the new one is possible, before the old one goes.
            draft = _native.Database()
            draft.create_table(known, statement.schema, unique, static, keep_for, statement)
            self.drop_table(known)
        self._native.create_table(
            known or name, statement.schema, unique, static, keep_for, statement
        )
        return None

    def _create_view(self, statement: _native.Statement, above: int) -> None:
        [name], options = statement.names, statement.options
        known = spelt(name, self.views)
        if known is not None and options["if_not_exists"]:
            return
        taken = known or spelt(name, self.tables)
        if taken is not None and not (known is not None and options["or_replace"]):
            kind = "table" if known is None else "view"
            advice = "CREATE OR REPLACE VIEW takes its place" if known else "take another name"
            raise ExistsError(f"there is a {kind} {quoted(taken)} already; {advice}")
        name = known or name
        self._declared(
            name, lambda: self._native.create_view_stated(statement, name, known is not None), above
        )

    def _drop(self, statement: _native.Statement) -> None:
        name = self._native.dropped(statement)
        if name is not None:
            drop = self.drop_view if statement.kind == "drop_view" else self.drop_table
            drop(name, cascade=statement.options["cascade"])


def spelt(name: str, known: Iterable[str]) -> str | None:
    """The one of some names that a name of SQL is: spelt so, else without case.

    >>> spelt("R", ["r", "s"]), spelt("t", ["r", "s"])
    ('r', None)
    """
    names = list(known)
    if name in names:
        return name
    return next((one for one in names if one.lower() == name.lower()), None)


def _outcome(before: int, is_open: bool) -> str:
    """What became of the statements before one that failed."""
    if is_open:
        return "ROLLBACK undoes the transaction"
    if before == 0:
        return "nothing was done"
    return f"the {before} before it {'was' if before == 1 else 'were'} done"
