"""`ringview.graph.TriangleCounter` beside NetworkX and brute force, after every change."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ringview as rv
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from ringview.graph import Moment, TriangleCounter
from small_graphs import EDGES, Edge, distinct

SLICE = Path(__file__).parents[2] / "examples" / "data" / "epinions_500.parquet"
Walk = tuple[Any, Any, Any]


def cliques(graph: nx.Graph) -> set[frozenset[Any]]:
    return {
        frozenset((u, v, w))
        for u, v in graph.edges
        if u != v
        for w in set(graph[u]) & set(graph[v])
        if w not in (u, v)
    }


def cycles(edges: Counter[Edge]) -> dict[Walk, int]:
    """The cycles of three vertices, by their edges, with multiplicities."""
    nodes = {end for edge in edges for end in edge}
    found = {}
    for a, b, c in combinations(sorted(nodes), 3):
        for walk in ((a, b, c), (a, c, b)):
            sides = [edges[walk[at], walk[(at + 1) % 3]] for at in range(3)]
            if all(sides):
                found[walk] = prod(sides)
    return found


def changes(dice: random.Random, wide: int, steps: int) -> Iterator[tuple[list[Edge], list[Edge]]]:
    """Batches of edges to insert and of some to delete; one vertex is common, loops are too."""

    def vertex() -> int:
        return dice.choice([0, dice.randrange(wide), dice.randrange(wide)])

    there: list[Edge] = []
    for _ in range(steps):
        come = [(vertex(), vertex()) for _ in range(dice.randrange(6))]
        there += come
        dice.shuffle(there)
        gone = [there.pop() for _ in range(dice.randrange(len(there) + 1) // 2)]
        yield come, gone


@examples(25)
@given(st.integers(0, 2**32), st.sampled_from([None, 0, 0.3, 1]), st.sampled_from([4, 9]))
def test_it_counts_what_networkx_counts(seed: int, epsilon: float | None, wide: int) -> None:
    dice = random.Random(seed)
    counter = TriangleCounter(epsilon=epsilon)
    there: Counter[frozenset[int]] = Counter()
    for come, gone in changes(dice, wide, 12):
        # The direction of an edge has no meaning.
        gone = [edge if dice.random() < 0.5 else edge[::-1] for edge in gone]
        before = counter.count
        moved = counter.update(insert=come, delete=gone)
        there.update(map(frozenset, come))
        there.subtract(map(frozenset, gone))
        graph = nx.Graph([(min(edge), max(edge)) for edge in +there])
        assert counter.count == sum(nx.triangles(graph).values()) // 3
        assert moved == counter.count - before
        assert counter.edges == sum(there.values())
        assert distinct(counter) == cliques(graph)
        table = counter.vertices().to_pandas().set_index("vertex")
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        graph.remove_nodes_from(list(nx.isolates(graph)))
        assert dict(table["triangles"]) == nx.triangles(graph)
        assert dict(table["degree"]) == dict(graph.degree)
        assert dict(table["clustering"]) == pytest.approx(nx.clustering(graph))
        for vertex in range(wide):
            at = counter.at(vertex)
            there_it_is = vertex in graph
            assert at.triangles == (nx.triangles(graph, vertex) if there_it_is else 0)
            assert at.clustering == pytest.approx(
                nx.clustering(graph, vertex) if there_it_is else 0
            )


@examples(25)
@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.sampled_from([4, 7]))
def test_directed_and_multigraphs_are_brute_force(
    seed: int, directed: bool, multigraph: bool, wide: int
) -> None:
    counter = TriangleCounter(directed=directed, multigraph=multigraph)
    edges: Counter[Edge] = Counter()
    known: Counter[Walk] = Counter()
    for come, gone in changes(random.Random(seed), wide, 8):
        counter.update(insert=come, delete=gone)
        edges.update(come)
        edges.subtract(gone)
        ways = edges if directed else edges + Counter({(v, u): n for (u, v), n in edges.items()})
        ways = +ways if multigraph else Counter(dict.fromkeys(+ways, 1))
        expected = cycles(ways)
        if not directed:
            expected = {walk: n for walk, n in expected.items() if walk[1] < walk[2]}
        assert counter.count == sum(expected.values())
        assert Counter(counter.triangles()) == Counter(expected.keys())
        rows = counter.to_reader().read_all().to_pylist()
        times = {(row["a"], row["b"], row["c"]): row.get("multiplicity", 1) for row in rows}
        assert times == expected
        for row in counter.changes().to_pylist():
            known[row["a"], row["b"], row["c"]] += row["multiplicity"]
        assert {walk: n for walk, n in known.items() if n} == expected


def test_deleting_too_much_changes_nothing() -> None:
    counter = TriangleCounter(history=True)
    counter.insert([*EDGES, (1, 1)])
    for gone in ([(1, 2), (2, 1)], [(2, 4)], [(1, 1), (1, 1)]):
        with pytest.raises(rv.errors.OverDeleteError, match="cannot be deleted"):
            counter.update(insert=[(9, 8)], delete=gone)
        assert (counter.count, counter.edges, len(counter.history)) == (2, 6, 1)
    assert counter.delete([(1, 1), (2, 1)]) == -1


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_the_smallest_graphs(size: int) -> None:
    counter = TriangleCounter()
    edges = list(combinations(range(size), 2))
    counter.insert(edges)
    assert counter.count == len(list(combinations(range(size), 3)))
    assert counter.count == len(list(counter.triangles()))
    for edge in edges:
        counter.delete([edge])
    assert (counter.count, counter.edges) == (0, 0)


def test_more_triangles_than_a_number_holds_are_refused() -> None:
    counter = TriangleCounter(multigraph=True)
    many = pa.table({"u": [1, 2, 3], "v": [2, 3, 1]})
    counter.insert(many)
    rows = {"u": [1, 2, 3, 2, 3, 1], "v": [2, 3, 1, 1, 2, 3], "n": [10**5] * 6}
    counter._store.db.insert("edges", rows, multiplicity="n")
    before = counter.count
    assert before == (10**5 + 1) ** 3
    rows["n"] = [10**7] * 6
    with pytest.raises(rv.errors.ArithmeticOverflowError):
        counter._store.db.insert("edges", rows, multiplicity="n")
    assert counter.count == before


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"epsilon": 1.1}, ValueError, "number from 0 to 1"),
        ({"epsilon": float("nan")}, ValueError, "number from 0 to 1"),
        ({"epsilon": "x"}, TypeError, "number from 0 to 1"),
        ({"epsilon": {"d": 0.5}}, ValueError, 'no relation "d"; it has a, b, c'),
        ({"epsilon": 0.5, "engine": "viewtree"}, ValueError, "no heavy and light"),
        ({"engine": "fast"}, ValueError, "known engines"),
        ({"vertices": "int32"}, ValueError, "'int64', 'string', 'object' or None"),
        ({"memory_limit": "much"}, ValueError, "much"),
    ],
    ids=str,
)
def test_wrong_options_are_told_at_once(
    options: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        TriangleCounter(**options)


def test_what_is_not_defined_says_what_is() -> None:
    for counter in (TriangleCounter(directed=True), TriangleCounter(multigraph=True)):
        counter.insert(EDGES)
        for ask in (counter.vertices, lambda counter=counter: counter.at(1)):
            with pytest.raises(rv.errors.UnsupportedError, match=r"iterate over triangles\(\)"):
                ask()
    with pytest.raises(rv.errors.UnsupportedError, match="history=True"):
        _ = TriangleCounter().history


def test_explain_tells_of_both_engines() -> None:
    edges = list(combinations(range(40), 2))
    by_epsilon, by_trees = TriangleCounter(), TriangleCounter(engine="viewtree")
    for counter in (by_epsilon, by_trees):
        counter.insert(edges)
        assert counter.count == len(list(combinations(range(40), 3)))
    assert "engine: epsilon" in by_epsilon.explain()
    assert "are between heavy values" in by_epsilon.explain()
    assert "engine: viewtree" in by_trees.explain()
    assert "view graph" in by_epsilon.explain()
    assert sum(by_epsilon.memory_usage().values()) > 0


def test_what_was_asked_for_is_forgotten() -> None:
    counter = TriangleCounter()
    counter.insert(EDGES)
    counter.at(1), counter.changes()
    assert {"view triangles", "view degrees", "view corners"} <= set(counter.memory_usage())
    counter.forget()
    assert set(counter.memory_usage()) == {
        *("table edges", "view graph", "view count"),
        *("dictionary", "buffers"),
    }
    assert counter.changes().num_rows == 2


def test_reading_on_after_a_change_is_told() -> None:
    counter = TriangleCounter()
    counter.insert(combinations(range(60), 2))
    reading = counter.triangles()
    next(reading)
    counter.insert([(1, 99)])
    with pytest.raises(rv.errors.ViewChangedError):
        list(reading)


def test_a_history_is_drawn() -> None:
    counter = TriangleCounter(history=True)
    for edge in EDGES:
        counter.insert([edge])
    counter.delete(EDGES[:1])
    assert counter.history[2:] == [
        Moment(3, 3, 1),
        Moment(4, 4, 1),
        Moment(5, 5, 2),
        Moment(6, 4, 1),
    ]
    axes = rv.plot.triangles(counter.history)
    assert np.array_equal(np.asarray(axes.get_lines()[0].get_ydata()), [0, 0, 1, 1, 2, 1])
    assert len(axes.figure.axes) == 2
    assert len(rv.plot.triangles(counter.history, edges=False).figure.axes) == 1
    with pytest.raises(ValueError, match="the history is empty"):
        rv.plot.triangles([])


def test_a_window_over_a_slice_of_epinions() -> None:
    table = pq.read_table(SLICE)
    edges = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    random.Random(3).shuffle(edges)
    counter = TriangleCounter()
    step, kept = 1000, 8000
    for at in range(0, len(edges), step):
        gone = edges[at - kept : at - kept + step] if at >= kept else []
        counter.update(insert=edges[at : at + step], delete=gone)
        there = nx.Graph(edges[max(at - kept + step, 0) : at + step])
        assert counter.count == sum(nx.triangles(there).values()) // 3
    assert counter.count > 10_000


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("multigraph", [False, True])
@pytest.mark.parametrize("names", [int, str, lambda at: (at, "object")])
def test_triangles_counted_at_once_are_those_of_the_counter(
    directed: bool, multigraph: bool, names: Any
) -> None:
    dice = random.Random(7)
    for size in (0, 3, 60):
        pairs = [(dice.randrange(9), dice.randrange(9)) for _ in range(size)]
        edges = [(names(u), names(v)) for u, v in pairs]
        counter = TriangleCounter(directed=directed, multigraph=multigraph)
        counter.insert(edges)
        found = rv.graph.count_triangles(edges, directed=directed, multigraph=multigraph)
        assert found == counter.count
    graph = nx.gnm_random_graph(60, 400, seed=3)
    assert rv.graph.count_triangles(graph) == sum(nx.triangles(graph).values()) // 3


def test_counting_at_once_refuses_what_are_no_edges() -> None:
    with pytest.raises(rv.errors.InvalidValueError, match="edge 1 has no vertex"):
        rv.graph.count_triangles([(1, 2), (1, None)])
    with pytest.raises(rv.errors.InvalidValueError, match="two columns"):
        rv.graph.count_triangles(pa.table({"u": [1]}))
    # Columns of one type are read as they are, in chunks of different lengths too.
    chunks = pa.table({"u": pa.chunked_array([[1], [2, 3]]), "v": pa.chunked_array([[2, 3], [1]])})
    assert rv.graph.count_triangles(chunks) == 1


@pytest.mark.long
@pytest.mark.skipif("RINGVIEW_EPINIONS" not in os.environ, reason="needs the file of all edges")
def test_all_of_epinions_with_deletes() -> None:
    table = pq.read_table(os.environ["RINGVIEW_EPINIONS"])
    assert table.num_rows == 508_837
    counter = TriangleCounter()
    for at in range(0, table.num_rows, 10_000):
        counter.insert(table[at : at + 10_000])
    assert counter.count == 1_624_481
    graph = nx.from_pandas_edgelist(table.to_pandas(), "src", "dst")
    assert counter.count == sum(nx.triangles(graph).values()) // 3
    found = counter.vertices().to_pandas().set_index("vertex")
    assert dict(found["triangles"]) == nx.triangles(graph)
    half = table[: table.num_rows // 2]
    for at in range(0, half.num_rows, 10_000):
        counter.delete(half[at : at + 10_000])
    rest = table[half.num_rows :]
    graph = nx.from_pandas_edgelist(rest.to_pandas(), "src", "dst")
    assert counter.count == sum(nx.triangles(graph).values()) // 3
    assert sum(1 for _ in counter.triangles()) == counter.count
