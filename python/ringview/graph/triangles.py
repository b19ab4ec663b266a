"""Triangles of a graph under inserts and deletes of edges.

Invariant: after each call the count, and every view that was read, is that of the edges that are
there; a call that raises has changed nothing.
Cost: O(sqrt N) an edge for the count, amortised, among N edges; other methods state their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError, UnsupportedError
from .description import Moment, Vertex
from .edges import Column, Edges, Kind, Vertices, columns, kind
from .store import Options, Store, rows

if TYPE_CHECKING:
    import pyarrow as pa

    from ..queries import Epsilon
    from ..view import Format


class TriangleCounter:
    """The number of triangles of a graph, exact after every insert or delete of an edge.

    A triangle is three vertices with an edge between each two, whichever direction edges were given
    in: (u, v) and (v, u) are one. With `directed`, it is a cycle a -> b -> c -> a, and each counts
    once. Loops are taken, and are in no triangle. An edge that was inserted twice is there until it
    is deleted twice, and counts once, as in `networkx.Graph`; with `multigraph` it counts as often
    as it is there, so that a triangle counts as often as the product of its three edges.

    Complexity: a change of an edge costs O(sqrt N) amortised among N edges, whatever the graph
    (`epsilon=`: O(N^max(epsilon, 1 - epsilon))); no algorithm can do it in less than sqrt N if the
    OMv conjecture holds. Some 300 bytes an edge; with `multigraph` less, as each edge is then not
    kept once more. The views behind `triangles` and `vertices` are kept from their first call on.

    >>> import ringview as rv
    >>> friends = rv.graph.TriangleCounter()
    >>> friends.insert([("Ada", "Grace"), ("Grace", "Mary"), ("Mary", "Ada"), ("Mary", "Sophie")])
    1
    >>> friends.insert([("Sophie", "Ada")])
    1
    >>> friends.count
    2
    >>> sorted(friends.triangles())
    [('Ada', 'Grace', 'Mary'), ('Ada', 'Mary', 'Sophie')]
    >>> friends.at("Ada"), friends.at("Ada").clustering
    (Vertex(degree=3, triangles=2), 0.6666666666666666)
    >>> friends.delete([("Ada", "Mary")])
    -2
    >>> friends
    TriangleCounter(0 triangles, 4 edges)
    """

    def __init__(
        self,
        *,
        directed: bool = False,
        multigraph: bool = False,
        epsilon: Epsilon | None = None,
        engine: str | None = "epsilon",
        vertices: Kind | None = None,
        history: bool = False,
        memory_limit: int | str | None = None,
    ) -> None:
        """A graph without edges.

        Args:
            directed: Whether edges have a direction, and triangles are cycles.
            multigraph: Whether an edge that was inserted several times counts as often.
            epsilon: A vertex is heavy that N^epsilon or more of N edges have; 0.5 by default.
            engine: What keeps the count; "viewtree" costs the smaller of two neighbourhoods an
                edge, which may be faster where no two hubs share edges; None for the cheapest.
            vertices: What vertices are: "int64", "string", or "object" for any hashable values,
                mixed, which take an entry in a dict; if None, what the first edges have.
            history: Whether `history` remembers each call.
            memory_limit: As of `Database`.

        Raises:
            InvalidValueError: `epsilon` is not from 0 to 1; no such engine, or no such vertices.
            TypeMismatchError: `epsilon` is no number.
        """
        if vertices not in ("int64", "string", "object", None):
            raise InvalidValueError(
                f"vertices is 'int64', 'string', 'object' or None, not {vertices!r}"
            )
        self._options = Options(directed, multigraph, epsilon, engine, memory_limit)
        self._fixed = vertices is not None
        self._changes = 0
        self._history: list[Moment] | None = [] if history else None
        # Wrong options raise here, before the first edge.
        self._store = Store(Vertices(vertices or "int64"), self._options)

    def insert(self, edges: Edges) -> int:
        """Add edges, all of them or none.

        Args:
            edges: Pairs of vertices; Arrow data, a pandas or polars frame or a dict of two columns,
                whatever their names; a NumPy array of shape (n, 2); a NetworkX graph, of whose
                parallel edges each is inserted, and of which an edge without direction is inserted
                in both directions where this graph is directed.

        Returns:
            By how much the count rose.

        Raises:
            TypeMismatchError: No edges, or vertices of another kind than those before.
            InvalidValueError: Not two columns; a vertex is None, NULL, NaN or beyond 64 bits.
            ArithmeticOverflowError: The count leaves 64 bits.
            OutOfMemoryError: The graph would take more than `memory_limit`.
            KeyboardInterrupt: Ctrl-C; nothing was inserted, or the message says that all was.

        Complexity: O(sqrt N) an edge, amortised; for the edge itself O(1).

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> graph.insert({"from": [1, 2, 3], "to": [2, 3, 1]})
        1
        """
        return self.update(insert=edges)

    def delete(self, edges: Edges) -> int:
        """Take edges back, all of them or none.

        Args:
            edges: As for `insert`, whose errors are raised too.

        Returns:
            By how much the count rose: 0 or less.

        Raises:
            OverDeleteError: An edge is deleted more often than it was inserted; nothing was
                changed.

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> graph.insert([(1, 2), (2, 3), (3, 1)])
        1
        >>> graph.delete([(2, 1)])                    # it has no direction
        -1
        """
        return self.update(delete=edges)

    def update(self, *, insert: Edges | None = None, delete: Edges | None = None) -> int:
        """Add edges and take others back, in one transaction.

        Args:
            insert: Edges to insert, as for `insert`; first.
            delete: Edges to delete, as for `delete`.

        Returns:
            By how much the count rose.

        >>> import ringview as rv
        >>> window = rv.graph.TriangleCounter()
        >>> window.insert([(1, 2), (2, 3), (3, 1)])
        1
        >>> window.update(insert=[(3, 4), (4, 1)], delete=[(1, 2)])
        0
        """
        directed, known = self._options.directed, self._store.vertices
        ends = {
            sign: columns(edges, directed=directed)
            for sign, edges in ((1, insert), (-1, delete))
            if edges is not None
        }
        of = self._kind_of(*(end for both in ends.values() for end in both))
        vertices = known if of == known.kind else Vertices(of)
        changes = {
            sign: rows(vertices, both, directed=directed, new=sign > 0)
            for sign, both in ends.items()
        }
        if vertices is not known:
            self._store = Store(vertices, self._options)
        before = self.count
        self._store.apply(changes)
        self._fixed = self._fixed or any(of.num_rows for of in changes.values())
        self._changes += sum(of.num_rows for of in changes.values()) // self._options.rows_per_edge
        if self._history is not None:
            self._history.append(Moment(self._changes, self.edges, self.count))
        return self.count - before

    def _kind_of(self, *ends: Column) -> Kind:
        """The first vertices say of what kind they are."""
        found = None if self._fixed else kind(*ends)
        return found or self._store.vertices.kind

    @property
    def count(self) -> int:
        """The number of triangles. O(1).

        >>> import ringview as rv
        >>> cycles = rv.graph.TriangleCounter(directed=True)
        >>> _ = cycles.insert([(1, 2), (2, 3), (3, 1), (1, 3)])
        >>> cycles.count
        1
        """
        found = self._store.count.get({})
        # Each is walked around from each of its vertices, and both ways where that is possible.
        return int(found["n"]) // (3 * self._options.rows_per_edge) if found else 0

    @property
    def edges(self) -> int:
        """The number of edges, loops too, each as often as it is there. O(1)."""
        return len(self._store.table) // self._options.rows_per_edge

    @property
    def history(self) -> list[Moment]:
        """The graph after each call, for `ringview.plot.triangles`.

        Raises:
            UnsupportedError: The counter was made without `history=True`.
        """
        if self._history is None:
            raise UnsupportedError(
                "this counter remembers no history; make it with history=True to have one"
            )
        return list(self._history)

    def triangles(self) -> Iterator[tuple[Any, Any, Any]]:
        """Each triangle once, in no particular order: a cycle begins with its least vertex.

        The first call makes a view of them and fills it, O(N^1.5); from then on a change costs the
        smaller of two neighbourhoods beside what it costs for the count. The view takes O(N) room,
        however many triangles there are; with `multigraph`, a row a triangle. `forget` ends that.

        Raises:
            ViewChangedError: The graph changed while they were read.

        Complexity: O(1) a triangle once the view is there.

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> _ = graph.insert([(3, 1), (1, 2), (2, 3), (3, 4)])
        >>> list(graph.triangles())
        [(1, 2, 3)]
        """
        value = self._store.vertices.value
        reader = self._store.corners().to_reader()
        return (
            (value(a), value(b), value(c))
            for batch in reader
            for a, b, c in zip(*(batch.column(at).to_pylist() for at in range(3)), strict=True)
        )

    def to_reader(self) -> pa.RecordBatchReader:
        """The triangles as a stream of Arrow batches with the columns `a`, `b` and `c`.

        With `multigraph` there is a column `multiplicity`. Else as `triangles`.

        Raises:
            UnsupportedError: The vertices are neither integers nor texts.

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter(multigraph=True)
        >>> _ = graph.insert([(3, 1), (1, 2), (2, 3), (2, 1)])
        >>> graph.to_reader().read_all().to_pylist()
        [{'a': 1, 'b': 2, 'c': 3, 'multiplicity': 2}]
        """
        self._store.need_arrow()
        return self._store.corners().to_reader()

    def changes(self) -> pa.Table:
        """The triangles that are new since the last call, and those that left.

        New ones have `multiplicity` 1, others -1; with `multigraph`, it is by how much the
        multiplicity of a triangle moved. The first call gives all. The view is that of `triangles`,
        and remembers what moved.

        Raises:
            UnsupportedError: The vertices are neither integers nor texts.

        Complexity: O(triangles that moved).

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> _ = graph.insert([(1, 2), (2, 3), (3, 1), (3, 4)])
        >>> _ = graph.changes()
        >>> _ = graph.update(insert=[(4, 1)], delete=[(1, 2)])
        >>> sorted(tuple(row.values()) for row in graph.changes().to_pylist())
        [(1, 2, 3, -1), (1, 3, 4, 1)]
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        self._store.need_arrow()
        found = self._store.corners().changes()
        if not self._options.multigraph:
            return found
        names = ["a", "b", "c"]
        times = pc.multiply(found["multiplicity"], found["multiplicity_"])
        moved = pa.table({**{name: found[name] for name in names}, "multiplicity": times})
        moved = moved.group_by(names).aggregate([("multiplicity", "sum")])
        return moved.rename_columns([*names, "multiplicity"]).filter(pc.field("multiplicity") != 0)

    def at(self, vertex: Any) -> Vertex:
        """Degree, triangles and local clustering of a vertex; zeros where it has no edge.

        The first call, or that of `vertices`, makes two views and fills them, O(N^1.5): degrees,
        and triangles by vertex. From then on a change costs a walk over the smaller of two
        neighbourhoods, and two vertices more than it has triangles. `forget` ends that.

        Raises:
            UnsupportedError: The graph is directed, or a multigraph, where these are not defined.

        Complexity: O(1) once the views are there.

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> _ = graph.insert([(1, 2), (2, 3), (3, 1), (3, 4)])
        >>> graph.at(3), graph.at(7)
        (Vertex(degree=3, triangles=1), Vertex(degree=0, triangles=0))
        """
        degrees, corners = self._store.by_vertex()
        stored = self._store.vertices.stored(vertex)
        key = {"vertex": stored}
        degree = None if stored is None else degrees.get(key)
        around = corners.get(key) if degree else None
        return Vertex(degree["n"] if degree else 0, around["n"] // 2 if around else 0)

    def vertices(self) -> pa.Table:
        """All vertices that have an edge, with degree, triangles and local clustering.

        The clustering is the part of the pairs of neighbours that have an edge between them, 0
        where there is no pair, as `networkx.clustering` has it. The views are those of `at`.

        Raises:
            UnsupportedError: As `at`; or the vertices are neither integers nor texts.

        Returns:
            Columns `vertex`, `degree`, `triangles` (int64) and `clustering` (double), in no
            particular order.

        Complexity: O(vertices) once the views are there.

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> _ = graph.insert([(1, 2), (2, 3), (3, 1), (3, 4)])
        >>> graph.vertices().sort_by("vertex").to_pydict()["clustering"]
        [1.0, 1.0, 0.3333333333333333, 0.0]
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        degrees, corners = self._store.by_vertex()
        self._store.need_arrow()
        around = corners.to_arrow().rename_columns(["vertex", "walks"])
        found = degrees.to_arrow().join(around, "vertex", join_type="left outer")
        degree = found["n"]
        triangles = pc.divide(pc.fill_null(found["walks"], 0), 2)
        pairs = pc.multiply(degree, pc.subtract(degree, 1))
        part = pc.divide(
            pc.multiply(triangles, 2).cast(pa.float64()), pc.max_element_wise(pairs, 1)
        )
        return pa.table(
            {
                "vertex": found["vertex"],
                "degree": degree,
                "triangles": triangles,
                "clustering": part,
            }
        )

    def forget(self) -> None:
        """End what `triangles`, `changes`, `at` and `vertices` began: only the count is kept. O(1).

        >>> import ringview as rv
        >>> graph = rv.graph.TriangleCounter()
        >>> _ = list(graph.triangles())
        >>> graph.forget()
        >>> list(graph.memory_usage())
        ['table edges', 'view graph', 'view count', 'dictionary', 'buffers']
        """
        self._store.forget()

    def explain(self, format: Format = "text") -> str:
        """The engine of the count, its reasons, and the cost of a change; as `View.explain`."""
        return self._store.count.explain(format)

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part: the edges, each view, texts. O(views)."""
        return self._store.db.memory_usage()

    def __repr__(self) -> str:
        options = {
            "directed": self._options.directed,
            "multigraph": self._options.multigraph,
        }
        said = "".join(f", {name}" for name, is_so in options.items() if is_so)
        return f"TriangleCounter({self.count} triangles, {self.edges} edges{said})"
