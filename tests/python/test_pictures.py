"""Pictures of benchmarks: drawn from what was measured, the same bytes each time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benches"))

import pictures  # noqa: E402


def texts(path: Path) -> str:
    return " ".join(ElementTree.parse(path).getroot().itertext())


def test_the_newest_results_are_drawn_the_same_each_time(tmp_path: Path) -> None:
    results = json.loads(max((ROOT / "benches" / "results").glob("*.json")).read_text())
    first = pictures.draw(results, tmp_path / "a")
    again = pictures.draw(results, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    shown = {path.stem: texts(path) for path in first}
    assert "DuckDB recomputing" in shown["streams"]
    assert all(f"q{number}" in shown["tpch"] for number in range(1, 23))
    assert {"VWAP", "MST", "PSP", "SQ1"} <= set(shown["order-book"].split())
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for path in first:
        name = f"pictures/benchmarks/{path.name}"
        assert f"]({name})" in page
        assert (ROOT / "docs" / name).exists()


def test_what_failed_or_was_not_measured_is_left_out(tmp_path: Path) -> None:
    asked = {"workload": "retailer", "order": "shuffled", "batch": 1_000, "phase": "insert"}
    lines = [
        {**asked, "system": "ringview-checked", "tuples_per_second": speed} for speed in (1e6, 3e6)
    ]
    lines += [
        {**asked, "system": "duckdb", "failed": "no memory"},
        {"workload": "tpch", "query": "q1", "failed": "no memory"},
    ]
    drawn = {path.stem: texts(path) for path in pictures.draw({"lines": lines}, tmp_path)}
    assert "2,000,000" in drawn["streams"]
    assert "DuckDB" not in drawn["streams"]
    assert "q1" not in drawn["tpch"]
