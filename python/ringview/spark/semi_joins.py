"""Semi-joins by Spark before rows move: large tables lose rows that no row of a small one joins.

A small table whose filter Spark can evaluate is broadcast; a large one that every reading joins
with it keeps the rows that find a partner there. Invariant: rows that are left out are in no join.
Cost: the small table is read once more, with its filter; whether a table is small is Spark's
estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from ringview import _native
from ringview.spark import frames, options
from ringview.spark.stage import Partner, Reading, Stage
from ringview.spark.types import join_alike

# A semi-join costs a job; fewer rows reach the engine as fast.
_LARGE = 100_000
# Rows for each of the small table.
_TIMES = 10
_SMALL = 200_000


def reduced(stage: Stage, given: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The rows of tables that the rows of small tables leave, for a stage of one cell."""
    found = dict(given)
    if not stage.gathered:
        return found
    schemas = {relation.name: relation.schema for relation in stage.relations}
    tables = {relation.name: relation.table for relation in stage.relations}
    rows: dict[str, int | None] = {}

    def rows_of(table: str) -> int | None:
        if table not in rows:
            rows[table] = options.estimated([given[table]])
        return rows[table]

    for name, table in tables.items():
        shared = _shared([each for each in stage.readings if each.relation == name])
        if not shared or [*tables.values()].count(table) > 1 or (rows_of(table) or 0) < _LARGE:
            continue
        for partner in shared:
            few, many = rows_of(tables[partner.relation]), rows_of(table)
            kinds = schemas[name].field(partner.column).type, _kind(schemas, partner)
            condition = _native.spark_filter(partner.filter, schemas[partner.relation])
            if condition is None or few is None or many is None or not _alike(*kinds):
                continue
            if few <= _SMALL and few * _TIMES <= many:
                small = given[tables[partner.relation]].where(condition)
                found[table] = _semi_join(found[table], partner, small)
    return found


def _shared(readings: Sequence[Reading]) -> list[Partner]:
    """The partners that every reading of a relation has."""
    if not readings:
        return []
    first, *others = readings
    return [one for one in first.partners if all(one in other.partners for other in others)]


def _kind(schemas: Mapping[str, pa.Schema], partner: Partner) -> pa.DataType:
    return schemas[partner.relation].field(partner.key).type


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether Spark finds the partners that an engine finds."""
    return join_alike(one, other) and not pa.types.is_floating(one)


def _semi_join(rows: DataFrame, partner: Partner, small: DataFrame) -> DataFrame:
    # The two may be of one DataFrame, so no column may have the name of the key.
    key = frames.free("partner", rows.columns)
    keys = small.select(frames.column(partner.key).alias(key))
    return rows.join(sf.broadcast(keys), frames.column(partner.column) == sf.col(key), "left_semi")
