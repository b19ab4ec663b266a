"""The state of a stream, as data: tables, views, and the slots that rows travel in.

Invariant: a plan can be pickled and holds no Spark, so that the driver and the workers cannot
disagree; two plans that describe themselves alike keep the same state. Cost: O(columns).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from ringview import Database
from ringview.queries import Parameters
from ringview.spark.slots import MULTIPLICITY, Layout

Changes = Literal["rows", "upserts", "signs", "words"]
"""How rows of a stream change their table.

"rows": each as often as its multiplicity says; "upserts": each takes the place of the one with its
key; "signs": a word says whether the row comes or goes; "words": a word says what happens to the
row with its key.
"""


AT, RANK = "at", "rank"
"""Of the last change of a key: where it is in the order, and which of its equals there it is."""

TABLE, GREATEST = "table", "at"
"""Of the greatest time that came in a table: its name, and the time in microseconds."""

_BEGIN = "1970-01-01"


@dataclass(frozen=True)
class TablePlan:
    """A table: the columns that are kept, and how the rows of its DataFrame change it."""

    name: str
    columns: pa.Schema
    keys: tuple[str, ...] | None
    changes: Changes
    static: bool
    order: pa.DataType | None = None
    """The type of the column that says which of two changes came first; None if none does."""
    keep_for: tuple[str, str] | None = None
    """A column of times and how long rows stay behind the clock; None if they stay for good."""
    watermark: tuple[str, int] | None = None
    """The column of times that the clock follows, and the delay in microseconds; None if none."""

    @property
    def delay(self) -> int | None:
        """Distance of the clock to the greatest time, in microseconds."""
        return None if self.watermark is None else self.watermark[1]

    @cached_property
    def op(self) -> str | None:
        """The column of words on its way; None if there are none."""
        return self._fresh("op") if self.changes in ("signs", "words") else None

    @cached_property
    def order_column(self) -> str | None:
        """The column to order by on its way; None if there is none."""
        return None if self.order is None else self._fresh("order")

    @cached_property
    def multiplicity(self) -> str:
        """The column of multiplicities once it has arrived."""
        return self._fresh(MULTIPLICITY)

    @cached_property
    def travelling(self) -> pa.Schema:
        """The columns that travel in slots: what is kept, and what says how it changes."""
        schema = self.columns
        if self.op is not None:
            schema = schema.append(pa.field(self.op, pa.string()))
        if self.order_column is not None:
            schema = schema.append(pa.field(self.order_column, self.order))
        return schema

    def _fresh(self, name: str) -> str:
        while name in self.columns.names:
            name += "_"
        return name

    def described(self) -> dict[str, Any]:
        """The form of the table in a checkpoint."""
        found: dict[str, Any] = {
            "columns": {field.name: str(field.type) for field in self.columns},
            "keys": self.keys and list(self.keys),
            "changes": self.changes,
            "static": self.static,
        }
        if self.order is not None:
            found["order"] = str(self.order)
        if self.keep_for is not None:
            found["keep_for"] = list(self.keep_for)
        if self.watermark is not None:
            found["watermark"] = list(self.watermark)
        return found

    def history(self, name: str) -> TablePlan:
        """The table of the last change of each key: the key, its place in the order, its rank."""
        assert self.keys is not None
        kinds = [self.columns.field(key).type for key in self.keys]
        keys = tuple(f"key{number}" for number in range(len(kinds)))
        # A sum of one number is the number, and takes a fifth of the room of what MAX keeps.
        at = pa.int64() if pa.types.is_temporal(self.order) else self.order
        columns = pa.schema([*zip(keys, kinds, strict=True), (AT, at), (RANK, pa.int8())])
        return TablePlan(name, columns, keys, "upserts", False)


@dataclass(frozen=True)
class Plan:
    """Tables, streams first, and views by name, each over tables and views before it.

    `parameters` and `dialect` are those of every text.
    """

    tables: tuple[TablePlan, ...]
    views: Mapping[str, str]
    parameters: Parameters | None = None
    dialect: str = "duckdb"

    @property
    def streams(self) -> tuple[TablePlan, ...]:
        """The tables that change; the place of one is its ``atom`` in the slots."""
        return tuple(table for table in self.tables if not table.static)

    @property
    def static(self) -> tuple[TablePlan, ...]:
        """The tables that are loaded once."""
        return tuple(table for table in self.tables if table.static)

    @cached_property
    def layout(self) -> Layout:
        """The slots of the columns of each stream."""
        return Layout.of([table.travelling for table in self.streams])

    def arrived(self, batches: Iterable[pa.RecordBatch]) -> dict[str, pa.Table]:
        """The rows of a micro-batch by table, each with its multiplicity as last column."""
        schemas = [table.travelling for table in self.streams]
        parts: list[list[pa.RecordBatch]] = [[] for _ in schemas]
        for batch in batches:
            for atom, rows in self.layout.relations(batch, schemas):
                parts[atom].append(rows)
        found = {}
        for table, schema, rows in zip(self.streams, schemas, parts, strict=True):
            if rows:
                wanted = schema.append(pa.field(table.multiplicity, pa.int64()))
                named = [pa.RecordBatch.from_arrays(part.columns, schema=wanted) for part in rows]
                found[table.name] = pa.Table.from_batches(named, wanted)
        return found

    def create_tables(self, database: Database) -> None:
        """Declare the tables that are not there yet; where rows move a clock, it begins."""
        for table in self.tables:
            if table.name not in database.tables:
                database.create_table(
                    table.name,
                    table.columns,
                    unique=table.keys,
                    static=table.static,
                    keep_for=table.keep_for,
                )
        if self.watermarked:
            if database.now is None:
                database.advance(_BEGIN)
            if self.greatest.name not in database.tables:
                database.create_table(
                    self.greatest.name, self.greatest.columns, unique=self.greatest.keys
                )

    @cached_property
    def watermarked(self) -> tuple[TablePlan, ...]:
        """The streams whose times the clock follows."""
        return tuple(table for table in self.streams if table.watermark is not None)

    @property
    def expiring(self) -> tuple[TablePlan, ...]:
        """The streams of which it is counted how many rows leave for their age."""
        return tuple(table for table in self.streams if table.keep_for)

    @cached_property
    def greatest(self) -> TablePlan:
        """The table of the greatest time received in each of these."""
        columns = pa.schema([(TABLE, pa.string()), (GREATEST, pa.int64())])
        return TablePlan(self._free("greatest times"), columns, (TABLE,), "upserts", False)

    @property
    def kept(self) -> tuple[TablePlan, ...]:
        """All tables of the state but for dead letters: it follows from their rows."""
        clock = (self.greatest,) if self.watermarked else ()
        return (*self.tables, *self.histories.values(), *clock)

    @cached_property
    def letters(self) -> str:
        """The table of dead letters that no target took yet."""
        return self._free("dead letters")

    def _free(self, name: str) -> str:
        """A name that no table or view has."""
        taken = {table.name for table in (*self.tables, *self.histories.values())}
        taken |= self.views.keys() | {self.history_view(name) for name in taken}
        while name in taken:
            name += "_"
        return name

    @cached_property
    def histories(self) -> Mapping[str, TablePlan]:
        """By name of a table whose changes are ordered, the table of the last change of each key.

        Deleted keys stay in it, so that a late change does not bring them back.
        """
        taken = {table.name for table in self.tables} | self.views.keys()
        found: dict[str, TablePlan] = {}
        for table in self.tables:
            if table.order is not None:
                name = f"{table.name}: last changes"
                while name in taken or self.history_view(name) in taken:
                    name += "_"
                taken |= {name, self.history_view(name)}
                found[table.name] = table.history(name)
        return found

    @staticmethod
    def history_view(history: str) -> str:
        """The view by which the last change of a key is found."""
        return f"{history} by key"

    def create_histories(self, database: Database) -> None:
        """Declare the tables of last changes that are not there yet, each with its view."""
        for history in self.histories.values():
            if history.name not in database.tables:
                database.create_table(history.name, history.columns, unique=history.keys)
            view = self.history_view(history.name)
            if view not in database.views:
                keys, name = ", ".join(history.keys or ()), history.name.replace('"', '""')
                only = "MAX" if pa.types.is_string(history.columns.field(AT).type) else "SUM"
                database.create_view(
                    view,
                    f'SELECT {keys}, {only}("{AT}") AS "{AT}", SUM("{RANK}") AS "{RANK}" '
                    f'FROM "{name}" GROUP BY {keys}',
                )

    def create_views(self, database: Database) -> None:
        """Create the views that are not there yet; static tables are loaded by then."""
        known = database.views
        new = {name: sql for name, sql in self.views.items() if name not in known}
        database.create_views(new, parameters=self.parameters, dialect=self.dialect)

    def described(self) -> dict[str, Any]:
        """The form of the plan in a checkpoint, for JSON."""
        return {
            "tables": {table.name: table.described() for table in self.tables},
            "views": dict(self.views),
            "parameters": _described(self.parameters),
            "dialect": self.dialect,
        }


def _described(parameters: Parameters | None) -> Any:
    """Parameters for JSON, each with its type: 1 and "1" are two."""
    if parameters is None:
        return None
    if isinstance(parameters, Mapping):
        return {name: _described([value])[0] for name, value in sorted(parameters.items())}
    return [f"{type(value).__name__} {value}" for value in parameters]
