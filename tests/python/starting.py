"""Streams that are started again where a busy machine is too slow for Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from ringview.spark.streaming import StreamQuery


def through(start: Callable[[], StreamQuery], do: Callable[[StreamQuery], Any]) -> Any:
    """Do something with a stream. Spark gives a new worker ten seconds to say that it is there, and
    ends the stream where a busy machine needs more: then it is started again."""
    while True:
        with start() as q:
            try:
                return do(q)
            except PySparkException as raised:
                if "failed to connect back" not in str(raised):
                    raise
