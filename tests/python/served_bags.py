"""Engines that know which messages they have, for tests of the server of engines: it imports this.

A message that begins with "!" does something where a server applies it: `!die`, `!fail`, `!odd` (an
error that cannot be pickled), `!wait BEGUN GO` (two named pipes: it says that it has begun, and
goes on when told).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ringview.errors import OverDeleteError
from ringview.spark.streaming.partitioned.address import Address
from ringview.spark.streaming.partitioned.client import Engines
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.store import Delta, Log, Meta, Store, Taken


class Bag:
    """An engine."""

    def __init__(self, test: int, path: Path | None) -> None:
        self._test = test
        self.has: Counter[str] = Counter(json.loads(path.read_text()) if path else {})

    def apply(self, delta: Delta) -> Delta:
        for message in delta:
            text = bytes(message).decode()
            if text.startswith("!") and os.getpid() != self._test:
                act(*text[1:].split())
            self.has[text] += 1
        return delta

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.has))


class OddError(Exception):
    """It cannot be made again from what it says."""

    def __init__(self, one: object, two: object) -> None:
        super().__init__(f"{one} {two}")


def act(what: str, *names: str) -> None:
    """What a message says."""
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


@dataclass(frozen=True)
class Bags:
    """A stream of bags."""

    folder: Path
    test: int
    every: int = 3

    def store(self) -> Store[Bag]:
        return Store(str(self.folder), self.folder, partial(Bag, self.test), self.every)

    def take(
        self,
        cache: Cache[Bag],
        partition: int,
        meta: Meta | None,
        log: Log,
        batch: int,
        delta: Delta,
    ) -> Taken[Counter[str]]:
        return self.store().take(
            cache, partition, meta, log, batch, delta, lambda bag: None, lambda bag: +bag.has
        )

    def look(self, cache: Cache[Bag], partition: int, token: str, view: str) -> list[bytes] | None:
        if view == "process":
            return [str(os.getpid()).encode()]
        if view == "live":
            return [str(len(cache)).encode()]
        with cache.look(str(self.folder), partition, token) as bag:
            return None if bag is None else [each.encode() for each in bag.has.elements()]


@dataclass
class Version:
    """A partition's share of a state store that is a dictionary."""

    said: Meta | None = None
    entries: tuple[tuple[int, bytes], ...] = ()

    def meta(self) -> Meta | None:
        return self.said

    def log(self) -> Any:
        return iter(self.entries)

    def append(self, batch: int, delta: Delta) -> None:
        self.entries += tuple((batch, bytes(message)) for message in delta)

    def clear(self) -> None:
        self.entries = ()

    def update(self, meta: Meta) -> None:
        self.said = meta


def main() -> None:
    """An executor, or a worker, which a test kills."""
    what, folder, *more = sys.argv[1:]
    bags = Bags(Path(folder), 0)
    if what == "executor":
        address = Address.of(os.getpid())
        engines = Engines(address)
        engines.take(bags, 0, None, lambda: (), 0, [b"a"])
        (process,) = engines.look(bags, 0, "", "process") or [b""]
        print(process.decode(), address.folder, flush=True)
        sys.stdin.read()
    else:
        process_, born, place, version, *delta = more
        engines = Engines(Address(int(process_), born, Path(place)))
        said = json.loads(version)
        meta = None if said is None else Meta(*said)
        engines.take(bags, 0, meta, lambda: (), 1, [each.encode() for each in delta])
