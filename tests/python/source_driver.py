"""A process that reads a folder into a database in a file until it is killed; it says its batches.

Run as `python source_driver.py FOLDER`: files are in `FOLDER/in`, the database is `FOLDER/db`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ringview as rv
from ringview import sources


def read(db: rv.Database, folder: Path) -> None:
    """Read all files, a few rows at a time, and say each batch."""
    if "r" not in db.tables:
        db.create_table("r", {"id": "int64", "name": "string", "price": "decimal128(12, 2)"})
    if "v" not in db.views:
        db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    reader = sources.Reader(db, [sources.folder(folder / "in" / "*", table="r", rows=7, name="in")])
    while reader.step():
        os.write(1, f"batch {reader.batches}\n".encode())
        if reader.batches % 11 == 10:
            db.snapshot()
    os.write(1, b"end\n")


if __name__ == "__main__":
    with rv.Database.open(Path(sys.argv[1]) / "db") as opened:
        read(opened, Path(sys.argv[1]))
