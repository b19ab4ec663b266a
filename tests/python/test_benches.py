"""The benches' own parts: measurements are kept, failures reported; tables say no more.

The programs themselves are compared with each other in `benches/tests/agree.rs`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"
sys.path[:0] = [str(BENCHES), str(BENCHES / "python")]

import anchors  # noqa: E402
import data  # noqa: E402
import duckdb  # noqa: E402
import edges  # noqa: E402
import numpy as np  # noqa: E402
import order_book  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import q17  # noqa: E402
import render  # noqa: E402
import run  # noqa: E402
import samples  # noqa: E402
import shaped  # noqa: E402
import suite  # noqa: E402
import tpch  # noqa: E402
from bench import Bench, Cell  # noqa: E402
from results import Results  # noqa: E402
from tables import over_spark  # noqa: E402
from tables.lines import TITLES  # noqa: E402
from tables.markdown import NONE  # noqa: E402

Line = dict[str, Any]
MACHINE = {"cpu": "one"}


def line(workload: str, system: str, speed: float, **more: Any) -> Line:
    scale = 20 if workload.startswith("housing") else None
    known = {"workload": workload, "order": "sorted", "scale": scale, "batch": 1_000}
    known |= {"system": system, "phase": "insert", "complete": True, "tuples": 1_000_000}
    return {**known, "bytes": 50_000_000, "tuples_per_second": speed, "result": None, **more}


def cells(text: str, table: str, *names: str) -> dict[str, str]:
    """The row that begins with the names, in the table whose head has the word, by column."""
    (block,) = (block for block in text.split("\n\n") if table in block.splitlines()[0])
    head, _, *rows = ([each.strip() for each in row[1:-1].split("|")] for row in block.splitlines())
    (row,) = (row for row in rows if tuple(row[: len(names)]) == names)
    return dict(zip(head, row, strict=True))


def test_a_results_file_becomes_tables(tmp_path: Path) -> None:
    lines = [line("housing", "ringview-trusted", speed) for speed in (3e6, 1e6, 2e6)]
    lines += [
        line("housing", "first-order", 4e6, complete=False),
        line("housing", "duckdb", 1e3, bound=True, extrapolated_from_batches=2),
        line("housing", "ringview-checked", 0.0, failed="it fell"),
        line("housing", "ringview-trusted", 9e6, batch=100),
        line("housing-cofactor", "recursive", 5e5),
        line("housing-join", "ringview-trusted", 6e6, scale=4, complete=False),
        line("housing-join", "ringview-trusted", 6e6, scale=4),
        line("triangles", "ringview-plain", 7e4, graph="a ring"),
        {"workload": "chain", "order": "-", "change": "row", "size": 64, "rank": 1}
        | {"system": "ringview", "seconds": 0.5},
    ]
    lines[-3]["reading"] = {"rows": 10**6, "len_seconds": 1e-6, "seconds": 0.1}
    lines[-3]["reading"] |= {"cpu_seconds": 0.05, "resident_bytes": 0}
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"machine": MACHINE, "lines": lines}))
    text = render.tables(json.loads(path.read_text()))

    assert text.startswith("cpu: one")
    found = cells(text, "SUM, batches of 1,000", "Housing", "sorted", "insert")
    assert found["ringview, trusted deletes"] == "2"
    assert found["first order"] == "4*"
    assert found["DuckDB recomputing †"] == "< 0.001"
    assert found["ringview"] == "failed"
    assert found["C++ ‡"] == f"{anchors.SPEED['housing', 'sorted'][1_000]:.0f}"
    assert "by hand, arrays" not in found
    assert cells(text, "Housing: SUM", "sorted", "100")["ringview, trusted deletes"] == "9"
    assert cells(text, "degree-m matrix", "Housing", "sorted")["recursive"] == "0.5"
    joins = cells(text, "rows of the natural join", "Housing, scale 4")
    assert (joins["factorised"], joins["bytes a tuple: factorised"]) == ("6*", "50*")
    reading = cells(text, "reading a factorised join", "Housing, scale 4", "sorted")
    assert (reading["rows"], reading["M rows/s"]) == ("1,000,000", "10")
    assert (
        cells(text, "triangles of a ring", "COUNT", "sorted", "M tuples/s")["no indicators"]
        == "0.07"
    )
    assert cells(text, "one row of A2", "64")["`MatrixChain`"] == "500"
    assert "Retailer" not in text

    page = tmp_path / "page.md"
    page.write_text(f"above\n{render.BEGIN}\nold\n{render.END}\nbelow\n")
    render.replace(page, text)
    assert page.read_text() == f"above\n{render.BEGIN}\n{text}\n{render.END}\nbelow\n"


def test_the_newest_results_of_the_repository_can_be_rendered() -> None:
    newest = max((BENCHES / "results").glob("*.json"))
    text = render.tables(json.loads(newest.read_text()))
    assert any(stream in text for stream in TITLES.values())


def test_a_part_measured_anew_replaces_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "kept" / "results.json"
    first = Results(path, MACHINE, go_on=False)
    for speed in (1e6, 2e6):
        first.add(line("housing", "ringview-trusted", speed))
    first.add(line("retailer", "ringview-trusted", 3e6))
    again = Results(path, MACHINE, go_on=True)
    again.begin("housing", "sorted", 20)
    for speed in (4e6, 5e6):
        again.add(line("housing", "ringview-trusted", speed))
        # Kept at once, and whole.
        json.loads(path.read_text())
    speeds = [each["tuples_per_second"] for each in json.loads(path.read_text())["lines"]]
    assert speeds == [3e6, 4e6, 5e6]
    assert Results(path, MACHINE, go_on=False).lines == []


def test_results_that_differ_are_failures(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", MACHINE, go_on=False)
    results.add(line("housing", "ringview-trusted", 1e6, result={"count": 1, "sum": 2}))
    results.add(line("housing", "first-order", 1e6, result={"count": 1, "sum": 2}))
    assert results.failures == []
    results.add(line("housing", "duckdb", 1e6, result={"count": 1, "sum": 3}))
    assert len(results.failures) == 1
    text = render.tables({"machine": MACHINE, "lines": results.lines})
    assert cells(text, "SUM, batches", "Housing", "sorted")["DuckDB recomputing †"] == "failed"


PROGRAM = """
import json, sys
flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
for system in flags["--system"].split(","):
    if system == "bad":
        sys.exit("it fell")
    line = {"workload": "housing", "order": "sorted", "scale": 20, "batch": 1000, "phase": "insert"}
    print(json.dumps({**line, "system": system, "tuples_per_second": 1e6}), flush=True)
"""


def test_what_dies_is_told_and_the_rest_is_measured(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    results = Results(tmp_path / "results.json", MACHINE, go_on=False)
    options = argparse.Namespace(quick=True, seconds=1.0, timeout=30.0, graph="")
    bench = Bench(options, results, tmp_path, Path(sys.executable))
    cell = Cell("sum", "housing", "sorted", 20)
    bench.measure(cell, [sys.executable, str(program)], ("one", "bad", "two"), (1_000,))
    kept = {each["system"]: each.get("failed") for each in results.lines}
    assert kept == {"one": None, "bad": "it fell", "two": None}
    assert [failure.endswith("it fell") for failure in results.failures] == [True]


def test_a_program_that_hangs_is_stopped(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", MACHINE, go_on=False)
    options = argparse.Namespace(quick=True, seconds=1.0, timeout=0.5, graph="")
    bench = Bench(options, results, tmp_path, Path(sys.executable))
    lines, problem = bench.call([sys.executable, "-c", "import time; time.sleep(60)"])
    assert lines == []
    assert problem is not None
    assert "stopped" in problem


def test_only_chooses_cells() -> None:
    options = argparse.Namespace(edges_flags=[])
    cells = list(suite.cells(options))
    names = [cell.name for cell in cells]
    assert len(set(names)) == len(names)
    chosen = [cell.name for cell in cells if run.chosen(cell, "joins/retailer,chains")]
    assert chosen == [
        "joins/retailer-fact-join/sorted",
        "joins/retailer-fact-join/shuffled",
        "chains/chain/-",
    ]
    assert {cell.part for cell in cells} == set(suite.PARTS)


def test_a_matrix_has_one_digest() -> None:
    columns: dict[str, list[str]] = {"R": ["a", "b"], "S": ["b", "c"]}
    ones = {
        name: pa.record_batch([pa.array([1], pa.int32())] * len(names), names)
        for name, names in columns.items()
    }
    workload = data.Workload("housing-cofactor", ones)
    assert (workload.features, workload.keys) == (["a", "b", "c"], [False, True, False])
    # Sums of a, b, c; products aa, ab, ac, bb, bc, cc: that of the key with itself weighs nothing.
    assert workload.digest([1, 1, 1, 1, 1, 1, 7, 1, 1]) == 1 + 2 + 3 + 4 + 5 + 6 + 8 + 9
    assert workload.digest([2.0**62, 2.0**62, 0, 0, 0, 0, 0, 0, 0]) == 3 * 2**62 - 2**64


def test_graphs_come_as_text_or_parquet(tmp_path: Path) -> None:
    text, table = tmp_path / "soc.txt", tmp_path / "soc.parquet"
    text.write_text("# a comment\n0\t4\n0\t5\n3\t1\n")
    pq.write_table(pa.table({"src": [0, 0, 3], "dst": [4, 5, 1]}), table)
    for path in (text, table):
        title, flags = edges.prepare(path, tmp_path)
        assert title == "soc, 3 edges"
        words = Path(flags[1]).read_bytes()
        assert memoryview(words).cast("i").tolist() == [0, 0, 3, 4, 5, 1]
    assert edges.prepare(None, tmp_path) == (edges.GENERATED, [])
    with pytest.raises(ValueError, match="two columns"):
        text.write_text("1\n2\n")
        edges.prepare(text, tmp_path)


def test_chains_that_fail_are_told(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json", MACHINE, go_on=False)
    results.add({"workload": "chain", "order": "-", "failed": "no room"})
    text = render.tables({"machine": MACHINE, "lines": results.lines})
    assert text.endswith("matrix chains: failed: no room")
    assert results.failures == ["chain -: no room"]


def sampled(workload: str, **more: Any) -> Line:
    """A line of samples."""
    known = {"workload": workload, "order": "shuffled", "system": "rust", "k": 100_000}
    known |= {"batch": 10_000, "tuples": 3_000_000, "complete": True, "seconds": 2.0}
    known |= {"cpu_seconds": 1.5, "tuples_per_second": 1.5e6, "bytes": 80_000_000}
    known |= {"results": 3_721_042_797, "came": 1_000, "dummies": 250, "graph": "a graph"}
    known |= {"microseconds": [1.0, 2.0, 3.0, 40.0, 500.0]}
    known |= {"moments": [[1_500_000, 0.9, 40_000_000, 17], [3_000_000, 2.0, 80_000_000, 99]]}
    return {**known, **more}


def test_what_spark_took_becomes_a_table() -> None:
    known = {"workload": "spark-chain", "order": "-", "graph": "a ring"}
    lines = [
        {**known, "system": system, "cores": cores, "cpu_seconds": spent}
        for cores in (1, 2)
        for system, spent in (("spark-sql", 2.0 * cores), ("ringview", 3.0))
    ]
    lines.append({**known, "workload": "spark-order", "failed": "the results of the two differ"})
    text = render.tables({"machine": MACHINE, "lines": lines})
    row = cells(text, "over Spark", over_spark.TITLES["chain"])
    assert row["local[1]: Spark SQL"] == "2"
    assert row["local[2]: `evaluate`"] == "3"
    # The last of the two columns of this name.
    assert row["ratio"] == "0.75"
    assert "spark-order failed: the results of the two differ" in text


def test_what_spark_took_for_tpch_and_streams_becomes_tables() -> None:
    known = {"workload": "spark-tpch", "order": "-", "tpch_scale": 0.1, "cores": 1}
    lines = [
        {**known, "query": query, "system": system, "cpu_seconds": spent}
        for query, ours in (("q1", 1.0), ("q2", 3.0), ("q3", 0.5))
        for system, spent in (("spark-sql", 2.0), ("ringview", ours))
    ]
    lines.append({**known, "query": "q4", "system": "ringview", "failed": "it fell"})
    stream = {"workload": "spark-stream", "order": "-", "rows": 100_000, "batches": 20}
    stream |= {"cpu_seconds": 0.3, "written_kb": 2.0, "uploaded_kb": 1.0, "written_most_kb": 4.0}
    lines += [
        {**stream, "mode": "recompute", "batches": 4},
        {**stream, "mode": "driver", "memory_mb": 300.0, "state_mb": 5.0},
        {**stream, "mode": "floor"},
    ]
    text = render.tables({"machine": MACHINE, "lines": lines})
    assert cells(text, "TPC-H at scale factor 0.1 over Spark", "q2")["ratio"] == "1.5"
    assert cells(text, "TPC-H at scale factor 0.1 over Spark", "median")["ratio"] == "0.5"
    assert "spark-tpch q4 failed: it fell" in text
    kept = cells(text, "rows before", "100,000", '`mode="driver"`')
    assert (kept["kB written"], kept["MB of memory"]) == ("3", "300")
    again = cells(text, "rows before", "100,000", "Spark SQL recomputing*")
    assert (again["s a batch"], again["MB of memory"]) == ("0.3", NONE)


def test_samples_become_tables() -> None:
    lines = [
        sampled("line-3"),
        sampled("line-3", batch=1, complete=False, tuples_per_second=0.4e6),
        sampled("line-3", k=1_000, seconds=1.0),
        sampled("QX", system="python", size=0.01, results=12),
        {"workload": "QY", "order": "shuffled", "failed": "it fell"},
    ]
    text = render.tables({"machine": MACHINE, "lines": lines})
    speeds = cells(text, "100,000 samples", "line-3")
    assert (speeds["Rust"], speeds["Rust, row by row"], speeds["C++ ‡"]) == ("1.5", "0.4*", "0.12")
    assert (speeds["MB"], speeds["dummies a result that came in"]) == ("80", "0.25")
    assert cells(text, "one row at a time", "line-3")["99.9%"] == "40*"
    assert cells(text, "line-3 by size", "1,000")["s"] == "1"
    assert cells(text, "line-3, tuples so far", "3,000,000")["MB"] == "80"
    assert cells(text, "from Python", "QX")["results"] == "12"
    assert "QY: failed: it fell" in text


@pytest.mark.parametrize("name", ["line-3", "star-3", "dumbbell", "QX", "QY", "QZ", "Q10"])
def test_sampled_queries_have_the_results_of_duckdb(name: str) -> None:
    edges = np.random.default_rng(5).integers(0, 40, (2, 300), dtype=np.int32)
    edges = np.unique(edges, axis=1)
    related = name in samples.RELATIONAL
    query = shaped.relational(name, 0.0004) if related else shaped.of_edges(name, edges)
    options = argparse.Namespace(k=5, batch=400, seconds=60.0)
    line = samples.measure(query, options)
    with duckdb.connect() as con:
        for table, rows in query.tables.items():
            con.register(table, pa.table(rows))
        ((expected,),) = con.sql(f"SELECT COUNT(*) FROM ({query.sql})").fetchall()
    assert line["complete"]
    assert line["results"] == expected
    assert line["held"] == min(5, line["results"])


def test_systems_agree_on_correlated_aggregates(capsys: pytest.CaptureFixture[str]) -> None:
    q17.main(["--scale", "0.001", "--batch", "500"])
    order_book.main(["--quick"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # The program stops at a different result.
    assert [line["system"] for line in lines[:3]] == ["ringview", "first-order", "duckdb"]
    assert {line["query"] for line in lines} == {
        "Q17",
        "Q17, half of one part",
        *order_book.QUERIES,
    }
    assert all(line["tuples_per_second"] > 0 for line in lines)
    text = render.tables({"machine": MACHINE, "lines": lines})
    assert cells(text, "order book and Q17", "VWAP", "1")["ringview, Python"] != NONE


def test_tpch_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    # The program stops at a result other than DuckDB's.
    tpch.main(["--scale", "0.001", "--batches", "2", "--only", "q3,q17"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["query"] for line in lines] == ["none", "q3", "q17", "all"]
    text = render.tables({"machine": MACHINE, "lines": lines})
    assert float(cells(text, "TPC-H at scale factor 0.001", "q3")["ms a batch"]) > 0
    assert "bulk loading without views" in text


def test_a_book_becomes_events_for_the_program_in_rust(tmp_path: Path) -> None:
    columns = {"side": ["bids", "asks"], "mult": [1, -1], "volume": [10, 20], "price": [3, 4]}
    pq.write_table(pa.table(columns), tmp_path / "book.parquet")
    events = tmp_path / "events.csv"
    order_book.main(["--book", str(tmp_path / "book.parquet"), "--export", str(events)])
    assert events.read_text() == "table,times,volume,price\n0,1,10,3\n1,-1,20,4\n"
