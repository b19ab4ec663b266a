"""Older releases of PySpark, each in an environment of its own: the tests of what they can do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="3.5")

import parts

HERE = Path(__file__).parent
BATCH = (
    "test_spark",
    "test_spark_cells",
    "test_spark_connect",
    "test_spark_equals",
    "test_spark_everyday",
    "test_spark_parts",
    "test_spark_releases",
    "test_spark_routes",
    "test_spark_sample",
    "test_spark_semi_joins",
    "test_spark_single",
    "test_spark_texts",
    "test_spark_tpch",
    "test_spark_worker",
)
STREAMS = (
    "test_spark_dead_letters",
    "test_spark_evolving",
    "test_spark_objects",
    "test_spark_objects_evolving",
    "test_spark_progress",
    "test_spark_refusals",
    "test_spark_stream_time",
    "test_spark_streaming",
    "test_spark_streaming_changes",
    "test_spark_streaming_checkpoint",
    "test_spark_streaming_state",
)


@pytest.mark.long
@pytest.mark.parametrize("release", ["3.5", "4.0"])
def test_an_older_pyspark_passes_the_tests(release: str) -> None:
    try:
        python = parts.older_pyspark(release)
    except RuntimeError as error:
        pytest.skip(f"no PySpark {release}: {error}")
    files = [str(HERE / f"{name}.py") for name in (*BATCH, *STREAMS)]
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long"]
    done = subprocess.run(
        [*command, *files],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert re.search(r"\d{3,} passed", done.stdout), done.stdout[-2000:]
