"""A table as a user sees it: its schema and its size. Holds no rows itself.

Invariant: reads the engine at each question, so it is never stale. Cost: O(columns) for the schema,
O(1) else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import notebook

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native


class Table:
    """A table of a database: a bag of rows that views read.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> db.create_table("r", {"a": "int64", "b": "string"}, unique=["a"])
    Table('r', columns=['a', 'b'], unique=['a'], rows=0)
    """

    __slots__ = ("_native", "name")

    def __init__(self, native: _native.Database, name: str) -> None:
        self._native = native
        self.name = name

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types; raises UnknownTableError once dropped."""
        import pyarrow as pa

        return pa.schema(self._native.table_schema(self.name))

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
    def nbytes(self) -> int:
        """Bytes that its rows hold."""
        return int(self._info()["bytes"])

    def __len__(self) -> int:
        """Rows, each counted as often as it was inserted."""
        return int(self._info()["rows"])

    def __bool__(self) -> bool:
        """A table is true, empty or not."""
        return True

    def __repr__(self) -> str:
        info = self._info()
        parts = [f"columns={self.schema.names}"]
        if info["unique"]:
            parts.append(f"unique={info['unique']}")
        if info["static"]:
            parts.append("static=True")
        return f"Table({self.name!r}, {', '.join(parts)}, rows={info['rows']})"

    def _repr_html_(self) -> str:
        """The columns and the size, for notebooks."""
        return notebook.table(self)

    def _info(self) -> dict[str, Any]:
        return self._native.table_info(self.name)
