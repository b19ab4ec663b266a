"""What partitions begin with, beside the checkpoint: rows of static tables, or of a moved state.

    bases/p0, bases/p1, ..    the slices of a partition

Invariant: a file is there whole or not at all, and stays until a version that Spark has committed
holds a snapshot of its own. Cost: the rows, written once; read where a partition's first snapshot
is not whole yet.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from ringview.errors import StorageError
from ringview.whole import sync

_SCHEMA = pa.schema({"message": pa.large_binary()})


@dataclass(frozen=True)
class Bases:
    """The files of a stream, in a folder that all workers have mounted."""

    folder: Path

    def has(self, partition: int) -> bool:
        """Whether a partition begins with rows."""
        return self._path(partition).exists()

    def read(self, partition: int) -> list[bytes]:
        """The slices of a partition that begins with rows.

        Raises:
            StorageError: They are not there.
        """
        path = self._path(partition)
        try:
            with pa.ipc.open_file(path) as reader:
                found: list[bytes] = reader.read_all()["message"].to_pylist()
        except OSError as problem:
            raise StorageError(
                f"cannot read {path}, the rows that partition {partition} begins with: the "
                "checkpoint must be in a folder that all workers have mounted, and Spark's part "
                f"and ringview's part of it must be of one time: {problem}"
            ) from problem
        return found

    def write(self, partition: int, slices: Sequence[bytes]) -> None:
        """Let a partition begin with rows; a task that runs twice writes them twice."""
        path = self._path(partition)
        draft = self.folder / f".{uuid4().hex}.part"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                with pa.ipc.new_file(file, _SCHEMA) as writer:
                    for message in slices:
                        writer.write_batch(pa.record_batch([[message]], schema=_SCHEMA))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            sync(self.folder)
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem}") from problem

    def remove(self, partition: int) -> None:
        """Let the rows of a partition go, if they are there."""
        self._path(partition).unlink(missing_ok=True)

    def _path(self, partition: int) -> Path:
        return self.folder / f"p{partition}"
