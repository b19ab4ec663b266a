"""The state of a stream, with all methods of a mode that the handle of a query calls.

Invariant: one micro-batch runs at a time, and none when the state is released; the error of a
micro-batch is kept as it was. Cost: a mode's own.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from ringview.sinks.protocol import Sink
from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.plan import Plan
from ringview.view import View

OBSERVED = "ringview"
"""The name of the metrics that Spark itself gathers, in `observedMetrics` of its progress."""

_PAST = 64


class State(ABC):
    """The state of a stream, from before it starts until it is closed."""

    def __init__(
        self,
        plan: Plan,
        checkpoint: Checkpoint,
        sink: Sink | None,
        letters: Sink | None = None,
    ) -> None:
        self._plan, self._checkpoint, self._sink = plan, checkpoint, sink
        self._letters = letters
        self._lock = threading.Lock()
        self._metrics: dict[str, Any] = {}
        self._past: dict[int, dict[str, Any]] = {}
        self._failure: BaseException | None = None
        self._last = -1

    @property
    def batch_id(self) -> int | None:
        """The last micro-batch that is in the state; None before the first."""
        return None if self._last < 0 else self._last

    def metrics_of(self, batch_id: int) -> dict[str, Any] | None:
        """Metrics of a micro-batch; None if it did not run here, or is long past."""
        return self._past.get(batch_id)

    @property
    def failure(self) -> BaseException | None:
        """The error of a micro-batch that ended the stream."""
        return self._failure

    def take(self, rows: DataFrame, batch_id: int) -> None:
        """Let the state take a micro-batch, and hand on what it moved."""
        with self._lock:
            try:
                self._take(rows, batch_id)
                self._past[batch_id] = self.metrics()
                self._past.pop(batch_id - _PAST, None)
            except BaseException as raised:
                self._failure = raised
                raise

    @abstractmethod
    def writer(self) -> DataStreamWriter:
        """The stream with what happens to its rows, ready for a checkpoint and a trigger."""

    @abstractmethod
    def view(self, name: str) -> View:
        """A view as it is after the last micro-batch; raises UnknownViewError."""

    @abstractmethod
    def metrics(self) -> dict[str, Any]:
        """Metrics of the last micro-batch, for the progress.

        By table "rows" counts the rows received, "dead_letters" those that broke a contract, "late"
        the keys of late changes. "moved" counts the rows that sinks were given, by view;
        "engine_seconds"; "state_bytes"; with a watermark "clock", and "expired" counts the rows
        that left for their age, by table.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the state, once no micro-batch runs; twice does nothing."""

    @abstractmethod
    def _take(self, rows: DataFrame, batch_id: int) -> None: ...
