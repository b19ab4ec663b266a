"""What a sink is: where the changes of views go.

A sink is called as `sink(view, batch, changes)` for each batch that moved a view. After a crash it
may be called again for the last batch that it had, with the same rows: one that puts a batch in the
place of its namesake, or notes its number in one transaction with its rows, has each change exactly
once. Batches are counted anew by each sender, and each checkpoint of Spark: a sink that has
`begin(owner, views, is_new)` gets the identity of who counts first, at each start; one that has
`close()` is told when nothing more comes for now.

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
    """Tell a sink who counts the batches that it will be given, if it asks for that.

    Raises:
        Exception: What the sink raised.
    """
    asks = getattr(sink, "begin", None)
    if asks is not None:
        asks(owner, list(views), is_new)


def close(sink: Sink) -> None:
    """Tell a sink that nothing more comes for now, if it asks for that."""
    asks = getattr(sink, "close", None)
    if asks is not None:
        asks()
