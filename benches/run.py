"""Measure everything and render docs/benchmarks.md from what was measured.

Invariant: within a repetition every system sees the same batches one after the other in one run,
so ratios hold on a machine whose speed drifts; headline figures are medians over the repetitions.
Streams are cut where they take longer than `--seconds`. What is measured is kept at once in
benches/results/NAME.json; a system that fails is kept as failed, the rest goes on, and the exit
code says so at the end. Cost: some thirty minutes; `--only joins,sum/housing` measures the cells
with that in their names anew and leaves the others as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import edges
import figure
import pictures
import render
from machine import machine
from results import Line, Results
from workloads import (
    OF_EDGES,
    ORDERS,
    OVER_SPARK,
    SAMPLE_SIZES,
    SCALED,
    SCALES,
    SHAPED,
    SHAPED_SIZES,
    SPARK,
    SPARK_CORES,
    STREAMS,
    TRIANGLES,
)

HERE = Path(__file__).parent
STARTED = time.monotonic()
RESULTS = HERE / "results"
HEADLINE = 1_000
OTHERS = (1, 100, 10_000, 100_000)
SUMS = (
    "handwritten-arrays",
    "handwritten-tables",
    "ringview-trusted",
    "ringview-checked",
    "first-order",
)
PAYLOADS = ("ringview-trusted", "ringview-checked", "ringview-scalars")
ROWS = ("ringview-trusted", "ringview-listing")
PYTHON = ("python-trusted", "python-checked")
SLOW = ("recursive", "first-order")


@dataclass
class Cell:
    """A workload under one stream, and by which systems it is measured."""

    part: str
    workload: str
    order: str
    scale: int | None = None
    flags: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What `--only` looks into."""
        scale = [] if self.scale is None else [str(self.scale)]
        return "/".join([self.part, self.workload, self.order, *scale])

    @property
    def arguments(self) -> list[str]:
        """What both programs are told."""
        scale = [] if self.scale is None else ["--scale", str(self.scale)]
        return ["--workload", self.workload, "--order", self.order, *scale]


class Bench:
    """The programs under one set of options; every line goes to the results."""

    def __init__(
        self, options: argparse.Namespace, results: Results, folder: Path, program: Path
    ) -> None:
        self.options, self.results, self.folder = options, results, folder
        self.share = ["--share", "50"] if options.quick else []
        self.program = str(program)
        self.exported: dict[tuple[str, str, int | None], Path] = {}

    def rust(self, cell: Cell, systems: tuple[str, ...], *batches: int, **more: Any) -> None:
        """Systems of the Rust program at some batch sizes."""
        command = [self.program, *cell.arguments, *cell.flags, *self.share]
        self.measure(cell, command, systems, batches or (HEADLINE,), **more)

    def python(self, cell: Cell, systems: tuple[str, ...], *batches: int, **more: Any) -> None:
        """Systems of the Python program at some batch sizes, over the same rows."""
        command = [sys.executable, str(HERE / "python" / "measure.py"), str(self.export(cell))]
        self.measure(cell, [*command, *cell.arguments], systems, batches or (HEADLINE,), **more)

    def export(self, cell: Cell) -> Path:
        """The rows of a cell as files for other programs."""
        rows = (cell.workload.removesuffix("-join").removesuffix("-cofactor"), cell.order)
        folder = self.exported.get((*rows, cell.scale))
        if folder is None:
            folder = self.folder / f"{len(self.exported)}"
            export = [self.program, *cell.arguments, *cell.flags, *self.share]
            _, problem = self.call([*export, "--export", str(folder)])
            if problem is None:
                self.exported[(*rows, cell.scale)] = folder
        return folder

    def edges(self) -> Path:
        """The graph as a file: the one that was given, or the one that the Rust side generates."""
        if self.options.edges_flags and not self.options.quick:
            return Path(self.options.edges_flags[1])
        path = self.folder / "edges" / "R.i32"
        if not path.exists():
            export = [self.program, "--workload", "triangles", "--order", "sorted", *self.share]
            self.call([*export, *self.options.edges_flags, "--export", str(path.parent)])
        return path

    def measure(
        self,
        cell: Cell,
        command: list[str],
        systems: tuple[str, ...],
        batches: tuple[int, ...],
        *,
        repetition: int = 0,
        phase: str | None = None,
        deletes: bool = False,
        share: float = 1.0,
    ) -> None:
        """Run and keep; where a run dies, each system that is missing has another go alone."""
        seconds = max(self.options.seconds * share, 0.01)
        flags = ["--seconds", str(seconds), *(["--deletes", "back"] if deletes else [])]
        flags += ["--batch", ",".join(map(str, batches)), "--system", ",".join(systems)]
        lines, problem = self.call([*command, *flags])
        for line in lines:
            more = {"repetition": repetition, "phase": phase or line["phase"]}
            graph = {"graph": self.options.graph} if cell.part == "triangles" else {}
            self.results.add({**line, **more, **graph})
        if problem is None:
            return
        cells = list(product(batches, systems))
        if len(cells) > 1:
            last = (lines[-1]["batch"], lines[-1]["system"]) if lines else None
            done = {(line["batch"], line["system"]) for line in lines} - {last}
            for batch, system in (each for each in cells if each not in done):
                again: dict[str, Any] = {"repetition": repetition, "phase": phase}
                again |= {"deletes": deletes, "share": share}
                self.measure(cell, command, (system,), (batch,), **again)
            return
        failed = {"workload": cell.workload, "order": cell.order, "scale": cell.scale}
        doing = phase or ("delete-back" if lines else "insert")
        failed |= {"batch": batches[0], "system": systems[0], "phase": doing, "failed": problem}
        self.results.add(failed)

    def call(self, command: list[str]) -> tuple[list[Line], str | None]:
        """The JSON lines that a program prints on one core, and what went wrong."""
        pinned = (
            (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}))
            if hasattr(os, "sched_setaffinity")
            else None
        )
        print(
            f"{time.monotonic() - STARTED:6.0f} s",
            " ".join(command[1:]).replace(str(HERE), "benches"),
            file=sys.stderr,
            flush=True,
        )
        problem = None
        try:
            started = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=pinned,
            )
        except OSError as error:
            return [], str(error)
        try:
            printed, said = started.communicate(timeout=self.options.timeout)
        except subprocess.TimeoutExpired:
            started.kill()
            printed, said = started.communicate()
            problem = f"stopped after {self.options.timeout} s"
        if problem is None and started.returncode != 0:
            lines_said = said.strip().splitlines() or [f"exit code {started.returncode}"]
            # A traceback ends in what happened; the Rust program begins with it.
            problem = lines_said[-1 if lines_said[0].startswith("Traceback") else 0]
        lines = []
        for line in printed.splitlines():
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                problem = problem or f"not a line of results: {line[:80]}"
        if problem is not None:
            print(f"  failed: {problem}", file=sys.stderr, flush=True)
        return lines, problem


def sums(bench: Bench, cell: Cell) -> None:
    """A SUM (figure 8), by batch size too, and how much a process grows that runs one system."""
    for repetition in range(bench.options.repeat):
        bench.rust(cell, SUMS, repetition=repetition, deletes=True)
        bench.python(cell, PYTHON, repetition=repetition, deletes=True)
    for sizes in (OTHERS[:1], OTHERS[1:]):
        bench.rust(cell, (SUMS[0], *SUMS[2:]), *sizes, share=0.25)
        bench.python(cell, PYTHON, *sizes, share=0.25)
    bench.python(cell, ("duckdb",), HEADLINE, OTHERS[-1])
    if cell.order == "shuffled":
        for system in SUMS:
            bench.rust(cell, (system,), phase="memory")


def cofactors(bench: Bench, cell: Cell) -> None:
    """A degree-m matrix (figure 10), and by batch size (figure 12)."""
    for repetition in range(bench.options.repeat):
        bench.rust(cell, PAYLOADS[:2], repetition=repetition, deletes=True, share=2.0)
    bench.rust(cell, PAYLOADS[2:])
    bench.rust(cell, SLOW)
    bench.rust(cell, PAYLOADS, *OTHERS, share=0.25)
    bench.python(cell, PYTHON[:1], HEADLINE, 10_000, share=2.0)
    bench.python(cell, ("duckdb",))
    if cell.order == "shuffled":
        for system in (*PAYLOADS, *SLOW):
            bench.rust(cell, (system,), phase="memory", share=2.0)


def joins(bench: Bench, cell: Cell) -> None:
    """The rows of a join (figure 13): factorised and read, as listings, recomputed."""
    for repetition in range(bench.options.repeat):
        bench.rust(cell, ROWS[:1], repetition=repetition, share=2.0)
    bench.rust(cell, ROWS[1:])
    bench.python(cell, ("duckdb",))


def triangles(bench: Bench, cell: Cell) -> None:
    """The count of triangles, and their degree-3 matrix (figure 11)."""
    bench.rust(cell, ("ringview-trusted", "ringview-checked", "ringview-plain"), deletes=True)
    if cell.workload == "triangles-cofactor":
        bench.rust(cell, ("ringview-scalars", *SLOW))
    else:
        bench.rust(cell, ("ringview-epsilon", "first-order"), deletes=True)
    if cell.workload == "triangles-own":
        return
    systems = ("python-epsilon",) if cell.workload == "triangles" else ()
    bench.python(cell, (*PYTHON[:1], *systems), HEADLINE, 10_000)
    bench.python(cell, ("duckdb",))


def chains(bench: Bench, cell: Cell) -> None:
    """The product of three matrices while the middle one changes (figure 9)."""
    command = [sys.executable, str(HERE / "python" / "chains.py")]
    lines, problem = bench.call([*command, *(["--quick"] if bench.options.quick else [])])
    for line in lines:
        bench.results.add({**line, "order": cell.order})
    if problem is not None:
        failed = {"workload": cell.workload, "order": cell.order, "failed": problem}
        bench.results.add(failed)


def samples(bench: Bench, cell: Cell) -> None:
    """Samples: speed, one row at a time (figure 7), by size of the sample and of the tables."""
    script = [sys.executable, str(HERE / "python" / "samples.py"), cell.workload]
    quick = bench.options.quick
    if cell.workload in SHAPED:
        for size in SHAPED_SIZES[:1] if quick else SHAPED_SIZES:
            keep(bench, cell, [*script, "--scale", str(size / 50 if quick else size)])
        return
    edges_file = bench.edges()
    program = str(target_directory() / "release" / "examples" / "graph_joins")
    by_rust = [program, str(edges_file), cell.workload]
    limit = ["--seconds", str(5 * bench.options.seconds)]
    for _ in range(bench.options.repeat):
        keep(bench, cell, [*by_rust, *limit])
        keep(bench, cell, [*script, "--edges", str(edges_file), *limit])
    keep(bench, cell, [*by_rust, *limit, "--batch", "1"])
    if cell.workload == SCALED:
        for k in SAMPLE_SIZES:
            keep(bench, cell, [*by_rust, *limit, "--k", str(k)])


def keep(bench: Bench, cell: Cell, command: list[str]) -> list[Line]:
    """Run a program whose lines say what they are of."""
    lines, problem = bench.call(command)
    for line in lines:
        bench.results.add({**line, "order": cell.order, "graph": bench.options.graph})
    if problem is not None:
        failed = {"workload": cell.workload, "order": cell.order, "failed": problem}
        bench.results.add(failed)
    return lines


def order_book(bench: Bench, cell: Cell) -> None:
    """Aggregates whose conditions hold correlated aggregates: an order book's, and TPC-H Q17."""
    quick = bench.options.quick
    seconds = ["--seconds", str(bench.options.seconds)]
    if cell.workload == "order-book-cost":
        lines = keep(bench, cell, [bench.program, "--correlated", "cost", *bench.share])
        figure.draw_costs(lines, (bench.folder if quick else HERE.parent / "docs") / "rpai.svg")
        return
    if cell.workload == "q17":
        script = [sys.executable, str(HERE / "python" / "q17.py"), *seconds]
        keep(bench, cell, [*script, "--scale", str(0.01 if quick else bench.options.tpch_scale)])
        return
    script = [sys.executable, str(HERE / "python" / "order_book.py"), *(["--quick"] * quick)]
    script += ["--book", str(bench.options.book)] if bench.options.book else []
    events = bench.folder / "book.csv"
    bench.call([*script, "--export", str(events)])
    keep(bench, cell, [bench.program, "--correlated", "book", "--events", str(events)])
    keep(bench, cell, [*script, *seconds])


def tpch(bench: Bench, cell: Cell) -> None:
    """TPC-H's 22 views under refreshes, each alone and all together."""
    scale = 0.01 if bench.options.quick else bench.options.tpch_scale
    batches = 3 if bench.options.quick else 15
    script = [sys.executable, str(HERE / "python" / "tpch.py")]
    keep(bench, cell, [*script, "--scale", str(scale), "--batches", str(batches)])


def ad_hoc(bench: Bench, cell: Cell) -> None:
    """TPC-H's queries asked once, beside DuckDB."""
    script = [sys.executable, str(HERE / "python" / "ad_hoc.py")]
    keep(bench, cell, [*script, "--scale", "0.01" if bench.options.quick else "0.1"])


def nexmark(bench: Bench, cell: Cell) -> None:
    """Nexmark's queries over a stream of events, beside a peer if there is one."""
    script = [sys.executable, str(HERE / "python" / "nexmark.py")]
    script += ["--events", "20000" if bench.options.quick else "1000000"]
    script += ["--peer", str(bench.options.pathway)] if bench.options.pathway else []
    keep(bench, cell, script)


def several(bench: Bench, cell: Cell) -> None:
    """Views over one join together, and views over full tables."""
    rows = "20000" if bench.options.quick else "1000000"
    keep(bench, cell, [sys.executable, str(HERE / "python" / "several.py"), "--rows", rows])


def windows(bench: Bench, cell: Cell) -> None:
    """Window functions and ASOF joins over partitions that change, beside DuckDB."""
    script = [sys.executable, str(HERE / "python" / "windowed.py")]
    keep(bench, cell, [*script, *(["--quick"] if bench.options.quick else [])])


def recursion(bench: Bench, cell: Cell) -> None:
    """Recursive queries over edges that come and go, beside DuckDB."""
    script = [sys.executable, str(HERE / "python" / "recursive.py")]
    if bench.options.quick:
        script += ["--quick"]
    elif bench.options.edges_flags:
        script += ["--edges", str(bench.edges())]
    keep(bench, cell, script)


def files(bench: Bench, cell: Cell) -> None:
    """Databases in files: what a batch costs beside memory, how long opening takes."""
    folder = bench.export(Cell(cell.part, "retailer", cell.order))
    program = [sys.executable, str(HERE / "python" / "files.py"), str(folder)]
    keep(bench, cell, [*program, "--seconds", str(bench.options.seconds)])


def spark(bench: Bench, cell: Cell) -> None:
    """Views over DataFrames beside Spark SQL, on one core and on two."""
    name = cell.workload.removeprefix(OVER_SPARK)
    script = [sys.executable, str(HERE / "python" / "spark_batch.py"), name]
    script += ["--edges", str(bench.edges())] if name == "triangles" else []
    script += ["--rows", "20000", "--rounds", "1"] if bench.options.quick else []
    for cores in SPARK_CORES:
        limit = ["--seconds", str(5 * bench.options.seconds)]
        keep(bench, cell, [*script, "--cores", str(cores), *limit])


def worst(bench: Bench, cell: Cell) -> None:
    """Data made against one way of maintenance, by size: times of toggled edges, counted steps."""
    lines, problem = bench.call([bench.program, "--worst", cell.workload, *bench.share])
    for line in lines:
        bench.results.add({**line, "order": cell.order})
    if problem is not None:
        failed = {"workload": cell.workload, "order": cell.order, "failed": problem}
        bench.results.add(failed)
    if lines and cell.workload == "exponents":
        path = bench.folder if bench.options.quick else HERE.parent / "docs"
        figure.draw(lines, path / "epsilon.svg")


def stalls(bench: Bench, cell: Cell) -> None:
    """The slowest batch beside the median one, while tables grow to ten million rows."""
    keep(bench, cell, [bench.program, "--stalls", *bench.share])


PARTS: dict[str, Callable[[Bench, Cell], None]] = {
    "sum": sums,
    "cofactor": cofactors,
    "joins": joins,
    "triangles": triangles,
    "chains": chains,
    "samples": samples,
    "order-book": order_book,
    "tpch": tpch,
    "ad-hoc": ad_hoc,
    "nexmark": nexmark,
    "several": several,
    "windows": windows,
    "recursion": recursion,
    "files": files,
    "spark": spark,
    "worst": worst,
    "stalls": stalls,
}


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """All that there is to measure."""
    streams = [(name, scale, order) for name, scale in STREAMS for order in ORDERS]
    for part, suffix in (("sum", ""), ("cofactor", "-cofactor")):
        for name, scale, order in streams:
            yield Cell(part, name + suffix, order, scale)
    for order in ORDERS:
        yield Cell("joins", "retailer-fact-join", order)
    for scale, order in product(SCALES, ORDERS):
        yield Cell("joins", "housing-join", order, scale)
    for workload, order in product(TRIANGLES, ORDERS):
        yield Cell("triangles", workload, order, flags=options.edges_flags)
    yield Cell("chains", "chain", "-")
    for workload in (*OF_EDGES, *SHAPED):
        yield Cell("samples", workload, "shuffled")
    for workload in ("order-book", "order-book-cost", "q17"):
        yield Cell("order-book", workload, "-")
    yield Cell("tpch", "tpch", "-")
    yield Cell("ad-hoc", "ad-hoc", "-")
    yield Cell("nexmark", "nexmark", "-")
    yield Cell("several", "several", "-")
    yield Cell("windows", "windows", "-")
    yield Cell("recursion", "recursion", "-")
    yield Cell("files", "files", "sorted")
    for name in SPARK:
        yield Cell("spark", OVER_SPARK + name, "-")
    for workload in ("toggles", "exponents"):
        yield Cell("worst", workload, "-")
    yield Cell("stalls", "stalls", "-")


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
    """Whether `--only` asks for the cell; everything is if it is not there."""
    return only is None or any(each in cell.name for each in only.split(","))


def target_directory() -> Path:
    """Where cargo puts what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))


if __name__ == "__main__":
    sys.exit(main())
