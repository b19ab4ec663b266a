"""A stream of Spark with its state on the driver and in partitions: processors a micro-batch.

    python benches/python/spark_stream.py [MODE ..] [--rows 100000] [--partitions 4] [--batches 20]

Prints a JSON line for each mode: "driver"; "partitioned"; "recompute": each micro-batch is put into
tables, over which Spark SQL computes the view again; and "floor": the same rows through the
operator of "partitioned", which reads and writes one value of state and keeps nothing.

Invariant: all modes read the same files, a file a table and micro-batch. Time is that of all
processors: of every process of the session, which are the driver, the JVM, Spark's Python workers
and what they start. The first micro-batches are not counted, nor is what the JVM takes to compile
its own code, which a stream of hours has behind it. Memory is that of the process that keeps the
state, with its libraries. Linux alone has such numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VIEWS = {
    "spent": "SELECT o.id, SUM(i.price * o.rate) AS price, COUNT(*) AS n "
    "FROM orders o JOIN items i ON i.id = o.id GROUP BY o.id"
}
SCHEMAS = {"orders": "id long, rate long", "items": "id long, price long"}
ROLES = {"jvm": "java", "workers": "pyspark.daemon", "server": "partitioned.server"}
# Rows before are read so many at a time.
ROWS_A_FILE = 1_000_000
ROWS_A_BATCH = 1_000
UPLOADED = (".sst", ".zip")
MODES = ("driver", "partitioned", "recompute", "floor")
# The process that keeps the state; the tables of "recompute" are files.
KEEPS = {"driver": "driver", "partitioned": "server"}
SPARK = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
}


def before(rows: int) -> int:
    """Number of files with the rows that are there before."""
    return -(-rows // ROWS_A_FILE)


def write(folder: Path, rows: int, batches: int) -> None:
    """Files of all rows, and a small one for each micro-batch behind them: nine items an order."""
    draw = np.random.default_rng(1)
    orders = 0
    files = before(rows)
    for number, size in enumerate([rows // files] * files + [ROWS_A_BATCH] * batches):
        new = size // 10
        ids = np.arange(orders, orders + new)
        orders += new
        items = pa.table(
            {"id": draw.integers(0, orders, size - new), "price": draw.integers(1, 99, size - new)}
        )
        found = {"orders": pa.table({"id": ids, "rate": ids % 7}), "items": items}
        for name, table in found.items():
            (folder / name).mkdir(exist_ok=True)
            path = folder / name / f"{number:06d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (2**30 + 10 * number,) * 2)


def processes() -> Iterator[tuple[str, str, int]]:
    """The processes of this session, each with its role and its ticks; compilers have their own."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            _, said = stat(path)
            if int(said[3]) != os.getsid(0):
                continue
            ticks, of = int(said[11]) + int(said[12]), role(path.name)
            compilers = 0
            if of == "jvm":
                for thread in (path / "task").iterdir():
                    name_of, own = stat(thread)
                    spent = int(own[11]) + int(own[12])
                    if "Compiler" in name_of:
                        yield f"{thread.name} {own[19]}", "compilers", spent
                        compilers += spent
        except OSError:
            continue
        yield f"{path.name} {said[19]}", of, ticks - compilers


def stat(path: Path) -> tuple[str, list[str]]:
    """Linux's figures of a process or thread, with its name."""
    name, _, said = (path / "stat").read_text().rpartition(")")
    return name, said.split()


def role(process: str) -> str:
    """The role of a process."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return "other"
    if int(process) == os.getpid():
        return "driver"
    for name, part in ROLES.items():
        if part in command:
            return name
    return "other"


@dataclass
class Meter:
    """Time spent by processes, and bytes written to a folder, at each micro-batch."""

    folder: Path
    warm: int
    """Micro-batches that are not counted."""
    spent: dict[str, int] = field(default_factory=dict)
    before: dict[str, int] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    sizes: dict[Path, int] = field(default_factory=dict)
    written: int = 0
    uploaded: int = 0
    """Of files that Spark's state store uploads in the background, about once a minute."""
    marks: list[tuple[float, float, int, int]] = field(default_factory=list)

    def mark(self) -> None:
        """Look at both."""
        for name, of, ticks in processes():
            self.spent[name] = max(ticks, self.spent.get(name, 0))
            self.roles.setdefault(name, of)
        for path in self.folder.rglob("*"):
            try:
                size = path.stat().st_size if path.is_file() else 0
            except OSError:
                continue
            grown = max(0, size - self.sizes.get(path, 0))
            if path.suffix in UPLOADED:
                self.uploaded += grown
            else:
                self.written += grown
            self.sizes[path] = size
        ticks = sum(n for name, n in self.spent.items() if self.roles[name] != "compilers")
        spent = ticks / os.sysconf("SC_CLK_TCK")
        self.marks.append((time.perf_counter(), spent, self.written, self.uploaded))
        if len(self.marks) == self.warm + 1:
            self.before = dict(self.spent)

    def by_role(self) -> dict[str, float]:
        """The seconds of a micro-batch, by who spent them."""
        found: dict[str, float] = {}
        for name, ticks in self.spent.items():
            spent = (ticks - self.before.get(name, 0)) / os.sysconf("SC_CLK_TCK")
            role = self.roles[name]
            found[role] = found.get(role, 0.0) + spent / (len(self.marks) - 1 - self.warm)
        return {role: round(spent, 3) for role, spent in sorted(found.items())}

    def between(self, place: int) -> list[float]:
        """The differences of one number, from micro-batch to micro-batch, without the first."""
        marks = [mark[place] for mark in self.marks[self.warm :]]
        return [float(b - a) for a, b in pairwise(marks)]


def resident(of: str) -> float | None:
    """Megabytes of the process of this role, if there is one."""
    found = [name.split()[0] for name, known, _ in processes() if known == of]
    for process in found:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return round(int(line.split()[1]) / 1e3, 1)
    return None


def measure(mode: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One mode, in this process."""
    import ringview.spark as rs

    warm = before(options.rows) + options.warm
    with tempfile.TemporaryDirectory(prefix="ringview-bench-") as temporary:
        meter = Meter(Path(temporary) / "checkpoint", warm)
        spark = rs.session("bench", SPARK)
        spark.sparkContext.setLogLevel("ERROR")
        frames = {
            name: spark.readStream.schema(schema)
            .option("maxFilesPerTrigger", 1)
            .option("maxFileAge", "100000d")
            .parquet(str(folder / name))
            for name, schema in SCHEMAS.items()
        }
        run = recomputed if mode == "recompute" else maintained
        found = run(mode, frames, meter, options)
        spark.stop()
    taken = meter.between(0)
    return {
        "workload": "spark-stream",
        "mode": mode,
        "rows": options.rows,
        "partitions": options.partitions,
        "batches": len(taken),
        "cpu_seconds": round(sum(meter.between(1)) / len(taken), 3),
        "cpu_of": meter.by_role(),
        "seconds": round(median(taken), 3),
        "written_kb": round(sum(meter.between(2)) / len(taken) / 1e3, 1),
        "uploaded_kb": round(sum(meter.between(3)) / len(taken) / 1e3, 1),
        "written_most_kb": round(max(meter.between(2)) / 1e3, 1),
        **found,
    }


def maintained(
    mode: str, frames: dict[str, Any], meter: Meter, options: argparse.Namespace
) -> dict[str, Any]:
    """The view is kept by engines."""
    import ringview.spark as rs
    from ringview.spark.streaming.state import State

    take = State.take

    def marked(state: State, rows: Any, batch_id: int) -> None:
        meter.mark()
        take(state, rows, batch_id)

    setattr(State, "take", marked)  # noqa: B010
    if mode == "floor":
        from ringview.spark.streaming.partitioned import state

        setattr(state, "Keep", Nothing)  # noqa: B010
    asked = rs.stream(VIEWS, frames)
    how: dict[str, Any] = {"mode": mode}
    if mode != "driver":
        how = {"mode": "partitioned", "partitions": options.partitions}
    known = []
    with asked.write_stream(meter.folder, lambda *told: None, **how).start() as q:
        q.process_all_available()
        meter.mark()
        memory = resident(KEEPS[mode]) if mode in KEEPS else None
        for progress in q.query.recentProgress:
            known.append(rs.metrics(progress))
    counted = [m for m in known if m is not None and m["batch_id"] >= meter.warm]
    engines = [m["engines"] for m in counted if "engines" in m]
    found = sum(each["found"] for each in engines)
    of_engines = [m["partitions"]["bytes"] for m in counted if "partitions" in m]
    return {
        "memory_mb": memory,
        "state_mb": round(counted[-1]["state_bytes"] / 1e6, 1),
        "log_and_snapshots_kb": round(sum(of_engines) / max(1, len(of_engines)) / 1e3, 1),
        "log_and_snapshots_most_kb": round(max(of_engines, default=0) / 1e3, 1),
        "engine_seconds": round(sum(m["engine_seconds"] for m in counted) / len(counted), 4),
        "found": round(found / max(1, found + sum(each["rebuilt"] for each in engines)), 3),
    }


def recomputed(
    mode: str, frames: dict[str, Any], meter: Meter, options: argparse.Namespace
) -> dict[str, Any]:
    """Each micro-batch is appended to tables of files, over which Spark SQL computes the view."""
    del mode, options
    tables = {name: meter.folder.parent / "tables" / name for name in SCHEMAS}
    (sql,) = VIEWS.values()

    def take(rows: Any, _: int) -> None:
        meter.mark()
        kept = rows.persist()
        spark = rows.sparkSession
        for name, path in tables.items():
            own = kept.where(f"name = '{name}'").select(f"{name}.*")
            own.write.mode("append").parquet(str(path))
            spark.read.schema(SCHEMAS[name]).parquet(str(path)).createOrReplaceTempView(name)
        # All of the view is computed, and nothing is done with it.
        spark.sql(sql).write.format("noop").mode("overwrite").save()
        kept.unpersist()

    both = [
        frame.selectExpr(
            f"'{name}' AS name",
            *(
                f"struct(*) AS {one}" if one == name else f"CAST(NULL AS {row(of)}) AS {one}"
                for one, of in SCHEMAS.items()
            ),
        )
        for name, frame in frames.items()
    ]
    stream = both[0].union(both[1]).writeStream.foreachBatch(take)
    query = stream.option("checkpointLocation", str(meter.folder)).start()
    query.processAllAvailable()
    meter.mark()
    query.stop()
    return {}


def row(schema: str) -> str:
    """The type of a row of these columns."""
    columns = (column.strip().replace(" ", ": ") for column in schema.split(","))
    return f"STRUCT<{', '.join(columns)}>"


class Nothing:
    """In the place of `Keep`: what Spark itself costs."""

    def __init__(self, setting: Any, *_: object) -> None:
        self._partitions = setting.partitions
        self._names: Any = None
        from ringview.spark.streaming.partitioned.counts import Counts

        self._numbers = Counts.of(setting.plan).listed({})

    def __call__(self, meta: Any, segments: Any, label: int, rows: Any) -> Iterator[Any]:
        """A value is read and written, in a worker as it is where there are engines."""
        from ringview.spark.streaming.partitioned.client import engines

        engines()
        from pyspark.sql.types import Row

        size = sum(len(row.message) for row in rows)
        if meta.exists():
            meta.get()
        meta.update(("nothing", False, size, [0] * 6, [0] * 6))
        yield Row(partition=self._partitions[label], view=-1, message=None, counts=self._numbers)


def main() -> None:
    """Each mode in a process and a session of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modes", nargs="*", default=MODES)
    numbers = {"rows": 100_000, "partitions": 4, "batches": 20, "warm": 12}
    for name, number in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--here", type=Path, help="the rows, for one mode in this process")
    asked = parser.parse_args()
    if asked.here is not None:
        print(json.dumps(measure(asked.modes[0], asked.here, asked)), flush=True)
        return
    own = str(Path(__file__).parent)
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["PYTHONPATH"] = os.pathsep.join([own, *os.environ.get("PYTHONPATH", "").split(":")])
    flags = [f"--{name}={getattr(asked, name)}" for name in numbers]
    with tempfile.TemporaryDirectory(prefix="ringview-bench-") as folder:
        write(Path(folder), asked.rows, asked.warm + asked.batches)
        for mode in asked.modes:
            command = [sys.executable, "-c", "import spark_stream; spark_stream.main()"]
            subprocess.run(
                [*command, "--here", folder, mode, *flags],
                check=True,
                env=environment,
                start_new_session=True,
            )


if __name__ == "__main__":
    main()
