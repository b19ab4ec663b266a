"""COFACTOR(x, y, ..) and COFACTOR(*): the features of one degree-m payload.

Invariant: a feature is a numeric column, each once. `*` means every numeric column in scope, by the
names that FROM shows, a column merged by NATURAL JOIN or USING once. Cost: O(columns).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from sqlglot import exp

from ..errors import TypeMismatchError
from .names import Column, Scope
from .place import Text
from .scalars import Json, only_read


def is_cofactor(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Whether `node` calls COFACTOR."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "COFACTOR"


def function(node: exp.Anonymous, scope: Scope) -> Json:
    """The output of a call of COFACTOR."""
    only_read(node, scope.text)
    if not node.expressions:
        scope.text.fail(node, "COFACTOR needs a feature", "name numeric columns, or write *")
    features = list(dict.fromkeys(_features(node, scope)))
    if not features:
        scope.text.fail(node, "no numeric column is in scope", "name the features")
    return {"kind": "cofactor", "columns": [column.json() for column in features]}


def _features(node: exp.Anonymous, scope: Scope) -> Iterator[Column]:
    for argument in node.expressions:
        if isinstance(argument, exp.Star):
            yield from (column for column in scope.visible if column.kind == "number")
        elif isinstance(argument, exp.Column):
            yield _numeric(argument, scope.column(argument), scope.text)
        else:
            scope.text.refuse(
                argument,
                "a feature is a column",
                "compute the expression into a column before the rows are inserted",
            )


def _numeric(node: exp.Column, column: Column, text: Text) -> Column:
    if column.kind != "number":
        text.fail(
            node,
            f"COFACTOR needs numbers, {column.name!r} is a {column.kind}",
            "group by it, or encode it as numbers",
            TypeMismatchError,
        )
    return column
