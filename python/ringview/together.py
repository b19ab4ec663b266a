"""Views that are created together: planned one by one, and handed on as many at a time as can be.

Invariant: what is handed on reads only what is there by then. Cost: a plan a view, and one more for
each that reads one of those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import _native
from .errors import TypeMismatchError, UnknownTableError
from .queries import Definition, Parameters, Refresh

# The name, the query, the SQL, and the engine that was asked for.
Planned = tuple[str, str, str, str | None]


def planned(
    database: _native.Database,
    views: Mapping[str, str],
    engine: str | None,
    parameters: Parameters | None,
    dialect: str,
    refresh: Refresh,
) -> Iterator[list[Planned]]:
    """Lists of views, each to be created before the next is asked for."""

    def kept(query: str) -> str:
        database.plan(query, "json", engine)
        return query

    pending: list[Planned] = []
    for name, sql in views.items():
        if not isinstance(sql, str):
            raise TypeMismatchError(f"the SQL of view {name!r} is a text, not {sql!r}")
        of = Definition(sql, parameters=parameters, dialect=dialect, refresh=refresh)
        try:
            query = of.kept(database, None, kept)
        except UnknownTableError:
            # It may read one of those before it.
            if not pending:
                raise
            yield pending
            pending = []
            query = of.kept(database, None, kept)
        pending.append((name, query, sql, engine))
    yield pending
