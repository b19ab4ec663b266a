"""Recursive queries over a graph and a tree under changes of edges; print JSON lines.

    python benches/python/recursive.py [--edges FILE] [--nodes 100000] [--quick]

Over the graph, Epinions' or a generated one: the nodes that one of them reaches (`reached`), and
the fewest hops to each (`hops`). Over a tree of so many nodes: all pairs of a node and one below it
(`closure`), and each node with its depth, by `UNION ALL` (`depths`). A batch takes 50 edges away,
anywhere, and inserts 50; in the tree those nodes get another parent. DuckDB takes the same batch
and computes all again.

Invariant: all ends are compared with DuckDB; figures are time on the core, of one thread, the
median of the batches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import ringview as rv
from tpch import comparable
from windowed import took

MOVED = 50
BATCHES = 5
DEEPEST = 8
QUERIES = {
    "reached": "WITH RECURSIVE r(n) AS (SELECT {first} AS n UNION SELECT e.b FROM r JOIN e ON r.n "
    "= e.a) SELECT n FROM r",
    "hops": "WITH RECURSIVE r(n, h) AS (SELECT {first} AS n, 0 AS h UNION SELECT e.b, h + 1 FROM r "
    f"JOIN e ON r.n = e.a WHERE h < {DEEPEST}) SELECT n, MIN(h) AS h FROM r GROUP BY n",
    "closure": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e "
    "ON r.b = e.a) SELECT a, b FROM r",
    "depths": "WITH RECURSIVE r(n, h) AS (SELECT {first} AS n, 0 AS h UNION ALL SELECT e.b, h + 1 "
    "FROM r JOIN e ON r.n = e.a) SELECT n, h FROM r",
}
OF_TREES = ("closure", "depths")
Line = dict[str, Any]


class Stream:
    """The edges that are there, and batches of them."""

    def __init__(self, edges: Any, *, is_tree: bool) -> None:
        self.rng = np.random.default_rng(23)
        self.held, self.is_tree = edges, is_tree
        self.nodes = int(edges.max()) + 1

    @property
    def first(self) -> int:
        """The root of a tree, or the node of a graph with the most edges."""
        return 0 if self.is_tree else int(np.bincount(self.held[0]).argmax())

    def batch(self) -> tuple[pa.Table, pa.Table]:
        """Edges to insert, and edges to delete."""
        at = self.rng.choice(self.held.shape[1], MOVED, replace=False)
        gone = self.held[:, at]
        if self.is_tree:
            # A parent with a lower number, as all have: so there are no cycles.
            come = np.stack([self.rng.integers(0, gone[1]), gone[1]])
        else:
            come = self.rng.integers(0, self.nodes, gone.shape)
        stays = np.delete(self.held, at, axis=1)
        self.held = np.concatenate([stays, come], axis=1)
        return table(come), table(gone)


def table(edges: Any) -> pa.Table:
    """Edges as rows."""
    return pa.table({"a": pa.array(edges[0], pa.int64()), "b": pa.array(edges[1], pa.int64())})


def tree(nodes: int) -> Any:
    """Each node below one of a lower number, not far from it, so that the tree is deep."""
    rng = np.random.default_rng(7)
    below = np.arange(1, nodes)
    return np.stack([below - rng.integers(1, np.minimum(below, 1 + below // 2) + 1), below])


def graph(nodes: int) -> Any:
    """Seven edges a node, most of them to few nodes, as in a network of people."""
    rng = np.random.default_rng(7)
    ends = rng.integers(0, nodes, 7 * nodes)
    heavy = (nodes * rng.random(7 * nodes) ** 3).astype(np.int64)
    return np.unique(np.stack([ends, heavy]), axis=1)


def measured(query: str, stream: Stream) -> Line:
    """One query under batches."""
    sql = QUERIES[query].format(first=stream.first)
    db, connection = rv.Database(trust_deletes=True), duckdb.connect()
    connection.execute("SET threads = 1")
    held = table(stream.held)
    connection.register("held", held)
    connection.execute("CREATE TABLE e AS SELECT * FROM held")
    db.create_table("e", held.schema)
    view = db.create_view("v", sql)
    filled = took(lambda: db.insert("e", held))
    view.changes()
    times: dict[str, list[float]] = {name: [] for name in ("ringview", "duckdb")}
    moved = []

    def batch(come: pa.Table, gone: pa.Table) -> None:
        with db.transaction() as tx:
            tx.delete("e", gone)
            tx.insert("e", come)
        moved.append(len(view.changes()))

    def again(come: pa.Table, gone: pa.Table) -> None:
        connection.register("come", come)
        connection.register("gone", gone)
        # As many copies as the batch deletes of an edge.
        connection.execute(
            "DELETE FROM e WHERE rowid IN (SELECT rid FROM (SELECT e.rowid AS rid, a, b, "
            "ROW_NUMBER() OVER (PARTITION BY a, b) AS k FROM e JOIN (SELECT DISTINCT a, b FROM "
            "gone) USING (a, b)) JOIN (SELECT a, b, COUNT(*) AS n FROM gone GROUP BY a, b) USING "
            "(a, b) WHERE k <= n)"
        )
        connection.execute("INSERT INTO e SELECT * FROM come")
        connection.sql(sql).to_arrow_table()

    for _ in range(BATCHES):
        come, gone = stream.batch()
        times["ringview"].append(took(lambda: batch(come, gone)))  # noqa: B023
        times["duckdb"].append(took(lambda: again(come, gone)))  # noqa: B023
    if comparable(view.to_arrow()) != comparable(connection.sql(sql).to_arrow_table()):
        raise SystemExit(f"{sql}: not what DuckDB computes")
    held_bytes = db.memory_usage().items()
    size = sum(size for part, size in held_bytes if part.startswith(("view", "block")))
    seconds = {f"{name}_seconds": statistics.median(all_of) for name, all_of in times.items()}
    line = {"workload": "recursion", "query": query, "moved": int(np.median(moved))}
    counts = {"edges": stream.held.shape[1], "rows": len(view), "bytes": size}
    return {**line, **seconds, "filled_seconds": filled, **counts}


def lines(edges: Path | None, nodes: int, only: list[str]) -> Iterator[Line]:
    """All of them."""
    for query in only:
        if query in OF_TREES:
            yield measured(query, Stream(tree(nodes), is_tree=True))
            continue
        given = None if edges is None else np.fromfile(edges, dtype="<i4").reshape(2, -1)
        of = graph(nodes) if given is None else given.astype(np.int64)
        yield measured(query, Stream(of, is_tree=False))


def main(arguments: list[str] | None = None) -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=Path, help="sources, then targets, as raw int32")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the tree, or a made graph")
    parser.add_argument("--quick", action="store_true", help="2,000 nodes")
    parser.add_argument("--only", default=",".join(QUERIES), help="which queries, with commas")
    given = parser.parse_args(arguments)
    nodes = 2_000 if given.quick else given.nodes
    for line in lines(None if given.quick else given.edges, nodes, given.only.split(",")):
        json.dump(line, sys.stdout)
        print(flush=True)


if __name__ == "__main__":
    main()
