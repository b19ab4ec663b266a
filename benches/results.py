"""The file of results: a line is kept at once, and a part measured again replaces the old one.

Invariant: the file is whole after every line, so a run that is stopped has lost nothing. All lines
of a cell (a workload in an order, at a scale) are of one run, and their results agree; a failure
has a line that says why, and no figure.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Line = dict[str, Any]
CELL = ("workload", "order", "scale")


class Results:
    """The lines of a file, those of earlier runs included if these are to be continued."""

    def __init__(self, path: Path, machine: dict[str, str], *, go_on: bool) -> None:
        self.path = path
        self.machine = machine
        self.lines: list[Line] = []
        if go_on and path.exists():
            self.lines = json.loads(path.read_text())["lines"]
        self.failures: list[str] = []
        self._agreed: dict[tuple[Any, ...], Line] = {}

    def begin(self, *cell: str | int | None) -> None:
        """Forget what earlier runs measured of a cell."""
        self.lines = [line for line in self.lines if _of(line, *CELL) != cell]

    def add(self, line: Line) -> None:
        """Keep a line; one whose result differs from that of another system is kept as failed."""
        result = line.get("result")
        if result is not None:
            first = self._agreed.setdefault(_of(line, *CELL, "phase", "query"), line)
            if first["result"] != result:
                other = f"{first['system']} has {first['result']}"
                line = {**line, "failed": f"the result is {result}, but {other}"}
        if "failed" in line:
            named = [str(part) for part in _of(line, *CELL, "batch", "system", "phase") if part]
            self.failures.append(f"{' '.join(named)}: {line['failed']}")
        self.lines.append(line)
        self._write()

    def _write(self) -> None:
        lines = ",\n".join(json.dumps(line) for line in self.lines)
        text = f'{{"machine": {json.dumps(self.machine)},\n"lines": [\n{lines}\n]}}\n'
        self.path.parent.mkdir(exist_ok=True)
        beside = self.path.with_suffix(".part")
        beside.write_text(text)
        os.replace(beside, self.path)


def _of(line: Line, *parts: str) -> tuple[Any, ...]:
    return tuple(line.get(part) for part in parts)
