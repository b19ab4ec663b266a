"""Where the state of a stream is; the handle of a query asks nothing else of a mode.

Invariant: one micro-batch runs at a time, and none when the state is let go; what a micro-batch
raised is kept as it was. Cost: a mode's own.
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
        """What is known of a micro-batch; None if it did not run here, or is long past."""
        return self._past.get(batch_id)

    @property
    def failure(self) -> BaseException | None:
        """What a micro-batch raised, and ended the stream."""
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
        """What is known of the last micro-batch, for the progress.

        Under "rows" how many came, and under "dead_letters" how many of these broke a contract, by
        table; under "late" how many keys came late; under "moved" the rows that sinks were told of,
        by view; "engine_seconds"; "state_bytes"; with a watermark "clock", and under "expired" how
        many rows left for their age, by table.
        """

    @abstractmethod
    def close(self) -> None:
        """Let the state go, once no micro-batch runs; twice does nothing."""

    @abstractmethod
    def _take(self, rows: DataFrame, batch_id: int) -> None: ...
