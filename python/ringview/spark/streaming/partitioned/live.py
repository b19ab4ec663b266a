"""Live engines, each by a token. Plain Python without Spark.

Invariant: of a partition there is one engine at most. A thread that takes it out has it alone, once
current readers have finished; a reader sees it as it was when its token was drawn. Unused engines
are released: those that a stream did not use in its last two micro-batches, and, by `sweep`, those
of a stream that has ended or pauses.
Cost: of each call O(1), and O(engines) where one is added or removed; a look and a change of the
same engine wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

E = TypeVar("E")
_Key = tuple[Hashable, int]


@dataclass
class _Live(Generic[E]):
    token: str
    engine: E | None
    batch: int
    sweeps: int = 0
    """How many sweeps found it unused."""
    looks: threading.Lock = field(default_factory=threading.Lock)


class Cache(Generic[E]):
    """The live engines of a process, by stream and partition; several threads may use it."""

    def __init__(self) -> None:
        self._live: dict[_Key, _Live[E]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._live)

    def pop(self, stream: Hashable, partition: int, token: str) -> E | None:
        """The engine if it has this token; whatever it is, it is in the cache no more."""
        with self._lock:
            found = self._live.pop((stream, partition), None)
        if found is None or found.token != token:
            return None
        with found.looks:
            engine, found.engine = found.engine, None
        return engine

    @contextmanager
    def look(self, stream: Hashable, partition: int, token: str) -> Iterator[E | None]:
        """The engine if it has this token; until the end of the block it is not changed."""
        with self._lock:
            found = self._live.get((stream, partition))
        if found is None or found.token != token:
            yield None
            return
        with found.looks:
            found.sweeps = 0
            yield found.engine

    def put(self, stream: Hashable, partition: int, token: str, engine: E, batch: int) -> None:
        """Keep an engine; release those not used in this micro-batch of the stream or the last."""
        with self._lock:
            self._live[stream, partition] = _Live(token, engine, batch)
            old = self._without(lambda key, live: key[0] == stream and live.batch < batch - 1)
        # Freeing them takes time, so it happens outside of the lock.
        del old

    def sweep(self, idle: int) -> None:
        """Release engines that this many calls found unused, whatever their stream does."""
        with self._lock:
            for live in self._live.values():
                live.sweeps += 1
            old = self._without(lambda key, live: live.sweeps >= idle)
        del old

    def _without(self, goes: Callable[[_Key, _Live[E]], bool]) -> list[_Live[E]]:
        gone = [key for key, live in self._live.items() if goes(key, live)]
        return [self._live.pop(key) for key in gone]
