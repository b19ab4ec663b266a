"""Metrics of micro-batches, for users who have Spark's progress and not the handle of a stream.

Invariant: the metrics of a micro-batch equal those of `StreamQuery.progress`. Cost: a look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from pyspark.sql.streaming.listener import StreamingQueryProgress

from ringview.spark.streaming.state import State

_states: WeakValueDictionary[str, State] = WeakValueDictionary()


def watch(run_id: str, state: State) -> None:
    """Let metrics of a stream be found by the identity that Spark gives to a start of it."""
    _states[run_id] = state


def metrics(progress: StreamingQueryProgress | Mapping[str, Any]) -> dict[str, Any] | None:
    """Ringview's metrics of a micro-batch, found by Spark's progress of it.

    For a `StreamingQueryListener`, which gets the progress of all streams of a session: its
    ``event.progress``, or ``query.lastProgress``.

    Args:
        progress: Spark's; before PySpark 4.0 ``query.lastProgress`` is a dict.

    Returns:
        As ``q.progress["ringview"]``: "batch_id"; "rows", "late" and "dead_letters" by table;
        "moved" by view; "engine_seconds", "state_bytes"; with a watermark "clock" and "expired";
        with mode="partitioned" "engines" and "partitions". None if the stream is none of
        ringview's in this process, the trigger had no micro-batch, or it was more than 64 of them
        ago.

    Complexity: O(1).

    Example:
        ::

            class Report(StreamingQueryListener):
                def onQueryProgress(self, event):
                    found = ringview.spark.metrics(event.progress)
                    if found is not None:
                        print(found["rows"], found["dead_letters"])
    """
    if isinstance(progress, Mapping):
        run_id, batch_id = progress["runId"], progress["batchId"]
    else:
        run_id, batch_id = progress.runId, progress.batchId
    state = _states.get(str(run_id))
    return None if state is None else state.metrics_of(batch_id)
