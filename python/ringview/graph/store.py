"""A graph in a database: the table of its edges, and the views over them.

Invariant: the table holds an edge without a direction in both directions, so that every vertex of a
triangle is the first of two of its six walks around, and one relation is joined with itself: E(a,
b) E(b, c) E(c, a). But for a multigraph, a view `graph` has each edge once that is there, loops
left out.
Cost: the count is kept from the start; each other view is created at its first read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..database import Database
from ..errors import OverDeleteError, UnsupportedError
from .edges import Column, Vertices

if TYPE_CHECKING:
    import pyarrow as pa

    from ..queries import Epsilon
    from ..view import View


class Options(NamedTuple):
    """Options of a graph: its edges, and the engine that counts its triangles."""

    directed: bool
    multigraph: bool
    epsilon: Epsilon | None
    engine: str | None
    memory_limit: int | str | None

    @property
    def rows_per_edge(self) -> int:
        """The number of rows of an edge."""
        return 1 if self.directed else 2


class Store:
    """The database of a graph whose vertices are of one kind."""

    def __init__(self, vertices: Vertices, options: Options) -> None:
        self.vertices, self.options = vertices, options
        self.db = Database(memory_limit=options.memory_limit)
        stored = f"{vertices.type} not null"
        self.table = self.db.create_table("edges", {"u": stored, "v": stored})
        if not options.multigraph:
            sql = "SELECT u, v FROM edges WHERE u <> v GROUP BY u, v"
            self.db.create_view("graph", sql)
        self.count = self.db.create_view(
            "count",
            self._sql("SELECT COUNT(*) AS n"),
            engine=options.engine,
            epsilon=options.epsilon,
        )

    def _sql(self, select: str, where: str = "", group: str = "") -> str:
        """A SELECT over the walks a -> b -> c -> a."""
        conditions = [where] if where else []
        if self.options.multigraph:
            conditions.append("a.u <> a.v AND b.u <> b.v AND c.u <> c.v")
        graph = "edges" if self.options.multigraph else "graph"
        return (
            f"{select} FROM {graph} a JOIN {graph} b ON a.v = b.u "
            f"JOIN {graph} c ON b.v = c.u AND c.v = a.u"
            + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
            + (f" GROUP BY {group}" if group else "")
        )

    def apply(self, rows: dict[int, pa.Table]) -> None:
        """Inserts rows (1) and deletes others (-1), all of them or none."""
        try:
            with self.db.transaction() as tx:
                for sign, of in rows.items():
                    (tx.insert if sign > 0 else tx.delete)("edges", of)
        except OverDeleteError as error:
            found = re.search(r"u = (\d+), v = (\d+)", str(error))
            if self.vertices.kind != "object" or found is None:
                raise
            u, v = (self.vertices.value(int(end)) for end in found.groups())
            raise OverDeleteError(
                f"the edge ({u!r}, {v!r}) cannot be deleted, for it is not there so often; nothing "
                "was changed"
            ) from None

    def corners(self) -> View:
        """The view of the triangles, created at the first call."""
        if "triangles" in self.db:
            return self.db["triangles"]
        # The least vertex first; without a direction, then the second.
        where = "a.u < a.v AND c.v < c.u" + ("" if self.options.directed else " AND b.u < b.v")
        select = "SELECT a.u AS a, a.v AS b, b.v AS c"
        if not self.options.multigraph:
            return self.db.create_view("triangles", self._sql(select, where))
        select += ", COUNT(*) AS multiplicity"
        return self.db.create_view("triangles", self._sql(select, where, "a.u, a.v, b.v"))

    def by_vertex(self) -> tuple[View, View]:
        """The views of degrees and of walks around from each vertex."""
        if self.options.directed or self.options.multigraph:
            what = "with directed edges" if self.options.directed else "of a multigraph"
            raise UnsupportedError(
                f"degrees and local clustering {what} are not kept; iterate over triangles() for "
                "those of a vertex, or make a counter without directed and multigraph"
            )
        if "degrees" not in self.db:
            sql = "SELECT u AS vertex, COUNT(*) AS n FROM graph GROUP BY u"
            self.db.create_view("degrees", sql)
        if "corners" not in self.db:
            sql = self._sql("SELECT a.u AS vertex, COUNT(*) AS n", group="a.u")
            self.db.create_view("corners", sql)
        return self.db["degrees"], self.db["corners"]

    def need_arrow(self) -> None:
        """Raises where the vertices have no Arrow type."""
        if self.vertices.kind == "object":
            raise UnsupportedError(
                "vertices that are neither integers nor texts have no Arrow type; iterate over "
                "triangles(), and ask for a vertex with at(v)"
            )

    def forget(self) -> None:
        """Ends what was begun beside the count."""
        for name in ("triangles", "degrees", "corners"):
            if name in self.db:
                self.db.drop_view(name)


def rows(vertices: Vertices, ends: tuple[Column, Column], *, directed: bool, new: bool) -> pa.Table:
    """Edges as rows of the table; both ways where they have no direction."""
    import pyarrow as pa

    u, v = vertices.arrays(*ends, new=new)
    if not directed:
        u, v = pa.concat_arrays([u, v]), pa.concat_arrays([v, u])
    return pa.table({"u": u, "v": v})
