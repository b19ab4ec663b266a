"""Columns that messages have and a table lacks, added to the table.

Invariant: a column has the type of the values that bring it, in one batch; one of NULL alone waits
for a value, and one of lists or objects is not added. Cost: a look at each name of the rows, and
for a new column the plan of the table's views.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..log import log
from .batch import Change
from .values import Epoch

if TYPE_CHECKING:
    from ..database import Database


def add_columns(db: Database, change: Change) -> None:
    """Add to its table the columns of a change that the table lacks.

    >>> import ringview as rv
    >>> from ringview.sources import Origin
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> rows = [{"a": 1, "b": 2, "c": "x"}, {"a": 2, "b": Decimal("0.5"), "d": None}]
    >>> add_columns(db, Change("r", rows, Origin("m"), evolve="add"))
    >>> print(db.tables["r"].schema.to_string())
    a: int64
    b: double
    c: string
    """
    rows: Any = change.rows
    if change.evolve != "add" or not isinstance(rows, list) or "*" in change.ignore:
        return
    left_out = {*db.tables[change.table].schema.names, *change.ignore, change.op}
    left_out.add(change.multiplicity)
    for name in dict.fromkeys(name for row in rows for name in row if name not in left_out):
        kind = _type_of(rows, name)
        if kind is not None:
            text = name.replace('"', '""')
            table = change.table.replace('"', '""')
            db.execute(f'ALTER TABLE "{table}" ADD COLUMN "{text}" {kind}')
            log("info", "table %s has a new column %s %s", change.table, name, kind)


def _type_of(rows: list[Mapping[str, Any]], name: str) -> str | None:
    """The type of SQL that all values of a column have; None if there is none."""
    kinds = {type(row[name]) for row in rows if row.get(name) is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    if kinds and kinds <= {int, float, Decimal}:
        return "DOUBLE"
    if kinds == {str}:
        return "VARCHAR"
    return "TIMESTAMP" if kinds == {Epoch} else None
