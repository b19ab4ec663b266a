"""Views over DataFrames of Spark Connect: no context, no RDDs, plans over the wire."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", minversion="3.5")
for package in ("grpc", "grpc_status", "google.rpc", "zstandard"):
    pytest.importorskip(package, reason="Spark Connect needs it: pip install 'pyspark[connect]'")

SPENT = [["Ada", 950], ["Grace", 800]]
ROWS = [["Ada", 50], ["Ada", 400], ["Ada", 500], ["Grace", 800]]


def test_views_over_spark_connect() -> None:
    driver = Path(__file__).parent / "connect_driver.py"
    done = subprocess.run(
        [sys.executable, driver], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("session").startswith("pyspark.sql.connect")
    assert found == {
        "one": SPENT,
        "sent": SPENT,
        "shuffled": SPENT,
        "views": {"spent": SPENT, "best": [["Ada"]]},
        "plan": SPENT,
        "sample": ROWS,
        "raised": "ArithmeticOverflowError",
    }
