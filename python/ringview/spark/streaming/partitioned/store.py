"""The engine of one partition between micro-batches, by a token. Plain Python: it knows no Spark.

Spark's state store keeps, by version, a token, the name of a snapshot and the deltas that came
since; a snapshot is a file beside the checkpoint, immutable under its name. Live engines are in a
cache, and one is used only if its token is the store's.

    live engine of token t  ==  snapshot + log of the version whose token is t

Invariant: the line above, for every engine in a cache and every version that can be read again. A
token is drawn anew for each attempt, so an engine that went through an attempt that was thrown
away, or that missed what another worker did, has a token that no later version has. An engine
leaves the cache before it is changed, and is back, under its new token, before the version that has
this token is written. Snapshots of versions that can be read again are never removed: those are the
one that a micro-batch begins with, and what it makes itself.
Cost: of a step, that of the engine for the rows, their bytes to the store, and a snapshot now and
then; where the cache does not have the engine, one snapshot is read and its log applied.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from uuid import uuid4

from ringview.errors import SnapshotError, StorageError
from ringview.spark.streaming.partitioned.live import Cache
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
R = TypeVar("R")


@dataclass(frozen=True)
class Taken(Generic[R]):
    """What came of a micro-batch in an engine, and what the next version is to say of it."""

    meta: Meta
    delta: Delta | None
    """What the log gets; None if a snapshot takes its place."""
    was_live: bool
    snapshot_bytes: int
    """Of the snapshot that was written; 0 if none was."""
    report: R

    def with_delta(self, delta: Delta) -> Taken[R]:
        """The same with other messages for the log."""
        return replace(self, delta=delta)


Log = Callable[[], Iterable[tuple[int, bytes]]]
"""Reads the log of a version, where it is needed."""


def step(kept: Kept, batch: int, take: Callable[[Meta | None, Log], Taken[R]]) -> Taken[R]:
    """Let an engine take a micro-batch, wherever it is, and write the version behind it."""
    taken = take(kept.meta(), kept.log)
    if taken.delta is None:
        kept.clear()
    else:
        kept.append(batch, taken.delta)
    kept.update(taken.meta)
    return taken


@dataclass(frozen=True)
class Store(Generic[E]):
    """Where the engines of a stream are: a folder of snapshots, with one folder a partition.

    ``start`` makes an engine of a file, or an empty one; a snapshot is written at the latest after
    ``every`` micro-batches.
    """

    stream: Hashable
    folder: Path
    start: Callable[[Path | None], E]
    every: int = 32

    def place(self, partition: int) -> Path:
        """The folder of a partition."""
        return self.folder / f"p{partition}"

    def take(
        self,
        cache: Cache[E],
        partition: int,
        meta: Meta | None,
        log: Log,
        batch: int,
        delta: Delta,
        opened: Callable[[E], object],
        reported: Callable[[E], R],
    ) -> Taken[R]:
        """Let an engine take a micro-batch.

        Args:
            cache: Where live engines are.
            partition: The partition.
            meta: What the version says; None before the partition had a row.
            log: Called for the log of the version if the engine is not live.
            batch: The number of the micro-batch.
            delta: Its rows.
            opened: Called with the engine before it changes.
            reported: Called with it afterwards, for the report.
        """
        engine = cache.pop(self.stream, partition, meta.token if meta else "")
        was_live = engine is not None
        if engine is None:
            engine = self.restore(partition, meta, log())
        opened(engine)
        delta = engine.apply(delta)
        report = reported(engine)
        token, size = uuid4().hex, 0
        before = meta or Meta("", self._base(partition), 0, 0)
        log_bytes = before.log_bytes + sum(map(len, delta))
        logged: Delta | None = delta
        if before.log + 1 >= self.every or log_bytes > max(
            _FEW_BYTES, self._size(partition, before)
        ):
            name = f"{batch:012d}-{token}.ringview"
            size = self._save(partition, engine, name)
            self._collect(partition, batch, before.snapshot)
            after, logged = Meta(token, name, 0, 0), None
        else:
            after = Meta(token, before.snapshot, before.log + 1, log_bytes)
        cache.put(self.stream, partition, token, engine, batch)
        return Taken(after, logged, was_live, size, report)

    def begin(self, partition: int, engine: E) -> None:
        """Write what a partition begins with."""
        self._save(partition, engine, BASE)

    def restore(self, partition: int, meta: Meta | None, log: Iterable[tuple[int, bytes]]) -> E:
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
