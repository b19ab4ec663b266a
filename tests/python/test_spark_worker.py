"""Spark's workers: how they find ringview, which Python they run, and how many tasks there are."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="3.5")

from catalog import translate
from pyspark import cloudpickle
from ringview.spark.partition import Partition, Relation, Result
from ringview.spark.ship import Shipped
from ringview.spark.slots import Layout

dumps: Any = cloudpickle.dumps
PACKAGES = Path(pa.__file__).parents[1]
WORKER = """
import importlib.util, pickle, sys
print(importlib.util.find_spec("ringview"))
with open(sys.argv[1], "rb") as file:
    batch, shipped = pickle.load(file), pickle.load(file)
try:
    print([rows.to_pylist() for rows in shipped([batch])])
except ImportError as error:
    print(error)
"""


def bare_worker(shipped: Shipped, folder: Path) -> list[str]:
    """Output of an interpreter that has the packages, but not this ringview."""
    schema = Layout.of([pa.schema({"a": pa.int64()})]).schema
    columns = [[0, 0], [0, 0], [1, 2], [7, None]]
    batch = pa.record_batch(columns, schema=schema)
    path = folder / "step"
    path.write_bytes(pickle.dumps(batch) + dumps(shipped))
    # Without `site` no .pth file is read, by which a checkout is installed.
    command = [sys.executable, "-S", "-c", WORKER, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=folder
    )
    return done.stdout.splitlines()


def count_of_rows() -> Shipped:
    schema = pa.schema({"a": pa.int64()})
    query = translate("SELECT COUNT(*) AS n, COUNT(a) AS k FROM r", {"r": schema})
    shown = pa.schema({"n": pa.int64(), "k": pa.int64()})
    relations = (Relation("r", "r", (), schema),)
    result = Result("result", query, shown, whole=True, cells=1)
    return Shipped(Partition(relations, (result,), Layout.of([schema])))


def test_a_worker_finds_ringview_where_the_driver_has_it(tmp_path: Path) -> None:
    assert bare_worker(count_of_rows(), tmp_path) == ["None", "[[{'n': 3, 'k': 1}]]"]


def test_a_worker_without_ringview_says_what_to_do(tmp_path: Path) -> None:
    shipped = count_of_rows()
    shipped._home = str(tmp_path / "elsewhere")
    found, problem = bare_worker(shipped, tmp_path)
    assert found == "None"
    assert f"{sys.executable}, which has no ringview: install the same wheel there" in problem


SESSION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config(
    "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
).config("spark.ui.enabled", "false").getOrCreate()
import ringview.spark
tables = {
    "r": spark.sql("SELECT * FROM VALUES (1, 2), (1, 3), (2, 5) AS r(a, b)"),
    "s": spark.sql("SELECT * FROM VALUES (1, 4) AS s(a, c)"),
}
context = spark.sparkContext
for sql in (
    "SELECT r.a, SUM(b * c) AS x FROM r JOIN s USING (a) GROUP BY r.a",
    "SELECT SUM(b * c) AS x, COUNT(*) AS n FROM r CROSS JOIN s",
    "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
):
    context.setJobGroup(sql, sql)
    found = sorted(map(tuple, ringview.spark.evaluate(sql, tables).collect()))
    status = context.statusTracker()
    stages = [s for job in status.getJobIdsForGroup(sql) for s in status.getJobInfo(job).stageIds]
    tasks = sum(info.numTasks for s in stages if (info := status.getStageInfo(s)) is not None)
    print(found, tasks)
"""


@pytest.mark.long
def test_a_plain_session_runs_this_python_in_few_tasks(tmp_path: Path) -> None:
    """The `python3` that Spark would run has nothing, and nobody says which to take."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho 'not this one' >&2\nexit 3\n")
    other.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if "PYSPARK" not in key}
    environment |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", SESSION]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    results, tasks = zip(*(line.rsplit(" ", 1) for line in done.stdout.splitlines()), strict=True)
    assert results == ("[(1, Decimal('20'))]", "[(Decimal('40'), 3)]", "[(1, 2), (2, 1)]")
    # A few a stage, and not the 200 that Spark has by default.
    assert all(int(number) < 30 for number in tasks), tasks
