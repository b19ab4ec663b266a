"""Tables of samples of joins: of a graph, and of tables shaped as those of benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import anchors
from results import Line
from workloads import OF_EDGES, SAMPLE_SIZES, SCALED, SHAPED

from .lines import on_core, speed
from .markdown import NONE, figure, table


def samples(lines: list[Line]) -> list[str]:
    """Samples: of a graph, one row at a time, by size of the sample, on the way, of sales."""
    names = (*OF_EDGES, *SHAPED)
    lines = [line for line in lines if line["workload"] in names]
    failures = [
        f"{line['workload']}: failed: {line['failed']}" for line in lines if "failed" in line
    ]
    kept = Samples([line for line in lines if "failed" not in line])
    found = [kept.speeds(), kept.updates(), kept.sizes(), kept.moments(), kept.shaped()]
    return [*found, *failures]


class Samples:
    """Lines of samples, and the tables of them."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines

    def of(self, value: Callable[[Line], float | None], **cell: Any) -> str:
        """The median of a value over the lines that are of the cell."""
        wanted = {"k": 100_000, "batch": 10_000, "system": "rust", **cell}
        lines = [line for line in self.lines if all(line.get(k) == v for k, v in wanted.items())]
        values = [number for line in lines if (number := value(line)) is not None]
        if not values:
            return NONE
        return figure(median(values)) + ("" if all(line["complete"] for line in lines) else "*")

    def speeds(self) -> str:
        """By query: speed, memory, results and how many positions were none."""
        rows = []
        for name in OF_EDGES:
            speed_there, bytes_there = anchors.SAMPLES[name]
            rows.append(
                [
                    name,
                    self.of(speed, workload=name),
                    self.of(on_core, workload=name),
                    self.of(speed, workload=name, system="python"),
                    self.of(on_core, workload=name, system="python"),
                    self.of(speed, workload=name, batch=1),
                    figure(speed_there),
                    self.of(lambda line: line["bytes"] / 1e6, workload=name),
                    NONE if bytes_there is None else figure(bytes_there),
                    self.of(lambda line: float(line["results"]), workload=name),
                    self.of(lambda line: line["dummies"] / max(line["came"], 1), workload=name),
                ]
            )
        graph = next((line["graph"] for line in self.lines if "graph" in line), "")
        head = [f"100,000 samples of joins of {graph}; M tuples/s, batches of 10,000", "Rust"]
        head += [
            "by time on the core",
            "Python",
            "by time on the core",
            "Rust, row by row",
            "C++ ‡",
        ]
        head += ["MB", "C++, MB ‡", "results", "dummies a result that came in"]
        return table(head, rows, 1)

    def updates(self) -> str:
        """Time of a row."""

        def quantile(at: int) -> Callable[[Line], float | None]:
            return lambda line: line["microseconds"][at]

        shares = ("median", "90%", "99%", "99.9%", "longest")
        rows = [
            [name, *(self.of(quantile(at), workload=name, batch=1) for at in range(len(shares)))]
            for name in OF_EDGES
        ]
        return table(["one row at a time, us a row", *shares], rows, 1)

    def sizes(self) -> str:
        """By size of the sample."""
        rows = []
        for k in sorted({*SAMPLE_SIZES, 100_000}):
            cell = {"workload": SCALED, "k": k}
            seconds = self.of(lambda line: line["seconds"], **cell)
            rows.append([f"{k:,}", seconds, self.of(lambda line: line["bytes"] / 1e6, **cell)])
        return table([f"{SCALED} by size of the sample", "s", "MB"], rows, 1)

    def moments(self) -> str:
        """After each tenth of the stream."""
        wanted = {"workload": SCALED, "system": "rust", "k": 100_000, "batch": 10_000}
        lines = [line for line in self.lines if wanted.items() <= line.items()]
        rows = [
            [f"{tuples:,}", figure(seconds), figure(size / 1e6), figure(float(results))]
            for tuples, seconds, size, results in (lines[0]["moments"] if lines else [])
        ]
        return table([f"{SCALED}, tuples so far", "s", "MB", "results"], rows, 1)

    def shaped(self) -> str:
        """Queries over tables shaped as those of TPC-DS and LDBC, by size."""
        values = {
            "tuples": lambda line: float(line["tuples"]),
            "results": lambda line: float(line["results"]),
            "M tuples/s": speed,
            "by time on the core": on_core,
            "MB": lambda line: line["bytes"] / 1e6,
        }
        sizes = sorted({line["size"] for line in self.lines if "size" in line})
        rows = [
            [name, f"{size:g}", *(self.of(value, **cell) for value in values.values())]
            for name in SHAPED
            for size in sizes
            for cell in [{"workload": name, "size": size, "system": "python"}]
        ]
        return table(["from Python, in batches of 10,000", "scale", *values], rows, 2)
