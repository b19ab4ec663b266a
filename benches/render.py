"""Turn measured lines into the tables of docs/benchmarks.md.

Invariant: nothing is typed in but the anchors, which were measured elsewhere and are marked so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tables import (
    chains,
    correlated,
    files,
    joins,
    nexmark,
    over_spark,
    recursion,
    samples,
    several,
    stalls,
    streams,
    tpch,
    triangles,
    windows,
)
from tables.lines import Lines
from workloads import STREAMS

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def tables(results: dict[str, Any]) -> str:
    """All tables that have a figure, with the machine's description above them."""
    described = "; ".join(f"{name}: {value}" for name, value in results["machine"].items())
    lines = Lines(results["lines"])
    found = [
        streams.sums(lines),
        *(streams.by_size(lines, stream, streams.SUMS, "SUM") for stream, _ in STREAMS),
        streams.memory(lines, "", streams.SUMS),
        streams.cofactors(lines),
        *(
            streams.by_size(lines, f"{stream}-cofactor", streams.COFACTORS, "matrix")
            for stream, _ in STREAMS
        ),
        streams.memory(lines, "-cofactor", streams.COFACTORS),
        joins.joins(lines),
        joins.reading(lines),
        triangles.triangles(lines),
        triangles.toggles(results["lines"]),
        triangles.exponents(results["lines"]),
        stalls.stalls(results["lines"]),
        *chains.chains(results["lines"]),
        *samples.samples(results["lines"]),
        *correlated.order_book(results["lines"]),
        *tpch.tables(results["lines"]),
        *tpch.once(results["lines"]),
        *nexmark.tables(results["lines"]),
        *several.tables(results["lines"]),
        *windows.tables(results["lines"]),
        *recursion.tables(results["lines"]),
        *files.tables(results["lines"]),
        *over_spark.tables(results["lines"]),
    ]
    return "\n\n".join([described, *filter(None, found)])


def replace(path: Path, text: str) -> None:
    """Put the tables between the marks of the page."""
    page = path.read_text()
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")
