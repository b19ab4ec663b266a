"""Measure everything and render docs/benchmarks.md from the results.

Invariant: headline figures are medians over the repetitions. Streams are cut where they take longer
than `--seconds`. Each result is kept at once in benches/results/NAME.json; a system that fails is
kept as failed, the rest is still measured, and the exit code says so at the end. Cost: some thirty
minutes; `--only joins,sum/housing` measures the cells with that in their names again and leaves the
others as they were.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import date
from pathlib import Path

import edges
import pictures
import render
from bench import HERE, Bench, Cell, target_directory
from machine import machine
from results import Results
from suite import PARTS, cells

RESULTS = HERE / "results"


def main() -> int:
    """Measure, keep, render; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default=date.today().isoformat(), help="of the results' file")
    parser.add_argument("--only", help="parts of cells' names, as joins or cofactor/housing")
    parser.add_argument(
        "--seconds",
        type=float,
        default=4.0,
        help="where a stream is cut; headline figures may have twice that, other sizes a quarter",
    )
    parser.add_argument("--repeat", type=int, default=3, help="of headline figures")
    parser.add_argument("--timeout", type=float, default=300.0, help="where a program is stopped")
    parser.add_argument("--edges", type=Path, help="a graph: Parquet, or text as SNAP has it")
    parser.add_argument("--book", type=Path, help="an order book as Parquet, else a generated one")
    parser.add_argument("--tpch-scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--pathway", type=Path, help="an interpreter that can import Pathway")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows, once")
    parser.add_argument("--list", action="store_true", help="only print the names of all cells")
    parser.add_argument("--render", action="store_true", help="only render the newest results")
    options = parser.parse_args()
    path = RESULTS / f"{options.name}.json"
    failures: list[str] = []
    if options.quick:
        options.repeat = 1
        path = Path(tempfile.gettempdir()) / "ringview-bench-quick.json"
    if options.render:
        path = max(RESULTS.glob("*.json"))
    else:
        program = target_directory() / "release" / "ringview-benches"
        if not program.exists():
            sys.exit(f"no {program}: cargo build --release -p ringview-benches makes it")
        with tempfile.TemporaryDirectory() as folder:
            options.graph, options.edges_flags = edges.prepare(options.edges, Path(folder))
            wanted = [cell for cell in cells(options) if chosen(cell, options.only)]
            if options.list or not wanted:
                print(*(cell.name for cell in cells(options)), sep="\n")
                return int(not options.list)
            results = Results(path, machine(), go_on=options.only is not None)
            bench = Bench(options, results, Path(folder), program)
            for cell in wanted:
                results.begin(cell.workload, cell.order, cell.scale)
                PARTS[cell.part](bench, cell)
            failures = results.failures
    measured = json.loads(path.read_text())
    text = render.tables(measured)
    print(text)
    if not options.quick:
        docs = HERE.parent / "docs"
        render.replace(docs / "benchmarks.md", text)
        pictures.draw(measured, docs / "pictures" / "benchmarks")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return int(bool(failures))


def chosen(cell: Cell, only: str | None) -> bool:
    """Whether `--only` selects the cell; without it every cell is selected."""
    return only is None or any(each in cell.name for each in only.split(","))


if __name__ == "__main__":
    sys.exit(main())
