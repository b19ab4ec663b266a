"""Positions of sources, in a table of the database that they feed.

Invariant: a position changes in the transaction of the rows that precede it, and only from the
value that its reader read: of two readers of one source one is refused. So each batch counts once,
whatever is killed or sent again. Cost: a row a part of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..errors import InvalidValueError, UnsupportedError
from ..text import quoted

if TYPE_CHECKING:
    from ..database import Database
    from ..transaction import Transaction

KeptAs = Callable[[str], str]

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


def read(db: Database, source: str, kept_as: KeptAs | None = None) -> dict[str, str]:
    """The positions of a source by part. O(parts of all sources).

    Args:
        db: Where they are.
        source: The name of the source.
        kept_as: Of a part, the name that its position is kept under, if that is another one.
    """
    return {
        row["part"]: row["position"]
        for row in db.tables[TABLE].to_arrow().to_pylist()
        if row["source"] == (source if kept_as is None else kept_as(row["part"]))
    }


def adopt(db: Database, kept_as: KeptAs, adopts: Callable[[str, str], bool]) -> None:
    """Keep under their present names positions that an earlier version kept under others.

    Args:
        db: Where they are.
        kept_as: As for `read`.
        adopts: Whether a position, by source and part, is one of those.

    Raises:
        InvalidValueError: Two sources have a position of one part.
    """
    rows = [
        (row["source"], row["part"], row["position"])
        for row in db.tables[TABLE].to_arrow().to_pylist()
        if row["source"] == kept_as(row["part"]) or adopts(row["source"], row["part"])
    ]
    parts = [part for _, part, _ in rows]
    old = [row for row in rows if row[0] != kept_as(row[1])]
    for source, part, _ in old:
        if parts.count(part) > 1:
            raise InvalidValueError(
                f"two sources have a position of {part}, {quoted(source)} and another one; say "
                f"which of them goes on, by its name="
            )
    if old:
        with db.transaction() as tx:
            tx.delete(TABLE, old)
            tx.insert(TABLE, [(kept_as(part), part, position) for _, part, position in old])


def move(
    tx: Transaction,
    source: str,
    known: Mapping[str, str],
    reached: Mapping[str, str],
    kept_as: KeptAs | None = None,
) -> None:
    """Move a source from its known positions to those it reached, at the end of a transaction."""

    def row(part: str, position: str) -> tuple[str, str, str]:
        return (source if kept_as is None else kept_as(part), part, position)

    old = [row(part, known[part]) for part in reached if part in known]
    if old:
        tx.delete(TABLE, old)
    if reached:
        tx.insert(TABLE, [row(part, position) for part, position in reached.items()])
