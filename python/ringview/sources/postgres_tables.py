"""Tables of PostgreSQL by pattern, and the tables here that hold them.

Invariant: a column here takes every value of PostgreSQL's column, or refuses a row and says so:
types without a counterpart are texts, as PostgreSQL writes them. Cost: one query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError
from ..text import quoted

if TYPE_CHECKING:
    from ..database import Database

_TYPES: Mapping[int, tuple[str, str]] = {
    16: ("bool", "BOOLEAN"),
    20: ("int64", "BIGINT"),
    21: ("int16", "SMALLINT"),
    23: ("int32", "INTEGER"),
    700: ("float32", "REAL"),
    701: ("float64", "DOUBLE"),
    1082: ("date32", "DATE"),
    1114: ("timestamp[us]", "TIMESTAMP"),
    1184: ("timestamp[us, tz=UTC]", "TIMESTAMPTZ"),
}
_NUMERIC = 1700
_DIGITS = 38


def types_of(column: Mapping[str, Any]) -> tuple[str, str]:
    """The type of a column here, for `create_table` and for SQL.

    >>> types_of({"type": 1700, "modifier": (12 << 16 | 2) + 4}), types_of({"type": 2950})
    (('decimal128(12, 2)', 'DECIMAL(12, 2)'), ('string', 'VARCHAR'))
    """
    if column["type"] == _NUMERIC:
        digits, scale = _DIGITS, 10
        if column["modifier"] >= 4:
            digits, scale = (column["modifier"] - 4) >> 16, (column["modifier"] - 4) & 0x7FF
        if scale > digits or digits > _DIGITS:
            return "string", "VARCHAR"
        return f"decimal128({digits}, {scale})", f"DECIMAL({digits}, {scale})"
    return _TYPES.get(column["type"], ("string", "VARCHAR"))


def matching(con: Any, patterns: Sequence[str]) -> dict[str, str]:
    """The tables that patterns name, each with the name of the table that it fills.

    Raises:
        InvalidValueError: A pattern without a table, or two tables of one name.
    """
    there = [
        (space, name)
        for space, name in con.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition "
            "AND c.relpersistence = 'p' AND n.nspname !~ '^pg_' "
            "AND n.nspname <> 'information_schema' ORDER BY 1, 2"
        ).fetchall()
    ]
    found: dict[str, str] = {}
    for pattern in patterns:
        whole = pattern if "." in pattern else f"public.{pattern}"
        named = [each for each in there if fnmatchcase(".".join(each), whole)]
        if not named:
            raise InvalidValueError(f"tables={[pattern]!r}: PostgreSQL has no such table")
        found.update({f"{space}.{name}": name for space, name in named})
    for source, name in found.items():
        twice = [other for other, taken in found.items() if taken == name and other != source]
        if twice:
            raise InvalidValueError(
                f"tables {quoted(source)} and {quoted(twice[0])} would both fill table "
                f"{quoted(name)}; give tables= as a mapping"
            )
    return found


def create_tables(
    db: Database,
    tables: Mapping[str, str],
    facts: Mapping[str, Mapping[str, Any]],
    ignore: Sequence[str],
) -> None:
    """Make the tables that are not there, with the columns and the key of PostgreSQL's.

    Raises:
        InvalidValueError: A table that PostgreSQL has not.
    """
    for source, name in tables.items():
        if name in db.tables:
            continue
        found = facts[source]
        if found["oid"] is None:
            raise InvalidValueError(f"PostgreSQL has no table {quoted(source)}")
        columns = {
            column: types_of(each)[0] + ("" if each["nullable"] else " not null")
            for column, each in found["columns"].items()
            if not each["generated"] and column not in ignore
        }
        key = found["key"] if all(column in columns for column in found["key"]) else []
        db.create_table(name, columns, unique=key or None)


def add_columns(
    db: Database, table: str, facts: Mapping[str, Any], ignore: Sequence[str]
) -> list[str]:
    """Add to a table here the columns that it lacks; their names."""
    names = db.tables[table].schema.names
    added = [
        name
        for name, column in facts["columns"].items()
        if name not in names and name not in ignore and not column["generated"]
    ]
    for name in added:
        kind = types_of(facts["columns"][name])[1]
        db.execute(f"ALTER TABLE {quoted_name(table)} ADD COLUMN {quoted_name(name)} {kind}")
    return added


def qualified(table: str) -> str:
    """The name of a table with its schema, in SQL.

    >>> qualified("public.a b")
    '"public"."a b"'
    """
    return ".".join(map(quoted_name, table.split(".", 1)))


def quoted_name(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
