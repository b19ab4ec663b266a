"""From DataFrames to a plan, and to one stream of typed slots.

Invariant: every error that can be found before a row moves is raised here, with the names that the
user gave. Cost: that of planning; no data is touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from ringview import Database
from ringview.convert.moments import interval
from ringview.errors import (
    InvalidValueError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownTableError,
    UnsupportedError,
    did_you_mean,
)
from ringview.queries import Parameters
from ringview.spark.frames import column
from ringview.spark.releases import arrow_table
from ringview.spark.slots import ATOM, MULTIPLICITY, PARTITION
from ringview.spark.streaming.changes import GOES
from ringview.spark.streaming.clock import delay
from ringview.spark.streaming.plan import Changes, Plan, TablePlan
from ringview.spark.types import arrow_schema, to_arrow, to_spark

Named = str | Mapping[str, str]
Keys = Mapping[str, str | Sequence[str]]
Times = Mapping[str, tuple[str, str | timedelta]]

_INTEGERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
_UPDATES = ("update", "u")
_QUOTED = re.compile(r'"((?:[^"]|"")+)"')


@dataclass(frozen=True)
class Source:
    """The DataFrame of a table, with the names of the columns that say how its rows count."""

    frame: DataFrame
    multiplicity: str | None
    op: str | None
    order: str | None

    @property
    def streams(self) -> bool:
        """Whether it is a stream of rows."""
        return bool(self.frame.isStreaming)

    @property
    def is_envelope(self) -> bool:
        """Whether rows lie in `before` and `after`, as Debezium writes them."""
        kinds = {field.name: field.dataType for field in self.frame.schema.fields}
        both = (kinds.get("before"), kinds.get("after"))
        return self.op is not None and all(isinstance(kind, st.StructType) for kind in both)

    @property
    def row(self) -> st.StructType:
        """The columns of a row, without those that say how it counts."""
        if self.is_envelope:
            after = self.frame.schema["after"].dataType
            assert isinstance(after, st.StructType)
            return after
        control = {self.multiplicity, self.op, self.order}
        return st.StructType([f for f in self.frame.schema.fields if f.name not in control])


def prepare(
    views: Mapping[str, str],
    tables: Mapping[str, DataFrame],
    multiplicity: Named | None,
    op: Named | None,
    keys: Keys | None,
    order: Named | None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
    keep_for: Times | None = None,
    watermark: Times | None = None,
) -> tuple[Plan, dict[str, Source]]:
    """The plan of a stream, and the sources of the rows of its tables."""
    if not views:
        raise InvalidValueError('there is no view to keep; say views={"name": "SELECT .."}')
    _check_frames(tables)
    multiplicities = _named("multiplicity", multiplicity, tables)
    ops, orders = _named("op", op, tables), _named("order", order, tables)
    sources = {
        name: Source(frame, multiplicities.get(name), ops.get(name), orders.get(name))
        for name, frame in tables.items()
    }
    by_key = _keys(keys, sources)
    planned = [_table(name, source, by_key.get(name)) for name, source in sources.items()]
    if isinstance(order, Mapping):
        for table in planned:
            if table.name in order and table.changes not in ("upserts", "words"):
                raise InvalidValueError(
                    f'order: the order of rows matters only to changes by key, and "{table.name}" '
                    "is changed by whole rows; leave it out"
                )
    planned = _with_times(planned, keep_for or {}, watermark or {})
    refused = [
        f"{name}.{found}"
        for name, source in sources.items()
        for found in arrow_schema(source.row)[1]
    ]
    plan = Plan(tuple(planned), dict(views), parameters, dialect)
    used = _used(plan, refused)
    kept = [_pruned(table, used) for table in sorted(planned, key=lambda table: table.static)]
    return replace(plan, tables=tuple(kept)), sources


def slots(plan: Plan, sources: Mapping[str, Source]) -> DataFrame:
    """All streams in one, in slots; every row is in partition 0, for nobody has routed any."""
    parts = [
        _in_slots(plan, atom, table, sources[table.name]) for atom, table in enumerate(plan.streams)
    ]
    return reduce(DataFrame.union, parts)


def static_rows(table: TablePlan, source: Source) -> tuple[pa.Table, str | None]:
    """The rows of a static table, and the name of their column of multiplicities."""
    kept = [
        column(field.name).cast(to_spark(field.type)).alias(field.name) for field in table.columns
    ]
    name = None if source.multiplicity is None else table.multiplicity
    if source.multiplicity is not None:
        kept.append(column(source.multiplicity).cast("bigint").alias(table.multiplicity))
    schema = table.columns
    if name is not None:
        schema = schema.append(pa.field(name, pa.int64()))
    return arrow_table(source.frame.select(*kept)).cast(schema), name


def _check_frames(tables: Mapping[str, DataFrame]) -> None:
    for name, frame in tables.items():
        if type(frame).__module__.startswith("pyspark.sql.connect"):
            raise UnsupportedError(
                "streams are not kept over Spark Connect: what runs there for each micro-batch is "
                "sent to the server and cannot see the engine that this process has; run it in "
                "the driver, with spark-submit or a session of its own"
            )
        if not isinstance(frame, DataFrame):
            raise TypeMismatchError(f'table "{name}" is a DataFrame of Spark, not {frame!r}')
    if not any(frame.isStreaming for frame in tables.values()):
        raise InvalidValueError(
            "none of the tables is a stream; read one with spark.readStream, or evaluate the views "
            "once with ringview.spark.evaluate"
        )


def _named(what: str, given: Named | None, tables: Mapping[str, DataFrame]) -> dict[str, str]:
    """A column by table: one name for all streams, or names by table."""
    if given is None:
        return {}
    if isinstance(given, str):
        given = {name: given for name, frame in tables.items() if frame.isStreaming}
    for name, wanted in given.items():
        if name not in tables:
            raise UnknownTableError(
                f'{what}: there is no table "{name}" in tables{did_you_mean(name, tables)}'
            )
        _check_column(what, name, wanted, tables[name].columns)
    return dict(given)


def _with_times(planned: Sequence[TablePlan], keep_for: Times, watermark: Times) -> list[TablePlan]:
    """Tables with how long their rows stay, and with the times that the clock follows."""
    known = {table.name: table for table in planned}
    stay = {name: interval(time) for name, time in _times("keep_for", keep_for, known).items()}
    late = {name: delay(time) for name, time in _times("watermark", watermark, known).items()}
    if keep_for and not watermark:
        raise InvalidValueError(
            "keep_for: rows leave as the clock goes on, and nothing moves it; say by which times, "
            'such as watermark={"orders": ("ts", "10 minutes")}'
        )
    return [
        replace(
            table,
            keep_for=(keep_for[table.name][0], stay[table.name]) if table.name in stay else None,
            watermark=(watermark[table.name][0], late[table.name]) if table.name in late else None,
        )
        for table in planned
    ]


def _times(what: str, given: Times, known: Mapping[str, TablePlan]) -> dict[str, object]:
    """By table, the length of time that it is given beside a column of times."""
    found: dict[str, object] = {}
    for name, pair in given.items():
        if name not in known:
            raise UnknownTableError(
                f'{what}: there is no table "{name}" in tables{did_you_mean(name, known)}'
            )
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeMismatchError(
                f'{what}: table "{name}" is given a column and a length of time, as in '
                f'("ts", "10 minutes"), not {pair!r}'
            )
        table, (column, length) = known[name], pair
        if table.static:
            raise InvalidValueError(f'{what}: table "{name}" is static, and its rows stay')
        _check_column(what, name, column, table.columns.names)
        kind = table.columns.field(column).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            raise TypeMismatchError(
                f'{what}: column "{column}" of table "{name}" is {kind}; it must be a date or a '
                "timestamp"
            )
        found[name] = length
    return found


def _check_column(what: str, table: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise UnknownColumnError(
            f'{what}: table "{table}" has no column "{name}"{did_you_mean(name, known)}'
        )


def _keys(keys: Keys | None, sources: Mapping[str, Source]) -> dict[str, tuple[str, ...]]:
    found = {}
    for name, given in (keys or {}).items():
        if name not in sources:
            raise UnknownTableError(
                f'keys: there is no table "{name}" in tables{did_you_mean(name, sources)}'
            )
        found[name] = (given,) if isinstance(given, str) else tuple(given)
        if not found[name]:
            raise InvalidValueError(f'keys: table "{name}" is given a key without columns')
        known = arrow_schema(sources[name].row)[0].names
        for wanted in found[name]:
            _check_column("keys", name, wanted, known)
    return found


def _table(name: str, source: Source, keys: tuple[str, ...] | None) -> TablePlan:
    """A table with all columns that ringview can hold."""
    kinds = {field.name: field.dataType for field in source.frame.schema.fields}
    if source.multiplicity is not None and source.op is not None:
        raise InvalidValueError(
            f'table "{name}" has a multiplicity and an op; its rows can be changed by one of them'
        )
    if source.multiplicity is not None:
        _check_type("multiplicity", name, source.multiplicity, kinds, _INTEGERS, "of integers")
    if source.op is not None:
        _check_type("op", name, source.op, kinds, (st.StringType,), "of texts")
        if not source.streams:
            raise InvalidValueError(
                f'op: table "{name}" is static, and its rows are loaded once; evaluate what its '
                "changes come to, and give that"
            )
    changes = _changes(source, keys)
    ordered = None
    if source.order is not None and changes in ("upserts", "words"):
        ordered = to_arrow(kinds[source.order])
        if ordered is None or ordered == pa.bool_():
            said = kinds[source.order].simpleString()
            raise TypeMismatchError(
                f'order: column "{source.order}" of table "{name}" is {said}, by which changes '
                "cannot be ordered; give a number, a text or a time"
            )
    columns = pa.schema([field.with_nullable(True) for field in arrow_schema(source.row)[0]])
    return TablePlan(name, columns, keys, changes, not source.streams, ordered)


def _changes(source: Source, keys: tuple[str, ...] | None) -> Changes:
    if source.op is not None:
        return "signs" if keys is None else "words"
    if keys is not None and source.multiplicity is None and source.streams:
        return "upserts"
    return "rows"


def _check_type(
    what: str,
    table: str,
    name: str,
    kinds: Mapping[str, st.DataType],
    wanted: tuple[type[st.DataType], ...],
    said: str,
) -> None:
    if not isinstance(kinds[name], wanted):
        raise TypeMismatchError(
            f'{what}: column "{name}" of table "{table}" is {kinds[name].simpleString()}; it must '
            f"be {said}"
        )


def _used(plan: Plan, refused: Sequence[str]) -> set[str]:
    """Every name in the queries; views are made over empty tables, which may refuse."""
    draft = Database()
    plan.create_tables(draft)
    try:
        plan.create_views(draft)
    except UnknownColumnError as error:
        if refused:
            error.add_note(
                "Left out, for ringview does not hold their types: " + ", ".join(refused)
            )
        raise
    native = draft._native
    queries = [native.view_query((name, native.view_id(name))) for name in plan.views]
    return {name for query in queries for name in _texts(json.loads(query))}


def _texts(part: Any) -> list[str]:
    """The texts in a query, and all names that its expressions quote."""
    if isinstance(part, str):
        return [part, *(name.replace('""', '"') for name in _QUOTED.findall(part))]
    if isinstance(part, Mapping):
        part = list(part.values())
    return [text for entry in part for text in _texts(entry)] if isinstance(part, list) else []


def _pruned(table: TablePlan, used: set[str]) -> TablePlan:
    """The table without what no view reads; rows of a table of which nothing is read count."""
    times = [pair[0] for pair in (table.keep_for, table.watermark) if pair is not None]
    wanted = used.union(table.keys or (), times)
    kept = [field for field in table.columns if field.name in wanted]
    columns = pa.schema(kept or [table.columns.field(0)])
    return replace(table, columns=columns)


def _in_slots(plan: Plan, atom: int, table: TablePlan, source: Source) -> DataFrame:
    frame, holds = _flat(table, source)
    places = dict(zip(plan.layout.places[atom], table.travelling.names, strict=True))
    cells = [
        (holds[places[slot]] if slot in places else sf.lit(None)).cast(to_spark(kind)).alias(name)
        for slot, (name, kind) in enumerate(zip(plan.layout.names, plan.layout.slots, strict=True))
    ]
    times = sf.lit(1) if source.multiplicity is None else column(source.multiplicity)
    return frame.select(
        sf.lit(atom).cast("smallint").alias(ATOM),
        sf.lit(0).cast("int").alias(PARTITION),
        times.cast("bigint").alias(MULTIPLICITY),
        *cells,
    )


def _flat(table: TablePlan, source: Source) -> tuple[DataFrame, dict[str, Column]]:
    """A frame with a change a row, and where each travelling column is in it."""
    if source.is_envelope:
        return _unwrapped(table, source)
    holds = {name: column(name) for name in table.columns.names}
    if table.op is not None:
        assert source.op is not None
        holds[table.op] = column(source.op)
    if table.order_column is not None:
        assert source.order is not None
        holds[table.order_column] = column(source.order)
    return source.frame, holds


def _unwrapped(table: TablePlan, source: Source) -> tuple[DataFrame, dict[str, Column]]:
    """Rows with `before` and `after` as changes: the new row, or the old one where it is deleted.

    An update without a key deletes the old row and inserts the new one; so does one that moves a
    key. A row without a word is a tombstone, which Kafka keeps behind a delete.
    """
    assert source.op is not None
    op = column(source.op)

    def change(word: Column, half: str) -> Column:
        cells = [
            sf.col(half).getField(field.name).cast(to_spark(field.type)).alias(f"c{place}")
            for place, field in enumerate(table.columns)
        ]
        return sf.struct(word.cast("string").alias("op"), *cells)

    word = sf.lower(op)
    goes, updates = word.isin(*GOES), word.isin(*_UPDATES)
    if table.keys is None:
        moves, new = updates, sf.lit("+U")
        old = sf.lit("-U")
    else:
        moved = [
            ~sf.col("before").getField(key).eqNullSafe(sf.col("after").getField(key))
            for key in table.keys
        ]
        moves = updates & sf.col("before").isNotNull() & reduce(Column.__or__, moved)
        old, new = sf.lit("d"), sf.lit("c")
    changes = (
        sf.when(goes, sf.array(change(op, "before")))
        .when(moves, sf.array(change(old, "before"), change(new, "after")))
        .otherwise(sf.array(change(op, "after")))
    )
    when = [] if source.order is None else [column(source.order).alias("order")]
    frame = source.frame.where(op.isNotNull()).select(sf.explode(changes).alias("change"), *when)
    holds = {
        name: sf.col("change").getField(f"c{place}")
        for place, name in enumerate(table.columns.names)
    }
    assert table.op is not None
    holds[table.op] = sf.col("change").getField("op")
    if table.order_column is not None:
        holds[table.order_column] = sf.col("order")
    return frame, holds
