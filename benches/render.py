"""Turn measured lines into the tables of docs/benchmarks.md.

Invariant: every figure is the median of its repetitions; nothing is typed in but the anchors, which
were measured elsewhere and are marked so. A star marks streams that were cut, `<` a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import anchors
import durable
import over_spark
import slopes
from anchors import SIZES
from results import Line
from table import NONE, figure, table

ORDERS = ("sorted", "shuffled")
TITLES = {
    "retailer": "Retailer, all change",
    "retailer-fact": "Retailer, only Inventory changes",
    "housing": "Housing",
}
# The streams of sums and matrices, with the scale of Housing.
STREAMS = (("retailer", None), ("retailer-fact", None), ("housing", anchors.SCALE))
SCALES = (1, 4, anchors.SCALE)
TRIANGLES = {
    "triangles": "COUNT",
    "triangles-own": "COUNT, one relation",
    "triangles-cofactor": "degree-3 matrix",
}
SUMS = {
    "handwritten-arrays": "by hand, arrays",
    "handwritten-tables": "by hand, tables",
    "ringview-trusted": "ringview, trusted deletes",
    "ringview-checked": "ringview",
    "python-trusted": "Python, trusted deletes",
    "python-checked": "Python",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}
COFACTORS = {
    "ringview-trusted": "ringview, trusted deletes",
    "ringview-checked": "ringview",
    "python-trusted": "Python, trusted deletes",
    "ringview-scalars": "a number an entry",
    "recursive": "recursive",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}
JOINS = {
    "ringview-trusted": "factorised",
    "ringview-listing": "listing",
    "duckdb": "DuckDB recomputing †",
}
CYCLES = {
    "ringview-trusted": "indicators, trusted deletes",
    "ringview-checked": "indicators",
    "python-trusted": "Python, trusted deletes",
    "ringview-epsilon": "heavy and light, trusted deletes",
    "python-epsilon": "Python, heavy and light, trusted deletes",
    "ringview-plain": "no indicators",
    "ringview-scalars": "a number an entry",
    "recursive": "recursive",
    "first-order": "first order",
    "duckdb": "DuckDB recomputing †",
}
TOGGLES = {
    "ringview-epsilon": "heavy and light",
    "ringview-trusted": "indicators",
    "first-order": "first order",
}
CHAINS = {
    "ringview": "`MatrixChain`",
    "first-order": "first order, NumPy",
    "recomputed": "NumPy recomputing",
    "sql-factors": "SQL, `update_factorised`",
    "sql-rows": "SQL, rows",
}
OF_EDGES = ("line-3", "line-4", "line-5", "star-4", "star-6", "dumbbell")
# The one that is measured by size of the sample and after each tenth of its stream.
SCALED = "line-3"
SAMPLE_SIZES = (1, 1_000, 10_000, 1_000_000)
SHAPED = ("QX", "QY", "QZ", "Q10")
SHAPED_SIZES = (0.01, 0.03, 0.1)
BOOK = {
    "machine": "machine alone, Rust",
    "engine": "ringview, Rust",
    "ringview": "ringview, Python",
    "first-order": "first order, NumPy",
    "duckdb": "DuckDB recomputing",
}
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
FAILED = "failed"


def tables(results: dict[str, Any]) -> str:
    """All tables that have a figure, with the machine's description above them."""
    described = "; ".join(f"{name}: {value}" for name, value in results["machine"].items())
    lines = Lines(results["lines"])
    found = [
        sums(lines),
        *(by_size(lines, stream, SUMS, "SUM") for stream, _ in STREAMS),
        memory(lines, "", SUMS),
        cofactors(lines),
        *(by_size(lines, f"{stream}-cofactor", COFACTORS, "matrix") for stream, _ in STREAMS),
        memory(lines, "-cofactor", COFACTORS),
        joins(lines),
        reading(lines),
        triangles(lines),
        toggles(results["lines"]),
        exponents(results["lines"]),
        *chains(results["lines"]),
        *samples(results["lines"]),
        *order_book(results["lines"]),
        *durable.tables(results["lines"]),
        *over_spark.tables(results["lines"]),
    ]
    return "\n\n".join([described, *filter(None, found)])


def replace(path: Path, text: str) -> None:
    """Put the tables between the marks of the page."""
    page = path.read_text()
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")


class Lines:
    """Measured lines, looked up by cell."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._cells: dict[tuple[Any, ...], list[Line]] = {}
        for line in lines:
            parts = ("workload", "order", "scale", "batch", "system", "phase")
            self._cells.setdefault(tuple(line.get(part) for part in parts), []).append(line)

    def cell(
        self,
        value: Callable[[Line], float | None],
        workload: str,
        order: str,
        system: str,
        *,
        scale: int | None = None,
        batch: int = 1_000,
        phase: str = "insert",
    ) -> str:
        """The median of a value over the repetitions, or why there is none."""
        if scale is None and workload.startswith("housing"):
            scale = anchors.SCALE
        lines = self._cells.get((workload, order, scale, batch, system, phase), [])
        if any("failed" in line for line in lines):
            return FAILED
        lines = [line for line in lines if value(line) is not None]
        if not lines:
            return NONE
        bound = "< " if any(line.get("bound") for line in lines) else ""
        whole = all("extrapolated_from_batches" in line or line["complete"] for line in lines)
        found = median(number for line in lines if (number := value(line)) is not None)
        return bound + figure(found) + ("" if whole else "*")

    def speeds(self, workload: str, order: str, systems: Iterable[str], **cell: Any) -> list[str]:
        """Million tuples a second."""
        return [self.cell(speed, workload, order, system, **cell) for system in systems]

    def first(self, workload: str) -> Line | None:
        """Any line of a workload."""
        return next((lines[0] for key, lines in self._cells.items() if key[0] == workload), None)


def speed(line: Line) -> float | None:
    """Million tuples a second."""
    return float(line["tuples_per_second"]) / 1e6


def bytes_a_tuple(line: Line) -> float | None:
    """What the system says it keeps."""
    return float(line["bytes"]) / max(line["tuples"], 1) if "bytes" in line else None


def sums(lines: Lines) -> str:
    """Every system in batches of 1,000, inserts and deletes."""
    rows = []
    for (stream, _), order in pairs(STREAMS):
        for phase, doing in (("insert", "insert"), ("delete-back", "delete")):
            cells = lines.speeds(stream, order, SUMS, phase=phase)
            anchor = compiled(stream, order) if phase == "insert" else NONE
            rows.append([TITLES[stream], order, doing, *cells, anchor])
    head = ["SUM, batches of 1,000, M tuples/s", "order", "", *SUMS.values(), "C++ ‡"]
    return table(head, rows, 3)


def cofactors(lines: Lines) -> str:
    """Degree-m matrices in batches of 1,000: inserts, and deletes of the first system."""
    rows = []
    for (stream, _), order in pairs(STREAMS):
        workload = f"{stream}-cofactor"
        cells = lines.speeds(workload, order, COFACTORS)
        trusted = next(iter(COFACTORS))
        cells += lines.speeds(workload, order, [trusted], phase="delete-back")
        rows.append([TITLES[stream], order, *cells, compiled(workload, order)])
    head = ["degree-m matrix, batches of 1,000, M tuples/s", "order", *COFACTORS.values()]
    return table([*head, "deletes, trusted", "C++ ‡"], rows, 2)


def by_size(lines: Lines, workload: str, systems: Mapping[str, str], asked: str) -> str:
    """One workload by batch size, inserts; systems of one size only are left out."""
    sizes = [size for size in SIZES if size != 1_000]
    several = {
        system: title
        for system, title in systems.items()
        if any(
            lines.speeds(workload, order, [system], batch=size) != [NONE]
            for order in ORDERS
            for size in sizes
        )
    }
    rows = [
        [
            order,
            f"{size:,}",
            *lines.speeds(workload, order, several, batch=size),
            compiled(workload, order, size),
        ]
        for order in ORDERS
        for size in SIZES
    ]
    title = f"{TITLES[workload.removesuffix('-cofactor')]}: {asked}, M tuples/s"
    return table([title, "batch", *several.values(), "C++ ‡"], rows, 2) if several else ""


def memory(lines: Lines, suffix: str, systems: Mapping[str, str]) -> str:
    """Bytes a tuple after all inserts: as the system counts, and as its process grew."""
    alone = {name: title for name, title in systems.items() if not name.startswith("python")}
    alone = {name: title for name, title in alone.items() if name != "duckdb"}
    rows = []
    for stream, _ in STREAMS:
        workload = stream + suffix
        cells = []
        for system in alone:
            values = [
                lines.cell(value, workload, "shuffled", system, phase="memory")
                for value in (bytes_a_tuple, resident)
            ]
            cells.append(values[0] if values[1] in (NONE, FAILED) else "{} ({})".format(*values))
        rows.append([TITLES[stream], *cells, str(anchors.BYTES[workload])])
    asked = "matrix" if suffix else "SUM"
    head = [f"{asked}, bytes a tuple: counted (resident)", *alone.values(), "C++ ‡"]
    return table(head, rows, 1)


def resident(line: Line) -> float | None:
    """By how much the process grew, a tuple."""
    grown = line.get("resident_bytes")
    return None if grown is None else max(grown, 0) / max(line["tuples"], 1)


def joins(lines: Lines) -> str:
    """The rows of joins: speed of maintenance, and bytes a tuple."""
    rows = []
    kept = [system for system in JOINS if system != "duckdb"]
    streams = [("retailer-fact-join", None), *(("housing-join", scale) for scale in SCALES)]
    for (workload, scale), order in pairs(streams):
        title = TITLES[workload.removesuffix("-join")]
        cells = lines.speeds(workload, order, JOINS, scale=scale)
        anchored = scale == anchors.SCALE
        cells.append(compiled(workload, order) if anchored else NONE)
        cells += [lines.cell(bytes_a_tuple, workload, order, name, scale=scale) for name in kept]
        cells.append(str(anchors.BYTES[workload]) if anchored else NONE)
        rows.append([title + (f", scale {scale}" if scale else ""), order, *cells])
    head = ["rows of the natural join, M tuples/s", "order", *JOINS.values(), "C++, factorised ‡"]
    head += [*(f"bytes a tuple: {JOINS[name]}" for name in kept), "C++ ‡"]
    return table(head, rows, 2)


def reading(lines: Lines) -> str:
    """All rows of factorised joins, read once."""

    def of(name: str, unit: float, over: str | None = None) -> Callable[[Line], float | None]:
        def value(line: Line) -> float | None:
            found = line.get("reading")
            if not found:
                return None
            return unit * float(found[name]) / (found[over] if over else 1)

        return value

    values = {
        "rows": of("rows", 1),
        "`len`, us": of("len_seconds", 1e6),
        "M rows/s": of("rows", 1e-6, "seconds"),
        "by time on the core": of("rows", 1e-6, "cpu_seconds"),
        "memory, MB": of("resident_bytes", 1e-6),
    }
    rows = []
    streams = [("retailer-fact-join", None), *(("housing-join", scale) for scale in SCALES)]
    for (workload, scale), order in pairs(streams):
        title = TITLES[workload.removesuffix("-join")]
        found = [
            lines.cell(value, workload, order, "ringview-trusted", scale=scale)
            for value in values.values()
        ]
        rows.append([title + (f", scale {scale}" if scale else ""), order, *found])
    return table(["reading a factorised join", "order", *values], rows, 2)


def triangles(lines: Lines) -> str:
    """Triangles with and without indicators: speed and memory."""
    known = [line for workload in TRIANGLES if (line := lines.first(workload))]
    if not known:
        return ""
    rows = []
    for workload, title in TRIANGLES.items():
        for order in ORDERS:
            for value, unit in ((speed, "M tuples/s"), (bytes_a_tuple, "bytes a tuple")):
                cells = [lines.cell(value, workload, order, system) for system in CYCLES]
                anchor = NONE
                if workload in anchors.BYTES:
                    anchor = str(anchors.BYTES[workload])
                    anchor = compiled(workload, order) if value is speed else anchor
                rows.append([title, order, unit, *cells, anchor])
    head = [f"triangles of {known[0].get('graph')}", "order", "", *CYCLES.values()]
    return table([*head, "C++, no indicators, Epinions ‡"], rows, 3)


def toggles(lines: list[Line]) -> str:
    """Microseconds of an edge that comes or goes between hubs, and in a clique, by size."""
    lines = [line for line in lines if line["workload"] == "toggles"]
    failures = [f"toggled edges: failed: {line['failed']}" for line in lines if "failed" in line]
    lines = [line for line in lines if "failed" not in line]
    taken = {(line["data"], line["size"], line["system"]): line["cpu_seconds"] for line in lines}

    def cell(*key: Any) -> str:
        return figure(1e6 * taken[key]) if key in taken else NONE

    cells = sorted({key[:2] for key in taken}, key=lambda key: (key[0] != "hub", key[1]))
    rows = [
        [data, f"{size:,}", *(cell(data, size, name) for name in TOGGLES)] for data, size in cells
    ]
    head = ["an edge comes or goes, us", "edges", *TOGGLES.values()]
    return "\n\n".join(filter(None, [table(head, rows, 2), *failures]))


def exponents(lines: list[Line]) -> str:
    """The slopes of counted steps and keys against N, beside the theorem's."""
    lines = [line for line in lines if line["workload"] == "exponents" and "failed" not in line]
    rows = []
    for at in sorted({line["epsilon"] for line in lines}):
        time, space = slopes.time(lines, at), slopes.space(lines, at)
        rows.append(
            [
                f"{at:.1f}",
                *("0" if found is None else f"{found:.2f}" for found in (time, space)),
                f"{max(at, 1 - at):.1f}",
                f"{min(1 + at, 2 - 2 * at):.1f}",
            ]
        )
    head = ["epsilon", "steps a change, slope", "keys of views, slope"]
    return table([*head, "steps: theorem", "keys: theorem"], rows, 1)


def chains(lines: list[Line]) -> list[str]:
    """Milliseconds a change of the middle one of three matrices, by size and by rank."""
    lines = [line for line in lines if line["workload"] == "chain"]
    failures = [f"matrix chains: failed: {line['failed']}" for line in lines if "failed" in line]
    lines = [line for line in lines if "failed" not in line]
    parts = ("change", "size", "rank", "system")
    taken = {tuple(line[part] for part in parts): line["seconds"] for line in lines}

    def row(change: str, size: int, rank: int, systems: Iterable[str]) -> list[str]:
        found = [taken.get((change, size, rank, system)) for system in systems]
        return [NONE if seconds is None else figure(1e3 * seconds) for seconds in found]

    def keys(change: str, part: str) -> list[int]:
        return sorted({line[part] for line in lines if line["change"] == change})

    rows = [[f"{size:,}", *row("row", size, 1, CHAINS)] for size in keys("row", "size")]
    found = [table(["one row of A2, ms; n", *CHAINS.values()], rows, 1)]
    for size in keys("rank", "size"):
        systems = ("ringview", "recomputed")
        rows = [[f"{rank}", *row("rank", size, rank, systems)] for rank in keys("rank", "rank")]
        head = [f"rank r of A2, n = {size:,}, ms; r", *(CHAINS[system] for system in systems)]
        found.append(table(head, rows, 1))
    return found + failures


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
        """How long a row takes."""

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


def on_core(line: Line) -> float | None:
    """Million tuples a second that the thread was on a core."""
    return float(line["tuples"]) / float(line["cpu_seconds"]) / 1e6


def order_book(lines: list[Line]) -> list[str]:
    """Events a second of an order book, the result read after each batch."""
    costs = [line for line in lines if line["workload"] == "order-book-cost"]
    lines = [line for line in lines if line["workload"] in ("order-book", "q17")]
    both = (*lines, *costs)
    failures = [
        f"{line['workload']}: failed: {line['failed']}" for line in both if "failed" in line
    ]
    lines = [line for line in lines if "failed" not in line]
    parts = ("query", "batch", "system")
    taken = {tuple(line[part] for part in parts): line["tuples_per_second"] for line in lines}
    rows = []
    for query, size in dict.fromkeys((line["query"], line["batch"]) for line in lines):
        found = [taken.get((query, size, system)) for system in BOOK]
        cells = [NONE if speed is None else figure(speed / 1e3) for speed in found]
        rows.append([query, f"{size:,}", *cells])
    head = ["order book and Q17, thousand rows/s, read after each batch", "batch", *BOOK.values()]
    return [table(head, rows, 2), book_costs(costs), *failures]


def book_costs(lines: list[Line]) -> str:
    """What an event costs against the number of orders that are there."""
    lines = [line for line in lines if "failed" not in line]
    sizes = sorted({line["orders"] for line in lines})
    taken = {(line["query"], line["orders"]): line["nanoseconds"] for line in lines}
    rows = []
    for query in dict.fromkeys(line["query"] for line in lines):
        found = [taken.get((query, size)) for size in sizes]
        rows.append([query, *(NONE if cost is None else figure(cost / 1e3) for cost in found)])
    head = ["microseconds an event, machine alone, by orders of a side"]
    return table([*head, *(f"{size:,}" for size in sizes)], rows, 1)


def compiled(workload: str, order: str, size: int = 1_000) -> str:
    """The C++ figure, where there is one."""
    speed = anchors.SPEED.get((workload, order), {}).get(size)
    return NONE if speed is None else figure(speed)


def pairs(streams: Iterable[tuple[str, int | None]]) -> list[tuple[tuple[str, int | None], str]]:
    """Every stream in both orders."""
    return [(stream, order) for stream in streams for order in ORDERS]
