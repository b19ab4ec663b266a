"""Changes on their way to the engine: all of them or none, and an interrupt says which.

Cost: what the changes cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from .convert.rows import Handle, Rows, to_arrow
from .errors import after

if TYPE_CHECKING:
    import pyarrow as pa

    from . import _native
    from .convert.arrow import Arrow

Progress = Callable[[int], object]
How = int | Literal["upsert", "update", "apply"]
"""Insert (1), delete (-1), or what is done with rows that are found by their key."""
RowsChange = tuple[str, How, "Arrow | _native.Batches", str | None]
Change = (
    RowsChange
    | tuple[str, int, "Sequence[tuple[pa.Table | _native.Batches, str | None]]"]
    | tuple[str, Literal["advance"], int]
)

_STAY = "the changes were applied, and stay"


def changes_of(
    native: _native.Database, table: Handle, how: How, rows: Rows, column: str | None
) -> list[RowsChange]:
    """The changes of a table by rows in any form.

    `column` is a further one: of multiplicities for inserts and deletes, of words for "apply".
    """
    if isinstance(how, int):
        parts = to_arrow(rows, native, table, column)
    else:
        parts = to_arrow(rows, native, table, op=column)
    return [(table[0], how, part, column) for part in parts]


def apply_changes(
    native: _native.Database,
    changes: Sequence[Change],
    progress: Progress | None = None,
    *,
    net: bool = False,
    batch_id: int | str | None = None,
) -> None:
    """Apply changes at once, unless changes of this identity were applied before."""
    done: list[int] = []
    try:
        native.apply(changes, progress, done, net, batch_id)
    except BaseException as raised:
        after(raised, done, _STAY)
        raise


def execute_change(
    native: _native.Database,
    statement: _native.Statement,
    progress: Progress | None = None,
    batch_id: int | str | None = None,
) -> tuple[int, _native.Rows | None]:
    """Do a statement that changes rows: how many it changed, and what RETURNING shows of them."""
    done: list[int] = []
    try:
        return native.change(statement, progress, done, batch_id)
    except BaseException as raised:
        after(raised, done, _STAY)
        raise
