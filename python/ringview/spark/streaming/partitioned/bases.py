"""First rows of partitions: those of static tables, or of a state that was moved, as slices.

They lie beside the checkpoint: in files of a folder that the workers have mounted, or where Spark
alone can read; then the driver sends them to the workers.

    g1/bases/p0, g1/bases/p1, ..     the slices of a partition, in a folder
    g1/bases/part-..                 those of all partitions, as Spark writes them elsewhere

Invariant: slices of a partition are there whole or not at all, and stay until a version that Spark
has committed holds a snapshot of its own. Cost: the rows, written once, and read where a
partition's first snapshot is not whole yet; slices that are sent pass through the driver's memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from ringview.atomic_write import replacing
from ringview.convert.ipc import read_file
from ringview.errors import InvalidValueError, StorageError

SENT = "partition int, message binary"
"""The slices of all partitions as rows."""

_SCHEMA = pa.schema({"message": pa.large_binary()})


class Bases(Protocol):
    """The first rows of the partitions of a stream; pickled for the way to workers."""

    def read(self, partition: int, is_needed: bool) -> Sequence[bytes] | None:
        """The slices of a partition; None if it begins with nothing.

        Raises:
            StorageError: They are not there, and needed.
        """

    def remove(self, partition: int) -> None:
        """Remove those of a partition, if they are there."""


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
            found: list[bytes] = read_file(path)["message"].to_pylist()
        except (OSError, InvalidValueError) as problem:
            raise StorageError(_lacking(partition, str(path))) from problem
        return found

    def write(self, partition: int, slices: Sequence[bytes]) -> None:
        """Let a partition begin with rows; a task that runs twice writes them twice."""
        path = self._path(partition)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file, pa.ipc.new_file(file, _SCHEMA) as writer:
                for message in slices:
                    writer.write_batch(pa.record_batch([[message]], schema=_SCHEMA))
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem}") from problem

    def remove(self, partition: int) -> None:
        """Remove those of a partition."""
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
