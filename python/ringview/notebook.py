"""What notebooks show of databases and views: fragments of HTML that stand alone.

Invariant: no scripts, nothing loaded, and names and values of any characters are text.
Cost: O(rows shown), O(tables and views).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

from .errors import RingviewError
from .words import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from .protocols import Moments, TableLike, ViewLike

    Decode = Callable[[pa.Array, pa.Field, int], Moments]


# Of a column of categories no more are shown.
_CATEGORIES = 20


class _Html(str):
    """A value that is HTML already."""

    __slots__ = ()


def result(found: pa.Table, decode: Decode | None = None) -> str:
    """The rows of a view as a table; what `decode` reads of a COFACTOR as a table within.

    >>> import pyarrow as pa
    >>> result(pa.table({"a": [1]}))
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    columns: dict[str, list[Any]] = {}
    for field, column in zip(found.schema, found.columns, strict=True):
        if decode and field.metadata and b"ringview.cofactor" in field.metadata:
            columns[field.name] = _cofactors(field, column, decode)
        else:
            columns[field.name] = column.to_pylist()
    shown = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return rows(columns, shown)


def _cofactors(field: pa.Field, column: pa.ChunkedArray, decode: Decode) -> list[Any]:
    whole = column.combine_chunks()
    return [_Html(cofactor(decode(whole, field, at))) for at in range(len(whole))]


def cofactor(found: Moments) -> str:
    """Counts, sums and products, and the counts of categories, as tables."""
    names = found.names
    shown: list[dict[str, Any]] = []
    if names:
        shown = [{"": "sum", **dict(zip(names, map(_short, found.sums), strict=True))}]
        shown += [
            {"": name, **dict(zip(names, map(_short, line), strict=True))}
            for name, line in zip(names, found.matrix, strict=True)
        ]
    parts = [f"<div>{found.count} rows</div>", rows(["", *names], shown) if names else ""]
    for name, values in found.categories.items():
        counted = list(zip(values, found.category_counts[name], strict=True))
        lines = [{name: value, "rows": _short(count)} for value, count in counted[:_CATEGORIES]]
        more = len(counted) - len(lines)
        parts.append(rows([name, "rows"], lines))
        parts += [f"<div>and {more} more</div>"] if more else []
    return "".join(parts)


def table(of: TableLike) -> str:
    """A table: its columns with their types, and how many rows it has.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> "<td>a</td><td>int64</td>" in db.create_table("r", {"a": "int64"})._repr_html_()
    True
    """
    unique = of.unique or []
    columns = [
        {
            "column": field.name,
            "type": str(field.type),
            "": ", ".join(
                word
                for word, holds in (
                    ("not null", not field.nullable),
                    ("unique" if len(unique) == 1 else "unique together", field.name in unique),
                )
                if holds
            ),
        }
        for field in of.schema
    ]
    static = ", static" if of.static else ""
    size = f"{counted(len(of), 'row')}, {of.nbytes:,} bytes{static}"
    head = f"<div><b>{escape(of.name)}</b>: {size}</div>"
    return head + rows(["column", "type", ""], columns)


def _short(number: float) -> str:
    return f"{number:.6g}"


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


def database(
    tables: Mapping[str, TableLike], views: Mapping[str, ViewLike], memory: Mapping[str, int]
) -> str:
    """The tables and views of a database, with rows and bytes.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> "<td>table</td><td>r</td><td>a</td><td>0</td>" in db._repr_html_()
    True
    """
    found = []
    # What another thread drops meanwhile is left out: all that it is asked raises a KeyError.
    for name, table in tables.items():
        with suppress(KeyError):
            columns, held = table.schema.names, memory[f"table {name}"]
            found.append(_line("table", name, columns, _rows(table), held))
    for name, view in views.items():
        with suppress(KeyError):
            held = memory[f"view {name}"]
            found.append(_line("view", name, view.columns, _rows(view), held))
    return rows(["", "name", "columns", "rows", "bytes"], found)


def _line(kind: str, name: str, columns: list[str], count: int | str, size: int) -> dict[str, Any]:
    return {
        "": kind,
        "name": name,
        "columns": ", ".join(columns),
        "rows": count,
        "bytes": f"{size:,}",
    }


def _rows(of: TableLike | ViewLike) -> int | str:
    """How many rows, if that can be said."""
    try:
        return len(of)
    except RingviewError as problem:
        return str(problem)
