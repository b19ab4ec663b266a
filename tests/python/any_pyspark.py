"""Helpers of tests on every PySpark that ringview supports: Arrow in and out, and marks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from ringview.spark.releases import STATE, arrow_table, release
from ringview.spark.types import spark_schema

__all__ = ["HAS_STATE", "arrow_table", "from_arrow", "needs_state"]

HAS_STATE = release() >= STATE

needs_state = pytest.mark.skipif(not HAS_STATE, reason='mode="partitioned" needs a later PySpark')


def from_arrow(spark: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """A DataFrame with the rows of a table."""
    if release() >= (4, 0):
        return spark.createDataFrame(table, schema) if schema else spark.createDataFrame(table)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return spark.createDataFrame(rows, schema or spark_schema(table.schema))
