"""SQL text to the logical query: what a view is, said in the terms of the engine.

Invariant: what comes out means exactly what the text says; a construct without a handler is
refused with its line, its column and what to do instead. No algorithm of maintenance lives here.

| file | what it reads |
|---|---|
| place | where things stand in the text |
| names | aliases, columns |
| blocks | what FROM may read: tables, views, names of WITH, subqueries |
| literals, scalars, predicates | expressions and conditions, one handler a node type |
| within, having | subqueries in conditions; in HAVING, over the groups as a block |
| joins | FROM, ON, USING, NATURAL, WHERE |
| grouped | expressions over aggregates and groups |
| select | SELECT, GROUP BY, HAVING |
| rows | SELECT of plain columns |
| in_blocks | an order above a query; texts that are lowered to blocks |
| order, thresholds | a variable order; epsilon by relation |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NoReturn

import pyarrow as pa
from sqlglot import exp

from ..arrow import Kind
from ..errors import InvalidValueError, QueryError, TypeMismatchError, UnsupportedError
from .blocks import Blocks, Reads, Selects
from .in_blocks import lowered, sorted_above
from .joins import Joins
from .names import Scope
from .order import Order, order
from .place import Text
from .scalars import Json, refuse
from .select import Select, check_clauses

__all__ = ["named_in", "translate"]


def translate(
    sql: str,
    catalog: Mapping[str, pa.Schema],
    order: Order | None = None,
    representation: str | None = None,
    own: str | None = None,
    *,
    in_blocks: bool = False,
) -> Json:
    """The logical query of a SELECT, as JSON data.

    Args:
        sql: One SELECT of aggregates, groups or plain columns over inner joins of tables, views,
            subqueries and names of WITH; with `in_blocks` of anything that has a lowering.
        catalog: The schema of every table and view that the text may name.
        order: A variable order to use: names of columns, nested; chosen by cost if None.
        representation: How the rows of a join are kept: "factorised" or "listing"; chosen if None.
        own: A view of the catalog that the text defines anew, so that FROM cannot name it.
        in_blocks: Whether parts that no engine keeps may be computed by blocks around those that
            one keeps: expressions over rows, outer joins, unions, an order.

    Returns:
        `atoms`, `joins`, `group_by`, `outputs`, `order`, `bag` for the rows of a join, `condition`
        for what compares across tables or with subqueries, and `having` and `blocks`, the queries
        of WITH and of subqueries in FROM, where there are any; ready for `json.dumps`.

    Raises:
        QueryError: The text is no SQL, a name is ambiguous, a value is out of place.
        UnknownTableError: No such table.
        UnknownColumnError: No such column.
        TypeMismatchError: Types do not fit, such as SUM of a text.
        UnsupportedError: SQL that a view cannot keep; says what to write instead.

    Complexity: O(length of the text + columns of its tables), and binding each subquery.

    >>> query = translate("SELECT SUM(x) AS total FROM r", {"r": pa.schema({"x": pa.int64()})})
    >>> query["outputs"][0]["function"], query["atoms"][0]["table"]
    ('sum', 'r')
    """
    text = Text(sql)
    try:
        query = _translated(text, catalog, order, own, in_blocks)
    except RecursionError:
        raise UnsupportedError(
            "the query is nested too deeply; compute parts of it into columns"
        ) from None
    if representation is not None:
        _represent(query, representation)
    if _depth(query) > _DEEPEST:
        raise UnsupportedError(
            "the query, or its variable order, is nested too deeply; compute parts of it into "
            "columns, or leave the order out"
        )
    return query


# The engine reads JSON to a depth of 128.
_DEEPEST = 120


def named_in(sql: str) -> frozenset[str]:
    """Whatever a text names in FROM: tables, views, names of WITH. O(length of the text).

    Raises:
        QueryError: The text is no SQL.

    >>> sorted(named_in("SELECT COUNT(*) FROM r JOIN (SELECT a FROM s) q USING (a)"))
    ['r', 's']
    """
    return frozenset(table.name for table in Text(sql).tree().find_all(exp.Table))


def _depth(of: Json) -> int:
    """How deeply a query is nested, O(its size)."""
    deepest = 0
    left: list[tuple[object, int]] = [(of, 1)]
    while left:
        here, depth = left.pop()
        deepest = max(deepest, depth)
        below = here.values() if isinstance(here, dict) else here if isinstance(here, list) else ()
        left += [(one, depth + 1) for one in below if isinstance(one, (dict, list))]
    return deepest


def _represent(query: Json, representation: str) -> None:
    """Ask for a representation of the rows of a join."""
    if representation not in ("factorised", "listing"):
        raise InvalidValueError(
            f"representation is 'factorised', 'listing' or None, not {representation!r}"
        )
    if "bag" not in query:
        raise UnsupportedError(
            "representation says how the rows of a join are kept; this view has groups: leave it "
            "out, or select plain columns"
        )
    query["bag"]["representation"] = representation


def _translated(
    text: Text,
    catalog: Mapping[str, pa.Schema],
    given: Order | None,
    own: str | None,
    in_blocks: bool,
) -> Json:
    """The query as an engine takes it; in blocks where it needs them, and may have them."""
    try:
        return _translate(text, catalog, given, own)
    except (QueryError, TypeMismatchError, UnsupportedError) as refusal:
        if given is not None or not in_blocks:
            raise
        found = sorted_above(text, partial(_translate, catalog=catalog, given=None, own=own))
        return lowered(text, catalog, own, refusal) if found is None else found


def _translate(
    text: Text,
    catalog: Mapping[str, pa.Schema],
    given: Order | None,
    own: str | None,
    tree: exp.Expr | None = None,
) -> Json:
    tree = text.tree() if tree is None else tree
    if not isinstance(tree, exp.Select):
        _refuse_statement(tree, text)
    check_clauses(tree, text.refuse, inner=False)
    reads = Reads(text, Blocks(catalog), Selects(_inner, _value, _rows), own=own)
    query, scope = _select(tree, reads)
    if given is not None:
        query["order"] = order(given, scope)
    blocks = reads.blocks.read_by(query)
    return {"blocks": blocks, **query} if blocks else query


def _inner(tree: exp.Select, reads: Reads) -> Json:
    """The query of a SELECT within another."""
    check_clauses(tree, reads.text.refuse, inner=True)
    return _select(tree, reads)[0]


def _value(tree: exp.Select, reads: Reads, outer: Scope) -> tuple[Json, Kind]:
    """The query of a SELECT that a condition compares, and the kind of its one value."""
    check_clauses(tree, reads.text.refuse, inner=True)
    joins, scope = _joined(tree, reads, outer)
    output, kind = Select(tree, scope, joins).value()
    return {**joins.json(), "outputs": [output]}, kind


def _rows(tree: exp.Select, reads: Reads, outer: Scope) -> tuple[Json, Scope]:
    """The query of a SELECT whose rows are counted, still without an output, and what it names."""
    check_clauses(tree, reads.text.refuse, inner=True)
    joins, scope = _joined(tree, reads, outer)
    return joins.json(), joins.chosen(scope)


def _joined(tree: exp.Select, reads: Reads, outer: Scope | None = None) -> tuple[Joins, Scope]:
    """FROM and WHERE of a SELECT, and what its other clauses may name."""
    joins = Joins(reads.text, reads.within(tree), outer)
    scope = joins.read_from(tree)
    where = tree.args.get("where")
    if where is not None:
        joins.read_condition(where.this, scope)
    return joins, scope


def _select(tree: exp.Select, reads: Reads) -> tuple[Json, Scope]:
    """The query of a SELECT, and what its clauses may name."""
    joins, scope = _joined(tree, reads)
    body = Select(tree, scope, joins).json()
    return {**joins.json(), **body, "order": None}, scope


def _refuse_statement(tree: exp.Expr, text: Text) -> NoReturn:
    if isinstance(tree, exp.SetOperation):
        text.refuse(tree, "UNION, INTERSECT, EXCEPT are not supported", _EACH)
    if isinstance(tree, exp.Query):
        refuse(tree, text)
    if isinstance(tree, (exp.DML, exp.Delete)):
        text.refuse(tree, "a view is a SELECT", "change rows with db.insert and db.delete")
    text.refuse(tree, "a view is a SELECT", text.misspelt(0) or "write SELECT .. FROM ..")


_EACH = "make a view of each SELECT, and unite, intersect or subtract what you read"
