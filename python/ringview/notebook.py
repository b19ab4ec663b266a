"""Tables of HTML for notebooks: fragments of HTML that need no other file.

Invariant: no scripts, nothing loaded, and names and values of any characters are text.
Cost: O(rows shown).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    Decode = Callable[[pa.Array, pa.Field, int], str]


class _Html(str):
    """A value that is HTML already."""

    __slots__ = ()


def result(found: pa.Table, decode: Decode | None = None) -> str:
    """The rows of a view as a table; the HTML that `decode` makes of a COFACTOR within.

    >>> import pyarrow as pa
    >>> result(pa.table({"a": [1]}))
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    columns: dict[str, list[Any]] = {}
    for field, column in zip(found.schema, found.columns, strict=True):
        if decode and field.metadata and b"ringview.cofactor" in field.metadata:
            whole = column.combine_chunks()
            columns[field.name] = [_Html(decode(whole, field, at)) for at in range(len(whole))]
        else:
            columns[field.name] = column.to_pylist()
    shown = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return rows(columns, shown)


def rows(names: Iterable[str], shown: Iterable[Mapping[str, Any]]) -> str:
    """Some rows as a table.

    >>> rows(["a"], [{"a": "<b>"}])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row.values()) + "</tr>"
        for row in shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    return str(value) if isinstance(value, _Html) else escape(str(value))
