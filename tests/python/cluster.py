"""A cluster of Spark on this machine: a master, and workers with a core each.

Its daemons have nothing of the environment in which a driver finds ringview: executors have what is
shipped to them, or nothing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
import ringview

HOME = Path(pyspark.__file__).parent
_OF_DRIVERS = ("PYTHONPATH", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE")
_MASTER, _WORKER = "master.Master", "worker.Worker"


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs."""

    url: str
    folder: Path

    def submit(self, script: str, *arguments: str, **conf: str) -> subprocess.CompletedProcess[str]:
        """Run a script as a driver by ``spark-submit``, with ringview in an archive."""
        said = {**self.settings(), **{name.replace("_", "."): conf[name] for name in conf}}
        options = [part for pair in said.items() for part in ("--conf", "=".join(pair))]
        command = [str(HOME / "bin/spark-submit"), "--master", self.url, *options, script]
        return self.run([*command, *arguments])

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a driver that says by itself where the cluster is."""
        env = {**_environment(), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        return subprocess.run(command, capture_output=True, text=True, env=env)

    def settings(self) -> dict[str, str]:
        """Settings of a session, with ringview in an archive."""
        archive = self.folder / "ringview.zip"
        if not archive.exists():
            packed(archive)
        return {
            "spark.archives": f"{archive}#deps",
            "spark.executorEnv.PYTHONPATH": "./deps",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
        }


def packed(archive: Path) -> None:
    """Write the package as it is here, which has the native part in it."""
    package = Path(ringview.__file__).parent
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                file.write(path, path.relative_to(package.parent))


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """So many workers and their master, which end with the block."""
    with ExitStack() as ends:
        host = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        url = ends.enter_context(_daemon(_MASTER, host, r"Starting Spark master at (spark://\S+)"))
        for number in range(workers):
            own = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}")]
            said = r"Successfully registered with master (spark://\S+)"
            ends.enter_context(_daemon(_WORKER, [*host, *own, url], said))
        yield Cluster(url, folder)


@contextmanager
def _daemon(name: str, arguments: list[str], said: str) -> Iterator[str]:
    """One that has said something, of which the first group is given."""
    command = [str(HOME / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
        start_new_session=True,
    ) as daemon:
        try:
            assert daemon.stderr is not None
            lines = []
            for line in daemon.stderr:
                lines.append(line)
                if found := re.search(said, line):
                    break
            else:
                raise RuntimeError(f"{name} ended: {''.join(lines)}")
            # A pipe without a reader would block it once it is full.
            threading.Thread(target=daemon.stderr.read, daemon=True).start()
            yield found[1]
        finally:
            os.killpg(daemon.pid, signal.SIGKILL)


def _environment() -> Mapping[str, str]:
    found = {name: value for name, value in os.environ.items() if name not in _OF_DRIVERS}
    return {
        **found,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
