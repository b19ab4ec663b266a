"""What every mode of keeping a stream's state can do; the handle of a query asks nothing else."""

from __future__ import annotations

from typing import Any, Protocol

from pyspark.sql.streaming.readwriter import DataStreamWriter

from ringview.view import View


class State(Protocol):
    """Where the state of a stream is, from before it starts until it is closed."""

    @property
    def batch_id(self) -> int | None:
        """The last micro-batch that is in the state; None before the first."""

    @property
    def failure(self) -> BaseException | None:
        """What ended the stream on this side, as it was raised."""

    def writer(self) -> DataStreamWriter:
        """The stream with what happens to its rows, ready for a checkpoint and a trigger."""

    def view(self, name: str) -> View:
        """A view as it is after the last micro-batch; raises UnknownViewError."""

    def metrics(self) -> dict[str, Any]:
        """What is known of the last micro-batch, for the progress."""

    def close(self) -> None:
        """Let the state go, once no micro-batch runs; twice does nothing."""
