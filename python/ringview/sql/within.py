"""Subqueries in conditions: one value for each row of the query around; the others as counts.

Invariant: a subquery's names are its own columns first, then those of the queries around, outwards.
What is compared is one aggregate, or one expression over aggregates. EXISTS is `COUNT(*) > 0`; `x <
ANY (SELECT y ..)` is true where x is less than some y, else unknown where NULL is among the ys, or
x is NULL and there is a y, else false; `x IN ..` is `x = ANY ..`, and `x < ALL ..` is `NOT x >= ANY
..`. Cost: that of translating each subquery once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from ..errors import TypeMismatchError
from .blocks import Reads
from .names import Column, Scope
from .predicates import HANDLERS, Predicate, alike
from .rows import is_plain, one
from .scalars import Json, Scalar, constant, scalar

_ZERO: Json = {"op": "literal", "value": {"type": "int", "value": 0}}
_NULL: Json = {"op": "literal", "value": {"type": "null"}}
_NUMBER = (int, float, Decimal)
# What a subquery with groups is called in FROM.
_GROUPS = "groups"
_READ_APART = "keep it as a view, and read that in FROM"
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
# With the sides exchanged, and what holds where a comparison of two values that are known does not.
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


@dataclass(frozen=True, slots=True)
class Chosen(Scope):
    """What a condition on the rows of a join may name and compare."""

    reads: Reads = field(kw_only=True)

    @staticmethod
    def over(rows: Scope, reads: Reads) -> Chosen:
        """The scope of conditions on what `rows` are of."""
        found = (rows.text, rows.sources, rows.visible, rows.around, rows.outer)
        return Chosen(*found, reads=reads)

    def handler(self, kind: type[exp.Expr]) -> Callable[[Any, Any], Any] | None:
        """What translates a node of this kind here and nowhere else."""
        return SCALARS.get(kind)

    def conditions(self, kind: type[exp.Expr]) -> Callable[[Any, Any], Any] | None:
        """What translates a condition of this kind here and nowhere else."""
        return CONDITIONS.get(kind)

    def column(self, node: exp.Column) -> Column:
        """The column that a name means, of this query or of the next one around that knows it."""
        outer = self.outer
        if outer is None or self.knows(node) or not _known(outer, node):
            return Scope.column(self, node)
        found = outer.column(node)
        return replace(found, depth=found.depth + 1)


def _known(scope: Scope | None, node: exp.Column) -> bool:
    return scope is not None and (scope.knows(node) or _known(scope.outer, node))


def reaches(body: Any) -> bool:
    """Whether what is written reads other queries: those within it, or those around."""
    return _any(body, lambda part: part.get("op") == "query" or "depth" in part)


def divides(body: Any) -> bool:
    """Whether it divides, which no filter of a table does."""
    return _any(body, lambda part: part.get("op") == "divide")


def _any(body: Any, holds: Callable[[Json], bool]) -> bool:
    if isinstance(body, list):
        return any(_any(each, holds) for each in body)
    if not isinstance(body, dict):
        return False
    return holds(body) or any(_any(each, holds) for each in body.values())


def select_of(node: exp.Expr) -> exp.Select | None:
    """The SELECT that stands in parentheses, if it is one."""
    while isinstance(node, (exp.Subquery, exp.Paren)):
        node = node.this
    return node if isinstance(node, exp.Select) else None


def _select(node: exp.Expr, scope: Chosen) -> exp.Select:
    """The SELECT of a subquery."""
    tree = node
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        what = "UNION, INTERSECT, EXCEPT are not supported in a subquery"
        scope.text.refuse(tree, what, _READ_APART)
    if not isinstance(tree, exp.Select):
        scope.text.refuse(tree, "a subquery is a SELECT", "write SELECT .. FROM ..")
    return tree


def _inside(scope: Chosen) -> Reads:
    """What the FROM of a subquery may read."""
    around = (*scope.reads.around, *scope.sources)
    return replace(scope.reads, around=around)


def _query(query: Json) -> Json:
    return {"op": "query", "query": query}


def _subquery(node: exp.Subquery, scope: Chosen) -> Scalar:
    """The one value of a subquery."""
    tree = _select(node, scope)
    query, kind = scope.reads.selects.value(tree, _inside(scope), scope)
    return Scalar(node, kind, body=_query(query))


def _divide(node: exp.Div, scope: Chosen) -> Scalar:
    """`/` is a double; NULL by zero."""
    sides = [scalar(side, scope) for side in (node.left, node.right)]
    for side in sides:
        if side.kind not in ("number", "null"):
            what = f"'/' needs numbers, this is a {side.kind}"
            scope.text.fail(side.node, what, "", TypeMismatchError)
    left, right = sides
    if left.is_constant and right.is_constant:
        known = isinstance(left.constant, _NUMBER) and isinstance(right.constant, _NUMBER)
        if not known or not right.constant:
            return constant(node, None)
        return constant(node, float(left.constant) / float(right.constant))  # type: ignore[arg-type]
    body = {"op": "divide", "left": left.json(), "right": right.json()}
    return Scalar(node, "number", left.atoms | right.atoms, body)


def _count(query: Json, *conditions: Json) -> Json:
    """How many rows of a subquery meet further conditions."""
    where = [*([query["condition"]] if "condition" in query else []), *conditions]
    if where:
        query = {**query, "condition": {"op": "and", "operands": where} if where[1:] else where[0]}
    count = {"kind": "aggregate", "name": "count", "function": "count", "argument": None}
    return _query({**query, "outputs": [count]})


def _some(count: Json) -> Json:
    """Whether there are any."""
    return {"op": "compare", "comparison": "gt", "left": count, "right": _ZERO}


def _plain(tree: exp.Select) -> exp.Select:
    """A SELECT of the same rows, as far as it matters whether they are there, without groups."""
    if is_plain(tree) and tree.args.get("distinct") is None:
        return tree
    named = exp.TableAlias(this=exp.to_identifier(_GROUPS))
    return exp.Select(
        expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=tree.copy(), alias=named))
    )


def _exists(node: exp.Exists, scope: Chosen) -> Predicate:
    query, _ = scope.reads.selects.rows(_plain(_select(node.this, scope)), _inside(scope), scope)
    return Predicate(node, frozenset(), _some(_count(query)))


def _in(node: exp.In, scope: Chosen) -> Predicate:
    """IN a list, or IN a subquery of one column."""
    within = node.args.get("query")
    if within is None:
        found: Predicate = HANDLERS[exp.In](node, scope)
        return found
    return _any_of(node, "eq", node.this, within, scope)


def _any_of(
    node: exp.Expr, comparison: str, looked: exp.Expr, within: exp.Expr, scope: Chosen
) -> Predicate:
    """Whether a value compares so with one of those that a subquery has."""
    tree = _plain(_select(within, scope))
    operand = scalar(looked, scope)
    query, inner = scope.reads.selects.rows(tree, _inside(scope), scope)
    left, right = alike(operand, one(tree, inner), scope)
    sought, there = _deepened(left.json()), right.json()
    holds = {"op": "compare", "comparison": _MIRRORED[comparison], "left": there, "right": sought}
    nulls = [{"op": "is_null", "operand": side} for side in (there, sought)]
    unknown = {"op": "compare", "comparison": "eq", "left": _NULL, "right": _ZERO}
    may_be = _some(_count(query, {"op": "or", "operands": nulls}))
    operands = [_some(_count(query, holds)), {"op": "and", "operands": [may_be, unknown]}]
    return Predicate(node, operand.atoms, {"op": "or", "operands": operands})


def _compared(comparison: str) -> Callable[[Any, Chosen], Predicate]:
    """A comparison with a value, or with ANY or ALL values of a subquery."""

    def handler(node: exp.Binary, scope: Chosen) -> Predicate:
        within = node.right
        if isinstance(within, exp.Any):
            return _any_of(node, comparison, node.left, within.this, scope)
        if isinstance(within, exp.All):
            found = _any_of(node, _NEGATED[comparison], node.left, within.this, scope)
            return replace(found, body={"op": "not", "operand": found.body})
        compared: Predicate = HANDLERS[type(node)](node, scope)
        return compared

    return handler


def _deepened(body: Any, level: int = 0) -> Any:
    """A value as a query within writes it: columns of here and around are one further out."""
    if isinstance(body, list):
        return [_deepened(each, level) for each in body]
    if not isinstance(body, dict):
        return body
    if body.get("op") == "query":
        query = dict(body["query"])
        if "condition" in query:
            query["condition"] = _deepened(query["condition"], level + 1)
        return {**body, "query": query}
    if body.get("op") == "column" and body.get("depth", 0) >= level:
        return {**body, "depth": body.get("depth", 0) + 1}
    return {key: _deepened(each, level) for key, each in body.items()}


SCALARS: dict[type[exp.Expr], Callable[[Any, Chosen], Scalar]] = {
    exp.Subquery: _subquery,
    exp.Select: _subquery,
    exp.Div: _divide,
}

CONDITIONS: dict[type[exp.Expr], Callable[[Any, Chosen], Predicate]] = {
    exp.Exists: _exists,
    exp.In: _in,
    **{node: _compared(name) for node, name in _COMPARISONS.items()},
}
