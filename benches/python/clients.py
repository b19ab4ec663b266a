"""Fifty clients of one server: a writer, readers and subscribers of two protocols; print JSON.

    python benches/python/clients.py [--seconds 600]

One client writes by HTTP, 19 read by HTTP and 10 by PostgreSQL's protocol, 10 follow a view by
server-sent events and 10 by `COPY (SUBSCRIBE ..)`. Invariant: at the end what each subscriber added
up is the view, or the bench fails. The server is a process of its own; its memory is looked at
twelve times. Latencies are those of clients that share the machine, and their interpreter, with it.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
import psycopg

JOB = """
[[table]]
name = "r"
schema = {{id = "int64 not null", k = "int64", x = "int64"}}
unique = "id"
[[view]]
name = "v"
sql = "SELECT k, COUNT(*) AS n, SUM(x) AS x FROM r GROUP BY k"
[serve]
port = 0
postgres = {port}
writable = true
"""
GROUPS, BATCH, KEPT = 100, 10, 500
LOOKS = 12


class Clients:
    """Threads that run until `stop` is set, and what each measured."""

    def __init__(self, url: str, port: int) -> None:
        self.url, self.port = url, port
        self.stop = threading.Event()
        self.seconds: dict[str, list[float]] = {}
        self.failed: list[str] = []
        self.states: list[Counter[tuple[str, ...]]] = []
        self.events = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self, run: Callable[[], None], many: int) -> None:
        """So many of a kind."""

        def guarded() -> None:
            try:
                run()
            except Exception as problem:
                if not self.stop.is_set():
                    self.failed.append(repr(problem))

        for _ in range(many):
            thread = threading.Thread(target=guarded, daemon=True)
            thread.start()
            self._threads.append(thread)

    def timed(self, kind: str, call: Callable[[], object]) -> None:
        """A call, and how long it took."""
        start = time.perf_counter()
        call()
        took = time.perf_counter() - start
        with self._lock:
            self.seconds.setdefault(kind, []).append(took)

    def web(self) -> httpx.Client:
        """A client of HTTP."""
        return httpx.Client(base_url=self.url, timeout=None, trust_env=False, verify=False)

    def session(self) -> psycopg.Connection[Any]:
        """A client of PostgreSQL's protocol."""
        return psycopg.connect(host="127.0.0.1", port=self.port, user="me", autocommit=True)

    def write(self) -> None:
        """Insert batches, and delete old ones once there are enough of them."""
        number = 0
        with self.web() as web:
            while not self.stop.is_set():
                rows = [
                    {"id": number * BATCH + at, "k": (number + at) % GROUPS, "x": number}
                    for at in range(BATCH)
                ]

                def send(rows: list[dict[str, int]] = rows) -> None:
                    web.post("/tables/r", json=rows).raise_for_status()

                self.timed("write", send)
                if number >= KEPT:
                    first = (number - KEPT) * BATCH
                    gone = [{"id": first + at} for at in range(BATCH)]
                    web.post("/tables/r?op=delete", json=gone).raise_for_status()
                number += 1
                self.stop.wait(0.02)

    def read_http(self) -> None:
        """Reads of the whole view."""
        with self.web() as web:
            while not self.stop.wait(0.1):
                self.timed("read by HTTP", lambda: web.get("/views/v").raise_for_status())

    def read_postgres(self) -> None:
        """The same by SQL."""
        with self.session() as session:
            while not self.stop.wait(0.1):
                self.timed(
                    "read by PostgreSQL's protocol",
                    lambda: session.execute("SELECT * FROM v").fetchall(),
                )

    def _state(self) -> Counter[tuple[str, ...]]:
        state: Counter[tuple[str, ...]] = Counter()
        with self._lock:
            self.states.append(state)
        return state

    def follow_http(self) -> None:
        """Server-sent events."""
        state = self._state()
        with self.web() as web, web.stream("GET", "/views/v/changes") as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    for row in json.loads(line[6:]).get("rows", []):
                        times = row.pop("multiplicity")
                        self._add(state, tuple(str(value) for value in row.values()), times)

    def follow_postgres(self) -> None:
        """COPY of changes."""
        state = self._state()
        with (
            self.session() as session,
            session.cursor().copy("COPY (SUBSCRIBE v) TO STDOUT") as copy,
        ):
            for times, *row in copy.rows():
                self._add(state, tuple(row), int(times))

    def _add(self, state: Counter[tuple[str, ...]], row: tuple[str, ...], times: int) -> None:
        state[row] += times
        if not state[row]:
            del state[row]
        self.events += 1

    def view(self) -> Counter[tuple[str, ...]]:
        """The rows of the view now."""
        with self.web() as web:
            rows = web.get("/views/v").json()["rows"]
        return Counter(tuple(str(value) for value in row.values()) for row in rows)


def memory(process: int) -> int:
    """Bytes of a process that are in memory."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096


def measured(clients: Clients, server: int, seconds: float) -> dict[str, Any]:
    """Fifty clients for a time."""
    for run, many in (
        (clients.follow_http, 10),
        (clients.follow_postgres, 10),
        (clients.read_http, 19),
        (clients.read_postgres, 10),
        (clients.write, 1),
    ):
        clients.start(run, many)
    held = []
    for _ in range(LOOKS):
        time.sleep(seconds / LOOKS)
        held.append(memory(server))
    clients.stop.set()
    time.sleep(2)
    wanted = clients.view()
    end = time.monotonic() + 60
    while any(state != wanted for state in clients.states) and time.monotonic() < end:
        time.sleep(0.1)
    lost = sum(state != wanted for state in clients.states)
    if lost or clients.failed or len(clients.states) != 20:
        raise SystemExit(f"{lost} subscribers differ from the view; {clients.failed[:3]}")
    figures: dict[str, Any] = {"workload": "clients", "seconds": seconds, "events": clients.events}
    for kind, took in clients.seconds.items():
        figures[kind] = {
            "calls": len(took),
            "median_ms": round(median(took) * 1e3, 2),
            "p99_ms": round(quantiles(took, n=100)[-1] * 1e3, 2),
        }
    return {**figures, "server_bytes": held}


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args(arguments)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.toml"
        job.write_text(JOB.format(port=port))
        command = [sys.executable, "-m", "ringview", "serve", str(job)]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            told = server.stderr.readline()
            found = re.search(r"http://\S+", told)
            if found is None:
                raise SystemExit(told + server.stderr.read())
            print(json.dumps(measured(Clients(found.group(), port), server.pid, given.seconds)))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
