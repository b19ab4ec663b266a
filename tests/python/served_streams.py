"""A stream of one partition whose engines are in a server, and the processes around it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import served_bags as served
from ringview.spark.streaming.partitioned.address import Address
from ringview.spark.streaming.partitioned.client import Engines
from ringview.spark.streaming.partitioned.segments import Delta, Meta, Read, Taken, step
from ringview.spark.streaming.partitioned.store import PartitionBatch
from served_bags import Bags, Version


def run(*arguments: object) -> subprocess.Popen[bytes]:
    """A process of `served_bags`."""
    code = "import served_bags; served_bags.main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=Path(served.__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def begins(pipe: Path, process: int) -> None:
    """Wait until something is said through a pipe; a process that ends before fails the test."""
    said, ended = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), os.pidfd_open(process)
    waiting = select.poll()
    waiting.register(said, select.POLLIN)
    waiting.register(ended, select.POLLIN)
    found = dict(waiting.poll())
    os.close(ended)
    os.close(said)
    assert said in found


def ends(process: int) -> None:
    """Wait until a process has ended."""
    try:
        file = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        waiting = select.poll()
        waiting.register(file, select.POLLIN)
        waiting.poll()
    finally:
        os.close(file)


def server(engines: Engines) -> int | None:
    """The process of the server, if it runs."""
    found = engines.look(Bags("", 0), 0, "", "process")
    return int(found[0]) if found else None


def kill(engines: Engines) -> None:
    process = server(engines)
    assert process is not None
    os.kill(process, signal.SIGKILL)
    ends(process)


class Stream:
    """A stream of one partition, and its workers."""

    def __init__(self, folder: Path, address: Address, workers: int) -> None:
        self.bags = Bags(str(folder), os.getpid())
        self.workers = [Engines(address) for _ in range(workers)]
        self.version, self.batch = Version(), 0
        self.has: Counter[str] = Counter()

    def delta(self) -> list[bytes]:
        # So large that a few of them are a snapshot.
        parts = range(1 + self.batch % 3)
        return [f"{self.batch}.{part} {'.' * 4000}".encode() for part in parts]

    def attempt(
        self, worker: int, delta: Delta | None = None
    ) -> tuple[Version, Taken[dict[str, int]]]:
        """One that is not committed yet."""
        delta = self.delta() if delta is None else delta
        version, of = Version(self.version.said, dict(self.version.held)), self.workers[worker]

        def take(meta: Meta | None, read: Read) -> Taken[dict[str, int]]:
            return of.take(self.bags, PartitionBatch(0, meta, self.batch, delta), read)

        taken = step(version, self.batch, take)
        assert taken.report == self.has + Counter(bytes(m).decode() for m in delta)
        return version, taken

    def commit(self, version: Version, delta: Delta | None = None) -> None:
        delta = self.delta() if delta is None else delta
        self.version = version
        self.has += Counter(bytes(message).decode() for message in delta)
        self.batch += 1
        assert version.said is not None
        assert self.bags.store().restore(version.said, version.segments()).has == self.has

    def look(self, worker: int, token: str) -> Counter[str] | None:
        found = self.workers[worker].look(self.bags, 0, token, "v")
        return None if found is None else Counter(each.decode() for each in found)
