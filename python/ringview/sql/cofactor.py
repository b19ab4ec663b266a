"""COFACTOR(x, CATEGORICAL(c), ..) and COFACTOR(*): the features of one degree-m payload.

Invariant: a feature is a column, each once: numbers as they are, texts and what CATEGORICAL names
as categories. `*` means every column of numbers or texts in scope, by the names that FROM shows, a
column merged by NATURAL JOIN or USING once; texts of GROUP BY, one category a group, are left out.
Cost: O(columns).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from sqlglot import exp

from ..errors import InvalidValueError, QueryError, TypeMismatchError
from .names import Column, Scope
from .place import Text
from .scalars import Json, only_read


def is_cofactor(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Whether `node` calls COFACTOR."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "COFACTOR"


def is_categorical(node: exp.Expr) -> TypeGuard[exp.Anonymous]:
    """Whether `node` calls CATEGORICAL."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "CATEGORICAL"


def function(node: exp.Anonymous, scope: Scope, group: frozenset[Column]) -> Json:
    """The output of a call of COFACTOR; `group` are the columns equal to those of GROUP BY."""
    only_read(node, scope.text)
    if not node.expressions:
        scope.text.fail(node, "COFACTOR needs a feature", "name columns, or write *")
    # What is named CATEGORICAL anywhere is a category also where * or its name says number.
    named = [_category(part, scope) for part in node.expressions if is_categorical(part)]
    features = list(dict.fromkeys(_features(node, scope, group)))
    if not features:
        scope.text.fail(node, "no column of numbers or texts is in scope", "name the features")
    categories = [c for c in features if c.kind == "text" or c in named]
    return {
        "kind": "cofactor",
        "columns": [column.json() for column in features if column not in categories],
        "categorical": [column.json() for column in categories],
    }


def treat_nulls(query: Json, nulls: str) -> Json:
    """The query with what its COFACTOR does with rows that have NULL in a feature.

    Raises:
        InvalidValueError: Neither "refuse" nor "skip".
        QueryError: The query has no COFACTOR.
    """
    if nulls not in ("refuse", "skip"):
        raise InvalidValueError(f"nulls={nulls!r}: write 'refuse' or 'skip'")
    outputs = [
        {**output, "nulls": nulls} if output["kind"] == "cofactor" else output
        for output in query["outputs"]
    ]
    if outputs == query["outputs"]:
        raise QueryError(f"nulls={nulls!r} is about the features of COFACTOR, and there is none")
    return {**query, "outputs": outputs}


def _features(node: exp.Anonymous, scope: Scope, group: frozenset[Column]) -> Iterator[Column]:
    for argument in node.expressions:
        if isinstance(argument, exp.Star):
            for column in scope.visible:
                if column.kind == "number" or (column.kind == "text" and column not in group):
                    yield column
        elif isinstance(argument, exp.Column):
            yield _number_or_text(argument, scope.column(argument), scope.text)
        elif is_categorical(argument):
            yield _category(argument, scope)
        else:
            scope.text.refuse(
                argument,
                "a feature is a column",
                "compute the expression into a column before the rows are inserted",
            )


def _category(node: exp.Anonymous, scope: Scope) -> Column:
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Column):
        scope.text.refuse(node, "CATEGORICAL takes one column", "name one")
    return scope.column(node.expressions[0])


def _number_or_text(node: exp.Column, column: Column, text: Text) -> Column:
    if column.kind not in ("number", "text"):
        text.fail(
            node,
            f"COFACTOR needs numbers or categories, {column.name!r} is a {column.kind}",
            f"write CATEGORICAL({column.name}), or encode it as numbers",
            TypeMismatchError,
        )
    return column
