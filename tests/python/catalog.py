"""Tables to write SQL over, and what it is translated to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from ringview.queries import Definition

CATALOG = {
    "r": pa.schema({"a": pa.int64(), "b": pa.int64(), "x": pa.float64(), "d": pa.date32()}),
    "s": pa.schema({"b": pa.int64(), "c": pa.string(), "ok": pa.bool_()}),
    "t": pa.schema({"c": pa.string(), "a": pa.int32(), "at": pa.timestamp("us")}),
    "Mixed": pa.schema(
        {"Key": pa.int64(), "key": pa.int64(), "Zone": pa.timestamp("us", tz="UTC")}
    ),
    "dict": pa.schema({"word": pa.dictionary(pa.int32(), pa.string()), "größe": pa.int64()}),
}


def translate(sql: str, catalog: Mapping[str, pa.Schema], **more: Any) -> dict[str, Any]:
    return Definition(sql, **more).query(catalog)


def query(sql: str, **more: Any) -> dict[str, Any]:
    return translate(sql, CATALOG, **more)
