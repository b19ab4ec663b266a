"""The DuckDB behind the catalogue, which evaluates texts that strangers send.

Invariant: it opens no file and no connection, loads no extension, sees no object of Python and
changes no setting, whatever it is given; these powers are removed before the first text. A text is
executed only as one query that `catalogue_access` lets through, in a transaction that is rolled
back. A query ends soon after the call of its thread is cancelled, and holds up no other one. Memory
that the engine charges is at most `MEMORY`, of all queries together, and a result has at most
`LARGEST` bytes. Cost: a thread and a cursor a query, about a millisecond.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .cancellation import Cancellation
from .catalogue_access import check, check_text
from .codes import SqlStateError

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY = "256MiB"
LARGEST = 64 << 20
"""The most bytes of a result, which the engine does not charge."""
# Powers that are removed from the start; DuckDB takes its settings as texts.
_POWERLESS = {
    "allow_community_extensions": "false",
    "allow_extension_repositories": "forbidden",
    "allow_persistent_secrets": "false",
    "allow_unsigned_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "max_temp_directory_size": "0KiB",
    "memory_limit": MEMORY,
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
    "temp_directory": "",
    "threads": "1",
}
# Seconds between two looks at a cancellation.
_LOOK = 0.02
# Seconds that a query has to end once it is interrupted; one that does not is left to itself.
_PATIENCE = 2.0

Execute = Callable[[str, Sequence[Any]], object]


class CatalogueEngine:
    """An engine whose tables are defined here, and whose queries clients send.

    Args:
        define: Called once with a function that executes a statement and its parameters; makes
            the tables. No setting changes after it returns.

    >>> engine = CatalogueEngine(lambda run: run("CREATE TABLE pg_am (amname varchar)", []))
    >>> engine.query("SELECT count(*) AS n FROM pg_am", []).to_pylist()
    [{'n': 0}]
    >>> engine.query("SELECT * FROM glob('*')", [])
    Traceback (most recent call last):
    ringview.serve.postgres.codes.SqlStateError: function glob() does not exist in the catalogue
    >>> engine.close()
    """

    def __init__(self, define: Callable[[Execute], object]) -> None:
        import duckdb

        self._duckdb = duckdb.connect(":memory:", config=dict(_POWERLESS))
        # Last, for the folder of temporary files cannot be taken away after it.
        self._duckdb.execute("SET enable_external_access = false")
        self._cancellation = Cancellation()
        # As in PostgreSQL, 7 / 2 is 3.
        self._duckdb.execute("SET GLOBAL integer_division = true")
        define(self._duckdb.execute)
        self._duckdb.execute("SET lock_configuration = true")

    def change(self, apply: Callable[[Execute], object]) -> None:
        """Change the tables, in one transaction; queries see all of it or nothing.

        Args:
            apply: Called with a function that executes a statement and its parameters.
        """
        self._duckdb.execute("BEGIN")
        try:
            apply(self._duckdb.execute)
        except BaseException:
            self._duckdb.execute("ROLLBACK")
            raise
        self._duckdb.execute("COMMIT")

    def query(
        self,
        text: str,
        parameters: Sequence[object],
        before: Callable[[Execute], object] | None = None,
    ) -> pa.Table:
        """The rows of a query of a stranger.

        Args:
            text: One query.
            parameters: Values of its parameters.
            before: Called first, with a function that executes a statement; the query alone sees
                what it changes.

        Raises:
            SqlStateError: The text is no query, or has something that is not listed.
            KeyboardInterrupt: The call of this thread was cancelled.
            duckdb.Error: The engine refuses or fails.
        """
        check_text(text)
        cursor = self._duckdb.cursor()
        done = threading.Event()
        found: list[pa.Table | BaseException] = []

        def run() -> None:
            try:
                found.append(_rows(cursor, text, parameters, before))
            except BaseException as problem:
                found.append(problem)
            finally:
                done.set()

        # A thread of its own, so that this one can look. The interpreter does not wait for it.
        threading.Thread(target=run, name="ringview catalogue", daemon=True).start()
        try:
            while not done.wait(_LOOK):
                self._cancellation.check()
        except BaseException:
            cursor.interrupt()
            done.wait(_PATIENCE)
            raise
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    def close(self) -> None:
        """Free it."""
        self._duckdb.close()
        self._cancellation.close()

    def __repr__(self) -> str:
        return "CatalogueEngine()"


def _rows(
    cursor: Any,
    text: str,
    parameters: Sequence[object],
    before: Callable[[Execute], object] | None,
) -> pa.Table:
    import duckdb

    statements = cursor.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise SqlStateError("0A000", "the catalogue answers one query, and no other statement")
    [tree] = cursor.execute("SELECT json_serialize_sql(?::varchar)", [text]).fetchone()
    try:
        parsed = json.loads(tree)
    except RecursionError:
        raise SqlStateError("54001", "the query is nested too deeply") from None
    check(parsed)
    cursor.execute("BEGIN" if before else "BEGIN TRANSACTION READ ONLY")
    try:
        if before:
            before(cursor.execute)
        return _read(cursor.sql(text, params=list(parameters)).to_arrow_reader())
    finally:
        # A result that was not read to its end, too; the transaction is rolled back.
        cursor.close()


def _read(rows: pa.RecordBatchReader) -> pa.Table:
    import pyarrow as pa

    batches, size = [], 0
    with rows:
        for batch in rows:
            size += batch.nbytes
            if size > LARGEST:
                raise SqlStateError(
                    "54000", f"a result of the catalogue has at most {LARGEST} bytes", "add LIMIT"
                )
            batches.append(batch)
    return pa.Table.from_batches(batches, rows.schema)
