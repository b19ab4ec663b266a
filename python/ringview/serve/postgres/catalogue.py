"""PostgreSQL's catalogue of a database: its tables and views, their columns, types and keys.

An engine in memory holds it as tables of the names that PostgreSQL has, and evaluates the queries
of clients (`catalogue_engine`). Nothing but names and types is in there.

Invariant: it is as the database was at the query; the number of a table or view is the same as long
as the server lives. Cost: O(tables + views) to see whether it still is; a rebuild, some ten
milliseconds and O(columns), after a definition; the engine's time for a query, some milliseconds,
in which it holds up no other query.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _native
from ...errors import UnsupportedError
from .catalogue_access import BOUNDED
from .catalogue_engine import CatalogueEngine, Execute
from .layout import INFORMATION, MACROS, TABLES, VIEWS
from .pg_types import FUNCTIONS, PG_TYPES, TYPES, functions
from .rewriting import rewritten
from .tokens import Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from ...database import Database

_PUBLIC = 2200
_FIRST = 16384
_TEXT = ("text_of", "text_part", "d")
_TEXTS = ("constraint_texts", "index_texts", "view_texts")
# Tables that a definition changes.
_CHANGING = (
    *("pg_class", "pg_attribute", "pg_index", "pg_constraint"),
    *("pg_views", "pg_tables", "pg_indexes"),
    *_TEXTS,
)


class _Relation(NamedTuple):
    """A table or a view, as the catalogue has it."""

    kind: str
    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    sql: str | None


class Catalogue:
    """The catalogue of one database.

    >>> import ringview as rv
    >>> from ringview.serve.postgres.tokens import pieces
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> catalogue = Catalogue(db, "main", {})
    >>> [query] = pieces("SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r'")
    >>> catalogue.query(query, [], "me").to_pylist()
    [{'relname': 'r'}]
    """

    def __init__(self, db: Database, name: str, settings: dict[str, str]) -> None:
        if find_spec("duckdb") is None:
            raise UnsupportedError(
                "the catalogue that clients of PostgreSQL ask for needs DuckDB: "
                "pip install 'ringview[serve]'"
            )
        self._db = db
        self._lock = threading.Lock()
        self._numbers: dict[tuple[str, str], int] = {}
        self._known: list[_Relation] | None = None
        self._name = name
        self._settings = settings
        # Made at the first query.
        self._engine: CatalogueEngine | None = None

    def query(
        self,
        piece: Piece,
        parameters: Sequence[object],
        user: str,
        settings: Mapping[str, str] | None = None,
        cursors: Sequence[tuple[str, str, bool, bool]] = (),
    ) -> pa.Table:
        """The rows of a query of a user with settings and cursors; raises what DuckDB does."""
        text = rewritten(piece, user, settings)
        with self._lock:
            self._refresh()
            engine = self._started
        fill = None
        if "pg_cursors" in piece.words:
            of = ("name", "statement", "is_holdable", "is_scrollable")
            fill = partial(_fill, table="pg_cursors", columns=of, rows=cursors)
        found = engine.query(text, parameters, fill)
        names = [_shown(name, piece.text) for name in found.column_names]
        return found.rename_columns(names)

    def close(self) -> None:
        """Free it."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()

    @property
    def _started(self) -> CatalogueEngine:
        if self._engine is None:
            self._engine = CatalogueEngine(self._define)
        return self._engine

    def _define(self, run: Execute) -> None:
        for type_name, of in TYPES.items():
            run(f"CREATE TYPE {type_name} AS {of}", [])
        for table, columns in TABLES.items():
            run(f"CREATE TABLE {table} ({columns})", [])
        run("CREATE TABLE type_names (type_number bigint, shown varchar)", [])
        for table in _TEXTS:
            run(f"CREATE TABLE {table} (text_of bigint, text_part integer, d varchar)", [])
        for macro, forms in {**MACROS, **BOUNDED}.items():
            run(f"CREATE MACRO {macro}" + ", ".join(forms), [])
        run("CREATE MACRO version() AS $v$" + self._settings.get("version", "") + "$v$", [])
        quoted = self._name.replace("'", "''")
        run(f"CREATE MACRO current_database() AS '{quoted}'", [])
        run(f"CREATE SCHEMA {INFORMATION}", [])
        for view, query in VIEWS.items():
            run(f"CREATE VIEW {INFORMATION}.{view} AS {query}", [])
        named = [(11, "pg_catalog"), (_PUBLIC, "public"), (13000, "information_schema")]
        _fill(run, "pg_namespace", ("oid", "nspname"), named)
        arrays = {item: oid for oid, _, _, _, _, item in PG_TYPES if item}
        types = [
            (oid, type_name, category, size, item, arrays.get(oid, 0), *functions(type_name))
            for oid, type_name, _, category, size, item in PG_TYPES
        ]
        of_type = ("oid", "typname", "typcategory", "typlen", "typelem", "typarray", *FUNCTIONS)
        _fill(run, "pg_type", of_type, types)
        _fill(run, "type_names", ("type_number", "shown"), [(t[0], t[2]) for t in PG_TYPES])
        _fill(run, "pg_am", ("oid", "amname", "amtype"), [(2, "heap", "t"), (403, "btree", "i")])
        _fill(run, "pg_roles", ("oid", "rolname"), [(10, "ringview")])
        _fill(run, "pg_database", ("oid", "datname"), [(5, self._name)])
        _fill(run, "pg_collation", ("oid", "collname"), [(100, "default"), (950, "C")])
        _fill(run, "pg_settings", ("name", "setting"), list(self._settings.items()))

    def _number(self, kind: str, name: str) -> int:
        return self._numbers.setdefault((kind, name), _FIRST + len(self._numbers))

    def _refresh(self) -> None:
        relations = [
            _Relation("r", table.name, table.schema, tuple(table.unique or ()), None)
            for table in self._db.tables.values()
        ]
        relations += [
            _Relation("v", view.name, view.schema, (), view.sql) for view in self._db.views.values()
        ]
        if relations == self._known:
            return

        def put(run: Execute) -> None:
            for table in _CHANGING:
                run(f"DELETE FROM {table}", [])
            self._put_relations(run, relations)
            self._put_keys(run, [relation for relation in relations if relation.key])

        self._started.change(put)
        self._known = relations

    def _put_relations(self, run: Execute, relations: list[_Relation]) -> None:
        classes, columns = [], []
        for kind, name, schema, key, _ in relations:
            number = self._number(kind, name)
            classes.append((number, name, kind, len(schema), bool(key), 2 if kind == "r" else 0))
            types = _native.postgres_types(schema)
            for at, (field, (oid, size, modifier)) in enumerate(zip(schema, types, strict=True), 1):
                of = (number, field.name, oid, size, at, modifier, not field.nullable)
                columns.append(of)
        of_class = ("oid", "relname", "relkind", "relnatts", "relhasindex", "relam")
        _fill(run, "pg_class", of_class, classes)
        of_column = (
            "attrelid",
            "attname",
            "atttypid",
            "attlen",
            "attnum",
            "atttypmod",
            "attnotnull",
        )
        _fill(run, "pg_attribute", of_column, columns)
        views = [(r.name, r.sql or "") for r in relations if r.kind == "v"]
        shown = [("public", name, "ringview", f"{sql};") for name, sql in views]
        _fill(run, "pg_views", ("schemaname", "viewname", "viewowner", "definition"), shown)
        texts = [(self._number("v", name), 0, f" {sql};") for name, sql in views]
        _fill(run, "view_texts", _TEXT, texts)
        tables = [("public", r.name, "ringview", bool(r.key)) for r in relations if r.kind == "r"]
        of_table = ("schemaname", "tablename", "tableowner", "hasindexes")
        _fill(run, "pg_tables", of_table, tables)

    def _put_keys(self, run: Execute, relations: list[_Relation]) -> None:
        for _, name, schema, key, _ in relations:
            table, index = self._number("r", name), f"{name}_pkey"
            number, constraint = self._number("i", index), self._number("c", index)
            places = [schema.names.index(column) + 1 for column in key]
            shown = ", ".join(_quoted(column) for column in key)
            _fill(
                run,
                "pg_class",
                ("oid", "relname", "relkind", "relnatts", "relam"),
                [(number, index, "i", len(key), 403)],
            )
            _fill(
                run,
                "pg_index",
                ("indexrelid", "indrelid", "indnatts", "indnkeyatts", "indkey", "indoption"),
                [(number, table, len(key), len(key), places, [0] * len(key))],
            )
            _fill(
                run,
                "pg_constraint",
                ("oid", "conname", "conrelid", "conindid", "conkey"),
                [(constraint, index, table, number, places)],
            )
            types = _native.postgres_types(schema)
            parts = [
                (number, column, *types[at - 1], i, True)
                for i, (column, at) in enumerate(zip(key, places, strict=True), 1)
            ]
            _fill(
                run,
                "pg_attribute",
                ("attrelid", "attname", "atttypid", "attlen", "atttypmod", "attnum", "attnotnull"),
                parts,
            )
            made = (
                f"CREATE UNIQUE INDEX {_quoted(index)} ON public.{_quoted(name)} "
                f"USING btree ({shown})"
            )
            _fill(
                run,
                "pg_indexes",
                ("schemaname", "tablename", "indexname", "indexdef"),
                [("public", name, index, made)],
            )
            texts = [(number, 0, made), *((number, i, _quoted(c)) for i, c in enumerate(key, 1))]
            _fill(run, "index_texts", _TEXT, texts)
            keyed = (constraint, 0, f"PRIMARY KEY ({shown})")
            _fill(run, "constraint_texts", _TEXT, [keyed])

    def __repr__(self) -> str:
        return f"Catalogue(relations={len(self._known or ())})"


def _fill(run: Execute, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows into a table."""
    if rows:
        marks = "(" + ", ".join("?" for _ in columns) + ")"
        all_marks = ", ".join(marks for _ in rows)
        into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES {all_marks}"
        run(into, [value for row in rows for value in row])


def _quoted(name: str) -> str:
    plain = name.replace("_", "a").isalnum() and name == name.lower() and not name[0].isdigit()
    return name if plain else '"' + name.replace('"', '""') + '"'


def _shown(name: str, text: str) -> str:
    """The name of a column that has none of its own, as in PostgreSQL: that of its function."""
    if name.isidentifier() or f'"{name}"' in text:
        return name
    called = re.match(r"(\w+)\(", name)
    if called is not None and called[1] != "CAST":
        return called[1]
    return "case" if name.startswith("CASE ") else "?column?"
