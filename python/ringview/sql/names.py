"""What a name in a query means: tables, aliases, columns.

Invariant: a name is either one column of one atom or an error that says why not (unknown,
ambiguous), never a guess. A column merged by NATURAL JOIN or USING is one column, unambiguous
without its table. Names compare without case unless quoted; in one table the exact spelling wins.
A subquery in FROM sees its own tables alone; one in a condition sees those around it too, its own
first. Cost: O(columns in scope) a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pyarrow as pa
from sqlglot import exp

from ..arrow import Kind, kind_of
from ..errors import QueryError, UnknownColumnError, did_you_mean
from .place import DIALECT, Text

# What to do instead. `tests/python/test_advice.py` does it and compares.
JOINED_ON = (
    "show the column that it compares with, and join on that: "
    "JOIN (SELECT b, c FROM s) AS q USING (b); where it aggregates, keep its groups and the rows "
    "as two views, and LEFT JOIN what you read"
)
OUTSIDE = (
    "aggregate columns of the subquery alone, and compute with the result: SUM(s.x * r.y) is "
    "r.y * (SELECT SUM(s.x) ..)"
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one atom (an atom is one appearance of a table, view or block in FROM).

    The query calls it `name`; what the atom reads calls it `stored`. It is of the query `depth`
    further out.
    """

    atom: int
    name: str
    kind: Kind
    stored: str
    depth: int = 0

    def json(self) -> dict[str, object]:
        """The column as the logical query writes it."""
        found: dict[str, object] = {"atom": self.atom, "column": self.stored}
        return {"depth": self.depth, **found} if self.depth else found


@dataclass(frozen=True, slots=True)
class Source:
    """An atom in scope: the name by which the query calls it, its columns."""

    alias: str
    columns: tuple[Column, ...]


def source(atom: int, alias: str, schema: pa.Schema, called: Iterable[str]) -> Source:
    """The source of an atom whose columns the query calls `called`, O(columns)."""

    def column(name: str, of: pa.Field) -> Column:
        # What a view shows and no table stores is a COFACTOR.
        kind = "cofactor" if pa.types.is_struct(of.type) else kind_of(of.type) or "null"
        return Column(atom, name, kind, of.name)

    return Source(alias, tuple(map(column, called, schema)))


@dataclass(frozen=True, slots=True)
class Scope:
    """Sources that a clause sees, and the columns that it may name without their table."""

    text: Text
    sources: tuple[Source, ...] = ()
    visible: tuple[Column, ...] = field(default=())
    # Of the queries around, which a subquery in FROM does not see.
    around: tuple[Source, ...] = ()
    # Of a subquery in a condition: what the condition may name.
    outer: Scope | None = None

    @staticmethod
    def of(text: Text, one: Source, around: tuple[Source, ...] = ()) -> Scope:
        """The scope of a single table."""
        return Scope(text, (one,), one.columns, around)

    def handler(self, kind: type[exp.Expr]) -> Callable[[Any, Any], Any] | None:
        """What translates a node of this kind in this scope alone; nothing in one of rows."""
        return None

    def conditions(self, kind: type[exp.Expr]) -> Callable[[Any, Any], Any] | None:
        """What translates a condition of this kind in this scope alone."""
        return None

    def plus(self, other: Scope, merged: Iterable[Column] = ()) -> Scope:
        """Both scopes; the columns `merged` of the right one are no longer seen by bare name."""
        gone = set(merged)
        kept = tuple(column for column in other.visible if column not in gone)
        sources = self.sources + other.sources
        around, outer = self.around or other.around, self.outer or other.outer
        return Scope(self.text, sources, self.visible + kept, around, outer)

    def knows(self, node: exp.Column) -> bool:
        """Whether a name means something here, a column or several, or a table that lacks it."""
        qualifier = node.args.get("table")
        if qualifier is not None:
            return any(_same(qualifier, source.alias) for source in self.sources)
        return any(_same(node.this, column.name) for column in self.visible)

    def column(self, node: exp.Column) -> Column:
        """The column that `node` names; raises UnknownColumnError or QueryError with the place."""
        name = node.this
        if isinstance(name, exp.Star):
            self.text.refuse(node, "a * stands where a column is needed", "name the column")
        if node.args.get("db") is not None:
            self.text.refuse(
                node,
                f"{node.sql()!r} has more than a table in front of the column",
                "tables have plain names here: write table.column",
            )
        outer = self.outer
        while outer is not None and not self.knows(node):
            if outer.knows(node):
                self.text.refuse(
                    node,
                    f"{node.sql(dialect=DIALECT)!r} is of the query around, which only the WHERE "
                    "of a subquery sees",
                    OUTSIDE,
                )
            outer = outer.outer
        qualifier = node.args.get("table")
        if qualifier is not None:
            found = self.source(qualifier)
            return self._pick(name, found.columns, f"table {found.alias!r}")
        return self.bare(name)

    def bare(self, name: exp.Identifier) -> Column:
        """The column that `name` means without a table in front."""
        return self._pick(name, self.visible, "the tables of FROM")

    def common(self, other: Scope) -> list[str]:
        """Names of columns on both sides, in the left side's order: what NATURAL JOIN joins."""
        right = {column.name.lower() for column in other.visible}
        names = {c.name.lower(): c.name for c in self.visible if c.name.lower() in right}
        return list(names.values())

    def source(self, name: exp.Identifier) -> Source:
        """The atom that is called `name`."""
        found = [source for source in self.sources if _same(name, source.alias)]
        if found:
            return found[0]
        self._refuse_around(name, [other for other in self.around if _same(name, other.alias)])
        aliases = [source.alias for source in self.sources]
        known = ", ".join(aliases) + did_you_mean(name.name, aliases)
        self.text.fail(
            name,
            f"no table or alias {name.name!r} here",
            f"in scope: {known}",
            QueryError,
        )

    def _pick(self, name: exp.Identifier, columns: tuple[Column, ...], where: str) -> Column:
        found = [column for column in columns if _same(name, column.name)]
        if len(found) > 1 and len({column.atom for column in found}) == 1:
            found = [column for column in found if column.name == name.name] or found
        if len(found) > 1:
            self._ambiguous(name, found)
        if not found:
            if columns is self.visible:
                around = [s for s in self.around if any(_same(name, c.name) for c in s.columns)]
                self._refuse_around(name, around)
            names = list(dict.fromkeys(column.name for column in columns))
            known = ", ".join(names) + did_you_mean(name.name, names)
            self.text.fail(
                name, f"no column {name.name!r} in {where}", f"known: {known}", UnknownColumnError
            )
        return self.value(name, found[0])

    def value(self, node: exp.Expr, column: Column) -> Column:
        """`column`, unless it holds more than a value, which `node` cannot read."""
        if column.kind == "cofactor":
            self.text.refuse(
                node,
                f"the COFACTOR {column.name!r} is not read by another view: it holds counts, sums "
                "and products, and is no value",
                "show what is needed of it in columns of their own, such as COUNT, SUM or "
                "COVAR_POP, or write the COFACTOR here",
            )
        return column

    def _refuse_around(self, name: exp.Identifier, meant: list[Source]) -> None:
        if meant:
            self.text.refuse(
                name,
                f"a subquery in FROM does not see {meant[0].alias!r} of the query around it",
                JOINED_ON,
            )

    def _ambiguous(self, name: exp.Identifier, found: list[Column]) -> NoReturn:
        aliases = {c.atom: s.alias for s in self.sources for c in s.columns}
        choices = [f"{aliases[column.atom]}.{column.name}" for column in found]
        self.text.fail(
            name, f"column {name.name!r} is ambiguous", f"write one of {', '.join(choices)}"
        )


def _same(name: exp.Identifier, other: str) -> bool:
    text = str(name.this)
    return text == other or (not name.quoted and text.lower() == other.lower())


def find(name: exp.Identifier, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` means: exact spelling first, then without case."""
    names = list(known)
    if name.this in names:
        return str(name.this)
    return next((other for other in names if _same(name, other)), None)
