"""A process that changes a database in a file by statements of SQL until it is killed.

Run as `python statement_crashes.py FILE`. Step after step, each a script that is one commit; it
says the number of each before and after.
"""

from __future__ import annotations

import os
import sys

import ringview as rv

DEFINE = """
CREATE TABLE r (id BIGINT PRIMARY KEY, a BIGINT, s VARCHAR);
CREATE TABLE steps (n BIGINT);
CREATE VIEW v AS SELECT a % 3 AS k, COUNT(*) AS n, SUM(a) AS a FROM r GROUP BY k;
CREATE VIEW w AS SELECT SUM(n) AS n FROM v;
"""


def step(db: rv.Database, number: int) -> None:
    """The statements of a number, always the same; all of them are one commit of the file."""
    three = "(VALUES (1), (2), (3)) q(x)"
    add = f"INSERT INTO r SELECT MAX(n) * 10 + x, x, 's' FROM steps, {three} GROUP BY x"
    change = [
        f"UPDATE r SET a = a + {number}, s = s || '.' WHERE id % 3 = {number % 3}",
        f"DELETE FROM r WHERE id % 7 = {number % 7}",
        "UPDATE r SET id = -id WHERE a % 2 = 0",
        "INSERT INTO r VALUES (1, 1, 'one') ON CONFLICT (id) DO UPDATE SET a = excluded.a",
    ][number % 4]
    db.execute(f"BEGIN; INSERT INTO steps VALUES ({number}); {add}; {change}; COMMIT")


def define(db: rv.Database) -> None:
    """Tables and views, unless they are there: each is a commit."""
    for statement in DEFINE.strip().split(";\n"):
        db.execute(
            statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS").replace(
                "CREATE VIEW", "CREATE VIEW IF NOT EXISTS"
            )
        )


def told(db: rv.Database) -> list[object]:
    """Everything that it holds."""
    tables = [sorted(map(str, db.tables[name])) for name in ("r", "steps")]
    return [*tables, *(sorted(map(str, db[name])) for name in ("v", "w"))]


def main() -> None:
    """Until it is killed."""
    with rv.Database.open(sys.argv[1]) as db:
        define(db)
        number = len(db.tables["steps"])
        while True:
            os.write(1, f"begin {number}\n".encode())
            step(db, number)
            os.write(1, f"end {number}\n".encode())
            if number % 9 == 8:
                copied = db.execute(f"CREATE TABLE copy_{number} AS SELECT * FROM r")
                os.write(1, f"copied {number} {copied}\n".encode())
                db.execute(f"DROP TABLE copy_{number}")
            number += 1


if __name__ == "__main__":
    main()
