"""A process that changes a database in a file until it is killed; it says what returned.

Run as `python crashes.py FILE`: it goes on behind what the file holds, one transaction after the
other, and prints the number of each before and after.
"""

from __future__ import annotations

import random
import sys

import ringview as rv

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


def change(db: rv.Database, number: int) -> None:
    """The transaction of a number: always the same."""
    drawn = random.Random(number)
    with db.transaction(batch_id=number) as tx:
        ids = drawn.sample(range(5), 2)
        tx.upsert("products", {"id": ids, "price": [drawn.randrange(9) for _ in ids]})
        rows = [
            {"shop": f"shop {drawn.randrange(3)}", "product": drawn.randrange(5), "units": number}
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


def main() -> None:
    """Until it is killed."""
    with rv.Database.open(sys.argv[1]) as db:
        if "sales" not in db.tables:
            define(db)
        number = 0
        while db.is_applied(number):
            number += 1
        while True:
            print(f"begin {number}", flush=True)
            change(db, number)
            print(f"end {number}", flush=True)
            if number % 7 == 6:
                db.snapshot()
            number += 1


if __name__ == "__main__":
    main()
