"""Changes of a view in a table of another database.

Invariant: the rows of a batch and its number are one transaction there, and a batch whose number is
noted does nothing: so each counts once. With a key the table is the view as it was at the last
batch; without one it is the log of its changes. Cost: two statements a row that moved.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..convert.arrow import rows as as_rows
from ..errors import CheckpointError, InvalidValueError
from ..text import quoted
from .keyed import by_key, checked

if TYPE_CHECKING:
    import pyarrow as pa

NOTES = "ringview_sinks"
BATCH = "ringview_batch"


@dataclass(frozen=True)
class Dialect:
    """Differences of a database: its parameters, its types, its values."""

    mark: str
    begin: str | None
    integer: str
    text: str
    type_of: Callable[[pa.DataType], str]
    value_of: Callable[[Any], Any]
    exists: str
    """A query with the name of a table as parameter, which has a value if there is one."""
    has_schemas: bool
    """Whether the name of a table may have that of a schema before it, and a dot."""


class SqlSink:
    """A table of another database for the changes of one view; made by `sqlite` and `postgres`."""

    def __init__(
        self,
        connect: Callable[[], Any],
        dialect: Dialect,
        table: str,
        key: str | Sequence[str] | None,
        where: str,
    ) -> None:
        if key is not None and not key:
            raise InvalidValueError("key=[] names no column; leave it out for a log of changes")
        self._connect = connect
        self._dialect = dialect
        self._table = table
        self._key = [key] if isinstance(key, str) else key and list(key)
        self._where = where
        self._open: Any = None

    def __repr__(self) -> str:
        return f"SqlSink({self._where!r}, {self._table!r}, key={self._key})"

    def begin(self, owner: str, views: Sequence[str], is_new: bool) -> None:
        """Take the table for who counts the batches, or find that it did.

        A table with a key that another owner had is emptied, as the first batch of a new one is all
        that there is.

        Raises:
            InvalidValueError: More than one view.
            CheckpointError: The table has rows of somebody else, or lacks those of this owner.
            Exception: What the database raises.
        """
        if len(views) != 1:
            raise InvalidValueError(
                f"the table {quoted(self._table)} takes the changes of one view, not of "
                f"{', '.join(views)}; give each view a sink of its own"
            )
        with self._transaction() as cursor:
            noted = self._noted(cursor)
            if noted is not None and noted[0] == owner:
                return
            if not is_new:
                raise CheckpointError(
                    f"{self._where}: the table {quoted(self._table)} has none of the batches that "
                    "were sent to it; send under another name, which begins with the whole view"
                )
            if self._is_there(cursor, self._table):
                has_rows = self._first(cursor, f"SELECT 1 FROM {self._target()} LIMIT 1")
                if has_rows and (self._key is None or noted is None):
                    raise CheckpointError(
                        f"{self._where}: the table {quoted(self._table)} has rows of somebody "
                        "else, or of another database; empty it, or name another table"
                    )
                cursor.execute(f"DELETE FROM {self._target()}")
            self._note(cursor, owner, -1)

    def __call__(self, view: str, batch: int, changes: pa.Table) -> None:
        """Write the changes of a batch, unless they are there already.

        Raises:
            UnknownColumnError: The view lacks a column of the key.
            InvalidValueError: Two rows of the view have the same key.
            CheckpointError: The table has later batches: the database that sends is older.
            Exception: What the database raises; nothing was written.
        """
        self._check(view, changes)
        with self._transaction() as cursor:
            noted = self._noted(cursor)
            if noted is None:
                raise CheckpointError(f"{self._where}: nobody began to write {self._table!r}")
            owner, last = noted
            if batch < last:
                raise CheckpointError(
                    f"{self._where}: the table {quoted(self._table)} has batch {last} of view "
                    f"{quoted(view)} "
                    f"already and is given batch {batch}: the database that sends is older than "
                    "what it sent. Send under another name, which begins with the whole view"
                )
            if batch == last:
                return
            self._create(cursor, changes.schema)
            if self._key is None:
                self._append(cursor, batch, changes)
            else:
                self._replace(cursor, view, changes)
            self._note(cursor, owner, batch)

    def close(self) -> None:
        """Close the connection; the next batch opens another one."""
        if self._open is not None:
            self._open.close()
            self._open = None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Any]:
        """A block whose statements are committed together, or not at all."""
        if self._open is None:
            self._open = self._connect()
        cursor = self._open.cursor()
        try:
            if self._dialect.begin is not None:
                cursor.execute(self._dialect.begin)
            if not self._is_there(cursor, NOTES):
                text, integer = self._dialect.text, self._dialect.integer
                cursor.execute(
                    f"CREATE TABLE {NOTES} (target {text} PRIMARY KEY, owner {text} NOT NULL, "
                    f"batch {integer} NOT NULL)"
                )
            yield cursor
            self._open.commit()
        except BaseException:
            # The cause of the broken connection may break this, too; the first error is the one to
            # raise.
            with contextlib.suppress(Exception):
                self._open.rollback()
            with contextlib.suppress(Exception):
                self.close()
            self._open = None
            raise
        finally:
            with contextlib.suppress(Exception):
                cursor.close()

    def _target(self, table: str | None = None) -> str:
        """A table as it is written in a statement."""
        name = self._table if table is None else table
        parts = name.split(".") if self._dialect.has_schemas else [name]
        return ".".join(map(_quoted, parts))

    def _first(self, cursor: Any, sql: str, values: Sequence[object] = ()) -> Any:
        cursor.execute(sql.replace("?", self._dialect.mark), list(values))
        return cursor.fetchone()

    def _is_there(self, cursor: Any, table: str) -> bool:
        name = self._target(table) if self._dialect.has_schemas else table
        cursor.execute(self._dialect.exists, [name])
        found = cursor.fetchone()
        return found is not None and found[0] is not None

    def _noted(self, cursor: Any) -> tuple[str, int] | None:
        """Whose the table is, and the last batch in it; -1 if there is none."""
        sql = f"SELECT owner, batch FROM {NOTES} WHERE target = ?"
        found = self._first(cursor, sql, [self._table])
        return None if found is None else (found[0], found[1])

    def _note(self, cursor: Any, owner: str, batch: int) -> None:
        mark = self._dialect.mark
        cursor.execute(f"DELETE FROM {NOTES} WHERE target = {mark}", [self._table])
        cursor.execute(
            f"INSERT INTO {NOTES} (target, owner, batch) VALUES ({mark}, {mark}, {mark})",
            [self._table, owner, batch],
        )

    def _check(self, view: str, changes: pa.Table) -> None:
        columns = changes.column_names[:-1]
        checked(view, self._key or (), columns)
        if self._key is None and BATCH in columns:
            raise InvalidValueError(
                f"view {quoted(view)} has a column {quoted(BATCH)}, which the log needs; name it "
                "otherwise"
            )

    def _create(self, cursor: Any, schema: pa.Schema) -> None:
        if self._is_there(cursor, self._table):
            return
        fields = list(schema)[: -1 if self._key is not None else None]
        columns = [f"{_quoted(each.name)} {self._dialect.type_of(each.type)}" for each in fields]
        if self._key is None:
            columns.append(f"{BATCH} {self._dialect.integer}")
        else:
            columns.append(f"UNIQUE ({', '.join(map(_quoted, self._key))})")
        cursor.execute(f"CREATE TABLE {self._target()} ({', '.join(columns)})")

    def _append(self, cursor: Any, batch: int, changes: pa.Table) -> None:
        rows = [
            [*map(self._dialect.value_of, row.values()), batch] for row in as_rows(_plain(changes))
        ]
        self._insert(cursor, [*changes.column_names, BATCH], rows)

    def _replace(self, cursor: Any, view: str, changes: pa.Table) -> None:
        """Put new rows in the place of those with their key, and take away those that left."""
        key = self._key or []
        columns = changes.column_names[:-1]
        rows = (map(self._dialect.value_of, row.values()) for row in as_rows(_plain(changes)))
        new, moved = by_key(view, key, columns, map(list, rows))
        # NULL equals nothing, so that no constraint finds it: such rows are taken away first.
        for nulls in {tuple(value is None for value in at) for at in moved}:
            tests = [
                f"{_quoted(name)} IS NULL" if is_null else f"{_quoted(name)} = {self._dialect.mark}"
                for name, is_null in zip(key, nulls, strict=True)
            ]
            gone = [
                [value for value in at if value is not None]
                for at in moved
                if tuple(value is None for value in at) == nulls and (any(nulls) or at not in new)
            ]
            sql = f"DELETE FROM {self._target()} WHERE {' AND '.join(tests)}"
            if gone:
                cursor.executemany(sql, gone)
        others = [name for name in columns if name not in key]
        sets = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in others)
        clash = f" ON CONFLICT ({', '.join(map(_quoted, key))}) DO "
        clash += f"UPDATE SET {sets}" if others else "NOTHING"
        self._insert(cursor, columns, list(new.values()), clash)

    def _insert(
        self, cursor: Any, columns: Sequence[str], rows: list[list[Any]], more: str = ""
    ) -> None:
        marks = ", ".join([self._dialect.mark] * len(columns))
        into = ", ".join(map(_quoted, columns))
        sql = f"INSERT INTO {self._target()} ({into}) VALUES ({marks}){more}"
        if rows:
            cursor.executemany(sql, rows)


def _plain(changes: pa.Table) -> pa.Table:
    """With microseconds at the finest, as Python has them.

    Raises:
        InvalidValueError: Nanoseconds, which would be lost.
    """
    import pyarrow as pa

    for at, field in enumerate(changes.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            kind = pa.timestamp("us", field.type.tz)
            try:
                changes = changes.set_column(at, field.name, changes.column(at).cast(kind))
            except pa.ArrowInvalid:
                raise InvalidValueError(
                    f"column {quoted(field.name)} has nanoseconds, which a table there does not "
                    "hold; truncate them in the view"
                ) from None
    return changes


def nested(value: Any) -> str:
    """A list or a struct as JSON."""
    return json.dumps(value, default=str, ensure_ascii=False)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
