"""The protocol of a sink, a target of the changes of views.

A sink is called as `sink(view, batch, changes)` for each batch that moved a view. After a crash it
may be called again for the last batch that it had, with the same rows: one that replaces a batch of
the same number, or notes its number in one transaction with its rows, has each change exactly once.
Each sender, and each checkpoint of Spark, counts its own batches: a sink that has
`begin(owner, views, is_new)` gets the identity of the counter first, at each start; the `close()`
of a sink that has it is called when no more batches follow for now.

Cost: none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Sink = Callable[[str, int, "pa.Table"], object]
"""View, batch, and the rows that moved, with a last column `multiplicity` as `View.changes` has."""


def begin(sink: Sink, owner: str, views: Sequence[str], is_new: bool) -> None:
    """Call `begin` of a sink that has it with the identity that counts its batches.

    Raises:
        Exception: What the sink raised.
    """
    asks = getattr(sink, "begin", None)
    if asks is not None:
        asks(owner, list(views), is_new)


def close(sink: Sink) -> None:
    """Call `close` of a sink that has it: no more batches follow for now."""
    asks = getattr(sink, "close", None)
    if asks is not None:
        asks()
