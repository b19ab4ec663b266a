"""The processor with state that Spark calls, once a partition and micro-batch.

Invariant: as `ship`, this module is pickled by value, so it says nothing that needs ringview in the
worker before it has looked for it. Cost: that of what it ships.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ringview.spark.ship import Shipped

MOVED = "partition int, view int, message binary, counts array<long>"
"""What a processor gives: changes of a view by its number; under -1 what happened, as numbers."""

META = "token string, has_base boolean, slice int, rows array<long>, log array<long>"
"""A version of an engine: `segments.Meta`, with its spans as lists."""

KEY, SEGMENT = "kind string, number long", "batch long, message binary"
"""Of segments."""


class ShippedProcessor(StatefulProcessor):
    """A processor that finds ringview in the worker; it is pickled by value."""

    def __init__(self, processor: Any) -> None:
        self._shipped = Shipped(processor)

    def init(self, handle: Any) -> None:
        """Called in each task, and once on the driver's machine for the schemas."""
        self._meta = handle.getValueState("meta", META)
        self._segments = handle.getMapState("segments", KEY, SEGMENT)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """A micro-batch of one partition."""
        yield from self._shipped._found()(self._meta, self._segments, key[0], rows)


_by_value: Any = cloudpickle.register_pickle_by_value
_by_value(sys.modules[__name__])
