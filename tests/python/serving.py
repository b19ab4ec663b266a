"""Servers for tests, their clients, and a reader of changes that maintains a copy of a view."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pyarrow as pa
import ringview as rv
from ringview import serve

ARROW = "application/vnd.apache.arrow.stream"
# As long as a machine that is busy may take.
PATIENCE = 60.0


def shop(db: rv.Database) -> rv.Database:
    """Orders of customers, what each ordered, and the rows of their join."""
    db.create_table("customers", {"id": "int64 not null", "name": "string"}, unique=["id"])
    db.create_table(
        "orders",
        {"id": "int64 not null", "customer": "int64", "price": "decimal128(12, 2)"},
        unique=["id"],
    )
    join = "FROM orders o JOIN customers c ON o.customer = c.id"
    db.create_view("totals", f"SELECT c.name, SUM(o.price) AS total {join} GROUP BY c.name")
    db.create_view("pairs", f"SELECT c.name, o.price {join}")
    db.insert("customers", [(1, "Ada"), (2, "Grace")])
    db.insert("orders", [(1, 1, 10), (2, 1, 5), (3, 2, 7)])
    return db


@contextmanager
def served(db: rv.Database, **options: Any) -> Iterator[httpx.Client]:
    """A client of a server of its own."""
    with serve.Server(db, port=0, **options) as server, client(server.url) as made:
        yield made


def client(url: str, **options: Any) -> httpx.Client:
    # The server is on this machine, and certificates take long to read.
    return httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False, verify=False, **options)


def table(answer: httpx.Response) -> pa.Table:
    """The rows of an answer in Arrow."""
    assert answer.headers["content-type"] == ARROW, answer.text
    return pa.ipc.open_stream(answer.content).read_all()


def problem(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, kind and message of an error."""
    error = answer.json()["error"]
    return answer.status_code, error["type"], error["message"]


class Reader:
    """Reads the changes of a view, and keeps the rows that the view has by them."""

    def __init__(self, url: str, view: str, **asked: str) -> None:
        self._client = client(url)
        self._path = f"/views/{view}/changes"
        self._asked = asked
        self.last: str | None = None
        self.rows = Counter[str]()
        self.snapshots = 0
        self.events = 0
        self.ended: str | None = None
        self.connected = threading.Event()

    def read(
        self,
        until: Callable[[Reader], bool] = lambda reader: False,
        events: int | None = None,
        parts: int | None = None,
    ) -> Reader:
        """Connect, and read until the rows are the expected ones, or for a number of events."""
        headers = {} if self.last is None else {"last-event-id": self.last}
        with self._client.stream("GET", self._path, params=self._asked, headers=headers) as answer:
            if answer.status_code != 200:
                answer.read()
                raise AssertionError(answer.text)
            assert answer.headers["content-type"].startswith("text/event-stream")
            self.connected.set()
            count, found = 0, dict[str, str]()
            for line in answer.iter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    found[name] = value
                    continue
                is_whole = "data" in found and self._take(found)
                if parts is not None and self.events == parts:
                    return self
                if is_whole:
                    count += 1
                    if count == events or until(self):
                        return self
                found = {}
        return self

    def read_to(self, wanted: Counter[str]) -> Reader:
        """Connect, and read until the view has these rows."""
        return self.read(lambda found: found.rows == wanted)

    def _take(self, found: dict[str, str]) -> bool:
        data = json.loads(found["data"])
        if found["event"] == "end":
            self.ended = data["reason"]
            return False
        if found["event"] == "snapshot":
            self.rows.clear()
            self.snapshots += 1
        for row in data["rows"]:
            times = row.pop("multiplicity")
            key = json.dumps(row, sort_keys=True)
            self.rows[key] += times
            if not self.rows[key]:
                del self.rows[key]
        assert data["more"] or all(times > 0 for times in self.rows.values())
        self.last = found["id"]
        self.events += 1
        return not data["more"]


def rows_of(url: str, view: str) -> Counter[str]:
    """The rows of a view, as a reader keeps them."""
    with client(url) as made:
        found = made.get(f"/views/{view}").json()["rows"]
    return Counter(json.dumps(row, sort_keys=True) for row in found)
