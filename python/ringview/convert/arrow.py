"""Arrow types and schemas from what a user writes.

Invariant: the result is a `pyarrow.Schema`; the engine checks whether it stores its types. Cost:
O(columns).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..errors import TypeMismatchError
from ..extras import load
from ..text import quoted

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa


Kind = Literal[
    "number", "text", "date", "timestamp", "timestamptz", "bool", "null", "interval", "cofactor"
]


class ArrowSchema(Protocol):
    """Anything with a schema by the Arrow C interface."""

    def __arrow_c_schema__(self) -> object:
        """A capsule of the schema."""


class ArrowStream(Protocol):
    """Anything with rows by the Arrow C interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule of the stream."""


class ArrowArray(Protocol):
    """A single batch of rows by the Arrow C interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> object:
        """A pair of capsules of the schema and the array."""


Arrow = ArrowStream | ArrowArray


def is_arrow(value: object) -> bool:
    """Whether `value` hands out rows by the Arrow C interface."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def is_pandas(value: object) -> bool:
    """Whether `value` is a pandas DataFrame, without importing pandas."""
    return type(value).__module__.split(".")[0] == "pandas" and hasattr(value, "columns")


def schema(of: Any) -> pa.Schema:
    """The schema of a dict of types, of a schema, or of any data with one.

    Args:
        of: `{"id": "int64", "day": "date32"}`, a `pyarrow.Schema`, anything with
            `__arrow_c_schema__`, or rows: Arrow data, a polars or pandas frame.

    Raises:
        TypeMismatchError: A type is not known, or there is no schema in `of`.

    >>> schema({"id": "int64 not null", "price": "decimal128(12, 2)"})
    id: int64 not null
    price: decimal128(12, 2)
    """
    import pyarrow as pa

    if isinstance(of, pa.Schema):
        return of
    if isinstance(of, Mapping):
        return pa.schema([_field(name, kind) for name, kind in of.items()])
    if is_pandas(of):
        return pa.Schema.from_pandas(of, preserve_index=False).remove_metadata()
    found = getattr(of, "schema", None)
    if isinstance(found, pa.Schema):
        return found
    if hasattr(of, "__arrow_c_schema__"):
        return pa.schema(of)
    if hasattr(of, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(of).schema
    raise TypeMismatchError(
        f"no schema in a {type(of).__name__}; pass a dict of names and types, "
        "a pyarrow.Schema or Arrow data"
    )


def to_polars(table: pa.Table) -> polars.DataFrame:
    """An Arrow table as a polars frame, which shares its memory where it can."""
    found: polars.DataFrame = load("polars", "pl()").from_arrow(table)
    return found


def _whole(schema: pa.Schema) -> list[str]:
    """The columns of decimals without digits after the point: sums of integers are such."""
    import pyarrow as pa

    return [
        field.name for field in schema if pa.types.is_decimal(field.type) and field.type.scale == 0
    ]


def rows(found: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as dicts of Python's values; a decimal without digits after the point is an int.

    >>> import pyarrow as pa
    >>> rows(pa.table({"total": pa.array([2**70, None], pa.decimal128(38, 0))}))
    [{'total': 1180591620717411303424}, {'total': None}]
    """
    all_rows: list[dict[str, Any]] = found.to_pylist()
    for name in _whole(found.schema):
        for row in all_rows:
            if row[name] is not None:
                row[name] = int(row[name])
    return all_rows


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """A table as a pandas frame; whole decimals become int64 where all of a column fit it.

    >>> import pyarrow as pa
    >>> to_pandas(pa.table({"total": pa.array([5], pa.decimal128(38, 0))})).dtypes["total"]
    dtype('int64')
    """
    import pyarrow as pa

    for name in _whole(table.schema):
        at = table.schema.get_field_index(name)
        try:
            column = table.column(at).cast(pa.int64())
        except pa.ArrowInvalid:
            continue
        table = table.set_column(at, name, column)
    return plain_pandas(lambda: table)


def plain_pandas(read: Callable[[], pa.Table]) -> pandas.DataFrame:
    """A table as a pandas frame, each column as pyarrow converts it; read if pandas is there.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    load("pandas", "df()")
    return read().to_pandas()


def kind_of(arrow: pa.DataType) -> Kind | None:
    """Operations that values of an Arrow type allow; None for types that are not stored.

    >>> import pyarrow as pa
    >>> kind_of(pa.int32()), kind_of(pa.dictionary(pa.int8(), pa.string()))
    ('number', 'text')
    """
    from pyarrow import types

    if types.is_dictionary(arrow):
        return kind_of(arrow.value_type)
    if types.is_timestamp(arrow):
        return "timestamp" if arrow.tz is None else "timestamptz"
    if types.is_integer(arrow) or types.is_floating(arrow) or types.is_decimal(arrow):
        return "number"
    if types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow):
        return "text"
    plain: list[tuple[Kind, Callable[[pa.DataType], bool]]] = [
        ("bool", types.is_boolean),
        ("date", types.is_date),
        ("null", types.is_null),
    ]
    return next((kind for kind, test in plain if test(arrow)), None)


def data_type(text: str) -> pa.DataType:
    """The Arrow type that `text` names.

    >>> data_type("timestamp[us, tz=UTC]"), data_type("decimal(12, 2)")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(12, 2)))
    """
    import pyarrow as pa

    name = text.strip().lower()
    if decimal := re.fullmatch(r"decimal(?:128)?\(\s*(\d+)\s*,\s*(-?\d+)\s*\)", name):
        try:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        except ValueError as problem:
            raise TypeMismatchError(f"{text!r}: {problem}") from None
    if zoned := re.fullmatch(r"timestamp\[(s|ms|us|ns),\s*tz=(.+)\]", text.strip()):
        return pa.timestamp(zoned[1], tz=zoned[2])
    try:
        return pa.type_for_alias(_SYNONYMS.get(name, name))
    except ValueError:
        raise TypeMismatchError(
            f"no type {text!r}; write one of bool, int8 .. int64, uint8 .. uint64, float32, "
            "float64, decimal128(12, 2), string, date32, timestamp[us]"
        ) from None


def _field(name: object, kind: object) -> pa.Field:
    import pyarrow as pa

    if not isinstance(name, str):
        raise TypeMismatchError(f"a column is named by a text, not by {name!r}")
    if isinstance(kind, pa.Field):
        return kind.with_name(name)
    if isinstance(kind, pa.DataType):
        return pa.field(name, kind)
    if not isinstance(kind, str):
        raise TypeMismatchError(
            f"column {quoted(name)}: {kind!r} is not a type; write 'int64' or such"
        )
    plain = re.sub(r"\s+not\s+null\s*$", "", kind, flags=re.IGNORECASE)
    return pa.field(name, data_type(plain), nullable=plain == kind)


_SYNONYMS = {
    "int": "int64",
    "str": "string",
    "text": "string",
    "date": "date32",
    "timestamp": "timestamp[us]",
    "float": "float64",
    "double": "float64",
    "boolean": "bool",
}
