"""Engines that record their messages, for tests of the server of engines: it imports this.

A message that begins with "!" does something where a server applies it: `!die`, `!fail`, `!odd` (an
error that cannot be pickled), `!wait BEGUN GO` (two named pipes: it reports its begin, and waits
for a signal).
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ringview.errors import OverDeleteError
from ringview.spark.streaming.partitioned.address import Address
from ringview.spark.streaming.partitioned.client import Engines
from ringview.spark.streaming.partitioned.codec import registered
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.segments import (
    Delta,
    Meta,
    Read,
    Segments,
    Taken,
    select_segments,
)
from ringview.spark.streaming.partitioned.store import PartitionBatch, SnapshottedEngine, Store

SERVES = "served_bags"
"""The module that a server of bags imports."""


class Bag:
    """An engine."""

    def __init__(self, test: int, slices: Sequence[bytes], begins: bool) -> None:
        self._test = test
        self.has: Counter[str] = Counter()
        for each in slices:
            self.has.update(json.loads(each))

    def apply(self, delta: Delta) -> Delta:
        for message in delta:
            text = bytes(message).decode()
            if text.startswith("!") and os.getpid() != self._test:
                act(*text[1:].split())
            self.has[text] += 1
        return delta

    def slices(self, size: int, skip: int = 0) -> list[bytes]:
        rows = sorted(self.has.items())
        parts = [rows[start : start + 4] for start in range(0, len(rows), 4)]
        return [json.dumps(dict(part)).encode() for part in parts[skip:]]


class OddError(Exception):
    """It cannot be made again from what it says."""

    def __init__(self, one: object, two: object) -> None:
        super().__init__(f"{one} {two}")


def act(what: str, *names: str) -> None:
    """The action of a message."""
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "fail":
        error = OverDeleteError("no such row")
        error.row = (1, 2)  # type: ignore[attr-defined]
        raise error
    if what == "odd":
        raise OddError(1, 2)
    if what == "wait":
        begun, go = names
        Path(begun).write_text("begun")
        Path(go).read_text()


@registered
@dataclass(frozen=True)
class Bags:
    """A stream of bags."""

    folder: str
    test: int

    def store(self) -> Store[Bag]:
        return Store(self.folder, partial(Bag, self.test))

    def take(
        self, cache: Cache[SnapshottedEngine[Bag]], of: PartitionBatch, read: Read
    ) -> Taken[dict[str, int]]:
        return self.store().take(cache, of, read, lambda bag: None, lambda bag: dict(+bag.has))

    def look(
        self, cache: Cache[SnapshottedEngine[Bag]], partition: int, token: str, view: str
    ) -> list[bytes] | None:
        if view == "process":
            return [str(os.getpid()).encode()]
        if view == "live":
            return [str(len(cache)).encode()]
        with cache.look(self.folder, partition, token) as held:
            return None if held is None else [e.encode() for e in held.engine.has.elements()]


@dataclass
class Version:
    """A partition's share of a state store that is a dictionary."""

    said: Meta | None = None
    held: dict[tuple[str, int], tuple[int, bytes]] = field(default_factory=dict)

    def meta(self) -> Meta | None:
        return self.said

    def base(self, is_needed: bool) -> None:
        assert not is_needed

    def forget_base(self) -> None:
        pass

    def get(self, kind: str, number: int) -> tuple[int, bytes] | None:
        return self.held.get((kind, number))

    def put(self, kind: str, number: int, batch: int, message: bytes) -> None:
        self.held[kind, number] = batch, bytes(message)

    def remove(self, kind: str, number: int) -> None:
        del self.held[kind, number]

    def segments(self) -> Segments:
        found = [(*key, *value) for key, value in self.held.items()]
        return select_segments(self.said, found, self.base)

    def update(self, meta: Meta) -> None:
        self.said = meta


def main() -> None:
    """An executor, or a worker, which a test kills."""
    what, folder, *more = sys.argv[1:]
    bags = Bags(folder, 0)
    if what == "executor":
        address = replace(Address.of(os.getpid()), serves=SERVES)
        engines = Engines(address)
        engines.take(bags, PartitionBatch(0, None, 0, [b"a"]), Segments)
        (process,) = engines.look(bags, 0, "", "process") or [b""]
        print(process.decode(), address.folder, flush=True)
        sys.stdin.read()
    else:
        process_, born, place, version, *delta = more
        engines = Engines(Address(int(process_), born, Path(place), SERVES))
        found: Version = pickle.loads(bytes.fromhex(version))
        of = PartitionBatch(0, found.said, 1, [each.encode() for each in delta])
        engines.take(bags, of, found.segments)
