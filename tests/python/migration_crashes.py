"""A process that migrates a file, step by step, until it is killed; it says which steps returned.

Run as `python migration_crashes.py FILE`. A step is one transaction of definitions and changes.
"""

from __future__ import annotations

import os
import sys

import ringview as rv

START = """
    CREATE TABLE r (id BIGINT);
    CREATE TABLE t0 (a BIGINT);
    CREATE VIEW v AS SELECT 0 AS step, SUM(id) AS id FROM r"""


def step(db: rv.Database, number: int) -> None:
    """A column, a row, and in place of a table and a view others."""
    db.execute(f"""
        BEGIN;
        INSERT INTO r (id) VALUES ({number});
        ALTER TABLE r ADD COLUMN c{number} BIGINT DEFAULT {number};
        DROP VIEW v;
        UPDATE r SET c{number} = id WHERE id < 3;
        CREATE TABLE t{number} (a BIGINT);
        DROP TABLE t{number - 1};
        INSERT INTO t{number} SELECT COUNT(*) FROM r;
        CREATE VIEW v AS SELECT {number} AS step, SUM(id) + MIN(a) AS id FROM r, t{number};
        COMMIT""")


def check(db: rv.Database, done: int) -> None:
    """Each step that returned is there, and of the one under way all or nothing."""
    if "v" not in db:
        assert done == 0
        return
    number = db["v"].to_arrow()["step"].to_pylist()[0]
    assert number in (done, done + 1)
    assert set(db.tables) == {"r", f"t{number}"}
    table = db.tables["r"]
    assert table.columns == ["id", *(f"c{of}" for of in range(1, number + 1))]
    for row in table:
        for of in range(1, number + 1):
            was_updated = row["id"] <= of and row["id"] < 3
            assert row[f"c{of}"] == (row["id"] if was_updated else of)
    if number:
        assert db["v"].to_arrow()["id"].to_pylist() == [number * (number + 1) // 2 + number]
        assert db.tables[f"t{number}"].to_arrow()["a"].to_pylist() == [number]


def main() -> None:
    """Until it is killed."""
    with rv.Database.open(sys.argv[1]) as db:
        if "v" not in db:
            db.execute(f"BEGIN; {START}; COMMIT")
        number = int(next(iter(db["v"].to_arrow()["step"].to_pylist()))) + 1
        while True:
            step(db, number)
            os.write(1, f"{number}\n".encode())
            number += 1


if __name__ == "__main__":
    main()
