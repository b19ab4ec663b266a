"""Limit of the bytes that the engine of a partition may take.

Invariant: without a number of the user's, Spark's own settings decide, and where they say nothing
there is no limit. Cost: none of Spark's jobs.
"""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from ringview.convert.sizes import size
from ringview.errors import OutOfMemoryError

_OVERHEAD = "spark.executor.memoryOverhead"
_INSTANCES = "spark.executor.instances"
# The process that has the engines, with Python and its libraries.
_PROCESS = 300 << 20
# The rows of a micro-batch on their way, and what moved.
_ENGINES = 0.75
_POWERS = {"": 2, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def limit_of(spark: SparkSession, partitions: int, given: int | str | None) -> int | None:
    """The bytes of each engine; None if nothing limits them.

    By default three quarters of `spark.executor.memoryOverhead` without the process, shared by the
    partitions of an executor. On one machine, and where it is not set, there is no limit.

    Raises:
        InvalidValueError: What is given is no size.
    """
    if given is not None:
        return size(given)
    overhead = spark.conf.get(_OVERHEAD, None)
    if overhead is None or str(spark.sparkContext.master).startswith("local"):
        return None
    said = spark.conf.get(_INSTANCES, None)
    return share(_bytes(overhead), partitions, int(said) if said else _executors(spark))


def share(overhead: int, partitions: int, executors: int) -> int | None:
    """The part of one engine of what an executor has beside its heap; None if that is too little.

    >>> share(4 << 30, partitions=16, executors=4) // 2**20
    711
    """
    left = int((overhead - _PROCESS) * _ENGINES)
    return None if left <= 0 else left // -(-partitions // max(1, executors))


def advised(error: OutOfMemoryError, limit: int) -> OutOfMemoryError:
    """The error of an engine that has no room, with what to do about it."""
    return OutOfMemoryError(
        f"a partition has {limit:,} bytes: {error}; give each more by memory_limit= of "
        f"write_stream and {_OVERHEAD}, or have more partitions by Stream.repartition"
    )


def _bytes(said: str) -> int:
    """The bytes of a size as Spark has it: MiB where no unit is said."""
    match = re.fullmatch(r"\s*(\d+)\s*([bkmgtp]?)b?\s*", said.lower())
    return 0 if match is None else int(match[1]) << (10 * _POWERS[match[2]])


def _executors(spark: SparkSession) -> int:
    """Number of executors now; the driver is counted in addition to them."""
    # PySpark's own tracker has only stages and jobs.
    infos = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return len(infos) - 1
