"""The machine that the figures are measured on, without its name."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import date
from pathlib import Path


def machine() -> dict[str, str]:
    """The processor, the memory, the versions and the day."""
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
    """The processor's name, as far as the system has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    pairs = (line.partition(":")[::2] for line in lines)
    fields = {name.strip(): value.strip() for name, value in pairs}
    return f"{fields.get('model name', platform.machine())}, model {fields.get('model', '?')}"
