"""Address of the server of engines of an executor, and its start: by one worker, once.

The workers of an executor are forked from PySpark's daemons, of which it has one for each kind of
task. The server has a folder by the identity of the executor:

    lock     held from the start of a server until it listens
    secret   shared by both sides
    socket

Invariant: nothing in the folder is used, and no byte of a connection read, unless `private` says
that it is this user's alone. The server inherits the lock and releases it when it listens or ends,
even if the worker has died, so two servers never start at once. Cost: of a start that of a Python
interpreter, once for an executor.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

from ringview.spark.streaming.partitioned import private

LOCK, SECRET, SOCKET = "lock", "secret", "socket"

SERVES = "ringview.spark.streaming.partitioned.setting"
"""The module of the classes that a server answers for."""

_START = 60.0
_LONGEST = 60
"""A socket's path has at most 104 bytes on some systems, of which the folder's name takes some."""

# A second fork detaches the server from the worker, which may end first and need not wait for it.
_BOOT = """
import os, sys
if os.fork():
    os._exit(0)
import json
sys.path[:] = json.loads(sys.argv[1])
from ringview.spark.streaming.partitioned.server import main
main(*sys.argv[2:])
"""


def executor() -> int | None:
    """The process of this worker's executor; None where no daemon forks workers.

    A daemon leads the group of processes that its workers are in: one that it left behind has none.
    If a daemon's parent is unnamed, or it was itself left behind, its own process is used.
    """
    is_worker = "SPARK_PYTHON_RUNTIME" in os.environ or "PYTHON_WORKER_FACTORY_SECRET" in os.environ
    daemon = os.getppid()
    if not is_worker or not hasattr(socket, "AF_UNIX") or daemon != os.getpgrp():
        return None
    java = _stat(daemon, 1)
    return int(java) if java not in ("", "0", "1") else daemon


def born(process: int) -> str:
    """The start time of a process, which a later one with its number lacks; "" if unavailable."""
    return _stat(process, 19)


def _stat(process: int, place: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[place]
    except (OSError, IndexError):
        return ""


@dataclass(frozen=True)
class Address:
    """The server of an executor, which is a process."""

    process: int
    born: str
    folder: Path
    serves: str = SERVES
    """The module that the server imports: the classes that it registers may come in requests."""

    @staticmethod
    def of(process: int) -> Address:
        """That of a process that runs."""
        temporary = Path(tempfile.gettempdir())
        if len(os.fsencode(temporary)) > _LONGEST:
            temporary = Path("/tmp")
        began = born(process)
        return Address(process, began, temporary / f"ringview-{os.getuid()}-{process}-{began}")

    def connect(self) -> Connection | None:
        """A connection to the server; None if none listens."""
        try:
            secret = private.read(self.folder / SECRET)
            made = Connection(private.connect(self.folder / SOCKET).detach())
        except OSError:
            return None
        try:
            answer_challenge(made, secret)
            deliver_challenge(made, secret)
        except (OSError, EOFError, AuthenticationError):
            made.close()
            return None
        return made

    def start(self) -> Connection | None:
        """The same, of a server that is started if there is none; None if it cannot be."""
        import fcntl

        deadline = time.monotonic() + _START
        try:
            self._own()
            for is_first in (True, False):
                how = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
                lock = os.open(self.folder / LOCK, how, 0o600)
                try:
                    while not _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
                        if time.monotonic() > deadline:
                            return None
                        time.sleep(0.01)
                    found = self.connect()
                    if found is not None:
                        return found
                    if is_first:
                        self._boot(lock)
                finally:
                    os.close(lock)
        except OSError:
            pass
        return None

    def _own(self) -> None:
        """Make the folder, or make sure that it is the user's own."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        private.check_folder(self.folder)

    def _boot(self, lock: int) -> None:
        paths = json.dumps([path for path in sys.path if isinstance(path, str)])
        of = [str(self.process), self.born, str(self.folder), str(lock), self.serves]
        subprocess.run(
            [sys.executable, "-c", _BOOT, paths, *of],
            stdin=subprocess.DEVNULL,
            stdout=2,
            pass_fds=[lock],
            check=False,
        )


def _locked(file: int, how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True
