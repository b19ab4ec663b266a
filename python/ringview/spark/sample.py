"""A uniform sample of a join of DataFrames.

Rows are sent to cells as for `evaluate`, so each row of the join is made in exactly one; each cell
draws k rows of its part, and counts it. These counts decide the number of rows of each part
(multivariate hypergeometric), which are drawn from those that it drew.

Invariant: every set of k rows of the join has equal chances. The same rows, seed and number of
partitions give the same sample, whatever the order of rows, however often a task runs, on every
machine. Cost: one shuffle of the needed columns, an index of each cell's rows, and one task that
gets k rows of each cell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame

from ringview._native import check_joins
from ringview.convert.sizes import whole
from ringview.errors import UnsupportedError
from ringview.queries import Parameters
from ringview.spark import frames, options
from ringview.spark.drawn import Draw, MergeDrawn, drawn_schema
from ringview.spark.planning import Planner, catalog_of, tables_below
from ringview.spark.route import Asked, choose, covers_all
from ringview.spark.session import use_this_python
from ringview.spark.ship import Shipped
from ringview.spark.stage import Wanted, stage_of
from ringview.spark.types import arrow_schema, spark_schema

_NAME = "sample"


def sample(
    sql: str,
    tables: Mapping[str, DataFrame],
    k: int,
    seed: int,
    *,
    multiplicity: str | Mapping[str, str] | None = None,
    partitions: int = 8,
    rows: Mapping[str, int] | None = None,
    parameters: Parameters | None = None,
    dialect: str = "duckdb",
) -> DataFrame:
    """Uniform rows of the join that ``sql`` shows: k without replacement, or all if they are fewer.

    A row that the join has several times may be drawn as often. Each sample is drawn afresh:
    nothing is kept.

    Args:
        sql: ``SELECT`` of columns of an inner join, as for `ringview.Database.create_sample`, with
            filters on single tables.
        tables: The DataFrame of every table that ``sql`` names.
        k: How many rows.
        seed: Of the random numbers, 0 to 2^64 - 1.
        multiplicity: The integer column that says how often a row is there (negative: it is
            deleted), for all tables or for those named.
        partitions: Into how many parts the join is cut, at most; as many as Spark has cores keep
            all busy. With another number the same seed draws another sample, as uniform, so the
            number does not follow the machine.
        rows: About how many rows each table has, if known: saves counting them where no column is
            in all tables. The cut, and so the sample, follows these numbers.
        parameters: As for `evaluate`.
        dialect: As there.

    Raises:
        InvalidValueError: ``k`` or ``seed`` is out of range; from a task, a row is deleted more
            often than it is inserted.
        UnsupportedError: ``sql`` shows no rows of a join but groups or distinct rows, or compares
            columns of several tables.

    Example:
        >>> sample("SELECT * FROM r JOIN s USING (a)", {"r": r, "s": s}, 5, 7)  # doctest: +SKIP
        DataFrame[a: bigint, b: bigint, c: bigint]
    """
    whole("k", k, least=1)
    whole("seed", seed)
    options.check_partitions(partitions)
    for name, frame in tables.items():
        options.check_frame(name, frame)
    columns = {name: arrow_schema(frame.schema) for name, frame in tables.items()}
    schemas = {name: schema for name, (schema, _) in columns.items()}
    multiplicities = options.multiplicities(multiplicity, schemas)
    planner = Planner(None, parameters, dialect)
    for name, (schema, refused) in columns.items():
        planner.create_table(name, schema, multiplicities.get(name), refused)
    query = planner.queries({_NAME: sql})[_NAME]
    check_joins(json.dumps(query), "a sample")
    if "bag" not in query:
        raise UnsupportedError(
            "a sample is of the rows of a join, and this shows groups or distinct rows: leave out "
            "GROUP BY, aggregates and DISTINCT, or evaluate() it and use DataFrame.sample"
        )
    if "condition" in query:
        raise UnsupportedError(
            "parts of a sample are put together by how many rows each has, and with a condition "
            "that compares columns of several tables, or with subqueries, that is not known: "
            "sample the join without the condition, and filter the sample"
        )
    read = {name: tables[name] for name in tables_below(query)}
    catalog = catalog_of(query, planner.schemas)
    if rows is None and len(read) > 1 and not covers_all(query, catalog):
        rows = options.counted(read)
    use_this_python(next(iter(read.values())).sparkSession)
    # By value alone: rows that stay where they lie, or values found to be frequent by looking at
    # some of them, would make the sample follow the order of rows.
    route = choose(Asked(query, catalog, rows, partitions, splits=False))
    schema = planner.result(query, planner.schemas)
    stage = stage_of(
        [Wanted(_NAME, query, catalog, route, schema)], planner.schemas, multiplicities
    )
    draw = Draw(stage.relations, stage.layout, stage.results[0].query, schema, k, seed)
    drawn = frames.in_cells(stage, read).mapInArrow(
        Shipped(draw), spark_schema(drawn_schema(schema))
    )
    merge = Shipped(MergeDrawn(schema, k, seed))
    return drawn.repartition(1).mapInArrow(merge, spark_schema(schema))
