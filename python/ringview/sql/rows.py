"""SELECT of plain columns: the rows of the join itself, or with DISTINCT each of them once.

Invariant: without DISTINCT the result is the bag that SQL means: a row is there once for each way
to join it; with DISTINCT, once. `*` shows a column that NATURAL JOIN or USING merged once. Cost:
O(outputs * columns in scope).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from sqlglot import exp

from .names import Column, Scope
from .scalars import AGGREGATES, Json, Scalar, refuse, scalar


def is_plain(tree: exp.Select) -> bool:
    """Whether a SELECT has no aggregates and no groups."""
    if tree.args.get("group") is not None or tree.args.get("having") is not None:
        return False

    def is_apart(node: exp.Expr) -> bool:
        return isinstance(node, exp.Subquery)

    nodes = (node for output in tree.expressions for node in output.walk(prune=is_apart))
    return not any(isinstance(node, (*AGGREGATES, exp.AggFunc, exp.Anonymous)) for node in nodes)


def rows(tree: exp.Select, scope: Scope) -> Json:
    """The `group_by`, `outputs` and `bag` of a plain SELECT."""
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        scope.text.refuse(
            distinct, "DISTINCT ON is not supported", "keep the rows and choose from them"
        )
    outputs: list[Json] = []
    group: list[Column] = []
    names: set[str] = set()
    for node, name, column in _columns(tree, scope):
        if name in names:
            scope.text.fail(
                node,
                f"two columns are called {name!r}",
                "give one another name: AS; or join with USING, which shows it once",
            )
        names.add(name)
        outputs.append({"kind": "group", "name": name, "column": column.json()})
        if column not in group:
            group.append(column)
    return {
        "group_by": [column.json() for column in group],
        "outputs": outputs,
        "bag": {"representation": None, "distinct": distinct is not None},
    }


def one(tree: exp.Select, scope: Scope) -> Scalar:
    """The one column that a plain SELECT shows."""
    shown = tree.expressions
    if len(shown) == 1 and not isinstance(shown[0].unalias().unnest(), (exp.Star, exp.Column)):
        return scalar(shown[0].unalias(), scope)
    columns = list(_columns(tree, scope))
    if len(columns) != 1:
        scope.text.fail(tree, f"IN takes a subquery of one column, this has {len(columns)}")
    node, _, column = columns[0]
    body = {"op": "column", **column.json()}
    return Scalar(node, column.kind, frozenset([column.atom]), body, column=column)


def _columns(tree: exp.Select, scope: Scope) -> Iterator[tuple[exp.Expr, str, Column]]:
    """Each output with its name; a star is all that it stands for."""
    for node in tree.expressions:
        body = node.unalias().unnest()
        star = body.this if isinstance(body, exp.Column) else body
        if isinstance(star, exp.Star):
            if any(star.args.values()):
                scope.text.refuse(
                    body, "* with EXCLUDE or REPLACE is not supported", "name columns"
                )
            for column in _starred(body, scope):
                yield body, column.name, scope.value(body, column)
        elif isinstance(body, exp.Column):
            column = scope.column(body)
            yield node, node.alias if isinstance(node, exp.Alias) else column.name, column
        else:
            _refuse(body, scope)


def _starred(body: exp.Expr, scope: Scope) -> tuple[Column, ...]:
    qualifier = body.args.get("table") if isinstance(body, exp.Column) else None
    return scope.visible if qualifier is None else scope.source(qualifier).columns


def _refuse(body: exp.Expr, scope: Scope) -> NoReturn:
    if not body.find(exp.Column):
        scope.text.refuse(body, "a constant is not an output of a view", "leave it out")
    of_others = body.find(exp.Window, exp.Subquery, exp.Select)
    if of_others is not None:
        # What one row shows depends on others.
        refuse(of_others, scope.text)
    scope.text.refuse(
        body,
        "an expression over the columns of a row is not supported without an aggregate",
        "select its columns and compute it from what you read, or compute it into a column "
        "before the rows are inserted",
    )
