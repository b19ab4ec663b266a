"""One process at a time has a checkpoint.

In a folder of this machine the operating system holds a lock as long as the process lives. No such
lock is to be had by a URI: there each process that takes the checkpoint writes its name into it,
and stops before its next micro-batch once another name is there.

Invariant: of two processes at most one takes a micro-batch that the other did not see. By a URI
that is Spark's own promise, which notes each micro-batch under a name that only one process can
give; the file names the process that lost. Cost: by a URI a small file that is read with each
micro-batch.
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from ringview import Database
from ringview.errors import CheckpointError, StorageError
from ringview.spark.streaming import locations
from ringview.spark.streaming.checkpoint import Checkpoint


class Holding:
    """A checkpoint that this process has, until it is closed."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        """Take it.

        Raises:
            StorageError: Another process has it, or it cannot be written.
        """
        self._checkpoint = checkpoint
        self._owner, self._name = checkpoint.state / "owner", uuid4().hex
        self._lock: Database | None = None
        if isinstance(checkpoint.state, Path):
            self._lock = Database.open(checkpoint.state / "open.ringview")
            return
        try:
            locations.write(self._owner, self._name.encode())
        except OSError as problem:
            raise StorageError(f"cannot write {self._owner}: {problem}") from problem

    def check(self) -> None:
        """Raise if another process has taken it.

        Raises:
            CheckpointError: It has.
            StorageError: The file cannot be read.
        """
        if self._lock is not None:
            return
        try:
            found = self._owner.read_bytes().decode()
        except OSError as problem:
            raise StorageError(f"cannot read {self._owner}: {problem}") from problem
        if found != self._name:
            raise CheckpointError(
                f"another stream was started with the checkpoint {self._checkpoint.folder}, and "
                "has it now; this one ends"
            )

    def close(self) -> None:
        """Release it."""
        if self._lock is not None:
            self._lock.close()
