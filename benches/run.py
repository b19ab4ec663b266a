"""Measure the whole matrix, in turns, and render docs/benchmarks.md from what was measured.

Invariant: within a repetition every system sees the same batches one after the other in one run,
so ratios hold on a machine whose speed drifts; figures are medians over the repetitions. Results
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
from datetime import date
from pathlib import Path
from typing import Any

import render

HERE = Path(__file__).parent
RESULTS = HERE / "results"
WORKLOADS = ("retailer", "retailer-fact", "housing")
COFACTORS = tuple(f"{workload}-cofactor" for workload in WORKLOADS)
# What takes long on wide payloads is cut off early: the throughput is that of the rows done so far.
COFACTOR_SECONDS = 2
SLOW = ("first-order", "ringview-scalars", "recursive")
ORDERS = ("sorted", "shuffled")
BATCHES = (1, 100, 1_000, 10_000, 100_000)
Line = dict[str, Any]


def main() -> None:
    """Measure, keep, render."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default=date.today().isoformat())
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workload", default=",".join(WORKLOADS + COFACTORS))
    parser.add_argument("--order", default=",".join(ORDERS))
    parser.add_argument("--batch", default=",".join(map(str, BATCHES)))
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
        results = {"machine": machine(), "lines": measure(options), "chains": chains(options)}
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results, indent=1))
    text = render.tables(json.loads(path.read_text()))
    print(text)
    if not options.quick:
        render.replace(HERE.parent / "docs" / "benchmarks.md", text)


def measure(options: argparse.Namespace) -> list[Line]:
    """All lines of the matrix; each repetition visits every cell."""
    program = target_directory() / "release" / "ringview-benches"
    quick = ["--quick"] if options.quick else []
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workload.split(","):
            for order in options.order.split(","):
                cell = ["--workload", workload, "--order", order]
                exported = str(Path(folder) / f"{workload}-{order}")
                call([str(program), *cell, *quick, "--export", exported])
                if workload in COFACTORS:
                    lines += cofactor([str(program), *cell, *quick], exported, cell, options.batch)
                    continue
                cell += ["--batch", options.batch]
                for repetition in range(options.repeat):
                    rust = [str(program), *cell, *quick, "--deletes", "back", "--seconds", "30"]
                    lines += [{**line, "repetition": repetition} for line in call(rust)]
                    python = [sys.executable, str(HERE / "python" / "measure.py"), exported, *cell]
                    python += ["--repetition", str(repetition), "--seconds", "20", "--deletes"]
                    systems = "python-trusted,python-checked"
                    lines += call([*python, "--system", systems])
                    if repetition == 0:
                        lines += call([*python, "--system", "duckdb"])
                lines += memory([str(program), *cell, *quick])
    disagreements(lines)
    return lines


def chains(options: argparse.Namespace) -> list[Line]:
    """Matrix chains, beside NumPy."""
    quick = ["--quick"] if options.quick else []
    return call([sys.executable, str(HERE / "python" / "chains.py"), *quick])


def cofactor(command: list[str], exported: str, cell: list[str], batch: str) -> list[Line]:
    """The lines of a cofactor matrix, once: inserts, and the slow systems in batches of 1,000."""
    seconds = ["--seconds", str(COFACTOR_SECONDS)]
    ours = ",".join(name for name in render.COFACTOR_SYSTEMS if name not in SLOW)
    lines = call([*command, "--system", ours, "--batch", batch, *seconds])
    for system in SLOW:
        lines += call([*command, "--system", system, "--batch", "1000", *seconds])
    python = [sys.executable, str(HERE / "python" / "measure.py"), exported, *cell]
    lines += call([*python, "--system", "python-trusted", "--batch", batch, *seconds])
    if "shuffled" in cell:
        for system in render.COFACTOR_SYSTEMS:
            alone = [*command, "--system", system, "--batch", "1000", "--seconds", "10"]
            lines += [{**line, "phase": "memory"} for line in call(alone)]
    return lines


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
        if line["complete"] and line["phase"] in ("insert", "memory"):
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
