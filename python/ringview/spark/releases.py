"""Differences between the releases of PySpark that are supported.

Invariant: a caller gets the same rows, with the same types, from each. Cost: that of the call.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame

from ringview.errors import UnsupportedError

BATCH, CONNECT, STATE = (3, 5), (4, 0), (4, 1)
"""The first releases that evaluate queries, that do over Spark Connect, and that keep the state of
streams in partitions."""


def release() -> tuple[int, ...]:
    """Major and minor number of the PySpark that is installed.

    >>> len(release())
    2
    """
    return tuple(map(int, pyspark.__version__.split(".")[:2]))


def require(least: tuple[int, ...], what: str, instead: str) -> None:
    """Refuse what an older PySpark has not.

    Args:
        least: The first release that has it.
        what: What needs it, as the subject of a sentence.
        instead: What to do with the one that is installed.

    Raises:
        UnsupportedError: An older one is installed.

    >>> require((3, 5), "a join", "none")
    """
    if release() < least:
        raise UnsupportedError(
            f"{what} needs PySpark {'.'.join(map(str, least))} or later, and {pyspark.__version__} "
            f"is installed: pip install --upgrade 'ringview[spark]', or {instead}"
        )


def arrow_table(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame, on the driver: one job."""
    # Looked up in the class: an instance takes a column of this name for an attribute.
    if hasattr(type(frame), "toArrow"):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    # PySpark 3.5 has nothing public that keeps types and NULLs; this is what 4.0 made public.
    older: Any = frame
    schema = to_arrow_schema(frame.schema)
    batches = older._collect_as_arrow()
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
