"""Recursive queries over small graphs with cycles, loops and NULL; random changes of those.

``e`` has any edges, ``d`` edges from lower to higher nodes (so that a recursion over them ends),
``p`` the names of nodes, ``s`` nodes to start at. The queries are those of `data/recursive.sql`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

NODES = 7
EDGE = pa.schema({"a": pa.int64(), "b": pa.int64()})
SCHEMAS = {
    "e": EDGE,
    "d": EDGE,
    "p": pa.schema({"a": pa.int64(), "name": pa.string()}),
    "s": pa.schema({"n": pa.int64()}),
}
Row = dict[str, Any]
Rows = dict[str, list[Row]]


def queries(kind: str) -> dict[str, str]:
    """The queries of a kind, by name."""
    text = (Path(__file__).parent / "data" / "recursive.sql").read_text()
    found = {}
    for query in text.split("\n\n")[1:]:
        head, _, sql = query.partition("\n")
        own, _, name = head.removeprefix("-- ").partition(": ")
        if own == kind:
            found[name] = " ".join(sql.split())
    return found


# Each row once; with multiplicities; computed anew.
DISTINCT, BAGS, ANEW = (queries(kind) for kind in ("distinct", "bags", "anew"))
ALL = DISTINCT | BAGS | ANEW


def rows(rng: random.Random, table: str, number: int) -> list[Row]:
    """Random rows of a table; few nodes, so that edges are repeated and close cycles."""

    def node() -> int | None:
        return None if rng.random() < 0.05 else rng.randrange(NODES)

    def one() -> Row:
        if table == "d":
            a, b = sorted(rng.sample(range(NODES), 2))
            return {"a": a, "b": b}
        if table == "p":
            return {"a": node(), "name": rng.choice(["x", "y", "z", None])}
        if table == "s":
            return {"n": node()}
        return {"a": node(), "b": node()}

    return [one() for _ in range(number)]


def held(rng: random.Random) -> Rows:
    """Rows to start with."""
    sizes = {"e": 8, "d": 6, "p": 3, "s": 2}
    return {table: rows(rng, table, rng.randrange(size + 1)) for table, size in sizes.items()}


def changes(rng: random.Random, there: Rows) -> tuple[Rows, Rows, Rows]:
    """Inserts, deletes, and the rows after them; some deleted rows are inserted again."""
    come: Rows = {}
    gone: Rows = {}
    then = {table: list(own) for table, own in there.items()}
    for table, own in then.items():
        if rng.random() < 0.4:
            come[table], gone[table] = [], []
            continue
        often = rng.randrange(min(3, len(own) + 1))
        gone[table] = [own.pop(rng.randrange(len(own))) for _ in range(often)]
        most = 3 if len(own) < 10 else 2
        come[table] = rows(rng, table, rng.randrange(most)) + gone[table][: rng.randrange(2)]
        own.extend(come[table])
    return come, gone, then
