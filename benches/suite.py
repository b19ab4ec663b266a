"""The cells of each part of the benchmarks, and the systems that run them.

Invariant: within a repetition every system sees the same batches one after the other in one run, so
ratios hold on a machine whose speed drifts. Cost: that of the programs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import product

import figure
from bench import HEADLINE, HERE, Bench, Cell, target_directory
from results import Line
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
    SPARK_STREAM,
    SPARK_TPCH,
    STREAM_MODES,
    STREAM_SIZES,
    STREAMS,
    TRIANGLES,
)

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
    """TPC-H's queries run once, beside DuckDB."""
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
    """Recursive queries over edges that are inserted and deleted, beside DuckDB."""
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
    """Views over DataFrames beside Spark SQL, on one core and on two, and over streams."""
    if cell.workload == SPARK_STREAM:
        spark_streams(bench, cell)
        return
    if cell.workload == SPARK_TPCH:
        spark_tpch(bench, cell)
        return
    name = cell.workload.removeprefix(OVER_SPARK)
    script = [sys.executable, str(HERE / "python" / "spark_batch.py"), name]
    script += ["--edges", str(bench.edges())] if name == "triangles" else []
    script += ["--rows", "20000", "--rounds", "1"] if bench.options.quick else []
    for cores in SPARK_CORES:
        limit = ["--seconds", str(5 * bench.options.seconds)]
        keep(bench, cell, [*script, "--cores", str(cores), *limit])


def spark_tpch(bench: Bench, cell: Cell) -> None:
    """The texts of TPC-H, a few at a time."""
    script = [sys.executable, str(HERE / "python" / "spark_tpch.py")]
    script += ["--scale", "0.01", "--rounds", "1"] if bench.options.quick else []
    for cores in SPARK_CORES:
        for first in range(1, 23, 8):
            only = ",".join(f"q{number}" for number in range(first, min(first + 8, 23)))
            keep(bench, cell, [*script, "--cores", str(cores), "--only", only])


def spark_streams(bench: Bench, cell: Cell) -> None:
    """A stream by the size of its state, and where that is."""
    script = [sys.executable, str(HERE / "python" / "spark_stream.py")]
    for rows, (warm, batches) in STREAM_SIZES.items():
        if bench.options.quick and rows > min(STREAM_SIZES):
            break
        counts = ["--rows", str(rows), "--warm", str(warm), "--batches", str(batches)]
        for mode in STREAM_MODES:
            keep(bench, cell, [*script, mode, *counts])


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
    yield Cell("spark", SPARK_TPCH, "-")
    yield Cell("spark", SPARK_STREAM, "-")
    for workload in ("toggles", "exponents"):
        yield Cell("worst", workload, "-")
    yield Cell("stalls", "stalls", "-")
