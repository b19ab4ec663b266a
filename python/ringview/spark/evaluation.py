"""Views over DataFrames: planned on the driver, run in the cells.

Invariant: the result is that of one engine over all the rows, however many cells there are.
Cost: rows are counted in one Spark job, unless ``rows`` is given or every table has a variable that
all have; small tables are collected, to be sent along with the plan.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import reduce
from typing import overload

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from ringview.errors import (
    InvalidValueError,
    TypeMismatchError,
    UnknownTableError,
    UnknownViewError,
    did_you_mean,
)
from ringview.spark import frames, route
from ringview.spark.explained import explained
from ringview.spark.plan import Plan, Sizes, plan_of
from ringview.spark.planning import Planner, catalog_of, tables_below
from ringview.spark.session import cores, use_this_python
from ringview.spark.ship import Shipped
from ringview.spark.stage import Stage
from ringview.spark.types import arrow_schema, is_integer, spark_schema

Rows = Mapping[str, int]

# What one engine takes in a fraction of a second, less than a task more costs.
_ROWS_AN_ENGINE = 100_000
# A table is sent along with the plan up to so many rows and bytes: every task reads it anew.
_SMALL_ROWS = 100_000
_SMALL_BYTES = 8_000_000
# One engine holds as many rows in some gigabytes.
_MANY_ROWS = 20_000_000


def evaluate(
    sql: str,
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Rows | None = None,
) -> DataFrame:
    """The result of ``sql`` over ``tables``, as a DataFrame.

    Args:
        sql: What `ringview.Database.create_view` takes.
        tables: The DataFrame of every table that ``sql`` names. Columns of types that
            ringview does not hold (arrays, binary, ..) may be there, but not be used.
        multiplicity: The integer column that says how often a row is there (negative:
            it is deleted), for all tables or for those named.
        partitions: How many engines; by default one a core, and where rows are counted or given, at
            most one for each 100,000.
        rows: About how many rows each table has, if known: saves counting them.

    Example:
        >>> evaluate("SELECT COUNT(*) AS n FROM r", {"r": df}).first().n  # doctest: +SKIP
        3
    """
    prepared = prepare(sql, tables, multiplicity=multiplicity, partitions=partitions, rows=rows)
    return prepared.result()


def prepare(
    sql: str,
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Rows | None = None,
) -> Evaluation:
    """The steps of `evaluate` one by one, for those who run them themselves.

    Example:
        The engines under ``mapPartitions`` instead of ``mapInArrow``::

            steps = ringview.spark.prepare(sql, tables)
            partials = steps.slots().rdd.mapPartitions(steps.partition.on_rows)
            result = steps.merge(spark.createDataFrame(partials, steps.partial_schema))
    """
    return Evaluation({_ONE: sql}, tables, multiplicity, partitions, rows)


_ONE = "result"


def views(
    sql: Mapping[str, str],
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Rows | None = None,
) -> Views:
    """Several views, which may read each other by their names.

    Views that move the same rows the same way are found in one shuffle, whose results are kept
    until `Views.unpersist`.

    Args:
        sql: The SQL of each view by its name.
        tables: As for `evaluate`.
        multiplicity: As there.
        partitions: As there.
        rows: As there.

    Example:
        >>> found = views({"spent": a, "best": b}, tables).to_df()  # doctest: +SKIP
        >>> found["best"].show()  # doctest: +SKIP
    """
    if not sql:
        raise InvalidValueError("views: there is none; give the SQL of each by its name")
    return Views(sql, tables, multiplicity, partitions, rows)


class Views:
    """Views over DataFrames, ready to run."""

    def __init__(
        self,
        views: Mapping[str, str],
        tables: Mapping[str, DataFrame],
        multiplicity: str | Mapping[str, str] | None,
        partitions: int | None,
        rows: Rows | None,
    ) -> None:
        self.views = tuple(views)
        self._multiplicities = _multiplicities(multiplicity, tables)
        planner = Planner()
        for name, frame in tables.items():
            _check(name, frame)
            schema, refused = arrow_schema(frame.schema)
            planner.create_table(name, schema, self._multiplicities.get(name), refused)
        _check_partitions(partitions)
        queries = planner.queries(views)
        read = list(dict.fromkeys(t for query in queries.values() for t in tables_below(query)))
        self.tables: tuple[str, ...] = tuple(read)
        self._frames = {name: tables[name] for name in read}
        spark = next(iter(self._frames.values())).sparkSession
        use_this_python(spark)
        if rows is not None and (missing := set(read) - set(rows)):
            raise UnknownTableError(f"rows: the number of rows of {sorted(missing)} is not given")
        if rows is None and any(
            len(tables_below(query)) > 1
            and not route.covers_all(query, catalog_of(query, planner.schemas))
            for query in queries.values()
        ):
            rows = _counted(self._frames)
        if partitions is None:
            total = None if rows is None else sum(rows[name] for name in read)
            partitions = _engines(self._frames[read[0]], total)
        self._small = {n for n in read if rows is not None and rows[n] <= _SMALL_ROWS}
        self._planner, self._sql, self._rows, self._partitions = planner, views, rows, partitions
        self._found: dict[str, DataFrame] | None = None
        self._kept: list[DataFrame] = []
        self.plan = self._planned()
        _warn_of_one_partition(self.plan, rows)

    def _planned(self) -> Plan:
        sizes = Sizes(self._rows, self._partitions, self._small)
        return plan_of(self._sql, self._planner, self._multiplicities, sizes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.tables)}; {self.explain()})"

    def _ready(self) -> Plan:
        """The plan with the rows of small tables in it; those that turn out large are none."""
        while True:
            stages = []
            for stage in self.plan.stages:
                rows = {t: frames.small(stage, t, self._frames[t]) for t in sorted(stage.sends)}
                large = {table for table, found in rows.items() if found.nbytes > _SMALL_BYTES}
                if large:
                    self._small -= large
                    self.plan = self._planned()
                    break
                stages.append(stage.sent({t: _stream(found) for t, found in rows.items()}))
            else:
                return Plan(tuple(stages), self.plan.places)

    @overload
    def to_df(self, name: str) -> DataFrame: ...

    @overload
    def to_df(self, name: None = None) -> dict[str, DataFrame]: ...

    def to_df(self, name: str | None = None) -> DataFrame | dict[str, DataFrame]:
        """A view by its name as a DataFrame, or all by theirs.

        Small tables are collected; nothing else runs until a DataFrame is used.

        Raises:
            UnknownViewError: There is no such view.
        """
        if name is not None and name not in self.views:
            raise UnknownViewError(
                f"there is no view {name!r} among {', '.join(self.views)}"
                + did_you_mean(name, self.views)
            )
        if self._found is None:
            self._found = dict(self._frames)
            for stage in self._ready().stages:
                self._found |= run(stage, self._found, self._kept)
        found = self._found
        return {each: found[each] for each in self.views} if name is None else found[name]

    def __getitem__(self, name: str) -> DataFrame:
        """A view by its name."""
        return self.to_df(name)

    def reads(self, name: str) -> list[str]:
        """The tables that a view reads."""
        return [table for table in self.tables if table in self.plan.reads(name)]

    def unpersist(self) -> None:
        """Free what is kept of shuffles that found several views."""
        while self._kept:
            self._kept.pop().unpersist()
        self._found = None

    def explain(self, name: str | None = None) -> str:
        """How rows reach cells, and what is found in which shuffle: a line a stage.

        Args:
            name: Of one view alone, without what it reads.

        Example:
            ``routed by orderkey: o, l; sent along: n; 8 partitions``
        """
        return explained(self.plan, name)


class Evaluation(Views):
    """One view over DataFrames, ready to run at once or step by step."""

    @property
    def _stage(self) -> Stage:
        if len(self.plan.stages) > 1:
            raise InvalidValueError(
                f"the query takes {len(self.plan.stages)} shuffles, each with steps of its own: "
                "use result(), or take the stages one by one from .plan.stages"
            )
        return self._ready().stages[0]

    @property
    def partition(self) -> Shipped:
        """What runs in each partition of ``slots()``.

        On Arrow batches as ``mapInArrow`` hands them over, or on rows (``partition.on_rows``).
        """
        return self._stage.partition

    @property
    def partial_schema(self) -> StructType:
        """The schema of what ``partition`` gives."""
        return spark_schema(self._stage.schema)

    def slots(self) -> DataFrame:
        """The rows of all relations in the partitions that need them, in typed slots."""
        return frames.in_cells(self._stage, self._frames)

    def merge(self, partials: DataFrame) -> DataFrame:
        """The result: ``partials`` added in the ring, group by group."""
        return _merged(self._stage, 0, partials)

    def result(self) -> DataFrame:
        """The result as a DataFrame; nothing runs until it is used."""
        return self.to_df(self.views[0])


def run(
    stage: Stage, tables: Mapping[str, DataFrame], kept: list[DataFrame]
) -> dict[str, DataFrame]:
    """What a stage finds over DataFrames, by names; ``kept`` gets what persists."""
    slots = frames.in_cells(stage, tables)
    found = slots.mapInArrow(stage.partition, spark_schema(stage.schema))
    if stage.output is None:
        return {stage.wanted[0].name: _merged(stage, 0, found)}
    found = found.persist()
    kept.append(found)
    return {
        one.name: _merged(stage, number, frames.of_result(stage, number, found))
        for number, one in enumerate(stage.wanted)
    }


def _merged(stage: Stage, number: int, partials: DataFrame) -> DataFrame:
    one = stage.wanted[number]
    merge = stage.merge(number)
    if merge is None or one.split is None:
        return partials
    keys = [sf.col(key) for key in one.split.keys]
    together = partials.repartition(stage.cells, *keys) if keys else partials.repartition(1)
    return together.mapInArrow(merge, spark_schema(one.schema))


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _counted(tables: Mapping[str, DataFrame]) -> dict[str, int]:
    """The rows of each table, in one job."""
    counts = [
        frame.select(sf.count(sf.lit(1)).alias("rows")).select(sf.lit(name).alias("name"), "rows")
        for name, frame in tables.items()
    ]
    return {row["name"]: row["rows"] for row in reduce(DataFrame.union, counts).collect()}


def _warn_of_one_partition(plan: Plan, rows: Rows | None) -> None:
    for stage in plan.stages:
        if stage.cells > 1 or rows is None:
            continue
        number = sum(rows.get(relation.table, 0) for relation in stage.relations)
        if number > _MANY_ROWS:
            names = ", ".join(one.name for one in stage.wanted)
            warnings.warn(
                f"{names}: {number:,} rows go to one partition, for no variable tells groups and "
                "what they are compared with apart; group by what joins, or expect one busy core",
                stacklevel=4,
            )


def _check(name: str, frame: DataFrame) -> None:
    if not isinstance(frame, DataFrame):
        raise TypeMismatchError(f"tables: {name!r} is no DataFrame but a {type(frame).__name__}")
    if frame.isStreaming:
        raise InvalidValueError(
            f"table {name!r} is a stream, which has no end to evaluate: ringview.spark.stream "
            "keeps views over streams fresh"
        )


def _check_partitions(partitions: object) -> None:
    if partitions is None:
        return
    if isinstance(partitions, bool) or not isinstance(partitions, int):
        raise TypeMismatchError(f"partitions={partitions!r} is not an integer")
    if partitions < 1:
        raise InvalidValueError(f"partitions must be at least 1, not {partitions}")


def _multiplicities(
    given: str | Mapping[str, str] | None, tables: Mapping[str, DataFrame]
) -> dict[str, str]:
    if given is None:
        return {}
    named = dict.fromkeys(tables, given) if isinstance(given, str) else dict(given)
    for name, column in named.items():
        if name not in tables:
            raise UnknownTableError(f'multiplicity: there is no table "{name}" in tables')
        if column not in tables[name].columns:
            raise InvalidValueError(f'multiplicity: table "{name}" has no column "{column}"')
        kind = tables[name].schema[column].dataType
        if not is_integer(kind):
            raise TypeMismatchError(
                f'multiplicity: column "{column}" of table "{name}" is {kind.simpleString()}; how '
                "often a row is there is an integer"
            )
    return named


def _engines(frame: DataFrame, rows: int | None) -> int:
    """How many engines are worth their tasks."""
    most = cores(frame.sparkSession) or _shuffle_partitions(frame)
    return most if rows is None else max(1, min(most, -(-rows // _ROWS_AN_ENGINE)))


def _shuffle_partitions(frame: DataFrame) -> int:
    said = frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")
    # Some platforms say "auto" here.
    return int(said) if said is not None and said.isdigit() else 200
