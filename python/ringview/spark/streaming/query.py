"""The handle of a stream that runs.

Invariant: the error that ended a stream is raised unchanged, in ringview's own class where ringview
raised it. Cost: a reader waits for the transaction that runs, no longer.
"""

from __future__ import annotations

import json
from typing import Any, Self

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from ringview.spark.streaming.state import State
from ringview.view import View


class StreamQuery:
    """A stream that runs; ``q["view"]`` is a view as it is after the last micro-batch.

    The end of a `with` block stops it.
    """

    def __init__(self, query: StreamingQuery, state: State, views: list[str]) -> None:
        self._query = query
        self._state = state
        self._views = views

    def __getitem__(self, view: str) -> View:
        """A view by its name; raises UnknownViewError, and RingviewError once stopped."""
        return self._state.view(view)

    @property
    def views(self) -> list[str]:
        """The names of the views."""
        return list(self._views)

    @property
    def query(self) -> StreamingQuery:
        """Spark's own handle."""
        return self._query

    @property
    def batch_id(self) -> int | None:
        """The last micro-batch that is in the views; None before the first."""
        return self._state.batch_id

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return bool(self._query.isActive)

    @property
    def exception(self) -> BaseException | None:
        """The error that ended it; None while it runs, and if it was stopped."""
        if self.is_active:
            return None
        raised = self._query.exception()
        return None if raised is None else self._state.failure or raised

    @property
    def progress(self) -> dict[str, Any] | None:
        """Spark's progress of the last trigger; under "ringview", what is known of the views."""
        last = self._query.lastProgress
        if last is None:
            return None
        # A dict before PySpark 4.0.
        found: dict[str, Any] = last if isinstance(last, dict) else json.loads(last.json)
        return {**found, "ringview": self._state.metrics()}

    def process_all_available(self) -> None:
        """Wait until all that is there now is in the views and in the sink.

        Raises:
            Exception: What ended the stream.
        """
        self._waiting(self._query.processAllAvailable)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until it ends, at most so many seconds; whether it has.

        Raises:
            Exception: What ended the stream.
        """
        if timeout is None:
            self._waiting(self._query.awaitTermination)
            return True
        # Spark takes parts of a second too, and says that it takes integers.
        wait: Any = self._query.awaitTermination
        return bool(self._waiting(lambda: wait(timeout)))

    def stop(self) -> None:
        """End it; a micro-batch that runs is done whole, or not at all. Twice does nothing.

        The views cannot be read any more; a stream with the same checkpoint continues with them.
        """
        self._query.stop()
        self._state.close()

    def __enter__(self) -> Self:
        """The handle itself; the end of the block stops the stream."""
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        said = "runs" if self.is_active else "has ended"
        return f"StreamQuery({', '.join(self._views)}; batch {self.batch_id}, {said})"

    def _waiting(self, wait: Any) -> Any:
        try:
            return wait()
        except PySparkException as raised:
            failure = self._state.failure
            if failure is None or self.is_active:
                raise
            raise failure from raised
