"""A view as a user sees it: its rows now, what moved, and how it is kept.

Invariant: reads the engine at each question; two reads without a change between them are equal.
Cost: O(rows) to read all, O(groups that moved) for the changes, O(1) for the length.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from .errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas
    import pyarrow as pa

    from . import _native
    from .cofactor import Cofactor

_SHOWN = 10


class View:
    """A view of a database, exact after every change.

    Reads raise UnknownViewError once it is dropped.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    >>> db.insert("r", {"a": [1, 1, 2]})
    >>> view
    View('v', rows=2)
    >>> db.delete("r", {"a": [2]})
    >>> view.to_arrow().to_pylist()
    [{'a': 1, 'n': 2}]
    """

    __slots__ = ("_native", "name")

    def __init__(self, native: _native.Database, name: str) -> None:
        self._native = native
        self.name = name

    def to_arrow(self) -> pa.Table:
        """The rows of the view, in no particular order. O(rows)."""
        import pyarrow as pa

        return pa.table(self._native.view_result(self.name))

    def to_pandas(self) -> pandas.DataFrame:
        """The rows of the view as a pandas frame; pandas must be installed. O(rows)."""
        return self.to_arrow().to_pandas()

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows of the view as a stream of batches."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_stream(self._native.view_result(self.name))

    def scalar(self) -> Any:
        """The only value of a view with one row and one column.

        Raises:
            InvalidValueError: The view has more, or fewer.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> db.create_view("v", "SELECT COUNT(*) FROM r").scalar()
        0
        """
        found = self.to_arrow()
        if found.shape != (1, 1):
            rows, columns = found.shape
            raise InvalidValueError(
                f"view {self.name!r} has {rows} rows and {columns} columns; scalar() reads a view "
                "of one row and one column, to_arrow() any"
            )
        return found.column(0)[0].as_py()

    def changes(self) -> pa.Table:
        """What moved since the last call: rows with a last column `multiplicity`.

        A row that came has multiplicity 1, one that left has -1; a row whose aggregate moved leaves
        and comes. So does a group that begins or ends to pass HAVING. The first call gives the
        whole view. O(groups that moved).

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64"})
        >>> view = db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
        >>> db.insert("r", {"a": [1, 2]})
        >>> _ = view.changes()
        >>> db.delete("r", {"a": [2]})
        >>> view.changes().to_pylist()
        [{'a': 2, 'n': 1, 'multiplicity': -1}]
        """
        import pyarrow as pa

        return pa.table(self._native.view_changes(self.name))

    def explain(self) -> str:
        """The engine that keeps the view, why, its tree, and what each change costs."""
        return self._native.view_explain(self.name)

    def cofactor(self) -> Cofactor:
        """The counts, sums and products of a COFACTOR view without groups. O(m^2).

        Raises:
            UnsupportedError: The view has groups: read `cofactors()`.
            InvalidValueError: The view has no COFACTOR.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"x": "int64 not null", "y": "int64 not null"})
        >>> view = db.create_view("v", "SELECT COFACTOR(x, y) FROM r")
        >>> db.insert("r", {"x": [1, 2], "y": [3, 5]})
        >>> view.cofactor().matrix.tolist()
        [[5.0, 13.0], [13.0, 34.0]]
        """
        from .cofactor import Cofactor

        return Cofactor.from_table(self.to_arrow())

    def cofactors(self) -> Iterator[tuple[tuple[Any, ...], Cofactor]]:
        """Each group of a COFACTOR view: its key and its counts, sums and products.

        Raises:
            InvalidValueError: The view has no COFACTOR.

        >>> import ringview as rv
        >>> db = rv.Database()
        >>> _ = db.create_table("r", {"a": "int64 not null", "x": "int64 not null"})
        >>> view = db.create_view("v", "SELECT a, COFACTOR(x) FROM r GROUP BY a")
        >>> db.insert("r", {"a": [7, 7], "x": [1, 2]})
        >>> [(key, found.count, found.sums.tolist()) for key, found in view.cofactors()]
        [((7,), 2, [3.0])]
        """
        from .cofactor import cofactors

        return cofactors(self.to_arrow())

    def __len__(self) -> int:
        """How many rows the view has. O(1), or O(groups) with HAVING."""
        return self._native.view_len(self.name)

    def __bool__(self) -> bool:
        """A view is true, empty or not."""
        return True

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows of the view for any reader of the Arrow C interface, such as polars."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"View({self.name!r}, rows={len(self)})"

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        found = self.to_arrow()
        head = "".join(f"<th>{escape(name)}</th>" for name in found.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>"
            for row in found.slice(0, _SHOWN).to_pylist()
        )
        note = f"<p>{escape(self.name)}: {found.num_rows} rows</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"
