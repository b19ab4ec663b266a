"""Relations that queries read: tables and views, through their blocks and subqueries.

Invariant: blocks are of the query that has them, and are no tables. Cost: O(query).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Query = dict[str, Any]
"""A logical query, as the engine has it."""


def inner_tables(part: Any) -> Iterator[str]:
    """The tables of a query and of those in it."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    if isinstance(part, dict):
        if "atoms" in part:
            yield from (atom["table"] for atom in part["atoms"])
        # The step of a recursion reads its own rows, too; its tables are among the atoms.
        for key, entry in part.items():
            yield from inner_tables(None if key == "step" else entry)


def reads_directly(query: Query) -> set[str]:
    """The tables and views that a query reads."""
    return set(inner_tables(query)) - _blocks(query)


def _blocks(part: Any) -> set[str]:
    """The names of the blocks of a query, and of those in it."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    if not isinstance(part, dict):
        return set()
    own = {block["name"] for block in part.get("blocks") or () if "atoms" in part}
    return own.union(*map(_blocks, part.values()))


def is_timed(part: Any) -> bool:
    """Whether rows of a query are inserted and deleted by the clock."""
    if isinstance(part, dict):
        return part.get("kind") == "timed" or any(map(is_timed, part.values()))
    return isinstance(part, list) and any(map(is_timed, part))


def tables_of(name: str, queries: Mapping[str, Query]) -> set[str]:
    """The tables that a view reads, through views and blocks too."""
    found: set[str] = set()
    for table in inner_tables(queries[name]):
        found |= tables_of(table, queries) if table in queries else {table}
    return found - _blocks(queries[name])


def with_what_it_reads(name: str, queries: Mapping[str, Query]) -> list[str]:
    """A view, and those that it reads, in their order."""
    found = {name}
    for table in inner_tables(queries[name]):
        if table in queries:
            found |= set(with_what_it_reads(table, queries))
    return [view for view in queries if view in found]
