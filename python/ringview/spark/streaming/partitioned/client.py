"""A worker's way to the engines of its executor.

Invariant: a request is done once, or raises with nothing done, whatever happens to the server. If
it ends, the worker makes the engine itself, from its segments, and releases it; where no server can
be started, it keeps its engines as a server does. A connection on which anything failed is closed,
so no answer is taken for that of another request. Cost: a request and its answer; where there is no
server, that of `store`.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

from ringview.spark.streaming.partitioned.address import Address, executor
from ringview.spark.streaming.partitioned.codec import CodecError, decode, encode
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.requests import (
    Look,
    NeedsSegments,
    Raised,
    Served,
    ServerTraceback,
    Take,
)
from ringview.spark.streaming.partitioned.segments import Read, Taken
from ringview.spark.streaming.partitioned.store import PartitionBatch


class _GoneError(Exception):
    """The server has ended."""


class Engines:
    """The engines of an executor; those of this process where executors have no server."""

    def __init__(self, address: Address | None) -> None:
        self._address = address
        self._own: Cache[Any] = Cache()
        self._connection: Connection | None = None
        self._cannot_start = False
        self._lock = threading.Lock()

    def take(self, served: Served, of: PartitionBatch, read: Read) -> Taken[Any]:
        """Let the engine of a partition take a micro-batch; raises what that raises."""
        if self._address is None:
            return served.take(self._own, of, read)
        taken = self._ask(Take(encode(served), of), read)
        if taken is None:
            return served.take(self._own if self._cannot_start else Cache(), of, read)
        assert isinstance(taken, Taken)
        return taken.with_logged(of.delta) if taken.logged == () else taken

    def look(self, served: Served, partition: int, token: str, view: str) -> list[bytes] | None:
        """Partials of a view in the live engine of a version; None if there is none."""
        if self._address is None:
            return served.look(self._own, partition, token, view)
        found: Any = self._ask(Look(encode(served), partition, token, view), None)
        return found if found is None else list(found)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _ask(self, request: Take | Look, read: Read | None) -> object:
        """The answer to a request; None if there is no server to answer it.

        Of a server that ended since the last request there may be a next one already.
        """
        with self._lock:
            was_there = self._connection is not None
            try:
                found = self._talk(request, read)
            except _GoneError:
                if not was_there:
                    return None
                try:
                    found = self._talk(request, read)
                except _GoneError:
                    return None
        if isinstance(found, Raised):
            raise found.error() from ServerTraceback(found.where)
        return found

    def _talk(self, request: Take | Look, read: Read | None) -> object:
        connection = self._connected(is_needed=read is not None)
        try:
            message = encode(request)
            with _speaking():
                connection.send_bytes(message)
                found = decode(connection.recv_bytes())
            if isinstance(found, NeedsSegments):
                assert read is not None
                message = encode(read())
                with _speaking():
                    connection.send_bytes(message)
                    found = decode(connection.recv_bytes())
        except BaseException:
            self.close()
            raise
        return found

    def _connected(self, is_needed: bool) -> Connection:
        address = self._address
        assert address is not None
        if self._connection is None:
            self._connection = address.connect()
        if self._connection is None and is_needed and not self._cannot_start:
            self._connection = address.start()
            self._cannot_start = self._connection is None
        if self._connection is None:
            raise _GoneError
        return self._connection


@contextmanager
def _speaking() -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, CodecError) as problem:
        raise _GoneError from problem


@cache
def engines() -> Engines:
    """The engines that this worker calls."""
    process = executor()
    if process is None:
        return Engines(None)
    # Spark collects garbage behind every task, and most of that time is spent on modules that stay.
    gc.collect()
    gc.freeze()
    return Engines(Address.of(process))
