"""Views over DataFrames: planned on the driver, run in the cells.

Invariant: the result is that of one engine over all the rows, however many cells there are.
Cost: rows of tables that are joined are counted in one Spark job, unless ``rows`` is given, there
is one partition, or Spark estimates few bytes; small tables are collected, to be sent along.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import overload

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ringview.convert.moments import Moment, microseconds
from ringview.errors import (
    InvalidValueError,
    UnknownTableError,
    UnknownViewError,
    did_you_mean,
)
from ringview.queries import Parameters
from ringview.spark import frames, options, steps
from ringview.spark.explained import explained
from ringview.spark.planning import Planner, tables_below
from ringview.spark.plans import Plan, Sizes, plan_of
from ringview.spark.rows import RowStage
from ringview.spark.session import use_this_python
from ringview.spark.ship import Shipped
from ringview.spark.skew import Heavy
from ringview.spark.stage import Stage
from ringview.spark.types import arrow_schema
from ringview.text import quoted

Rows = Mapping[str, int]

# A table is sent along with the plan up to so many rows and bytes: every task reads it anew.
_SMALL_ROWS = 400_000
_SMALL_BYTES = 8_000_000
# Smaller tables load no cell for long, whatever their values.
_SKEWED_ROWS = 100_000
# One engine holds as many rows in some gigabytes.
_MANY_ROWS = 20_000_000


def evaluate(
    sql: str,
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Rows | None = None,
    now: Moment | None = None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
) -> DataFrame:
    """The result of ``sql`` over ``tables``, as a DataFrame.

    Args:
        sql: What `ringview.Database.create_view` takes.
        tables: The DataFrame of every table that ``sql`` names. Columns of types that
            ringview does not hold (arrays, binary, ..) may be there, but not be used.
        multiplicity: The integer column that says how often a row is there (negative:
            it is deleted), for all tables or for those named.
        partitions: How many engines; by default one a core, and where rows are counted or given, at
            most one for each million.
        rows: About how many rows each table has, if known: saves counting them.
        now: The moment that ``now()`` is, if the text calls it: a datetime, a date or an ISO text,
            of UTC where no zone is given.
        parameters: The values of `$1` and `?`, or by name of `$name` and `:name`.
        dialect: That of the text, as for `create_view`.

    Example:
        >>> evaluate("SELECT COUNT(*) AS n FROM r", {"r": df}).first().n  # doctest: +SKIP
        3
    """
    prepared = prepare(
        sql,
        tables,
        multiplicity=multiplicity,
        partitions=partitions,
        rows=rows,
        now=now,
        parameters=parameters,
        dialect=dialect,
    )
    return prepared.result(persist=False)


def prepare(
    sql: str,
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Rows | None = None,
    now: Moment | None = None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
) -> Evaluation:
    """The steps of `evaluate` one by one, for those who run them themselves.

    Example:
        The engines under ``mapPartitions`` instead of ``mapInArrow``::

            steps = ringview.spark.prepare(sql, tables)
            partials = steps.slots().rdd.mapPartitions(steps.partition.on_rows)
            result = steps.merge(spark.createDataFrame(partials, steps.partial_schema))
    """
    planner = _planner(now, parameters, dialect)
    return Evaluation({_ONE: sql}, tables, planner, multiplicity, partitions, rows)


_ONE = "result"


def views(
    sql: Mapping[str, str],
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Rows | None = None,
    now: Moment | None = None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
) -> Views:
    """Several views, which may read each other by their names.

    Views that move the same rows the same way are found in one shuffle, whose results are kept
    until `Views.unpersist`, and so is what several stages read.

    Args:
        sql: The SQL of each view by its name.
        tables: As for `evaluate`.
        multiplicity: As there.
        partitions: As there.
        rows: As there.
        now: As there.
        parameters: As there, of each.
        dialect: As there.

    Example:
        >>> found = views({"spent": a, "best": b}, tables).to_df()  # doctest: +SKIP
        >>> found["best"].show()  # doctest: +SKIP
    """
    if not sql:
        raise InvalidValueError("views: there is none; give the SQL of each by its name")
    planner = _planner(now, parameters, dialect)
    return Views(sql, tables, planner, multiplicity, partitions, rows)


def plan(
    sql: str | Mapping[str, str],
    tables: Mapping[str, pa.Schema | StructType | pa.Table],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int,
    rows: Rows | None = None,
    now: Moment | None = None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
) -> Plan:
    """Plan of views, made without Spark and without rows: plain data that can be pickled.

    For those who bring the rows to partitions themselves, or run engines under ``mapInArrow`` and
    ``mapPartitions`` by hand.

    Args:
        sql: The SQL of a view, or of several by their names.
        tables: The columns of every table; of a small one its rows, which are part of the plan.
        multiplicity: As for `evaluate`.
        partitions: How many engines.
        rows: About how many rows each table has; without it all count the same.
        now: As for `evaluate`.
        parameters: As there, of each.
        dialect: As there.

    Example:
        >>> import pyarrow as pa
        >>> made = plan(
        ...     "SELECT a, MAX(b) AS b FROM r GROUP BY a",
        ...     {"r": pa.schema({"a": pa.int64(), "b": pa.int64()})},
        ...     partitions=4,
        ... )
        >>> made.stages[0].cells, made.partial_schema.names
        (4, ['a', 'b'])
    """
    options.check_partitions(partitions)
    columns = {name: _columns(of) for name, of in tables.items()}
    planner = _planner(now, parameters, dialect)
    multiplicities = _declared(planner, columns, multiplicity)
    small = {name: of for name, of in tables.items() if isinstance(of, pa.Table)}
    known = None if rows is None else {**rows, **{n: of.num_rows for n, of in small.items()}}
    made = plan_of(
        {_ONE: sql} if isinstance(sql, str) else sql,
        planner,
        multiplicities,
        Sizes(known, partitions, tuple(small)),
    )
    stages = [
        stage
        if isinstance(stage, RowStage)
        else stage.sent({t: steps.stream(frames.as_sent(stage, t, small[t])) for t in stage.sends})
        for stage in made.stages
    ]
    return Plan(tuple(stages), made.places, made.views)


def _columns(of: pa.Schema | StructType | pa.Table) -> tuple[pa.Schema, list[str]]:
    if isinstance(of, StructType):
        return arrow_schema(of)
    return (of if isinstance(of, pa.Schema) else of.schema), []


def _planner(now: Moment | None, parameters: Parameters | None, dialect: str) -> Planner:
    """The planner of texts, which has no tables yet."""
    return Planner(None if now is None else microseconds(now), parameters, dialect)


def _declared(
    planner: Planner,
    columns: Mapping[str, tuple[pa.Schema, list[str]]],
    multiplicity: str | Mapping[str, str] | None,
) -> dict[str, str]:
    """Declares tables to the planner; returns their columns of multiplicities."""
    schemas = {name: schema for name, (schema, _) in columns.items()}
    multiplicities = options.multiplicities(multiplicity, schemas)
    for name, (schema, refused) in columns.items():
        planner.create_table(name, schema, multiplicities.get(name), refused)
    return multiplicities


class Views:
    """Views over DataFrames, ready to run."""

    def __init__(
        self,
        views: Mapping[str, str],
        tables: Mapping[str, DataFrame],
        planner: Planner,
        multiplicity: str | Mapping[str, str] | None,
        partitions: int | None,
        rows: Rows | None,
    ) -> None:
        self.views = tuple(views)
        for name, frame in tables.items():
            options.check_frame(name, frame)
        columns = {name: arrow_schema(frame.schema) for name, frame in tables.items()}
        self._multiplicities = _declared(planner, columns, multiplicity)
        options.check_partitions(partitions)
        queries = planner.queries(views)
        read = list(dict.fromkeys(t for query in queries.values() for t in tables_below(query)))
        self.tables: tuple[str, ...] = tuple(read)
        self._frames = {name: tables[name] for name in read}
        spark = next(iter(self._frames.values())).sparkSession
        use_this_python(spark)
        if rows is not None and (missing := set(read) - set(rows)):
            raise UnknownTableError(f"rows: the number of rows of {sorted(missing)} is not given")
        first = self._frames[read[0]]
        if partitions is None and rows is None and self._is_little():
            partitions = 1
        most = partitions or options.engines(first, None)
        joins = any(len(tables_below(query)) > 1 for query in queries.values())
        if rows is None and joins and most > 1:
            rows = options.counted(self._frames)
        if partitions is None:
            total = None if rows is None else sum(rows[name] for name in read)
            partitions = options.engines(first, total)
        self._small = {n for n in read if rows is not None and rows[n] <= _SMALL_ROWS}
        self._planner, self._sql, self._rows, self._partitions = planner, views, rows, partitions
        self._found: dict[str, DataFrame] | None = None
        self._kept: list[DataFrame] = []
        self._heavy: Heavy = {}
        self.plan = self._planned()
        self._heavy = self._frequent()
        if self._heavy:
            self.plan = self._planned()
        _warn_of_one_partition(self.plan, rows)

    def _is_little(self) -> bool:
        """Whether one engine is enough for all rows, as far as is known before they are counted."""
        rows = options.estimated(self._frames.values())
        return rows is not None and options.engines(next(iter(self._frames.values())), rows) == 1

    def _planned(self) -> Plan:
        sizes = Sizes(self._rows, self._partitions, self._small, self._heavy)
        return plan_of(self._sql, self._planner, self._multiplicities, sizes)

    def _frequent(self) -> Heavy:
        """The frequent values of columns that route large tables."""
        columns = {
            (relation.table, along.columns[0]): along.share
            for stage in self.plan.grids
            for relation in stage.relations
            for along in relation.distribution
            if len(along.columns) == 1 and relation.table in self._frames
        }
        found = {}
        for (table, column), share in columns.items():
            rows = self._rows[table] if self._rows else 0
            if rows >= _SKEWED_ROWS:
                found[table, column] = frames.frequent(self._frames[table], column, rows, share)
        return {column: values for column, values in found.items() if values}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.tables)}; {self.explain()})"

    def _ready(self) -> Plan:
        """The plan with the rows of small tables in it; those that turn out large are none."""
        while True:
            stages: list[Stage | RowStage] = []
            for stage in self.plan.stages:
                if isinstance(stage, RowStage):
                    stages.append(stage)
                    continue
                rows = frames.small(stage, {t: self._frames[t] for t in sorted(stage.sends)})
                large = {table for table, found in rows.items() if found.nbytes > _SMALL_BYTES}
                if large:
                    self._small -= large
                    self.plan = self._planned()
                    break
                stages.append(stage.sent({t: steps.stream(found) for t, found in rows.items()}))
            else:
                return Plan(tuple(stages), self.plan.places, self.views)

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
                f"there is no view {quoted(name)} among {', '.join(self.views)}"
                + did_you_mean(name, self.views)
            )
        if self._found is None:
            self._found = dict(self._frames)
            for stage in self._ready().stages:
                self._found |= steps.run(stage, self._found, self._kept, self.plan.shared)
        found = self._found
        shown = self.views if name is None else [name]
        made = {each: self.plan.finished(each, found[each]) for each in shown}
        return made if name is None else made[name]

    def __getitem__(self, name: str) -> DataFrame:
        """A view by its name."""
        return self.to_df(name)

    def reads(self, name: str) -> list[str]:
        """The tables that a view reads."""
        return [table for table in self.tables if table in self.plan.reads(name)]

    def unpersist(self) -> None:
        """Free what is kept of what several views or stages share."""
        while self._kept:
            self._kept.pop().unpersist()
        self._found = None

    def explain(self, name: str | None = None) -> str:
        """Routes of rows to cells, and the views found in each shuffle: a line a stage.

        Args:
            name: Of one view alone, without what it reads.

        Example:
            ``routed by orderkey: o, l; sent along: n; 8 partitions``
        """
        return explained(self.plan, name)


class Evaluation(Views):
    """One view over DataFrames, ready to run at once or step by step."""

    @property
    def partition(self) -> Shipped:
        """The step that runs in each partition of ``slots()``.

        On Arrow batches as ``mapInArrow`` hands them over, or on rows (``partition.on_rows``).
        """
        return self._ready().partition

    @property
    def partial_schema(self) -> StructType:
        """The schema of what ``partition`` gives."""
        return self.plan.partial_schema

    def slots(self) -> DataFrame:
        """The rows of all relations in the partitions that need them, in typed slots."""
        return self._ready().slots(self._frames)

    def merge(self, partials: DataFrame) -> DataFrame:
        """The result: ``partials`` added in the ring, group by group."""
        return self.plan.merge(partials)

    def result(self, *, persist: bool = True) -> DataFrame:
        """The result as a DataFrame; nothing runs until it is used.

        Args:
            persist: Whether what several stages read is kept, until `unpersist`.
        """
        (view,) = self.views
        return self.to_df(view) if persist else self._ready().run(self._frames)[view]


def _warn_of_one_partition(plan: Plan, rows: Rows | None) -> None:
    for stage in plan.grids:
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
