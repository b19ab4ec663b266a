"""The variables of a query: columns that are equal in every row that counts.

A query may hold others in its condition, so a column is identified by a path (which query, within
which), an atom and a name. Within one query joins make columns equal. Between a query and the one
around it only an equality does that is the condition of the inner one, or a term of its AND, and
one way: the inner rows that differ add nothing for this outer row, but the outer row is there all
the same.

Invariant: columns of one variable have types that hash alike. Cost: O(length of the query).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ringview import _native
from ringview.spark.types import join_alike

Query = dict[str, Any]
"""The logical query as the engine takes it (JSON as Python objects)."""

Path = tuple[int, ...]
"""A query: () is the outermost, (1,) the second within its condition."""

Column = tuple[Path, int, str]
"""A column: the query, the atom, the name."""


@dataclass(frozen=True)
class Variable:
    """A variable of the outermost query: its columns there, the first of each atom."""

    name: str
    columns: tuple[tuple[int, str], ...]

    @property
    def atoms(self) -> dict[int, str]:
        """The column of each atom that has the variable."""
        return dict(self.columns)


def queries(query: Query, path: Path = ()) -> Iterator[tuple[Path, Query]]:
    """A query and all that its condition names, the outer ones first."""
    yield path, query
    for number, inner in enumerate(query.get("subqueries", ())):
        yield from queries(inner, (*path, number))


def references(query: Query) -> Iterator[Column]:
    """Every column that a query names, or one within its condition."""
    for path, one in queries(query):
        for depth, atom, column in _named(one):
            yield path[: len(path) - depth], atom, column


def _named(query: Query) -> Iterator[tuple[int, int, str]]:
    """Every column that a query names, without those of queries within."""
    outputs = query["outputs"]
    texts = [query.get("condition"), query.get("having")]
    texts += [output.get(part) for output in outputs for part in ("argument", "value")]
    for text in texts:
        if text is not None:
            yield from _native.expression_columns(text)
    for number, atom in enumerate(query["atoms"]):
        if atom.get("filter") is not None:
            for column in _native.filter_columns(atom["filter"]):
                yield 0, number, column
    parts = [query.get(part) for part in ("joins", "group_by", "order")]
    for named in _columns([*parts, *outputs]):
        yield 0, named["atom"], named["column"]


def _columns(part: object) -> Iterator[dict[str, Any]]:
    """Every ``{"atom": .., "column": ..}`` in a part of a query."""
    if isinstance(part, list):
        for entry in part:
            yield from _columns(entry)
    elif isinstance(part, dict):
        if isinstance(part.get("atom"), int) and isinstance(part.get("column"), str):
            yield part
        else:
            for entry in part.values():
                yield from _columns(entry)


class Variables:
    """The variables of a query, and which atoms have them, of those within its condition too.

    Args:
        query: The query; its blocks are not looked into.
        kind: The type of a column of what an atom reads.
    """

    def __init__(self, query: Query, kind: Callable[[str, str], pa.DataType]) -> None:
        self._parent: dict[Column, Column] = {}
        self._linked: dict[Column, set[Column]] = {}
        self._queries = dict(queries(query))
        self._kind = kind
        for path, one in self._queries.items():
            for join in one.get("joins", ()):
                first, *others = [(path, column["atom"], column["column"]) for column in join]
                self._find(first)
                for column in others:
                    self._union(first, column)
        equal = [
            (left, right)
            for path, one in self._queries.items()
            for left, right in _equalities(one.get("condition"), path)
            # Two columns of the queries around are equal for this query's rows, not for theirs.
            if path in (left[0], right[0]) and self._alike(left, right)
        ]
        for left, right in equal:
            if left[0] == right[0]:
                self._union(left, right)
        for left, right in equal:
            inner, outer = sorted((left, right), key=lambda column: -len(column[0]))
            if len(outer[0]) < len(inner[0]):
                self._linked.setdefault(self._find(inner), set()).add(self._find(outer))

    def all(self) -> list[Variable]:
        """The variables by which rows of the outermost query may be distributed."""
        (_, outermost), *_ = self._queries.items()
        for column in outermost["group_by"]:
            self._find(((), column["atom"], column["column"]))
        classes: dict[Column, list[tuple[int, str]]] = {}
        for column in sorted(self._parent):
            if not column[0]:
                classes.setdefault(self._find(column), []).append(column[1:])
        return [
            self._variable(columns)
            for columns in classes.values()
            if all(self._alike(((), *columns[0]), ((), *column)) for column in columns[1:])
        ]

    def of(self, atom: int, column: str) -> Variable | None:
        """The variable of a column of the outermost query, if rows can be distributed by it."""
        self._find(((), atom, column))
        return next((each for each in self.all() if self._has(each, atom, column)), None)

    def is_of(self, variable: Variable, atom: int, column: str) -> bool:
        """Whether a column of the outermost query is of the variable."""
        return self._has(variable, atom, column)

    def holders(self, variable: Variable, path: Path) -> dict[int, str]:
        """The atoms of a query that have the variable, each with its first column of it."""
        atom, name = variable.columns[0]
        wanted = self._find(((), atom, name))
        found: dict[int, str] = {}
        for column in sorted(self._parent):
            if column[0] == path and wanted in self._reached(self._find(column)):
                found.setdefault(column[1], column[2])
        return found

    def _variable(self, columns: list[tuple[int, str]]) -> Variable:
        first: dict[int, str] = {}
        for atom, column in columns:
            first.setdefault(atom, column)
        return Variable(next(iter(first.values())), tuple(first.items()))

    def _has(self, variable: Variable, atom: int, column: str) -> bool:
        first, name = variable.columns[0]
        return self._find(((), atom, column)) == self._find(((), first, name))

    def _reached(self, column: Column) -> set[Column]:
        """The classes that this one is equal to: itself, and what it is linked to further out."""
        found = {column}
        for outer in self._linked.get(column, ()):
            found |= self._reached(self._find(outer))
        return found

    def _find(self, column: Column) -> Column:
        parent = self._parent.setdefault(column, column)
        return column if parent == column else self._find(parent)

    def _union(self, one: Column, other: Column) -> None:
        a, b = sorted((self._find(one), self._find(other)))
        self._parent[b] = a

    def _alike(self, one: Column, other: Column) -> bool:
        return join_alike(*(self._kind(self._table(c), c[2]) for c in (one, other)))

    def _table(self, column: Column) -> str:
        table: str = self._queries[column[0]]["atoms"][column[1]]["table"]
        return table


def _equalities(condition: str | None, path: Path) -> Iterator[tuple[Column, Column]]:
    """Equalities of a condition: alone, or under AND."""
    for pair in [] if condition is None else _native.equalities(condition):
        left, right = ((path[: len(path) - depth], atom, name) for depth, atom, name in pair)
        yield left, right
