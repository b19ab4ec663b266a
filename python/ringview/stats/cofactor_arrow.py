"""Values of a column of COFACTOR, from Arrow to NumPy.

Invariant: categories keep the view's order of them; a pair that no row has counts 0. Cost: O(m^2 +
categories * m + k * l) for m numbers, and each two features of k and l categories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Pair = tuple[str, str]

_NAMES = b"ringview.cofactor"
_GROUPS = b"ringview.groups"


def parts(one: pa.StructArray, m: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Count, sums, matrix, and the categorical parts of the one row of an array.

    Then the origin that they are counted from and its reach, if the array has these.
    """
    distances: dict[str, Any] = {}
    numbers = one
    if one.type.get_field_index("shifted") >= 0:
        numbers = one.field("shifted")
        distances = {name: _list(numbers, name) for name in ("origin", "reach")}
    upper = _upper_triangle(m)
    products = _list(numbers, "products")
    matrix = np.empty((m, m))
    matrix[upper] = products
    matrix.T[upper] = products
    count = one.field("count")[0].as_py()
    categories = _categories(one, m, "shifted" if distances else "sums")
    return (count, _list(numbers, "sums"), matrix, *categories), distances


def _list(one: pa.StructArray, name: str) -> Array:
    """The numbers of a list in the one row of an array."""
    # flatten() of a field minds the offset of a slice, `.values` does not.
    found: Array = one.field(name).flatten().to_numpy()
    return found


def _categories(one: pa.StructArray, m: int, kept: str) -> tuple[Any, ...]:
    """Values, counts, sums of m numbers (those in the field `kept`), counts of pairs."""
    values: dict[str, list[Any]] = {}
    counts: dict[str, Array] = {}
    sums: dict[str, Array] = {}
    pairs: dict[Pair, Array] = {}
    for name, entries in _lists(one, "categories"):
        values[name] = entries.field("value").to_pylist()
        counts[name] = entries.field("count").to_numpy().astype(np.float64)
        sums[name] = _list(entries, kept).reshape(len(entries), m)
    places = {name: {value: i for i, value in enumerate(v)} for name, v in values.items()}
    names = list(values)
    order = [(a, b) for at, b in enumerate(names) for a in names[:at]]
    for (a, b), (_, entries) in zip(order, _lists(one, "pairs"), strict=True):
        pairs[a, b] = np.zeros((len(values[a]), len(values[b])))
        left = [places[a][value] for value in entries.field("left").to_pylist()]
        right = [places[b][value] for value in entries.field("right").to_pylist()]
        pairs[a, b][left, right] = entries.field("count").to_numpy()
    return values, counts, sums, pairs


def _lists(one: pa.StructArray, field: str) -> Iterator[tuple[str, pa.StructArray]]:
    """The lists that a struct of lists has in its one row, by name."""
    if one.type.get_field_index(field) < 0:
        return
    lists = one.field(field)
    for at in range(lists.type.num_fields):
        yield lists.type.field(at).name, lists.field(at).flatten()


@lru_cache(maxsize=64)
def _upper_triangle(m: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(m)


def is_cofactor(field: pa.Field) -> bool:
    """Whether COFACTOR computed a column of a view."""
    return bool(field.metadata) and _NAMES in field.metadata


def names_of(field: pa.Field) -> list[str]:
    """The numeric columns of a column of COFACTOR."""
    found: list[str] = json.loads(field.metadata[_NAMES])
    return found


def groups(table: pa.Table) -> list[str]:
    """The columns by which the rows of a view with a COFACTOR are grouped.

    If the metadata does not say, in tables of other origin, all but the cofactor.
    """
    (field,) = (field for field in table.schema if is_cofactor(field))
    others = [name for name in table.column_names if name != field.name]
    found: list[str] = json.loads(field.metadata.get(_GROUPS, json.dumps(others)))
    return found
