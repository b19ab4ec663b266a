"""The engine of one partition between micro-batches, by a token. Plain Python: it knows no Spark.

Spark's state store keeps, by version, a token, the name of a snapshot and the deltas that came
since; a snapshot is a file beside the checkpoint, immutable under its name. A worker keeps live
engines in a cache, and believes one only if its token is the store's.

    live engine of token t  ==  snapshot + log of the version whose token is t

Invariant: the line above, for every engine in a cache and every version that can be read again. A
token is drawn anew for each attempt, so an engine that went through an attempt that was thrown
away, or that missed what another worker did, has a token that no later version has. An engine
leaves the cache before it is changed. Snapshots of versions that can be read again are never
removed: those are the one that a micro-batch begins with, and what it makes itself.
Cost: of a step, that of the engine for the rows, their bytes to the store, and a snapshot now and
then; where the cache does not have the engine, one snapshot is read and its log applied.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from uuid import uuid4

from ringview.errors import SnapshotError, StorageError
from ringview.whole import sync

BASE = "base.ringview"
"""What a partition begins with: its rows of static tables, or of a state that was moved."""

_SNAPSHOT = re.compile(r"\.?(\d+)-[0-9a-f]+\.ringview(\.part)?")
_FEW_BYTES = 1 << 22

Delta = Sequence[bytes]
"""The rows of one micro-batch for one partition, in messages."""


@dataclass(frozen=True)
class Meta:
    """What a version says of an engine."""

    token: str
    snapshot: str
    """The name of a file; "" if the log began with nothing."""
    log: int
    """How many micro-batches are in the log."""
    log_bytes: int


class Kept(Protocol):
    """One partition's share of a version of the state store; what is written is the next one."""

    def meta(self) -> Meta | None:
        """What the version says; None before the partition had a row."""

    def log(self) -> Iterator[tuple[int, bytes]]:
        """The messages since the snapshot, each with the number of its micro-batch, in order."""

    def append(self, batch: int, delta: Delta) -> None:
        """Add messages to the log."""

    def clear(self) -> None:
        """Empty the log."""

    def update(self, meta: Meta) -> None:
        """Replace what the version says."""


class Engine(Protocol):
    """What is kept: it takes messages, and can be saved.

    What `apply` gives back does the same to an engine in the same state.
    """

    def apply(self, delta: Delta) -> Delta:
        """Apply one micro-batch, or raise with nothing done; what of it was applied."""

    def save(self, path: Path) -> None:
        """Write all of it to a file."""


E = TypeVar("E", bound=Engine)


@dataclass
class _Live(Generic[E]):
    token: str
    engine: E
    batch: int


class Cache(Generic[E]):
    """The live engines of a worker, those that were used in this micro-batch or the last one."""

    def __init__(self) -> None:
        self._live: dict[tuple[Hashable, int], _Live[E]] = {}

    def __len__(self) -> int:
        return len(self._live)

    def pop(self, stream: Hashable, partition: int, token: str) -> E | None:
        """The engine if it has this token; whatever it is, it is in the cache no more."""
        found = self._live.pop((stream, partition), None)
        return found.engine if found is not None and found.token == token else None

    def get(self, stream: Hashable, partition: int, token: str) -> E | None:
        """The engine if it has this token, to look at it."""
        found = self._live.get((stream, partition))
        return found.engine if found is not None and found.token == token else None

    def put(self, stream: Hashable, partition: int, token: str, engine: E, batch: int) -> None:
        """Keep an engine; those that others have had for some time by now go."""
        self._live[stream, partition] = _Live(token, engine, batch)
        old = [
            key for key, live in self._live.items() if key[0] == stream and live.batch < batch - 1
        ]
        for key in old:
            del self._live[key]


@dataclass(frozen=True)
class Step(Generic[E]):
    """What a step came to."""

    engine: E
    was_live: bool
    snapshot_bytes: int
    """Of the snapshot that was written; 0 if none was."""


@dataclass(frozen=True)
class Store(Generic[E]):
    """Where the engines of a stream are: a folder of snapshots, with one folder a partition.

    ``start`` makes an engine of a file, or an empty one; a snapshot is written at the latest after
    ``every`` micro-batches.
    """

    stream: Hashable
    folder: Path
    start: Callable[[Path | None], E]
    every: int = 8

    def place(self, partition: int) -> Path:
        """The folder of a partition."""
        return self.folder / f"p{partition}"

    def step(
        self,
        partition: int,
        kept: Kept,
        batch: int,
        delta: Delta,
        cache: Cache[E],
        opened: Callable[[E], object] = lambda engine: None,
    ) -> Step[E]:
        """Take a micro-batch; ``opened`` is handed the engine before it changes."""
        meta = kept.meta()
        engine = cache.pop(self.stream, partition, meta.token if meta else "")
        was_live = engine is not None
        if engine is None:
            engine = self.restore(partition, meta, kept.log())
        opened(engine)
        delta = engine.apply(delta)
        token, size = uuid4().hex, 0
        before = meta or Meta("", self._base(partition), 0, 0)
        log_bytes = before.log_bytes + sum(map(len, delta))
        if before.log + 1 >= self.every or log_bytes > max(
            _FEW_BYTES, self._size(partition, before)
        ):
            name = f"{batch:012d}-{token}.ringview"
            size = self._save(partition, engine, name)
            kept.clear()
            kept.update(Meta(token, name, 0, 0))
            self._collect(partition, batch, before.snapshot)
        else:
            kept.append(batch, delta)
            kept.update(Meta(token, before.snapshot, before.log + 1, log_bytes))
        cache.put(self.stream, partition, token, engine, batch)
        return Step(engine, was_live, size)

    def begin(self, partition: int, engine: E) -> None:
        """Write what a partition begins with."""
        self._save(partition, engine, BASE)

    def restore(self, partition: int, meta: Meta | None, log: Iterator[tuple[int, bytes]]) -> E:
        """The engine of a version, from its snapshot and its log."""
        name = self._base(partition) if meta is None else meta.snapshot
        engine = self.start(self._found(partition, name) if name else None)
        batches = 0
        for _, messages in groupby(log, key=lambda entry: entry[0]):
            engine.apply([message for _, message in messages])
            batches += 1
        if batches != (meta.log if meta else 0):
            raise SnapshotError(
                f"the state of partition {partition} has {batches} micro-batches in its log, and "
                f"says that it has {meta.log if meta else 0}: it is damaged; start with an empty "
                "folder"
            )
        return engine

    def _base(self, partition: int) -> str:
        return BASE if (self.place(partition) / BASE).exists() else ""

    def _found(self, partition: int, name: str) -> Path:
        path = self.place(partition) / name
        if not path.exists():
            raise StorageError(
                f"the snapshot {path} is not there: the checkpoint must be in a folder that all "
                "workers have mounted, and Spark's part and ringview's part of it must be of one "
                "time"
            )
        return path

    def _size(self, partition: int, meta: Meta) -> int:
        path = self.place(partition) / meta.snapshot
        return path.stat().st_size if meta.snapshot and path.exists() else 0

    def _save(self, partition: int, engine: E, name: str) -> int:
        place = self.place(partition)
        draft, path = place / f".{name}.part", place / name
        if name == BASE:
            # A task that runs twice writes it twice.
            draft = place / f".{uuid4().hex}.part"
        try:
            place.mkdir(parents=True, exist_ok=True)
            return save(engine, draft, path)
        except OSError as problem:
            if isinstance(problem, StorageError):
                raise
            raise StorageError(f"cannot write {path}: {problem}") from problem

    def _collect(self, partition: int, batch: int, needed: str) -> None:
        """Remove what no version that can be read again names: not of this micro-batch, or older.

        Spark has committed the version that this micro-batch began with, and never goes back
        behind it. What this micro-batch wrote may be another attempt's that wins.
        """
        for path in self.place(partition).iterdir():
            found = _SNAPSHOT.fullmatch(path.name)
            old = path.name == BASE or (found is not None and int(found[1]) < batch)
            if old and path.name != needed:
                path.unlink(missing_ok=True)


def save(engine: Engine, draft: Path, path: Path) -> int:
    """Write an engine's file so that it is there whole, or not at all; its bytes."""
    engine.save(draft)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    size = draft.stat().st_size
    draft.replace(path)
    sync(path.parent)
    return size
