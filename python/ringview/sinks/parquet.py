"""Changes of views as files of Parquet.

Invariant: a file is there whole or not at all, and a batch has one. Cost: that of writing it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..atomic_write import write
from ..errors import CheckpointError, StorageError, UnknownViewError

if TYPE_CHECKING:
    import pyarrow as pa

_OWNER = "_checkpoint"


class ParquetSink:
    """A folder with a file for each view and batch: ``folder/view/000000000007.parquet``.

    A file is there whole or not at all, and a repeated batch replaces its file. A batch that did
    not move a view has no file of it. The folder of a view holds changes of one owner, a sender or
    a checkpoint of Spark: another one counts its own batches, and would replace some.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from ringview.sinks import ParquetSink
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

    def begin(self, owner: str, views: Sequence[str], is_new: bool) -> None:
        """Take the folders of these views for who counts the batches, or find that it did.

        Args:
            owner: The identity of a checkpoint, or of a sender.
            views: The views whose changes the sink will be given.
            is_new: Whether it was given none of the owner's batches yet.

        Raises:
            CheckpointError: One holds changes of another owner.
            StorageError: It cannot be read or written.
        """
        for view in views:
            folder = self.path(view, 0).parent
            note = folder / _OWNER
            try:
                if note.exists():
                    is_own = note.read_text().strip() == owner
                else:
                    is_own = not is_new or not any(folder.glob("*.parquet"))
                if not is_own:
                    raise CheckpointError(
                        f"{folder} holds changes of another checkpoint, some of which batches that "
                        "count anew would replace; remove it, or give the sink another folder, or "
                        "start with the database or the checkpoint that wrote it"
                    )
                if not note.exists():
                    folder.mkdir(parents=True, exist_ok=True)
                    write(note, owner.encode())
            except OSError as problem:
                raise StorageError(f"cannot write {note}: {problem}") from problem

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        """Write the changes of a view in a batch."""
        import pyarrow as pa
        import pyarrow.parquet as pq

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
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = sorted(self.path(view, 0).parent.glob("*.parquet"))
        if not files:
            raise UnknownViewError(f'{self.folder} has no changes of a view "{view}"')
        return pa.concat_tables([pq.read_table(file) for file in files])

    def __repr__(self) -> str:
        return f"ParquetSink({str(self.folder)!r})"
