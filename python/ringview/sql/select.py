"""SELECT and GROUP BY: the outputs of a view.

Invariant: an output is a column of GROUP BY or one aggregate; everything else is refused with its
place. An aggregate without AS is named by its own text, as `sum(b.price * b.volume)`.
Cost: O(nodes + outputs * group columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import exp

from ..errors import QueryError, TypeMismatchError
from . import cofactor
from .joins import Joins
from .names import Column, Scope, find
from .place import DIALECT
from .scalars import Json, Scalar, only_read, refuse, scalar

_CLAUSES = {
    "order": ("ORDER BY is not kept in a view", "sort what you read: view.to_arrow().sort_by(..)"),
    "limit": ("LIMIT is not kept in a view", "cut what you read: view.to_arrow().slice(0, n)"),
    "offset": ("OFFSET is not kept in a view", "cut what you read"),
    "having": ("HAVING is not supported", "filter the groups that you read"),
    "distinct": ("DISTINCT is not supported", "write GROUP BY with the same columns"),
    "with_": ("WITH is not supported", "write the tables in FROM"),
    "qualify": ("QUALIFY is not supported", "filter what you read"),
    "windows": ("window functions cannot be maintained", "group by the partition's columns"),
}
_KNOWN = {"expressions", "from_", "from", "joins", "where", "group"}


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT under translation: its tree, what it may name and how its tables are joined."""

    tree: exp.Select
    scope: Scope
    joins: Joins

    def json(self) -> Json:
        """The `group_by` and `outputs` of the logical query."""
        group = list(self._group())
        names: set[str] = set()
        outputs = []
        for node in self.tree.expressions:
            body = self._output(node, group)
            if body["name"] in names:
                self.scope.text.fail(
                    node, f"two outputs are called {body['name']!r}", "give one another name: AS"
                )
            names.add(body["name"])
            outputs.append(body)
        return {"group_by": [column.json() for column in group], "outputs": outputs}

    def _group(self) -> Iterator[Column]:
        """The columns of GROUP BY, each join class once."""
        group = self.tree.args.get("group")
        if group is None:
            return
        for key, value in group.args.items():
            if value and key != "expressions":
                self.scope.text.refuse(
                    group, f"GROUP BY {key.upper()} is not supported", "name the columns"
                )
        seen: set[Column] = set()
        for node in group.expressions:
            column = self._group_column(node)
            if column not in seen:
                seen |= self.joins.classes(column)
                yield column

    def _group_column(self, node: exp.Expr) -> Column:
        """A column by its name, by an alias of SELECT or by its place there."""
        meant = node.unnest()
        if isinstance(meant, exp.Literal) and not meant.is_string:
            meant = self._ordinal(meant)
        elif isinstance(meant, exp.Column) and not meant.table and not self._is_input(meant):
            meant = self._aliased(meant)
        if isinstance(meant, (exp.Count, exp.Sum, exp.Avg)):
            self.scope.text.fail(node, "GROUP BY takes no aggregate", "group by columns")
        if not isinstance(meant, exp.Column):
            self.scope.text.refuse(
                node,
                "GROUP BY takes columns only",
                "compute the expression into a column before the rows are inserted",
            )
        return self.scope.column(meant)

    def _is_input(self, node: exp.Column) -> bool:
        return find(node.this, (column.name for column in self.scope.visible)) is not None

    def _ordinal(self, node: exp.Literal) -> exp.Expr:
        outputs = self.tree.expressions
        place = str(node.this)
        if not place.isdigit() or not 1 <= int(place) <= len(outputs):
            self.scope.text.fail(
                node, f"no output number {place}", f"SELECT has {len(outputs)} of them"
            )
        chosen: exp.Expr = outputs[int(place) - 1].unalias()
        return chosen.unnest()

    def _aliased(self, node: exp.Column) -> exp.Expr:
        aliases = {o.alias: o.this for o in self.tree.expressions if isinstance(o, exp.Alias)}
        name = find(node.this, aliases)
        chosen: exp.Expr = node if name is None else aliases[name].unnest()
        return chosen

    def _output(self, node: exp.Expr, group: list[Column]) -> Json:
        body = node.unalias().unnest()
        handler = HANDLERS.get(type(body))
        if handler is not None:
            only_read(body, self.scope.text)
            return {"name": _name(node), **handler(body, self.scope)}
        if isinstance(body, exp.Column) and not isinstance(body.this, exp.Star):
            return self._group_output(node, body, group)
        self._refuse_output(body)

    def _group_output(self, node: exp.Expr, body: exp.Column, group: list[Column]) -> Json:
        column = self.scope.column(body)
        equal = self.joins.classes(column)
        chosen = next((c for c in group if c in equal), None)
        if chosen is None:
            self.scope.text.fail(
                body,
                f"column {body.name!r} is neither in GROUP BY nor in an aggregate",
                "add it to GROUP BY, or write SUM, COUNT or AVG of it",
                QueryError,
            )
        name = node.alias if isinstance(node, exp.Alias) else column.name
        return {"kind": "group", "name": name, "column": chosen.json()}

    def _refuse_output(self, body: exp.Expr) -> NoReturn:
        text = self.scope.text
        if isinstance(body, (exp.Star, exp.Column)):
            text.refuse(
                body, "a join without aggregates is not supported yet", "write GROUP BY and SUM"
            )
        arithmetic = isinstance(body, (exp.Binary, exp.Unary, exp.Func))
        if arithmetic and not isinstance(body, exp.AggFunc) and body.find(*HANDLERS):
            text.refuse(
                body,
                "an expression over aggregates is not kept in a view",
                "make each aggregate an output and combine what you read",
            )
        if not body.find(exp.Column, exp.Func, exp.Star, exp.Subquery):
            text.refuse(body, "a constant is not an output of a view", "leave it out")
        refuse(body, text)


def check_clauses(tree: exp.Select, refuse_at: Callable[..., Any]) -> None:
    """Refuse each clause of a SELECT that a view cannot keep."""
    for key, value in tree.args.items():
        if not value or key in _KNOWN:
            continue
        what, instead = _CLAUSES.get(key, (f"{key.upper()} is not supported", "leave it out"))
        node = value[0] if isinstance(value, list) else value
        refuse_at(node if isinstance(node, exp.Expr) else tree, what, instead)


def _count(node: exp.Count, scope: Scope) -> Json:
    argument = node.this
    if node.expressions or argument is None:
        scope.text.refuse(node, "COUNT takes one argument", "write COUNT(*) or COUNT(column)")
    if isinstance(argument, exp.Star):
        return _aggregate("count", None)
    counted = scalar(argument, scope)
    if counted.is_constant and counted.constant is not None:
        return _aggregate("count", None)
    return _aggregate("count", counted)


def _sum(function: str) -> Callable[[Any, Scope], Json]:
    """The handler of SUM or AVG: of numbers only."""

    def handler(node: exp.Sum | exp.Avg, scope: Scope) -> Json:
        argument = scalar(node.this, scope)
        if argument.kind != "number":
            scope.text.fail(
                node,
                f"{function.upper()} needs numbers, this is a {argument.kind}",
                "COUNT it, or group by it",
                TypeMismatchError,
            )
        return _aggregate(function, argument)

    return handler


def _aggregate(function: str, argument: Scalar | None) -> Json:
    body = None if argument is None else argument.json()
    return {"kind": "aggregate", "function": function, "argument": body}


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return node.alias
    return node.sql(dialect=DIALECT, normalize_functions="lower", comments=False)


HANDLERS: dict[type[exp.Expr], Callable[[Any, Scope], Json]] = {
    exp.Count: _count,
    exp.Sum: _sum("sum"),
    exp.Avg: _sum("avg"),
    exp.Anonymous: cofactor.function,
}
