"""The dearest quarter of an order book, and seven queries like it, while orders come and go.

    python examples/order_book/book.py [vwap.png]

Bids and asks of one trading day arrive, and leave when they are filled or taken back. Each query
beside this script compares aggregates with aggregates, which depend on the row that is looked at:
"the bids with three quarters of the volume at or below their price". No row is looked at again: a
change moves a range of an index, and the results are there after each event. Where a query is
too unlike that, its view says so (`explain`), and looks at rows again. It draws the price of the
dearest quarter over the life of the book if it is told where to (extra `plot`).

prints

PRINTS
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import ringview as rv

HERE = Path(__file__).parent
EVENTS = HERE.parent / "data" / "orderbook_5k.parquet"
COLUMNS = {"t": "int64", "id": "int64", "broker_id": "int32", "volume": "int64", "price": "int64"}
# Events a batch.
BATCH = 20


def main(picture: str | None = None) -> None:
    """Play the events, and tell the results at five moments."""
    db = rv.Database()
    for side in ("bids", "asks"):
        # No order has a column that is not known: so aggregates need not look for NULL.
        db.create_table(side, pa.schema([pa.field(n, t, False) for n, t in types().items()]))
    queries = sorted(HERE.glob("*.sql"))
    views = {query.stem: db.create_view(query.stem, query.read_text()) for query in queries}
    events = pq.read_table(EVENTS)
    prices = []
    for at in range(0, len(events), BATCH):
        play(db, events.slice(at, BATCH))
        (quarter,) = views["vwap"].to_arrow().to_pylist()
        volume = quarter["volume"]
        prices.append((events["t"][at].as_py(), quarter["value"] / volume if volume else None))
        if (at // BATCH + 1) % 50 == 0:
            print(f"{len(db.tables['bids']):4} bids, {len(db.tables['asks']):4} asks:")
            for name, view in views.items():
                print(f"    {name:8} {view.to_arrow()[0][0].as_py()}")
    if picture is not None:
        draw(prices, picture)


def types() -> dict[str, pa.DataType]:
    """The columns of both sides."""
    return {name: pa.type_for_alias(of) for name, of in COLUMNS.items()}


def play(db: rv.Database, events: pa.Table) -> None:
    """Some events, in one transaction: what comes and goes within them is not seen."""
    with db.transaction() as tx:
        for side in ("bids", "asks"):
            own = events.filter(pc.equal(events["side"].cast("string"), side))
            came = pc.greater(own["mult"], 0)
            tx.insert(side, own.filter(came).select(list(COLUMNS)))
            tx.delete(side, own.filter(pc.invert(came)).select(list(COLUMNS)))


def draw(prices: list[tuple[int, float | None]], picture: str) -> None:
    """The price of the dearest quarter over the life of the book."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    axes.step([t / 60_000 for t, _ in prices], [price for _, price in prices], where="post")
    axes.set_xlabel("minutes since midnight")
    axes.set_ylabel("price of the dearest quarter")
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
