"""A file, and a log behind it, in a folder that Spark reaches by a URI.

    generation-000003           of which pieces the file is, and where they are
    3-0af31c9e55d0/piece-000000 eight megabytes of the file
    3-0af31c9e55d0/log-00000000 what was appended, in order

No name is written twice: of two writers that append, one finds its number taken, and ends. A
generation ends with an entry of its log that names the next one, which is thus decided in one step;
its manifest, a copy of that, is written then, and the files before it are removed.

Invariant: a crash leaves the generation before, or the next one, each whole; what `append` returned
from is in it. Of a writer that was overtaken `append` raises, or the other one has read what was
appended. Cost: an append is a file and a request more, whatever there is; the file is written anew
once the log is several times as long, so a byte of the log pays for a part of a byte of the file.
To read it takes a request a piece and an entry, several at once.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from ringview.errors import CheckpointError, StorageError
from ringview.spark.streaming.locations import Remote

PIECE = 1 << 23
"""Bytes of a piece, at the most."""
GROWN, WORTH_IT = 3, 1 << 26
"""The file is written anew where its log takes so many times its bytes, and that many."""
REQUEST = 1 << 16
"""An entry counts as so many bytes at least, as each is a request of its own when it is read."""

_FORMAT = 1
_AT_ONCE = 8
_FRAME = struct.Struct("<4sB16sQI")
_MAGIC, _ENTRY, _END = b"rvl1", 0, 1


@dataclass(frozen=True)
class _Generation:
    """A file as it was once, and the log behind that."""

    number: int
    folder: str
    pieces: tuple[tuple[int, int], ...]
    """The bytes of each, and their checksum."""

    @property
    def size(self) -> int:
        return sum(size for size, _ in self.pieces)

    def manifest(self) -> bytes:
        return json.dumps(
            {
                "format": _FORMAT,
                "number": self.number,
                "folder": self.folder,
                "pieces": [list(piece) for piece in self.pieces],
            }
        ).encode()

    @staticmethod
    def of(manifest: bytes) -> _Generation:
        """Raises ValueError, KeyError or TypeError where it is none."""
        found: dict[str, Any] = json.loads(manifest)
        if found["format"] != _FORMAT:
            raise ValueError(f"it is of format {found['format']}; use the version that wrote it")
        pieces = tuple((int(size), int(check)) for size, check in found["pieces"])
        return _Generation(int(found["number"]), str(found["folder"]), pieces)


class ObjectLog:
    """A file and its log; one writer at a time continues it."""

    def __init__(self, folder: Remote, checkpoint: str) -> None:
        """Find the newest generation.

        Args:
            folder: Where they are.
            checkpoint: How messages call it.

        Raises:
            CheckpointError: Something is missing or damaged.
            StorageError: It cannot be read.
        """
        self._folder, self._checkpoint = folder, checkpoint
        self._writer = uuid4().bytes
        self._now: _Generation | None = None
        self._next = self._weight = 0
        # The manifest of a generation that was decided, until it is written.
        self._is_owed = False
        with self._problems("read", folder):
            numbers = [int(place.name.rpartition("-")[2]) for place in self._manifests()]
        if not numbers:
            return
        place = self._manifest(max(numbers))
        self._adopt(self._parsed(self._read(place), place))
        while (after := self._ended()) is not None:
            self._adopt(after)
            self._is_owed = True
        self._settle()

    @property
    def is_made(self) -> bool:
        """Whether there is a file."""
        return self._now is not None

    @property
    def outgrows(self) -> bool:
        """Whether the log is so long that the file is to be written anew."""
        size = 0 if self._now is None else self._now.size
        return self._weight > max(GROWN * size, WORTH_IT)

    def fetch(self, path: Path) -> None:
        """Write the file to a path of this machine, and for a moment pieces of it beside that.

        Raises:
            CheckpointError: A piece is missing or damaged.
            StorageError: It cannot be read or written.
        """
        now = self._known()
        places = [self._place(f"piece-{number:06d}") for number in range(len(now.pieces))]
        with self._problems("write", path), path.open("wb") as file:
            parts = self._all(places, partial(self._read_by_file, path.parent))
            for place, (size, check), data in zip(places, now.pieces, parts, strict=True):
                if (len(data), zlib.crc32(data)) != (size, check):
                    raise self._damaged(place)
                file.write(data)

    def entries(self) -> Iterator[bytes]:
        """The appended entries, in order; each of them is read when it is requested.

        Raises:
            CheckpointError: Something is missing or damaged.
            StorageError: It cannot be read.
        """
        places = [self._entry(number) for number in range(self._next)]
        self._weight = 0
        for place, data in zip(places, self._all(places, self._read), strict=True):
            _, found = self._unframed(data, place)
            self._weight += max(len(data), REQUEST)
            yield found

    def append(self, data: bytes) -> None:
        """Append bytes; on return they are there. If it raised, it may be called again.

        Raises:
            CheckpointError: Another writer was there first; nothing was appended.
            StorageError: It cannot be written; the bytes may be there all the same.
        """
        self._settle()
        place, frame = self._entry(self._next), self._framed(_ENTRY, data)
        self._create(place, frame)
        self._check()
        self._next += 1
        self._weight += max(len(frame), REQUEST)

    def rewrite(self, path: Path) -> None:
        """Let a file of this machine take the place of the file and its log.

        For a moment there is a piece of it beside it.

        Raises:
            CheckpointError, StorageError: As `append`; what was there is there.
        """
        self._settle()
        number = 0 if self._now is None else self._now.number + 1
        folder = f"{number}-{uuid4().hex[:12]}"
        pieces: list[tuple[int, int]] = []
        with self._problems("read", path), path.open("rb") as file:
            while data := file.read(PIECE):
                place = self._folder / folder / f"piece-{len(pieces):06d}"
                part = path.with_name(place.name)
                part.write_bytes(data)
                with self._problems("write", place):
                    place.write_from(part)
                part.unlink()
                pieces.append((len(data), zlib.crc32(data)))
        after = _Generation(number, folder, tuple(pieces))
        if self._now is None:
            self._create(self._manifest(number), after.manifest())
            self._adopt(after)
            return
        self._create(self._entry(self._next), self._framed(_END, after.manifest()))
        self._check()
        self._adopt(after)
        self._is_owed = True
        self._settle()

    def _adopt(self, generation: _Generation) -> None:
        self._now, self._next, self._weight = generation, 0, 0

    def _ended(self) -> _Generation | None:
        """Find the end of the log; the next generation, if it names one."""
        folder = self._folder / self._known().folder
        with self._problems("read", folder):
            names = {place.name for place in folder.glob("log-*")}
        self._next = len(names)
        self._weight = len(names) * REQUEST
        for number in range(len(names)):
            if self._entry(number).name not in names:
                raise self._missing(self._entry(number))
        if not names:
            return None
        place = self._entry(len(names) - 1)
        kind, found = self._unframed(self._read(place), place)
        return self._parsed(found, place) if kind == _END else None

    def _settle(self) -> None:
        """Write the manifest of a generation that was decided, and remove those before it."""
        now = self._now
        if now is None or not self._is_owed:
            return
        self._create(self._manifest(now.number), now.manifest())
        self._is_owed = False
        # A generation without a manifest is never read, so the manifests are removed first.
        with suppress(OSError):
            for place in self._manifests():
                if int(place.name.rpartition("-")[2]) < now.number:
                    place.remove()
            for place in self._folder.glob("[0-9]*-*"):
                if int(place.name.partition("-")[0]) <= now.number and place.name != now.folder:
                    place.remove()

    def _check(self) -> None:
        """Raise if another writer has begun a later generation and removed this one."""
        place = self._manifest(self._known().number)
        with self._problems("read", place):
            is_there = place.exists()
        if not is_there:
            raise self._overtaken()

    def _create(self, place: Remote, data: bytes) -> None:
        """Write a file under a name that no file has yet."""
        with self._problems("write", place):
            try:
                place.create_bytes(data)
            except FileExistsError as problem:
                # This writer wrote it, and got no answer.
                if place.read_bytes() != data:
                    raise self._overtaken() from problem

    def _all(self, places: list[Remote], read: Callable[[Remote], bytes]) -> Iterator[bytes]:
        """Contents of files, some of them read ahead."""
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="ringview-read") as pool:
            ahead: deque[Future[bytes]] = deque()
            try:
                for place in places:
                    ahead.append(pool.submit(read, place))
                    if len(ahead) == _AT_ONCE:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for each in ahead:
                    each.cancel()

    def _read(self, place: Remote) -> bytes:
        with self._problems("read", place):
            try:
                return place.read_bytes()
            except FileNotFoundError as problem:
                raise self._missing(place) from problem

    def _read_by_file(self, folder: Path, place: Remote) -> bytes:
        part = folder / place.name
        with self._problems("read", place):
            try:
                place.read_to(part)
            except FileNotFoundError as problem:
                raise self._missing(place) from problem
            data = part.read_bytes()
            part.unlink()
            return data

    def _framed(self, kind: int, data: bytes) -> bytes:
        return _FRAME.pack(_MAGIC, kind, self._writer, len(data), zlib.crc32(data)) + data

    def _unframed(self, frame: bytes, place: Remote) -> tuple[int, bytes]:
        if len(frame) < _FRAME.size:
            raise self._damaged(place)
        magic, kind, _, size, check = _FRAME.unpack_from(frame)
        data = frame[_FRAME.size :]
        if (magic, size, check) != (_MAGIC, len(data), zlib.crc32(data)):
            raise self._damaged(place)
        return kind, data

    def _parsed(self, manifest: bytes, place: Remote) -> _Generation:
        try:
            return _Generation.of(manifest)
        except (ValueError, KeyError, TypeError) as problem:
            raise CheckpointError(f"{place} is damaged: {problem}; {_ADVICE}") from problem

    def _known(self) -> _Generation:
        assert self._now is not None
        return self._now

    def _manifests(self) -> list[Remote]:
        return [p for p in self._folder.glob("generation-*") if re.fullmatch(r".*-\d+", p.name)]

    def _manifest(self, number: int) -> Remote:
        return self._folder / f"generation-{number:06d}"

    def _place(self, name: str) -> Remote:
        return self._folder / self._known().folder / name

    def _entry(self, number: int) -> Remote:
        return self._place(f"log-{number:08d}")

    def _overtaken(self) -> CheckpointError:
        return CheckpointError(
            f"another stream wrote to the checkpoint {self._checkpoint}, and has it now; this one "
            "ends"
        )

    def _missing(self, place: Remote) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self._checkpoint} lacks {place}, a part of its state; {_ADVICE}"
        )

    def _damaged(self, place: Remote) -> CheckpointError:
        return CheckpointError(f"{place} is cut or damaged; {_ADVICE}")

    @contextmanager
    def _problems(self, what: str, place: Remote | Path) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except OSError as problem:
            raise StorageError(f"cannot {what} {place}: {problem}") from problem


_ADVICE = "bring back the checkpoint as it was, or start with an empty folder"
