"""Filters as Spark's conditions, so that rows that no view takes do not move.

Invariant: what is pushed holds for every row that the filter takes; the engine filters again, so
that what has no counterpart here is left out and nothing is lost. Cost: O(length of the filter).
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf

_COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def pushed(condition: Any, schema: pa.Schema) -> Column | None:
    """What Spark can tell of a filter over columns of ``schema``: no more than it says."""
    if condition is None:
        return None
    if condition["op"] == "and":
        parts = [pushed(each, schema) for each in condition["operands"]]
        said = [part for part in parts if part is not None]
        return reduce(operator.and_, said) if said else None
    if condition["op"] == "or":
        parts = [pushed(each, schema) for each in condition["operands"]]
        said = [part for part in parts if part is not None]
        return reduce(operator.or_, said) if said and len(said) == len(parts) else None
    if condition["op"] == "is_null":
        column = _column(condition["operand"])
        return None if column is None else column.isNull()
    if condition["op"] == "not" and condition["operand"]["op"] == "is_null":
        column = _column(condition["operand"]["operand"])
        return None if column is None else column.isNotNull()
    if condition["op"] == "in":
        values = [_literal(each, condition["operand"], schema) for each in condition["list"]]
        column = _column(condition["operand"])
        known = [value for value in values if value is not None]
        return None if column is None or len(known) < len(values) else column.isin(known)
    return _compared(condition, schema) if condition["op"] == "compare" else None


def _compared(condition: Any, schema: pa.Schema) -> Column | None:
    left, right, comparison = condition["left"], condition["right"], condition["comparison"]
    if left["op"] == "literal":
        left, right, comparison = right, left, _MIRRORED[comparison]
    column = _column(left)
    if column is None or right["op"] != "literal":
        return None
    value = _literal(right["value"], left, schema)
    return None if value is None else _COMPARISONS[comparison](column, value)


def _column(operand: Any) -> Column | None:
    if operand["op"] != "column":
        return None
    return sf.col("`" + operand["column"].replace("`", "``") + "`")


def _literal(value: Any, operand: Any, schema: pa.Schema) -> Any:
    """A constant that Spark compares with the column as the engine does."""
    if operand["op"] != "column":
        return None
    kind = schema.field(operand["column"]).type
    said, of = value.get("value"), value["type"]
    if of == "int" and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return sf.lit(said)
    if of == "text" and pa.types.is_string(kind):
        return sf.lit(said)
    if of == "date" and pa.types.is_date(kind):
        return sf.lit(said).cast("date")
    if of == "decimal" and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return _decimal(said)
    return None


def _decimal(said: str) -> Column | None:
    digits = said.strip("+-").replace(".", "")
    scale = len(said.partition(".")[2])
    # Wider, Spark would round what it compares.
    if not digits.isdigit() or len(digits) > _DIGITS:
        return None
    return sf.lit(said).cast(f"decimal({max(len(digits), scale, 1)}, {scale})")


_DIGITS = 18
