"""Planning of views on the driver, before any row moves.

Invariant: the engine itself, over empty tables, says what is refused and what the types of a result
are, so that the driver and the workers cannot disagree. Cost: that of planning; no data is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ringview import _native
from ringview.errors import (
    ExistsError,
    InvalidValueError,
    QueryError,
    RingviewError,
    UnknownColumnError,
    UnsupportedError,
)
from ringview.queries import Definition, Parameters, tables_of
from ringview.spark.cell_query import Catalog
from ringview.spark.variables import Query, queries
from ringview.text import quoted

# The forms of a text, best first: joins with conditions, which lie in one grid; then what a
# database keeps.
_FORMS: tuple[Mapping[str, bool], ...] = ({"only_joins": True}, {}, {"in_blocks": True})


class Planner:
    """The schemas of the tables, the moment that clocks are at, and what follows from them.

    `parameters` and `dialect` are those of every text.
    """

    def __init__(
        self,
        now: int | None = None,
        parameters: Parameters | None = None,
        dialect: str = "duckdb",
    ) -> None:
        self.schemas: dict[str, pa.Schema] = {}
        self.now = now
        self._parameters, self._dialect = parameters, dialect
        self._refused: list[str] = []
        self._meant: dict[str, tuple[Definition, str]] = {}
        self._results: dict[tuple[str, tuple[pa.Schema, ...]], pa.Schema] = {}

    def __repr__(self) -> str:
        return f"Planner({', '.join(self.schemas)})"

    def create_table(
        self, name: str, schema: pa.Schema, multiplicity: str | None, refused: Sequence[str]
    ) -> None:
        """A table, without its multiplicity; ``refused`` are columns of unsupported types."""
        self.schemas[name] = pa.schema([field for field in schema if field.name != multiplicity])
        self._refused += [f"{name}.{column}" for column in refused]

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table."""
        return self.schemas[name]

    def queries(self, views: Mapping[str, str]) -> dict[str, Query]:
        """The logical queries of views, which may read each other, each over tables and blocks."""
        catalog = dict(self.schemas)
        found: dict[str, Query] = {}
        # One name means one query in all views: a block that two read is found once.
        taken = {*catalog, *views}
        for name in _in_order(views, self.schemas, self._dialect):
            try:
                found[name], catalog[name] = self._query(name, views[name], catalog, found, taken)
            except RingviewError as error:
                raise _of_view(name, error) if len(views) > 1 else error from None
        return {name: found[name] for name in views}

    def _query(
        self,
        name: str,
        sql: str,
        catalog: Mapping[str, pa.Schema],
        views: Mapping[str, Query],
        taken: set[str],
    ) -> tuple[Query, pa.Schema]:
        """The best form of a view that engines take, and its columns."""
        refusal: UnsupportedError | None = None
        for form in _FORMS:
            try:
                query = self._translated(sql, catalog, form)
                if form.get("only_joins") and computes_rows(query):
                    continue
                if query.get("bag", {}).get("distinct"):
                    # Cells find groups, which others add to.
                    del query["bag"]
                names = {*taken}
                made = _over_tables(name, query, views, names)
                columns = self.result(made, self.schemas)
            except UnsupportedError as error:
                refusal = refusal or error
            else:
                taken |= names
                return made, columns
        assert refusal is not None
        raise refusal

    def once(self, sql: str) -> tuple[Definition, pa.Schema] | None:
        """Definition and columns of a query for one engine with all rows; None if unsupported."""
        definition = self._definition(sql)
        read = self.named(sql, self.schemas)
        try:
            found = self._database(read, self.schemas).evaluate(definition.native())
        except UnsupportedError:
            return None
        return definition, pa.table(found).schema.remove_metadata()

    def means_the_same(self, sql: str, read: Mapping[str, pa.Schema]) -> bool:
        """Whether a text means over these columns what it means over all: it may have a `*`."""
        definition, meant = self._meant[sql]
        try:
            return bool(definition.query(read) == json.loads(meant))
        except RingviewError:
            return False

    def named(self, sql: str, among: Iterable[str]) -> set[str]:
        """Those of some names that a text has in FROM."""
        found = {name.lower() for name in _native.tables_named(sql, self._dialect)}
        return {name for name in among if name.lower() in found}

    def _definition(self, sql: str, **form: bool) -> Definition:
        return Definition(
            sql,
            parameters=self._parameters,
            dialect=self._dialect,
            in_blocks=form.get("in_blocks", False),
            only_joins=form.get("only_joins", False),
        )

    def _translated(
        self, sql: str, catalog: Mapping[str, pa.Schema], form: Mapping[str, bool]
    ) -> Query:
        definition = self._definition(sql, **form)
        try:
            query = definition.query(catalog)
        except UnknownColumnError as error:
            if self._refused:
                error.add_note(
                    "Left out, for ringview does not hold their types: " + ", ".join(self._refused)
                )
            raise
        self._meant[sql] = definition, json.dumps(query)
        if self.now is None and any(kind_of(one) == "timed" for one in all_of(query)):
            raise InvalidValueError(
                "now() needs a moment, and Spark's clocks are not asked: say it, such as "
                "now='2026-03-09T12:00:00' or now=datetime.now(UTC)"
            )
        return query

    def result(self, query: Query, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
        """The columns of a query's result over tables of these columns; found once for each."""
        below = {name: schemas[name] for name in tables_below(query)}
        key = (json.dumps(query), tuple(below.values()))
        if key not in self._results:
            self._results[key] = self._result(query, below)
        return self._results[key]

    def _result(self, query: Query, below: Mapping[str, pa.Schema]) -> pa.Schema:
        if kind_of(query) == "map" and not query.get("blocks"):
            return pa.schema(_native.output_schema(json.dumps(query), [*below.items()]))
        database, view = self._view(query, below)
        return pa.table(database.view_result(view)).schema.remove_metadata()

    def partial(self, query: Query, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
        """The columns of the parts of its groups."""
        database, view = self._view(query, schemas)
        return pa.schema(database.partial_schema(view)).remove_metadata()

    def _view(self, query: Query, schemas: Mapping[str, pa.Schema]) -> tuple[_native.Database, str]:
        """A query as a view over empty tables."""
        database = self._database(tables_below(query), schemas)
        view = "result"
        while view in schemas:
            view += "'"
        database.create_view_of(view, json.dumps(query))
        return database, view

    def _database(
        self, tables: Iterable[str], schemas: Mapping[str, pa.Schema]
    ) -> _native.Database:
        """Empty tables."""
        database = _native.Database(trust_deletes=True)
        if self.now is not None:
            database.apply([("", "advance", self.now)])
        for name in tables:
            database.create_table(name, schemas[name], None, False)
        return database


def kind_of(query: Query) -> str | None:
    """The kind of row computation of a query; None if it is one of joins and groups."""
    return (query.get("rows") or {}).get("kind")


def all_of(query: Query) -> list[Query]:
    """The blocks of a query, and it."""
    return [*(block["query"] for block in query.get("blocks", ())), query]


def computes_rows(query: Query) -> bool:
    """Whether a part of a query is computed row by row, or in an order."""
    return any(kind_of(one) is not None for one in all_of(query))


def tables_below(query: Query) -> list[str]:
    """The tables that a query reads, or a block that it has."""
    blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
    named = [name for one in (query, *blocks.values()) for name in tables_of(one)]
    return [name for name in dict.fromkeys(named) if name not in blocks]


def catalog_of(query: Query, tables: Mapping[str, pa.Schema]) -> Catalog:
    """Relations that the atoms of a query read: tables, and its blocks."""
    blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
    catalog = Catalog(tables, blocks)
    for name, block in blocks.items():
        below = [(table, catalog.schemas[table]) for table in dict.fromkeys(tables_of(block))]
        catalog.schemas[name] = pa.schema(_native.output_schema(json.dumps(block), below))
    return catalog


def _of_view(name: str, error: RingviewError) -> RingviewError:
    named = type(error)(f"view {quoted(name)}: {error}")
    for note in getattr(error, "__notes__", ()):
        named.add_note(note)
    return named


def _in_order(views: Mapping[str, str], tables: Mapping[str, Any], dialect: str) -> Iterator[str]:
    """The views, each behind those that it reads."""
    if both := [name for name in views if name in tables]:
        raise ExistsError(f"{quoted(both[0])} is a table and a view; give one of them another name")
    known = {name.lower(): name for name in views}
    named = {name: _native.tables_named(sql, dialect) for name, sql in views.items()}
    left = {
        name: {known[one.lower()] for one in read if one.lower() in known} - {name}
        for name, read in named.items()
    }
    while left:
        ready = [name for name, reads in left.items() if not reads & {*left}]
        if not ready:
            raise QueryError(f"the views {', '.join(left)} read each other in a circle")
        for name in ready:
            del left[name]
            yield name


def _over_tables(name: str, query: Query, views: Mapping[str, Query], taken: set[str]) -> Query:
    """A query with the views that it reads as blocks, under names that no other block has."""
    own = {block["name"]: block["query"] for block in query.get("blocks", ())}
    renamed = {block: _unlike(block, name, taken) for block in own}
    blocks: dict[str, Query] = {}
    for one in (*own.values(), query):
        for read in tables_of(one):
            if read in views and read not in blocks:
                blocks |= {block["name"]: block["query"] for block in views[read].get("blocks", ())}
                blocks[read] = {k: v for k, v in views[read].items() if k != "blocks"}
    blocks |= {renamed[block]: reading(one, renamed) for block, one in own.items()}
    made = reading({k: v for k, v in query.items() if k != "blocks"}, renamed)
    if not blocks:
        return made
    listed = [{"name": block, "query": one} for block, one in blocks.items()]
    return {"blocks": listed, **made}


def _unlike(block: str, view: str, taken: set[str]) -> str:
    name = block if block not in taken else f"{block} of {view}"
    taken.add(name)
    return name


def reading(query: Query, names: Mapping[str, str]) -> Query:
    """A query whose atoms read what has other names."""
    made: Query = json.loads(json.dumps(query))
    for _, one in queries(made):
        for atom in one["atoms"]:
            atom["table"] = names.get(atom["table"], atom["table"])
    return made
