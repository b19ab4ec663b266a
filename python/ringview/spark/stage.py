"""One shuffle: the targets of its rows, and the views that are found in the cells.

Invariant: a stage holds plain data, made without Spark and without rows; only the step that it
gives to workers has the rows of small tables in it. Cost: O(length of the queries).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ringview.spark.cell_query import Catalog, Placing, Roles
from ringview.spark.grid import copies
from ringview.spark.partition import Merge, Partition, Relation, Result
from ringview.spark.planning import tables_below
from ringview.spark.route import Route
from ringview.spark.ship import Shipped
from ringview.spark.slots import Layout
from ringview.spark.types import shown_schema
from ringview.spark.variables import Query, Variables, queries, references


@dataclass(frozen=True)
class Partner:
    """A relation whose filtered rows a reading must meet: its column equals the key there."""

    column: str
    relation: str
    key: str
    filter: str


@dataclass(frozen=True)
class Reading:
    """One way in which an atom reads a relation: its filter, and the columns that it joins on."""

    relation: str
    alias: str
    filter: str | None
    joined: tuple[str, ...]
    partners: tuple[Partner, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """A view that a stage finds: its query over tables, its route, and its columns.

    ``partial`` are the columns of its parts, if groups are found in parts. Spark has all of them in
    types of its own.
    """

    name: str
    query: Query
    catalog: Catalog
    route: Route
    schema: pa.Schema
    partial: pa.Schema | None = None

    @property
    def keys(self) -> list[str]:
        """The columns of its parts that identify groups: all but the payload."""
        return [] if self.partial is None else self.partial.names[:-1]


@dataclass(frozen=True)
class Stage:
    """The plan of one shuffle.

    A single result is returned in its own columns, several in the slots of ``output``. With one
    cell, rows are ``gathered``: one task reads them where they are, and nothing is shuffled.
    """

    wanted: tuple[Wanted, ...]
    relations: tuple[Relation, ...]
    results: tuple[Result, ...]
    readings: tuple[Reading, ...]
    layout: Layout
    output: Layout | None
    cells: int
    in_place: str | None
    gathered: bool = False
    sends: frozenset[str] = frozenset()
    now: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what it finds."""
        return tuple(one.name for one in self.wanted)

    @property
    def shuffled(self) -> dict[str, list[int]]:
        """The relations of each table whose rows Spark brings, by their numbers."""
        return {table: found for table, found in self._tables.items() if table not in self.sends}

    @property
    def _tables(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, relation in enumerate(self.relations):
            found.setdefault(relation.table, []).append(number)
        return found

    def read_by(self, number: int) -> frozenset[str]:
        """The tables that a result reads."""
        return frozenset(each.table for each in self.relations_of(number))

    def relations_of(self, number: int) -> list[Relation]:
        """The relations that a result reads."""
        below = {*tables_below(self.results[number].query)}
        return [each for each in self.relations if each.name in below]

    def sending(self, small: Collection[str]) -> Stage:
        """The same with small tables as part of the plan, if all cells need all of them."""
        distributions = [relation.distribution for relation in self.relations]
        sends = frozenset(
            table
            for table, numbers in self._tables.items()
            if table in small
            and self.cells > 1
            and all(copies(distributions[number]) == self.cells for number in numbers)
        )
        return replace(self, sends=sends, layout=layout_of(self.relations, sends))

    def sent(self, rows: Mapping[str, bytes]) -> Stage:
        """The same with the rows of the tables that are part of the plan."""
        relations = tuple(
            replace(relation, sent=rows[relation.table]) if relation.table in rows else relation
            for relation in self.relations
        )
        return replace(self, relations=relations)

    @property
    def partition(self) -> Shipped:
        """The step that runs in each cell."""
        return Shipped(Partition(self.relations, self.results, self.layout, self.output, self.now))

    def merge(self, number: int) -> Shipped | None:
        """The step that adds up the parts of a result; None if its groups are whole."""
        wanted = self.wanted[number]
        if wanted.partial is None:
            return None
        relations = [replace(each, sent=None) for each in self.relations_of(number)]
        shown = shown_schema(wanted.schema)
        return Shipped(Merge(tuple(relations), self.results[number], shown))

    @property
    def schema(self) -> pa.Schema:
        """The columns of what a cell gives."""
        return self.results[0].schema if self.output is None else self.output.schema


def stage_of(
    wanted: Sequence[Wanted],
    schemas: Mapping[str, pa.Schema],
    multiplicities: Mapping[str, str],
    *,
    gathered: bool = False,
) -> Stage:
    """The stage that finds some views; rows say how often they are there if any table's do."""
    roles = Roles({one.name for one in wanted})
    results: list[Result] = []
    readings: list[Reading] = []
    used = dict.fromkeys(schemas, frozenset[str]())
    for one in wanted:
        found, blocks = _placed(one, roles)
        names = {name: role.table for role, name in roles.names.items()}
        for query in [found, *(block["query"] for block in blocks)]:
            readings += _readings(query, names)
            for relation, column in _columns(query):
                if relation in names:
                    used[names[relation]] |= {column}
        whole = one.partial is None
        schema = shown_schema(one.schema if one.partial is None else one.partial)
        query = {"blocks": blocks, **found} if blocks else found
        results.append(Result(one.name, query, schema, whole, one.route.cells))
    relations = tuple(
        Relation(
            name,
            role.table,
            role.distribution,
            columns_of(schemas[role.table], used[role.table]),
            multiplicities.get(role.table),
        )
        for role, name in roles.names.items()
    )
    route = wanted[0].route
    in_place = None
    if route.in_place is not None:
        in_place = wanted[0].query["atoms"][route.in_place]["table"]
    return Stage(
        tuple(wanted),
        relations,
        tuple(results),
        tuple(readings),
        layout_of(relations, ()),
        None if len(results) == 1 else Layout.of([result.schema for result in results]),
        max(one.route.cells for one in wanted),
        in_place,
        gathered,
    )


def layout_of(relations: Sequence[Relation], sends: Collection[str]) -> Layout:
    """The slots of the rows that move; rows of tables in the plan do not."""
    moved = [None if relation.table in sends else relation for relation in relations]
    return Layout.of(
        [pa.schema([]) if relation is None else relation.schema for relation in moved],
        counted=any(relation is not None and relation.multiplicity for relation in moved),
    )


def _placed(one: Wanted, roles: Roles) -> tuple[Query, list[Query]]:
    """The query that cells run, and its blocks."""
    roles.blocks.clear()
    variables = Variables(one.query, one.catalog.kind)
    return Placing(one.catalog, roles).view(one.query, variables, one.route.dimensions)


def _readings(query: Query, names: Mapping[str, str]) -> Iterator[Reading]:
    for _, one in queries(query):
        joins = [[(c["atom"], c["column"]) for c in join] for join in one.get("joins", ())]
        for number, atom in enumerate(one["atoms"]):
            if atom["table"] in names:
                joined = dict.fromkeys(c for join in joins for n, c in join if n == number)
                partners = dict.fromkeys(_partners(number, joins, one["atoms"], names))
                yield Reading(
                    atom["table"],
                    atom["alias"],
                    atom.get("filter"),
                    tuple(joined),
                    tuple(partners),
                )


def _partners(
    number: int,
    joins: Sequence[Sequence[tuple[int, str]]],
    atoms: Sequence[Query],
    names: Mapping[str, str],
) -> Iterator[Partner]:
    """Tables that an atom joins with, where a filter lets some of their rows through."""
    for join in joins:
        for column in [name for atom, name in join if atom == number]:
            for other, key in join:
                partner = atoms[other]
                if other != number and partner["table"] in names and partner.get("filter"):
                    yield Partner(column, partner["table"], key, partner["filter"])


def _columns(query: Query) -> Iterator[tuple[str, str]]:
    atoms = {path: one["atoms"] for path, one in queries(query)}
    for path, atom, column in references(query):
        yield atoms[path][atom]["table"], column


def columns_of(schema: pa.Schema, used: Collection[str]) -> pa.Schema:
    """The columns that are used; a relation of which none is still has rows to count."""
    fields = [field for field in schema if field.name in used]
    return pa.schema(fields or [schema.field(0)])
