"""What SELECT and HAVING may say of a group: aggregates, columns of GROUP BY, arithmetic over both.

Invariant: a node type has one handler, here or in `scalars`; an aggregate's argument is read in the
scope of the rows, so an aggregate within an aggregate finds no handler there and is refused.
Cost: O(nodes * group columns).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from ..errors import QueryError, TypeMismatchError
from .cofactor import is_categorical, is_cofactor
from .joins import Joins
from .names import Column, Scope, find
from .predicates import alike
from .scalars import Json, Scalar, refuse, scalar

_AS_NUMBERS = "declare the column as int8, and insert 0 and 1"


@dataclass(frozen=True, slots=True)
class Grouped(Scope):
    """A scope whose rows are groups of those of `rows`; HAVING also knows the names of SELECT."""

    rows: Scope = field(kw_only=True)
    joins: Joins = field(kw_only=True)
    group: tuple[Column, ...] = ()
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)

    def handler(self, kind: type[exp.Expr]) -> Callable[[Any, Any], Any] | None:
        """What translates a node of this kind here and nowhere else."""
        return HANDLERS.get(kind)

    def aliased(self, node: exp.Column) -> exp.Expr | None:
        """The output that a bare name means; columns of the tables come first."""
        if node.table or find(node.this, (column.name for column in self.visible)) is not None:
            return None
        name = find(node.this, self.aliases)
        return None if name is None else self.aliases[name]

    def grouped(self, node: exp.Column) -> Column:
        """The column of GROUP BY that equals the one named."""
        column = self.column(node)
        equal = self.joins.classes(column)
        if not any(chosen in equal for chosen in self.group):
            self.text.fail(
                node,
                f"column {node.name!r} is neither in GROUP BY nor in an aggregate",
                "add it to GROUP BY, or write SUM, COUNT or AVG of it",
                QueryError,
            )
        return next(chosen for chosen in self.group if chosen in equal)


def grouped(
    rows: Scope, joins: Joins, group: list[Column], aliases: Mapping[str, exp.Expr] | None = None
) -> Grouped:
    """The scope of the groups of `rows`."""
    return Grouped(
        rows.text,
        rows.sources,
        rows.visible,
        rows.around,
        rows.outer,
        rows=rows,
        joins=joins,
        group=tuple(group),
        aliases=aliases or {},
    )


def _column(node: exp.Column, scope: Grouped) -> Scalar:
    meant = scope.aliased(node)
    if meant is not None:
        return scalar(meant, replace(scope, aliases={}))
    column = scope.grouped(node)
    return Scalar(node, column.kind, body={"op": "group", "column": column.json()}, column=column)


def _aggregate(node: exp.Expr, kind: Any, function: str, *arguments: Scalar) -> Scalar:
    body = {"function": function, "arguments": [argument.json() for argument in arguments]}
    return Scalar(node, kind, body={"op": "aggregate", **body})


def _count(node: exp.Count, scope: Grouped) -> Scalar:
    argument = node.this
    if node.expressions or argument is None:
        scope.text.refuse(node, "COUNT takes one argument", "write COUNT(*) or COUNT(column)")
    if isinstance(argument, exp.Star):
        return _aggregate(node, "number", "count")
    if isinstance(argument, exp.Distinct):
        return _aggregate(node, "number", "count_distinct", _values(node, "COUNT(DISTINCT)", scope))
    counted = scalar(argument, scope.rows)
    if counted.is_constant and counted.constant is not None:
        return _aggregate(node, "number", "count")
    return _aggregate(node, "number", "count", counted)


def _extreme(function: str) -> Callable[[Any, Grouped], Scalar]:
    """The handler of MIN or MAX, for which DISTINCT changes nothing."""

    def handler(node: exp.Min | exp.Max, scope: Grouped) -> Scalar:
        argument = _values(node, function.upper(), scope)
        return _aggregate(node, argument.kind, function, argument)

    return handler


def _values(node: exp.Expr, what: str, scope: Grouped) -> Scalar:
    """The column, with or without DISTINCT, whose values an aggregate is about."""
    argument = node.this
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1 or argument.args.get("on"):
            scope.text.refuse(argument, "DISTINCT takes one column here", "name one")
        argument = argument.expressions[0]
    found = scalar(argument, scope.rows)
    if found.column is None:
        scope.text.refuse(
            argument,
            f"{what} takes a column",
            "compute the expression into a column before the rows are inserted",
        )
    return found


def _numbers(function: str, name: str, arity: int = 1) -> Callable[[Any, Grouped], Scalar]:
    """The handler of an aggregate of numbers only, that SQL calls `name`."""

    def handler(node: exp.Expr, scope: Grouped) -> Scalar:
        parts = [node.this, node.args.get("expression")][:arity]
        if isinstance(node, exp.Anonymous):
            parts = node.expressions
        if len(parts) != arity or None in parts:
            many = "one argument" if arity == 1 else "two arguments, y and x"
            scope.text.fail(node, f"{name} takes {many}")
        arguments = [scalar(part, scope.rows) for part in parts]
        for argument in arguments:
            if argument.kind != "number":
                scope.text.fail(
                    node,
                    f"{name} needs numbers, this is a {argument.kind}",
                    _AS_NUMBERS if argument.kind == "bool" else "",
                    TypeMismatchError,
                )
        return _aggregate(node, "number", function, *arguments)

    return handler


def _anonymous(node: exp.Anonymous, scope: Grouped) -> Scalar:
    """VAR, a name of VAR_SAMP that the parser does not know."""
    if is_cofactor(node):
        scope.text.refuse(
            node,
            "COFACTOR is an output of its own",
            "read it with view.cofactor(), and compute from that",
        )
    if is_categorical(node):
        scope.text.refuse(
            node, "CATEGORICAL stands in COFACTOR", "write COFACTOR(x, CATEGORICAL(c))"
        )
    if node.name.upper() != "VAR":
        refuse(node, scope.text, of_groups=True)
    return _numbers("var_samp", "VAR")(node, scope)


def _divide(node: exp.Div, scope: Grouped) -> Scalar:
    """`/` is a double, whatever is divided."""
    sides = [scalar(side, scope) for side in (node.left, node.right)]
    for side in sides:
        if side.kind not in ("number", "null"):
            scope.text.fail(
                side.node, f"'/' needs numbers, this is a {side.kind}", "", TypeMismatchError
            )
    left, right = (side.json() for side in sides)
    return Scalar(node, "number", body={"op": "divide", "left": left, "right": right})


def _coalesce(node: exp.Coalesce, scope: Grouped) -> Scalar:
    operands = [scalar(part, scope) for part in (node.this, *node.expressions)]
    known = [operand for operand in operands if operand.kind != "null"]
    typed = next((operand for operand in known if not operand.is_constant), None)
    first = typed or next(iter(known), operands[0])
    bodies = [alike(first, operand, scope)[1].json() for operand in operands]
    return Scalar(node, first.kind, body={"op": "coalesce", "operands": bodies})


def _nullif(node: exp.Nullif, scope: Grouped) -> Scalar:
    left, right = alike(scalar(node.this, scope), scalar(node.expression, scope), scope)
    body: Json = {"op": "null_if", "left": left.json(), "right": right.json()}
    return Scalar(node, left.kind, body=body)


HANDLERS: dict[type[exp.Expr], Callable[[Any, Grouped], Scalar]] = {
    exp.Column: _column,
    exp.Count: _count,
    exp.Sum: _numbers("sum", "SUM"),
    exp.Avg: _numbers("avg", "AVG"),
    exp.Min: _extreme("min"),
    exp.Max: _extreme("max"),
    exp.VariancePop: _numbers("var_pop", "VAR_POP"),
    exp.Variance: _numbers("var_samp", "VAR_SAMP"),
    exp.StddevPop: _numbers("stddev_pop", "STDDEV_POP"),
    exp.Stddev: _numbers("stddev_samp", "STDDEV"),
    exp.StddevSamp: _numbers("stddev_samp", "STDDEV_SAMP"),
    exp.CovarPop: _numbers("covar_pop", "COVAR_POP", 2),
    exp.CovarSamp: _numbers("covar_samp", "COVAR_SAMP", 2),
    exp.Corr: _numbers("corr", "CORR", 2),
    exp.RegrSlope: _numbers("regr_slope", "REGR_SLOPE", 2),
    exp.RegrIntercept: _numbers("regr_intercept", "REGR_INTERCEPT", 2),
    exp.RegrR2: _numbers("regr_r2", "REGR_R2", 2),
    exp.RegrCount: _numbers("regr_count", "REGR_COUNT", 2),
    exp.Anonymous: _anonymous,
    exp.Div: _divide,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
}
