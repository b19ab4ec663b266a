"""Triangles of a network of trust under inserts and deletes of its edges.

    python examples/triangles.py [edges.parquet] [triangles.png]

Trust between users of Epinions, a site of reviews: a triangle is three users between each two of
whom one trusts the other. Statements arrive in batches, in a shuffled order; a statement lasts for
a while and is then deleted, so that half of the network is there at a time. The number of triangles
is exact after every batch. The edges are those among the first 500 users; `edges.parquet`, with two
columns of integers, is a graph of your own, as the 508,837 edges of the whole
(https://snap.stanford.edu/data/soc-Epinions1.html). The picture (extra `plot`) shows triangles and
edges over time, and the time of an edge.

prints

      3,328 statements:     2,710 triangles
      6,656 statements:    17,351 triangles
      8,320 statements:    30,151 triangles
      8,320 statements:    29,681 triangles
      8,288 statements:    28,918 triangles
    of the pairs of a user's neighbours 24.5% are neighbours, on average
    user 27: 154 neighbours, 1,709 triangles
    user 1: 193 neighbours, 1,671 triangles
    user 34: 147 neighbours, 1,525 triangles
    11,221 times a trusts b, b trusts c and c trusts a
"""

import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import ringview as rv

SLICE = Path(__file__).parent / "data" / "epinions_500.parquet"
BATCHES, KEPT = 40, 20


def main(edges: str | Path = SLICE, picture: str | None = None) -> None:
    """Keep the count fresh for 40 batches of statements, half of which leave again."""
    batches = shuffled(pq.read_table(edges))
    trust = rv.graph.TriangleCounter(history=True)
    took = []
    for at in range(BATCHES):
        gone = batches[at - KEPT] if at >= KEPT else None
        start = time.process_time()
        trust.update(insert=batches[at], delete=gone)
        changed = len(batches[at]) + (len(gone) if gone else 0)
        took.append(1e6 * (time.process_time() - start) / changed)
        if at % 8 == 7:
            print(f"{trust.edges:7,} statements: {trust.count:9,} triangles")

    users = trust.vertices()
    part = pc.mean(users["clustering"]).as_py()
    print(f"of the pairs of a user's neighbours {part:.1%} are neighbours, on average")
    most = users.sort_by([("triangles", "descending"), ("vertex", "ascending")])
    for user in most[:3].to_pylist():
        print("user {vertex}: {degree} neighbours, {triangles:,} triangles".format(**user))
    rounds = rv.graph.TriangleCounter(directed=True)
    rounds.insert(pa.concat_tables(batches[-KEPT:]))
    print(f"{rounds.count:,} times a trusts b, b trusts c and c trusts a")
    if picture is not None:
        draw(trust, took, picture)


def shuffled(table: pa.Table) -> list[pa.Table]:
    """The edges in 40 batches, in an order of no meaning."""
    table = table.take(np.random.default_rng(7).permutation(len(table)))
    size = -(-len(table) // BATCHES)
    return [table[at : at + size] for at in range(0, len(table), size)]


def draw(trust: rv.graph.TriangleCounter, took: list[float], picture: str) -> None:
    """Triangles and edges over time; below, the time of an inserted or deleted edge."""
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
    rv.plot.triangles(trust.history, axes=above).set_xlabel("")
    below.plot([moment.changes for moment in trust.history], took, color="#d55e00")
    below.set_ylim(bottom=0)
    below.set_xlabel("edges that came or went")
    below.set_ylabel("microseconds an edge")
    below.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:3])
