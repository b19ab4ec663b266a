"""A process that changes a database in a file until it is killed; it says what returned.

Run as `python crashes.py FILE THREADS`: each thread continues after the transactions of the file,
one after the other, and prints the number of each before and after. The first one follows a view
under a name, and prints what it is given before it commits.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from typing import TYPE_CHECKING

import ringview as rv

if TYPE_CHECKING:
    import pyarrow as pa

VIEWS = {
    "by_shop": "SELECT s.shop, SUM(s.units * p.price) AS sales, COUNT(*) AS n "
    "FROM sales s JOIN products p ON s.product = p.id GROUP BY s.shop",
    "total": "SELECT SUM(sales) AS sales, MAX(n) AS most FROM by_shop",
}


def define(db: rv.Database) -> None:
    """Two tables, a view over their join, and a view over that."""
    db.create_table("products", {"id": "int64", "price": "int64"}, unique=["id"])
    db.create_table("sales", {"shop": "string", "product": "int64", "units": "int64"})
    for name, sql in VIEWS.items():
        db.create_view(name, sql)


def change(db: rv.Database, number: int, threads: int) -> None:
    """The transaction of a number: always the same. Threads meet in shops, not in products, so that
    the result of theirs is the same in any order."""
    drawn = random.Random(number)
    first = 5 * (number % threads)
    own = range(first, first + 5)
    with db.transaction(batch_id=number) as tx:
        ids = drawn.sample(own, 2)
        tx.upsert("products", {"id": ids, "price": [drawn.randrange(9) for _ in ids]})
        rows = [
            {"shop": f"shop {drawn.randrange(3)}", "product": drawn.choice(own), "units": number}
            for _ in range(drawn.randrange(1, 40))
        ]
        tx.insert("sales", rows)
        if drawn.random() < 0.3:
            tx.delete("sales", rows[:1])


def told(db: rv.Database) -> list[object]:
    """Everything that it holds."""
    found: list[object] = []
    for table in ("products", "sales"):
        found.append(sorted(map(str, db.tables[table].to_arrow().to_pylist())))
    for view in VIEWS:
        found.append(sorted(map(str, db[view].to_arrow().to_pylist())))
    return found


def say(what: str, more: object) -> None:
    """A line, whole whoever else says one."""
    os.write(1, f"{what} {more}\n".encode())


def rows_of(changes: pa.Table) -> list[list[object]]:
    """The changes, as JSON takes them."""
    return [list(row.values()) for row in changes.to_pylist()]


def follow(db: rv.Database, thread: int, threads: int) -> None:
    """The transactions of one thread: every so many-th."""
    number = thread
    follower = None if thread else db["by_shop"].follow("mail")
    while db.is_applied(number):
        number += threads
    while True:
        say("begin", number)
        change(db, number, threads)
        say("end", number)
        if follower is not None:
            say("given", json.dumps(rows_of(follower.changes())))
            follower.commit()
            say("committed", number)
        if number % 7 == 6:
            db.snapshot()
        number += threads


def main() -> None:
    """Until it is killed."""
    threads = int(sys.argv[2])
    with rv.Database.open(sys.argv[1]) as db:
        if "sales" not in db.tables:
            define(db)
        for thread in range(1, threads):
            threading.Thread(target=follow, args=(db, thread, threads)).start()
        follow(db, 0, threads)


if __name__ == "__main__":
    main()
