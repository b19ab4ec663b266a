"""The slowest possible reader of a logical query: the meaning of what the SQL layer hands over.

Every combination of rows is formed, filtered, grouped and summed in Python numbers, each query
within a condition anew for each of them. It knows nothing of ringview but the JSON.
"""

from __future__ import annotations

import itertools
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

Row = dict[str, Any]


class Frame:
    """A row of the join of a query, and those of the queries around it."""

    def __init__(
        self, rows: tuple[Row, ...], around: Frame | None, tables: dict[str, list[Row]]
    ) -> None:
        self.rows, self.around, self.tables = rows, around, tables

    def __getitem__(self, atom: int) -> Row:
        return self.rows[atom]

    def out(self, depth: int) -> Frame:
        """That of the query so many further out."""
        if depth == 0:
            return self
        assert self.around is not None
        return self.around.out(depth - 1)


def evaluate(
    query: dict[str, Any], tables: dict[str, list[Row]], around: Frame | None = None
) -> list[tuple[Any, ...]]:
    """The rows of the view, sorted by their text."""
    for block in query.get("blocks", []):
        names = [output["name"] for output in block["query"]["outputs"]]
        rows_of = evaluate(block["query"], tables)
        tables = {**tables, block["name"]: [dict(zip(names, row, strict=True)) for row in rows_of]}
    kept = [
        [row for row in tables[atom["table"]] if truth(atom["filter"], _One(i, row))]
        for i, atom in enumerate(query["atoms"])
    ]
    groups: dict[tuple[Any, ...], list[tuple[Row, ...]]] = {}
    group_by, bag = query.get("group_by", []), query.get("bag")
    if not group_by and _has_aggregates(query):
        groups[()] = []
    for rows in itertools.product(*kept):
        chosen = truth(query.get("condition"), Frame(rows, around, tables))
        if chosen and all(_equal(join, rows) for join in query["joins"]):
            key = tuple(value(_column(c), rows) for c in group_by)
            groups.setdefault(key, []).append(rows)
    found = [
        tuple(_output(o, rows) for o in query["outputs"])
        for rows in groups.values()
        for _ in range(len(rows) if bag and not bag["distinct"] else 1)
    ]
    return sorted(found, key=repr)


def _has_aggregates(query: dict[str, Any]) -> bool:
    return any(output["kind"] in ("aggregate", "expression") for output in query["outputs"])


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
    if output["kind"] == "expression":
        return _measure(output["value"], rows)
    return _aggregate(output["function"], output["argument"], rows)


def _aggregate(function: str, argument: Row | None, rows: list[tuple[Row, ...]]) -> Any:
    if argument is None:
        return len(rows)
    values = [v for r in rows if (v := value(argument, r)) is not None]
    if function in ("count", "count_distinct"):
        return len(values if function == "count" else set(values))
    if not values:
        return None
    if function in ("min", "max"):
        return min(values) if function == "min" else max(values)
    total = sum(values[1:], start=values[0])
    return float(total) / len(values) if function == "avg" else total


def _measure(measure: Row, rows: list[tuple[Row, ...]]) -> Any:
    match measure["op"]:
        case "group":
            return value(_column(measure["column"]), rows[0])
        case "aggregate":
            argument = next(iter(measure["arguments"]), None)
            return _aggregate(measure["function"], argument, rows)
        case "literal":
            return literal(measure["value"])
        case "negate":
            operand = _measure(measure["operand"], rows)
            return None if operand is None else -operand
    left, right = _measure(measure["left"], rows), _measure(measure["right"], rows)
    return _arithmetic(measure["op"], left, right)


class _One(dict):  # type: ignore[type-arg]
    """The rows of a product of which only one is known."""

    def __init__(self, atom: int, row: Row) -> None:
        super().__init__({atom: row})


def value(scalar: Row, rows: Any) -> Any:
    """The value of a scalar expression; None is NULL."""
    match scalar["op"]:
        case "column":
            here = rows.out(scalar["depth"]) if "depth" in scalar else rows
            return here[scalar["atom"]][scalar["column"]]
        case "query":
            ((found,),) = evaluate(scalar["query"], rows.tables, rows)
            return found
        case "literal":
            return literal(scalar["value"])
        case "negate":
            operand = value(scalar["operand"], rows)
            return None if operand is None else -operand
    return _arithmetic(scalar["op"], value(scalar["left"], rows), value(scalar["right"], rows))


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    match op:
        case "add":
            return left + right
        case "subtract":
            return left - right
        case "multiply":
            return left * right
        case "divide":
            return float(left) / float(right) if right else None
    raise AssertionError(op)


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
