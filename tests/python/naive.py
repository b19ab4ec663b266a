"""The slowest possible reader of a logical query: the meaning of what the SQL layer hands over.

Every combination of rows is formed, filtered, grouped and summed in Python numbers. It knows
nothing of ringview but the JSON.
"""

from __future__ import annotations

import itertools
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

Row = dict[str, Any]


def evaluate(query: dict[str, Any], tables: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
    """The rows of the view, sorted by their text."""
    kept = [
        [row for row in tables[atom["table"]] if truth(atom["filter"], _One(i, row))]
        for i, atom in enumerate(query["atoms"])
    ]
    groups: dict[tuple[Any, ...], list[tuple[Row, ...]]] = {}
    if not query["group_by"] and _has_aggregates(query):
        groups[()] = []
    for rows in itertools.product(*kept):
        if all(_equal(join, rows) for join in query["joins"]):
            key = tuple(value(_column(c), rows) for c in query["group_by"])
            groups.setdefault(key, []).append(rows)
    found = [tuple(_output(o, rows) for o in query["outputs"]) for rows in groups.values()]
    return sorted(found, key=repr)


def _has_aggregates(query: dict[str, Any]) -> bool:
    return any(output["kind"] == "aggregate" for output in query["outputs"])


def _column(ref: Row) -> Row:
    return {"op": "column", **ref}


def _equal(join: list[Row], rows: tuple[Row, ...]) -> bool:
    values = [value(_column(ref), rows) for ref in join]
    return None not in values and len(set(values)) == 1


def _output(output: Row, rows: list[tuple[Row, ...]]) -> Any:
    if output["kind"] == "group":
        if not rows:
            return None
        return value(_column(output["column"]), rows[0])
    if output["argument"] is None:
        return len(rows)
    values = [v for r in rows if (v := value(output["argument"], r)) is not None]
    if output["function"] == "count":
        return len(values)
    if not values:
        return None
    total = sum(values[1:], start=values[0])
    return float(total) / len(values) if output["function"] == "avg" else total


class _One(dict):  # type: ignore[type-arg]
    """The rows of a product of which only one is known."""

    def __init__(self, atom: int, row: Row) -> None:
        super().__init__({atom: row})


def value(scalar: Row, rows: Any) -> Any:
    """The value of a scalar expression; None is NULL."""
    match scalar["op"]:
        case "column":
            return rows[scalar["atom"]][scalar["column"]]
        case "literal":
            return literal(scalar["value"])
        case "negate":
            operand = value(scalar["operand"], rows)
            return None if operand is None else -operand
    left, right = value(scalar["left"], rows), value(scalar["right"], rows)
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    match scalar["op"]:
        case "add":
            return left + right
        case "subtract":
            return left - right
        case "multiply":
            return left * right
    raise AssertionError(scalar)


def literal(body: Row) -> Any:
    """The Python value of a literal."""
    match body["type"]:
        case "null":
            return None
        case "decimal":
            return Decimal(body["value"])
        case "date":
            return date.fromisoformat(body["value"])
        case "timestamp":
            return datetime.fromisoformat(body["value"])
        case _:
            return body["value"]


def truth(condition: Row | None, rows: Any) -> bool | None:
    """TRUE, FALSE or None for unknown."""
    if condition is None:
        return True
    match condition["op"]:
        case "constant":
            return bool(condition["value"])
        case "is_null":
            return value(condition["operand"], rows) is None
        case "not":
            found = truth(condition["operand"], rows)
            return None if found is None else not found
        case "and":
            parts = [truth(part, rows) for part in condition["operands"]]
            return False if False in parts else None if None in parts else True
        case "or":
            parts = [truth(part, rows) for part in condition["operands"]]
            return True if True in parts else None if None in parts else False
        case "in":
            operand = value(condition["operand"], rows)
            return _among(operand, [literal(item) for item in condition["list"]])
        case "like":
            return _like(value(condition["operand"], rows), condition)
        case "compare":
            left, right = value(condition["left"], rows), value(condition["right"], rows)
            return _compare(condition["comparison"], left, right)
    raise AssertionError(condition)


def _among(operand: Any, items: list[Any]) -> bool | None:
    found = [_compare("eq", operand, item) for item in items]
    return True if True in found else None if None in found else False


def _like(text: str | None, condition: Row) -> bool | None:
    if text is None:
        return None
    pattern, i, marks = condition["pattern"], 0, ""
    while i < len(pattern):
        if pattern[i] == condition["escape"]:
            i += 1
            marks += re.escape(pattern[i])
        else:
            marks += {"%": ".*", "_": "."}.get(pattern[i], re.escape(pattern[i]))
        i += 1
    flags = re.DOTALL | (re.IGNORECASE if condition["insensitive"] else 0)
    return re.fullmatch(marks, text, flags) is not None


def _compare(comparison: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, datetime) != isinstance(right, datetime) and isinstance(left, date):
        left, right = (_moment(side) for side in (left, right))
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    verdicts: dict[str, bool] = {
        "eq": left == right,
        "ne": left != right,
        "lt": left < right,
        "le": left <= right,
        "gt": left > right,
        "ge": left >= right,
    }
    return verdicts[comparison]


def _moment(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
