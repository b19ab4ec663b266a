"""DataFrames of Spark from Arrow and back, on every PySpark that ringview supports."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from ringview.spark.releases import arrow_table, release
from ringview.spark.types import spark_schema

__all__ = ["arrow_table", "from_arrow"]


def from_arrow(spark: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """A DataFrame with the rows of a table."""
    if release() >= (4, 0):
        return spark.createDataFrame(table, schema) if schema else spark.createDataFrame(table)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return spark.createDataFrame(rows, schema or spark_schema(table.schema))
