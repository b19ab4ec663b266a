"""The dearest quarter of an order book, and seven queries like it, under new and ended orders.

    python examples/order_book/book.py [vwap.png]

The tables `bids` and `asks` hold the orders of one trading day, which arrive, and leave when they
are filled or taken back. Each query beside this script compares aggregates with aggregates, which
depend on the row that is looked at: "the bids with three quarters of the volume at or below their
price". No row is looked at again: a change moves a range of an index, and the results are there
after each event. If a query is too unlike that, its view says so (`explain`), and looks at rows
again. It draws the price of the dearest quarter over the life of the book into the picture, if one
is named (extra `plot`).

prints

     260 bids,  664 asks:
        equality None
        mst      305372668200
        nq1      79280000
        nq2      79280000
        psp      24079879900
        sq1      10780867100
        sq2      13207245100
        vwap     5048535200
     443 bids,  933 asks:
        equality None
        mst      33870323918500
        nq1      1984000000
        nq2      1984000000
        psp      34271008572944
        sq1      34883486000
        sq2      45898998000
        vwap     17741713100
     469 bids, 1009 asks:
        equality None
        mst      53354813167900
        nq1      808930000
        nq2      808930000
        psp      35416591412615
        sq1      40260363800
        sq2      51377182800
        vwap     16954043400
     715 bids, 1225 asks:
        equality None
        mst      243489319870500
        nq1      19760000
        nq2      907650000
        psp      53319009891232
        sq1      44001650300
        sq2      57753464700
        vwap     18104361400
    1111 bids, 1739 asks:
        equality None
        mst      397679755010400
        nq1      1026240000
        nq2      1026240000
        psp      75947383146479
        sq1      62815568100
        sq2      92482373700
        vwap     28916017900
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
    """Play the events, and print the results at five moments."""
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
    """Some events, in one transaction: rows inserted and deleted within them are not seen."""
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
