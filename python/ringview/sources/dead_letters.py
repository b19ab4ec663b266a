"""Rows that cannot be applied, in a table.

Invariant: a letter is written in the transaction of its batch. A message of a topic is there as it
is: by topic, partition and offset, with the bytes of its key and value in base64. Cost: a row a
letter.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .batch import Letter, Rejected

if TYPE_CHECKING:
    from ..database import Database

_LETTERS = dict.fromkeys(("source", "place", "row", "reason"), "string not null")
_OF_TOPICS = {
    "topic": ("string", "VARCHAR"),
    "partition": ("int32", "INTEGER"),
    "offset": ("int64", "BIGINT"),
    "key_base64": ("string", "VARCHAR"),
    "value_base64": ("string", "VARCHAR"),
}


def prepare(db: Database, name: str, of_topics: bool) -> None:
    """Make the table if it is not there, or give it the columns of messages that it lacks.

    Raises:
        ExistsError: There is another table of its name.
    """
    there = db.tables[name].schema.names if name in db.tables else []
    if there[:4] != [*_LETTERS]:
        beside = {column: kind for column, (kind, _) in _OF_TOPICS.items()} if of_topics else {}
        db.create_table(name, {**_LETTERS, **beside}, if_not_exists=True)
    elif of_topics:
        for column, (_, kind) in _OF_TOPICS.items():
            if column not in there:
                quoted = name.replace('"', '""')
                db.execute(f'ALTER TABLE "{quoted}" ADD COLUMN "{column}" {kind}')


def rows(
    db: Database, name: str, source: str, rejected: Iterable[Rejected]
) -> list[dict[str, Any]]:
    """The letters of a source as rows of the table."""
    columns = db.tables[name].schema.names
    found = []
    for each in rejected:
        row = {"source": source, "place": each.place, "row": each.row, "reason": each.reason}
        if each.letter is not None:
            row |= _message(each.letter)
        found.append({column: row.get(column) for column in columns})
    return found


def _message(letter: Letter) -> dict[str, Any]:
    return {
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "key_base64": _base64(letter.key),
        "value_base64": _base64(letter.value),
    }


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
