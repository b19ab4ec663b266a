"""A stage over DataFrames: rows to cells, an engine a cell, parts added up.

Invariant: nothing runs until a DataFrame is used. Cost: one shuffle of rows, and one of parts where
groups are found in several cells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame

from ringview.spark import frames, rows
from ringview.spark.rows import RowStage
from ringview.spark.semi_joins import reduced
from ringview.spark.stage import Stage
from ringview.spark.types import spark_schema


def run(
    stage: Stage | RowStage,
    tables: Mapping[str, DataFrame],
    kept: list[DataFrame] | None = None,
    shared: Collection[str] = (),
) -> dict[str, DataFrame]:
    """Results of a stage over DataFrames, by names.

    Frames that several results share persist, and so do those that several stages read, the names
    of which are ``shared``, if there is a list for it, ``kept``.
    """
    if isinstance(stage, RowStage):
        found = rows.run(stage, tables)
        return {stage.name: _persisted(found, kept if stage.name in shared else None)}
    slots = frames.in_cells(stage, reduced(stage, tables))
    found = slots.mapInArrow(stage.partition, spark_schema(stage.schema))
    if stage.output is None:
        name = stage.wanted[0].name
        return {name: _persisted(merged(stage, 0, found), kept if name in shared else None)}
    found = _persisted(found, kept)
    return {
        one.name: merged(stage, number, frames.of_result(stage, number, found))
        for number, one in enumerate(stage.wanted)
    }


def _persisted(found: DataFrame, kept: list[DataFrame] | None) -> DataFrame:
    if kept is None:
        return found
    kept.append(found.persist())
    return kept[-1]


def finished(stage: Stage | RowStage, found: DataFrame) -> DataFrame:
    """A view that a stage found, in its order if it has one."""
    return rows.finished(stage, found) if isinstance(stage, RowStage) else found


def merged(stage: Stage, number: int, partials: DataFrame) -> DataFrame:
    """A result of a stage: parts of groups added in the ring, whole ones as they are."""
    one = stage.wanted[number]
    merge = stage.merge(number)
    if merge is None:
        return partials
    keys = [frames.identifier(key) for key in one.keys]
    together = partials.repartition(stage.cells if keys else 1, *keys)
    # The step takes columns by place; PySpark looks them up by name, where a dot means a field.
    together = together.toDF(*(f"column{at}" for at in range(len(partials.columns))))
    return together.mapInArrow(merge, spark_schema(one.schema))


def stream(table: pa.Table) -> bytes:
    """Rows as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
