"""Edges in any of their forms to two columns of vertices.

Invariant: a vertex is an integer, a text, or any hashable Python value, which is stored as a
number; all vertices of a graph are of one of these kinds, and none is missing. Two vertices are one
where Python calls them equal. Cost: O(1) a column for Arrow data of integers and texts, O(edges)
else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ..convert.arrow import is_arrow, is_pandas
from ..errors import InvalidValueError, OverDeleteError, TypeMismatchError

if TYPE_CHECKING:
    import pyarrow as pa

Edges = Any
"""Pairs, Arrow data or a frame of two columns, a NumPy array of two columns, a NetworkX graph."""

Kind = Literal["int64", "string", "object"]
Column = Any
"""A pyarrow array of integers or texts, or a list of Python values."""


def columns(edges: Edges, *, directed: bool) -> tuple[Column, Column]:
    """The two ends of each edge, as they were given.

    Args:
        edges: Pairs of vertices; Arrow data, a pandas or polars frame, or a dict of two columns; a
            NumPy array of shape (n, 2); a NetworkX graph, of whose parallel edges each counts, and
            of which an edge without direction becomes one in each direction where `directed`.
        directed: Whether an edge has a direction.

    Raises:
        TypeMismatchError: None of these forms.
        InvalidValueError: More or fewer than two columns, or columns of different lengths.

    Complexity: O(edges), or O(1) for Arrow data.

    >>> columns({"from": [1, 2], "to": [2, 3]}, directed=False)
    ([1, 2], [2, 3])
    """
    import pyarrow as pa

    if _is_networkx(edges):
        both_ways = directed and not edges.is_directed()
        return _pairs((edges.to_directed() if both_ways else edges).edges())
    if is_pandas(edges):
        if len(edges.columns) != 2:
            _not_two(list(edges.columns))
        ends = [edges.iloc[:, at].array for at in (0, 1)]
        left, right = [
            pa.array(end, from_pandas=True) if _is_plain(end) else list(end) for end in ends
        ]
        return left, right
    if is_arrow(edges):
        table = pa.table(edges)
        if table.num_columns != 2:
            _not_two(table.column_names)
        return table.column(0), table.column(1)
    if isinstance(edges, Mapping):
        if len(edges) != 2:
            _not_two(list(edges))
        left, right = edges.values()
        return _column(left), _column(right)
    if type(edges).__module__ == "numpy" and getattr(edges, "ndim", 1) == 2:
        if edges.shape[1] != 2:
            _not_two(range(edges.shape[1]))
        return _column(edges[:, 0]), _column(edges[:, 1])
    if not isinstance(edges, Iterable) or isinstance(edges, (str, bytes)):
        _refuse(f"no edges in {edges!r}")
    return _pairs(edges)


def kind(*ends: Column) -> Kind | None:
    """Of what kind vertices are; None where there are none. O(values), or O(1) for Arrow data."""
    import pyarrow as pa
    from pyarrow import types

    kinds: set[Kind] = set()
    for end in ends:
        if len(end) == 0:
            continue
        if isinstance(end, (pa.Array, pa.ChunkedArray)):
            of = end.type.value_type if types.is_dictionary(end.type) else end.type
            kinds.add("int64" if types.is_integer(of) else "string" if _is_text(of) else "object")
            continue
        there = [one for one in end if one is not None]
        if all(isinstance(one, Integral) and not isinstance(one, bool) for one in there):
            kinds.add("int64")
        else:
            kinds.add("string" if all(isinstance(one, str) for one in there) else "object")
    return kinds.pop() if len(kinds) == 1 else "object" if kinds else None


class Vertices:
    """The kind of the vertices of one graph, and the numbers of those other than ints and texts.

    Invariant: a number means one value for good, so numbers of vertices that have left are not
    given to others. Cost: an entry for every value ever given, where they are objects.

    >>> names = Vertices("object")
    >>> names.arrays([("a", 1), (2,)], [(2,), 3.5], new=True)[1].to_pylist()
    [1, 2]
    >>> names.value(2)
    3.5
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._numbers: dict[Any, int] = {}
        self._values: list[Any] = []

    @property
    def type(self) -> Literal["int64", "string"]:
        """The type that a vertex is stored as."""
        return "string" if self.kind == "string" else "int64"

    def arrays(self, left: Column, right: Column, *, new: bool) -> tuple[pa.Array, pa.Array]:
        """The ends of edges as they are stored.

        Raises:
            TypeMismatchError: Vertices of another kind than this graph's.
            InvalidValueError: A vertex that is missing or not equal to itself, or an integer of
                more than 64 bits.
            OverDeleteError: An object that is no vertex, where none may be `new`.
        """
        if len(left) != len(right):
            raise InvalidValueError(
                f"columns of different lengths ({len(left)} and {len(right)}) are no edges"
            )
        if self.kind != "object":
            return self._array(left), self._array(right)
        import pyarrow as pa

        ends = [self._numbered(_listed(end), new=new) for end in (left, right)]
        return pa.array(ends[0], pa.int64()), pa.array(ends[1], pa.int64())

    def stored(self, vertex: Any) -> Any:
        """A vertex as it is stored; None for an object that never was one."""
        return self._numbers.get(vertex) if self.kind == "object" else vertex

    def value(self, stored: Any) -> Any:
        """The vertex that is stored so."""
        return self._values[stored] if self.kind == "object" else stored

    def _array(self, end: Column) -> pa.Array:
        import pyarrow as pa

        found = kind(end)
        if found is not None and found != self.kind:
            raise TypeMismatchError(
                f"the vertices of this graph are {_NAMES[self.kind]}, and here are "
                f'{_NAMES[found]}; make the counter with vertices="object", which takes both'
            )
        if isinstance(end, pa.ChunkedArray):
            end = end.combine_chunks()
        try:
            array = end if isinstance(end, pa.Array) else pa.array(end, self.type)
            array = array.cast(self.type)
        except (pa.ArrowInvalid, OverflowError) as problem:
            raise InvalidValueError(
                f"a vertex does not fit 64 bits ({problem}); make the counter with "
                'vertices="object"'
            ) from None
        if array.null_count:
            _missing(array.is_null().index(True).as_py())
        return array

    def _numbered(self, values: list[Any], *, new: bool) -> list[int]:
        numbers = []
        for row, value in enumerate(values):
            if value is None or value != value:
                _missing(row)
            try:
                number = self._numbers.get(value)
            except TypeError:
                _refuse(f"edge {row}: {value!r} cannot be a vertex, for it has no hash")
            if number is None:
                if not new:
                    raise OverDeleteError(
                        f"edge {row} cannot be deleted: {value!r} is no vertex of the graph; "
                        "nothing was changed"
                    )
                number = self._numbers[value] = len(self._values)
                self._values.append(value)
            numbers.append(number)
        return numbers


_NAMES: dict[Kind, str] = {"int64": "integers", "string": "texts", "object": "other values"}


def _is_networkx(edges: object) -> bool:
    """Whether these are a NetworkX graph, without importing NetworkX."""
    of = type(edges).__mro__
    return hasattr(edges, "is_directed") and any(
        one.__module__.split(".")[0] == "networkx" for one in of
    )


def _is_text(of: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(of) or types.is_large_string(of) or types.is_string_view(of))


def _is_plain(end: Any) -> bool:
    """Whether a pandas array has a type of its own, and no Python objects."""
    return str(end.dtype) != "object"


def _column(values: Any) -> Column:
    import pyarrow as pa

    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if type(values).__module__ == "numpy" and values.dtype.kind in "iu":
        return pa.array(values)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        _refuse(f"a column holds {values!r}, which is no list of vertices")
    return _listed(values)


def _listed(values: Any) -> list[Any]:
    """Python values, also of NumPy and Arrow."""
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _pairs(edges: Iterable[Any]) -> tuple[Column, Column]:
    left, right = [], []
    for row, edge in enumerate(edges):
        if not isinstance(edge, (tuple, list)) or len(edge) != 2:
            _refuse(f"edge {row} is {edge!r}, not a pair of vertices; write [(u, v)] for one edge")
        left.append(edge[0])
        right.append(edge[1])
    return left, right


def _not_two(names: Iterable[Any]) -> NoReturn:
    listed = ", ".join(map(str, names))
    raise InvalidValueError(
        f"edges have two columns, from where and to where, and here are: {listed}; select two"
    )


def _missing(row: int) -> NoReturn:
    raise InvalidValueError(
        f"edge {row} has no vertex at one end (None, NULL or NaN); leave it out"
    )


def _refuse(what: str) -> NoReturn:
    raise TypeMismatchError(
        f"{what}; edges are pairs, Arrow data or a frame of two columns, or a NetworkX graph"
    )
