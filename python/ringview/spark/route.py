"""Which partition a row goes to.

A result row of a join has one value for each variable. So if every row of the
relations that hold a variable X goes to the partition of its X value, and the
relations without X go to all partitions, each result row is made in exactly one
partition, and the partitions' results add up in the ring to the whole.

Invariant: at least one relation is not sent everywhere. Cost: O(atoms * variables).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Query = dict[str, Any]
"""The logical query as the engine takes it (JSON as Python objects)."""

Column = tuple[int, str]
"""A column of an atom: the atom's number and the column's name."""

# With fewer values than this a partition, hashing leaves some partitions idle.
_VALUES_A_PARTITION = 8


@dataclass(frozen=True)
class Route:
    """The columns by which rows are routed, at most one an atom.

    ``columns`` maps an atom to its column of the root variable. Atoms that are not
    in it are broadcast, but for ``scattered``: the rows of that atom may lie anywhere.
    """

    columns: dict[int, str]
    scattered: int | None = None

    def broadcast(self, atoms: int) -> list[int]:
        """The atoms whose rows go to every partition."""
        return [a for a in range(atoms) if a not in self.columns and a != self.scattered]

    def separates(self, query: Query) -> bool:
        """Whether no group of the result is made in two partitions."""
        return any(self.columns.get(c["atom"]) == c["column"] for c in query["group_by"])


def choose(query: Query, rows: Mapping[str, int] | None, partitions: int) -> Route:
    """The route that loads the fullest partition least.

    Without ``rows`` (how many each table has) relations count the same.
    """
    atoms = range(len(query["atoms"]))
    size = {a: rows[query["atoms"][a]["table"]] if rows else 1 for a in atoms}
    total = sum(size.values())

    def load(route: Route) -> float:
        routed = sum(size[a] for a in route.columns)
        if route.scattered is not None:
            return size[route.scattered] / partitions + total - size[route.scattered]
        values = min(size[a] for a in route.columns) if rows else partitions * _VALUES_A_PARTITION
        spread = max(1.0, min(partitions, values / _VALUES_A_PARTITION))
        return routed / spread + total - routed

    by_variable = [Route(columns) for columns in variables(query)]
    scattered = Route({}, scattered=max(atoms, key=lambda a: size[a]))
    # Among equals, a variable of the result is best: it saves the second step.
    by_variable.sort(key=lambda route: not route.separates(query))
    return min([*by_variable, scattered], key=load)


def covers_all(query: Query) -> bool:
    """Whether some variable is in every relation, so that sizes need not be known."""
    return any(len(columns) == len(query["atoms"]) for columns in variables(query))


def variables(query: Query) -> list[dict[int, str]]:
    """The join variables: for each the first column that an atom has of it."""
    classes: list[set[Column]] = []
    for join in query["joins"]:
        joined = {(column["atom"], column["column"]) for column in join}
        apart = [c for c in classes if not c & joined]
        classes = [*apart, joined.union(*(c for c in classes if c & joined))]
    return [_first_of_each_atom(columns) for columns in classes]


def _first_of_each_atom(columns: set[Column]) -> dict[int, str]:
    first: dict[int, str] = {}
    for atom, column in sorted(columns):
        first.setdefault(atom, column)
    return first


def needed(query: Query) -> list[list[str]]:
    """The columns that the query uses of each atom."""
    found: list[dict[str, None]] = [{} for _ in query["atoms"]]
    for atom, column in _columns(query):
        found[atom][column] = None
    return [list(columns) for columns in found]


def _columns(part: object) -> Sequence[Column]:
    """Every ``{"atom": .., "column": ..}`` in a part of a query, in order."""
    if isinstance(part, list):
        return [column for entry in part for column in _columns(entry)]
    if not isinstance(part, dict):
        return []
    if isinstance(part.get("atom"), int) and isinstance(part.get("column"), str):
        return [(part["atom"], part["column"])]
    return [column for entry in part.values() for column in _columns(entry)]
