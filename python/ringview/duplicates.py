"""Which of the rows that were refused is the second one with its unique key.

Invariant: looks after the refusal, at what is still there: rows of a stream that was read are gone,
and then no row is named. Cost: nothing where nothing is refused; else a look-up a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .errors import DuplicateKeyError
from .rows import is_row

if TYPE_CHECKING:
    import pyarrow as pa

    from .protocols import KeyedTable

# Of more rows than these the search would take longer than a refusal may.
_MOST = 1_000_000


def with_row(problem: DuplicateKeyError, table: KeyedTable, rows: Any) -> DuplicateKeyError:
    """The error with the number of its row, if that can be found: 0 is the first one given."""
    row = None
    # Whatever is wrong with this look is not what the caller did wrong.
    with suppress(Exception):
        row = _second(table, rows)
    if row is None:
        return problem
    return DuplicateKeyError(f"row {row}: {problem}")


def _second(table: KeyedTable, rows: Any) -> int | None:
    names = table.unique or []
    keys = _keys(rows, names, table.schema)
    if keys is None or not 0 < len(keys) <= _MOST:
        return None
    seen: set[tuple[Any, ...]] = set()
    for at, (key, held) in enumerate(zip(keys, table.get_many(keys), strict=True)):
        if held is not None or key in seen:
            return at
        if None not in key:
            seen.add(key)
    return None


def _keys(rows: Any, names: list[str], schema: pa.Schema) -> list[tuple[Any, ...]] | None:
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
    return [_key(row, names, places) for row in rows]


def _key(row: Any, names: list[str], places: list[int]) -> tuple[Any, ...]:
    if isinstance(row, Mapping):
        return tuple(row[name] for name in names)
    if isinstance(row, tuple) and not hasattr(row, "_asdict"):
        return tuple(row[place] for place in places)
    return tuple(getattr(row, name) for name in names)
