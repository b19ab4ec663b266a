"""SELECT, GROUP BY and HAVING: the outputs of a view.

Invariant: an output is a column of GROUP BY, an aggregate or an expression over those; everything
else is refused with its place. What has no AS is named by its own text: `sum(b.price * b.volume)`.
Cost: O(nodes + outputs * group columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import exp

from ..arrow import Kind
from . import cofactor
from .grouped import Grouped, grouped
from .having import as_output, chosen, is_nested
from .joins import Joins
from .names import Column, Scope, find
from .place import DIALECT
from .predicates import predicate
from .rows import is_plain, rows
from .scalars import AGGREGATES, FROM_ROWS, READ_APART, Json, Scalar, refuse, scalar

_CLAUSES = {
    "order": (
        "ORDER BY is not kept in a view",
        "select what it sorts by, and sort what you read: view.to_arrow().sort_by(..)",
    ),
    "limit": ("LIMIT is not kept in a view", "cut what you read: view.to_arrow().slice(0, n)"),
    "offset": ("OFFSET is not kept in a view", "cut what you read"),
    "qualify": ("QUALIFY is not supported", "keep the rows and filter what you read"),
    "windows": ("window functions cannot be maintained", FROM_ROWS),
}
# Of a subquery nothing is read but what goes into the query around it.
_INNER = {
    "limit": ("LIMIT is not kept in a subquery", READ_APART),
    "offset": ("OFFSET is not kept in a subquery", READ_APART),
    "order": (
        "ORDER BY is not kept in a subquery",
        "leave it out: what reads a subquery takes its rows in any order",
    ),
}
# What to do instead. `tests/python/test_advice.py` does it and compares.
ONE_VALUE = (
    "such a subquery knows SUM, COUNT, AVG, MIN, MAX and arithmetic over them: read one in its "
    "FROM that has the rest, as in (SELECT MAX(q.x) FROM (SELECT ..) AS q)"
)
_KNOWN = {"expressions", "from_", "from", "joins", "where", "group", "having", "distinct", "with_"}


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT under translation: its tree, what it may name and how its tables are joined."""

    tree: exp.Select
    scope: Scope
    joins: Joins

    def json(self) -> Json:
        """The `group_by`, `outputs` and, if there is one, `having` of the logical query.

        Where HAVING has a subquery, all of the query that chooses among the groups.
        """
        if is_plain(self.tree):
            return rows(self.tree, self.scope)
        distinct = self.tree.args.get("distinct")
        if distinct is not None:
            self.scope.text.refuse(
                distinct,
                "DISTINCT beside aggregates or GROUP BY is not supported",
                "put it around: SELECT DISTINCT .. FROM (SELECT ..) AS q",
            )
        for output in self.tree.expressions:
            window = output.find(exp.Window)
            if window is not None:
                refuse(window, self.scope.text)
        group = list(self._group())
        scope = grouped(self.scope, self.joins, group)
        names: set[str] = set()
        outputs = []
        for node in self.tree.expressions:
            body = self._output(node, scope)
            if body["name"] in names:
                self.scope.text.fail(
                    node, f"two outputs are called {body['name']!r}", "give one another name: AS"
                )
            names.add(body["name"])
            outputs.append(body)
        found: Json = {"group_by": [column.json() for column in group], "outputs": outputs}
        having = self.tree.args.get("having")
        if having is not None:
            aliases = {o.alias: o.this for o in self.tree.expressions if isinstance(o, exp.Alias)}
            scope = grouped(self.scope, self.joins, group, aliases)
            if is_nested(having.this):
                return chosen(having.this, scope, {**self.joins.json(), **found})
            found["having"] = predicate(having.this, scope).body
        return found

    def value(self) -> tuple[Json, Kind]:
        """The output of a SELECT that is one value, and its kind."""
        text = self.scope.text
        for key, value in (("distinct", "DISTINCT"), ("group", "GROUP BY"), ("having", "HAVING")):
            clause = self.tree.args.get(key)
            if clause is not None:
                what = f"{value} in a subquery that is compared is not supported"
                text.refuse(clause, what, ONE_VALUE)
        outputs = self.tree.expressions
        if len(outputs) != 1:
            text.fail(self.tree, f"a subquery that is compared has one column, not {len(outputs)}")
        body = outputs[0].unalias()
        if is_plain(self.tree):
            what = "a subquery that is compared is one value, and this may have several rows"
            text.refuse(body, what, "aggregate it: MIN or MAX of the column")
        scope = grouped(self.scope, self.joins, [])
        found = scalar(body, scope)
        self._check_value(body, found)
        return self._output(outputs[0], scope), found.kind

    def _check_value(self, body: exp.Expr, found: Scalar) -> None:
        """Refuse what the engine does not know in subqueries."""
        text = self.scope.text
        for node in body.find_all(exp.Func):
            if isinstance(node, exp.Cast):
                continue
            if not isinstance(node, (exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max)) or (
                isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct)
            ):
                what = (
                    f"{node.sql(dialect=DIALECT)!r} is not supported in a subquery that is compared"
                )
                text.refuse(node, what, ONE_VALUE)
        if found.kind == "text":
            text.refuse(body, "a string of a subquery is not compared", "compare numbers or dates")

    def _group(self) -> Iterator[Column]:
        """The columns of GROUP BY, each join class once."""
        group = self.tree.args.get("group")
        if group is None:
            return
        for key, value in group.args.items():
            if value and key != "expressions":
                instead = "name the columns" if key == "all" else "make a view of each grouping"
                self.scope.text.refuse(group, f"GROUP BY {key.upper()} is not supported", instead)
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
        if meant.find(*AGGREGATES):
            self.scope.text.fail(node, "GROUP BY takes no aggregate", "group by columns")
        if isinstance(meant, (exp.Rollup, exp.Cube, exp.GroupingSets)):
            what = f"GROUP BY {meant.key.upper()} is not supported"
            self.scope.text.refuse(node, what, "make a view of each grouping")
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

    def _output(self, node: exp.Expr, scope: Grouped) -> Json:
        body = node.unalias().unnest()
        if isinstance(body.this if isinstance(body, exp.Column) else body, exp.Star):
            self._refuse_output(body)
        if cofactor.is_cofactor(body):
            known = frozenset().union(*(self.joins.classes(column) for column in scope.group))
            return {"name": _name(node), **cofactor.function(body, self.scope, known)}
        found = scalar(body, scope)
        if found.is_constant:
            self._refuse_output(body)
        name = _name(node)
        if isinstance(body, exp.Column) and not isinstance(node, exp.Alias):
            name = self.scope.column(body).name
        return as_output(name, found.json())

    def _refuse_output(self, body: exp.Expr) -> NoReturn:
        text = self.scope.text
        if isinstance(body, (exp.Star, exp.Column)):
            text.refuse(
                body, "* beside aggregates is not supported", "name the columns of GROUP BY"
            )
        text.refuse(body, "a constant is not an output of a view", "leave it out")


def check_clauses(tree: exp.Select, refuse_at: Callable[..., Any], inner: bool) -> None:
    """Refuse each clause of a SELECT that a view, or a query within one, cannot keep."""
    clauses = _INNER | _CLAUSES | _INNER if inner else _CLAUSES
    # In the order of the table: what LIMIT cuts was sorted before; a subquery is not sorted at all.
    for key in dict.fromkeys([*clauses, *tree.args]):
        value = tree.args.get(key)
        if not value or key in _KNOWN:
            continue
        what, instead = clauses.get(key, (f"{key.upper()} is not supported", ""))
        node = value[0] if isinstance(value, list) else value
        refuse_at(node if isinstance(node, exp.Expr) else tree, what, instead)


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return node.alias
    return node.sql(dialect=DIALECT, normalize_functions="lower", comments=False)
