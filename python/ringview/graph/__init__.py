"""Graphs whose edges come and go.

    triangles = ringview.graph.TriangleCounter()
    triangles.insert([("Ada", "Grace"), ("Grace", "Mary"), ("Mary", "Ada")])
    triangles.count

| file | what it holds |
|---|---|
| triangles | `TriangleCounter`: a graph whose edges come and go, and what is read of it |
| store | its table and views |
| description | descriptions of a moment and of a vertex |
| counting | `count_triangles`: those of a graph that is not kept |
| edges | edges in any of their forms to columns of vertices |
"""

from .counting import count_triangles
from .description import Moment, Vertex
from .triangles import TriangleCounter

__all__ = ["Moment", "TriangleCounter", "Vertex", "count_triangles"]
