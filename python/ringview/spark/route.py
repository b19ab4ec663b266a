"""Choice of the variables of the grid, and of the number of their shares.

Every set of up to three dimensions is placed, and for each the integer shares whose product is at
most the number of partitions are searched one by one: exact, and quick for so few dimensions. The
minimised cost is the load of a cell: the rows it gets of every relation. A variable cannot be
spread over more shares than a few of its values fill, so a small relation limits the shares of its
own.

Invariant: at least one relation is not sent everywhere, unless the grid has one cell.
Cost: O(variables^3) placements of O(length of the query), and O(partitions log^2 partitions)
shares for each.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from ringview.spark.cell_query import Catalog, Dimension, Placing, Role, Roles, is_whole
from ringview.spark.variables import Query, Variable, Variables, queries

# With fewer values than this a share, hashing leaves some shares idle.
_VALUES_A_SHARE = 8
# More dimensions than this are worth it only in grids of hundreds of cells.
_DIMENSIONS = 3
# A row that no shuffle moves costs about so much of one that is moved.
_UNMOVED = 0.5
# A part of a group is moved too, and merged.
_A_PART = 2.0
# So many times more, if parts of groups hold the values of their rows.
_VALUES = 4.0
_OF_VALUES = ("min", "max", "count_distinct")


@dataclass(frozen=True)
class Route:
    """The grid of a query, and what it costs.

    ``in_place`` is an atom whose rows stay where they lie, each in one cell, while all else is
    copied to all. ``load`` is how many rows the fullest cell gets, as far as is known; ``kept`` is
    what is said of heavy values that stay together.
    """

    dimensions: tuple[Dimension, ...]
    whole: bool
    load: float
    in_place: int | None = None
    kept: tuple[str, ...] = ()

    @property
    def cells(self) -> int:
        """The number of cells of the grid."""
        return prod(dimension.share for dimension in self.dimensions)


@dataclass(frozen=True)
class Asked:
    """Input of the choice of a route: a query, sizes of its tables, a number of partitions.

    ``splits`` says whether partial results of the query can be added up, so that its groups need
    not be whole. ``movable`` are the tables whose rows may lie anywhere as they are, and ``small``
    those that may be sent along with the plan.
    """

    query: Query
    catalog: Catalog
    rows: Mapping[str, float] | None
    partitions: int
    splits: bool
    movable: Collection[str] = ()
    small: Collection[str] = ()

    def size(self, table: str) -> float:
        """About how many rows a table has; without counts all have the same."""
        return self.rows[table] if self.rows else 1.0


def choose(asked: Asked) -> Route:
    """The route that loads the fullest cell least."""
    variables = Variables(asked.query, asked.catalog.kind)
    candidates = [*_routes(asked, variables), *_in_place(asked)]
    one = Route((), True, _load(asked, variables, ()))
    # Among equals whole groups save the second step, but those of one table may be few, and then
    # parts are small, unless they hold values; then fewer dimensions are simpler.
    alone = len(asked.query["atoms"]) == 1
    alone_splits = asked.splits and alone and not _holds_values(asked.query)
    return min(
        [one, *candidates],
        key=lambda route: (route.load, route.whole == alone_splits, len(route.dimensions)),
    )


def covers_all(query: Query, catalog: Catalog) -> bool:
    """Whether some variable is in every relation, so that sizes need not be known."""
    variables = Variables(query, catalog.kind)
    everywhere = range(len(query["atoms"]))
    return "condition" not in query and any(
        all(
            atom in variable.atoms
            and catalog.can_lie_by(query["atoms"][atom]["table"], [variable.atoms[atom]])
            for atom in everywhere
        )
        for variable in variables.all()
    )


def _routes(asked: Asked, variables: Variables) -> Iterator[Route]:
    for dimensions in _dimensions(asked, variables):
        whole = is_whole(asked.query, variables, [d.of(2) for d in dimensions])
        if not whole and not asked.splits:
            continue
        roles = _placed(asked, variables, dimensions)
        if roles is None:
            continue
        values = [_values(asked, dimensions, roles, place) for place in range(len(dimensions))]
        for shares in _shares(len(dimensions), asked.partitions):
            filled = [max(1.0, min(pair)) for pair in zip(shares, values, strict=True)]
            load = sum(_in_a_cell(asked, role, filled) for role in roles)
            made = [each.of(share) for each, share in zip(dimensions, shares, strict=True)]
            yield Route(tuple(made), whole, load)


def _dimensions(asked: Asked, variables: Variables) -> Iterator[tuple[Dimension, ...]]:
    """Sets of dimensions that could be a grid."""
    atoms = asked.query["atoms"]
    for atom, one in enumerate(atoms):
        for output in asked.catalog.blocks.get(one["table"], {}).get("outputs", ()):
            variables.of(atom, output["name"])
    # First, for among equals more values fill shares better.
    for several in _together(variables.all(), asked.query):
        yield (Dimension(several, 1),)
    single = [Dimension((variable,), 1) for variable in variables.all()]
    most = min(_DIMENSIONS, asked.partitions.bit_length() - 1)
    for number in range(1, most + 1):
        yield from combinations(single, number)
    if _is_free(asked):
        largest = max(range(len(atoms)), key=lambda a: asked.size(atoms[a]["table"]))
        yield (Dimension((), 1, scattered=largest),)


def _together(variables: Sequence[Variable], query: Query) -> Iterator[tuple[Variable, ...]]:
    """Variables that two atoms share, or that group one: their values together are more."""
    seen = set()
    for atoms in [(a, b) for a in range(len(query["atoms"])) for b in range(a + 1)]:
        shared = [v for v in variables if all(atom in v.atoms for atom in atoms)]
        if atoms[0] == atoms[1]:
            groups = {(c["atom"], c["column"]) for c in query["group_by"]}
            shared = [v for v in shared if groups & set(v.columns)]
        if len(shared) > 1 and (together := tuple(shared)) not in seen:
            seen.add(together)
            yield together


def _holds_values(query: Query) -> bool:
    """Whether parts of groups are as large as their rows."""
    return any(f'"{name}"' in json.dumps(query) for name in _OF_VALUES)


def _is_free(asked: Asked) -> bool:
    """Whether an atom of the query can be a table whose rows lie anywhere."""
    bag = "bag" in asked.query and not asked.query["bag"].get("distinct")
    tables = asked.catalog.tables
    return (asked.splits or bag) and all(a["table"] in tables for a in asked.query["atoms"])


def _placed(
    asked: Asked, variables: Variables, dimensions: Sequence[Dimension]
) -> list[Role] | None:
    """The roles of a grid whose shares are all two, if some atom holds each dimension."""
    placing = Placing(asked.catalog, Roles(set()))
    # Shares of different sizes identify the dimensions.
    wide = [each.of(2 + place) for place, each in enumerate(dimensions)]
    for each in wide:
        held = [
            placing.along(each, variables, (), asked.query, atom).is_single
            for atom in range(len(asked.query["atoms"]))
        ]
        if not any(held):
            return None
    placing.view(asked.query, variables, wide)
    return list(placing.roles.names)


def _values(
    asked: Asked, dimensions: Sequence[Dimension], roles: Sequence[Role], place: int
) -> float:
    """Number of shares of a dimension that values fill: those of its smallest relation."""
    if asked.rows is None or dimensions[place].scattered is not None:
        return float("inf")
    holding = [
        asked.size(role.table)
        for role in roles
        if any(along.is_single and along.share == 2 + place for along in role.distribution)
    ]
    return min(holding) / _VALUES_A_SHARE


def _in_a_cell(asked: Asked, role: Role, filled: Sequence[float]) -> float:
    """Number of rows of a role in a cell."""
    held = [filled[along.share - 2] for along in role.distribution if along.is_single]
    return asked.size(role.table) / prod(held)


def _shares(dimensions: int, partitions: int) -> Iterator[tuple[int, ...]]:
    """Shares of two and more for each dimension, whose product is at most ``partitions``."""
    if not dimensions:
        yield ()
        return
    for share in range(2, partitions // 2 ** (dimensions - 1) + 1):
        for others in _shares(dimensions - 1, partitions // share):
            yield (share, *others)


def _in_place(asked: Asked) -> Iterator[Route]:
    """The largest table stays where it is, and small ones are sent along with the plan."""
    atoms = [atom["table"] for _, query in queries(asked.query) for atom in query["atoms"]]
    if not _is_free(asked) or (asked.rows is None and len(atoms) > 1):
        return
    atom = max(range(len(asked.query["atoms"])), key=lambda a: asked.size(atoms[a]))
    others = {*atoms} - {atoms[atom]}
    alone = atoms.count(atoms[atom]) == 1
    if alone and atoms[atom] in asked.movable and others <= {*asked.small}:
        dimension = Dimension((), asked.partitions, scattered=atom)
        unmoved = _UNMOVED * (_VALUES if _holds_values(asked.query) else 1.0)
        rows = asked.size(atoms[atom]) / asked.partitions
        load = rows * unmoved + sum(map(asked.size, others))
        load += _A_PART * min(rows, _groups(asked))
        bag = "bag" in asked.query and not asked.query["bag"].get("distinct")
        yield Route((dimension,), bag, load, in_place=atom)


def _groups(asked: Asked) -> float:
    """Estimated number of groups of a query: of columns that join no other there may be few."""
    variables = Variables(asked.query, asked.catalog.kind)
    found = []
    for column in asked.query["group_by"]:
        variable = variables.of(column["atom"], column["column"])
        if variable is not None and len(variable.atoms) > 1:
            tables = [asked.query["atoms"][atom]["table"] for atom in variable.atoms]
            found.append(min(map(asked.size, tables)))
    return prod(found) if found else 0.0


def _load(asked: Asked, variables: Variables, dimensions: Sequence[Dimension]) -> float:
    placing = Placing(asked.catalog, Roles(set()))
    placing.view(asked.query, variables, dimensions)
    return sum(asked.size(role.table) for role in placing.roles.names)
