"""Functions of Python for views, and the same in DuckDB.

Aggregates, of which DuckDB takes none from Python, are such as its own SQL can say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import ringview as rv
from everyday import SCHEMAS
from oracle import Oracle

INT = "int64"


def bump(x: Any) -> Any:
    return pc.add(pc.multiply(x, 2), 1)


def slug(s: Any) -> Any:
    return pc.utf8_lower(s)


def mix(s: Any, x: Any) -> Any:
    return pc.binary_join_element_wise(s, pc.cast(x, pa.string()), "-")


def odd_or_null(x: Any) -> Any:
    return pc.fill_null(pc.equal(pc.bit_wise_and(x, 1), 1), True)


def scaled(p: Any, f: Any) -> Any:
    return pc.multiply(pc.cast(p, pa.float64()), f)


SCALARS: list[tuple[str, Callable[..., Any], list[str], str, str]] = [
    ("bump", bump, [INT], INT, "default"),
    ("Slug", slug, ["string"], "string", "default"),
    ("mix", mix, ["string", INT], "string", "default"),
    ("odd_or_null", odd_or_null, [INT], "bool", "special"),
    ("scaled", scaled, ["decimal128(10, 2)", "float64"], "float64", "default"),
]
DUCKDB = {
    INT: "BIGINT",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "float64": "DOUBLE",
    "decimal128(10, 2)": "DECIMAL(10, 2)",
}


def spread(x: pa.Array) -> Any:
    return pc.subtract(pc.max(x), pc.min(x))


def joined(s: pa.Array) -> str:
    return "|".join(s.to_pylist())


def weighed(x: pa.Array) -> int:
    total: int = (pc.sum(x).as_py() or 0) + 1000 * x.null_count
    return total


AGGREGATES: list[tuple[str, Callable[..., Any], list[str], str, str]] = [
    ("spread", spread, [INT], INT, "default"),
    ("joined", joined, ["string"], "string", "default"),
    ("weighed", weighed, [INT], INT, "special"),
    ("longest", lambda s, x: max(len(t) for t in s.to_pylist()), ["string", INT], INT, "default"),
]


# Aggregates of which the order of rows changes nothing.
MACROS = [
    "spread(x) AS MAX(x) - MIN(x)",
    "weighed(x) AS CAST(COALESCE(SUM(x), 0) + 1000 * COUNT(*) FILTER (WHERE x IS NULL) AS BIGINT)",
]


def declare(db: rv.Database) -> rv.Database:
    for name, function, takes, returns, nulls in SCALARS:
        db.create_function(name, function, takes, returns, null_handling=nulls)  # type: ignore[arg-type]
    for name, function, takes, returns, nulls in AGGREGATES:
        db.create_function(name, function, takes, returns, kind="aggregate", null_handling=nulls)  # type: ignore[arg-type]
    return db


def oracle() -> Oracle:
    made = Oracle(SCHEMAS)
    create: Any = made.connection.create_function
    for name, function, takes, returns, nulls in SCALARS:
        create(
            name,
            function,
            [DUCKDB[one] for one in takes],
            DUCKDB[returns],
            type="arrow",
            null_handling=nulls,
        )
    for macro in MACROS:
        made.connection.execute(f"CREATE MACRO {macro}")
    return made


def small(*, rows: dict[str, list[Any]] | None = None, **options: Any) -> rv.Database:
    db = rv.Database(**options)
    db.create_table("t", {"g": "int64", "x": "int64", "s": "string"})
    if rows is not None:
        db.insert("t", rows)
    return db


class UnluckyError(Exception):
    pass


def no_thirteen(x: pa.Array) -> pa.Array:
    if 13 in x.to_pylist():
        raise UnluckyError("thirteen")
    return x
