"""Streams with a checkpoint by a URI, or in a folder with a blank, killed wherever they are, also
as they become other ones.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", minversion="4.1")

import elsewhere_crashes as crashes
from elsewhere_crashes import Mode
from partition_crashes import arrive
from pyspark.sql import SparkSession

# Spark's reader of state, of which partitions are read, finds no URI with a blank.
NAMES: dict[Mode, str] = {"driver": "a state", "partitioned": "state"}


@pytest.fixture
def mounted(quick: SparkSession, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A folder by a URI, and what another session needs to find it."""
    (tmp_path / "bucket").mkdir()
    configuration: Any = quick.sparkContext._jsc.hadoopConfiguration()
    name = tmp_path.name.replace("_", "-")
    link, to = f"fs.viewfs.mounttable.{name}.link./bucket", (tmp_path / "bucket").as_uri()
    configuration.set(link, to)
    yield f"viewfs://{name}/bucket", {f"spark.hadoop.{link}": to}
    configuration.unset(link)


def survive(
    spark: SparkSession,
    folder: Path,
    at: str,
    config: dict[str, str],
    mode: Mode,
    kills: int,
) -> None:
    """So many kills, with a file more and another query or number of partitions now and then."""
    drawn = random.Random(kills)
    done = number = files = 0
    while done < kills or number < 2:
        arrive(folder, files)
        files += 1
        # Some live to the end.
        steps = 10**6 if drawn.random() < 0.3 else drawn.randrange(1, 2_500)
        command = [sys.executable, crashes.__file__, str(folder), at, json.dumps(config), mode]
        life = subprocess.run(
            [*command, str(number), str(steps)], capture_output=True, start_new_session=True
        )
        assert life.returncode in (0, -signal.SIGKILL), life.stderr.decode()[-3000:]
        if life.returncode:
            done += 1
        else:
            number += 1
    crashes.live(spark, folder, at, mode, number)
    crashes.same(spark, folder, at, mode, number, files)


@pytest.mark.long
@pytest.mark.parametrize("mode", list(NAMES))
@pytest.mark.parametrize("kills", [4, 50])
def test_a_stream_by_a_uri_that_is_killed_loses_nothing(
    quick: SparkSession,
    tmp_path: Path,
    mounted: tuple[str, dict[str, str]],
    mode: Mode,
    kills: int,
) -> None:
    uri, config = mounted
    survive(quick, tmp_path, f"{uri}/{NAMES[mode]}", config, mode, kills)


@pytest.mark.long
@pytest.mark.parametrize("mode", list(NAMES))
@pytest.mark.parametrize("kills", [4, 50])
def test_a_stream_in_a_folder_with_a_blank_that_is_killed_loses_nothing(
    quick: SparkSession, tmp_path: Path, mode: Mode, kills: int
) -> None:
    survive(quick, tmp_path, str(tmp_path / "a state"), {}, mode, kills)
