"""The server of engines, without Spark: kills of it and of workers, errors, orphans."""

from __future__ import annotations

import os
import pickle
import random
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="4.1")
if not hasattr(socket, "AF_UNIX") or not hasattr(os, "pidfd_open"):
    pytest.skip("waits for ends of processes as Linux has it", allow_module_level=True)

from amounts import some
from ringview.errors import OverDeleteError
from ringview.spark.streaming.partitioned import address as addresses
from ringview.spark.streaming.partitioned.address import Address, born, executor
from ringview.spark.streaming.partitioned.client import Engines
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.requests import ServerTraceback
from ringview.spark.streaming.partitioned.segments import Segments
from ringview.spark.streaming.partitioned.store import PartitionBatch
from served_bags import SERVES, Bags
from served_streams import Stream, begins, ends, kill, run, server


@pytest.fixture
def address() -> Iterator[Address]:
    """Address of a server whose executor is this process; it ends with the test."""
    folder = Path(tempfile.mkdtemp(prefix="ringview-"))
    found = Address(os.getpid(), born(os.getpid()), folder / "server", SERVES)
    yield found
    if process := server(Engines(found)):
        os.kill(process, signal.SIGTERM)
        ends(process)
        assert not found.folder.exists()
    shutil.rmtree(folder)


def test_every_worker_finds_what_another_one_left(tmp_path: Path, address: Address) -> None:
    stream = Stream(tmp_path, address, 3)
    for turn in range(9):
        version, taken = stream.attempt(turn % 3)
        assert taken.was_live == (turn > 0)
        stream.commit(version)
        assert version.said is not None
        assert stream.look((turn + 1) % 3, version.said.token) == stream.has
        assert stream.look(0, "another") is None


@pytest.mark.parametrize("seed", some(range(6)))
def test_attempts_in_any_order(tmp_path: Path, address: Address, seed: int) -> None:
    """Some are thrown away, two run at once, and the server is killed in between and within."""
    draw = random.Random(seed)
    stream = Stream(tmp_path, address, 3)
    happened: Counter[str] = Counter()
    while stream.batch < 30:
        worker = draw.randrange(3)
        kind = draw.choice(
            ["fine"] * 12 + ["is thrown away"] * 4 + ["two at once"] * 4 + ["killed"]
        )
        happened[kind] += 1
        if kind == "killed" and server(stream.workers[worker]):
            kill(stream.workers[worker])
        if kind == "is thrown away":
            delta = [*stream.delta(), *([b"!die"] if draw.random() < 0.2 else [])]
            stream.attempt(worker, delta)
            continue
        version, _ = stream.attempt(worker)
        if kind == "two at once":
            with ThreadPoolExecutor(2) as pool:
                found = list(pool.map(stream.attempt, [worker, (worker + 1) % 3]))
            version = draw.choice([version, *(version for version, _ in found)])
        stream.commit(version)
        assert version.said is not None
        shown = stream.look(draw.randrange(3), version.said.token)
        assert shown is None or shown == stream.has
    assert len(happened) >= 3
    assert stream.version.said is not None
    assert stream.version.said.rows.first > 0


def test_a_cache_without_tokens_would_be_caught(tmp_path: Path) -> None:
    """That these tests can fail."""

    class Believing(Cache[object]):
        def pop(self, stream: object, partition: int, token: str) -> object:
            found = self._live.pop((stream, partition), None)
            return found.engine if found else None

    stream = Stream(tmp_path, Address(0, "", tmp_path), 1)
    stream.workers = [Engines(None)]
    stream.workers[0]._own = Believing()
    version, _ = stream.attempt(0)
    with pytest.raises(AssertionError):
        stream.attempt(0)
    stream.commit(version)


def test_a_server_that_dies_in_a_request(tmp_path: Path, address: Address) -> None:
    """The worker continues by itself, and the next request has a server again."""
    stream = Stream(tmp_path, address, 2)
    stream.commit(stream.attempt(0)[0])
    for worker in (0, 1):
        _, taken = stream.attempt(worker, [b"!die", b"x"])
        assert not taken.was_live
        assert server(stream.workers[worker]) is None
    for wanted in (False, True):
        version, taken = stream.attempt(1)
        assert taken.was_live == wanted
        stream.commit(version)


def test_a_worker_that_dies_in_a_request(tmp_path: Path, address: Address) -> None:
    """The state of its engine is not used, whether the server or the worker was first."""
    stream = Stream(tmp_path, address, 1)
    version, _ = stream.attempt(0)
    stream.commit(version)
    begun, go = tmp_path / "begun", tmp_path / "go"
    for pipe in (begun, go):
        os.mkfifo(pipe)
    for _ in range(2):
        of = [address.process, address.born, address.folder]
        of_version = pickle.dumps(version).hex()
        with run("worker", tmp_path, *of, of_version, f"!wait {begun} {go}", "never") as worker:
            begins(begun, worker.pid)
            worker.kill()
        go.write_text("go")
        _, taken = stream.attempt(0)
        assert not taken.was_live
        version, taken = stream.attempt(0)
        assert not taken.was_live
        stream.commit(version)


def test_partitions_are_served_at_once(tmp_path: Path, address: Address) -> None:
    stream = Stream(tmp_path / "1", address, 1)
    other = Stream(tmp_path / "2", address, 1)
    begun, go = tmp_path / "begun", tmp_path / "go"
    for pipe in (begun, go):
        os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(other.attempt, 0, [f"!wait {begun} {go}".encode()])
        assert begun.read_text() == "begun"
        stream.commit(stream.attempt(0)[0])
        assert not waits.done()
        go.write_text("go")
        waits.result()


def test_errors_arrive_as_they_are(tmp_path: Path, address: Address) -> None:
    stream = Stream(tmp_path, address, 1)
    stream.commit(stream.attempt(0)[0])
    with pytest.raises(OverDeleteError, match=r"^no such row$") as raised:
        stream.attempt(0, [b"!fail"])
    assert raised.value.row == (1, 2)  # type: ignore[attr-defined]
    assert isinstance(raised.value.__cause__, ServerTraceback)
    assert "in apply" in str(raised.value.__cause__)
    with pytest.raises(RuntimeError, match=r"^OddError: 1 2$"):
        stream.attempt(0, [b"!odd"])
    # An engine that raised is not used again, and the connection is.
    version, taken = stream.attempt(0)
    assert not taken.was_live
    stream.commit(version)
    assert stream.attempt(0)[1].was_live


def test_a_store_that_fails_in_a_request(tmp_path: Path, address: Address) -> None:
    """The worker needs the log, and cannot read it: no answer is sent to another request."""
    stream = Stream(tmp_path, address, 2)
    stream.commit(stream.attempt(0)[0])
    kill(stream.workers[0])

    def fails() -> Segments:
        raise ConnectionResetError("the state store is gone")

    of = PartitionBatch(0, stream.version.said, 1, stream.delta())
    with pytest.raises(ConnectionResetError, match="state store"):
        stream.workers[0].take(stream.bags, of, fails)
    for wanted in (False, True, True):
        version, taken = stream.attempt(0)
        assert taken.was_live == wanted
        stream.commit(version)


def test_an_engine_larger_than_any_buffer(tmp_path: Path, address: Address) -> None:
    stream = Stream(tmp_path, address, 2)
    for turn in range(3):
        delta = [bytes([97 + turn]) * (5 << 20), b"x" * (3 << 20)]
        version, _ = stream.attempt(turn % 2, delta)
        stream.commit(version, delta)
    assert version.said is not None
    assert stream.look(0, version.said.token) == stream.has
    kill(stream.workers[0])
    assert not stream.attempt(1)[1].was_live


def test_one_server_whoever_starts_it(tmp_path: Path, address: Address) -> None:
    workers = [Engines(address) for _ in range(8)]
    bags = Bags(str(tmp_path), os.getpid())
    start = threading.Barrier(8)

    def begin(number: int) -> int | None:
        start.wait()
        workers[number].take(bags, PartitionBatch(number, None, 0, [b"a"]), Segments)
        return server(workers[number])

    with ThreadPoolExecutor(8) as pool:
        processes = set(pool.map(begin, range(8)))
    assert len(processes) == 1
    assert None not in processes
    assert workers[0].look(bags, 0, "", "live") == [b"8"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_server_outlives_its_executor(tmp_path: Path, how: signal.Signals) -> None:
    with run("executor", tmp_path) as process:
        assert process.stdout is not None
        found, folder = process.stdout.readline().decode().split()
        file = os.pidfd_open(int(found))
        assert Path(folder).stat().st_mode & 0o077 == 0
        process.send_signal(how)
        process.wait()
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    waiting.poll()
    os.close(file)
    assert not Path(folder).exists()


def test_the_folder_is_nobody_elses(
    tmp_path: Path, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that cannot start a server has its engines itself."""
    address.folder.mkdir()
    address.folder.chmod(0o755)
    stream = Stream(tmp_path, address, 1)
    for turn in range(3):
        version, taken = stream.attempt(0)
        assert taken.was_live == (turn > 0)
        stream.commit(version)
    assert list(address.folder.iterdir()) == []
    address.folder.chmod(0o700)
    stream.workers = [Engines(address)]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", shutil.which("false"))
        version, taken = stream.attempt(0)
        stream.commit(version)
    assert not (address.folder / addresses.SOCKET).exists()
    shutil.rmtree(address.folder)


def test_a_secret_is_asked_for(tmp_path: Path, address: Address) -> None:
    stream = Stream(tmp_path, address, 1)
    stream.commit(stream.attempt(0)[0])
    secret = address.folder / addresses.SECRET
    right = secret.read_bytes()
    secret.write_bytes(b"another")
    assert address.connect() is None
    secret.write_bytes(right)
    assert stream.attempt(0)[1].was_live


def test_files_that_somebody_removes(tmp_path: Path, address: Address) -> None:
    """As cleaners of temporary folders do: a second server starts, and the first one is left."""
    stream = Stream(tmp_path, address, 2)
    stream.commit(stream.attempt(0)[0])
    first = server(stream.workers[0])
    assert first is not None
    shutil.rmtree(address.folder)
    for worker, wanted in ((1, False), (1, True), (0, False), (1, False), (1, True)):
        version, taken = stream.attempt(worker)
        assert taken.was_live == wanted
        stream.commit(version)
    assert server(stream.workers[1]) != first
    os.kill(first, signal.SIGTERM)
    ends(first)
    assert stream.attempt(0)[1].was_live


def test_which_process_is_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_PYTHON_RUNTIME", raising=False)
    monkeypatch.delenv("PYTHON_WORKER_FACTORY_SECRET", raising=False)
    monkeypatch.setattr(os, "getpgrp", os.getppid)
    assert executor() is None
    monkeypatch.setenv("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
    monkeypatch.setattr(addresses, "_stat", lambda process, place: "7" if place == 1 else "")
    assert executor() == 7
    monkeypatch.setattr(addresses, "_stat", lambda process, place: "")
    assert executor() == os.getppid()
    monkeypatch.setattr(os, "getpgrp", lambda: os.getppid() + 1)
    assert executor() is None


def test_engines_that_nobody_uses_go() -> None:
    cache = Cache[str]()
    cache.put("ended", 0, "t", "engine", 7)
    cache.put("pauses", 0, "t", "engine", 7)
    for _ in range(4):
        cache.sweep(3)
        with cache.look("pauses", 0, "t") as engine:
            assert engine == "engine"
    assert len(cache) == 1
    for _ in range(3):
        cache.sweep(3)
    assert len(cache) == 0


def test_a_look_is_over_before_the_engine_changes() -> None:
    cache = Cache[list[int]]()
    cache.put("stream", 0, "t", [], 0)
    popped = threading.Event()

    def change() -> None:
        engine = cache.pop("stream", 0, "t")
        popped.set()
        assert engine is not None
        engine.append(1)

    with cache.look("stream", 0, "t") as engine:
        changes = threading.Thread(target=change)
        changes.start()
        while len(cache):
            # It is out of the cache, and waits.
            pass
        assert not popped.is_set()
        assert engine == []
    changes.join()
    assert engine == [1]
    with cache.look("stream", 0, "t") as gone:
        assert gone is None
