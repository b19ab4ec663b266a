"""The file of results: what is measured is kept at once, and a part measured anew replaces the old.

Invariant: the file is whole after every line, so a run that is stopped has lost nothing. Lines of
one cell (a workload in an order at a batch size in a system, in one phase) all come from one run:
its repetitions. A cell that failed has a line that says why, and no figure.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Line = dict[str, Any]
CELL = ("workload", "order", "scale", "batch", "size", "change", "rank", "system", "phase")
# What all systems have the same result of.
WORK = ("workload", "order", "scale", "phase")


def cell(line: Line) -> tuple[Any, ...]:
    """What a line is of."""
    return tuple(line.get(part) for part in CELL)


class Results:
    """The lines of a file, those of earlier runs included if it is to be gone on with."""

    def __init__(self, path: Path, machine: dict[str, str], *, go_on: bool) -> None:
        self.path = path
        self.machine = machine
        self.lines: list[Line] = []
        if go_on and path.exists():
            self.lines = json.loads(path.read_text())["lines"]
        self.failures: list[str] = []
        self._measured: set[tuple[Any, ...]] = set()
        self._agreed: dict[tuple[Any, ...], Line] = {}

    def add(self, line: Line) -> None:
        """Keep a line; one whose result differs from that of another system is kept as failed."""
        result = line.get("result")
        if result is not None:
            work = tuple(line.get(part) for part in WORK)
            first = self._agreed.setdefault(work, line)
            if first["result"] != result:
                other = f"{first['system']} has {first['result']}"
                line = {**line, "failed": f"the result is {result}, but {other}"}
        if "failed" in line:
            named = " ".join(str(part) for part in cell(line) if part is not None)
            self.failures.append(f"{named}: {line['failed']}")
        if cell(line) not in self._measured:
            self._measured.add(cell(line))
            self.lines = [old for old in self.lines if cell(old) != cell(line)]
        self.lines.append(line)
        self._write()

    def _write(self) -> None:
        lines = ",\n".join(json.dumps(line) for line in self.lines)
        text = f'{{"machine": {json.dumps(self.machine)},\n"lines": [\n{lines}\n]}}\n'
        self.path.parent.mkdir(exist_ok=True)
        beside = self.path.with_suffix(".part")
        beside.write_text(text)
        os.replace(beside, self.path)
