"""How views are found, in words.

Invariant: what is told is what the stages hold. Cost: O(stages * relations).
"""

from __future__ import annotations

from collections.abc import Collection

from ringview.spark.partition import Relation
from ringview.spark.plans import Plan
from ringview.spark.stage import Stage


def explained(plan: Plan, name: str | None) -> str:
    """How a view is found, or all; a line a stage, where there are several with what it finds.

    Example:
        ``routed by orderkey: o, l; sent along: n; 8 partitions``
    """
    stages = plan.stages if name is None else plan.stages_of(name)
    if len(stages) == len(plan.places) == 1:
        return _stage(stages[0])
    lines = [f"{', '.join(one.name for one in s.wanted)}: {_stage(s)}" for s in stages]
    return "\n".join(lines)


def _stage(stage: Stage) -> str:
    said = []
    if stage.in_place is not None:
        said.append(f"in place: {stage.in_place}")
    elif stage.cells > 1:
        for one in stage.wanted:
            dims = one.route.dimensions
            if one.route.cells == 1:
                said.append(f"{one.name} in one partition")
            elif any(d.scattered is None for d in dims):
                names = ["+".join(v.name for v in d.variables) for d in dims]
                if len(dims) == 1:
                    said.append(f"routed by {names[0]}: {_held(stage, one.name)}")
                else:
                    shares = " x ".join(f"{n} {d.share}" for n, d in zip(names, dims, strict=True))
                    said.append(f"shares {shares}: {_held(stage, one.name)}")
            for d in dims:
                if d.heavy:
                    split = ", ".join(map(repr, d.heavy))
                    said.append(f"heavy values of {d.variables[0].name} split: {split}")
            said += one.route.kept
        scattered = [
            r for r in stage.relations if any(a.scattered and not a.columns for a in r.spread)
        ]
        if scattered:
            said.append(f"anywhere: {_aliases(stage, scattered)}")
    everywhere = [r for r in stage.relations if not any(a.held for a in r.spread)]
    moved = [r for r in everywhere if r.table not in stage.sends]
    if moved and stage.cells > 1:
        said.append(f"broadcast: {_aliases(stage, moved)}")
    if sent := [r for r in everywhere if r.table in stage.sends]:
        said.append(f"sent along: {_aliases(stage, sent)}")
    if len(stage.relations) > 1 or stage.cells == 1:
        said.append(f"{stage.cells} partition{'s' if stage.cells > 1 else ''}")
    return "; ".join(said)


def _held(stage: Stage, view: str) -> str:
    held = [r for r in stage.relations if any(a.columns for a in r.spread)]
    return _aliases(stage, held)


def _aliases(stage: Stage, relations: Collection[Relation]) -> str:
    names = {relation.name for relation in relations}
    return ", ".join(dict.fromkeys(r.alias for r in stage.readings if r.relation in names))
