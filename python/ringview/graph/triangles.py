"""Triangles of a graph whose edges come and go.

Invariant: after each call the count, and all else that was asked for, is that of the edges that are
there; a call that raises has changed nothing. An edge without a direction stands in the table both
ways, so that every vertex of a triangle is the first of two of its six walks around, and one
relation is joined with itself: E(a, b) E(b, c) E(c, a).
Cost: O(sqrt N) an edge for the count, amortised, among N edges; what else is kept says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..database import Database
from ..errors import InvalidValueError, OverDeleteError, UnsupportedError
from .edges import Column, Edges, Kind, Vertices, columns, kind

if TYPE_CHECKING:
    import pyarrow as pa

    from ..sql.thresholds import Epsilon
    from ..view import Format, View


class Moment(NamedTuple):
    """A graph after a call that changed it."""

    changes: int
    """How many edges had come or gone by then."""
    edges: int
    """How many there were, each as often as it had come."""
    triangles: int
    """How many triangles there were."""


class Vertex(NamedTuple):
    """What stands around a vertex."""

    degree: int
    """How many others it has an edge with."""
    triangles: int
    """How many triangles it is in."""

    @property
    def clustering(self) -> float:
        """Which part of the pairs of its neighbours have an edge between them."""
        pairs = self.degree * (self.degree - 1)
        return 2 * self.triangles / pairs if pairs else 0.0


class TriangleCounter:
    """How many triangles a graph has, exact after every edge that comes or goes.

    A triangle is three vertices with an edge between each two, whichever way edges came: (u, v) and
    (v, u) are one. With `directed`, it is a cycle a -> b -> c -> a, and each counts once. Loops are
    taken, and are in no triangle. An edge that came twice is there until it has gone twice, and
    counts once, as in `networkx.Graph`; with `multigraph` it counts as often as it is there, so
    that a triangle counts as often as the product of its three edges.

    Complexity: a change of an edge costs O(sqrt N) amortised among N edges, whatever the graph
    (`epsilon=`: O(N^max(epsilon, 1 - epsilon))); no algorithm can do it in less than sqrt N if
    the OMv conjecture holds. Some 300 bytes an edge; with `multigraph` less, as each edge is then
    not kept once more. What `triangles` and `vertices` need is kept from their first call on.

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
            multigraph: Whether an edge that came several times counts so often.
            epsilon: A vertex is heavy that stands in N^epsilon of N edges or more; 0.5 by default.
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
        self._directed, self._multigraph = directed, multigraph
        self._engine, self._epsilon, self._limit = engine, epsilon, memory_limit
        self._fixed = vertices is not None
        self._changes = 0
        self._history: list[Moment] | None = [] if history else None
        # What is wrong with the options is told here, before the first edge.
        self._begin(Vertices(vertices or "int64"))

    def _begin(self, vertices: Vertices) -> None:
        """A database for vertices of a kind."""
        self._vertices = vertices
        self._db = Database(memory_limit=self._limit)
        stored = f"{self._vertices.type} not null"
        self._table = self._db.create_table("edges", {"u": stored, "v": stored})
        if not self._multigraph:
            sql = "SELECT u, v FROM edges WHERE u <> v GROUP BY u, v"
            self._db.create_view("graph", sql)
        self._count = self._db.create_view(
            "count",
            self._sql("SELECT COUNT(*) AS n"),
            engine=self._engine,
            epsilon=self._epsilon,
        )

    def _sql(self, select: str, where: str = "", group: str = "") -> str:
        """A SELECT over the walks a -> b -> c -> a."""
        conditions = [where] if where else []
        if self._multigraph:
            conditions.append("a.u <> a.v AND b.u <> b.v AND c.u <> c.v")
        graph = "edges" if self._multigraph else "graph"
        return (
            f"{select} FROM {graph} a JOIN {graph} b ON a.v = b.u "
            f"JOIN {graph} c ON b.v = c.u AND c.v = a.u"
            + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
            + (f" GROUP BY {group}" if group else "")
        )

    def insert(self, edges: Edges) -> int:
        """Add edges, all of them or none.

        Args:
            edges: Pairs of vertices; Arrow data, a pandas or polars frame or a dict of two columns,
                whatever their names; a NumPy array of shape (n, 2); a NetworkX graph, of whose
                parallel edges each comes, and of which an edge without direction comes both ways
                where this graph is directed.

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
            OverDeleteError: An edge goes more often than it came; nothing was changed.

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
            insert: What comes, as for `insert`; first.
            delete: What goes, as for `delete`.

        Returns:
            By how much the count rose.

        >>> import ringview as rv
        >>> window = rv.graph.TriangleCounter()
        >>> window.insert([(1, 2), (2, 3), (3, 1)])
        1
        >>> window.update(insert=[(3, 4), (4, 1)], delete=[(1, 2)])
        0
        """
        ends = {
            sign: columns(edges, directed=self._directed)
            for sign, edges in ((1, insert), (-1, delete))
            if edges is not None
        }
        of = self._kind_of(*(end for both in ends.values() for end in both))
        vertices = self._vertices if of == self._vertices.kind else Vertices(of)
        rows = {sign: self._rows(vertices, both, new=sign > 0) for sign, both in ends.items()}
        if vertices is not self._vertices:
            self._begin(vertices)
        before = self.count
        self._apply(rows)
        self._fixed = self._fixed or any(of.num_rows for of in rows.values())
        self._changes += sum(of.num_rows for of in rows.values()) // self._ways
        if self._history is not None:
            self._history.append(Moment(self._changes, self.edges, self.count))
        return self.count - before

    def _kind_of(self, *ends: Column) -> Kind:
        """The first vertices say of what kind they are."""
        found = None if self._fixed else kind(*ends)
        return found or self._vertices.kind

    def _apply(self, rows: dict[int, pa.Table]) -> None:
        try:
            with self._db.transaction() as tx:
                for sign, of in rows.items():
                    (tx.insert if sign > 0 else tx.delete)("edges", of)
        except OverDeleteError as error:
            found = re.search(r"u = (\d+), v = (\d+)", str(error))
            if self._vertices.kind != "object" or found is None:
                raise
            u, v = (self._vertices.value(int(end)) for end in found.groups())
            raise OverDeleteError(
                f"the edge ({u!r}, {v!r}) cannot be deleted, for it is not there so often; nothing "
                "was changed"
            ) from None

    def _rows(self, vertices: Vertices, ends: tuple[Column, Column], *, new: bool) -> pa.Table:
        """Edges as rows of the table; both ways where they have no direction."""
        import pyarrow as pa

        u, v = vertices.arrays(*ends, new=new)
        if not self._directed:
            u, v = pa.concat_arrays([u, v]), pa.concat_arrays([v, u])
        return pa.table({"u": u, "v": v})

    @property
    def _ways(self) -> int:
        """In how many rows an edge stands."""
        return 1 if self._directed else 2

    @property
    def count(self) -> int:
        """How many triangles there are. O(1).

        >>> import ringview as rv
        >>> cycles = rv.graph.TriangleCounter(directed=True)
        >>> _ = cycles.insert([(1, 2), (2, 3), (3, 1), (1, 3)])
        >>> cycles.count
        1
        """
        found = self._count.get({})
        # Each is walked around from each of its vertices, and both ways where that is possible.
        return int(found["n"]) // (3 * self._ways) if found else 0

    @property
    def edges(self) -> int:
        """How many edges there are, each as often as it came and did not go, loops too. O(1)."""
        return len(self._table) // self._ways

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
        """Each triangle once, in no particular order: of a cycle the least vertex comes first.

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
        value = self._vertices.value
        reader = self._corners().to_reader()
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
        self._need_arrow()
        return self._corners().to_reader()

    def changes(self) -> pa.Table:
        """The triangles that came since the last call, with `multiplicity` 1, and those that left.

        Those have -1; with `multigraph`, it is by how much the multiplicity of a triangle moved.
        The first call gives all. The view is that of `triangles`, and remembers what moved.

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

        self._need_arrow()
        found = self._corners().changes()
        if not self._multigraph:
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
        degrees, corners = self._by_vertex()
        stored = self._vertices.stored(vertex)
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

        degrees, corners = self._by_vertex()
        self._need_arrow()
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
        for name in ("triangles", "degrees", "corners"):
            if name in self._db:
                self._db.drop_view(name)

    def explain(self, format: Format = "text") -> str:
        """How the count is kept, why, and what a change costs; as `View.explain`."""
        return self._count.explain(format)

    def memory_usage(self) -> dict[str, int]:
        """Bytes held, part by part: the edges, each view, texts. O(views)."""
        return self._db.memory_usage()

    def _corners(self) -> View:
        """The view of the triangles, made when it is first asked for."""
        if "triangles" in self._db:
            return self._db["triangles"]
        # The least vertex first; without a direction, then the second.
        where = "a.u < a.v AND c.v < c.u" + ("" if self._directed else " AND b.u < b.v")
        select = "SELECT a.u AS a, a.v AS b, b.v AS c"
        if not self._multigraph:
            return self._db.create_view("triangles", self._sql(select, where))
        select += ", COUNT(*) AS multiplicity"
        return self._db.create_view("triangles", self._sql(select, where, "a.u, a.v, b.v"))

    def _by_vertex(self) -> tuple[View, View]:
        """The views of degrees and of walks around from each vertex."""
        if self._directed or self._multigraph:
            what = "with directed edges" if self._directed else "of a multigraph"
            raise UnsupportedError(
                f"degrees and local clustering {what} are not kept; iterate over triangles() for "
                "those of a vertex, or make a counter without directed and multigraph"
            )
        if "degrees" not in self._db:
            sql = "SELECT u AS vertex, COUNT(*) AS n FROM graph GROUP BY u"
            self._db.create_view("degrees", sql)
        if "corners" not in self._db:
            sql = self._sql("SELECT a.u AS vertex, COUNT(*) AS n", group="a.u")
            self._db.create_view("corners", sql)
        return self._db["degrees"], self._db["corners"]

    def _need_arrow(self) -> None:
        if self._vertices.kind == "object":
            raise UnsupportedError(
                "vertices that are neither integers nor texts have no Arrow type; iterate over "
                "triangles(), and ask for a vertex with at(v)"
            )

    def __repr__(self) -> str:
        options = {"directed": self._directed, "multigraph": self._multigraph}
        said = "".join(f", {name}" for name, is_so in options.items() if is_so)
        return f"TriangleCounter({self.count} triangles, {self.edges} edges{said})"
