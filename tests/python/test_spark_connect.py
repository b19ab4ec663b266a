"""Views over DataFrames of Spark Connect: no context, no RDDs, plans over the wire."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("pyspark", minversion="4.0")

import connect_driver

for package in ("grpc", "grpc_status", "google.rpc", "zstandard"):
    pytest.importorskip(package, reason="Spark Connect needs it: pip install 'pyspark[connect]'")


def test_views_over_spark_connect() -> None:
    done = subprocess.run(
        [sys.executable, connect_driver.__file__],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    connect_driver.check(json.loads(done.stdout.splitlines()[-1]))
