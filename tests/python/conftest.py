"""Settings of all tests: no verdict depends on a clock, so that a busy machine changes none."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import ringview
from amounts import some
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Both measure time: how long an example takes, and how long it takes to make one.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time: a change is refused for what it does. `make test-long` finds others.
settings.register_profile(
    "fixed", settings.get_profile("random"), derandomize=True, max_examples=25
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

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


# Options of databases of random tests, by default: results are the same.
WAYS = {"shared": {"share": True, "threads": 1}, "apart": {"share": False, "threads": 2}}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each random test with views that share and by one thread, or apart and by two.

    Before each change one of both, by the test's name; at length both. One that is marked `once`
    makes no database.
    """
    if metafunc.definition.get_closest_marker("once") is not None:
        return
    is_random = getattr(metafunc.function, "is_hypothesis_test", False)
    of_spark = metafunc.module.__name__.startswith("test_spark")
    is_long = metafunc.definition.get_closest_marker("long") is not None
    if is_random and not of_spark and not is_long:
        metafunc.fixturenames.append("way")
        is_reverse = zlib.crc32(metafunc.definition.name.encode()) % 2 == 1
        ways = sorted(WAYS, reverse=is_reverse)
        metafunc.parametrize("way", some(ways), indirect=True)


@pytest.fixture(scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Options of all databases that are made meanwhile, unless they are given."""
    makers = [ringview.Database.__init__, ringview.Database.open, ringview.Database.load]
    functions = [getattr(maker, "__func__", maker) for maker in makers]
    before = [function.__kwdefaults__ for function in functions]
    for function in functions:
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **WAYS[request.param]}
    yield request.param
    for function, defaults in zip(functions, before, strict=True):
        function.__kwdefaults__ = defaults


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of Spark, and run them last, when Java has nobody else in its process."""
    for item in items:
        if item.path.name.startswith("test_spark") or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for all tests, as it takes seconds to start."""
    pytest.importorskip("pyspark", minversion="3.5")
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
