"""The process that has the engines of an executor: it outlives the executor's workers.

Each worker has a connection, and each connection a thread; engines work at the same time, for the
native code releases the interpreter.

Invariant: those of `live` and `store` hold for every thread, worker and attempt. A request is read
only from a process of this user that has the secret, and by `codec`. The process ends with the
executor's, however that ends, and with the daemon whose worker started it. Its end costs time and
nothing else: the state store holds all of its state.
Cost: an interpreter with ringview and Spark's Python in it; the engines that are in use.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import socket
import sys
import threading
import time
from importlib import import_module
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

from ringview.spark.streaming.partitioned import address, private
from ringview.spark.streaming.partitioned.codec import CodecError, decode, encode
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.requests import Look, NeedsSegments, Raised, Take
from ringview.spark.streaming.partitioned.segments import Segments

_SWEEP = 60.0
_IDLE = 15
"""After how many sweeps an engine goes whose stream has ended, or pauses."""


def main(process: str, born: str, folder: str, lock: str, serves: str) -> None:
    """Serve until a process ends; `serves` is the module of the classes of requests."""
    import_module(serves)
    # Ctrl-C is for the driver. PySpark's daemon says by SIGHUP that it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for ends in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(ends, lambda *_: sys.exit())
    place = Path(folder)
    cache: Cache[Any] = Cache()
    secret = secrets.token_bytes(32)
    (place / address.SOCKET).unlink(missing_ok=True)
    (place / address.SECRET).unlink(missing_ok=True)
    private.write(place / address.SECRET, secret)
    listener = Listener(str(place / address.SOCKET), family="AF_UNIX", backlog=128)
    os.close(int(lock))
    threading.Thread(target=accept, args=(listener, secret, cache), daemon=True).start()
    try:
        executor = Watched(int(process), born)
        while not executor.is_gone(_SWEEP) and is_own(place, secret):
            cache.sweep(_IDLE)
    finally:
        if is_own(place, secret):
            shutil.rmtree(place, ignore_errors=True)
        # Threads may be at work; none of their results is needed any more.
        os._exit(0)


def is_own(place: Path, secret: bytes) -> bool:
    """Whether workers find this server, not a later one, after its files were removed."""
    try:
        return private.read(place / address.SECRET) == secret
    except OSError:
        return False


def accept(listener: Listener, secret: bytes, cache: Cache[Any]) -> None:
    """Give each connection a thread."""
    while True:
        try:
            connection = listener.accept()
        except OSError:
            # No file descriptor is left, or the connection was closed.
            time.sleep(0.1)
            continue
        serve_one = threading.Thread(target=serve, args=(connection, secret, cache), daemon=True)
        serve_one.start()


def serve(connection: Connection, secret: bytes, cache: Cache[Any]) -> None:
    """Answer the requests of a worker until it disconnects."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as made:
            private.check_peer(made)
        deliver_challenge(connection, secret)
        answer_challenge(connection, secret)
        while True:
            answer(connection, decode(connection.recv_bytes()), cache)
    except (OSError, EOFError, AuthenticationError, CodecError):
        pass
    finally:
        connection.close()


def answer(connection: Connection, request: Take | Look, cache: Cache[Any]) -> None:
    """Answer a request; if the worker dies meanwhile, no version has the engine's new token."""

    def read() -> Segments:
        connection.send_bytes(encode(NeedsSegments()))
        found: Segments = decode(connection.recv_bytes())
        return found

    try:
        message = encode(request.answer(cache, read))
    except BaseException as raised:
        message = encode(Raised.of(raised))
    connection.send_bytes(message)


class Watched:
    """A process that is waited for, and is not this one's child."""

    def __init__(self, process: int, born: str) -> None:
        self._process, self._born = process, born
        self._file: int | None = None
        if hasattr(os, "pidfd_open"):
            try:
                self._file = os.pidfd_open(process)
            except OSError:
                # It has ended, or the kernel has no such files.
                self._file = None

    def is_gone(self, seconds: float) -> bool:
        """Whether it has ended within so many seconds, or before."""
        if not self._runs():
            return True
        if self._file is not None:
            waiting = select.poll()
            waiting.register(self._file, select.POLLIN)
            return bool(waiting.poll(seconds * 1000))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(0.5)
            if not self._runs():
                return True
        return False

    def _runs(self) -> bool:
        try:
            os.kill(self._process, 0)
        except OSError:
            return False
        return address.born(self._process) == self._born
