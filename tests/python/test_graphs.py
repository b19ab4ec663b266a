"""Triangles of graphs under inserts and deletes, as NetworkX counts them."""

from __future__ import annotations

import random
from collections.abc import Iterable

import networkx as nx
import pytest
import ringview as rv

TRIANGLE = """
    FROM edge r JOIN edge s ON r.dst = s.src JOIN edge t ON s.dst = t.src AND t.dst = r.src
"""
Edge = tuple[int, int]

GRAPHS = {
    # Friends in a karate club (Zachary, 1977), and characters that meet in a novel (Knuth, 1993).
    "karate": nx.karate_club_graph(),
    "novel": nx.convert_node_labels_to_integers(nx.les_miserables_graph()),
    "random": nx.gnp_random_graph(60, 0.15, seed=1),
    "hubs": nx.barabasi_albert_graph(120, 4, seed=2),
    "clustered": nx.powerlaw_cluster_graph(120, 4, 0.7, seed=3),
    "no triangles": nx.complete_bipartite_graph(12, 12),
    "all triangles": nx.complete_graph(14),
}


def both(edges: Iterable[Edge]) -> dict[str, list[int]]:
    """Each edge in both directions."""
    pairs = [pair for a, b in edges for pair in ((a, b), (b, a))]
    return {"src": [a for a, _ in pairs], "dst": [b for _, b in pairs]}


@pytest.mark.parametrize("name", GRAPHS)
def test_triangles_by_node(name: str) -> None:
    """A graph that grows by some edges at a time, loses others, and ends empty."""
    dice = random.Random(name)
    waiting: list[Edge] = [(a, b) for a, b in GRAPHS[name].edges() if a != b]
    dice.shuffle(waiting)
    db = rv.Database()
    table = db.create_table("edge", {"src": "int64", "dst": "int64"}, unique=["src", "dst"])
    total = db.create_view("total", f"SELECT COUNT(*) AS n {TRIANGLE}")
    nodes = db.create_view(
        "nodes", f"SELECT r.src AS node, COUNT(*) AS n {TRIANGLE} GROUP BY r.src"
    )
    graph = nx.Graph()
    while waiting or graph.number_of_edges():
        come, waiting = waiting[:40], waiting[40:]
        held = list(graph.edges())
        go = dice.sample(held, min(len(held), 15 if waiting else 60))
        with db.transaction() as tx:
            tx.insert("edge", both(come))
            tx.delete("edge", both(go))
        graph.add_edges_from(come)
        graph.remove_edges_from(go)
        expected = {node: count for node, count in nx.triangles(graph).items() if count}
        # Either way round, and from any of its nodes.
        assert total.scalar() == 2 * sum(expected.values())
        found = {row["node"]: row["n"] for row in nodes.to_arrow().to_pylist()}
        assert found == {node: 2 * count for node, count in expected.items()}
        assert len(table) == 2 * graph.number_of_edges()


def test_triangles_of_a_directed_graph() -> None:
    """Cycles of three edges, each found from any of its nodes."""
    dice = random.Random(11)
    db = rv.Database()
    db.create_table("edge", {"src": "int64", "dst": "int64"}, unique=["src", "dst"])
    view = db.create_view("total", f"SELECT COUNT(*) AS n {TRIANGLE}")
    graph = nx.DiGraph()
    for _ in range(12):
        pairs = {(dice.randrange(18), dice.randrange(18)) for _ in range(25)}
        come = [(a, b) for a, b in pairs if a != b and not graph.has_edge(a, b)]
        go = dice.sample(list(graph.edges()), graph.number_of_edges() // 4)
        for change, edges in ((db.insert, come), (db.delete, go)):
            change("edge", {"src": [a for a, _ in edges], "dst": [b for _, b in edges]})
        graph.add_edges_from(come)
        graph.remove_edges_from(go)
        cycles = [c for c in nx.simple_cycles(graph, length_bound=3) if len(c) == 3]
        assert view.scalar() == 3 * len(cycles)
    assert view.scalar() > 0
