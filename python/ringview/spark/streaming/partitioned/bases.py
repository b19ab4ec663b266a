"""What partitions begin with: rows of static tables, or of a state that was moved, as slices.

They lie beside the checkpoint: in files of a folder that the workers have mounted, or where Spark
alone can read; then the driver sends them to the workers.

    g1/bases/p0, g1/bases/p1, ..     the slices of a partition, in a folder
    g1/bases/part-..                 those of all partitions, as Spark writes them elsewhere

Invariant: slices of a partition are there whole or not at all, and stay until a version that Spark
has committed holds a snapshot of its own. Cost: the rows, written once, and read where a
partition's first snapshot is not whole yet; those that are sent go through the driver's memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa

from ringview.errors import StorageError
from ringview.whole import sync

SENT = "partition int, message binary"
"""The slices of all partitions as rows."""

_SCHEMA = pa.schema({"message": pa.large_binary()})


class Bases(Protocol):
    """What the partitions of a stream begin with; pickled for the way to workers."""

    def read(self, partition: int, is_needed: bool) -> Sequence[bytes] | None:
        """The slices of a partition; None if it begins with nothing.

        Raises:
            StorageError: They are not there, and needed.
        """

    def remove(self, partition: int) -> None:
        """Let those of a partition go, if they are there."""


@dataclass(frozen=True)
class FileBases:
    """In a folder that all workers have mounted."""

    folder: Path

    def read(self, partition: int, is_needed: bool) -> list[bytes] | None:
        """The slices of a partition."""
        path = self._path(partition)
        if not is_needed and not path.exists():
            return None
        try:
            with pa.ipc.open_file(path) as reader:
                found: list[bytes] = reader.read_all()["message"].to_pylist()
        except OSError as problem:
            raise StorageError(_lacking(partition, str(path))) from problem
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
        """Let those of a partition go."""
        with suppress(OSError):
            self._path(partition).unlink(missing_ok=True)

    def _path(self, partition: int) -> Path:
        return self.folder / f"p{partition}"


@dataclass(frozen=True)
class SentBases:
    """Sent to the workers; the driver removes what they are made of."""

    broadcast: Any
    """Of slices by partition; None if there are none."""
    location: str

    def read(self, partition: int, is_needed: bool) -> Sequence[bytes] | None:
        """The slices of a partition."""
        there: Mapping[int, Sequence[bytes]] = (
            {} if self.broadcast is None else self.broadcast.value
        )
        found = there.get(partition)
        if found is None and is_needed:
            raise StorageError(_lacking(partition, self.location))
        return found

    def remove(self, partition: int) -> None:
        """Leave them to the driver."""


def _lacking(partition: int, where: str) -> str:
    return (
        f"cannot read {where}, the rows that partition {partition} begins with: the checkpoint "
        "must be in a folder that all workers have mounted, or be a URI, and Spark's part and "
        "ringview's part of it must be of one time"
    )
