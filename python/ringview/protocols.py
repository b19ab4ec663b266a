"""What a table, a view, a database and a COFACTOR are to files below theirs.

Invariant: types alone. A file imports these in the place of the class, so that no two files import
each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native


class TableLike(Protocol):
    """A table of a database."""

    name: str
    _native: _native.Database

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""

    @property
    def unique(self) -> list[str] | None:
        """The columns that are unique together."""

    @property
    def static(self) -> bool:
        """Whether it stays as it is."""

    @property
    def nbytes(self) -> int:
        """Bytes that its rows hold."""

    def __len__(self) -> int:
        """How many rows it has."""


class KeyedTable(TableLike, Protocol):
    """A table whose rows are found by their key."""

    def get_many(self, keys: Any) -> list[dict[str, Any] | None]:
        """The rows that have some keys, None where there is none."""


class ViewLike(Protocol):
    """A view of a database."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""

    def __len__(self) -> int:
        """How many rows it has."""


class DatabaseLike(Protocol):
    """A database, as a transaction uses it."""

    _native: _native.Database

    @property
    def tables(self) -> Mapping[str, TableLike]:
        """Its tables by name."""


class Definable(DatabaseLike, Protocol):
    """A database, as statements between BEGIN and COMMIT use it."""

    def _define(self, statement: _native.Statement, above: int) -> int | None:
        """Do a statement that declares, alters or drops something, so many calls below its own."""

    def _over(self, native: _native.Database) -> Self:
        """A database of the same kind over this one or a draft, with no transaction open."""


class Moments(Protocol):
    """Counts, sums and sums of products."""

    @property
    def names(self) -> list[str]:
        """The numeric columns."""

    @property
    def count(self) -> int:
        """How many rows."""

    @property
    def sums(self) -> Any:
        """The sum of each column."""

    @property
    def matrix(self) -> Any:
        """The sum of the product of each two."""

    @property
    def categories(self) -> Mapping[str, Sequence[Any]]:
        """The values of each categorical column."""

    @property
    def category_counts(self) -> Mapping[str, Any]:
        """How often each value is there."""
