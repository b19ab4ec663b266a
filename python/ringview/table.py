"""A table as a user sees it: its schema, its size, its rows and their changes. Holds none itself.

Invariant: reads the engine at each question, so it never shows what was. Cost: O(columns) for the
schema, O(rows) for the rows, O(1) else; a change costs what it costs by `Database`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from . import notebook
from .changes import How, Progress, apply_changes, changes_of
from .convert import arrow, lookup
from .convert.moments import moment
from .convert.rows import Rows
from .errors import DuplicateKeyError, RingviewError
from .relation import Relation
from .text import counted, quoted
from .writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pandas
    import pyarrow as pa


# Of more rows than these the search would take longer than a refusal may.
_MOST_SEARCHED = 1_000_000


class Table(Relation):
    """A table of a database: a bag of rows that views read.

    It answers as a view does: `columns`, `head`, `get`, `where`, slices, iteration, Arrow's stream.
    Raises UnknownTableError once it is dropped, even if another table has its name by then. Handles
    of one table are equal.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> db.create_table("r", {"a": "int64", "b": "string"}, unique=["a"])
    Table('r', columns=['a', 'b'], unique=['a'], rows=0)
    >>> table = db.tables["r"]
    >>> table.insert({"a": [1, 2], "b": ["x", "y"]})
    >>> [row["b"] for row in table], table.where(b="y").to_pylist()
    (['x', 'y'], [{'a': 2, 'b': 'y'}])
    """

    __slots__ = ()
    _noun = "table"

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types; raises UnknownTableError once dropped."""
        import pyarrow as pa

        return pa.schema(self._native.table_schema(self._handle))

    @property
    def unique(self) -> list[str] | None:
        """The columns that are unique together, if any were declared."""
        found: list[str] | None = self._info()["unique"]
        return found

    @property
    def static(self) -> bool:
        """Whether the table stays as it is once a view reads it."""
        return bool(self._info()["static"])

    @property
    def keep_for(self) -> tuple[str, str] | None:
        """The column and the length of time after which rows leave, if one was declared."""
        found: tuple[str, str] | None = self._info()["keep_for"]
        return found

    @property
    def expired(self) -> int:
        """Number of rows that left for their age since the table was made, altered or opened.

        O(1).

        >>> import ringview as rv
        >>> from datetime import datetime
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"ts": "timestamp"}, keep_for=("ts", "1 day"))
        >>> table.insert({"ts": [datetime(2026, 3, 1), datetime(2026, 3, 5)]})
        >>> db.advance(datetime(2026, 3, 4))
        >>> table.expired, len(table)
        (1, 1)
        """
        return int(self._info()["expired"])

    @property
    def defaults(self) -> dict[str, Any]:
        """Values of columns that an `INSERT` of SQL leaves out. O(columns).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> db.execute("CREATE TABLE r (a BIGINT, at VARCHAR DEFAULT 'home')")
        >>> db.execute("INSERT INTO r (a) VALUES (1)")
        1
        >>> db.tables["r"].defaults, list(db.tables["r"])
        ({'at': 'home'}, [{'a': 1, 'at': 'home'}])
        """
        import pyarrow as pa

        found = pa.table(self._native.table_defaults(self._handle))
        row: dict[str, Any] = found.to_pylist()[0] if found.num_columns else {}
        return row

    def explain(self) -> str:
        """Summary of the table: its rows, and when they leave it. O(1).

        >>> import ringview as rv
        >>> from datetime import datetime
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"ts": "timestamp"}, keep_for=("ts", "7 days"))
        >>> table.insert({"ts": [datetime(2026, 3, 1, 8)]})
        >>> print(table.explain())
        table "r": 1 row
        a row leaves when ts < now() - INTERVAL '7 days', as advance(to) says; NULL stays
        the oldest row is of 2026-03-01T08:00:00+00:00; the clock is not set
        """
        info = self._info()
        lines = [f"table {quoted(self.name)}: {counted(int(info['rows']), 'row')}"]
        if info["unique"]:
            lines.append(f"no two rows share ({', '.join(info['unique'])})")
        if info["keep_for"] is None:
            lines.append("rows stay until they are deleted")
            return "\n".join(lines)
        column, length = info["keep_for"]
        lines.append(
            f"a row leaves when {column} < now() - INTERVAL '{length}', as advance(to) says; "
            "NULL stays"
        )
        oldest, now = info["oldest"], self._native.now()
        clock = "not set" if now is None else f"at {moment(now).isoformat()}"
        if oldest is None:
            lines.append(f"no row will leave; the clock is {clock}")
        else:
            lines.append(f"the oldest row is of {moment(oldest).isoformat()}; the clock is {clock}")
        return "\n".join(lines)

    @property
    def nbytes(self) -> int:
        """Bytes that its rows hold."""
        return int(self._info()["bytes"])

    def to_arrow(self, *, multiplicity: str | None = None) -> pa.Table:
        """The rows of the table, in no particular order; a row that is there twice is listed twice.

        Args:
            multiplicity: A name for a further column of integers: each row is then listed once,
                with how often it is there. `insert(.., multiplicity=)` takes that again.

        Raises:
            UnsupportedError: The database trusts deletes, so it keeps no rows.
            InvalidValueError: The table has a column named as `multiplicity`.

        Complexity: O(rows).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"a": "int64"})
        >>> db.insert("r", {"a": [5, 6, 6]})
        >>> sorted(table.to_arrow()["a"].to_pylist())
        [5, 6, 6]
        >>> table.to_arrow(multiplicity="times").sort_by("a").to_pylist()
        [{'a': 5, 'times': 1}, {'a': 6, 'times': 2}]
        """
        import pyarrow as pa

        found = pa.table(self._native.table_rows(self._handle, multiplicity))
        if multiplicity is None:
            return found
        # Inside, equal rows may be listed separately.
        names = self.schema.names
        counts = found.group_by(names, use_threads=False).aggregate([(multiplicity, "sum")])
        return counts.rename_columns([*names, multiplicity]).cast(found.schema)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the table as a pandas frame; pandas must be installed. O(rows)."""
        return arrow.plain_pandas(self.to_arrow)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows of the table as a stream of batches: those that it has now, and no others.

        They are made by this call, O(rows), and can be read whatever becomes of the table.

        Raises:
            UnsupportedError: The database trusts deletes, so it keeps no rows.

        >>> import ringview as rv
        >>> table = rv.Database().create_table("r", {"a": "int64"})
        >>> table.insert({"a": [1, 2]})
        >>> sum(len(batch) for batch in table.to_reader())
        2
        """
        import pyarrow as pa

        return pa.RecordBatchReader.from_stream(self._native.table_rows(self._handle, None))

    def get(self, key: lookup.Key) -> dict[str, Any] | None:
        """The row that has a `unique` key; None if there is none.

        Args:
            key: A value for each column of the key by its name; or the values alone, a tuple in
                the order of `unique`; of a single column the value itself.

        Raises:
            UnsupportedError: The table has no key, or its rows are not kept (`trust_deletes`).
            UnknownColumnError: A column that is not of the key.
            InvalidValueError: A column of the key is missing.
            TypeMismatchError: A value of another type than its column.

        Complexity: O(columns), however many rows there are.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"id": "int64", "a": "string"}, unique="id")
        >>> table.insert({"id": [1, 2], "a": ["x", "y"]})
        >>> table.get({"id": 2}), table.get(2), table.get(3)
        ({'id': 2, 'a': 'y'}, {'id': 2, 'a': 'y'}, None)
        """
        return self.get_many([key])[0]

    def get_many(self, keys: Rows | Iterable[lookup.Key]) -> list[dict[str, Any] | None]:
        """The rows that have several keys, one a key and in their order; None where there is none.

        Args:
            keys: A list of keys, or columns: Arrow data, a pandas or polars frame, a dict of
                lists; each key as for `get`, whose errors are raised.

        Complexity: O(keys), however many rows there are.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> table = db.create_table("r", {"id": "int64", "a": "string"}, unique="id")
        >>> table.insert({"id": [1, 2], "a": ["x", "y"]})
        >>> table.get_many({"id": [2, 3]})
        [{'id': 2, 'a': 'y'}, None]
        """
        listed = lookup.rows_by_key(keys, self.name, self.unique)
        whole = [at for at, key in enumerate(listed) if None not in key.values()]
        rows, places = self._by_key([listed[at] for at in whole])
        found: list[dict[str, Any] | None] = [None] * len(listed)
        for place, row in zip(places, arrow.rows(rows), strict=True):
            found[whole[place]] = row
        return found

    def insert(
        self,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Add rows; see `Database.insert`.

        >>> import ringview as rv
        >>> table = rv.Database().create_table("r", {"a": "int64"})
        >>> table.insert({"a": [1, 2]})
        >>> table.delete({"a": [1]})
        >>> table.to_arrow().to_pylist()
        [{'a': 2}]
        """
        self._change(1, rows, multiplicity, progress)

    def writer(
        self,
        rows: int = 1000,
        seconds: float | None = 0.1,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> Writer:
        """Gathers single rows and inserts them together; see `Writer`.

        Args:
            rows: Insert once so many are gathered.
            seconds: Insert once the oldest has waited so long; None to wait for rows alone.
            clock: A function that returns the time, in seconds.

        Raises:
            InvalidValueError: No rows, or a negative time.
            UnknownTableError: The table was dropped.

        >>> import ringview as rv
        >>> table = rv.Database().create_table("r", {"a": "int64"})
        >>> with table.writer() as writer:
        ...     for a in range(3):
        ...         writer.insert((a,))
        >>> len(table)
        3
        """
        return Writer(self._native, self._handle, rows, seconds, clock)

    def delete(
        self,
        rows: Rows,
        *,
        multiplicity: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Take rows away; see `Database.delete`."""
        self._change(-1, rows, multiplicity, progress)

    def upsert(self, rows: Rows, *, progress: Progress | None = None) -> None:
        """Add rows, or put them in the place of those with their key; see `Database.upsert`.

        >>> import ringview as rv
        >>> table = rv.Database().create_table("r", {"id": "int64", "a": "int64"}, unique="id")
        >>> table.upsert({"id": [1, 2], "a": [10, 20]})
        >>> table.update({"id": [2], "a": [21]})
        >>> table.delete({"id": [1]})
        >>> table.to_arrow().to_pylist()
        [{'id': 2, 'a': 21}]
        """
        self._change("upsert", rows, None, progress)

    def update(self, rows: Rows, *, progress: Progress | None = None) -> None:
        """Change rows that are there, found by their key; see `Database.update`."""
        self._change("update", rows, None, progress)

    def apply(self, rows: Rows, *, op: str, progress: Progress | None = None) -> None:
        """Apply a feed of changes, a word a row in the column `op`; see `Database.apply`."""
        self._change("apply", rows, op, progress)

    def _change(
        self,
        how: How,
        rows: Rows,
        column: str | None,
        progress: Progress | None,
        batch_id: int | str | None = None,
    ) -> None:
        changes = changes_of(self._native, self._handle, how, rows, column)
        try:
            apply_changes(self._native, changes, progress, batch_id=batch_id)
        except DuplicateKeyError as problem:
            row = self._second(rows) if how == 1 and column is None else None
            if row is None:
                raise
            raise DuplicateKeyError(f"row {row}: {problem}") from None

    def _second(self, rows: Any) -> int | None:
        """The place of the row that was refused as the second one with its unique key.

        None where the rows cannot be read twice, as those of a stream. O(rows), after a refusal.
        """
        seen: set[tuple[Any, ...]] = set()
        # An error of this look is not the caller's error.
        with suppress(Exception):
            keys = lookup.keys_of(rows, self.unique or [], self.schema)
            if keys is None or len(keys) > _MOST_SEARCHED:
                return None
            for at, (key, held) in enumerate(zip(keys, self.get_many(keys), strict=True)):
                if held is not None or key in seen:
                    return at
                if None not in key:
                    seen.add(key)
        return None

    def _slice(self, start: int, stop: int) -> pa.Table:
        return self.to_arrow().slice(start, stop - start)

    def _agreeing(self, values: Mapping[str, Any], types: Mapping[str, pa.DataType]) -> pa.Table:
        if set(values) != set(self.unique or []) or None in values.values():
            return super()._agreeing(values, types)
        return self._by_key([dict(values)])[0]

    def _by_key(self, keys: list[dict[str, Any]]) -> tuple[pa.Table, list[int]]:
        """The rows that have some whole keys, and the place of each among them."""
        import pyarrow as pa

        schema = self.schema
        fields = [schema.field(name) for name in self.unique or []]
        columns = [lookup.column([key[field.name] for key in keys], field) for field in fields]
        wanted = pa.table(columns, schema=pa.schema(fields))
        rows, places = self._native.table_get_rows(self._handle, wanted)
        return pa.table(rows), places

    def __len__(self) -> int:
        """Rows, each counted as often as it was inserted."""
        return int(self._info()["rows"])

    def __repr__(self) -> str:
        try:
            info = self._info()
        except RingviewError as problem:
            return f"Table({self.name!r}, {self._gone(problem)})"
        parts = [f"columns={self.schema.names}"]
        if info["unique"]:
            parts.append(f"unique={info['unique']}")
        if info["static"]:
            parts.append("static=True")
        if info["keep_for"]:
            parts.append(f"keep_for={info['keep_for']}")
        return f"Table({self.name!r}, {', '.join(parts)}, rows={info['rows']})"

    def _repr_html_(self) -> str:
        """The columns and the size, for notebooks."""
        info, unique = self._info(), self.unique or []
        together = "unique" if len(unique) == 1 else "unique together"
        columns = [
            {
                "column": field.name,
                "type": str(field.type),
                "": ", ".join(
                    ([] if field.nullable else ["not null"])
                    + ([together] if field.name in unique else [])
                ),
            }
            for field in self.schema
        ]
        static = ", static" if info["static"] else ""
        size = f"{counted(int(info['rows']), 'row')}, {int(info['bytes']):,} bytes{static}"
        head = f"<div><b>{escape(self.name)}</b>: {size}</div>"
        return head + notebook.rows(["column", "type", ""], columns)

    def _info(self) -> dict[str, Any]:
        return self._native.table_info(self._handle)
