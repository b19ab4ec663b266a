"""Views over tables as stages: what each shuffle finds.

A block is found in the cells of its reader where it can lie as the reader needs it, in one shuffle.
Where that would load a cell more than a shuffle of its own, a block is found first, and its reader
reads its rows as it reads those of a table.

Invariant: a plan holds no Spark and no rows but those of small tables, and can be pickled; a stage
reads tables and what stages before it found. Cost: that of choosing a route for each view, with its
blocks together, apart, and without those that are one row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ringview.errors import InvalidValueError
from ringview.spark import frames, steps
from ringview.spark.place import Role
from ringview.spark.planning import Planner, catalog_of, tables_below
from ringview.spark.route import Asked, choose
from ringview.spark.ship import Shipped
from ringview.spark.skew import Heavy, split_heavy
from ringview.spark.stage import Stage, Wanted, stage_of
from ringview.spark.types import spark_schema
from ringview.spark.variables import Query


@dataclass(frozen=True)
class Sizes:
    """What is known before: the rows of each table, cells to use, tables that may be sent along."""

    rows: Mapping[str, float] | None
    partitions: int
    small: Collection[str] = ()
    heavy: Heavy = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Views as stages, and the stage and place in it where each is found."""

    stages: tuple[Stage, ...]
    places: Mapping[str, tuple[int, int]]
    views: tuple[str, ...]

    @property
    def partition(self) -> Shipped:
        """What runs in each cell, under ``mapInArrow`` or, as ``on_rows``, ``mapPartitions``."""
        return self._stage.partition

    @property
    def partial_schema(self) -> StructType:
        """The schema of what ``partition`` gives."""
        return spark_schema(self._stage.schema)

    def slots(self, tables: Mapping[str, DataFrame]) -> DataFrame:
        """The rows of all relations in the cells that need them, in typed slots."""
        return frames.in_cells(self._stage, tables)

    def merge(self, partials: DataFrame) -> DataFrame:
        """The result: ``partials`` added in the ring, group by group."""
        return steps.merged(self._stage, 0, partials)

    def run(self, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Every view over DataFrames; what several share is computed for each that is used."""
        found = dict(tables)
        for stage in self.stages:
            found |= steps.run(stage, found)
        return {name: found[name] for name in self.views}

    @property
    def _stage(self) -> Stage:
        if len(self.stages) > 1 or len(self.views) > 1:
            raise InvalidValueError(
                f"{len(self.views)} views in {len(self.stages)} shuffles have no one step for all: "
                "run() takes them one after another"
            )
        return self.stages[0]

    def reads(self, name: str) -> frozenset[str]:
        """The tables that a view reads, and what stages before it find for it."""
        number, place = self.places[name]
        stage = self.stages[number]
        read = stage.read_by(place)
        return read.union(*(self.reads(table) for table in read if table in self.places))

    def stages_of(self, name: str) -> list[Stage]:
        """The stages that a view takes, its own the last."""
        numbers = {self.places[each][0] for each in self.reads(name) if each in self.places}
        return [self.stages[number] for number in sorted(numbers | {self.places[name][0]})]


def plan_of(
    views: Mapping[str, str],
    planner: Planner,
    multiplicities: Mapping[str, str],
    sizes: Sizes,
) -> Plan:
    """The stages that find some views."""
    steps = [
        step
        for name, query in planner.queries(views).items()
        for step in _Steps(name, planner, multiplicities, sizes).of(query)
    ]
    tables = dict(planner.schemas)
    stages: list[list[Wanted]] = []
    for step in steps:
        if step.name in tables:
            # A view that another reads, or a block of both.
            continue
        tables[step.name] = step.schema
        with_it = _together(step, stages, planner.schemas)
        with_it.append(step)
    one = sizes.partitions == 1
    made = tuple(
        stage_of(wanted, tables, multiplicities, gathered=one).sending(sizes.small)
        for wanted in stages
    )
    places = {
        one.name: (number, place)
        for number, stage in enumerate(made)
        for place, one in enumerate(stage.wanted)
    }
    return Plan(made, places, tuple(views))


def _together(step: Wanted, stages: list[list[Wanted]], given: Collection[str]) -> list[Wanted]:
    """The stage of a step over given tables: one that moves them the same way, else a new one."""
    if {*tables_below(step.query)} <= {*given} and step.route.in_place is None:
        mine = _roles(step)
        for wanted in stages:
            first = wanted[0]
            if (
                {*tables_below(first.query)} <= {*given}
                and first.route.in_place is None
                and first.route.cells == step.route.cells > 1
                and mine & _roles(first)
            ):
                return wanted
    stages.append([])
    return stages[-1]


def _roles(step: Wanted) -> set[Role]:
    """The roles of a step that lie in shares, and not everywhere."""
    relations = stage_of([step], step.catalog.tables, {}).relations
    return {Role(each.table, each.spread) for each in relations if any(a.held for a in each.spread)}


class _Steps:
    """The steps of one view."""

    def __init__(
        self, view: str, planner: Planner, multiplicities: Mapping[str, str], sizes: Sizes
    ) -> None:
        self._view, self._planner, self._sizes = view, planner, sizes
        self._multiplicities = multiplicities
        self._tables = dict(planner.schemas)
        self._rows = None if sizes.rows is None else dict(sizes.rows)

    def of(self, query: Query) -> list[Wanted]:
        """The cheapest steps of those that there are."""
        blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
        single = [name for name, block in blocks.items() if _is_one_row(block)]
        apart = dict.fromkeys(tuple(names) for names in ([], single, list(blocks)))
        found = [self._apart(query, blocks, names) for names in apart]
        return min(found, key=lambda steps: sum(step.route.load for step in steps))

    def _apart(
        self, query: Query, blocks: Mapping[str, Query], apart: Sequence[str]
    ) -> list[Wanted]:
        """The steps where some blocks are found before."""
        tables, rows = self._tables, self._rows
        self._tables, self._rows = dict(tables), None if rows is None else dict(rows)
        below = {name: block for name, block in blocks.items() if name not in apart}
        steps = []
        for name in apart:
            step = self._step(name, _with_blocks(blocks[name], below))
            self._tables[name] = step.schema
            if self._rows is not None:
                self._rows[name] = self._rows_of(step.query)
            steps.append(step)
        steps.append(self._step(self._view, _with_blocks(query, below)))
        self._tables, self._rows = tables, rows
        return steps

    def _rows_of(self, query: Query) -> float:
        if _is_one_row(query):
            return 1.0
        return max(self._rows[name] for name in tables_below(query)) if self._rows else 1.0

    def _step(self, name: str, query: Query) -> Wanted:
        catalog = catalog_of(query, self._tables)
        asked = Asked(
            query,
            catalog,
            self._rows,
            self._sizes.partitions,
            splits=not query.get("subqueries"),
            movable={*self._tables} - {*self._multiplicities},
            small=self._sizes.small,
        )
        route = split_heavy(asked, choose(asked), self._sizes.heavy)
        schema, partial = self._planner.result(query, self._tables)
        return Wanted(name, query, catalog, route, schema, None if route.whole else partial)


def _is_one_row(query: Query) -> bool:
    return not query["group_by"] and "bag" not in query


def _with_blocks(query: Query, blocks: Mapping[str, Query]) -> Query:
    """A query with those of some blocks that it reads, directly or not."""
    made = {key: value for key, value in query.items() if key != "blocks"}
    wanted = set(_reads(made))
    chosen = []
    for name, block in reversed([*blocks.items()]):
        if name in wanted:
            wanted |= set(_reads(block))
            chosen.append({"name": name, "query": block})
    return {"blocks": chosen[::-1], **made} if chosen else made


def _reads(query: Query) -> Iterator[str]:
    yield from tables_below(query)
