"""Sends mutated requests to a server of HTTP: `python fuzz_http.py FIRST ..`.

Each is answered by a status that is no error of this program, or the connection is closed; the
server answers a request afterwards, and the rows of its table are whole.
"""

from __future__ import annotations

import logging
import random
import re
import urllib.request

from fuzz_wire import database
from fuzzing import PATIENCE, corpus, mutated, run, said
from ringview import serve

SEEDS = corpus("http")
# An error of this program is 500; 503 is a limit, 507 the memory.
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Requests:
    """A server, and a case."""

    def __init__(self) -> None:
        self.db = database()
        # Mutated requests are logged as invalid, all of them.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        limits = serve.Limits(max_body=1 << 20, timeout=2.0)
        self.server = serve.Server(self.db, port=0, writable=True, limits=limits)
        host, port = self.server.url.removeprefix("http://").split(":")
        self.address = host, int(port)

    def case(self, seed: int) -> None:
        at = random.Random(seed)
        is_kept = seed < len(SEEDS)
        data = SEEDS[seed] if is_kept else mutated(at, at.choice(SEEDS), SEEDS)
        found = said(self.address, data, is_kept)
        for status in _STATUS.findall(found):
            assert status != b"500", (data, found)
        if is_kept:
            assert found.startswith(b"HTTP/1.1 200 "), (data, found)
        if seed % 20 == 0:
            self.check()

    def check(self) -> None:
        with urllib.request.urlopen(f"{self.server.url}/health", timeout=PATIENCE) as answer:
            assert answer.status == 200
        if "r" in self.db.tables and "v" in self.db.views:
            assert len(self.db.tables["r"]) == sum(self.db["v"].to_arrow()["n"].to_pylist())


if __name__ == "__main__":
    run(Requests().case)
