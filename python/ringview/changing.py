"""Changes on their way to the engine: all of them or none, and an interrupt tells which.

Cost: what the changes cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from .errors import DuplicateKeyError, after
from .rows import Rows, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native
    from .arrow import Arrow
    from .protocols import KeyedTable, TableLike

Progress = Callable[[int], object]
How = Literal["upsert", "update", "apply"]
Change = (
    tuple[str, int, "Arrow | _native.Batches", str | None]
    | tuple[str, How, "Arrow | _native.Batches", str | None]
    | tuple[str, int, "Sequence[tuple[pa.Table | _native.Batches, str | None]]"]
    | tuple[str, Literal["advance"], int]
)


def change(
    native: _native.Database,
    changes: Sequence[Change],
    progress: Progress | None,
    *,
    net: bool = False,
    batch_id: int | str | None = None,
) -> None:
    """Apply changes at once, unless changes of this identity were applied before."""
    done: list[int] = []
    try:
        native.apply(changes, progress, done, net, batch_id)
    except BaseException as raised:
        after(raised, done, "the changes were applied, and stay")
        raise


def change_rows(
    table: KeyedTable,
    sign: int,
    rows: Rows,
    multiplicity: str | None,
    progress: Progress | None,
    batch_id: int | str | None = None,
) -> None:
    """Insert rows (1) or delete them (-1)."""
    parts = to_arrow(rows, table, multiplicity)
    changes: list[Change] = [(table.name, sign, part, multiplicity) for part in parts]
    try:
        change(table._native, changes, progress, batch_id=batch_id)
    except DuplicateKeyError as problem:
        if sign < 0 or multiplicity is not None:
            raise
        from .duplicates import with_row

        raise with_row(problem, table, rows) from None


def change_by_key(
    table: TableLike,
    how: How,
    rows: Rows,
    op: str | None,
    progress: Progress | None,
    batch_id: int | str | None = None,
) -> None:
    """Change rows that are found by their key."""
    parts = to_arrow(rows, table, op=op)
    changes: list[Change] = [(table.name, how, part, op) for part in parts]
    change(table._native, changes, progress, batch_id=batch_id)
