"""A query of another database as a source: the first load.

Invariant: without a key all rows are one transaction; with one, chunk after chunk in its order, and
the place is the last key, so that each row is applied once. Cost: without a key all rows are in
memory at once, with one a chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ..errors import InvalidValueError, UnsupportedError
from ..extras import load
from ..masking import masking
from .batch import Batch, Casts, Change, EpochUnit, How, Origin
from .folder import shaped

_DONE = "done"
# Placeholder of the last key in a text, until the database's style of parameters is read.
_MARK = "\0"


class Query:
    """The rows of a query; made by `query`."""

    def __init__(
        self,
        connection: Any,
        sql: str,
        name: str,
        shape: Mapping[str, object],
        key: str | None,
        rows: int,
    ) -> None:
        self.name = name
        self._connection = connection
        self._sql = sql
        self._shape = shape
        self._key = key
        self._rows = rows

    def __repr__(self) -> str:
        return f"Query({self._sql!r}, table={self._shape['table']!r})"

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The rows behind `positions`; see `Source`."""
        at = json.loads(positions[""]) if "" in positions else {}
        if at.get(_DONE):
            return
        first = at.get("rows", 0)
        last = _unpacked(at["last"]) if "last" in at else None
        changes: list[Change] = []
        for chunk in self._chunks(last):
            origin = Origin(self.name, first=first)
            changes.append(Change(rows=chunk, origin=origin, **self._shape))  # type: ignore[arg-type]
            first += len(chunk)
            if self._key is not None:
                place = {"rows": first, "last": _packed(_last(chunk, self._key, self.name))}
                yield Batch(changes, {"": json.dumps(place)})
                changes = []
        yield Batch(changes, {"": json.dumps({"rows": first, _DONE: True})})

    def _chunks(self, last: object) -> Iterator[Any]:
        sql = self._sql.rstrip().removesuffix(";")
        values: list[object] = []
        if self._key is not None:
            quoted = '"' + self._key.replace('"', '""') + '"'
            behind = ""
            if last is not None:
                behind, values = f" WHERE {quoted} > {_MARK}", [last]
            sql = f"SELECT * FROM ({sql}) AS ringview_rows{behind} ORDER BY {quoted}"
        module = type(self._connection).__module__.split(".")[0]
        if isinstance(self._connection, str) or module == "sqlalchemy":
            return _sqlalchemy(self._connection, sql, values, self._rows)
        if module in ("duckdb", "_duckdb"):
            return _duckdb(self._connection, sql, values, self._rows)
        if hasattr(self._connection, "cursor"):
            return _dbapi(self._connection, sql, values, self._rows)
        raise UnsupportedError(
            f"no queries by a {type(self._connection).__name__}; give a connection of DuckDB or of "
            "another module with cursors, an engine of SQLAlchemy, or its URL"
        )


def query(
    connection: Any,
    sql: str,
    *,
    table: str,
    key: str | None = None,
    how: How = "insert",
    ignore: Sequence[str] = (),
    epochs: EpochUnit | None = None,
    rows: int = 65_536,
    name: str | None = None,
) -> Query:
    """The rows of a query of another database, once: the first load of a table.

    Args:
        connection: A connection of DuckDB, an engine or connection of SQLAlchemy or its URL
            (`"postgresql+psycopg://.."`), or any connection of Python's database interface, such as
            those of sqlite3 and psycopg.
        sql: The query, in that database's dialect.
        table: The table of the rows; columns are matched by name.
        key: A column of the query that is unique and never NULL: rows are read in its order, each
            chunk is a transaction, and a reader that was ended resumes behind the last one. Without
            it all rows are one transaction.
        how: As for `folder`.
        ignore: As for `folder`.
        epochs: As for `folder`.
        rows: How many rows a chunk has.
        name: What its position is kept under; by default the table.

    Raises, when it is read:
        UnsupportedError: Another connection; SQLAlchemy is not installed.
        InvalidValueError: A key that is NULL, or that no text can hold; a row that does not fit.
        UnknownColumnError, TypeMismatchError: The columns are not those of the table.
        Exception: What the other database raises.

    Complexity: O(rows); without `key` all of them in memory.

    >>> import duckdb
    >>> import ringview as rv
    >>> from ringview import sources
    >>> con = duckdb.connect()
    >>> db = rv.Database()
    >>> table = db.create_table("r", {"a": "int64"})
    >>> given = sources.query(con, "SELECT i AS a FROM range(5) t(i)", table="r", key="a", rows=2)
    >>> sources.run(db, [given]), sources.run(db, [given])
    (Reader(batches=4, rows=5, rejected=0), Reader(batches=0, rows=0, rejected=0))
    """
    if rows < 1:
        raise InvalidValueError(f"rows={rows!r}: a chunk has at least 1 row")
    shape = shaped(table, how, None, None, ignore, Casts(epochs))
    return Query(connection, sql, name or f"query for {table}", shape, key, rows)


def _duckdb(connection: Any, sql: str, values: Sequence[object], rows: int) -> Iterator[Any]:
    import pyarrow as pa

    cursor = connection.cursor()
    try:
        found = cursor.sql(sql.replace(_MARK, "?"), params=list(values))
        for batch in found.to_arrow_reader(rows):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])
    finally:
        cursor.close()


def _sqlalchemy(connection: Any, sql: str, values: Sequence[object], rows: int) -> Iterator[Any]:
    sqlalchemy = load("sqlalchemy", "a URL of sources.query", "sqlalchemy")
    made = isinstance(connection, str)
    with masking():
        engine: Any = sqlalchemy.create_engine(connection) if made else connection
    # A colon in the text is no parameter.
    text = sqlalchemy.text(sql.replace(":", "\\:").replace(_MARK, ":ringview_last"))
    is_engine = hasattr(engine, "connect")
    with masking():
        held = engine.connect() if is_engine else engine
    try:
        options = held.execution_options(stream_results=True, yield_per=rows) if is_engine else held
        parameters = {"ringview_last": values[0]} if values else {}
        with options.execute(text, parameters) as found:
            names = list(found.keys())
            while block := found.fetchmany(rows):
                yield [dict(zip(names, row, strict=True)) for row in block]
    finally:
        if is_engine:
            held.close()
        if made:
            engine.dispose()


_MARKS = {"qmark": "?", "numeric": ":1", "format": "%s", "pyformat": "%s"}


def _dbapi(connection: Any, sql: str, values: Sequence[object], rows: int) -> Iterator[Any]:
    import sys

    module = sys.modules.get(type(connection).__module__.split(".")[0])
    style = getattr(module, "paramstyle", "qmark")
    cursor = connection.cursor()
    try:
        if values:
            mark = _MARKS.get(style, "?")
            # If parameters are written as %s, other percents are doubled.
            text = sql.replace("%", "%%") if mark == "%s" else sql
            cursor.execute(text.replace(_MARK, mark), list(values))
        else:
            cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        while block := cursor.fetchmany(rows):
            yield [dict(zip(names, row, strict=True)) for row in block]
    finally:
        cursor.close()


def _last(chunk: Any, key: str, name: str) -> object:
    rows = chunk if isinstance(chunk, list) else chunk.slice(len(chunk) - 1).to_pylist()
    found: object = rows[-1].get(key)
    if found is None:
        raise InvalidValueError(
            f"{name}: the key {key!r} is NULL, or no column of the query; name one that is in it "
            "and never NULL"
        )
    return found


_KEYS: dict[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "Decimal": Decimal,
}


def _packed(key: object) -> object:
    """A key as JSON holds it."""
    if isinstance(key, (bool, float)) or not isinstance(key, (int, str, Decimal, date)):
        raise InvalidValueError(
            f"a key {key!r} cannot be kept; take a column of integers, texts, dates or decimals"
        )
    kind = type(key).__name__
    return [kind, str(key)] if kind in _KEYS else key


def _unpacked(key: Any) -> object:
    found: object = _KEYS[key[0]](key[1]) if isinstance(key, list) else key
    return found
