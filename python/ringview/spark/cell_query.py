"""A query over tables as a query over the rows of one cell.

Each atom reads the rows that its cell has of its table, so a table that is read in two ways becomes
two, called by roles; a block becomes one for each way in which it is read, distributed as its
reader needs it: by a column that is a group, since then no group is in two cells.

Invariant: over the rows of the roles, the cells' results of the query add up to its result; of a
``whole`` query no group is in two cells, and of a bag no row of the join. The tables below it, in
blocks and in conditions, are whole in each cell that needs them. Cost: O(length of query and
blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ringview.spark.grid import Along, Distribution, distribution_of
from ringview.spark.variables import Path, Query, Variable, Variables, queries

Kind = Callable[[str, str], pa.DataType]


@dataclass(frozen=True)
class Dimension:
    """A dimension of the grid: variables of a query with so many shares, or an atom scattered.

    Of the ``heavy`` values of its one variable the rows of atom ``spread`` are spread over all
    shares.
    """

    variables: tuple[Variable, ...]
    share: int
    scattered: int | None = None
    heavy: tuple[object, ...] = ()
    spread: int | None = None

    def of(self, share: int) -> Dimension:
        """The same with so many shares."""
        return Dimension(self.variables, share, self.scattered, self.heavy, self.spread)


@dataclass(frozen=True)
class Role:
    """Rows of a table as some atoms need them in a cell."""

    table: str
    distribution: Distribution


@dataclass
class Roles:
    """The roles of the tables, and the blocks over them, by their names in the cells."""

    taken: set[str]
    names: dict[Role, str] = field(default_factory=dict)
    blocks: dict[tuple[str, Distribution], str] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        """A name that nothing has yet: the wanted one, or one alike."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted} ({number})"
        self.taken.add(name)
        return name

    def role(self, table: str, distribution: Distribution) -> str:
        """The name of a role, new or known."""
        role = Role(table, distribution)
        if role not in self.names:
            self.names[role] = self.name(table)
        return self.names[role]


class Catalog:
    """Relations that the atoms of queries read: tables, and blocks by their names."""

    def __init__(self, tables: Mapping[str, pa.Schema], blocks: Mapping[str, Query]) -> None:
        self.tables = tables
        self.blocks = dict(blocks)
        self.schemas: dict[str, pa.Schema] = dict(tables)
        self._variables: dict[str, Variables] = {}

    def kind(self, name: str, column: str) -> pa.DataType:
        """The type of a column."""
        return self.schemas[name].field(column).type

    def variables(self, block: str) -> Variables:
        """The variables of a block."""
        if block not in self._variables:
            self._variables[block] = Variables(self.blocks[block], self.kind)
        return self._variables[block]

    def below(self, block: str, column: str) -> Variable | None:
        """The variable of a block that a column of its rows shows, if that is a group."""
        for output in self.blocks[block]["outputs"]:
            if output["name"] == column and output["kind"] == "group":
                inner = output["column"]
                return self.variables(block).of(inner["atom"], inner["column"])
        return None

    def can_lie_by(self, name: str, columns: Sequence[str]) -> bool:
        """Whether the rows of a table or block can lie by some columns."""
        if name in self.tables:
            return True
        below = [self.below(name, column) for column in columns]
        variables = [variable for variable in below if variable is not None]
        if len(variables) < len(below):
            return False
        # At least one atom of the block must lie by all of them.
        return any(
            all(atom in variable.atoms for variable in variables)
            and self.can_lie_by(one["table"], [variable.atoms[atom] for variable in variables])
            for atom, one in enumerate(self.blocks[name]["atoms"])
        )


class Placing:
    """Makes queries over tables into queries over roles."""

    def __init__(self, catalog: Catalog, roles: Roles) -> None:
        self.catalog, self.roles = catalog, roles
        self.made: list[Query] = []

    def view(
        self, query: Query, variables: Variables, dimensions: Sequence[Dimension]
    ) -> tuple[Query, list[Query]]:
        """A query over roles, and the blocks it reads that are new."""
        self.made = []
        return self._query(query, variables, dimensions), self.made

    def _query(self, query: Query, variables: Variables, dimensions: Sequence[Dimension]) -> Query:
        distributions = {
            (path, atom): distribution_of(
                [self.along(d, variables, path, one, atom) for d in dimensions]
            )
            for path, one in queries(query)
            for atom in range(len(one["atoms"]))
        }
        return self._renamed(query, (), distributions)

    def along(
        self, dimension: Dimension, variables: Variables, path: Path, query: Query, atom: int
    ) -> Along:
        """Distribution of an atom of a query along a dimension."""
        if dimension.scattered is not None:
            return Along(dimension.share, (), path == () and atom == dimension.scattered)
        table = query["atoms"][atom]["table"]
        columns = [variables.holders(v, path).get(atom) for v in dimension.variables]
        held = [column for column in columns if column is not None]
        if len(held) < len(columns) or not self.catalog.can_lie_by(table, held):
            return Along(dimension.share)
        heavy = bool(dimension.heavy) and atom == dimension.spread
        return Along(dimension.share, tuple(held), heavy, dimension.heavy)

    def _renamed(
        self, query: Query, path: Path, distributions: Mapping[tuple[Path, int], Distribution]
    ) -> Query:
        atoms = [
            {**atom, "table": self._reads(atom["table"], distributions[path, number])}
            for number, atom in enumerate(query["atoms"])
        ]
        made = {**query, "atoms": atoms}
        made.pop("blocks", None)
        if "subqueries" in query:
            made["subqueries"] = [
                self._renamed(one, (*path, number), distributions)
                for number, one in enumerate(query["subqueries"])
            ]
        return made

    def _reads(self, name: str, distribution: Distribution) -> str:
        if name in self.catalog.tables:
            return self.roles.role(name, distribution)
        known = self.roles.blocks.get((name, distribution))
        if known is not None:
            return known
        dimensions = [self._dimension(name, along) for along in distribution]
        query = self._query(self.catalog.blocks[name], self.catalog.variables(name), dimensions)
        self.roles.blocks[name, distribution] = called = self.roles.name(name)
        self.made.append({"name": called, "query": query})
        return called

    def _dimension(self, block: str, along: Along) -> Dimension:
        below = [self.catalog.below(block, column) for column in along.columns]
        return Dimension(tuple(v for v in below if v is not None), along.share)


def is_whole(query: Query, variables: Variables, dimensions: Sequence[Dimension]) -> bool:
    """Whether no group of a query, or no row of its join, is found in two cells."""
    if "bag" in query and not query["bag"].get("distinct"):
        return True
    return all(
        dimension.share == 1
        or (
            dimension.scattered is None
            and not dimension.heavy
            and all(
                any(variables.is_of(variable, c["atom"], c["column"]) for c in query["group_by"])
                for variable in dimension.variables
            )
        )
        for dimension in dimensions
    )
