"""Location of a checkpoint: a folder of this machine, or a URI where Spark reads and writes.

A place of the second kind is spoken to through Spark's own manager of checkpoint files, so that
whatever holds for Spark's part of a checkpoint (schemes, credentials, how a file appears whole)
holds for ringview's part.

Invariant: a file that is written is there whole or not at all. Cost: a request to the file system
for each call.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from ringview import atomic_write

_MANAGERS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager",
    "org.apache.spark.sql.execution.streaming.CheckpointFileManager",
)
"""The name in PySpark 4.1 and later, and the one before."""


class Remote:
    """A file or folder by its URI, with the few methods of a path that a checkpoint needs."""

    def __init__(self, uri: str, jvm: Any, manager: Any) -> None:
        self._uri, self._jvm, self._manager = uri, jvm, manager

    @staticmethod
    def of(uri: str, spark: SparkSession) -> Remote:
        """That of a session.

        Raises:
            OSError: Spark has no such file system, or it does not answer.
        """
        jvm: Any = spark._jvm
        uri = uri.rstrip("/")
        with _problems(uri):
            configuration = spark._jsparkSession.sessionState().newHadoopConf()
            folder = jvm.org.apache.hadoop.fs.Path(uri)
            for name in _MANAGERS:
                manager = jvm
                for part in name.split("."):
                    manager = getattr(manager, part)
                if hasattr(manager, "create"):
                    return Remote(uri, jvm, manager.create(folder, configuration))
        raise OSError("this version of Spark has no manager of checkpoint files")

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self._uri}/{name}", self._jvm, self._manager)

    def __str__(self) -> str:
        return self._uri

    @property
    def name(self) -> str:
        """The last part of the URI."""
        return self._uri.rpartition("/")[2]

    @property
    def parent(self) -> Remote:
        """The folder that it is in."""
        return Remote(self._uri.rpartition("/")[0], self._jvm, self._manager)

    def resolve(self) -> Remote:
        """Itself."""
        return self

    def exists(self) -> bool:
        """Whether it is there."""
        with _problems(self._uri):
            found: bool = self._manager.exists(self._path)
            return found

    def read_bytes(self) -> bytes:
        """Content of the file."""
        with _problems(self._uri):
            stream = self._manager.open(self._path)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def write_bytes(self, data: bytes) -> None:
        """Replace the file as a whole."""
        self._write(lambda stream: stream.write(data), True)

    def create_bytes(self, data: bytes) -> None:
        """Write the file as a whole, unless it is there: then raise FileExistsError."""
        if self.exists():
            raise FileExistsError(f"{self._uri} is there")
        self._write(lambda stream: stream.write(data), False)

    def read_to(self, path: Path) -> None:
        """Write what the file holds to one of this machine, which Java does faster than Python."""
        with _problems(self._uri):
            stream = self._manager.open(self._path)
            try:
                target = self._jvm.java.io.FileOutputStream(str(path))
                try:
                    self._copy(stream, target)
                finally:
                    target.close()
            finally:
                stream.close()

    def write_from(self, path: Path) -> None:
        """Replace the file as a whole by a copy of one of this machine."""

        def write(stream: Any) -> None:
            source = self._jvm.java.io.FileInputStream(str(path))
            try:
                self._copy(source, stream)
            finally:
                source.close()

        self._write(write, True)

    def glob(self, pattern: str) -> Iterator[Remote]:
        """Files of the folder whose names match a pattern."""
        with _problems(self._uri):
            there = self._manager.list(self._path) if self.exists() else ()
            names = [status.getPath().getName() for status in there]
        return (self / name for name in names if fnmatch(name, pattern))

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:
        """Make the folder, where folders are more than the names of files."""
        with _problems(self._uri):
            self._manager.mkdirs(self._path)

    def remove(self) -> None:
        """Remove it with all that is in it, if it is there."""
        with _problems(self._uri):
            self._manager.delete(self._path)

    def _copy(self, source: Any, target: Any) -> None:
        self._jvm.org.apache.hadoop.io.IOUtils.copyBytes(source, target, 1 << 16, False)

    def _write(self, write: Callable[[Any], object], replaces: bool) -> None:
        with _problems(self._uri):
            self._manager.mkdirs(self.parent._path)
            stream = self._manager.createAtomic(self._path, replaces)
            try:
                write(stream)
            except BaseException:
                stream.cancel()
                raise
            stream.close()

    @property
    def _path(self) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._uri)


Location = Path | Remote


def write(place: Location, data: bytes) -> None:
    """Write a file that is there whole, or not at all.

    Raises:
        OSError: It cannot be written.
    """
    if isinstance(place, Path):
        atomic_write.write(place, data)
    else:
        place.write_bytes(data)


def remove(place: Location) -> None:
    """Remove a file, or a folder with all that is in it, if it is there.

    Raises:
        OSError: It cannot be removed.
    """
    if not isinstance(place, Path):
        place.remove()
    elif place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


@contextmanager
def _problems(uri: str) -> Iterator[None]:
    """Errors of Java as those that files of this machine have."""
    try:
        yield
    except Py4JJavaError as raised:
        said = str(raised.java_exception)
        kinds = {"FileNotFound": FileNotFoundError, "FileAlreadyExists": FileExistsError}
        kind = next((kind for name, kind in kinds.items() if f"{name}Exception" in said), OSError)
        raise kind(f"{uri}: {said}") from raised
