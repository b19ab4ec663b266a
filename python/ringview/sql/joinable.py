"""Subqueries of conditions that are joins with a block: IN, EXISTS, and equality with MIN or MAX.

`x IN (SELECT y FROM s WHERE s.b = r.b AND ..)`, or `= ANY`, that must hold is the join with `SELECT
DISTINCT y, b FROM s WHERE ..` on x = y and r.b = b: a row has at most one partner there, and none
where the condition is not TRUE, NULL or not. `x = (SELECT MIN(y) ..)` joins on the least of each
group; over no rows it is NULL, which equals nothing. Invariant: what is offered means the
same; whoever asked joins only where columns have one type, and all the rest of the subquery is its
own. Cost: O(nodes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from .predicates import conjuncts
from .rows import is_plain
from .within import select_of


@dataclass(frozen=True, slots=True)
class Joinable:
    """A block to join with: its first columns equal those of the query around, in their order."""

    tree: exp.Select
    outer: list[exp.Column]


def joinable(
    node: exp.Expr, known: Callable[[exp.Select], Callable[[exp.Column], bool]]
) -> Joinable | None:
    """What a condition that must hold joins with, if it may be a join.

    `known` tells, for a SELECT, which columns are of its own FROM.
    """
    node = node.unnest()
    within = node.args.get("query")
    if isinstance(node, exp.EQ) and isinstance(node.right, exp.Any):
        within = node.right.this
    if within is not None:
        looked = node.this.unnest()
        tree = select_of(within)
        if tree is None or not isinstance(looked, exp.Column) or len(tree.expressions) != 1:
            return None
        if not is_plain(tree):
            return Joinable(_each_once(tree), [looked])
        return _grouped(tree, [(tree.expressions[0].unalias(), looked)], known)
    if isinstance(node, exp.Exists):
        tree = select_of(node.this)
        return None if tree is None or not is_plain(tree) else _grouped(tree, [], known)
    if isinstance(node, exp.EQ):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            looked, tree = side.unnest(), select_of(other)
            if isinstance(looked, exp.Column) and tree is not None:
                return _extreme(tree, looked, known)
    return None


def _each_once(tree: exp.Select) -> exp.Select:
    """The rows of a SELECT with groups, each once."""
    group = tree.args.get("group")
    if group is not None and group.expressions == [tree.expressions[0].unalias()]:
        return tree
    named = exp.TableAlias(this=exp.to_identifier("groups"))
    of = exp.From(this=exp.Subquery(this=tree.copy(), alias=named))
    return exp.Select(expressions=[exp.Star()], distinct=exp.Distinct(), from_=of)


def _grouped(
    tree: exp.Select,
    pairs: list[tuple[exp.Expr, exp.Column]],
    known: Callable[[exp.Select], Callable[[exp.Column], bool]],
    aggregate: exp.Expr | None = None,
) -> Joinable | None:
    """The columns that equal outer ones, each combination once, and an aggregate of each."""
    if any(tree.args.get(key) for key in ("limit", "offset", "order", "qualify", "having")):
        return None
    own = known(tree)
    rest = []
    where = tree.args.get("where")
    for part in conjuncts(where.this) if where is not None else []:
        pair = _correlation(part, own)
        if pair is not None:
            pairs.append(pair)
        else:
            rest.append(part)
    columns = [inner for inner, _ in pairs]
    if not columns or not all(isinstance(c, exp.Column) and own(c) for c in columns):
        return None
    built = tree.copy()
    for key in ("distinct", "group", "where"):
        built.set(key, None)
    named = [exp.alias_(c.copy(), f"key {at}", quoted=True) for at, c in enumerate(columns)]
    if aggregate is None:
        built.set("distinct", exp.Distinct())
    else:
        named.append(exp.alias_(aggregate.copy(), "value", quoted=True))
        built.set("group", exp.Group(expressions=[column.copy() for column in columns]))
    built.set("expressions", named)
    if rest:
        built.set("where", exp.Where(this=exp.and_(*(part.copy() for part in rest), copy=False)))
    return Joinable(built, [outer for _, outer in pairs])


def _extreme(
    tree: exp.Select,
    looked: exp.Column,
    known: Callable[[exp.Select], Callable[[exp.Column], bool]],
) -> Joinable | None:
    """The join with the least or greatest value, of each group if there are any."""
    shown = [output.unalias() for output in tree.expressions]
    if len(shown) != 1 or not isinstance(shown[0], (exp.Min, exp.Max)):
        return None
    if tree.args.get("group") is not None:
        return None
    found = _grouped(tree, [], known, shown[0])
    if found is not None:
        return Joinable(found.tree, [*found.outer, looked])
    # A value that goes with no group: the subquery stands alone, or what is left refuses it.
    return Joinable(tree.copy(), [looked])


def _correlation(
    part: exp.Expr, own: Callable[[exp.Column], bool]
) -> tuple[exp.Column, exp.Column] | None:
    """A column of the subquery and the outer one that it equals."""
    part = part.unnest()
    if not isinstance(part, exp.EQ):
        return None
    left, right = part.left.unnest(), part.right.unnest()
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    if own(left) and not own(right):
        return left, right
    return (right, left) if own(right) and not own(left) else None
