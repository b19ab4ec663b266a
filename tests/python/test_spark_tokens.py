"""The engines of partitions by tokens, without Spark: crashes everywhere, workers in any order."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="4.1")

from ringview.errors import SnapshotError, StorageError
from ringview.spark.streaming.partitioned.bases import FileBases
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.segments import (
    LOG,
    ROWS,
    Delta,
    Meta,
    Read,
    Segments,
    Sizes,
    Taken,
    select_segments,
    step,
)
from ringview.spark.streaming.partitioned.store import PartitionBatch, SnapshottedEngine, Store


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
    """An engine that counts its messages; it may die before, in the middle and after.

    Its slices have so many messages as their size says."""

    def __init__(self, fuse: Callable[[], Fuse], slices: Sequence[bytes]) -> None:
        self._fuse = fuse
        self.has: Counter[str] = Counter()
        for each in slices:
            self.has.update(json.loads(each))

    def apply(self, delta: Delta) -> Delta:
        for message in delta:
            self._fuse().step()
            self.has[message.decode()] += 1
        self._fuse().step()
        return delta

    def slices(self, size: int, skip: int = 0) -> list[bytes]:
        self._fuse().step()
        rows = sorted(self.has.items())
        # Made of the rows alone, and in any order of the messages.
        parts = [rows[start : start + size] for start in range(0, len(rows), size)]
        return [json.dumps(dict(part)).encode() for part in parts[skip:]]


class Version:
    """One partition's share of a version of Spark's store; a step may die at any of its calls."""

    def __init__(self, before: Version | None, fuse: Fuse, bases: FileBases) -> None:
        self.said: Meta | None = before.said if before else None
        self.held: dict[tuple[str, int], tuple[int, bytes]] = dict(before.held) if before else {}
        self.bytes = self.calls = 0
        self._fuse, self._bases = fuse, bases

    def base(self, is_needed: bool) -> list[bytes] | None:
        self._fuse.step()
        return self._bases.read(0, is_needed)

    def forget_base(self) -> None:
        self._fuse.step()
        self._bases.remove(0)

    def meta(self) -> Meta | None:
        self._fuse.step()
        return self.said

    def get(self, kind: str, number: int) -> tuple[int, bytes] | None:
        self._fuse.step()
        return self.held.get((kind, number))

    def put(self, kind: str, number: int, batch: int, message: bytes) -> None:
        self._fuse.step()
        assert (kind, number) not in self.held
        self.held[kind, number] = batch, message
        self.bytes += len(message)
        self.calls += 1

    def remove(self, kind: str, number: int) -> None:
        self._fuse.step()
        del self.held[kind, number]
        self.calls += 1

    def update(self, meta: Meta) -> None:
        self._fuse.step()
        self.said = meta

    def segments(self) -> Segments:
        """As a reader of the whole store has them."""
        found = [(*key, *value) for key, value in self.held.items()]
        self._fuse = Fuse()
        return select_segments(self.said, found[::-1], self.base)


def _nothing(bag: Bag) -> None:
    pass


class Stream:
    """A stream of one partition, its workers, and possible failures of a micro-batch."""

    sizes = Sizes()

    def __init__(self, folder: Path, workers: int) -> None:
        self.fuse = Fuse()
        self.bases = FileBases(folder)
        self.store = Store("stream", lambda slices, begins: self.bag(slices), self.sizes)
        self.workers = [Cache[SnapshottedEngine[Bag]]() for _ in range(workers)]
        self.committed: Version | None = None
        self.wanted: Counter[str] = Counter()
        self.batch = 0

    def bag(self, slices: Sequence[bytes]) -> Bag:
        return Bag(lambda: self.fuse, slices)

    def delta(self) -> list[bytes]:
        return [f"{self.batch}.{part}".encode() for part in range(1 + self.batch % 3)]

    def attempt(self, worker: int, fuse: Fuse) -> Version:
        self.fuse = fuse
        version = Version(self.committed, fuse, self.bases)
        cache = self.workers[worker]

        def take(meta: Meta | None, read: Read) -> Taken[Counter[str]]:
            of = PartitionBatch(0, meta, self.batch, self.delta())
            return self.store.take(cache, of, read, _nothing, lambda bag: bag.has.copy())

        taken = step(version, self.batch, take)
        assert taken.report == self.wanted + Counter(m.decode() for m in self.delta())
        return version

    def commit(self, version: Version) -> None:
        self.committed = version
        self.wanted += Counter(message.decode() for message in self.delta())
        self.batch += 1
        self.check()

    def check(self) -> None:
        """Every reader can restore the whole state; data that is not needed is removed."""
        assert self.committed is not None
        meta = self.committed.said
        assert meta is not None
        self.fuse = Fuse()
        assert self.store.restore(meta, self.committed.segments()).has == self.wanted
        for cache in self.workers:
            for live in cache._live.values():
                if live.token == meta.token:
                    assert live.engine is not None
                    assert live.engine.engine.has == self.wanted
        for kind, span in ((ROWS, meta.rows), (LOG, meta.log)):
            there = sorted(number for of, number in self.committed.held if of == kind)
            assert there == list(range(span.kept, span.end))


@pytest.fixture(params=[1, 3, 8])
def slices_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many messages a slice, of which one or two are written with a micro-batch."""
    found: int = request.param
    monkeypatch.setattr(Stream, "sizes", Sizes(found, entry=1, few=12, least=20))
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_dying_at_every_step(tmp_path: Path, slices_of: int, workers: int) -> None:
    """Each micro-batch dies once at each of its steps, and is then run again: in the worker that
    died, whose cache lives on where a task failed, or in another one."""
    stream = Stream(tmp_path, workers)
    died = 0
    turned = set()
    for _ in range(16):
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
        assert version.said is not None
        turned.add(version.said.rows.first)
    assert died > 16 * 5
    assert len(turned) > 1


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
            # All succeeded, but the version was not committed: a later task failed, or the driver
            # was killed before it noted so.
            stream.attempt(worker, Fuse())
            continue
        version = stream.attempt(worker, Fuse())
        if kind == "two at once":
            other = stream.attempt(draw.randrange(len(stream.workers)), Fuse())
            version = draw.choice([version, other])
        stream.commit(version)
    return happened


@pytest.mark.parametrize("seed", range(30))
def test_workers_in_any_order(tmp_path: Path, slices_of: int, seed: int) -> None:
    draw = random.Random(seed)
    stream = Stream(tmp_path, draw.choice([1, 2, 4]))
    happened = run(stream, draw, 30)
    assert len(happened) == 5
    assert all(len(cache) <= 1 for cache in stream.workers)


@pytest.mark.parametrize("is_live", [True, False])
def test_no_batch_writes_the_whole(tmp_path: Path, slices_of: int, is_live: bool) -> None:
    """For a stream of any length, and also if no engine survives from one batch to the next."""
    stream, most = Stream(tmp_path, 1), 0
    for _ in range(400):
        if not is_live:
            stream.workers = [Cache()]
        version = stream.attempt(0, Fuse())
        stream.commit(version)
        slices = [len(value[1]) for key, value in version.held.items() if key[0] == ROWS]
        changed = sum(map(len, stream.delta())) + 20
        assert version.bytes <= 3 * changed + 2 * max(slices, default=0)
        assert version.calls <= 40
        most = max(most, version.calls)
        said = version.said
        assert said is not None
        # Reads of a restart, and content of the store.
        if stream.batch > 100:
            assert said.log.size + said.log.next_size <= 2 * said.rows.size + 100
            whole = sum(map(len, stream.bag(()).slices(1))) + sum(map(len, stream.wanted)) * 3
            assert sum(len(value[1]) for value in version.held.values()) <= 6 * whole
    assert said is not None
    assert said.rows.first > 100 // slices_of


def test_a_cache_without_tokens_would_be_caught(tmp_path: Path) -> None:
    """That these tests can fail: an engine that is believed without its token is found out."""

    class Believing(Cache[SnapshottedEngine[Bag]]):
        def pop(self, stream: object, partition: int, token: str) -> SnapshottedEngine[Bag] | None:
            found = self._live.pop((stream, partition), None)
            return found.engine if found else None

    stream = Stream(tmp_path, 2)
    stream.workers = [Believing(), Believing()]
    with pytest.raises(AssertionError):
        for worker in (0, 1, 0):
            stream.commit(stream.attempt(worker, Fuse()))


def test_other_slices_would_be_caught(tmp_path: Path, slices_of: int) -> None:
    """As those of an engine whose order depends on more than its rows."""

    class Shuffling(Bag):
        def slices(self, size: int, skip: int = 0) -> list[bytes]:
            rows = list(self.has.items())
            random.Random(skip).shuffle(rows)
            parts = [rows[start : start + size] for start in range(0, len(rows), size)]
            return [json.dumps(dict(part)).encode() for part in parts[skip:]]

    stream = Stream(tmp_path, 1)
    stream.bag = lambda slices: Shuffling(lambda: stream.fuse, slices)  # type: ignore[method-assign]
    with pytest.raises(AssertionError):
        for _ in range(60):
            stream.workers = [Cache()]
            stream.commit(stream.attempt(0, Fuse()))


def test_a_base_is_what_a_partition_begins_with(tmp_path: Path, slices_of: int) -> None:
    stream = Stream(tmp_path, 1)
    stream.bases.write(0, [b'{"static": 1}'])
    stream.wanted = Counter(["static"])
    # Twice: an attempt that is thrown away may not have used it up.
    for _ in range(2):
        stream.workers = [Cache()]
        version = stream.attempt(0, Fuse())
    assert version.said is not None
    assert version.said.has_base
    while version.said.has_base:
        stream.commit(version)
        assert (tmp_path / "p0").exists()
        stream.workers = [Cache()]
        version = stream.attempt(0, Fuse())
        assert version.said is not None
    assert (tmp_path / "p0").exists()
    stream.commit(version)
    stream.commit(stream.attempt(0, Fuse()))
    assert not (tmp_path / "p0").exists()


def test_a_base_that_is_gone_is_told(tmp_path: Path) -> None:
    stream = Stream(tmp_path, 1)
    stream.bases.write(0, [b'{"static": 1}'])
    stream.wanted = Counter(["static"])
    stream.commit(stream.attempt(0, Fuse()))
    stream.bases.remove(0)
    stream.workers = [Cache()]
    with pytest.raises(StorageError, match=r"the rows that partition 0 begins with: .* mounted"):
        stream.attempt(0, Fuse())


@pytest.mark.parametrize("kind", [ROWS, LOG])
def test_a_segment_that_is_gone_is_damage(tmp_path: Path, slices_of: int, kind: str) -> None:
    stream = Stream(tmp_path, 1)
    for _ in range(30):
        stream.commit(stream.attempt(0, Fuse()))
    assert stream.committed is not None
    meta = stream.committed.said
    assert meta is not None
    span = meta.rows if kind == ROWS else meta.log
    del stream.committed.held[kind, span.first]
    stream.workers = [Cache()]
    with pytest.raises(SnapshotError, match=rf"segment {span.first} of the {kind} .* damaged"):
        stream.attempt(0, Fuse())


def test_engines_that_others_have_by_now_go() -> None:
    cache = Cache[Bag]()
    for batch, partition in enumerate([0, 1, 0, 2, 2, 2]):
        cache.put("stream", partition, str(batch), Bag(Fuse, ()), batch)
        cache.put("other", 0, "t", Bag(Fuse, ()), 0)
    assert len(cache) == 2
    assert cache.pop("stream", 2, "4") is None
    assert cache.pop("stream", 2, "5") is None
    assert cache.pop("other", 0, "t") is not None
