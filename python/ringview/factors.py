"""Changes in factors to what the engine takes.

Invariant: a factor is a table of its own with some of the columns; the engine checks that the
factors of a change share the columns of their table out among them.
Cost: O(values) for Python rows, O(1) for Arrow data; nothing is multiplied out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import TypeMismatchError
from .rows import Rows, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from .table import Table

Factors = Mapping[str, Rows] | Iterable[Mapping[str, Rows]]
"""The factors of a change by name, or a list of such: the change is the sum of the products."""

Product = list[tuple["pa.Table", str | None]]


def products(factors: Factors, table: Table, multiplicity: str | None) -> list[Product]:
    """Each product as pairs of a factor and the name of its column of multiplicities.

    Raises:
        TypeMismatchError: `factors` is neither a dict of factors nor a list of those.
    """
    terms = [factors] if isinstance(factors, Mapping) else factors
    if isinstance(terms, (str, bytes)) or not isinstance(terms, Iterable):
        _refuse(terms)
    return [_product(term, table, multiplicity) for term in terms]


def _product(term: object, table: Table, multiplicity: str | None) -> Product:
    if not isinstance(term, Mapping) or not term:
        _refuse(term)
    return [_factor(rows, table, multiplicity) for rows in term.values()]


def _factor(rows: Rows, table: Table, multiplicity: str | None) -> tuple[pa.Table, str | None]:
    import pyarrow as pa

    parts = [pa.table(part) for part in to_arrow(rows, table, multiplicity)]
    whole = pa.concat_tables(parts) if parts else pa.table({})
    return whole, multiplicity if multiplicity in whole.column_names else None


def _refuse(found: Any) -> NoReturn:
    raise TypeMismatchError(
        f"no factors in {found!r}; pass a dict of a name and rows for each factor, "
        'such as {"u": rows, "v": rows}, or a list of those'
    )
