"""A PostgreSQL server for tests, from Debian's packages, in a folder and a process of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


class Server:
    """A server with logical replication; only this machine reaches it.

    It is run by a user without rights if the tests have all: PostgreSQL requires that.
    """

    def __init__(self) -> None:
        found = shutil.which("initdb") or (_PLACES and str(_PLACES[-1] / "initdb"))
        if not found:
            pytest.skip("PostgreSQL's server is not installed")
        self._bin = Path(found).parent
        self._folder = Path(tempfile.mkdtemp(prefix="ringview-postgres-"))
        self._user = None
        if os.geteuid() == 0:
            self._user = pwd.getpwnam("nobody").pw_name
            shutil.chown(self._folder, self._user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._run("initdb", "-D", "data", "-U", "tests", "--auth=trust", "--no-sync")
        self._options = (
            f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off "
            "-c wal_level=logical -c max_wal_senders=12 -c max_replication_slots=12"
        )
        self.start()
        self.address = f"host=127.0.0.1 port={self._port} user=tests dbname=postgres"
        self.url = f"postgresql+psycopg://tests@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Begin, or begin again where it ended."""
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", self._options, "start")

    def _run(self, program: str, *arguments: str) -> None:
        # A server that stays keeps what it inherits open, so nothing is read from it.
        with (self._folder / f"{program}.out").open("wb") as out:
            subprocess.run(
                [str(self._bin / program), *arguments],
                check=True,
                stdout=out,
                stderr=out,
                cwd=self._folder,
                user=self._user,
                env={**os.environ, "HOME": str(self._folder)},
            )

    def stop(self, how: str = "fast") -> None:
        """End it; "immediate" is a crash."""
        self._run("pg_ctl", "-D", "data", "-w", "-m", how, "stop")

    def copy(self, source: str, target: str) -> None:
        """Copy the folder of a server that is stopped over another one, as a restore does."""
        shutil.rmtree(self._folder / target, ignore_errors=True)
        subprocess.run(["cp", "-a", source, target], check=True, cwd=self._folder, user=self._user)

    def promote(self) -> None:
        """Begin as a standby, and become a server of its own: on another timeline."""
        signal = self._folder / "data" / "standby.signal"
        signal.touch()
        if self._user is not None:
            shutil.chown(signal, self._user)
        self.start()
        self._run("pg_ctl", "-D", "data", "-w", "promote")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)
