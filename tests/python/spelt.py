"""A logical query as SQL: the meaning of what the SQL layer hands over, for DuckDB to compute.

It uses nothing of ringview but the JSON: atoms, joins and conditions become one SELECT, a block a
table of WITH, a query within a condition a subquery in its place.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

Query = dict[str, Any]

_FUNCTIONS = {"count_distinct": "count(DISTINCT {})"}
# A text in quotes, or a column behind its qualifier.
_NAMED = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"\."((?:[^"]|"")*)\"""")


def sql_of(query: Query) -> str:
    """The SELECT that a query is; one whose rows are computed one by one is none."""
    blocks = [f"{_name(b['name'])} AS ({_select(b['query'], 0)})" for b in query.get("blocks", ())]
    within = f"WITH {', '.join(blocks)} " if blocks else ""
    return within + _select(query, 0)


def _select(query: Query, level: int) -> str:
    assert not query.get("rows"), "rows that are computed one by one"

    def said(text: str) -> str:
        return _said(text, query, level)

    tables = [
        f"(SELECT * FROM {_name(atom['table'])} WHERE {atom['filter'] or 'TRUE'}) "
        f"AS {_name(_alias(level, number))}"
        for number, atom in enumerate(query["atoms"])
    ]
    conditions = [
        f"{said(_column(one))} = {said(_column(other))}"
        for join in query["joins"]
        for one, other in pairwise(join)
    ]
    if query.get("condition"):
        conditions.append(f"({said(query['condition'])})")
    groups = [said(_column(column)) for column in query.get("group_by", ())]
    shown = [f"{said(_text(o))} AS {_name(o['name'])}" for o in query["outputs"]]
    bag = query.get("bag")
    text = f"SELECT {', '.join(shown)} FROM {', '.join(tables)}"
    text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text += f" GROUP BY {', '.join(groups)}" if groups and not (bag and not bag["distinct"]) else ""
    return text + (f" HAVING {said(query['having'])}" if query.get("having") else "")


def _text(output: dict[str, Any]) -> str:
    """An output, as the text of an expression."""
    if output["kind"] == "group":
        return _column(output["column"])
    if output["kind"] == "expression":
        return str(output["value"])
    function = str(output["function"])
    return _FUNCTIONS.get(function, function + "({})").format(output["argument"] or "*")


def _said(text: str, query: Query, level: int) -> str:
    """The text of an expression with the names that atoms have in the SELECT."""

    def one(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        if found[1].startswith("subquery "):
            inner = query["subqueries"][int(found[1].removeprefix("subquery "))]
            return f"({_select(inner, level + 1)})"
        depth, _, atom = found[1].removeprefix("outer ").rpartition(".")
        return f'{_name(_alias(level - int(depth or 0), int(atom)))}."{found[2]}"'

    return _NAMED.sub(one, text)


def _alias(level: int, atom: int) -> str:
    return f"atom {level} {atom}"


def _column(column: dict[str, Any]) -> str:
    return f'"{column["atom"]}".{_name(column["column"])}'


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
