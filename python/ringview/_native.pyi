"""The engine: names and Arrow capsules in, capsules and texts out. See `ringview.Database`."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Batches",
    "Columns",
    "Database",
    "Dense",
    "MatrixChain",
    "RowStream",
    "Rows",
    "__version__",
]

__version__: str

class _Schema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> object: ...

_Reals = NDArray[np.float64]

@final
class Batches:
    """Rows that were read, for changes to come."""

    def __len__(self) -> int: ...

_Data = _Stream | _Array | Batches
_Rows = tuple[str, int, _Data, str | None]
_Product = tuple[str, int, Sequence[tuple[_Data, str | None]]]

@final
class Columns:
    """The columns of a table: a schema by the Arrow C interface."""

    def __arrow_c_schema__(self) -> object: ...

@final
class Rows:
    """Rows of a view: a stream by the Arrow C interface, which can be read any number of times."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

@final
class RowStream:
    """The rows that a view had when the stream was made."""

    def next(self) -> Rows | None:
        """The next rows; None behind the last."""

@final
class Database:
    """Tables, and views that are exact after every call of `apply`."""

    def __new__(cls, trust_deletes: bool = False, memory_limit: int | None = None) -> Database: ...
    def create_table(
        self,
        name: str,
        schema: _Schema,
        unique: Sequence[str] | None = None,
        static: bool = False,
    ) -> None:
        """Declare a table with the columns of a schema."""

    def drop_table(self, name: str) -> None:
        """Forget a table that no view reads."""

    def create_view(self, name: str, query_json: str) -> None:
        """Declare a view by a query in JSON, and fill it from the rows that are there."""

    def drop_view(self, name: str) -> None:
        """Forget a view."""

    def apply(
        self,
        ops: Sequence[_Rows | _Product],
        progress: Callable[[int], object] | None = None,
        done: list[int] | None = None,
    ) -> None:
        """Apply changes, all or none.

        An op is a table, 1 to insert or -1 to delete, rows, and the name of a column that says how
        often each row counts, or None; or a table, 1 or -1, and factors, pairs of rows over
        disjoint columns and such a name, whose product is the change. `progress` is called with the
        number of rows done; an exception from it undoes everything. `done` gets the number of all
        rows once everything is applied: what is raised after that has undone nothing.
        """

    def take(self, data: _Stream | _Array) -> Batches:
        """Read rows, for a change that comes later; their memory may be written to after that."""

    def tables(self) -> list[str]:
        """The names of the tables, oldest first."""

    def table_schema(self, name: str) -> Columns:
        """The columns of a table."""

    def table_info(self, name: str) -> dict[str, Any]:
        """What is known of a table: `rows`, `unique`, `static` and `bytes`."""

    def views(self) -> list[str]:
        """The names of the views, oldest first."""

    def view_result(self, name: str) -> Rows:
        """The rows of a view. O(rows)."""

    def view_changes(self, name: str) -> Rows:
        """What moved in a view since the last call, with a last column `multiplicity`."""

    def view_schema(self, name: str) -> Columns:
        """The columns of a view."""

    def view_slice(self, name: str, start: int, stop: int) -> Rows:
        """The rows `start .. stop` of a view, as far as there are any."""

    def view_draw(self, name: str, rows: int, seed: int) -> Rows:
        """Rows of a view drawn with replacement."""

    def view_stream(self, name: str) -> RowStream:
        """A stream of the rows that a view has now."""

    def view_len(self, name: str) -> int:
        """How many rows a view has. O(1)."""

    def view_explain(self, name: str, format: str) -> str:
        """How a view is maintained, with what each node holds, in a form."""

    def view_query(self, name: str) -> str:
        """The query of a view, in JSON."""

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part."""

    def plan(self, query_json: str, format: str) -> str:
        """How a view of a query in JSON would be maintained, in a form."""

@final
class Dense:
    """A matrix of a chain: doubles by the buffer protocol, which never change."""

    shape: tuple[int, int]

    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class MatrixChain:
    """The product of a chain of matrices, fresh under changes of any of them."""

    def __new__(
        cls, matrices: Sequence[_Reals], changing: Sequence[int] | None = None
    ) -> MatrixChain: ...
    def update(self, at: int, u: _Reals, v: _Reals, done: list[bool] | None = None) -> None:
        """Add the sum of u[c] v[c]^T to a matrix, over the rows c of `u` and `v`.

        `done`, here and below, gets an entry once the matrix is changed: what is raised after that
        has undone nothing.
        """

    def update_row(self, at: int, row: int, delta: _Reals, done: list[bool] | None = None) -> None:
        """Add to one row of a matrix."""

    def update_column(
        self, at: int, column: int, delta: _Reals, done: list[bool] | None = None
    ) -> None:
        """Add to one column of a matrix."""

    def update_dense(self, at: int, delta: _Reals, done: list[bool] | None = None) -> None:
        """Add a matrix of the same shape."""

    def refresh(self) -> None:
        """Compute every view anew."""

    def product(self) -> Dense:
        """The product as it is now."""

    def matrix(self, at: int) -> Dense:
        """A matrix as it is now."""

    def order(self) -> str:
        """The bracketing."""

    def explain(self, format: str) -> str:
        """The tree of views, with bytes and costs, in a form."""

    def memory_usage(self) -> int:
        """Bytes held."""

    def steps(self) -> int:
        """Multiply-adds so far."""

    def __len__(self) -> int: ...
