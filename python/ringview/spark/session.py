"""A Spark session, with a clear word where Java is missing.

Invariant: a session that is already active is used as it is. Cost: about 4 s to
start one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ringview.errors import RingviewError
from ringview.spark.releases import release

_HOW = (
    "Install a JDK or JRE, 17 or later, and set JAVA_HOME if it is not on the PATH:\n  Debian, "
    "Ubuntu   apt install openjdk-17-jre-headless\n  Fedora, RHEL     dnf install "
    "java-17-openjdk-headless\n  macOS            brew install openjdk@17\n  conda            "
    "conda install -c conda-forge openjdk=17"
)


# Batches for workers end at 10,000 rows anyway; to hold them to a number of bytes Spark adds up all
# columns after each row, which takes as long as writing it. This number means no limit.
_DEFAULTS = {"spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1)}


class JavaNotFoundError(RingviewError, RuntimeError):
    """Spark runs on Java, and there is none, or one that is too old."""


def session(name: str = "ringview", config: Mapping[str, str] | None = None) -> SparkSession:
    """The active Spark session, or a new one called ``name``.

    Spark's own configuration (``spark-defaults.conf``, ``spark-submit``) says where Spark runs;
    without any it runs in this machine's processes. Batches for workers have no limit in bytes
    unless ``config`` has one: Spark takes long to keep to it.

    Example:
        >>> spark = session("report", {"spark.ui.enabled": "false"})  # doctest: +SKIP
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_REMOTE" not in os.environ:
        check_java()
    # Workers must find the same Python, with its packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for key, value in {**_DEFAULTS, **(config or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def use_this_python(spark: SparkSession) -> None:
    """On one machine, let workers run the Python that runs here, unless another is configured.

    Spark's own choice is the `python3` of the PATH, which need not have the packages that are here.
    """
    context = _context(spark)
    asked = "PYSPARK_PYTHON" in os.environ
    if context is not None and str(context.master).startswith("local") and not asked:
        context.pythonExec = sys.executable


def cores(spark: SparkSession) -> int | None:
    """Number of cores that Spark uses here; ``None`` if it runs on other machines, or remotely."""
    context = _context(spark)
    if context is None or not str(context.master).startswith("local"):
        return None
    return int(context.defaultParallelism)


def _context(spark: SparkSession) -> SparkContext | None:
    """The context behind a session; a remote session has none."""
    try:
        return spark.sparkContext
    except PySparkException:
        return None


def check_java() -> None:
    """Raise `JavaNotFoundError` unless there is a Java that Spark can run on."""
    java = _java()
    if java is None:
        raise JavaNotFoundError(f"Spark needs Java, and none was found. {_HOW}")
    # macOS has a `java` that only says that there is no Java.
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    if said.returncode:
        raise JavaNotFoundError(f"Spark needs Java, and {java} does not run. {_HOW}")
    # "17.0.15", or "1.8.0_292" for Java 8 and older; an unknown wording is left to Spark.
    version = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    oldest = 17 if release() >= (4, 0) else 8
    if version and int(version[1]) < oldest:
        raise JavaNotFoundError(f"Spark needs a newer Java than {version[1]} ({java}). {_HOW}")


def _java() -> str | None:
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        return str(java) if java.exists() else None
    return shutil.which("java")
