"""Real parts for tests: jars from Maven Central, a Kafka broker, another PySpark; kept in a cache.

Jars are fetched by Ivy, which PySpark includes, so Java and the network are all that is needed, and
those but once: `RINGVIEW_PARTS`, by default ~/.cache/ringview-parts, keeps what was fetched.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyspark
from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

CACHE = Path(os.environ.get("RINGVIEW_PARTS", Path.home() / ".cache" / "ringview-parts"))
JARS = Path(pyspark.__file__).parent / "jars"

# The newest that Maven Central has; a later PySpark takes them too.
KAFKA = "4.1.1"
CONNECTOR = "4.2.0"
DELTA = "4.4.0"
DELTA_SPARK = "4.2.0"
"""The PySpark that Delta Lake is made for: its classes meet others in PySpark 4.3, and it fails
there with NoSuchMethodError; there is no Delta Lake for 4.3 yet."""

S3A = "3.5.0"
"""As the Hadoop that PySpark 4.3 has in it."""
AWS, ACCELERATOR = "2.35.4", "1.3.0"

_NOT_TRANSITIVE = '<dependency org="{}" name="{}" rev="{}" conf="default" transitive="false"/>'
_TRANSITIVE = '<dependency org="{}" name="{}" rev="{}" conf="default"/>'


def broker_jars() -> Path:
    """A folder with a Kafka broker and its clients."""
    return _jars(f"kafka-{KAFKA}", [_TRANSITIVE.format("org.apache.kafka", "kafka_2.13", KAFKA)])


def connector_jars() -> str:
    """Value of `spark.jars` to read Kafka."""
    named = [
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", CONNECTOR),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", CONNECTOR),
        ("org.apache.kafka", "kafka-clients", "3.9.2"),
        ("org.apache.commons", "commons-pool2", "2.13.1"),
    ]
    return _listed(f"connector-{CONNECTOR}", named)


def delta_jars() -> str:
    """Value of `spark.jars` to write Delta Lake."""
    parts = ("spark_4.2_2.13", "storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")
    named = [("io.delta", f"delta-{part}", DELTA) for part in parts]
    named += [("io.unitycatalog", f"unitycatalog-{part}", "0.6.0") for part in ("client", "hadoop")]
    return _listed(f"delta-{DELTA}", named)


def s3a_jars() -> str:
    """Value of `spark.jars` to read and write objects of S3, without the jars of Spark."""
    parts_of = ("s3", "s3-transfer-manager", "sts", "apache-client")
    named = [("org.apache.hadoop", "hadoop-aws", S3A)]
    named += [("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", ACCELERATOR)]
    wanted = [_NOT_TRANSITIVE.format(*each) for each in named]
    wanted += [_TRANSITIVE.format("software.amazon.awssdk", part, AWS) for part in parts_of]
    has = ("slf4j", "netty-", "jackson", "commons-logging", "commons-codec")
    found = _jars(f"s3a-{S3A}", wanted).glob("*.jar")
    own = [path for path in found if "nio-client" in path.name or not path.name.startswith(has)]
    return ",".join(sorted(map(str, own)))


@contextmanager
def object_store() -> Iterator[str]:
    """Address of a store of S3 objects on this machine, with a bucket of the name "bucket"."""
    with _made("moto") as (folder, is_new):
        if is_new:
            wanted = ["moto[server]", "--target", str(folder)]
            _run([sys.executable, "-m", "pip", "install", "--quiet", *wanted])
    port = _free_port()
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=quiet,
        stderr=quiet,
    )
    at = f"http://127.0.0.1:{port}"
    try:
        while True:
            assert server.poll() is None
            try:
                made = urllib.request.Request(f"{at}/bucket", data=b"", method="PUT")
                urllib.request.urlopen(made).close()
                break
            except urllib.error.URLError:
                threading.Event().wait(0.1)
        yield at
    finally:
        server.terminate()
        server.wait()


def delta_pyspark() -> Path | None:
    """Path of the PySpark for Delta Lake; None if it is the installed one."""
    if pyspark.__version__.startswith("4.2."):
        return None
    with _made(f"pyspark-{DELTA_SPARK}") as (folder, is_new):
        if is_new:
            wanted = ["--no-deps", f"pyspark=={DELTA_SPARK}", "--target", str(folder)]
            _run([sys.executable, "-m", "pip", "install", "--quiet", *wanted])
    return folder


def older_pyspark(release: str) -> Path:
    """A Python with an older PySpark, this ringview, and what else the tests of Spark import."""
    root = Path(__file__).parents[2]
    named = ("cli", "ml", "plot", "test", "spark")
    listed = [sys.executable, str(root / ".ci" / "requirements.py"), *named]
    wanted = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    kept = [each for each in wanted if not each.startswith(_NOT_OLDER)]
    with _made(f"venv-{release}-{sys.version_info.major}.{sys.version_info.minor}") as (folder, _):
        python = folder / "bin" / "python"
        if not python.exists():
            _run([sys.executable, "-m", "venv", str(folder)])
        # Also where it is there: what is wanted may have changed.
        quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # zstandard is one of what Spark Connect needs only from 4.1 on, and its test looks for.
        _run([str(python), *quiet, f"pyspark[connect]=={release}.*", "zstandard", *kept])
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "ringview.pth").write_text(str(root / "python"))
    return python


_NOT_OLDER = ("pyspark", "mypy", "ruff", "adbc-", "confluent-", "ibis-", "selenium")


def _listed(name: str, named: Sequence[tuple[str, str, str]]) -> str:
    folder = _jars(name, [_NOT_TRANSITIVE.format(*each) for each in named])
    return ",".join(sorted(map(str, folder.glob("*.jar"))))


def _jars(name: str, dependencies: Sequence[str]) -> Path:
    with _made(name) as (folder, is_new):
        if is_new:
            with tempfile.TemporaryDirectory() as scratch:
                asked = Path(scratch) / "ivy.xml"
                asked.write_text(
                    '<ivy-module version="2.0"><info organisation="ringview" module="tests"/>'
                    '<configurations><conf name="default"/></configurations>'
                    f"<dependencies>{''.join(dependencies)}</dependencies></ivy-module>"
                )
                (ivy,) = JARS.glob("ivy-*.jar")
                found = f"{folder}/[artifact]-[revision].[ext]"
                command = ["java", "-jar", str(ivy), "-ivy", str(asked), "-confs", "default"]
                _run([*command, "-cache", f"{scratch}/cache", "-retrieve", found])
    return folder


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"cannot fetch what these tests need ({' '.join(command)}); they need Maven Central "
            f"and PyPI once:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )


@contextmanager
def _made(name: str) -> Iterator[tuple[Path, bool]]:
    """A folder of the cache, and whether it is to be filled; it is there whole, or not at all."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = CACHE / f"{name}.done"
        folder, is_new = CACHE / name, not done.exists()
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        yield folder, is_new
        if not any(folder.iterdir()):
            raise RuntimeError(f"nothing was fetched into {folder}")
        done.touch()


class Broker:
    """A Kafka broker on this machine with a producer, in a JVM of its own."""

    def __init__(self, folder: Path) -> None:
        port = launch_gateway(
            jarpath=str(next(JARS.glob("py4j-*.jar"))),
            classpath=f"{broker_jars()}/*",
            javaopts=["-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
            die_on_exit=True,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self._server: Any = None
        self._producer: Any = None
        self.address = f"127.0.0.1:{_free_port()}"
        self._start(folder)

    def send(self, topic: str, partition: int, value: str | None) -> None:
        """A message; `flush` waits until all are there."""
        record = self._gateway.jvm.org.apache.kafka.clients.producer.ProducerRecord
        self._producer.send(record(topic, partition, None, value))

    def flush(self) -> None:
        """Wait until all messages are there."""
        self._producer.flush()

    def create(self, topic: str, partitions: int) -> None:
        """A new topic."""
        jvm = self._gateway.jvm
        admin = jvm.org.apache.kafka.clients.admin
        client = admin.AdminClient.create(self._properties({}))
        topics = jvm.java.util.ArrayList()
        # A copy on each of one machine; py4j cannot distinguish a short from an int.
        topics.add(admin.NewTopic(topic, jvm.java.util.Optional.of(partitions), self._none()))
        client.createTopics(topics).all().get()
        client.close()

    def close(self) -> None:
        """End the broker and its JVM."""
        self._gateway.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start(self, folder: Path) -> None:
        jvm = self._gateway.jvm
        controller = f"127.0.0.1:{_free_port()}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(folder / "log"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
        }
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "server.properties"
        path.write_text("\n".join(f"{name}={value}" for name, value in settings.items()))
        arguments = ["format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(path)]
        array = self._gateway.new_array(jvm.java.lang.String, len(arguments))
        for place, argument in enumerate(arguments):
            array[place] = argument
        stream = jvm.java.io.PrintStream(jvm.java.io.ByteArrayOutputStream())
        assert jvm.kafka.tools.StorageTool.execute(array, stream) == 0
        properties = jvm.org.apache.kafka.common.utils.Utils.loadProps(str(path))
        config = jvm.kafka.server.KafkaConfig.fromProps(properties, False)
        time = jvm.org.apache.kafka.common.utils.Time.SYSTEM
        self._server = jvm.kafka.server.KafkaRaftServer(config, time)
        self._server.startup()
        serializer = "org.apache.kafka.common.serialization.StringSerializer"
        self._producer = jvm.org.apache.kafka.clients.producer.KafkaProducer(
            self._properties({"key.serializer": serializer, "value.serializer": serializer})
        )

    def _none(self) -> Any:
        return self._gateway.jvm.java.util.Optional.empty()

    def _properties(self, settings: dict[str, str]) -> Any:
        found = self._gateway.jvm.java.util.Properties()
        for name, value in {"bootstrap.servers": self.address, **settings}.items():
            found.put(name, value)
        return found


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
