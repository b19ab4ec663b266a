"""The programs that measure, run one after the other on one core.

Invariant: every line that a program prints is kept at once; a program that fails is kept as failed.
Cost: that of the programs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from results import Line, Results

HERE = Path(__file__).parent
STARTED = time.monotonic()
HEADLINE = 1_000
"""Rows of the batches of headline figures."""


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
        """The name that `--only` is matched with."""
        scale = [] if self.scale is None else [str(self.scale)]
        return "/".join([self.part, self.workload, self.order, *scale])

    @property
    def arguments(self) -> list[str]:
        """The arguments of both programs."""
        scale = [] if self.scale is None else ["--scale", str(self.scale)]
        return ["--workload", self.workload, "--order", self.order, *scale]


class Bench:
    """The programs under one set of options; every line is added to the results."""

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
        """Run and keep; where a run dies, each system that is missing runs again alone."""
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
        """The JSON lines that a program prints on one core, and its error."""
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


def target_directory() -> Path:
    """The folder that cargo builds into."""
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
