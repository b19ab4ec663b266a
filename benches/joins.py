"""The rows of a join, kept factorised and read back: runs the bench and renders its table.

Invariant: every figure of the table in docs/benchmarks.md comes from the lines that one run
printed; the C++ figures beside them were measured elsewhere. Cost: a minute.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- joins: begin -->", "<!-- joins: end -->"
# M tuples/s and bytes a tuple of the compiled C++, see the page.
ANCHORS = {"sorted": ("5.1", "123"), "shuffled": ("0.95", "123")}


def main() -> None:
    """Run, or smoke-test with --quick, which writes nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "target/release/ringview-benches"))
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    flags = ["--quick"] if arguments.quick else ["--repeat", "3"]
    run = subprocess.run(
        [arguments.program, "--joins", *flags], check=True, capture_output=True, text=True
    )
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    text = table(lines)
    print(text)
    if not arguments.quick:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


def table(lines: list[dict[str, Any]]) -> str:
    """The medians as Markdown."""
    rows = [
        "| Housing, natural join | maintained, M tuples/s | by time on the core | C++ ‡ "
        "| bytes a tuple | C++ ‡ | rows | `len` "
        "| read, M rows/s | by time on the core | memory of reading |",
        "| --- |" + " --- |" * 10,
    ]
    for order in dict.fromkeys(line["order"] for line in lines):
        runs = [line for line in lines if line["order"] == order]

        def middle(value: Any, runs: list[dict[str, Any]] = runs) -> float:
            return median(value(line) for line in runs)

        speed, size = ANCHORS[order]
        cells = [
            order,
            f"{middle(lambda line: line['tuples'] / line['seconds']) / 1e6:.2g}",
            f"{middle(lambda line: line['tuples'] / line['cpu_seconds']) / 1e6:.2g}",
            speed,
            f"{middle(lambda line: line['bytes_a_tuple']):.0f}",
            size,
            f"{runs[0]['rows']:,}",
            f"{middle(lambda line: line['len_seconds']) * 1e6:.0f} us",
            f"{middle(lambda line: line['rows'] / line['read_seconds']) / 1e6:.0f}",
            f"{middle(lambda line: line['rows'] / line['read_cpu_seconds']) / 1e6:.0f}",
            f"{max(line['read_resident_bytes'] for line in runs) / 1e6:.0f} MB",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
