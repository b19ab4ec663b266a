"""A stream in partitions with a clock, that is killed; run as `partition_crashes` is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import partition_crashes as crashes
import timed_streams
from timed_streams import VIEWS, batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from ringview.spark.streaming import Stream

SEED = 3
"""Of the rows."""


def arrive(folder: Path, number: int) -> None:
    """The files of a micro-batch."""
    *_, (_, changes) = batches(SEED, number + 1)
    timed_streams.arrive(folder, number, changes)


def asked(spark: SparkSession, folder: Path) -> Stream:
    """The view over the streams."""
    return timed_streams.asked(spark, folder, {"both": VIEWS["both"]})


if __name__ == "__main__":
    crashes.main(asked)
