"""DuckDB as the oracle: the same SQL over the same rows, computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa


class Oracle:
    """Tables of rows in DuckDB that a test fills and queries."""

    def __init__(self, schemas: Mapping[str, pa.Schema]) -> None:
        self.schemas = schemas
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'")
        # Content of each table now: passing rows takes longer than most queries of them.
        self._held: dict[str, str] = {}

    def query(self, sql: str, tables: Mapping[str, list[dict[str, Any]]]) -> pa.Table:
        """The result of `sql` over `tables`."""
        for name, schema in self.schemas.items():
            rows = tables.get(name, [])
            # Equal values may differ in their text, as 0.0 and -0.0, and then they look different.
            shown = repr(rows)
            if self._held.get(name) != shown:
                self.connection.register(name, pa.Table.from_pylist(rows, schema=schema))
                self._held[name] = shown
        return self.connection.sql(sql).to_arrow_table()

    def rows(self, sql: str, tables: Mapping[str, list[dict[str, Any]]]) -> list[tuple[Any, ...]]:
        """The rows of the result in a comparable form."""
        return comparable(self.query(sql, tables))


def comparable(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows without order: sorted, numbers in one form whatever their Arrow type."""
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    rows = list(zip(*columns, strict=True)) if columns else []
    return sorted(rows, key=repr)


def _plain(value: Any) -> Any:
    """Integers and decimals by value, floats to nine digits (sums may be added in any order).

    NaN equals NaN here, and a float that is as good as zero is zero.
    """
    from decimal import Decimal

    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        if value != value:
            return "NaN"
        if abs(value) < 1e-12:
            return 0.0
        return float(f"{value:.9g}") + 0.0
    if isinstance(value, (int, Decimal)):
        return Decimal(value).normalize() + 0
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def plain_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Python rows in the form of `comparable`."""
    return sorted((tuple(_plain(value) for value in row) for row in rows), key=repr)
