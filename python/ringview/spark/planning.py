"""What the driver needs to know of a query before any row moves.

Invariant: the engine itself, over empty tables, says what is refused and what the
types of a result are, so that the driver and the workers cannot disagree.
Cost: that of planning; no data is touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa

from ringview._native import Database
from ringview.errors import UnknownColumnError, UnsupportedError
from ringview.spark.route import Query
from ringview.sql import translate


class Planner:
    """The schemas of a query's tables, and what follows from them."""

    def __init__(self) -> None:
        self._schemas: dict[str, pa.Schema] = {}
        self._refused: list[str] = []

    def __repr__(self) -> str:
        return f"Planner({', '.join(self._schemas)})"

    def create_table(
        self, name: str, schema: pa.Schema, multiplicity: str | None, refused: Sequence[str]
    ) -> None:
        """A table, without its multiplicity; ``refused`` are columns of unsupported types."""
        self._schemas[name] = pa.schema([field for field in schema if field.name != multiplicity])
        self._refused += [f"{name}.{column}" for column in refused]

    def schema(self, name: str) -> pa.Schema:
        """The columns of a table."""
        return self._schemas[name]

    def query(self, sql: str) -> Query:
        """The logical query that ``sql`` means."""
        try:
            query = translate(sql, self._schemas)
        except UnknownColumnError as error:
            if self._refused:
                error.add_note(
                    "Left out, for ringview does not hold their types: " + ", ".join(self._refused)
                )
            raise
        if "blocks" in query:
            name = query["blocks"][0]["name"]
            raise UnsupportedError(
                "WITH and subqueries are not run on Spark: an engine sees the rows of a partition, "
                "and what reads a subquery needs all of its rows; evaluate the inner SELECT first, "
                f"and give its DataFrame as a table: tables={{**tables, {name!r}: inner}}"
            )
        if "condition" in query:
            raise UnsupportedError(
                "conditions that compare columns of several tables, or with subqueries, are not "
                "run on Spark: an engine sees the rows of a partition, and what is compared needs "
                "all of its rows; keep the view in a ringview.Database"
            )
        if query.get("bag", {}).get("distinct"):
            # Partitions find groups, which others add to.
            del query["bag"]
        return query

    def result(self, query: Query) -> pa.Schema:
        """The columns of the query's result."""
        database = Database(trust_deletes=True)
        for name, schema in self._schemas.items():
            database.create_table(name, schema, None, False)
        database.create_view("result", json.dumps(query))
        return pa.table(database.view_result("result")).schema.remove_metadata()
