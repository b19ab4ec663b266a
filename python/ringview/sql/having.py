"""HAVING with subqueries: the groups become a block, and the condition chooses among its rows.

`SELECT a, SUM(x) AS s FROM r GROUP BY a HAVING SUM(x) > (SELECT ..)` is `SELECT a, s FROM (SELECT
a, SUM(x) AS s FROM r GROUP BY a) AS groups WHERE s > (SELECT ..)`. Invariant: the block shows what
SELECT shows, the columns of GROUP BY, and the aggregates that the condition compares, each once; so
a row of it is a group, the result has one row for each that is chosen, and the columns of GROUP BY
find it. Cost: O(nodes *
outputs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from ..arrow import Kind
from . import grouped
from .grouped import Grouped
from .names import Column
from .predicates import conjuncts, predicate
from .scalars import Json, Scalar, scalar
from .within import Chosen, divides, reaches

# What the block of the groups is called, in explanations too.
_GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class OfGroups(Chosen):
    """What HAVING may name and compare, as columns of the block of the groups."""

    groups: Grouped = field(kw_only=True)
    outputs: list[Json] = field(kw_only=True)

    def handler(self, kind: type[exp.Expr]) -> Callable[[Any, Any], Any] | None:
        """What translates a node of this kind here and nowhere else."""
        if kind is exp.Column:
            return _column
        if kind in grouped.HANDLERS and kind is not exp.Div:
            return _measured
        return Chosen.handler(self, kind)

    def knows(self, node: exp.Column) -> bool:
        """Whether a name means something here, an output of SELECT too."""
        return self.groups.knows(node) or self.groups.aliased(node) is not None

    def column(self, node: exp.Column) -> Column:
        """The column of the block that a name means."""
        meant = self.groups.aliased(node)
        within = replace(self.groups, aliases={})
        found = scalar(node if meant is None else meant, within)
        return self.shown(found.json(), found.kind)

    def shown(self, measure: Json, kind: Kind, called: str = "") -> Column:
        """The column of the block that has a value of each group, called so if nothing else is."""
        for output in self.outputs:
            if {**as_output("", measure), "name": output["name"]} == output:
                return Column(0, output["name"], kind, output["name"])
        taken = {output["name"] for output in self.outputs}
        number = len(taken) + 1
        while f"{_GROUPS} {number}" in taken:
            number += 1
        name = called if called and called not in taken else f"{_GROUPS} {number}"
        self.outputs.append(as_output(name, measure))
        return Column(0, name, kind, name)


def as_output(name: str, measure: Json) -> Json:
    """A value of a group as an output of the logical query."""
    match measure:
        case {"op": "group", "column": column}:
            return {"kind": "group", "name": name, "column": column}
        case {"op": "aggregate", "function": function, "arguments": [] | [_] as arguments}:
            argument = arguments[0] if arguments else None
            return {"kind": "aggregate", "name": name, "function": function, "argument": argument}
        case value:
            return {"kind": "expression", "name": name, "value": value}


def is_nested(having: exp.Expr) -> bool:
    """Whether a condition has a subquery, O(nodes)."""
    return having.find(exp.Select) is not None


def chosen(having: exp.Expr, groups: Grouped, query: Json) -> Json:
    """The query of the groups of `query` that meet the condition."""
    reads = groups.joins.reads
    shown = [output["name"] for output in query["outputs"]]
    for output in query["outputs"]:
        if output["kind"] == "cofactor":
            groups.text.refuse(
                having,
                "COFACTOR beside HAVING with a subquery is not supported",
                "make a view of each",
            )
    scope = OfGroups(
        groups.text, reads=reads, groups=groups, outputs=[dict(each) for each in query["outputs"]]
    )
    keys = [
        scope.shown({"op": "group", "column": column.json()}, column.kind, column.stored)
        for column in groups.group
    ]
    filters: list[Json] = []
    conditions: list[Json] = []
    for part in conjuncts(having):
        body = predicate(part, scope).body
        (conditions if reaches(body) or divides(body) else filters).append(body)
    block = reads.blocks.add(_GROUPS, {**query, "outputs": scope.outputs, "order": None})
    names = list(dict.fromkeys([*shown, *(key.name for key in keys)]))
    return {
        "atoms": [{"table": block.name, "alias": _GROUPS, "filter": _all(filters)}],
        "joins": [],
        "condition": _all(conditions),
        "group_by": [{"atom": 0, "column": name} for name in names],
        "outputs": [
            {"kind": "group", "name": name, "column": {"atom": 0, "column": name}} for name in shown
        ],
        "is_chosen": True,
    }


def _all(conditions: list[Json]) -> Json | None:
    if len(conditions) > 1:
        return {"op": "and", "operands": conditions}
    return conditions[0] if conditions else None


def _column(node: exp.Column, scope: OfGroups) -> Scalar:
    return _scalar(node, scope.column(node))


def _measured(node: exp.Expr, scope: OfGroups) -> Scalar:
    """An aggregate, or an expression that the groups know whole."""
    found = scalar(node, replace(scope.groups, aliases={}))
    return _scalar(node, scope.shown(found.json(), found.kind))


def _scalar(node: exp.Expr, column: Column) -> Scalar:
    body = {"op": "column", **column.json()}
    return Scalar(node, column.kind, frozenset([0]), body, column=column)
