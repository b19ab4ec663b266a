"""Tables of databases in files: what a change costs there, how long opening takes, bytes on disk.

Invariant: columns are those of `benches/python/files.py`. Cost: O(lines).
"""

from __future__ import annotations

from results import Line

from .markdown import figure, table

KEPT = {
    "memory": "in memory",
    "snapshot": 'in a file, `durability="snapshot"`',
    "transaction": "in a file, each transaction",
}


def tables(lines: list[Line]) -> list[str]:
    """The tables of the lines that there are."""
    found = {line["what"]: line for line in lines if "what" in line}
    lines = [line for line in lines if line["workload"] == "files"]
    failures = [f"files: failed: {line['failed']}" for line in lines if "failed" in line]
    return [*(make(found[what]) for what, make in MAKERS.items() if what in found), *failures]


def batches(line: Line) -> str:
    """Inserts of 1,000 rows."""
    rows = [
        [kept, figure(line["microseconds"][name]), figure(line["core_microseconds"][name])]
        for name, kept in KEPT.items()
    ]
    head = ["Inventory rows into a sum and a matrix, batches of 1,000", "us a batch"]
    return table([*head, "on the core"], rows, 1)


def threads(line: Line) -> str:
    """Inserts of one row by several threads."""
    speeds = line["transactions_per_second"]
    rows = [[f"{count} threads", figure(speed)] for count, speed in speeds.items()]
    return table(["transactions of one row, in a file, each synced", "a second"], rows, 1)


def opening(line: Line) -> str:
    """Opening."""
    seconds = line["seconds"]
    row = [f"{line['rows']:,}", *(figure(seconds[step]) for step in ("insert", "snapshot", "open"))]
    head = ["rows of Retailer, with a sum and a matrix", "insert, s", "snapshot, s", "open, s"]
    return table([*head, "bytes a row on disk"], [[*row, figure(line["bytes_a_row"])]], 1)


MAKERS = {"batches": batches, "threads": threads, "opening": opening}
