"""Views over tables as stages, one for each shuffle.

A block of computed rows is a stage of its own, and so is each of its inputs (`rows`). A block of
joins is found in the cells of its reader where it can be distributed as the reader needs it, in one
shuffle. If that would load a cell more than a shuffle of its own, a block is found first, and its
reader reads its rows as it reads those of a table. With one cell, all texts over tables are found
in it at once (`single`).

Invariant: a plan holds no Spark and no rows but those of small tables, and can be pickled; a stage
reads tables and the results of stages before it. Cost: that of choosing a route for each view, with
its blocks together, separately, and without those that are one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ringview.errors import InvalidValueError
from ringview.spark import frames, steps
from ringview.spark.cell_query import Role
from ringview.spark.planning import Planner, catalog_of, kind_of, tables_below
from ringview.spark.route import Asked, choose
from ringview.spark.rows import RowStage, row_stage
from ringview.spark.semi_joins import reduced
from ringview.spark.ship import Shipped
from ringview.spark.single import Single, in_one_cell, read_by
from ringview.spark.skew import Heavy, split_heavy
from ringview.spark.stage import Stage, Wanted, stage_of
from ringview.spark.types import spark_schema
from ringview.spark.variables import Query


@dataclass(frozen=True)
class Sizes:
    """Sizes given beforehand: rows of each table, cells to use, tables that may be sent along."""

    rows: Mapping[str, float] | None
    partitions: int
    small: Collection[str] = ()
    heavy: Heavy = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Views as stages, and the stage and place in it where each is found."""

    stages: tuple[Stage | RowStage, ...]
    places: Mapping[str, tuple[int, int]]
    views: tuple[str, ...]

    @property
    def grids(self) -> tuple[Stage, ...]:
        """The stages that join and group, in cells."""
        return tuple(stage for stage in self.stages if isinstance(stage, Stage))

    @property
    def shared(self) -> frozenset[str]:
        """Results that several stages read, except plain maps of rows that are there."""
        read = Counter(name for stage in self.stages for name in _read_by(stage))
        found: set[str] = set()
        for stage in self.stages:
            below = _read_by(stage) & {*self.places}
            if not (isinstance(stage, RowStage) and stage.is_map and below <= found):
                found |= {name for name in stage.names if read[name] > 1}
        return frozenset(found)

    @property
    def partition(self) -> Shipped:
        """The step of each cell, under ``mapInArrow`` or, as ``on_rows``, ``mapPartitions``."""
        return self._stage.partition

    @property
    def partial_schema(self) -> StructType:
        """The schema of what ``partition`` gives."""
        return spark_schema(self._stage.schema)

    def slots(self, tables: Mapping[str, DataFrame]) -> DataFrame:
        """The rows of all relations in the cells that need them, in typed slots."""
        return frames.in_cells(self._stage, reduced(self._stage, tables))

    def merge(self, partials: DataFrame) -> DataFrame:
        """The result: ``partials`` added in the ring, group by group."""
        return steps.merged(self._stage, 0, partials)

    def run(self, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """Every view over DataFrames; what several share is computed for each that is used."""
        found = dict(tables)
        for stage in self.stages:
            found |= steps.run(stage, found)
        return {name: self.finished(name, found[name]) for name in self.views}

    def finished(self, name: str, found: DataFrame) -> DataFrame:
        """A view that its stage found, in its order if it has one."""
        return steps.finished(self.stages[self.places[name][0]], found)

    @property
    def _stage(self) -> Stage:
        stage = self.stages[0]
        if len(self.stages) > 1 or len(self.views) > 1 or isinstance(stage, RowStage):
            raise InvalidValueError(
                f"{len(self.views)} views in {len(self.stages)} stages have no one step for all: "
                "run() takes them one after another"
            )
        return stage

    def reads(self, name: str) -> frozenset[str]:
        """The tables that a view reads, and what stages before it find for it."""
        number, place = self.places[name]
        stage = self.stages[number]
        read = stage.read_by(place)
        return read.union(*(self.reads(table) for table in read if table in self.places))

    def stages_of(self, name: str) -> list[Stage | RowStage]:
        """The stages that a view takes, its own the last."""
        numbers = {self.places[each][0] for each in self.reads(name) if each in self.places}
        return [self.stages[number] for number in sorted(numbers | {self.places[name][0]})]


def _read_by(stage: Stage | RowStage) -> frozenset[str]:
    return frozenset().union(*(stage.read_by(place) for place in range(len(stage.names))))


def plan_of(
    views: Mapping[str, str],
    planner: Planner,
    multiplicities: Mapping[str, str],
    sizes: Sizes,
) -> Plan:
    """The stages that find some views."""
    queries = planner.queries(views)
    taken = {
        name: _Steps(name, planner, multiplicities, sizes).of(query)
        for name, query in queries.items()
    }
    alone = {
        name: steps
        for name, steps in taken.items()
        if sizes.partitions == 1 and not planner.named(views[name], {*views} - {name})
    }
    read = read_by([step for steps in alone.values() for step in steps], planner.schemas)
    single: list[Single] = []
    for name in alone:
        all_read = planner.named(views[name], planner.schemas) <= {*read.schemas}
        if all_read and (once := planner.once(views[name])) is not None:
            single.append(Single(name, once[0], queries[name], once[1]))
            del taken[name]
    steps = [step for found in taken.values() for step in found]
    tables = dict(planner.schemas) | {one.name: one.schema for one in single}
    told = dict(multiplicities)
    stages: list[list[Wanted] | RowStage] = []
    for step in steps:
        if step.name in tables:
            # A view that another reads, or a block of both.
            continue
        tables[step.name] = step.schema
        if isinstance(step, RowStage):
            stages.append(step)
            if step.multiplicity is not None:
                told[step.name] = step.multiplicity
        else:
            _together(step, stages, planner.schemas).append(step)
    one = sizes.partitions == 1
    made = (
        *([in_one_cell(single, read, multiplicities, planner)] if single else []),
        *(
            wanted
            if isinstance(wanted, RowStage)
            else stage_of(wanted, tables, told, gathered=one).sending(sizes.small)
            for wanted in stages
        ),
    )
    places = {
        name: (number, place)
        for number, stage in enumerate(made)
        for place, name in enumerate(stage.names)
    }
    return Plan(made, places, tuple(views))


def _together(
    step: Wanted, stages: list[list[Wanted] | RowStage], given: Collection[str]
) -> list[Wanted]:
    """The stage of a step over given tables: one that moves them the same way, else a new one."""
    if {*tables_below(step.query)} <= {*given} and step.route.in_place is None:
        mine = _roles(step)
        for wanted in stages:
            if isinstance(wanted, RowStage):
                continue
            first = wanted[0]
            if (
                {*tables_below(first.query)} <= {*given}
                and first.route.in_place is None
                and first.route.cells == step.route.cells > 1
                and mine & _roles(first)
            ):
                return wanted
    new: list[Wanted] = []
    stages.append(new)
    return new


def _roles(step: Wanted) -> set[Role]:
    """The roles of a step that lie in shares, and not everywhere."""
    relations = stage_of([step], step.catalog.tables, {}).relations
    return {
        Role(each.table, each.distribution)
        for each in relations
        if any(a.is_single for a in each.distribution)
    }


class _Steps:
    """The steps of one view."""

    def __init__(
        self, view: str, planner: Planner, multiplicities: Mapping[str, str], sizes: Sizes
    ) -> None:
        self._view, self._planner, self._sizes = view, planner, sizes
        self._multiplicities = dict(multiplicities)
        self._tables = dict(planner.schemas)
        self._rows = None if sizes.rows is None else dict(sizes.rows)

    def of(self, query: Query) -> list[Wanted | RowStage]:
        """The steps, each behind those whose rows it reads."""
        blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
        own = _with_blocks(query, {})
        found: list[Wanted | RowStage] = []
        alone = _stages_of_their_own(own, blocks)
        joins = {name: block for name, block in blocks.items() if name not in alone}
        for name, block in [*((name, blocks[name]) for name in alone), (self._view, own)]:
            steps = self._found(name, _grouped(block), joins)
            found += steps
            self._note_relations(steps[-1], _with_blocks(block, joins))
        return found

    def _found(
        self, name: str, query: Query, joins: Mapping[str, Query]
    ) -> Sequence[Wanted | RowStage]:
        """The steps of a block over what is known, and blocks of joins that lie in its cells."""
        plain = _handed_on(query) if self._is_computed(query) else None
        if kind_of(query) is not None or plain is not None:
            return [self._row_stage(name, plain or query)]
        return self._cheapest(name, _with_blocks(query, joins))

    def _is_computed(self, query: Query) -> bool:
        """Whether a query reads results of stages alone, whose rows have no multiplicities."""
        return all(
            atom["table"] not in self._planner.schemas
            and atom["table"] in self._tables
            and atom["table"] not in self._multiplicities
            for atom in query["atoms"]
        )

    def _row_stage(self, name: str, query: Query) -> RowStage:
        schema = self._planner.result(query, self._tables)
        told = self._multiplicities
        now, partitions = self._planner.now, self._sizes.partitions
        return row_stage(name, query, self._tables, told, schema, partitions, now)

    def _note_relations(self, step: Wanted | RowStage, query: Query) -> None:
        """The rows of a step, which are those of a query, are those of a table from here on."""
        self._tables[step.name] = step.schema
        if self._rows is not None:
            self._rows[step.name] = self._rows_of(query)
        if isinstance(step, RowStage) and step.multiplicity is not None:
            self._multiplicities[step.name] = step.multiplicity

    def _cheapest(self, name: str, query: Query) -> list[Wanted]:
        """The cheapest steps of those that there are for joins."""
        blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
        single = [name for name, block in blocks.items() if _is_one_row(block)]
        apart = dict.fromkeys(tuple(names) for names in ([], single, list(blocks)))
        if self._sizes.partitions == 1:
            # In one cell nothing is nearer to its reader.
            apart = {(): None}
        found = [self._with_steps_before(name, query, blocks, names) for names in apart]
        return min(found, key=lambda steps: sum(step.route.load for step in steps))

    def _with_steps_before(
        self, view: str, query: Query, blocks: Mapping[str, Query], apart: Sequence[str]
    ) -> list[Wanted]:
        """The steps where some blocks are computed first."""
        tables, rows = self._tables, self._rows
        self._tables, self._rows = dict(tables), None if rows is None else dict(rows)
        below = {name: block for name, block in blocks.items() if name not in apart}
        steps = []
        for name in apart:
            step = self._step(name, _with_blocks(_grouped(blocks[name]), below))
            self._note_relations(step, step.query)
            steps.append(step)
        steps.append(self._step(view, _with_blocks(query, below)))
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
        schema = self._planner.result(query, self._tables)
        partial = None if route.whole else self._planner.partial(query, self._tables)
        return Wanted(name, query, catalog, route, schema, partial)


def _is_one_row(query: Query) -> bool:
    return kind_of(query) is None and not query.get("group_by") and "bag" not in query


def _grouped(query: Query) -> Query:
    """A query whose distinct rows are groups, which cells find and others add to."""
    if not query.get("bag", {}).get("distinct"):
        return query
    return {key: value for key, value in query.items() if key != "bag"}


def _stages_of_their_own(query: Query, blocks: Mapping[str, Query]) -> list[str]:
    """The blocks that compute rows, and those that such read; each behind what it reads."""
    found = {name for name, block in blocks.items() if kind_of(block) is not None}
    for one in (*blocks.values(), query):
        if kind_of(one) is not None:
            found |= {name for name in _reads(one) if name in blocks}
    return [name for name in blocks if name in found]


def _handed_on(query: Query) -> Query | None:
    """A query that only shows columns of one atom, as a map of its rows."""
    bag, (atom, *others) = query.get("bag"), query["atoms"]
    if bag is None or bag.get("distinct") or others or atom.get("filter") is not None:
        return None
    if any(query.get(what) for what in ("joins", "condition", "having")):
        return None
    names = [output["name"] for output in query["outputs"]]
    columns = [output["column"]["column"] for output in query["outputs"]]
    texts = ['"' + name.replace('"', '""') + '"' for name in columns]
    rows = {"kind": "map", "names": names, "branches": [{"columns": texts}]}
    return {"atoms": [atom], "outputs": [], "rows": rows}


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
