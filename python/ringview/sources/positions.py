"""Positions of sources, in a table of the database that they feed.

Invariant: a position changes in the transaction of the rows that precede it, and only from the
value that its reader read: of two readers of one source one is refused. So each batch counts once,
whatever is killed or sent again. Cost: a row a part of a source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UnsupportedError

if TYPE_CHECKING:
    from ..database import Database
    from ..transaction import Transaction

TABLE = "ringview_positions"
_SCHEMA = {"source": "string not null", "part": "string not null", "position": "string not null"}


def prepare(db: Database) -> None:
    """Make the table, if it is not there.

    Raises:
        UnsupportedError: The database keeps no rows.
        ExistsError: There is another table of its name.
    """
    table = db.create_table(TABLE, _SCHEMA, unique=["source", "part"], if_not_exists=True)
    try:
        table.to_arrow()
    except UnsupportedError as problem:
        raise UnsupportedError(
            "a database with trust_deletes=True keeps no rows, so that no source could go on where "
            "it was; make the database without it"
        ) from problem


def read(db: Database, source: str) -> dict[str, str]:
    """The positions of a source by part. O(parts of all sources)."""
    import pyarrow.compute as pc

    rows = db.tables[TABLE].to_arrow().filter(pc.field("source") == source)
    return dict(zip(rows["part"].to_pylist(), rows["position"].to_pylist(), strict=True))


def move(
    tx: Transaction, source: str, known: Mapping[str, str], reached: Mapping[str, str]
) -> None:
    """Move a source from its known positions to those it reached, at the end of a transaction."""
    old = [(source, part, known[part]) for part in reached if part in known]
    if old:
        tx.delete(TABLE, old)
    if reached:
        tx.insert(TABLE, [(source, part, position) for part, position in reached.items()])
