"""A process that alters a table in a file until it is killed; it says how many steps returned.

Run as `python alter_crashes.py FILE`. The columns of the table show its progress.
"""

from __future__ import annotations

import os
import sys

import ringview as rv


def step(db: rv.Database, number: int) -> None:
    """Adds a column with its number as its value, drops an old one, and inserts a row."""
    db.execute(f"ALTER TABLE r ADD COLUMN c{number} BIGINT DEFAULT {number}")
    if number % 3 == 0:
        db.execute(f"ALTER TABLE r RENAME COLUMN c{number} TO renamed{number}")
    if number % 5 == 0:
        db.execute("INSERT INTO r (id) SELECT MAX(id) + 1 FROM r")


def check(db: rv.Database, done: int) -> None:
    """A step is applied whole, and the steps that returned are there."""
    if "v" not in db:
        assert done == 0
        return
    table = db.tables["r"]
    numbers = [
        int("".join(letter for letter in name if letter.isdigit())) for name in table.columns[1:]
    ]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) in (done, done + 1)
    for name, number in zip(table.columns[1:], numbers, strict=True):
        assert name in (f"c{number}", f"renamed{number}")
        # Older rows have it, those inserted later do not.
        assert {row[name] for row in table} <= {number, None}
        assert table.where(id=0)[name].to_pylist() == [number]
    assert db["v"].scalar() == sum(row["id"] for row in table)


def main() -> None:
    """Until it is killed."""
    with rv.Database.open(sys.argv[1]) as db:
        db.execute("CREATE TABLE IF NOT EXISTS r (id BIGINT)")
        if len(db.tables["r"]) == 0:
            db.execute("INSERT INTO r VALUES (0)")
        db.execute("CREATE VIEW IF NOT EXISTS v AS SELECT SUM(id) AS id FROM r")
        number = len(db.tables["r"].columns)
        while True:
            step(db, number)
            os.write(1, f"{number}\n".encode())
            number += 1


if __name__ == "__main__":
    main()
