"""The drivers of sales, learned afresh each day from a join that is never built.

    python examples/live_regression.py [coefficients.png]

Sales of the last 20 days are joined with items and stores. Each day brings new sales and drops the
oldest; on day 40 promotions lose half of their pull, on day 60 the price list changes. After each
batch the model is fitted again from the view's cofactor, at the cost of the solve. It prints the
coefficients on some days, and draws them all into the picture, if one is named. It needs the extras
`ml` and, for the picture, `plot`.

prints

    day 19  price -1.50  promotion  7.99  area  0.30  rivals -2.00  R2 0.99
    day 39  price -1.50  promotion  8.00  area  0.30  rivals -1.99  R2 0.99
    day 59  price -1.50  promotion  3.92  area  0.30  rivals -2.00  R2 0.99
    day 79  price -1.50  promotion  4.01  area  0.30  rivals -1.99  R2 0.99

"""

import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import ringview as rv
from ringview import ml

DAYS, WINDOW, SALES, ITEMS, STORES = 90, 20, 400, 30, 12

QUERY = """
    SELECT COFACTOR(units, price, promotion, area, rivals)
    FROM sales JOIN items USING (item) JOIN stores USING (store)
"""


def main(picture: str | None = None) -> None:
    """Keep the model fresh for 90 days."""
    random = np.random.default_rng(7)
    price = random.integers(5, 40, ITEMS)
    area = random.integers(20, 120, STORES)
    rivals = random.integers(0, 6, STORES)

    db = rv.Database()
    numbers = {"promotion": "int64", "units": "int64"}
    db.create_table("sales", {"item": "int64", "store": "int64", **numbers})
    db.create_table("items", {"item": "int64", "price": "int64"}, unique=["item"])
    db.create_table(
        "stores", {"store": "int64", "area": "int64", "rivals": "int64"}, unique=["store"]
    )
    view = db.create_view("what_sells", QUERY)
    db.insert("items", items(price))
    db.insert("stores", pa.table({"store": np.arange(STORES), "area": area, "rivals": rivals}))

    model = ml.Ridge(label="units", alpha=1.0)
    history = []
    batches: list[pa.Table] = []
    for day in range(DAYS):
        if day == 60:
            raised = price + random.integers(0, 15, ITEMS)
            with db.transaction() as tx:
                tx.delete("items", items(price))
                tx.insert("items", items(raised))
            price = raised
        batches.append(sales(random, day, price, area, rivals))
        with db.transaction() as tx:
            tx.insert("sales", batches[-1])
            if day >= WINDOW:
                tx.delete("sales", batches[day - WINDOW])
        model.fit(view)
        history.append(model.coefficients())
        if day % WINDOW == WINDOW - 1:
            print(f"day {day}", *words(history[-1]), f"R2 {model.score(view):.2f}", sep="  ")

    if picture:
        from ringview import plot

        axes = plot.coefficients(history)
        axes.set_xlabel("day")
        axes.figure.savefig(picture, dpi=150)


def items(price: np.ndarray) -> pa.Table:
    """The price list."""
    return pa.table({"item": np.arange(ITEMS), "price": price})


def sales(
    random: np.random.Generator, day: int, price: np.ndarray, area: np.ndarray, rivals: np.ndarray
) -> pa.Table:
    """The sales of a day, after a law that the model has to find."""
    item = random.integers(0, ITEMS, SALES)
    store = random.integers(0, STORES, SALES)
    promotion = random.integers(0, 2, SALES)
    pull = 8 if day < 40 else 4
    law = 70 - 1.5 * price[item] + pull * promotion + 0.3 * area[store] - 2 * rivals[store]
    units = np.rint(law + random.normal(0, 2, SALES)).astype(np.int64)
    return pa.table({"item": item, "store": store, "promotion": promotion, "units": units})


def words(coefficients: dict[str, float]) -> Iterator[str]:
    """Each name and value, the intercept left out."""
    return (f"{name} {value:5.2f}" for name, value in coefficients.items() if name != "intercept")


if __name__ == "__main__":
    main(*sys.argv[1:2])
