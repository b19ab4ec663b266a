"""What holds for all tests: no verdict depends on a clock, so that a busy machine changes none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Both measure time: how long an example takes, and how long it takes to make one.
settings.register_profile("ringview", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ringview")

SPARK = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # Most of what the tests' short lives compile with care never pays: half of their time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

# Compiling takes longer than these few rows do; `test_spark.py` has it on.
INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of Spark: `make test-spark` runs them, `make test-python` the others."""
    for item in items:
        if item.path.name.startswith("test_spark") or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for all tests, as it takes seconds to start."""
    pytest.importorskip("pyspark", minversion="4.1")
    from ringview.spark import JavaNotFoundError, session

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    try:
        started = session("tests", SPARK)
    except JavaNotFoundError as error:
        pytest.skip(str(error))
    started.sparkContext.setLogLevel("ERROR")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, without what pays only for many rows."""
    before = {key: str(spark.conf.get(key)) for key in INTERPRETED}
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)
