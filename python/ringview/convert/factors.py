"""Changes in factors to what the engine takes.

Invariant: a factor is a table of its own with some of the columns; the engine checks that the
factors of a change share the columns of their table out among them.
Cost: O(values) for Python rows, O(1) for Arrow data; nothing is multiplied out here.
`decompose` is the inverse, a relation into factors: O(values).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import InvalidValueError, TypeMismatchError
from .arrow import Arrow, is_arrow, is_pandas
from .rows import Handle, Rows, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from .. import _native

Factors = Mapping[str, Any] | Iterable[Mapping[str, Any]]
"""The factors of a change by name, or a list of such: the change is the sum of the products."""

Product = list[tuple["pa.Table", str | None]]


def products(
    factors: Factors, native: _native.Database, table: Handle, multiplicity: str | None
) -> list[Product]:
    """Each product as pairs of a factor and the name of its column of multiplicities.

    Raises:
        TypeMismatchError: `factors` is neither a dict of factors nor a list of those.
    """
    terms = [factors] if isinstance(factors, Mapping) else factors
    if isinstance(terms, (str, bytes)) or not isinstance(terms, Iterable):
        _refuse(terms)
    found = []
    for term in terms:
        if not isinstance(term, Mapping) or not term:
            _refuse(term)
        parts = [to_arrow(rows, native, table, multiplicity) for rows in term.values()]
        found.append([_factor(part, multiplicity) for part in parts])
    return found


def decompose(
    rows: Rows, columns: Sequence[Sequence[str]], *, multiplicity: str | None = None
) -> dict[str, pa.Table] | None:
    """The factors that `rows` are the product of, for `update_factorised`; None if they are none.

    Args:
        rows: Arrow data, a pandas frame, a dict of columns or a list of dicts.
        columns: The names of the columns of each factor; each column belongs to one.
        multiplicity: A column of integers: how often each row counts; once each by default.

    Returns:
        A table for each factor, named after its columns, with a last column `multiplicity`.

    Raises:
        InvalidValueError: A column in two factors, or in none.
        TypeMismatchError: Multiplicities that are no integers, or rows in no known form.

    Complexity: O(rows * columns).

    >>> import ringview as rv
    >>> rows = {"i": [1, 1, 2, 2], "j": [5, 6, 5, 6]}
    >>> factors = rv.decompose(rows, [["i"], ["j"]])
    >>> {name: factor.to_pydict() for name, factor in factors.items()}
    {'i': {'i': [1, 2], 'multiplicity': [1, 1]}, 'j': {'j': [5, 6], 'multiplicity': [1, 1]}}
    >>> rv.decompose({"i": [1, 2], "j": [5, 6]}, [["i"], ["j"]]) is None
    True
    """
    import pyarrow as pa

    table = _table(rows)
    wanted = sorted(name for names in columns for name in names)
    held = sorted(name for name in table.column_names if name != multiplicity)
    if wanted != held:
        raise InvalidValueError(
            f"the factors hold the columns {wanted}, the rows {held}; "
            "each column belongs to one factor"
        )
    keys = [_tuples(table.select(list(names))) for names in columns]
    times = [1] * len(table) if multiplicity is None else table[multiplicity].to_pylist()
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in times):
        raise TypeMismatchError(f"the multiplicities in {multiplicity!r} are no integers")
    counts = Counter[tuple[tuple[Any, ...], ...]]()
    for key, one in zip(zip(*keys, strict=True), times, strict=True):
        counts[key] += one
    counts = Counter({key: count for key, count in counts.items() if count})
    sums = [Counter[tuple[Any, ...]]() for _ in columns]
    for key, count in counts.items():
        for part, total in zip(key, sums, strict=True):
            total[part] += count
    found = _weights(counts, sums)
    if found is None:
        return None
    name = multiplicity or "multiplicity"
    factors = {}
    for names, weights in zip(columns, found, strict=True):
        listed = list(zip(*weights, strict=True)) or [()] * len(names)
        arrays = [
            pa.array(values, table.schema.field(column).type)
            for column, values in zip(names, listed, strict=True)
        ]
        arrays.append(pa.array(weights.values(), pa.int64()))
        factors[", ".join(names)] = pa.table(arrays, names=[*names, name])
    return factors


def _weights(
    counts: Mapping[tuple[tuple[Any, ...], ...], int], sums: list[Counter[tuple[Any, ...]]]
) -> list[dict[tuple[Any, ...], int]] | None:
    """Multiplicities of the factors' rows whose products are `counts`.

    If there are any, the sums over all other factors are multiples of them: those without a common
    divisor serve, the last factor taking what is left.
    """
    if not counts:
        return [{} for _ in sums]
    if prod(len(total) for total in sums) != len(counts):
        return None
    weights = []
    for total in sums[:-1]:
        divisor = gcd(*total.values())
        if divisor == 0:
            return None
        weights.append({key: count // divisor for key, count in total.items()})
    others = next(iter(counts))[:-1]
    by = prod(weight[part] for weight, part in zip(weights, others, strict=True))
    last = {}
    for key, count in counts.items():
        if key[:-1] == others:
            if by == 0 or count % by:
                return None
            last[key[-1]] = count // by
    weights.append(last)
    for key, count in counts.items():
        parts = zip(weights, key, strict=True)
        if prod(weight.get(part, 0) for weight, part in parts) != count:
            return None
    return weights


def _table(rows: Rows) -> pa.Table:
    import pyarrow as pa

    if is_pandas(rows):
        return pa.Table.from_pandas(rows, preserve_index=False)
    if is_arrow(rows) or isinstance(rows, Mapping):
        return pa.table(rows)
    if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
        return pa.Table.from_pylist(rows)
    raise TypeMismatchError(f"no rows in a {type(rows).__name__}")


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    values = [column.to_pylist() for column in table.columns]
    return list(zip(*values, strict=True)) if values else [()] * len(table)


def _factor(
    parts: list[Arrow | _native.Batches], multiplicity: str | None
) -> tuple[pa.Table, str | None]:
    import pyarrow as pa

    tables = [pa.table(part) for part in parts]
    whole = pa.concat_tables(tables) if tables else pa.table({})
    return whole, multiplicity if multiplicity in whole.column_names else None


def _refuse(found: Any) -> NoReturn:
    raise TypeMismatchError(
        f"no factors in {found!r}; pass a dict of a name and rows for each factor, "
        'such as {"u": rows, "v": rows}, or a list of those'
    )
