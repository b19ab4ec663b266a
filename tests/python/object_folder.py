"""A folder of this machine as an object store: whole objects, counted, that fail when they should.

No Java runs. A step is whatever changes a store, or another place that a test counts with it; one
of them acts as a kill of the process: nothing is stored from then on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from ringview.spark.streaming.checkpoint import Checkpoint
from ringview.spark.streaming.locations import Remote
from ringview.spark.streaming.locations import remove as removed


class KilledError(BaseException):
    """The process is no more."""


class Steps:
    """Counts steps, and fails at one of them."""

    def __init__(self) -> None:
        self.done = 0
        self.is_dead = False
        self._at: int | None = None
        self._is_done = False
        self._error: type[BaseException] = KilledError
        self.written: Counter[str] = Counter()

    def fail(
        self, at: int | None, *, is_done: bool, error: type[BaseException] = KilledError
    ) -> None:
        """Fail at a step from now on, before it is done or after."""
        self.done, self.is_dead = 0, False
        self._at, self._is_done, self._error = at, is_done, error

    def before(self) -> None:
        """Begin a step."""
        if self.is_dead:
            raise KilledError
        self.done += 1
        if self.done == self._at and not self._is_done:
            self._end()

    def after(self) -> None:
        """End it."""
        if self.done == self._at and self._is_done:
            self._end()

    def _end(self) -> None:
        self.is_dead = self._error is KilledError
        raise self._error("no answer")


class Folder(Remote):
    """A place of the store."""

    def __init__(self, path: Path, steps: Steps) -> None:
        super().__init__(f"stand-in://{path}", None, None)
        self.path, self.steps = path, steps

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.path / name, self.steps)

    @property
    def parent(self) -> Folder:
        return Folder(self.path.parent, self.steps)

    def exists(self) -> bool:
        return self.path.exists()

    def read_bytes(self) -> bytes:
        return self.path.read_bytes()

    def write_bytes(self, data: bytes) -> None:
        self.steps.before()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(data)
        self.steps.written[self.name] += len(data)
        self.steps.after()

    def read_to(self, path: Path) -> None:
        path.write_bytes(self.read_bytes())

    def write_from(self, path: Path) -> None:
        self.write_bytes(path.read_bytes())

    def create_bytes(self, data: bytes) -> None:
        if self.path.exists():
            raise FileExistsError(self.path)
        self.write_bytes(data)

    def glob(self, pattern: str) -> Iterator[Remote]:
        names = [each.name for each in self.path.iterdir()] if self.path.is_dir() else []
        return (self / name for name in sorted(names) if fnmatch(name, pattern))

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:
        pass

    def remove(self) -> None:
        self.steps.before()
        removed(self.path)
        self.steps.after()


def checkpoint(folder: Path, steps: Steps | None = None) -> Checkpoint:
    """A checkpoint in such a store."""
    found = Checkpoint(folder)
    found.folder = Folder(folder, steps or Steps())
    found.spark, found.state = found.folder / "spark", found.folder / "ringview"
    return found
