"""Keys of groups as the engine takes them, and rows that agree with some values.

Invariant: a value finds what is equal to it as a value of its column's type, and one of another
kind is an error, as it is when rows are inserted. Cost: O(values); a filter reads its stream once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError, TypeMismatchError, UnknownColumnError, UnsupportedError
from ..text import quoted
from .rows import Rows, as_dicts, is_row

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


Key = Mapping[str, Any] | tuple[Any, ...] | str | int | float | date | Decimal | None
"""A key: a dict of its columns, a tuple of its values, or the value of a single column."""


def named(key: Key, names: Sequence[str], whose: str) -> dict[str, Any]:
    """A key with the names of its columns.

    >>> named("Ada", ["name"], 'view "v"'), named((1, None), ["a", "b"], 'view "v"')
    ({'name': 'Ada'}, {'a': 1, 'b': None})
    """
    if isinstance(key, Mapping):
        return dict(key)
    values = key if isinstance(key, tuple) else (key,)
    if len(values) != len(names):
        form = ", ".join(f"{name!r}: .." for name in names)
        raise TypeMismatchError(
            f"{whose}: a key is a dict, here {{{form}}}, or a tuple of as many values, not {key!r}"
        )
    return dict(zip(names, values, strict=True))


def all_named(keys: Rows | Iterable[Key], names: Sequence[str], whose: str) -> list[dict[str, Any]]:
    """Keys in any form of rows, or plain ones, with the names of their columns.

    >>> all_named([1, (2,), {"a": 3}], ["a"], 'view "v"')
    [{'a': 1}, {'a': 2}, {'a': 3}]
    """
    if isinstance(keys, list):
        return [named(key, names, whose) for key in keys]
    return as_dicts(keys)


def rows_by_key(
    keys: Rows | Iterable[Key], table: str, unique: list[str] | None
) -> list[dict[str, Any]]:
    """Keys of a table as dicts, each with the columns of its key and no others.

    >>> rows_by_key({"id": [1, 2]}, "r", ["id"]) == rows_by_key([1, 2], "r", ["id"])
    True
    """
    if unique is None:
        raise UnsupportedError(
            f"table {quoted(table)} has no unique key, so no key tells its rows apart; declare it "
            "with unique=[..], or read where(column=value)"
        )
    listed = all_named(keys, unique, f"table {quoted(table)}")
    for key in listed:
        for name in key:
            if name not in unique:
                raise UnknownColumnError(
                    f"the key of table {quoted(table)} has no column {quoted(name)}; it is of "
                    f"{', '.join(unique)}"
                )
        for name in unique:
            if name not in key:
                raise InvalidValueError(
                    f"a key of table {quoted(table)} lacks {quoted(name)}; give {', '.join(unique)}"
                )
    return listed


def column(values: list[Any], field: pa.Field) -> pa.Array:
    """Values as a column, none of them of another kind than it has."""
    import pyarrow as pa

    cells = [_scalar_of_kind(field.name, value, field.type) for value in values]
    return pa.array(cells, type=field.type)


def _scalar_of_kind(name: str, value: Any, kind: pa.DataType) -> Any:
    _plain(name, value, kind)
    return _scalar(name, value, kind)


def _plain(name: str, value: Any, kind: pa.DataType | None) -> Any:
    from pyarrow import types

    if value is None or kind is None:
        return value
    if types.is_decimal(kind) or types.is_temporal(kind):
        if isinstance(value, (float, str, bool)):
            raise TypeMismatchError(f"column {quoted(name)}: {value!r} is no {kind}")
        found = _scalar(name, value, kind)
        if types.is_decimal(kind):
            units: Decimal = found.as_py()
            return int(units.scaleb(kind.scale, _WIDE))
        return found.value
    # A scalar of NumPy is converted to Python's.
    found = value.item() if hasattr(value, "item") else value
    if not isinstance(found, (bool, int, float, str)):
        raise TypeMismatchError(f"column {quoted(name)}: {value!r} is no {kind}")
    return found


def _scalar(name: str, value: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    try:
        return pa.scalar(value, type=kind)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TypeMismatchError(
            f"column {quoted(name)}: {value!r} is no {kind} ({problem})"
        ) from None


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


def keys_of(rows: Any, names: list[str], schema: pa.Schema) -> list[tuple[Any, ...]] | None:
    """The keys of rows in any form that can be read twice."""
    import pyarrow as pa

    if hasattr(rows, "__arrow_c_array__") or isinstance(rows, pa.Table) or hasattr(rows, "dtypes"):
        rows = pa.table(rows).select(names).to_pydict()
    if is_row(rows):
        rows = [rows]
    if isinstance(rows, Mapping):
        return list(zip(*(rows[name] for name in names), strict=True))
    if not isinstance(rows, list):
        return None
    places = [schema.get_field_index(name) for name in names]
    return [_key_of(row, names, places) for row in rows]


def _key_of(row: Any, names: list[str], places: list[int]) -> tuple[Any, ...]:
    if isinstance(row, Mapping):
        return tuple(row[name] for name in names)
    if isinstance(row, tuple) and not hasattr(row, "_asdict"):
        return tuple(row[place] for place in places)
    return tuple(getattr(row, name) for name in names)
