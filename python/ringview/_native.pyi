"""The engine: names and Arrow capsules in, capsules and texts out. See `ringview.Database`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Batches",
    "Columns",
    "Database",
    "Dense",
    "Follower",
    "MatrixChain",
    "PaiMap",
    "PostgresServer",
    "ReservoirState",
    "RowBuffer",
    "RowMap",
    "RowStream",
    "Rows",
    "RpaiTree",
    "Statement",
    "__version__",
    "check_joins",
    "columns_read",
    "count_triangles",
    "equalities",
    "expression_columns",
    "filter_columns",
    "merge_samples",
    "output_schema",
    "postgres_types",
    "product_columns",
    "script",
    "spark_filter",
    "sql_tokens",
    "tables_named",
    "translate",
]

__version__: str

class _Schema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Array(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> object: ...

_Parameter: TypeAlias = bool | int | float | Decimal | str | date | None

class _Definition(TypedDict):
    sql: str
    order: list[tuple[str, Any]] | None
    representation: str | None
    nulls: str | None
    epsilon: float | dict[str, float] | None
    parameters: Sequence[_Parameter] | Mapping[str, _Parameter] | None
    dialect: str
    in_blocks: bool
    only_joins: bool
    refresh: str
    errors_as_null: bool

# A name, or a name with the number of what had it when a handle was made.
_Handle = str | tuple[str, int]
_T = TypeVar("_T")
_Reals = NDArray[np.float64]

@final
class Batches:
    """Rows that were read, for later changes."""

    def __len__(self) -> int: ...

@final
class RowBuffer:
    """Rows that are gathered one at a time, to be applied together."""

    def append(self, row: object) -> int:
        """Adds a row; the number of rows then, or 0 if it was not added: pyarrow is to read it."""

    def take(self) -> Batches:
        """The rows; none are left."""

    def __len__(self) -> int: ...

_Data = _Stream | _Array | Batches
_How = int | Literal["upsert", "update", "apply"]
_Rows = tuple[str, _How, _Data, str | None]
_Product = tuple[str, int, Sequence[tuple[_Data, str | None]]]
_Advance = tuple[str, Literal["advance"], int]
_Op = _Rows | _Product | _Advance

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
class ReservoirState:
    """The state of a reservoir without its items."""

    def __new__(cls, k: int, seed: int) -> ReservoirState: ...
    def copy(self) -> ReservoirState:
        """The same state, apart."""

    def to_pass(self) -> int:
        """Number of items that need not be looked at."""

    def pass_(self, items: int) -> None:
        """Notes that so many of them, or all, were passed over."""

    def advance(self, items: int) -> int | None:
        """Of so many items, how many are passed over before one that is looked at."""

    def stop(self, real: bool) -> int | None:
        """The place that the item takes which is looked at; None if it is not real."""

    def offer(self, items: int) -> list[tuple[int, int]]:
        """Of a number of items, all real, those that are admitted, with their places, in order."""

    def w(self) -> float:
        """The largest key held: 1 until the reservoir is full."""

@final
class RowMap:
    """Rows computed from the rows of tables, each by itself."""

    def __new__(cls, query_json: str, tables: Sequence[tuple[str, _Schema]]) -> RowMap: ...
    def rows(self, atom: int, data: _Data, multiplicity: str | None) -> Rows:
        """Rows computed from the rows of an atom, with their multiplicities in a last column.

        `data` has the columns that the atom reads; `multiplicity` names one more.
        """

@final
class RowStream:
    """The rows that a view had when the stream was made."""

    def next(self) -> Rows | None:
        """The next rows; None behind the last."""

@final
class Follower:
    """A reader with a place of its own in the changes of a view."""

    def changes(self, into: Callable[[Rows], _T]) -> _T:
        """Changes since the last call, passed to `into`; kept for the next call if that raises."""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until something has moved, at most `seconds`; whether it has."""

    def commit(self) -> None:
        """Say that all that it was given is done with; only one with a name can."""

    def is_closed(self) -> bool:
        """Whether it was closed, or the database was."""

    def close(self) -> None:
        """End it, and free what was kept for it alone; a name keeps its place."""

@final
class Database:
    """Tables, and views that are exact after every call of `apply`."""

    def __new__(
        cls,
        trust_deletes: bool = False,
        memory_limit: int | None = None,
        share: bool = True,
        threads: int = 1,
    ) -> Database: ...
    def create_table(
        self,
        name: str,
        schema: _Schema,
        unique: Sequence[str] | None = None,
        static: bool = False,
        keep_for: tuple[str, str] | None = None,
        defaults: Statement | None = None,
    ) -> None:
        """Declare a table with the columns of a schema.

        `keep_for` is a column and the text of an interval: how long rows stay; `defaults` the
        statement that has those of the columns.
        """

    def create_function(
        self,
        name: str,
        function: Any,
        kind: str,
        takes: _Schema,
        returns: _Schema,
        special: bool,
    ) -> None:
        """Declare a function: a `ringview.Function`, schemas of its arguments and its result."""

    def drop_function(self, name: str) -> None:
        """Forget a function that no view calls."""

    def functions(self) -> list[tuple[str, Any]]:
        """The functions by name, oldest first, as they were given."""

    def now(self) -> int | None:
        """The moment that the clock is at, in microseconds since 1970 in UTC."""

    def drop_table(self, name: str, cascade: bool = False) -> None:
        """Forget a table that no view reads; if `cascade`, with the views that do."""

    def create_view(
        self,
        name: str,
        definition: _Definition,
        replace: bool = False,
        engine: str | None = None,
        suspends: bool = False,
    ) -> None:
        """Declare a view, and fill it from the rows that are there.

        If `replace`, in the place of a view of this name. `engine` names the one that keeps it; if
        None, the cheapest. If `suspends`, a change that it cannot take suspends it.
        """

    def resume_view(self, name: str) -> list[str]:
        """Fill a suspended view again, with those that it reads and those above it; their names."""

    def suspension(self, name: str) -> tuple[int, str] | None:
        """The moment since which a view is suspended, in microseconds since 1970, and why."""

    def create_views(
        self, views: Sequence[tuple[str, _Definition]], engine: str | None = None
    ) -> None:
        """Declare several views, all or none, and fill them together.

        One may read those before it.
        """

    def create_view_of(self, name: str, query_json: str) -> None:
        """Declare a view by a query in JSON, without a text."""

    def create_sample(self, name: str, definition: _Definition, k: int, seed: int) -> None:
        """Declares a sample of k rows of a join."""

    def create_sample_of(self, name: str, query_json: str, k: int, seed: int) -> None:
        """Declares a sample of k rows of a join by a query in JSON, without a text."""

    def view_is_sample(self, view: _Handle) -> bool: ...
    def sample_join_size(self, view: _Handle) -> tuple[int, int, float]:
        """Number of rows of the join of a sample: at least, at most, and the largest key held."""

    def sample_draw(
        self, view: _Handle, rows: int, seed: int, replacement: bool, weight: list[str] | None
    ) -> Rows:
        """Rows drawn from the whole join of a sample, with replacement or without."""

    def drop_view(self, name: str, cascade: bool = False) -> None:
        """Forget a view that no other reads; if `cascade`, with those that do."""

    def apply(
        self,
        ops: Sequence[_Op],
        progress: Callable[[int], object] | None = None,
        done: list[int] | None = None,
        net: bool = False,
        batch_id: int | str | None = None,
    ) -> bool:
        """Apply changes, all or none.

        An op is a table, 1 to insert or -1 to delete, rows, and the name of a column that says how
        often each row counts, or None; or a table, 1 or -1, and factors, pairs of rows over
        disjoint columns and such a name, whose product is the change; or a table, how its rows are
        changed by their key, rows, and for "apply" the name of a column of words; or "", "advance"
        and the new time of the clock, in microseconds since 1970. `progress` is called with the
        number of rows done; an exception from it undoes everything. `done` gets the number of all
        rows once everything is applied: an error after that has undone nothing. False, and nothing
        done, if changes of this identity were applied before. If `net`, the net effect counts.
        """

    def plain_rows(self, table: str, rows: object) -> Batches | None:
        """Rows of plain Python values; None if pyarrow is to read them."""

    def row_buffer(self, table: str) -> RowBuffer:
        """Gathers rows of a table one at a time."""

    def take(self, data: _Data) -> Batches:
        """Reads rows, for a later change; the caller may write to their memory after that."""

    def tables(self) -> list[str]:
        """The names of the tables, oldest first."""

    def table_ids(self) -> list[tuple[str, int]]:
        """The names and numbers of the tables: all as they are at one moment."""

    def table_id(self, name: str) -> int:
        """The number of a table."""

    def table_schema(self, table: _Handle) -> Columns:
        """The columns of a table."""

    def table_info(self, table: _Handle) -> dict[str, Any]:
        """Status of a table: `rows`, `unique`, `static`, `bytes` and `id`, its number."""

    def table_rows(self, table: _Handle, multiplicity: str | None) -> Rows:
        """The rows of a table, or each once with how often in a column of this name."""

    def views(self) -> list[str]:
        """The names of the views, oldest first."""

    def view_ids(self) -> list[tuple[str, int]]:
        """The names and numbers of the views: all as they are at one moment."""

    def panic_for_tests(self, changes: bool) -> None:
        """Panic in a call that reads or changes; only where every check is on."""

    def view_result(self, view: _Handle) -> Rows:
        """The rows of a view. O(rows)."""

    def view_changes(self, view: _Handle, into: Callable[[Rows], _T]) -> _T:
        """Changes of a view since the last call, passed to `into`; kept if that raises."""

    def forget_changes(self, view: _Handle) -> None:
        """End what `view_changes` began."""

    def follow(self, view: _Handle, from_now: bool, name: str | None = None) -> Follower:
        """A reader with a place of its own in the changes of a view; of a name, a kept one."""

    def follow_partials(self, view: _Handle, from_now: bool) -> Follower:
        """A reader with a place of its own in the partials of a view."""

    def followers(self, view: _Handle) -> list[str]:
        """The names of those who follow a view under one."""

    def forget_follower(self, view: _Handle, name: str) -> None:
        """Forget the place that a name has in the changes of a view."""

    def view_id(self, name: str) -> int:
        """The number of the view that has a name now."""

    def find_view(self, name: str) -> int | None:
        """The same, or None: no other name is looked for that may have been meant."""

    def view_schema(self, view: _Handle) -> Columns:
        """The columns of a view."""

    def view_slice(self, view: _Handle, start: int, stop: int) -> Rows:
        """The rows `start .. stop` of a view, as far as there are any."""

    def view_draw(self, view: _Handle, rows: int, seed: int) -> Rows:
        """Rows of a view drawn with replacement."""

    def view_stream(self, view: _Handle) -> RowStream:
        """A stream of the rows that a view has now."""

    def view_len(self, view: _Handle) -> int:
        """Number of rows of a view. O(1)."""

    def view_explain(self, view: _Handle, format: str) -> str:
        """Plan of a view, with the content of each node, in a form."""

    def view_warnings(self, view: str) -> list[str]:
        """Why a change may cost more than the rows of the keys that it has."""

    def view_sql(self, view: _Handle) -> str | None:
        """The SQL of a view, if it was created with any."""

    def view_key(self, view: _Handle) -> list[tuple[str, str]]:
        """The columns that identify the groups of a view, with the names of their types."""

    def view_get(self, view: _Handle, key: dict[str, Any]) -> Any:
        """The row of the group of a key; None if there is none.

        `NotImplemented` if a value of the row is none of Python's own scalars; NotImplementedError
        if one of the key is not.
        """

    def view_get_rows(
        self, view: _Handle, keys: Sequence[dict[str, Any]]
    ) -> tuple[Rows, list[int]]:
        """The rows of the groups of some keys, and the place of each among them."""

    def view_where(self, view: _Handle, key: dict[str, Any]) -> Rows:
        """The rows that have some values in columns that identify the groups of a view."""

    def partial_schema(self, view: _Handle) -> Columns:
        """The columns of the partials of a view, as an object with `__arrow_c_schema__`."""

    def view_partials(self, view: _Handle) -> Rows:
        """Contribution of a view to the same view over more rows, with `__arrow_c_stream__`."""

    def merge_partials(self, view: _Handle, partials: _Data) -> None:
        """Adds partials of a view to it, all or none."""

    def view_query(self, view: _Handle) -> str:
        """The query of a view, in JSON."""

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part."""

    def is_applied(self, batch_id: int | str) -> bool:
        """Whether changes of this identity were applied."""

    @staticmethod
    def open(
        path: str | PathLike[str],
        each: bool,
        tell_last: bool,
        trust_deletes: bool,
        memory_limit: int | None = None,
        progress: Callable[[int], object] | None = None,
        compact_at: float | None = None,
        share: bool = True,
        threads: int = 1,
        functions: Callable[[str, list[str], str, Any, Any], object] | None = None,
    ) -> Database:
        """Open the database of a file, or make one."""

    @staticmethod
    def load(
        path: str | PathLike[str],
        memory_limit: int | None = None,
        progress: Callable[[int], object] | None = None,
        share: bool = True,
        threads: int = 1,
        functions: Callable[[str, list[str], str, Any, Any], object] | None = None,
    ) -> Database:
        """Read a database from a file into memory."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write a copy to a file."""

    def snapshot(self) -> None:
        """Write the file anew."""

    def path(self) -> Path | None:
        """Path of the file; None in memory."""

    def file_status(
        self,
    ) -> tuple[tuple[int, int, int], int | None, tuple[int, int], str | None] | None:
        """Bytes of the file, its snapshot and its log; when, commits, cache, problem."""

    def close(self) -> None:
        """Forget all tables and views, for good, but for what is in the file."""

    def is_closed(self) -> bool:
        """Whether it was closed."""

    def plan(self, definition: _Definition, format: str, engine: str | None = None) -> str:
        """Plan of a view that is not created, in a form. `engine`: as there."""

    def evaluate(self, definition: _Definition) -> Rows:
        """The rows of a query over the tables and views as they are now."""

    def select(self, statement: Statement, pending: Sequence[_Op] = ...) -> Rows:
        """The rows of a query, behind the changes of a transaction that is open."""

    def change(
        self,
        statement: Statement,
        progress: Callable[[int], object] | None = None,
        done: list[int] | None = None,
        batch_id: int | str | None = None,
    ) -> tuple[int, Rows | None]:
        """Do an INSERT, an UPDATE or a DELETE; how many rows it changed, what RETURNING shows."""

    def changes_of(
        self, statement: Statement, pending: Sequence[_Op], net: bool
    ) -> tuple[int, list[_Rows], Rows | None]:
        """Number of rows a statement would change behind some changes, its own, and RETURNING."""

    def returning(self, statement: Statement) -> Rows | None:
        """The columns of what RETURNING would show; None if there is none."""

    def copied(self, table: str, columns: Sequence[str], rows: _Data) -> Batches:
        """Rows of a table from values of some of its columns, as an INSERT would have them."""

    def draft(self, pending: Sequence[_Op]) -> Database:
        """A draft of this database behind the changes of a transaction."""

    def fill_draft(self, draft: Database, statement: Statement) -> None:
        """Give a draft the rows that a statement reads, if it has not got them."""

    def draft_len(self) -> int:
        """Number of operations of a draft."""

    def undo_draft(self, draft: Database, operations: int) -> None:
        """Undo the operations of a draft behind the first so many."""

    def commit_draft(self, draft: Database) -> None:
        """Do what was done to a draft: all of it, or nothing."""

    def create_view_stated(self, statement: Statement, name: str, replace: bool) -> None:
        """Declare the view of a CREATE VIEW; if `replace`, in the place of a view of this name."""

    def create_table_filled(self, statement: Statement, name: str) -> int:
        """Create the table of a CREATE TABLE .. AS, with its rows; how many there are."""

    def table_defaults(self, table: _Handle) -> Rows:
        """The defaults of a table's columns, as one row of those that have one."""

    def alter(self, statement: Statement) -> None:
        """Do an ALTER TABLE."""

    def dropped(self, statement: Statement) -> str | None:
        """The name of what a DROP drops; None if that is not there, and need not be."""

    def table_get_rows(self, table: _Handle, keys: _Data) -> tuple[Rows, list[int]]:
        """The rows of a table that have some keys, and the place of each among the keys."""

class _Options(TypedDict, total=False):
    unique: list[str] | None
    static: bool
    keep_for: tuple[str, str] | None
    or_replace: bool
    if_not_exists: bool
    if_exists: bool
    cascade: bool

@final
class Statement:
    """A statement of a script."""

    @property
    def kind(self) -> str:
        """Its kind, as a word."""

    @property
    def returns(self) -> bool:
        """Whether it says RETURNING."""

    @property
    def line(self) -> int:
        """The line of the script at which it begins."""

    @property
    def names(self) -> list[str]:
        """The names of the tables or views that it is about, as they are spelt."""

    @property
    def columns(self) -> list[str]:
        """The columns that an UPDATE sets, as they are spelt."""

    @property
    def schema(self) -> Columns | None:
        """The columns of a table that is created; None where they are those of a query."""

    @property
    def text(self) -> str | None:
        """The text of a view that is created."""

    @property
    def options(self) -> _Options:
        """Its other options."""

def script(
    sql: str,
    dialect: str = "duckdb",
    parameters: Sequence[_Parameter] | Mapping[str, _Parameter] | None = None,
) -> list[Statement]:
    """The statements of a script, which is read whole."""

def count_triangles(edges: _Stream, directed: bool, multigraph: bool) -> int:
    """Number of triangles of a graph. Its edges are two columns of int64: from, and to."""

def merge_samples(parts: Sequence[tuple[int, int]], k: int, seed: int) -> list[list[int]]:
    """Chooses k rows of the whole from those drawn from each part of a join, by their places."""

def columns_read(query_json: str, tables: Sequence[tuple[str, _Schema]]) -> list[list[str]]:
    """The columns that the atoms of a query of computed rows read, by atom."""

def output_schema(query_json: str, tables: Sequence[tuple[str, _Schema]]) -> Columns:
    """The columns that a view of a query in JSON would have, over what its atoms read.

    A COFACTOR among them is a struct without fields.
    """

@final
class PostgresServer:
    """A server of PostgreSQL's wire protocol; it runs until it is closed."""

    def __new__(
        cls,
        backend: object,
        host: str,
        port: int,
        *,
        password: str | None,
        settings: Sequence[tuple[str, str]],
        connections: int,
        message: int,
        statement: float | None,
        idle: float | None,
        certificate: tuple[str | PathLike[str], str | PathLike[str]] | None,
        plain: bool,
    ) -> PostgresServer: ...
    @property
    def address(self) -> tuple[str, int]:
        """The number of the address, and the port."""

    @property
    def connections(self) -> int:
        """Number of connections."""

    def close(self) -> None:
        """End all statements and connections; twice does nothing."""

def postgres_types(schema: _Schema) -> list[tuple[int, int, int]]:
    """The types that PostgreSQL has for some columns: number, bytes of a value, modifier."""

def tables_named(sql: str, dialect: str = "duckdb") -> list[str]:
    """Names in FROM of a text, in subqueries too: tables, views, names of WITH."""

def sql_tokens(sql: str) -> list[str]:
    """The tokens of a text without blanks and comments, keywords in upper case."""

def product_columns(expression: str) -> list[str]:
    """The columns of a product such as `a * b * (c)`."""

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

_Number = int | float
_Entry = tuple[_Number, int, _Number]
# A key, a tie or None for all of the key's, and whether what is named is below the cut.
_Bound = tuple[_Number, int | None, bool]

@final
class RpaiTree:
    """An ordered map from keys to payloads in which ranges of keys shift."""

    def __new__(
        cls, entries: Sequence[_Entry], real_keys: bool, real_payloads: bool
    ) -> RpaiTree: ...
    def get(self, key: _Number, tie: int) -> _Number | None:
        """The payload of an entry."""

    def add(self, key: _Number, payload: _Number, tie: int) -> None:
        """Add to the payload of an entry."""

    def put(self, key: _Number, payload: _Number, tie: int) -> _Number | None:
        """Give an entry a payload; the one before."""

    def remove(self, key: _Number, tie: int) -> _Number | None:
        """Take an entry away; its payload."""

    def sum(self, above: _Bound | None, below: _Bound | None) -> _Number:
        """The sum above one cut and below another."""

    def shift_keys(self, cut: _Bound, by: _Number) -> None:
        """Move all keys above a cut."""

    def select(self, sum: _Number, inclusive: bool) -> _Entry | None:
        """The first entry at which the running sum passes a bound, and the sum before it."""

    def neighbour(self, cut: _Bound | None, up: bool) -> _Entry | None:
        """The first entry above a cut or of all, or the last below it or of all."""

    def has(self, key: _Number) -> bool:
        """Whether an entry has a key, whatever its tie."""

    def entries(self) -> list[_Entry]:
        """All entries in order."""

    def begin(self) -> None:
        """Note changes from now on."""

    def commit(self) -> None:
        """The changes stay."""

    def rollback(self) -> None:
        """The changes since `begin` are undone."""

    def memory_usage(self) -> int:
        """Bytes held."""

    def steps(self) -> int:
        """Nodes visited so far."""

    def __len__(self) -> int: ...

@final
class PaiMap:
    """A hashed map from keys to payloads."""

    def __new__(cls, real_keys: bool, real_payloads: bool) -> PaiMap: ...
    def get(self, key: _Number) -> _Number | None:
        """The payload of a key."""

    def add(self, key: _Number, payload: _Number) -> None:
        """Add to the payload of a key."""

    def put(self, key: _Number, payload: _Number) -> _Number | None:
        """Give a key a payload; the one before."""

    def remove(self, key: _Number) -> _Number | None:
        """Take a key away; its payload."""

    def shift(self, key: _Number, by: _Number, part: _Number) -> None:
        """Move part of the payload of a key."""

    def shift_keys(self, cut: tuple[_Number, bool], by: _Number) -> None:
        """Move all keys above a cut."""

    def sum(self, below: tuple[_Number, bool] | None) -> _Number:
        """The sum of the payloads below a cut, or of all."""

    def entries(self) -> list[tuple[_Number, _Number]]:
        """The entries in order of their keys."""

    def begin(self) -> None:
        """Note changes from now on."""

    def commit(self) -> None:
        """The changes stay."""

    def rollback(self) -> None:
        """The changes since `begin` are undone."""

    def memory_usage(self) -> int:
        """Bytes held."""

    def __len__(self) -> int: ...

def expression_columns(text: str) -> list[tuple[int, int, str]]:
    """The columns that an expression of a query names: how far out, of which atom, the name."""

def filter_columns(text: str) -> list[str]:
    """The columns that the filter of an atom names."""

def equalities(text: str) -> list[tuple[tuple[int, int, str], tuple[int, int, str]]]:
    """The pairs of columns that a condition says to be equal: alone, or under AND."""

def spark_filter(text: str, columns: _Schema) -> str | None:
    """The part of a filter over columns of a schema that Spark can evaluate, as its SQL."""

def translate(definition: _Definition, tables: Sequence[tuple[str, _Schema]]) -> str:
    """The query in JSON of a definition over tables, views and their columns."""

def check_joins(query_json: str, what: str) -> None:
    """Refuses a query in JSON with a part that is computed row by row, or in an order."""
