"""Opens mutated files of databases: `python fuzz_durable.py FIRST ..`.

A file is refused with an error of ringview, or opens with a state that it once had: its views are
those of its rows, and it takes a change that is there after another opening.
"""

from __future__ import annotations

import lzma
import random
import tempfile
from pathlib import Path

import ringview as rv
from fuzzing import mutated, run

HERE = Path(__file__).parent
# Files of earlier releases, and one with a snapshot and changes behind it.
KEPT = [lzma.decompress(path.read_bytes()) for path in sorted(HERE.glob("data/*.ringview.xz"))]


def made(folder: Path) -> tuple[bytes, list[int]]:
    """A file, and the numbers of rows that it had."""
    path = folder / "made"
    counts = [0]
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64", "s": "string"})
        db.create_view("v", "SELECT s, COUNT(*) AS n, SUM(a) AS t FROM r GROUP BY s")
        for at in range(4):
            db.insert("r", {"a": range(at * 10), "s": [f"text {n % 3}" for n in range(at * 10)]})
            counts.append(len(db.tables["r"]))
        db.snapshot()
        for at in range(4):
            db.insert("r", [{"a": at, "s": None}], batch_id=str(at))
            counts.append(len(db.tables["r"]))
    return path.read_bytes(), counts


class Files:
    """A file, and a case."""

    def __init__(self, folder: Path) -> None:
        self.whole, self.counts = made(folder)
        self.seeds = [self.whole, *KEPT]
        # Most of a file is room: places of bytes that are there.
        self.there = [[at for at, byte in enumerate(one) if byte] for one in self.seeds]
        self.path = folder / "mutated"

    def case(self, seed: int) -> None:
        at = random.Random(seed)
        which = seed if seed < len(self.seeds) else at.randrange(len(self.seeds))
        data = self.seeds[which]
        if seed >= len(self.seeds):
            data = self.changed(at, which)
        self.path.unlink(missing_ok=True)
        self.path.write_bytes(data)
        try:
            self.opened(which == 0)
        except (rv.errors.SnapshotError, rv.errors.StorageError):
            # A release whose views are defined in another form says so.
            assert seed != 0

    def changed(self, at: random.Random, which: int) -> bytes:
        data = self.seeds[which]
        place = at.choice(self.there[which])
        if at.random() < 0.2:
            return data[: at.randrange(len(data))] if at.random() < 0.5 else data[:place]
        # At bytes that are used, so that it is not room that changes.
        part = mutated(at, data[place : place + 64], [data[: 1 << 12]])
        if at.random() < 0.8:
            part = part[:64].ljust(64, b"\0")
        return data[:place] + part + data[place + 64 :]

    def opened(self, is_made: bool) -> None:
        with rv.Database.open(self.path) as db:
            counts = {name: len(table) for name, table in db.tables.items()}
            for view in db.views.values():
                view.to_arrow().validate(full=True)
            if is_made and counts:
                assert counts["r"] in self.counts
                if "v" in db.views:
                    assert sum(db["v"].to_arrow()["n"].to_pylist()) == counts["r"]
            if counts.get("r") and is_made:
                db.insert("r", [{"a": 1, "s": "more"}])
        if is_made and counts.get("r"):
            with rv.Database.open(self.path) as db:
                assert len(db.tables["r"]) == counts["r"] + 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(Files(Path(folder)).case)
