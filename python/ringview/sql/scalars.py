"""Scalar expressions of SQL to the scalar JSON of the logical query.

Invariant: a node type is translated by its one handler in `HANDLERS`, or refused with its place.
Arithmetic on constants alone is folded. Each scalar knows its kind and the atoms that it reads.
Cost: O(nodes).
"""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NoReturn

from sqlglot import exp

from ..arrow import Kind
from ..errors import QueryError, TypeMismatchError
from . import literals
from .literals import Constant, Interval
from .names import Column, Scope
from .place import Text

Json = dict[str, Any]

# What to do instead. `tests/python/test_advice.py` does it and compares.
IN_COLUMN = "compute it into a column before the rows are inserted"
FROM_GROUPS = "select its aggregates and group columns, and compute it from what you read"
FROM_ROWS = "keep the rows (SELECT the columns) and compute it from what you read"
IN_FROM = (
    "where it gives the same for every row, read it in FROM and name its column: "
    "CROSS JOIN (SELECT ..) AS q; where it depends on the row, keep the rows and its groups "
    "(SELECT .. GROUP BY ..) as two views, and LEFT JOIN what you read: COUNT is 0 where nothing "
    "matches"
)
AS_TIME_PASSES = (
    "write the moment as a constant, and the view anew as time passes: "
    "create_view(.., create_or_replace=True)"
)
READ_APART = "keep the rows that it is about as a view, and compute the rest from what you read"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A translated expression; `constant` holds its value when it reads no column."""

    node: exp.Expr
    kind: Kind
    atoms: frozenset[int] = frozenset()
    body: Json = field(default_factory=dict)
    constant: Constant = None
    column: Column | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the expression reads no column."""
        return not self.body

    def json(self) -> Json:
        """The expression as the logical query writes it."""
        return self.body or {"op": "literal", "value": literals.json(self.constant)}


def scalar(node: exp.Expr, scope: Scope) -> Scalar:
    """Translate `node`; raises with its place in the text."""
    handler = scope.handler(type(node)) or HANDLERS.get(type(node))
    if handler is None:
        refuse(node, scope.text, of_groups=scope.handler(exp.Sum) is not None)
    only_read(node, scope.text)
    found: Scalar = handler(node, scope)
    return found


def only_read(node: exp.Expr, text: Text) -> None:
    """Refuse what a node carries beyond the parts that handlers read, rather than overlook it."""
    for key, value in node.args.items():
        if value and key not in _READ:
            text.refuse(node, f"{key.replace('_', ' ').upper()} is not supported here")


def constant(node: exp.Expr, value: Constant) -> Scalar:
    """The scalar of a constant that `node` writes."""
    return Scalar(node, literals.kind(value), constant=value)


def refuse(node: exp.Expr, text: Text, of_groups: bool = False) -> NoReturn:
    """Refuse a node without a handler, with what to do instead where something is known.

    `of_groups` tells an expression over aggregates from one over the columns of a row.
    """
    for kinds, what, instead in REFUSED:
        if isinstance(node, kinds):
            text.refuse(node, what, instead)
    # Of a row it can be a column; of a group it is known only when it is read.
    instead = IN_COLUMN
    if of_groups and (isinstance(node, exp.Condition) or node.find(*AGGREGATES)):
        instead = FROM_GROUPS
    if isinstance(node, exp.Func) and (isinstance(node, _CLOCKS) or _name_of(node) in _CLOCK_NAMES):
        text.refuse(node, "a view has no clock", AS_TIME_PASSES)
    if isinstance(node, (exp.Case, exp.If)):
        text.refuse(node, "CASE is not supported", instead)
    if isinstance(node, exp.Pow):
        power = {"2": 2, "3": 3}.get(node.expression.name)
        base = node.this.sql(dialect="duckdb")
        if power is not None and isinstance(node.this.unnest(), (exp.Column, *AGGREGATES)):
            instead = f"write {' * '.join([base] * power)}"
        text.refuse(node, "powers are not supported", instead)
    if isinstance(node, (exp.Div, exp.IntDiv, exp.Mod)):
        fraction = isinstance(node, exp.Div) and isinstance(node.right.unnest(), exp.Literal)
        if fraction and isinstance(node.parent, (exp.Sum, exp.Avg)):
            instead = "divide the aggregate, as in SUM(x) / 2"
        text.refuse(node, "rows are not divided in a view", instead)
    if isinstance(node, exp.Func):
        text.refuse(node, f"no function {_name_of(node)!r} here", instead)
    text.refuse(node, f"{node.sql(dialect='duckdb')!r} cannot be maintained in a view", instead)


def _column(node: exp.Column, scope: Scope) -> Scalar:
    column = scope.column(node)
    body = {"op": "column", **column.json()}
    return Scalar(node, column.kind, frozenset([column.atom]), body, column=column)


def _literal(node: exp.Literal, scope: Scope) -> Scalar:
    text = str(node.this)
    return constant(node, text if node.is_string else _or_fail(node, scope, literals.number, text))


def _boolean(node: exp.Boolean, scope: Scope) -> Scalar:
    return constant(node, bool(node.this))


def _null(node: exp.Null, scope: Scope) -> Scalar:
    return constant(node, None)


def _paren(node: exp.Paren, scope: Scope) -> Scalar:
    return scalar(node.this, scope)


def _negate(node: exp.Neg, scope: Scope) -> Scalar:
    operand = scalar(node.this, scope)
    if operand.is_constant:
        return constant(node, _or_fail(node, scope, literals.negate, operand.constant))
    _number(operand, scope, "a minus")
    return Scalar(node, operand.kind, operand.atoms, {"op": "negate", "operand": operand.json()})


def _interval(node: exp.Interval, scope: Scope) -> Scalar:
    amount = scalar(node.this, scope) if node.this is not None else constant(node, None)
    unit = node.args.get("unit")
    if amount.kind not in ("text", "number") or isinstance(unit, exp.IntervalSpan):
        scope.text.refuse(node, "this form of INTERVAL is not known", "write INTERVAL '3' MONTH")
    name = unit.name if unit is not None else None
    return constant(node, _or_fail(node, scope, literals.interval, str(amount.constant), name))


def _cast(node: exp.Cast, scope: Scope) -> Scalar:
    operand = scalar(node.this, scope)
    target = node.to.sql(dialect="duckdb")
    if not operand.is_constant:
        of_groups = scope.handler(exp.Sum) is not None
        scope.text.refuse(
            node,
            f"{'an aggregate' if of_groups else 'a column'} is not cast to {target} in a view",
            FROM_GROUPS if of_groups else IN_COLUMN,
        )
    caster = _CASTS.get(node.to.this.name)
    if caster is None:
        scope.text.refuse(node, f"a constant is not cast to {target}", "write it in its own form")
    if operand.constant is None:
        return constant(node, None)
    value = _or_fail(node, scope, caster, operand.constant)
    if isinstance(value, Decimal):
        # DECIMAL alone is DECIMAL(18, 3), and DECIMAL(p) has no digits after the point.
        given = [int(param.name) for param in node.to.expressions]
        precision, scale = [*given, 0][:2] if given else (18, 3)
        value = _or_fail(node, scope, literals.rounded, value, precision, scale)
    return constant(node, value)


def _arithmetic(
    op: str, fold: Callable[[Constant, Constant], Constant]
) -> Callable[[Any, Scope], Scalar]:
    """The handler of a binary operator that the logical query calls `op`."""

    def handler(node: exp.Binary, scope: Scope) -> Scalar:
        if isinstance(node, (exp.Add, exp.Mul)):
            parts = _chain(node)
            if len(parts) > _LONG:
                return balanced(node, parts, scope)
        return joined(node, scalar(node.left, scope), scalar(node.right, scope), scope)

    def balanced(node: exp.Expr, parts: list[exp.Expr], scope: Scope) -> Scalar:
        """A long chain, its operands joined two by two: as deep as its logarithm."""
        found = [scalar(part, scope) for part in parts]
        while len(found) > 1:
            pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
            found = [joined(node, p[0], p[1], scope) if p[1:] else p[0] for p in pairs]
        return found[0]

    def joined(node: exp.Expr, left: Scalar, right: Scalar, scope: Scope) -> Scalar:
        if left.is_constant and right.is_constant:
            value = _or_fail(node, scope, fold, left.constant, right.constant)
            return constant(node, value)
        for operand in sorted((left, right), key=lambda side: side.kind != "interval"):
            _number(operand, scope, f"{op!r}")
        body = {"op": op, "left": left.json(), "right": right.json()}
        return Scalar(node, "number", left.atoms | right.atoms, body)

    return handler


# A chain of more operands is balanced; of fewer, it stays as it is written.
_LONG = 32


def _chain(node: exp.Binary) -> list[exp.Expr]:
    """The operands of `a + b + c` or `a * b * c`, left to right."""
    parts: list[exp.Expr] = []
    here: exp.Expr = node
    while type(here) is type(node):
        parts.append(here.expression)
        here = here.this
    return [here, *reversed(parts)]


def _number(operand: Scalar, scope: Scope, what: str) -> None:
    """Arithmetic with a column is on numbers."""
    if operand.kind in ("number", "null"):
        return
    instead = IN_COLUMN
    if scope.handler(exp.Sum) is not None:
        instead = FROM_GROUPS
    elif isinstance(operand.constant, Interval) and _beside_constant(operand.node, scope):
        instead = "move the interval to the constant on the other side of the comparison"
    scope.text.fail(
        operand.node, f"{what} needs numbers, this is a {operand.kind}", instead, TypeMismatchError
    )


def _beside_constant(node: exp.Expr, scope: Scope) -> bool:
    """Whether the comparison that a node is in has no column on the other side."""
    side, around = node, node.parent
    while around is not None and not isinstance(around, exp.Predicate):
        side, around = around, around.parent
    if not isinstance(around, exp.Binary):
        return False
    return (around.right if side is around.left else around.left).find(exp.Column) is None


def _or_fail(
    node: exp.Expr, scope: Scope, function: Callable[..., Constant], *values: Any
) -> Constant:
    """`function(*values)`, its complaint with the place of `node`."""
    try:
        found = function(*values)
        if isinstance(found, float) and not math.isfinite(found):
            raise ValueError("the constant is out of range")
        return found
    except TypeError as problem:
        scope.text.fail(node, str(problem), "", TypeMismatchError)
    except (ValueError, ArithmeticError) as problem:
        scope.text.fail(node, str(problem) or "the constant is out of range", "", QueryError)


def _name_of(node: exp.Func) -> str:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    return str(name).upper()


def _to_integer(name: str, low: int, high: int) -> Callable[[Constant], Constant]:
    """The cast to a type of integers from `low` to `high`."""

    def cast(value: Constant) -> Constant:
        found = literals.number(value) if isinstance(value, str) else value
        if isinstance(found, Decimal):
            found = found.to_integral_value(ROUND_HALF_UP)
        if not isinstance(found, (int, float, Decimal)):
            raise ValueError(f"{value} is not an integer")
        # Python rounds a double half to even, as SQL does.
        whole = round(found)
        if not low <= whole <= high:
            raise ValueError(f"{value} does not fit {name}")
        return whole

    return cast


def _to_decimal(value: Constant) -> Constant:
    found = literals.number(value) if isinstance(value, str) else value
    if isinstance(found, int) and not isinstance(found, bool):
        return Decimal(found)
    if isinstance(found, float):
        return Decimal(found)
    if isinstance(found, Decimal):
        return found
    raise ValueError(f"{value} is not a decimal")


def _to_float(value: Constant) -> Constant:
    if isinstance(value, (str, int, float, Decimal)):
        return float(literals.number(str(value)))
    raise ValueError(f"{value} is not a number")


def _to_single(value: Constant) -> Constant:
    """The float32 next to a number, as the double that it equals."""
    if isinstance(value, (str, int, float, Decimal)):
        found = float(literals.number(str(value)))
        with contextlib.suppress(OverflowError):
            return float(struct.unpack("<f", struct.pack("<f", found))[0])
        raise ValueError(f"{value} does not fit FLOAT")
    raise ValueError(f"{value} is not a number")


def _to_day(value: Constant) -> Constant:
    if isinstance(value, str):
        return literals.day(value)
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    raise ValueError(f"{value} is not a date")


def _to_moment(value: Constant) -> Constant:
    if isinstance(value, str):
        return literals.moment(value)
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise ValueError(f"{value} is not a timestamp")


def _to_local(value: Constant) -> Constant:
    found = _to_moment(value)
    if isinstance(found, datetime) and found.tzinfo is not None:
        raise ValueError("a TIMESTAMP has no offset; write TIMESTAMPTZ")
    return found


def _to_instant(value: Constant) -> Constant:
    if isinstance(value, str):
        return literals.instant(value)
    raise ValueError("write TIMESTAMPTZ '1995-03-15 10:30:00+00:00'")


def _to_text(value: Constant) -> Constant:
    if isinstance(value, str):
        return value
    raise ValueError("only a text is cast to a text; write it in quotes")


# The parts of a node that some handler reads or rightly ignores.
_READ = {
    *("this", "expression", "expressions", "table", "db", "catalog", "is_string", "unit", "to"),
    *("low", "high", "negate", "symmetric", "query", "big_int"),
}

_CASTS: dict[str, Callable[[Constant], Constant]] = {
    **{
        name: _to_integer(name, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for name, bits in (("TINYINT", 8), ("SMALLINT", 16), ("INT", 32), ("BIGINT", 64))
    },
    **{
        name: _to_integer(name, 0, 2**bits - 1)
        for name, bits in (("UTINYINT", 8), ("USMALLINT", 16), ("UINT", 32), ("UBIGINT", 64))
    },
    "INT128": _to_integer("HUGEINT", -(10**38) + 1, 10**38 - 1),
    **dict.fromkeys(["DECIMAL", "NUMERIC"], _to_decimal),
    "FLOAT": _to_single,
    "DOUBLE": _to_float,
    **dict.fromkeys(["TEXT", "VARCHAR", "CHAR"], _to_text),
    "DATE": _to_day,
    **dict.fromkeys(["TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"], _to_local),
    "TIMESTAMPTZ": _to_instant,
}

HANDLERS: dict[type[exp.Expr], Callable[[Any, Scope], Scalar]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Neg: _negate,
    exp.Interval: _interval,
    exp.Cast: _cast,
    exp.Add: _arithmetic("add", literals.add),
    exp.Sub: _arithmetic("subtract", literals.subtract),
    exp.Mul: _arithmetic("multiply", literals.multiply),
}

# The aggregates that `grouped` translates.
AGGREGATES: tuple[type[exp.Expr], ...] = (
    *(exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max),
    *(exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp),
    *(exp.CovarPop, exp.CovarSamp, exp.Corr),
    *(exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount),
)

# What tells the time.
_CLOCKS = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp, exp.CurrentDatetime)
_CLOCK_NAMES = {"NOW", "TODAY", "GETDATE", "TRANSACTION_TIMESTAMP"}

# What people write and views cannot keep: node types, what to say, what to do instead.
REFUSED: list[tuple[tuple[type[exp.Expr], ...], str, str]] = [
    ((exp.Exists,), "EXISTS stands in WHERE and HAVING", ""),
    (
        (exp.Subquery, exp.Select, exp.SetOperation),
        "subqueries stand in FROM, WHERE and HAVING",
        IN_FROM,
    ),
    (
        (exp.All, exp.Any),
        "ALL and ANY stand right of a comparison in WHERE and HAVING",
        "",
    ),
    ((exp.Window,), "window functions cannot be maintained", FROM_ROWS),
    (
        (exp.Filter,),
        "FILTER is not supported",
        "make a second view with the filter in WHERE; groups that it lacks are NULL, 0 for COUNT",
    ),
    (
        (exp.Distinct,),
        "DISTINCT is for COUNT, MIN and MAX alone",
        "take the columns from a subquery that has each once: FROM (SELECT DISTINCT ..) AS q",
    ),
    ((exp.WithinGroup,), "percentiles are not supported", FROM_ROWS),
    (
        AGGREGATES,
        "an aggregate does not stand here",
        "aggregates stand in SELECT and HAVING, not in WHERE, in ON or in another aggregate",
    ),
    (
        (exp.AggFunc,),
        "this aggregate is not supported; views know SUM, COUNT, AVG, MIN, MAX, VAR, STDDEV, "
        "COVAR, CORR and REGR",
        FROM_ROWS,
    ),
    (
        (exp.Order,),
        "ORDER BY in an aggregate is not supported",
        "leave it out: it does not change what these aggregates come to",
    ),
    ((exp.Placeholder, exp.Parameter), "parameters are not supported", "write the value"),
    ((exp.Star,), "a * stands where a column is needed", "name the column"),
]
