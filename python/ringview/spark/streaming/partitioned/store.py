"""The engine of one partition between micro-batches, by a token. Plain Python without Spark.

Spark's state store keeps, by version, a token and `segments`. Live engines are in a cache, and one
is used only if its token is the store's.

    live engine of token t  ==  snapshot + log of the version whose token is t

Invariant: the line above, for every engine in a cache and every version that can be read again. A
new token is drawn for each attempt, so an engine that applied an attempt that was thrown away, or
that missed another worker's, has a token that no later version has. An engine leaves the cache
before it is changed, and is back, under its new token, before the version that has this token is
written.
Cost: of a step, that of the engine for the rows, and of `segments` for their bytes; once all rows
are sorted and packed, that is not done again before the log is half as large as they are. If the
cache does not have the engine, a snapshot is read, its views are filled, and its log is applied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Generic, Protocol, TypeVar
from uuid import uuid4

from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.segments import (
    SIZES,
    Delta,
    Meta,
    Read,
    Segments,
    Sizes,
    Taken,
    advanced,
)


class Engine(Protocol):
    """A stored engine: it takes messages, and gives its rows.

    The result of `apply` does the same to an engine in the same state.
    """

    def apply(self, delta: Delta) -> Delta:
        """Apply one micro-batch, or raise with nothing done; what of it was applied."""

    def slices(self, size: int, skip: int = 0) -> Sequence[bytes]:
        """All rows without the first few slices, in an order that depends on the rows alone."""


E = TypeVar("E", bound=Engine)
R = TypeVar("R")


@dataclass(frozen=True)
class PartitionBatch:
    """A micro-batch of a partition, and the version of the state that precedes it."""

    partition: int
    version: Meta | None
    """None before the partition had a row."""
    batch: int
    delta: Delta


@dataclass
class SnapshottedEngine(Generic[E]):
    """An engine, and what is still to be written of the snapshot that was taken of it."""

    engine: E
    unwritten: deque[bytes] = field(default_factory=deque)

    def draw(self, size: int, skip: int = 0) -> None:
        """Take a snapshot."""
        self.unwritten.extend(self.engine.slices(size, skip))


@dataclass(frozen=True)
class Store(Generic[E]):
    """The engines of a stream.

    ``start`` makes one of slices; its flag says whether they are the partition's first rows.
    """

    stream: Hashable
    start: Callable[[Sequence[bytes], bool], E]
    sizes: Sizes = SIZES

    def take(
        self,
        cache: Cache[SnapshottedEngine[E]],
        of: PartitionBatch,
        read: Read,
        opened: Callable[[E], object],
        reported: Callable[[E], R],
    ) -> Taken[R]:
        """Let an engine take a micro-batch.

        Args:
            cache: Where live engines are.
            of: The micro-batch.
            read: Called for the segments of the version if the engine is not live.
            opened: Called with the engine before it changes.
            reported: Called with it afterwards, for the report.
        """
        before = of.version
        held = cache.pop(self.stream, of.partition, before.token if before else "")
        was_live = held is not None
        segments = Segments() if held is not None else read()
        if held is None:
            held = self._restored(before, segments)
        opened(held.engine)
        logged = held.engine.apply(of.delta)
        report = reported(held.engine)
        if before is None:
            before = Meta("", has_base=segments.has_base)
        token, unwritten = uuid4().hex, held.unwritten
        after, slices = advanced(before, token, logged, unwritten, held.draw, self.sizes)
        cache.put(self.stream, of.partition, after.token, held, of.batch)
        return Taken(after, logged, slices, was_live, report)

    def restore(self, meta: Meta | None, segments: Segments) -> E:
        """The engine of a version, from its snapshot and its log."""
        return self._restored(meta, segments).engine

    def _restored(self, meta: Meta | None, segments: Segments) -> SnapshottedEngine[E]:
        held = SnapshottedEngine(self.start(segments.rows, meta is None))
        if meta is None:
            return held
        is_drawn = not meta.slice
        for _, entries in groupby(segments.log, key=lambda entry: entry[1]):
            delta = list(entries)
            if not is_drawn and delta[0][0] >= meta.log.next:
                held.draw(meta.slice, meta.written)
                is_drawn = True
            held.engine.apply([message for _, _, message in delta])
        if not is_drawn:
            held.draw(meta.slice, meta.written)
        return held


def bare(taken: Taken[R], of: PartitionBatch) -> Taken[R]:
    """Without the messages that its asker has."""
    return replace(taken, logged=()) if taken.logged is of.delta else taken
