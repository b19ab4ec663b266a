"""Files that are there whole or not at all.

Invariant: after a crash of the machine a name leads to the old file or to the new one. Cost: the
bytes, and two syncs.
"""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Write a file that is there whole, or not at all, and survives a crash of the machine."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync(path.parent)


def sync(folder: Path) -> None:
    """Make the names in a folder durable, where folders can be synced."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
