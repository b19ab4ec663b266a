"""Graphs whose edges come and go.

    triangles = ringview.graph.TriangleCounter()
    triangles.insert([("Ada", "Grace"), ("Grace", "Mary"), ("Mary", "Ada")])
    triangles.count

| file | what it holds |
|---|---|
| triangles | `TriangleCounter`: tables and views of a graph, and what is read of them |
| edges | edges in any of their forms to columns of vertices |
"""

from .triangles import Moment, TriangleCounter, Vertex

__all__ = ["Moment", "TriangleCounter", "Vertex"]
