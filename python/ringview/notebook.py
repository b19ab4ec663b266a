"""What notebooks show of databases and views: fragments of HTML that stand alone.

Invariant: no scripts, nothing loaded, and names and values of any characters are text.
Cost: O(rows shown), O(tables and views).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from .errors import RingviewError

if TYPE_CHECKING:
    from .table import Table
    from .view import View


def rows(names: Iterable[str], shown: Iterable[Mapping[str, Any]]) -> str:
    """Some rows as a table.

    >>> rows(["a"], [{"a": "<b>"}])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row.values()) + "</tr>"
        for row in shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def database(
    tables: Mapping[str, Table], views: Mapping[str, View], memory: Mapping[str, int]
) -> str:
    """The tables and views of a database, with rows and bytes.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> "<td>table</td><td>r</td><td>a</td><td>0</td>" in db._repr_html_()
    True
    """
    found = [
        _line("table", name, table.schema.names, _rows(table), memory[f"table {name}"])
        for name, table in tables.items()
    ]
    found += [
        _line("view", name, view.columns, _rows(view), memory[f"view {name}"])
        for name, view in views.items()
    ]
    return rows(["", "name", "columns", "rows", "bytes"], found)


def _line(kind: str, name: str, columns: list[str], count: int | str, size: int) -> dict[str, Any]:
    return {
        "": kind,
        "name": name,
        "columns": ", ".join(columns),
        "rows": count,
        "bytes": f"{size:,}",
    }


def _rows(of: Table | View) -> int | str:
    """How many rows, if that can be said."""
    try:
        return len(of)
    except RingviewError as problem:
        return str(problem)
