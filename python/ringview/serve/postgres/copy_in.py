"""Rows that are copied in: their table, its columns, and the INSERT of them.

Invariant: rows are taken all together, as an INSERT of them would be, after the last one. Cost:
that of the INSERT.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from ... import _native
from ...statements import spelt
from ...text import quoted
from .codes import SqlStateError
from .copying import Copy
from .results import Answer

if TYPE_CHECKING:
    import pyarrow as pa

    from ...table import Table
    from ...view import View


class Taking(Protocol):
    """A session that takes rows."""

    @property
    def status(self) -> str:
        """Whether it is in a transaction, and whether that failed."""

    def take(self, table: str, columns: list[str], rows: _native.Rows) -> Answer:
        """Insert rows, in the transaction that is open if one is."""


class Sink:
    """Receiver of the rows of one COPY."""

    def __init__(self, session: Taking, table: str, columns: list[str]) -> None:
        self._session = session
        self._table = table
        self._columns = columns

    @property
    def status(self) -> str:
        """That of the session."""
        return self._session.status

    def take(self, rows: _native.Rows) -> Answer:
        """Take all rows."""
        return self._session.take(self._table, self._columns, rows)

    def __repr__(self) -> str:
        return f"Sink({self._table!r}, {self._columns})"


def target(
    copy: Copy, tables: Mapping[str, Table], views: Mapping[str, View]
) -> tuple[str, pa.Schema]:
    """The table that receives the rows, and the columns that they have there.

    Raises:
        SqlStateError: There is no such table, or column; a view; a column that is given twice, or
            is not and must be.
    """
    import pyarrow as pa

    wanted = copy.into or ""
    name = spelt(wanted, tables)
    if name is None:
        view = spelt(wanted, views)
        if view is not None:
            what = f"{quoted(view)} is a view, whose rows change with those of its tables"
            raise SqlStateError("42809", what, "COPY into these")
        known = ", ".join(tables) or "none"
        raise SqlStateError("42P01", f"no table {quoted(wanted)}; known: {known}")
    table = tables[name]
    schema = table.schema
    given = [_column(c, name, schema) for c in copy.columns or schema.names]
    twice = next((column for column in given if given.count(column) > 1), None)
    if twice is not None:
        raise SqlStateError("42701", f"column {quoted(twice)} is given twice; leave one out")
    key, defaults = table.unique or [], table.defaults
    for field in schema:
        absent = field.name not in given and field.name not in defaults
        if absent and (not field.nullable or field.name in key):
            what = f"column {quoted(field.name)} must not be NULL, and has no default; give it"
            raise SqlStateError("23502", what)
    fields = [schema.field(column) for column in given]
    return name, pa.schema(
        [field.with_nullable(field.nullable and field.name not in key) for field in fields]
    )


def _column(wanted: str, table: str, schema: pa.Schema) -> str:
    found = spelt(wanted, schema.names)
    if found is None:
        known = ", ".join(schema.names)
        what = f"no column {quoted(wanted)} in table {quoted(table)}; known: {known}"
        raise SqlStateError("42703", what)
    return found
