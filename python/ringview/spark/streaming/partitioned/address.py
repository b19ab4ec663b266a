"""Where the server of engines of an executor is, and how it is started: by one worker, once.

The workers of an executor are forked from PySpark's daemons, of which it has one for each kind of
task. The server has a folder by the identity of the executor:

    lock     held from the start of a server until it listens
    secret   what both sides must know
    socket

Invariant: the folder belongs to the user and has mode 0700. The server inherits the lock and
releases it when it listens or ends, even if the worker has died, so two servers never start at
once. Cost: of a start that of a Python interpreter, once for an
executor.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path

LOCK, SECRET, SOCKET = "lock", "secret", "socket"

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
    A daemon that nobody names the parent of, or that was itself left behind, stands for it.
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
            secret = (self.folder / SECRET).read_bytes()
            return Client(str(self.folder / SOCKET), family="AF_UNIX", authkey=secret)
        except (OSError, EOFError, AuthenticationError):
            return None

    def start(self) -> Connection | None:
        """The same, of a server that is started if there is none; None if it cannot be."""
        import fcntl

        deadline = time.monotonic() + _START
        try:
            self._own()
            for is_first in (True, False):
                lock = os.open(self.folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
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
        found = self.folder.lstat()
        is_private = stat.S_ISDIR(found.st_mode) and not stat.S_IMODE(found.st_mode) & 0o077
        if not is_private or found.st_uid != os.geteuid():
            raise PermissionError(f"{self.folder} is open to others")

    def _boot(self, lock: int) -> None:
        paths = json.dumps([path for path in sys.path if isinstance(path, str)])
        of = [str(self.process), self.born, str(self.folder), str(lock)]
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
