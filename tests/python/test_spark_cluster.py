"""A cluster of two workers, to which ringview is shipped: executors that are killed, Connect."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", minversion="4.1")

import cluster_job
import connect_driver
from cluster import cluster
from ringview.spark import JavaNotFoundError
from ringview.spark.session import check_java
from timed_streams import arrive, batches


@pytest.mark.long
def test_a_cluster_that_loses_executors(tmp_path: Path) -> None:
    """A query and a stream in partitions with a clock are exact, over the loss of an executor in
    each of them; the executors have the package that was sent, and no other."""
    try:
        check_java()
    except JavaNotFoundError as error:
        pytest.skip(str(error))
    (tmp_path / "join").mkdir()
    for name, size in (("t", 900), ("u", 70)):
        columns = {"id": [i % 7 for i in range(size)], "x": list(range(size))}
        pq.write_table(pa.table(columns), tmp_path / "join" / f"{name}.parquet")
    came = list(batches(10, 6))
    for number, (_, changes) in enumerate(came):
        arrive(tmp_path, number, changes)
    model = came[-1][0]
    with cluster(tmp_path, workers=2) as found:
        done = found.submit(cluster_job.__file__, str(tmp_path))
    assert done.returncode == 0, done.stderr[-5000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["homes"]
    assert all(Path(home).parts[-3] == "deps" for home in told["homes"])
    for where in ("query", "stream"):
        assert (tmp_path / f"killed-in-{where}").exists()
    wanted: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for t in range(900):
        for u in range(t % 7, 70, 7):
            wanted[t % 7] += 1
            sums[t % 7] += t * u
    assert sorted(told["evaluated"]) == [[i, wanted[i], sums[i]] for i in sorted(wanted)]
    streamed = told["streamed"]
    assert streamed["batch"] == 5
    assert streamed["clock"] == model.now.replace(tzinfo=UTC).isoformat()
    assert sorted(streamed["rows"]) == [[i, n, str(last)] for i, n, last in model.views()["v"]]


@pytest.mark.long
def test_queries_by_connect_on_a_cluster(tmp_path: Path) -> None:
    """As with a server on this machine, though workers have the package that was sent alone."""
    for package in ("grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(package, reason="Spark Connect needs it")
    try:
        check_java()
    except JavaNotFoundError as error:
        pytest.skip(str(error))
    with cluster(tmp_path, workers=2) as found:
        settings = {"spark.master": found.url, **found.settings()}
        done = found.run([sys.executable, connect_driver.__file__, json.dumps(settings)])
    assert done.returncode == 0, done.stderr[-5000:]
    connect_driver.check(json.loads(done.stdout.splitlines()[-1]))
