"""Description of the plan of views, in words.

Invariant: the text describes the stages as they are. Cost: O(stages * relations).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ringview.spark.partition import Relation
from ringview.spark.planning import all_of, kind_of
from ringview.spark.plans import Plan
from ringview.spark.route import Route
from ringview.spark.rows import RowStage
from ringview.spark.stage import Stage
from ringview.spark.variables import Query


def explained(plan: Plan, name: str | None) -> str:
    """Plan of a view, or of all: a line each, those that it needs found before it first.

    Example:
        ``routed by orderkey: o, l; sent along: n; 8 partitions``
    """
    stages = plan.stages if name is None else plan.stages_of(name)
    lines = {
        one: _of_rows(stage) if isinstance(stage, RowStage) else _found(stage, number)
        for stage in stages
        for number, one in enumerate(stage.names)
        if name in (None, one) or one not in plan.views
    }
    for view in lines.keys() & {*plan.views}:
        if all(_is_plain(query) for query in _queries(plan, view)):
            lines[view] += "; Spark SQL computes it for less, as it neither joins nor groups"
    if len(lines) == 1:
        return next(iter(lines.values()))
    return "\n".join(f"{view}: {told}" for view, told in lines.items())


def _queries(plan: Plan, view: str) -> Iterator[Query]:
    """The queries of a view and of what is found for it."""
    found = plan.reads(view) | {view}
    for stage in plan.stages_of(view):
        if isinstance(stage, RowStage):
            yield stage.query
        else:
            yield from (one.query for one in stage.wanted if one.name in found)


def _is_plain(query: Query) -> bool:
    """Whether a query reads the rows of one table, for a total or row by row."""
    return all(
        len(one["atoms"]) == 1
        and kind_of(one) in (None, "map")
        and not any(one.get(part) for part in ("condition", "subqueries"))
        and ("bag" in one or not one.get("group_by"))
        for one in all_of(query)
    )


def _of_rows(stage: RowStage) -> str:
    """Plan of a stage of computed rows."""
    tasks = "1 task" if stage.partitions == 1 else f"{stage.partitions} tasks"
    read = ", ".join(stage.inputs)
    if stage.is_map:
        return f"computed where rows lie: {read}"
    if stage.kind == "timed" and not stage.multiplicities:
        return f"chosen by time where rows lie: {read}"
    if stage.is_sorted:
        return f"sorted: {read}"
    if stage.by:
        return f"by {', '.join(stage.by)} in {tasks}: {read}"
    if stage.kind == "timed":
        return f"chosen by time in {tasks}: {read}"
    if stage.first is not None and stage.partitions > 1:
        return f"first {stage.first} of each task, then in 1 task: {read}"
    return f"in 1 task: {read}"


def _found(stage: Stage, number: int) -> str:
    """Plan of one view of a stage."""
    one, read = stage.wanted[number], stage.relations_of(number)
    said = [] if stage.in_place is None else [f"in place: {stage.in_place}"]
    if held := [relation for relation in read if any(a.columns for a in relation.distribution)]:
        said.append(f"{_routed(one.route)}: {_aliases(stage, held)}")
    for dimension in one.route.dimensions:
        if dimension.heavy:
            split = ", ".join(map(repr, dimension.heavy))
            said.append(f"heavy values of {dimension.variables[0].name} split: {split}")
    said += one.route.kept
    anywhere = [r for r in read if any(a.scattered and not a.columns for a in r.distribution)]
    if anywhere and stage.in_place is None and stage.cells > 1:
        said.append(f"anywhere: {_aliases(stage, anywhere)}")
    everywhere = [
        relation for relation in read if not any(a.is_single for a in relation.distribution)
    ]
    moved = [relation for relation in everywhere if relation.table not in stage.sends]
    if moved and one.route.cells > 1:
        said.append(f"broadcast: {_aliases(stage, moved)}")
    if sent := [relation for relation in everywhere if relation.table in stage.sends]:
        said.append(f"sent along: {_aliases(stage, sent)}")
    if len(read) > 1 or one.route.cells == 1:
        said.append(f"{one.route.cells} partition{'s' if one.route.cells > 1 else ''}")
    if others := [other.name for other in stage.wanted if other is not one]:
        said.append(f"in one shuffle with {', '.join(others)}")
    return "; ".join(said)


def _routed(route: Route) -> str:
    names = ["+".join(v.name for v in d.variables) for d in route.dimensions]
    if len(names) == 1:
        return f"routed by {names[0]}"
    shares = [f"{n} {d.share}" for n, d in zip(names, route.dimensions, strict=True)]
    return f"shares {' x '.join(shares)}"


def _aliases(stage: Stage, relations: Collection[Relation]) -> str:
    names = {relation.name for relation in relations}
    return ", ".join(dict.fromkeys(r.alias for r in stage.readings if r.relation in names))
