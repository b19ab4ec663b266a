"""The engines of partitions by tokens, without Spark: crashes everywhere, workers in any order."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="4.1")

from ringview.errors import SnapshotError, StorageError
from ringview.spark.streaming.partitioned import store as module
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.store import BASE, Delta, Log, Meta, Store, Taken, step


@pytest.fixture(autouse=True)
def _disk_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes die here, not machines."""
    monkeypatch.setattr("os.fsync", lambda number: None)


class CrashError(Exception):
    """The process dies here."""


class Fuse:
    """Burns at a step that was chosen, or never; counts the steps."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.steps = at, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps - 1 == self.at:
            raise CrashError


class Bag:
    """An engine that knows which messages it has; it may die before, in the middle and after."""

    def __init__(self, fuse: Callable[[], Fuse], path: Path | None) -> None:
        self._fuse = fuse
        text = path.read_text() if path is not None else "{}"
        self.has: Counter[str] = Counter(json.loads(text))

    def apply(self, delta: Delta) -> Delta:
        for message in delta:
            self._fuse().step()
            self.has[message.decode()] += 1
        self._fuse().step()
        return delta

    def save(self, path: Path) -> None:
        text = json.dumps(self.has)
        for end in (0, len(text) // 2, len(text)):
            path.write_text(text[:end])
            self._fuse().step()


class Version:
    """One partition's share of a version of Spark's store; a step may die at any of its calls."""

    def __init__(self, before: Version | None, fuse: Fuse) -> None:
        self._meta: Meta | None = before._meta if before else None
        self._log: list[tuple[int, bytes]] = list(before._log) if before else []
        self._fuse = fuse

    def meta(self) -> Meta | None:
        self._fuse.step()
        return self._meta

    def log(self) -> Iterator[tuple[int, bytes]]:
        for entry in list(self._log):
            self._fuse.step()
            yield entry

    def append(self, batch: int, delta: Delta) -> None:
        for message in delta:
            self._fuse.step()
            self._log.append((batch, message))

    def clear(self) -> None:
        self._fuse.step()
        self._log = []

    def update(self, meta: Meta) -> None:
        self._fuse.step()
        self._meta = meta


def _nothing(bag: Bag) -> None:
    pass


class Stream:
    """A stream of one partition, its workers, and what a micro-batch may have to go through."""

    def __init__(self, folder: Path, every: int, workers: int) -> None:
        self.fuse = Fuse()
        self.store = Store("stream", folder, lambda path: Bag(lambda: self.fuse, path), every)
        self.workers = [Cache[Bag]() for _ in range(workers)]
        self.committed: Version | None = None
        self.wanted: Counter[str] = Counter()
        self.batch = 0

    def delta(self) -> list[bytes]:
        return [f"{self.batch}.{part}".encode() for part in range(1 + self.batch % 3)]

    def attempt(self, worker: int, fuse: Fuse) -> Version:
        self.fuse = fuse
        version = Version(self.committed, fuse)
        cache = self.workers[worker]

        def take(meta: Meta | None, log: Log) -> Taken[Counter[str]]:
            return self.store.take(
                cache, 0, meta, log, self.batch, self.delta(), _nothing, lambda bag: bag.has.copy()
            )

        taken = step(version, self.batch, take)
        assert taken.report == self.wanted + Counter(m.decode() for m in self.delta())
        return version

    def commit(self, version: Version) -> None:
        self.committed = version
        self.wanted += Counter(message.decode() for message in self.delta())
        self.batch += 1
        self.check()

    def check(self) -> None:
        """What can be read again is whole, by whoever reads it; what is not needed goes."""
        assert self.committed is not None
        meta = self.committed._meta
        assert meta is not None
        self.fuse = Fuse()
        assert self.store.restore(0, meta, iter(self.committed._log)).has == self.wanted
        for cache in self.workers:
            for live in cache._live.values():
                if live.token == meta.token:
                    assert live.engine is not None
                    assert live.engine.has == self.wanted

    def files(self) -> list[str]:
        place = self.store.place(0)
        return sorted(path.name for path in place.iterdir()) if place.exists() else []


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_dying_at_every_step(tmp_path: Path, every: int, workers: int) -> None:
    """Each micro-batch dies once at each of its steps, and is then run again: in the worker that
    died, whose cache lives on where a task failed, or in another one."""
    stream = Stream(tmp_path, every, workers)
    died = 0
    for _ in range(7):
        at = 0
        while True:
            fuse = Fuse(at)
            try:
                version = stream.attempt(at % workers, fuse)
            except CrashError:
                died, at = died + 1, at + 1
                if at % 3 == 0:
                    stream.workers[at % workers] = Cache()
                continue
            break
        stream.commit(version)
    assert died > 7 * 5
    # One that is named, and what attempts of the last micro-batch with a snapshot left.
    last = max(int(name.strip(".").split("-")[0]) for name in stream.files())
    older = [name for name in stream.files() if int(name.strip(".").split("-")[0]) < last]
    assert len(older) <= 1


def run(stream: Stream, draw: random.Random, batches: int) -> Counter[str]:
    """Micro-batches with failures of every kind; what happened how often."""
    happened: Counter[str] = Counter()
    while stream.batch < batches:
        worker = draw.randrange(len(stream.workers))
        kind = draw.choice(["fine", "fine", "dies", "is thrown away", "two at once", "starts anew"])
        happened[kind] += 1
        if kind == "starts anew":
            stream.workers = [Cache() for _ in stream.workers]
            continue
        if kind == "dies":
            try:
                stream.attempt(worker, Fuse(draw.randrange(12)))
            except CrashError:
                continue
        if kind in ("dies", "is thrown away"):
            # All went well, but the version was not committed: a later task failed, or the driver
            # was killed before it noted so.
            stream.attempt(worker, Fuse())
            continue
        version = stream.attempt(worker, Fuse())
        if kind == "two at once":
            other = stream.attempt(draw.randrange(len(stream.workers)), Fuse())
            version = draw.choice([version, other])
        stream.commit(version)
    return happened


@pytest.mark.parametrize("seed", range(80))
def test_workers_in_any_order(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    stream = Stream(tmp_path, draw.choice([1, 2, 3, 8]), draw.choice([1, 2, 4]))
    happened = run(stream, draw, 30)
    assert len(happened) == 5
    assert all(len(cache) <= 1 for cache in stream.workers)
    named = {name.lstrip(".").split("-")[0] for name in stream.files()}
    # Of one micro-batch before the last with a snapshot at most.
    assert len(named) <= 2


def test_a_cache_without_tokens_would_be_caught(tmp_path: Path) -> None:
    """That these tests can fail: an engine that is believed without its token is found out."""

    class Believing(Cache[Bag]):
        def pop(self, stream: object, partition: int, token: str) -> Bag | None:
            found = self._live.pop((stream, partition), None)
            return found.engine if found else None

    stream = Stream(tmp_path, 3, 2)
    stream.workers = [Believing(), Believing()]
    with pytest.raises(AssertionError):
        for worker in (0, 1, 0):
            stream.commit(stream.attempt(worker, Fuse()))


def test_removing_too_much_would_be_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect = Store._collect

    def greedy(self: Store[Bag], partition: int, batch: int, needed: str) -> None:
        collect(self, partition, batch, "")

    monkeypatch.setattr(module.Store, "_collect", greedy)
    stream = Stream(tmp_path, 1, 1)
    stream.commit(stream.attempt(0, Fuse()))
    stream.attempt(0, Fuse())
    stream.workers = [Cache()]
    with pytest.raises(StorageError, match="is not there"):
        stream.attempt(0, Fuse())


def test_a_base_is_what_a_partition_begins_with(tmp_path: Path) -> None:
    stream = Stream(tmp_path, 2, 1)
    stream.store.place(0).mkdir()
    (stream.store.place(0) / BASE).write_text('{"static": 1}')
    stream.wanted = Counter(["static"])
    # Twice: an attempt that is thrown away may not have used it up.
    for _ in range(2):
        stream.workers = [Cache()]
        version = stream.attempt(0, Fuse())
    for _ in range(5):
        stream.commit(version)
        version = stream.attempt(0, Fuse())
    assert BASE not in stream.files()


def test_a_log_that_lacks_a_batch_is_damaged(tmp_path: Path) -> None:
    stream = Stream(tmp_path, 8, 1)
    for _ in range(3):
        stream.commit(stream.attempt(0, Fuse()))
    assert stream.committed is not None
    del stream.committed._log[0]
    stream.workers = [Cache()]
    with pytest.raises(SnapshotError, match=r"has 2 micro-batches .* and says that it has 3"):
        stream.attempt(0, Fuse())


def test_many_rows_are_not_kept_as_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FEW_BYTES", 10)
    stream = Stream(tmp_path, 100, 1)
    for _ in range(30):
        stream.commit(stream.attempt(0, Fuse()))
        assert stream.committed is not None
        meta = stream.committed._meta
        assert meta is not None
        size = (stream.store.place(0) / meta.snapshot).stat().st_size if meta.snapshot else 0
        assert meta.log_bytes <= max(10, size)


def test_engines_that_others_have_by_now_go() -> None:
    cache = Cache[Bag]()
    for batch, partition in enumerate([0, 1, 0, 2, 2, 2]):
        cache.put("stream", partition, str(batch), Bag(Fuse, None), batch)
        cache.put("other", 0, "t", Bag(Fuse, None), 0)
    assert len(cache) == 2
    assert cache.pop("stream", 2, "4") is None
    assert cache.pop("stream", 2, "5") is None
    assert cache.pop("other", 0, "t") is not None
