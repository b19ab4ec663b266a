"""Databases in files beside those in memory: killed, closed, written anew between two batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import ringview as rv

# Files in memory, where there is such a folder: nothing here loses power.
MEMORY = next((folder for folder in ("/dev/shm",) if Path(folder).is_dir()), None)


class DurableTwin:
    """A database in a file, to which something happens now and then."""

    def __init__(self, folder: str) -> None:
        self._folder, self._number, self._batches = Path(folder), 0, 0
        self.db = self._open()

    def _open(self) -> rv.Database:
        return rv.Database.open(self._folder / str(self._number))

    def next(self) -> rv.Database:
        """The database for the next batch: opened again after its process was killed, written anew,
        opened again after it was closed, or as it was."""
        self._batches += 1
        if self._batches % 4 == 2:
            there = (self._folder / str(self._number)).read_bytes()
            self._number += 1
            (self._folder / str(self._number)).write_bytes(there)
            self.db.close()
            self.db = self._open()
        elif self._batches % 4 == 3:
            self.db.snapshot()
        elif self._batches % 4 == 0:
            self.db.close()
            self.db = self._open()
        return self.db


@contextmanager
def durable_twin(define: Callable[[rv.Database], object]) -> Iterator[DurableTwin]:
    """A database in a file, for which `define` makes tables and views."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        file = DurableTwin(folder)
        define(file.db)
        yield file
        file.db.close()
