"""Measure the whole matrix, in turns, and render docs/benchmarks.md from what was measured.

Invariant: within a repetition every system sees the same batches one after the other in one run,
so ratios hold on a machine whose speed drifts; figures in batches of 1,000 are medians over the
repetitions. Streams are cut where they take too long: the whole takes some twenty minutes. Results
are kept in benches/results/NAME.json with the machine they come from. The compiled C++ figures
beside them were measured elsewhere, on the same class of machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import render

HERE = Path(__file__).parent
RESULTS = HERE / "results"
WORKLOADS = ("retailer", "retailer-fact", "housing")
ORDERS = ("sorted", "shuffled")
BATCHES = (1, 100, 1_000, 10_000, 100_000)
# The batch size of the headline figures: the others are measured once.
REPEATED = "1000"
Line = dict[str, Any]


def main() -> None:
    """Measure, keep, render."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default=date.today().isoformat())
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workload", default=",".join(WORKLOADS))
    parser.add_argument("--order", default=",".join(ORDERS))
    parser.add_argument("--batch", default=",".join(map(str, BATCHES)))
    parser.add_argument("--seconds", type=int, default=4, help="where a stream is cut")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows, once")
    parser.add_argument("--render", action="store_true", help="only render the newest results")
    options = parser.parse_args()
    path = RESULTS / f"{options.name}.json"
    if options.render:
        path = max(RESULTS.glob("*.json"))
    else:
        if options.quick:
            options.name, options.repeat = "quick", 1
            path = Path(tempfile.gettempdir()) / "ringview-bench-quick.json"
        path.parent.mkdir(exist_ok=True)
        results: dict[str, Any] = {"machine": machine(), "lines": []}
        # What is measured is kept at once: a run that is stopped is not lost.
        for lines in measure(options):
            results["lines"] += lines
            path.write_text(json.dumps(results, indent=1))
        results["chains"] = chains(options)
        path.write_text(json.dumps(results, indent=1))
    text = render.tables(json.loads(path.read_text()))
    print(text)
    if not options.quick:
        render.replace(HERE.parent / "docs" / "benchmarks.md", text)


def measure(options: argparse.Namespace) -> Iterator[list[Line]]:
    """All lines of the matrix, stream by stream; each repetition visits every system."""
    program = target_directory() / "release" / "ringview-benches"
    quick = ["--quick"] if options.quick else []
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workload.split(","):
            for order in options.order.split(","):
                lines: list[Line] = []
                cell = ["--workload", workload, "--order", order]
                exported = str(Path(folder) / f"{workload}-{order}")
                call([str(program), *cell, *quick, "--export", exported])
                capped = ["--seconds", str(options.seconds)]
                for repetition in range(options.repeat):
                    sizes = ["--batch", REPEATED if repetition else options.batch]
                    rust = [str(program), *cell, *sizes, *quick, "--deletes", "back", *capped]
                    lines += [{**line, "repetition": repetition} for line in call(rust)]
                    python = [sys.executable, str(HERE / "python" / "measure.py"), exported, *cell]
                    python += [*sizes, "--repetition", str(repetition), *capped, "--deletes"]
                    systems = "python-trusted,python-checked"
                    lines += call([*python, "--system", systems])
                    if repetition == 0:
                        lines += call([*python, "--system", "duckdb"])
                lines += memory([str(program), *cell, *quick])
                lines += cofactors([str(program), *cell, *quick], options)
                disagreements(lines)
                yield lines


def cofactors(command: list[str], options: argparse.Namespace) -> list[Line]:
    """The degree-m matrix over the same stream, with one payload and with a number an entry."""
    lines = []
    command = [part + "-cofactor" if part in WORKLOADS else part for part in command]
    for repetition in range(options.repeat):
        sizes = ["--batch", REPEATED if repetition else options.batch]
        capped = ["--deletes", "back", "--seconds", str(max(1, options.seconds // 2))]
        lines += [{**line, "repetition": repetition} for line in call([*command, *sizes, *capped])]
    return lines


def chains(options: argparse.Namespace) -> list[Line]:
    """Matrix chains, beside NumPy."""
    quick = ["--quick"] if options.quick else []
    return call([sys.executable, str(HERE / "python" / "chains.py"), *quick])


def memory(command: list[str]) -> list[Line]:
    """How much a process grows that runs one system alone, in batches of 1,000."""
    lines = []
    for system in render.RUST_SYSTEMS:
        alone = [*command, "--system", system, "--batch", "1000"]
        lines += [{**line, "phase": "memory"} for line in call(alone)]
    return lines


def call(command: list[str]) -> list[Line]:
    """The JSON lines that a program prints, on one core where the system lets us choose."""
    pinned = (
        (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}))
        if hasattr(os, "sched_setaffinity")
        else None
    )
    print("·", " ".join(command[1:]).replace(str(HERE), "benches"), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=pinned)
    return [json.loads(line) for line in done.stdout.splitlines()]


def disagreements(lines: list[Line]) -> None:
    """Refuse results that differ between systems that did the same work."""
    agreed: dict[tuple[str, str], Line] = {}
    for line in lines:
        if line["complete"] and line["phase"] == "insert":
            first = agreed.setdefault((line["workload"], line["order"]), line)
            if first["result"] != line["result"]:
                raise SystemExit(f"results differ: {first} and {line}")


def target_directory() -> Path:
    """Where cargo puts what it builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))


def machine() -> dict[str, str]:
    """What the figures were measured on, without its name."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    described = {
        "cpu": cpu(),
        "cores": str(os.cpu_count()),
        "os": f"{platform.system()} {platform.machine()}",
        "rustc": rustc.stdout.split()[1],
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        described["memory"] = f"{pages / 2**30:.0f} GiB"
    return described


def cpu() -> str:
    """The processor's name, as well as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    pairs = (line.partition(":")[::2] for line in lines)
    fields = {name.strip(): value.strip() for name, value in pairs}
    return f"{fields.get('model name', platform.machine())}, model {fields.get('model', '?')}"


if __name__ == "__main__":
    main()
