"""Queries in blocks: an order above a query, and texts that are lowered as a whole.

Invariant: what an engine keeps stays a query of its own, and the order stands above it. What has
no such form is bound and lowered by the extension, or refused with the place in the text. Cost:
O(outputs) for an order; that of binding the text once more for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp

from ..errors import RingviewError, UnsupportedError
from .place import Text
from .scalars import Json

_RESULT = "result"


def sorted_above(text: Text, translate: Callable[..., Json]) -> Json | None:
    """A query with ORDER BY, LIMIT or OFFSET at its end: the order above the rest.

    None where it has no such form.
    """
    tree = text.tree()
    if not isinstance(tree, exp.Select):
        return None
    rest = tree.copy()
    clauses = {key: rest.args.pop(key, None) for key in ("order", "limit", "offset")}
    if not any(clauses.values()):
        return None
    numbers = [_number(clauses[key]) for key in ("limit", "offset")]
    if any(
        number is None and clauses[key]
        for number, key in zip(numbers, ("limit", "offset"), strict=True)
    ):
        return None
    try:
        query = translate(text, tree=rest)
    except RingviewError:
        return None
    outputs = query["outputs"]
    if any(output["kind"] == "cofactor" for output in outputs):
        return None
    names = [output["name"] for output in outputs]
    keys = []
    order = clauses["order"]
    for ordered in order.expressions if order is not None else []:
        at = _output(ordered.this, tree.expressions, names)
        if at is None:
            return None
        first = ordered.args.get("nulls_first")
        keys.append(
            {
                "column": names[at],
                "descending": bool(ordered.args.get("desc")),
                "nulls_first": bool(first) and _says_nulls(ordered, text),
            }
        )
    blocks = query.pop("blocks", [])
    ordering = {"kind": "ordered", "names": names, "order": keys, "skip": numbers[1] or 0}
    if numbers[0] is not None:
        ordering["keep"] = numbers[0]
    return {
        "blocks": [*blocks, {"name": _free(blocks), "query": query}],
        "atoms": [{"table": _free(blocks), "alias": _RESULT, "filter": None}],
        "outputs": [],
        "order": None,
        "rows": ordering,
    }


def lowered(
    text: Text, catalog: Mapping[str, pa.Schema], own: str | None, refusal: RingviewError
) -> Json:
    """The query of a text in blocks, that has no other form.

    Raises:
        RingviewError: Why it has no such form either: `refusal`, unless the text is one that only
            blocks can have.
    """
    import json

    from .. import _native

    tables = [(name, schema) for name, schema in catalog.items() if name != own]
    try:
        found: Json = json.loads(_native.lower_sql(text.text, tables))
    except RingviewError as problem:
        is_vague = isinstance(refusal, UnsupportedError) and _needs_parts(text)
        raise (problem if is_vague else refusal) from None
    return found


def reads_clock(node: exp.Expr) -> bool:
    """Whether a node is a function that reads the clock."""
    named = isinstance(node, exp.Anonymous) and str(node.this).lower() in _CLOCKS
    return named or isinstance(
        node, (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentDatetime, exp.Localtimestamp)
    )


_CLOCKS = frozenset({"now", "today", "get_current_timestamp", "transaction_timestamp"})


def _needs_parts(text: Text) -> bool:
    """Whether a text has functions that need the rows of a partition together."""
    kept = (exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max)
    nodes = text.tree().walk()
    return any(
        isinstance(node, (exp.Window, exp.WithinGroup))
        or reads_clock(node)
        or (isinstance(node, exp.AggFunc) and not isinstance(node, kept))
        for node in nodes
    )


def _free(blocks: list[Json]) -> str:
    """A name for the query below that no block has."""
    name, taken = _RESULT, {block["name"] for block in blocks}
    while name in taken:
        name += "'"
    return name


def _number(clause: Any) -> int | None:
    """The number of LIMIT or OFFSET, if it is one."""
    value = clause.args.get("expression") if clause is not None else None
    if isinstance(value, exp.Literal) and not value.is_string and str(value.this).isdigit():
        return int(value.this)
    return None


def _says_nulls(ordered: exp.Expr, text: Text) -> bool:
    """Whether the text itself says NULLS FIRST: the parser fills in what other dialects mean."""
    return "NULLS FIRST" in text.text.upper()


def _output(node: exp.Expr, shown: list[exp.Expr], names: list[str]) -> int | None:
    """The output that a key of ORDER BY is: its number, its name, or the expression itself."""
    if isinstance(node, exp.Literal) and not node.is_string:
        at = int(node.this) - 1
        return at if 0 <= at < len(names) else None
    if isinstance(node, exp.Column) and not node.table:
        found = [at for at, name in enumerate(names) if name.lower() == node.name.lower()]
        if len(found) == 1:
            return found[0]
    if len(shown) != len(names):
        return None
    same = [at for at, output in enumerate(shown) if output.unalias() == node]
    return same[0] if same else None
