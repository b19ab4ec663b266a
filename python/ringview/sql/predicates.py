"""Conditions of SQL to the predicate JSON of the logical query, in SQL's three-valued logic.

Invariant: a node type has one handler or is refused with its place; both sides of a comparison
have one kind (a text constant takes the kind of the other side here, where its place is known).
Cost: O(nodes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ..arrow import Kind
from ..errors import QueryError, TypeMismatchError
from . import literals
from .names import Scope
from .scalars import Json, Scalar, constant, only_read, scalar


@dataclass(frozen=True, slots=True)
class Predicate:
    """A translated condition and the atoms that it reads."""

    node: exp.Expr
    atoms: frozenset[int]
    body: Json


def predicate(node: exp.Expr, scope: Scope) -> Predicate:
    """Translate the condition `node`; raises with its place in the text."""
    only_read(node, scope.text)
    handler = scope.conditions(type(node)) or HANDLERS.get(type(node), _truth)
    found = handler(node, scope)
    return _negated(found, node) if node.args.get("negate") else found


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition that must all hold, O(nodes).

    What all branches of an OR share is taken out: `(a AND b) OR (a AND c)` is `a AND (b OR c)`, in
    three-valued logic too. So an equality that every branch repeats is a join.
    """
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [part for side in node.flatten() for part in conjuncts(side)]
    if isinstance(node, exp.Or):
        return _without_shared(node)
    return [node]


def _without_shared(node: exp.Or) -> list[exp.Expr]:
    """What all branches of an OR share, and the OR of what is left of them."""
    branches = [{_mark(part): part for part in conjuncts(side)} for side in node.flatten()]
    first, *others = branches
    shared = {mark: part for mark, part in first.items() if all(mark in one for one in others)}
    if not shared:
        return [node]
    rest = [[part for mark, part in one.items() if mark not in shared] for one in branches]
    if not all(rest):
        # One branch asks for nothing else: where it fails, so do the others.
        return list(shared.values())
    sides = [exp.and_(*parts, copy=False) for parts in rest]
    return [*shared.values(), exp.or_(*sides, copy=False)]


def _mark(node: exp.Expr) -> object:
    """What is the same of conditions that say the same."""
    if isinstance(node, exp.Paren):
        return _mark(node.this)
    if isinstance(node, exp.EQ):
        return frozenset((_text(node.left), _text(node.right)))
    return _text(node)


def _text(node: exp.Expr) -> str:
    return node.sql(normalize=True, comments=False)


def _truth(node: exp.Expr, scope: Scope) -> Predicate:
    """A Boolean column or constant that stands as a condition."""
    operand = scalar(node, scope)
    if operand.kind not in ("bool", "null"):
        scope.text.fail(
            node,
            f"a condition is needed here, this is a {operand.kind}",
            "compare it with something",
            TypeMismatchError,
        )
    if isinstance(operand.constant, bool):
        return Predicate(node, frozenset(), {"op": "constant", "value": operand.constant})
    # NULL = TRUE is unknown, as NULL itself is.
    return _comparison("eq", node, operand, constant(node, True))


def _paren(node: exp.Paren, scope: Scope) -> Predicate:
    return predicate(node.this, scope)


def _not(node: exp.Not, scope: Scope) -> Predicate:
    return _negated(predicate(node.this, scope), node)


def _negated(operand: Predicate, node: exp.Expr) -> Predicate:
    return Predicate(node, operand.atoms, {"op": "not", "operand": operand.body})


def _connective(op: str) -> Callable[[Any, Scope], Predicate]:
    """The handler of AND or OR: one flat list of operands, however long the chain."""

    def handler(node: exp.Connector, scope: Scope) -> Predicate:
        return _joined(op, node, [predicate(part, scope) for part in node.flatten()])

    return handler


def _joined(op: str, node: exp.Expr, operands: list[Predicate]) -> Predicate:
    atoms = frozenset[int]().union(*(operand.atoms for operand in operands))
    return Predicate(node, atoms, {"op": op, "operands": [o.body for o in operands]})


def _compare(name: str) -> Callable[[Any, Scope], Predicate]:
    """The handler of a comparison that the logical query calls `name`."""

    def handler(node: exp.Binary, scope: Scope) -> Predicate:
        left, right = alike(scalar(node.left, scope), scalar(node.right, scope), scope)
        return _comparison(name, node, left, right)

    return handler


def _comparison(name: str, node: exp.Expr, left: Scalar, right: Scalar) -> Predicate:
    body = {"op": "compare", "comparison": name, "left": left.json(), "right": right.json()}
    return Predicate(node, left.atoms | right.atoms, body)


def _between(node: exp.Between, scope: Scope) -> Predicate:
    if node.args.get("symmetric"):
        scope.text.refuse(node, "BETWEEN SYMMETRIC is not supported", "write the lower bound first")
    operand = scalar(node.this, scope)
    left, low = alike(operand, scalar(node.args["low"], scope), scope)
    right, high = alike(operand, scalar(node.args["high"], scope), scope)
    bounds = [_comparison("ge", node, left, low), _comparison("le", node, right, high)]
    return _joined("and", node, bounds)


def _in(node: exp.In, scope: Scope) -> Predicate:
    if not node.expressions:
        scope.text.refuse(node, "IN takes a list of constants or a subquery here")
    operand = scalar(node.this, scope)
    left, values = operand, []
    for item in node.expressions:
        if type(item) is exp.Literal and operand.kind == ("text" if item.is_string else "number"):
            # Most of a long list: nothing to convert.
            values.append(literals.json(scalar(item, scope).constant))
            continue
        left, value = alike(operand, scalar(item, scope), scope)
        if not value.is_constant:
            scope.text.refuse(item, "IN takes a list of constants", "write = and OR for columns")
        values.append(literals.json(value.constant))
    return Predicate(node, operand.atoms, {"op": "in", "operand": left.json(), "list": values})


def _like(insensitive: bool) -> Callable[[Any, Scope], Predicate]:
    """The handler of LIKE or ILIKE; an ESCAPE around it is handled by `_escape`."""

    def handler(node: exp.Binary, scope: Scope, escape: str | None = None) -> Predicate:
        operand, pattern = scalar(node.this, scope), scalar(node.expression, scope)
        if not isinstance(pattern.constant, str):
            scope.text.refuse(node.expression, "the pattern of LIKE is a constant text here")
        if operand.kind != "text":
            scope.text.fail(
                node.this,
                f"LIKE needs a text, this is a {operand.kind}",
                "compare it with = or BETWEEN",
                TypeMismatchError,
            )
        body: Json = {"op": "like", "operand": operand.json(), "pattern": pattern.constant}
        return Predicate(
            node, operand.atoms, {**body, "escape": escape, "insensitive": insensitive}
        )

    return handler


def _escape(node: exp.Escape, scope: Scope) -> Predicate:
    mark = scalar(node.expression, scope).constant
    handler = _LIKES.get(type(node.this))
    if handler is None or not isinstance(mark, str) or len(mark) != 1:
        scope.text.fail(
            node.expression, "ESCAPE takes one character", "as in LIKE '10!%' ESCAPE '!'"
        )
    found = handler(node.this, scope, mark)
    return _negated(found, node) if node.this.args.get("negate") else found


def _is(node: exp.Is, scope: Scope) -> Predicate:
    """IS NULL, and IS TRUE or IS FALSE, which are never unknown."""
    operand = scalar(node.this, scope)
    null = Predicate(node, operand.atoms, {"op": "is_null", "operand": operand.json()})
    if isinstance(node.expression, exp.Null):
        return null
    if not isinstance(node.expression, exp.Boolean):
        scope.text.refuse(node, "IS takes NULL, TRUE or FALSE", "write = to compare")
    left, right = alike(operand, scalar(node.expression, scope), scope)
    same = _comparison("eq", node, left, right)
    return _joined("and", node, [_negated(null, node), same])


def alike(left: Scalar, right: Scalar, scope: Scope) -> tuple[Scalar, Scalar]:
    """Both sides of a comparison in one kind; raises TypeMismatchError if they have none."""
    left, right = _as(left, right.kind, scope), _as(right, left.kind, scope)
    kinds = {left.kind, right.kind}
    if len(kinds) > 1 and "null" not in kinds and kinds != {"date", "timestamp"}:
        scope.text.fail(
            right.node,
            f"a {left.kind} is not compared with a {right.kind}",
            "give both the same type",
            TypeMismatchError,
        )
    if "interval" in kinds:
        scope.text.refuse(left.node, "intervals are only added to a date or a timestamp")
    return left, right


def _as(side: Scalar, kind: Kind, scope: Scope) -> Scalar:
    """A constant text in the kind of what it is compared with."""
    reader = _READERS.get(kind)
    if reader is None or not isinstance(side.constant, str):
        return side
    try:
        return constant(side.node, reader(side.constant))
    except ValueError as problem:
        scope.text.fail(side.node, str(problem), "", QueryError)


def _bool(text: str) -> bool:
    known = {"true": True, "t": True, "false": False, "f": False}
    if text.lower() not in known:
        raise ValueError(f"{text!r} is not a Boolean; write TRUE or FALSE")
    return known[text.lower()]


_READERS: dict[Kind, Callable[[str], literals.Constant]] = {
    "number": literals.number,
    "date": literals.day,
    "timestamp": literals.moment,
    "timestamptz": literals.instant,
    "bool": _bool,
}

_LIKES: dict[type[exp.Expr], Callable[..., Predicate]] = {
    exp.Like: _like(insensitive=False),
    exp.ILike: _like(insensitive=True),
}

HANDLERS: dict[type[exp.Expr], Callable[[Any, Scope], Predicate]] = {
    exp.Paren: _paren,
    exp.Not: _not,
    exp.And: _connective("and"),
    exp.Or: _connective("or"),
    exp.EQ: _compare("eq"),
    exp.NEQ: _compare("ne"),
    exp.LT: _compare("lt"),
    exp.LTE: _compare("le"),
    exp.GT: _compare("gt"),
    exp.GTE: _compare("ge"),
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Escape: _escape,
    **_LIKES,
}
