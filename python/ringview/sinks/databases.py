"""SQLite and PostgreSQL as sinks.

Invariant: a value is written as it is, or as text where the database has no type for it. Cost: that
of the statements.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..extras import load
from ..masking import masking
from .sql import Dialect, SqlSink, nested

if TYPE_CHECKING:
    import pyarrow as pa


def sqlite(
    path: str | os.PathLike[str], table: str, *, key: str | Sequence[str] | None = None
) -> SqlSink:
    """A table in a file of SQLite: the view as it is, or the log of its changes.

    Args:
        path: The file, which is made if it is not there.
        table: The table, which is made if it is not there.
        key: Columns of which no two rows of the view agree, such as those of its GROUP BY: the
            table then has the view's rows. Without it rows are appended, with their multiplicity
            and a column `ringview_batch`.

    Decimals that are no whole numbers of 64 bits, dates and times are texts, lists and structs
    JSON, NaN the text 'NaN'.

    Raises, when changes are sent:
        CheckpointError: The table has rows of somebody else, or of another sender.
        InvalidValueError: Two rows with the same key.
        sqlite3.Error: What SQLite raises; the batch is sent again with the next step.

    Complexity: two statements a row that moved, one transaction a batch.

    >>> import sqlite3
    >>> import tempfile
    >>> import ringview as rv
    >>> from ringview import sinks
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = folder.name + "/log.sqlite"
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> _ = db.create_view("v", "SELECT SUM(a) AS a FROM r")
    >>> sender = sinks.Sender(db, {"v": sinks.sqlite(file, "log")})
    >>> for a in (1, 2):
    ...     db.insert("r", {"a": [a]})
    ...     _ = sender.step()
    >>> sqlite3.connect(file).execute("SELECT * FROM log").fetchall()
    [(1, 1, 1), (1, -1, 2), (3, 1, 2)]
    """
    import sqlite3

    where = os.fspath(path)

    def connect() -> Any:
        # A sender may step in a thread of its own; it does one step at a time.
        return sqlite3.connect(where, isolation_level=None, check_same_thread=False)

    return SqlSink(connect, _SQLITE, table, key, where)


def postgres(connection: str, table: str, *, key: str | Sequence[str] | None = None) -> SqlSink:
    """A table of PostgreSQL: the view as it is, or the log of its changes. Needs psycopg.

    Args:
        connection: How to connect, as psycopg takes it: `"host=.. dbname=.."` or a URL.
        table: The table, maybe with its schema, as in `"public.totals"`; it is made if it is not
            there. One that is there has with a key a unique constraint on it.
        key: As for `sqlite`.

    Sums of integers are NUMERIC, as they may be longer than 64 bits; lists and structs are JSONB.

    Raises:
        MissingExtraError: psycopg is not installed.

    Raises, when changes are sent:
        CheckpointError, InvalidValueError: As `sqlite`.
        psycopg.Error: What PostgreSQL raises; the batch is sent again with the next step.

    Complexity: as `sqlite`.

    >>> from ringview import sinks
    >>> sinks.postgres("dbname=shop", "public.totals", key="customer")
    SqlSink('PostgreSQL', 'public.totals', key=['customer'])
    """
    psycopg = load("psycopg", "sinks.postgres", "postgres")

    def connect() -> Any:
        with masking():
            return psycopg.connect(connection)

    return SqlSink(connect, _POSTGRES, table, key, "PostgreSQL")


def _sqlite_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_decimal(kind) or pa.types.is_uint64(kind):
        # Without a type a number stays a number, and digits that are a text stay one.
        return ""
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return nested(value) if isinstance(value, (list, dict, tuple)) else value


def _postgres_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    is_of = pa.types
    if is_of.is_dictionary(kind):
        return _postgres_type(kind.value_type)
    if is_of.is_uint64(kind) or is_of.is_decimal(kind):
        return "NUMERIC"
    if is_of.is_integer(kind):
        return "BIGINT"
    if is_of.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ"
    plain = [
        (is_of.is_boolean, "BOOLEAN"),
        (is_of.is_floating, "DOUBLE PRECISION"),
        (is_of.is_date, "DATE"),
        (is_of.is_nested, "JSONB"),
    ]
    return next((name for test, name in plain if test(kind)), "TEXT")


def _postgres_value(value: Any) -> Any:
    return nested(value) if isinstance(value, (list, dict, tuple)) else value


_SQLITE = Dialect(
    mark="?",
    begin="BEGIN IMMEDIATE",
    integer="INTEGER",
    text="TEXT",
    type_of=_sqlite_type,
    value_of=_sqlite_value,
    exists="SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?",
    has_schemas=False,
)
_POSTGRES = Dialect(
    mark="%s",
    begin=None,
    integer="BIGINT",
    text="TEXT",
    type_of=_postgres_type,
    value_of=_postgres_value,
    exists="SELECT to_regclass(%s)",
    has_schemas=True,
)
