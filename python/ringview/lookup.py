"""Keys of groups as the engine takes them, and rows that agree with some values.

Invariant: a value finds what is equal to it as a value of its column's type, and one of another
kind is an error, as it is when rows are inserted. Cost: O(values); a filter reads its stream once.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from .errors import TypeMismatchError
from .rows import Rows, as_dicts

if TYPE_CHECKING:
    import pyarrow as pa

# Enough for every decimal128.
_WIDE = Context(prec=80)


def keys(keys: Rows, types: Mapping[str, pa.DataType]) -> list[dict[str, Any]]:
    """Keys in any form of rows as dicts of plain values: decimals as units, times as ticks.

    >>> import pyarrow as pa
    >>> keys([{"d": Decimal("1.5")}], {"d": pa.decimal128(9, 2)})
    [{'d': 150}]
    """
    return [
        {name: _plain(name, value, types.get(name)) for name, value in key.items()}
        for key in as_dicts(keys)
    ]


def _plain(name: str, value: Any, kind: pa.DataType | None) -> Any:
    from pyarrow import types

    if value is None or kind is None:
        return value
    if types.is_decimal(kind) or types.is_temporal(kind):
        if isinstance(value, (float, str, bool)):
            raise TypeMismatchError(f"column {name!r}: {value!r} is no {kind}")
        found = _scalar(name, value, kind)
        if types.is_decimal(kind):
            units: Decimal = found.as_py()
            return int(units.scaleb(kind.scale, _WIDE))
        return found.value
    # A scalar of NumPy is asked for Python's.
    found = value.item() if hasattr(value, "item") else value
    if not isinstance(found, (bool, int, float, str)):
        raise TypeMismatchError(f"column {name!r}: {value!r} is no {kind}")
    return found


def _scalar(name: str, value: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    try:
        return pa.scalar(value, type=kind)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TypeMismatchError(f"column {name!r}: {value!r} is no {kind} ({problem})") from None


def filtered(
    reader: pa.RecordBatchReader, values: Mapping[str, Any], types: Mapping[str, pa.DataType]
) -> pa.Table:
    """The rows of a stream that have these values; memory is that of these rows and of a batch."""
    import pyarrow as pa
    from pyarrow import compute

    wanted = {name: _scalar(name, value, types[name]) for name, value in values.items()}
    kept = []
    for batch in reader:
        rows = batch
        for name, value in wanted.items():
            column = rows.column(name)
            agrees = compute.equal(column, value) if value.is_valid else compute.is_null(column)
            rows = rows.filter(agrees)
        kept.append(rows)
    return pa.Table.from_batches(kept, reader.schema)
