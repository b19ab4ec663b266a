"""One query over DataFrames: planned on the driver, run in the partitions.

Invariant: the result is that of one engine over all the rows, exactly, however many there are.
Cost: rows are counted (a Spark job a table) only if no variable is in every
relation and ``rows`` was not given. A partition is a task and an engine: few rows get few.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from ringview.errors import InvalidValueError, UnknownTableError
from ringview.spark import frames, route
from ringview.spark.partial import floats, split
from ringview.spark.partition import Merge, Partition, table_name
from ringview.spark.planning import Planner
from ringview.spark.session import cores, use_this_python
from ringview.spark.ship import Shipped
from ringview.spark.slots import Layout
from ringview.spark.types import arrow_schema, spark_schema


def evaluate(
    sql: str,
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Mapping[str, int] | None = None,
) -> DataFrame:
    """The result of ``sql`` over ``tables``, as a DataFrame.

    Args:
        sql: What `ringview.Database.create_view` takes.
        tables: The DataFrame of every table that ``sql`` names. Columns of types that
            ringview does not hold (arrays, binary, ..) may be there, but not be used.
        multiplicity: The integer column that says how often a row is there (negative:
            it is deleted), for all tables or for those named. What is left of a row
            must not be negative; this is not checked.
        partitions: How many engines; by default at most ``spark.sql.shuffle.partitions``, on one
            machine at most one a core, and where rows are counted or given, one for each 100,000.
        rows: About how many rows each table has, if known: saves counting them.

    Example:
        >>> evaluate("SELECT COUNT(*) AS n FROM r", {"r": df}).first().n  # doctest: +SKIP
        3
    """
    prepared = prepare(sql, tables, multiplicity=multiplicity, partitions=partitions, rows=rows)
    return prepared.to_df()


def prepare(
    sql: str,
    tables: Mapping[str, DataFrame],
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int | None = None,
    rows: Mapping[str, int] | None = None,
) -> Evaluation:
    """The steps of `evaluate` one by one, for those who run them themselves.

    Example:
        The engines under ``mapPartitions`` instead of ``mapInArrow``::

            steps = ringview.spark.prepare(sql, tables)
            partials = steps.slots().rdd.mapPartitions(steps.partition.on_rows)
            result = steps.merge(spark.createDataFrame(partials, steps.partial_schema))
    """
    multiplicities = _multiplicities(multiplicity, tables)
    planner = Planner()
    for name, frame in tables.items():
        schema, refused = arrow_schema(frame.schema)
        planner.create_table(name, schema, multiplicities.get(name), refused)
    query = planner.query(sql)
    atoms = [atom["table"] for atom in query["atoms"]]
    if partitions is not None and partitions < 1:
        raise InvalidValueError(f"partitions must be at least 1, not {partitions}")
    if rows is not None and (missing := set(atoms) - set(rows)):
        raise UnknownTableError(f"rows: the number of rows of {sorted(missing)} is not given")
    if rows is None and len(set(atoms)) > 1 and not route.covers_all(query):
        rows = {name: tables[name].count() for name in set(atoms)}
    frame = tables[atoms[0]]
    use_this_python(frame.sparkSession)
    if partitions is None:
        partitions = _engines(frame, None if rows is None else sum(rows[atom] for atom in atoms))
    return Evaluation(query, dict(tables), multiplicities, planner, partitions, rows)


class Evaluation:
    """A query over DataFrames, ready to run.

    ``partition`` is what runs in each partition of ``slots()``, on Arrow batches as
    ``mapInArrow`` hands them over, or on rows (``partition.on_rows``).
    """

    def __init__(
        self,
        query: route.Query,
        tables: Mapping[str, DataFrame],
        multiplicities: Mapping[str, str],
        planner: Planner,
        partitions: int,
        rows: Mapping[str, int] | None,
    ) -> None:
        self._query = query
        self._partitions = partitions
        self.route = route.choose(query, rows, partitions)
        atoms = [atom["table"] for atom in query["atoms"]]
        self.tables: tuple[str, ...] = tuple(dict.fromkeys(atoms))
        self._multiplicities = [multiplicities.get(name) for name in atoms]
        # A relation of which no column is used still has rows to count.
        columns = [
            used or planner.schema(name).names[:1]
            for used, name in zip(route.needed(query), atoms, strict=True)
        ]
        self._schemas = tuple(
            pa.schema([planner.schema(name).field(c) for c in used])
            for used, name in zip(columns, atoms, strict=True)
        )
        self._frames = [
            frames.without_nulls(tables[name], self.route.columns, atom)
            for atom, name in enumerate(atoms)
        ]
        self._layout = Layout.of(self._schemas)
        self._result = planner.result(query)
        # A row of a join is made in one partition; groups may be made in several.
        self._whole = "bag" in query or (len(atoms) > 1 and self.route.separates(query))
        steps = split(query)
        if not self._whole:
            steps = split(query, floats(planner.result(steps.first)))
        self._split = steps
        runs = query if self._whole else self._split.first
        self._partial = planner.result(runs)
        renamed = [{**atom, "table": table_name(i)} for i, atom in enumerate(query["atoms"])]
        self.partition = Shipped(
            Partition({**runs, "atoms": renamed}, self._layout, self._schemas, self._partial)
        )

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(self.tables)}; {self.explain()})"

    @property
    def partial_schema(self) -> StructType:
        """The schema of what ``partition`` gives."""
        return spark_schema(self._partial)

    def slots(self) -> DataFrame:
        """The rows of all relations in the partitions that need them, in typed slots."""
        return frames.union_of_slots(
            self._frames,
            self._schemas,
            self._multiplicities,
            self._layout,
            self.route,
            self._partitions,
        )

    def merge(self, partials: DataFrame) -> DataFrame:
        """The result: ``partials`` added in the ring, group by group."""
        if self._whole:
            return partials
        keys = [sf.col(key) for key in self._split.keys]
        together = (
            partials.repartition(self._partitions, *keys) if keys else partials.repartition(1)
        )
        step = Shipped(Merge(self._split, self._partial, self._result))
        return together.mapInArrow(step, spark_schema(self._result))

    def to_df(self) -> DataFrame:
        """The result as a DataFrame; nothing runs until it is used."""
        return self.merge(self.slots().mapInArrow(self.partition, self.partial_schema))

    def explain(self) -> str:
        """How rows are routed.

        Example:
            ``routed by orderkey: o, l; broadcast: n; 8 partitions``
        """
        names = [atom["alias"] for atom in self._query["atoms"]]
        said = []
        if self.route.columns:
            variable = next(iter(self.route.columns.values()))
            routed = ", ".join(names[atom] for atom in self.route.columns)
            said.append(f"routed by {variable}: {routed}")
        if self.route.scattered is not None:
            said.append(f"anywhere: {names[self.route.scattered]}")
        if everywhere := self.route.broadcast(len(names)):
            said.append("broadcast: " + ", ".join(names[atom] for atom in everywhere))
        if len(names) > 1:
            said.append(f"{self._partitions} partitions")
        return "; ".join(said)


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
    return named


# What one engine takes in a fraction of a second, less than a task more costs.
_ROWS_AN_ENGINE = 100_000


def _engines(frame: DataFrame, rows: int | None) -> int:
    """How many engines are worth their tasks."""
    most = _shuffle_partitions(frame)
    here = cores(frame.sparkSession)
    if here is not None:
        most = min(most, here)
    return most if rows is None else max(1, min(most, -(-rows // _ROWS_AN_ENGINE)))


def _shuffle_partitions(frame: DataFrame) -> int:
    said = frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")
    # Some platforms say "auto" here.
    return int(said) if said is not None and said.isdigit() else 200
