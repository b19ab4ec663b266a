"""FROM, ON and WHERE: atoms, equalities that join them, filters on single atoms.

Invariant: every condition ends as one equality between columns of two atoms, as a filter of one
atom, or, where it compares across tables or with a subquery, in the condition of the join. NATURAL
JOIN and USING join exactly the columns that SQL says and merge each pair into one name.
Cost: O(tables * columns + nodes of the conditions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from ..errors import RingviewError, TypeMismatchError
from .blocks import Readable, Reads
from .joinable import joinable
from .names import JOINED_ON, Column, Scope, Source, source
from .place import Text
from .predicates import Predicate, conjuncts, predicate
from .scalars import Json, refuse
from .within import Chosen, divides, reaches

_ROWS_OF_EACH = "keep the rows of each side as a view and join what you read"


@dataclass(slots=True)
class Joins:
    """What FROM and WHERE of one query add up to, while they are read."""

    text: Text
    reads: Reads
    # Of a subquery in a condition: what that may name.
    outer: Scope | None = None
    # What each atom reads, and its source.
    atoms: list[tuple[str, Source]] = field(default_factory=list)
    equalities: list[tuple[Column, Column]] = field(default_factory=list)
    filters: dict[int, list[Json]] = field(default_factory=dict)
    conditions: list[Json] = field(default_factory=list)

    def read_from(self, select: exp.Select) -> Scope:
        """The scope of the whole FROM clause: comma-separated groups, each joined by itself."""
        first = select.args.get("from_") or select.args.get("from")
        if first is None:
            self.text.refuse(select, "a view needs a FROM", "name the tables that it reads")
        whole = Scope(self.text, around=self.reads.around, outer=self.outer)
        group = self._relation(first.this)
        for join in select.args.get("joins") or []:
            if _is_comma(join, self.text):
                whole = whole.plus(group)
                group = self._relation(join.this)
            else:
                group = self._join(group, join)
        return whole.plus(group)

    def read_condition(self, condition: exp.Expr, scope: Scope) -> None:
        """Share out the conjuncts of an ON or a WHERE."""
        scope = self.chosen(scope)
        for part in conjuncts(condition):
            pair = _column_pair(part, scope)
            if pair is not None:
                self._equate(part, *pair)
            elif not self._join_block(part, scope):
                self._filter(predicate(part, scope))

    def chosen(self, scope: Scope) -> Chosen:
        """What conditions on the rows of `scope` may name."""
        return Chosen.over(replace(scope, outer=self.outer), self.reads)

    def json(self) -> Json:
        """The `atoms`, `joins` and, if there is one, `condition` of the logical query."""
        condition = _all(self.conditions)
        return {
            "atoms": [
                {"table": table, "alias": of.alias, "filter": _all(self.filters.get(i, []))}
                for i, (table, of) in enumerate(self.atoms)
            ],
            "joins": [[left.json(), right.json()] for left, right in self.equalities],
            **({"condition": condition} if condition is not None else {}),
        }

    def classes(self, column: Column) -> set[Column]:
        """All columns that the joins make equal to `column`, O(joins^2) at worst."""
        found, before = {column}, 0
        while len(found) > before:
            before = len(found)
            for pair in self.equalities:
                if found & set(pair):
                    found |= set(pair)
        return found

    def _relation(self, node: exp.Expr) -> Scope:
        """What has a name, a subquery, or joins in parentheses."""
        if isinstance(node, exp.Lateral):
            self.text.refuse(node, "LATERAL is not supported", JOINED_ON)
        if isinstance(node, exp.Subquery):
            self._only(node, {"this", "alias", "joins"})
            if _is_query(node.this):
                return self._joined(self._subquery(node), node)
            if node.args.get("alias"):
                self.text.refuse(node, "a join in parentheses has no alias here", "leave it out")
            return self._joined(self._relation(node.this), node)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            what = "FROM takes names of tables, views and WITH, and subqueries here"
            self.text.refuse(node, what, "create a table of the rows")
        self._only(node, {"this", "alias", "joins"})
        return self._joined(self._atom(node, self.reads.named(node), node.alias_or_name), node)

    def _joined(self, scope: Scope, node: exp.Expr) -> Scope:
        """`scope` with the joins that hang below `node` (`a JOIN b JOIN c ON .. ON ..`)."""
        for join in node.args.get("joins") or []:
            scope = self._join(scope, join)
        return scope

    def _subquery(self, node: exp.Subquery) -> Scope:
        called = node.alias
        if not called:
            number = 1 + sum(of.alias.startswith(_UNNAMED) for _, of in self.atoms)
            called = _UNNAMED + (str(number) if number > 1 else "")
        # To its left stand the tables that it would see if it were LATERAL.
        around = tuple(of for _, of in self.atoms)
        return self._atom(node, self.reads.subquery(node.this, called, around), called)

    def _atom(self, node: exp.Table | exp.Subquery, read: Readable, called: str) -> Scope:
        alias = node.args.get("alias")
        if alias is not None:
            read = read.renamed(alias.args.get("columns") or [], self.text)
        if any(called.lower() == other.alias.lower() for _, other in self.atoms):
            self.text.fail(node, f"two tables are called {called!r}", "give one of them an alias")
        of = source(len(self.atoms), called, read.schema, read.called)
        if read.filter is not None:
            self.filters[len(self.atoms)] = [_of_atom(len(self.atoms), read.filter)]
        self.atoms.append((read.name, of))
        return Scope.of(self.text, of, self.reads.around)

    def _join(self, left: Scope, join: exp.Join) -> Scope:
        """The scope after `left .. JOIN right ..`."""
        self._check_join(join)
        right = self._relation(join.this)
        on, using = join.args.get("on"), join.args.get("using")
        if join.args.get("method") == "NATURAL":
            return self._natural(left, right, join)
        if using:
            return self._merge(left, right, using)
        both = left.plus(right)
        if on is not None:
            self.read_condition(on, both)
        elif join.args.get("kind") != "CROSS":
            self.text.fail(
                join, "this JOIN has no condition", "write ON or USING, or CROSS JOIN for a product"
            )
        return both

    def _natural(self, left: Scope, right: Scope, join: exp.Join) -> Scope:
        names = left.common(right)
        if not names:
            self.text.fail(
                join,
                "NATURAL JOIN finds no column on both sides",
                "write CROSS JOIN for a product",
            )
        return self._merge(left, right, [_at(name, join) for name in names])

    def _merge(self, left: Scope, right: Scope, names: list[exp.Identifier]) -> Scope:
        pairs = [(name, left.bare(name), right.bare(name)) for name in names]
        for name, one, other in pairs:
            self._equate(name, one, other)
        return left.plus(right, merged=[other for _, _, other in pairs])

    def _check_join(self, join: exp.Join) -> None:
        side, kind = join.args.get("side") or "", join.args.get("kind") or ""
        method = join.args.get("method") or ""
        if side or kind == "OUTER":
            self.text.refuse(
                join,
                f"{side or kind} JOIN is not supported: views keep inner joins",
                _ROWS_OF_EACH,
            )
        if kind not in ("", "INNER", "CROSS") or method not in ("", "NATURAL"):
            self.text.refuse(join, f"{method or kind} JOIN is not supported", _ROWS_OF_EACH)
        self._only(join, {"this", "on", "using", "kind", "method"})

    def _join_block(self, condition: exp.Expr, scope: Chosen) -> bool:
        """Join with the block that a subquery of the condition is, where it is one."""

        def known(tree: exp.Select) -> Callable[[exp.Column], bool]:
            return Joins(self.text, self.reads.within(tree)).read_from(tree).knows

        found = joinable(condition, known)
        if found is None:
            return False
        outer = [scope.column(node) for node in found.outer]
        if any(column.depth for column in outer):
            return False
        try:
            read = self.reads.subquery(found.tree, _SUBQUERY, scope.sources)
        except RingviewError:
            # It names what is around it otherwise than by equality: it is no join.
            return False
        types = [read.schema.field(at).type for at in range(len(outer))]
        if [self._type(column) for column in outer] != types or any(map(_is_float, types)):
            return False
        number = len(self.atoms)
        of = source(number, f"{_SUBQUERY} {number}", read.schema, read.called)
        if read.filter is not None:
            self.filters[number] = [_of_atom(number, read.filter)]
        self.atoms.append((read.name, of))
        for column, inner in zip(outer, of.columns, strict=False):
            self._equate(condition, column, inner)
        return True

    def _type(self, column: Column) -> pa.DataType:
        """The type of a column of this query."""
        schema = self.reads.blocks.schema(self.atoms[column.atom][0])
        return schema.field(column.stored).type

    def _equate(self, node: exp.Expr, left: Column, right: Column) -> None:
        if left.kind != right.kind:
            self.text.fail(
                node,
                f"a {left.kind} ({left.name}) is not joined with a {right.kind} ({right.name})",
                "give both columns the same type",
                TypeMismatchError,
            )
        self.equalities.append((left, right))

    def _filter(self, condition: Predicate) -> None:
        if len(condition.atoms) > 1 or reaches(condition.body):
            self.conditions.append(condition.body)
            return
        divided = condition.node.find(exp.Div)
        if divided is not None and divides(condition.body):
            # Of one row it can be a column, and the condition a filter.
            refuse(divided, self.text)
        atom = min(condition.atoms, default=0)
        self.filters.setdefault(atom, []).append(condition.body)

    def _only(self, node: exp.Expr, known: set[str]) -> None:
        """Refuse what a node carries beyond `known` rather than overlook it."""
        for key, value in node.args.items():
            if value and key not in known:
                name = key.rstrip("_").upper().replace("DB", "a schema in front of a table")
                self.text.refuse(node, f"{name} is not supported here")


# What a block is called that a subquery of a condition is.
_SUBQUERY = "subquery"
# What a subquery is called that the text does not name, as DuckDB calls it.
_UNNAMED = "unnamed_subquery"


def _is_query(node: exp.Expr) -> bool:
    """Whether what stands in parentheses is a query and no join."""
    while isinstance(node, exp.Subquery) and not node.args.get("joins") and not node.alias:
        node = node.this
    return isinstance(node, exp.Query) and not isinstance(node, (exp.Subquery, exp.Table))


def _is_float(of: pa.DataType) -> bool:
    return bool(pa.types.is_floating(of))


def _is_comma(join: exp.Join, text: Text) -> bool:
    bare = not any(value for key, value in join.args.items() if key != "this")
    return bare and text.after_comma(join)


def _column_pair(node: exp.Expr, scope: Scope) -> tuple[Column, Column] | None:
    """The two sides of an equality between plain columns of different atoms."""
    if not isinstance(node, exp.EQ):
        return None
    one, other = node.left.unnest(), node.right.unnest()
    if not isinstance(one, exp.Column) or not isinstance(other, exp.Column):
        return None
    left, right = scope.column(one), scope.column(other)
    own = left.depth == right.depth == 0
    return (left, right) if own and left.atom != right.atom else None


def _all(filters: list[Json]) -> Json | None:
    if len(filters) > 1:
        return {"op": "and", "operands": filters}
    return filters[0] if filters else None


def _of_atom(atom: int, part: Any) -> Any:
    """A part of a filter of atom 0 as one of another."""
    if isinstance(part, list):
        return [_of_atom(atom, each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {key: _of_atom(atom, each) for key, each in part.items()}
    return {**found, "atom": atom} if "atom" in part else found


def _at(name: str, node: exp.Expr) -> exp.Identifier:
    """An identifier that the text does not spell out, placed at `node` for messages."""
    identifier = exp.to_identifier(name, quoted=False)
    identifier.parent = node
    return identifier
