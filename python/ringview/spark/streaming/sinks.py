"""Where the changes of views go.

A sink is called as ``sink(view, batch_id, changes)`` for each view that a micro-batch moved. After
a crash it may be called again for a batch that it had, with the same rows: one that puts a batch in
the place of its namesake has each change exactly once. Batches count from 0 in each checkpoint, so
a namesake is of the same checkpoint: a sink that has ``begin(checkpoint, views, is_new)`` gets the
checkpoint's identity first, at each start.

Cost: that of writing the changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from ringview.errors import InvalidValueError, StorageError, UnknownViewError, did_you_mean
from ringview.spark.streaming.checkpoint import CheckpointError, write

Sink = Callable[[str, int, pa.Table], object]
"""View, batch, and the rows that moved, with a last column `multiplicity` as `View.changes` has."""

_OWNER = "_checkpoint"


class ParquetSink:
    """A folder with a file for each view and batch: ``folder/view/000000000007.parquet``.

    A file is there whole or not at all, and a batch that comes again takes its place. A batch that
    did not move a view has no file of it. The folder of a view holds changes of one checkpoint, by
    whose identity it is owned: another checkpoint counts its batches anew, and would replace some.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sink = ParquetSink(folder)
    ...     for attempt in range(2):
    ...         sink("v", 7, pa.table({"n": [3], "multiplicity": [1]}))
    ...     sink.path("v", 7).name
    ...     sink.read("v").to_pylist()
    '000000000007.parquet'
    [{'n': 3, 'multiplicity': 1}]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, view: str, batch_id: int) -> Path:
        """The file of a view and a batch."""
        return self.folder / quote(view, safe=" ") / f"{batch_id:012d}.parquet"

    def begin(self, checkpoint: str, views: Sequence[str], is_new: bool) -> None:
        """Take the folders of these views for a checkpoint, or find that they are its own.

        Args:
            checkpoint: The checkpoint's identity.
            views: What the sink will be told of.
            is_new: Whether it was told of none of the checkpoint's batches yet.

        Raises:
            CheckpointError: One holds changes of another checkpoint.
            StorageError: It cannot be read or written.
        """
        for view in views:
            folder = self.path(view, 0).parent
            owner = folder / _OWNER
            try:
                if owner.exists():
                    is_own = owner.read_text().strip() == checkpoint
                else:
                    is_own = not is_new or not any(folder.glob("*.parquet"))
                if not is_own:
                    raise CheckpointError(
                        f"{folder} holds changes of another checkpoint, some of which batches that "
                        "count from 0 anew would replace; remove it, or give the sink another "
                        "folder, or start with the checkpoint that wrote it"
                    )
                if not owner.exists():
                    folder.mkdir(parents=True, exist_ok=True)
                    write(owner, checkpoint.encode())
            except OSError as problem:
                raise StorageError(f"cannot write {owner}: {problem}") from problem

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        """Write the changes of a view in a batch."""
        path = self.path(view, batch_id)
        buffer = pa.BufferOutputStream()
        pq.write_table(changes, buffer)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, buffer.getvalue())
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem}") from problem

    def read(self, view: str) -> pa.Table:
        """All changes of a view, batch after batch."""
        files = sorted(self.path(view, 0).parent.glob("*.parquet"))
        if not files:
            raise UnknownViewError(f'{self.folder} has no changes of a view "{view}"')
        return pa.concat_tables([pq.read_table(file) for file in files])

    def __repr__(self) -> str:
        return f"ParquetSink({str(self.folder)!r})"


def sink_of(given: object, views: Mapping[str, str]) -> Sink | None:
    """One sink for all views, from what a user gives: a function, or functions by view."""
    if given is None or callable(given):
        return given
    if not isinstance(given, Mapping):
        raise InvalidValueError(
            f"sink={given!r} is no sink; give a function of view, batch and changes, a "
            "ParquetSink, or a dict of them by view"
        )
    by_view: dict[str, Sink] = dict(given)
    for name, sink in by_view.items():
        if name not in views:
            raise UnknownViewError(
                f'sink: there is no view "{name}" in views{did_you_mean(name, views)}'
            )
        if not callable(sink):
            raise InvalidValueError(f'sink: that of view "{name}" is no function but {sink!r}')

    return _ByView(by_view)


def begin(sink: Sink, checkpoint: str, views: Sequence[str], is_new: bool) -> None:
    """Tell a sink of the checkpoint whose batches it will be told of, if it asks for that.

    Raises:
        Exception: What the sink raised.
    """
    asks = getattr(sink, "begin", None)
    if asks is not None:
        asks(checkpoint, list(views), is_new)


class _ByView:
    """Sinks by view; views without one are not told of."""

    def __init__(self, sinks: Mapping[str, Sink]) -> None:
        self._sinks = sinks

    def begin(self, checkpoint: str, views: Sequence[str], is_new: bool) -> None:
        told = list({id(sink): sink for sink in self._sinks.values()}.values())
        for sink in told:
            own = [view for view in views if self._sinks.get(view) is sink]
            begin(sink, checkpoint, own, is_new)

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        if view in self._sinks:
            self._sinks[view](view, batch_id, changes)
