"""Sales by country, fresh while orders are placed and cancelled.

    python examples/webshop.py

prints

    placed     FR 2 orders, 75.50; US 1 orders, 20.00
    cancelled  FR 1 orders, 25.50; US 1 orders, 20.00
    moved      -1 FR 2 orders, 75.50; +1 FR 1 orders, 25.50
    refused    FR 1 orders, 25.50; US 1 orders, 20.00

"""

from datetime import date
from decimal import Decimal

import pyarrow as pa
import ringview as rv


def main() -> None:
    """Place orders, cancel one, and look at the view in between."""
    db = rv.Database()
    db.create_table("customers", {"customer": "int64", "country": "string"}, unique=["customer"])
    db.create_table("orders", {"customer": "int64", "day": "date32", "amount": "decimal(12, 2)"})
    sales = db.create_view(
        "sales",
        """
        SELECT c.country, COUNT(*) AS orders, SUM(o.amount) AS amount
        FROM customers c JOIN orders o USING (customer)
        WHERE o.day >= DATE '2026-01-01'
        GROUP BY c.country
        """,
    )

    order = {"customer": 1, "day": date(2026, 3, 1), "amount": Decimal("50.00")}
    with db.transaction() as tx:
        tx.insert("customers", {"customer": [1, 2, 3], "country": ["FR", "FR", "US"]})
        tx.insert("orders", [order, {**order, "customer": 2, "amount": Decimal("25.50")}])
        tx.insert("orders", [{**order, "customer": 3, "amount": Decimal("20.00")}])
        # Last year's: the view does not count it.
        tx.insert("orders", [{**order, "day": date(2025, 12, 31)}])
    print("placed    ", text(sales.to_arrow()))
    sales.changes()

    db.delete("orders", [order])
    print("cancelled ", text(sales.to_arrow()))
    print("moved     ", text(sales.changes()))

    try:
        with db.transaction() as tx:
            tx.delete("customers", {"customer": [3], "country": ["US"]})
            tx.delete("orders", [order])  # there is none left
    except rv.errors.OverDeleteError:
        # Nothing of the transaction was done.
        print("refused   ", text(sales.to_arrow()))


def text(rows: pa.Table) -> str:
    """The rows of the view on one line; old ones before new ones."""
    keys = ["multiplicity", "country"] if "multiplicity" in rows.column_names else ["country"]
    return "; ".join(
        (f"{row['multiplicity']:+} " if "multiplicity" in row else "")
        + f"{row['country']} {row['orders']} orders, {row['amount']}"
        for row in rows.sort_by([(key, "ascending") for key in keys]).to_pylist()
    )


if __name__ == "__main__":
    main()
