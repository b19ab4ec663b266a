"""Values that are too frequent for one share, and their treatment.

A value is heavy if its rows are more than half of the fair rows of a share. If results are added up
anyway, or could be, the rows of the relation that has most of them are spread over all shares, and
those of the others with these values are copied to all. A group whose rows must be together, for it
is compared or its view cannot be added up, stays whole, and the plan reports it.

Invariant: two rows that join still meet in exactly one cell (see `grid`). Cost: a sample of the
columns that route large tables, one job each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ringview.spark.cell_query import Dimension, is_whole
from ringview.spark.route import Asked, Route
from ringview.spark.variables import Variables

Heavy = Mapping[tuple[str, str], Mapping[object, float]]
"""About how many rows of a table have a value in a column, for frequent values."""


def is_heavy(rows: float, size: float, share: int) -> bool:
    """Whether so many rows with one value are too many for one of so many shares."""
    return rows > size / (2 * share)


def split_heavy(asked: Asked, route: Route, heavy: Heavy) -> Route:
    """The route with the heavy values of each dimension split, where that can be."""
    variables = Variables(asked.query, asked.catalog.kind)
    dimensions: list[Dimension] = []
    kept: list[str] = []
    for dimension in route.dimensions:
        found = _heavy(asked, dimension, heavy)
        if not found:
            dimensions.append(dimension)
        elif (why := _together(asked, dimension)) is not None:
            kept.append(f"heavy values of {dimension.variables[0].name} not split: {why}")
            dimensions.append(dimension)
        else:
            values = {value for _, rows in found for value in rows}
            most, _ = max(found, key=lambda one: sum(one[1].values()))
            # As texts: in any order that does not change.
            made = replace(dimension, heavy=tuple(sorted(values, key=repr)), spread=most)
            dimensions.append(made)
    whole = is_whole(asked.query, variables, dimensions)
    return replace(route, dimensions=tuple(dimensions), whole=whole, kept=tuple(kept))


def _heavy(
    asked: Asked, dimension: Dimension, heavy: Heavy
) -> list[tuple[int, dict[object, float]]]:
    """The atoms that have heavy values, and how many rows."""
    if len(dimension.variables) != 1 or dimension.share == 1:
        return []
    found = []
    for atom, column in dimension.variables[0].columns:
        table = asked.query["atoms"][atom]["table"]
        rows = {
            value: number
            for value, number in heavy.get((table, column), {}).items()
            if is_heavy(number, asked.size(table), dimension.share)
        }
        if rows:
            found.append((atom, rows))
    return found


def _together(asked: Asked, dimension: Dimension) -> str | None:
    """Why rows with one value must be in one cell, if they must."""
    bag = "bag" in asked.query and not asked.query["bag"].get("distinct")
    if "condition" in asked.query:
        return "they are compared"
    if not asked.splits and not bag:
        return "groups must be whole"
    (variable,) = dimension.variables
    atoms = asked.query["atoms"]
    if any(atoms[atom]["table"] not in asked.catalog.tables for atom in variable.atoms):
        return "a subquery groups by it"
    return None
