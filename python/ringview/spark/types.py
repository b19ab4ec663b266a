"""Column types between Spark and Arrow.

Invariant: the two directions are inverse to each other on what ringview holds; other
Spark types (arrays, maps, binary, ..) have no Arrow type here. Cost: O(columns).
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as st

_SAME: list[tuple[type[st.DataType], pa.DataType]] = [
    (st.BooleanType, pa.bool_()),
    (st.ByteType, pa.int8()),
    (st.ShortType, pa.int16()),
    (st.IntegerType, pa.int32()),
    (st.LongType, pa.int64()),
    (st.FloatType, pa.float32()),
    (st.DoubleType, pa.float64()),
    (st.StringType, pa.string()),
    (st.DateType, pa.date32()),
    (st.TimestampType, pa.timestamp("us", tz="UTC")),
    (st.TimestampNTZType, pa.timestamp("us")),
]

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
"""Those that Spark has."""

# Spark has no unsigned integers.
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def join_alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether values of two types that are equal hash alike: of one type, or of any integers."""
    return one == other or (one in INTEGERS and other in INTEGERS)


def to_arrow(kind: st.DataType) -> pa.DataType | None:
    """The Arrow type of Spark's ``kind``; ``None`` if ringview cannot hold it."""
    if isinstance(kind, st.StringType) and kind != st.StringType():
        # Texts that are equal by their collation differ for the engine.
        return None
    if isinstance(kind, st.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return next((arrow for spark, arrow in _SAME if isinstance(kind, spark)), None)


def to_spark(kind: pa.DataType) -> st.DataType:
    """The Spark type of a column of a view.

    Example:
        >>> import pyarrow as pa
        >>> to_spark(pa.decimal128(38, 4))
        DecimalType(38,4)
    """
    kind = shown(kind)
    if pa.types.is_decimal128(kind):
        return st.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return st.TimestampNTZType() if kind.tz is None else st.TimestampType()
    for spark, arrow in _SAME:
        if arrow == kind:
            return spark()
    # Values of COFACTOR, and the bytes of partial results.
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return st.BinaryType()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return st.ArrayType(to_spark(kind.value_type))
    if pa.types.is_struct(kind):
        return st.StructType([st.StructField(f.name, to_spark(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return st.MapType(to_spark(kind.key_type), to_spark(kind.item_type))
    raise TypeError(f"Spark has no type for {kind}")


def shown(kind: pa.DataType) -> pa.DataType:
    """The type in which Spark shows a column, all of whose values it holds.

    Spark has no unsigned integers, no moments but those of microseconds, and no lists of a fixed
    length.

    Example:
        >>> import pyarrow as pa
        >>> shown(pa.list_(pa.int64(), 3)), shown(pa.uint32())
        (ListType(list<item: int64>), DataType(int64))
    """
    if pa.types.is_unsigned_integer(kind):
        return _WIDER[kind]
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return pa.list_(shown(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(shown(kind.key_type), shown(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, shown(field.type)) for field in kind])
    return kind


def shown_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as Spark shows them."""
    return pa.schema([pa.field(field.name, shown(field.type)) for field in schema])


def arrow_schema(schema: st.StructType) -> tuple[pa.Schema, list[str]]:
    """The columns that ringview can hold, and the names of those it cannot."""
    fields, refused = [], []
    for field in schema.fields:
        kind = to_arrow(field.dataType)
        if kind is None:
            refused.append(f"{field.name} ({field.dataType.simpleString()})")
        else:
            fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields), refused


def spark_schema(schema: pa.Schema) -> st.StructType:
    """The Spark schema of a result; every column nullable, as Spark's own aggregates are."""
    return st.StructType([st.StructField(f.name, to_spark(f.type), True) for f in schema])
