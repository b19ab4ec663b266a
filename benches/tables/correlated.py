"""Tables of correlated aggregates: the order book and Q17, and what an event costs by size."""

from __future__ import annotations

from results import Line

from .markdown import NONE, figure, table

BOOK = {
    "machine": "machine alone, Rust",
    "engine": "ringview, Rust",
    "ringview": "ringview, Python",
    "first-order": "first order, NumPy",
    "duckdb": "DuckDB recomputing",
}


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
    """Cost of an event against the number of orders that are there."""
    lines = [line for line in lines if "failed" not in line]
    sizes = sorted({line["orders"] for line in lines})
    taken = {(line["query"], line["orders"]): line["nanoseconds"] for line in lines}
    rows = []
    for query in dict.fromkeys(line["query"] for line in lines):
        found = [taken.get((query, size)) for size in sizes]
        rows.append([query, *(NONE if cost is None else figure(cost / 1e3) for cost in found)])
    head = ["microseconds an event, machine alone, by orders of a side"]
    return table([*head, *(f"{size:,}" for size in sizes)], rows, 1)
