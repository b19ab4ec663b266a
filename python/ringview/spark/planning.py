"""What the driver needs to know of views before any row moves.

Invariant: the engine itself, over empty tables, says what is refused and what the types of a result
are, so that the driver and the workers cannot disagree. Cost: that of planning; no data is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ringview import _native
from ringview.errors import ExistsError, QueryError, RingviewError, UnknownColumnError
from ringview.queries import only_joins, tables_of, translate
from ringview.spark.place import Catalog
from ringview.spark.types import shown
from ringview.spark.variables import Query, queries


class Planner:
    """The schemas of the tables, and what follows from them."""

    def __init__(self) -> None:
        self.schemas: dict[str, pa.Schema] = {}
        self._refused: list[str] = []

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
        for name in _in_order(views, self.schemas):
            try:
                query = self._translated(views[name], catalog)
            except RingviewError as error:
                raise _of_view(name, error) if len(views) > 1 else error from None
            if query.get("bag", {}).get("distinct"):
                # Cells find groups, which others add to.
                del query["bag"]
            found[name] = _over_tables(name, query, found, taken)
            catalog[name], _ = self.result(found[name], self.schemas)
        return {name: found[name] for name in views}

    def _translated(self, sql: str, catalog: Mapping[str, pa.Schema]) -> Query:
        try:
            return only_joins(translate(sql, catalog, only_joins=True), "Spark")
        except UnknownColumnError as error:
            if self._refused:
                error.add_note(
                    "Left out, for ringview does not hold their types: " + ", ".join(self._refused)
                )
            raise

    def result(self, query: Query, schemas: Mapping[str, pa.Schema]) -> tuple[pa.Schema, pa.Schema]:
        """The columns of a query's result over tables of these columns, and of its parts."""
        database = _native.Database(trust_deletes=True)
        for name in tables_below(query):
            database.create_table(name, schemas[name], None, False)
        view = "result"
        while view in schemas:
            view += "'"
        database.create_view(view, json.dumps(query))
        columns = pa.table(database.view_result(view)).schema
        result = pa.schema([pa.field(field.name, shown(field.type)) for field in columns])
        return result, pa.schema(database.partial_schema(view)).remove_metadata()


def tables_below(query: Query) -> list[str]:
    """The tables that a query reads, or a block that it has."""
    blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
    named = [name for one in (query, *blocks.values()) for name in tables_of(one)]
    return [name for name in dict.fromkeys(named) if name not in blocks]


def catalog_of(query: Query, tables: Mapping[str, pa.Schema]) -> Catalog:
    """What the atoms of a query read: tables, and its blocks."""
    blocks = {block["name"]: block["query"] for block in query.get("blocks", ())}
    catalog = Catalog(tables, blocks)
    for name, block in blocks.items():
        below = [(table, catalog.schemas[table]) for table in dict.fromkeys(tables_of(block))]
        catalog.schemas[name] = pa.schema(_native.output_schema(json.dumps(block), below))
    return catalog


def _of_view(name: str, error: RingviewError) -> RingviewError:
    named = type(error)(f"view {name!r}: {error}")
    for note in getattr(error, "__notes__", ()):
        named.add_note(note)
    return named


def _in_order(views: Mapping[str, str], tables: Mapping[str, Any]) -> Iterator[str]:
    """The views, each behind those that it reads."""
    if both := [name for name in views if name in tables]:
        raise ExistsError(f"{both[0]!r} is a table and a view; give one of them another name")
    known = {name.lower(): name for name in views}
    left = {
        name: {known[one.lower()] for one in _native.tables_named(sql) if one.lower() in known}
        - {name}
        for name, sql in views.items()
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
