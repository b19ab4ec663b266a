"""Debezium's messages as rows: with their schemas and without."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
import ringview as rv
from ringview import errors, sources
from ringview.sources.values import Epoch

Row = dict[str, Any]


def envelope(op: str, before: Row | None = None, after: Row | None = None, **beside: Any) -> str:
    return json.dumps({"before": before, "after": after, "op": op, "ts_ms": 1, **beside})


def with_schema(op: str, row: Row, fields: list[Row]) -> str:
    sides = [{"type": "struct", "fields": fields, "field": side} for side in ("before", "after")]
    side = "before" if op == "d" else "after"
    payload = {"before": None, "after": None, "op": op, side: row}
    return json.dumps({"schema": {"type": "struct", "fields": sides}, "payload": payload})


def base64_of(number: int) -> str:
    length = (number.bit_length() + 8) // 8
    return base64.b64encode(number.to_bytes(length, "big", signed=True)).decode()


FIELDS: list[Row] = [
    {"field": "id", "type": "int64"},
    {
        "field": "price",
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "12"},
    },
    {"field": "any", "type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
    {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
    {"field": "ms", "type": "int64", "name": "io.debezium.time.Timestamp"},
    {"field": "us", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    {"field": "ns", "type": "int64", "name": "io.debezium.time.NanoTimestamp"},
    {"field": "zoned", "type": "string", "name": "io.debezium.time.ZonedTimestamp"},
    {"field": "text", "type": "string"},
    {"field": "flag", "type": "boolean"},
]
NOON = datetime(2026, 3, 9, 12)
NOON_US = 1_773_057_600_000_000
WHOLE: Row = {
    "id": 7,
    "price": base64_of(-1234),
    "any": {"scale": 3, "value": base64_of(1500)},
    "day": 20521,
    "ms": NOON_US // 1000,
    "us": NOON_US,
    "ns": NOON_US * 1000,
    "zoned": "2026-03-09T14:00:00+02:00",
    "text": "ü",
    "flag": True,
}


def test_values_become_what_their_schema_says() -> None:
    db = rv.Database()
    types = {
        **{"id": "int64 not null", "price": "decimal128(12, 2)", "any": "decimal128(38, 3)"},
        **{"day": "date32", "ms": "timestamp[ms]", "us": "timestamp[us]", "ns": "timestamp[us]"},
        **{"zoned": "timestamp[us, tz=UTC]", "text": "string", "flag": "bool"},
    }
    db.create_table("r", types, unique=["id"])
    nothing = {**dict.fromkeys(WHOLE), "id": 8}
    messages = [
        (at, None, with_schema("c", row, FIELDS)) for at, row in enumerate([WHOLE, nothing])
    ]
    found = sources.decode(messages)
    assert found.rows[0]["ms"] == Epoch(NOON_US // 1000, "ms")
    change = sources.Change("r", found.rows, sources.Origin("m"), how="apply", op="ringview_op")

    class Given:
        name = "given"

        def batches(self, positions: Any) -> Iterator[sources.Batch | None]:
            yield sources.Batch([change], {"": "1"})

    sources.run(db, [Given()])
    first, second = sorted(db.tables["r"].to_arrow().to_pylist(), key=lambda row: int(row["id"]))
    assert second == nothing
    assert first.pop("zoned").isoformat() == "2026-03-09T12:00:00+00:00"
    assert first == {
        **{"id": 7, "price": Decimal("-12.34"), "any": Decimal("1.500"), "day": date(2026, 3, 9)},
        **{"ms": NOON, "us": NOON, "ns": NOON, "text": "ü", "flag": True},
    }


def test_messages_become_rows_or_nothing() -> None:
    row = {"id": 1, "x": 2}
    messages: list[tuple[int, str | None, str | bytes | None]] = [
        (0, None, envelope("r", None, row)),
        (1, None, envelope("c", None, row).encode()),
        (2, None, envelope("u", {"id": 1, "x": 0}, row)),
        (3, None, envelope("d", row, None)),
        (4, '{"id": 4}', None),
        (5, '{"id": 1}', envelope("d")),
        (6, '{"schema": {"fields": []}, "payload": {"id": 2}}', envelope("d")),
        (7, None, envelope("m", message={"prefix": "x"})),
        (8, None, '{"ts_ms": 1}'),
        (9, None, '{"schema": null, "payload": null}'),
        (10, None, envelope("t")),
    ]
    found = sources.decode(messages)
    upsert, delete = {"ringview_op": "upsert", **row}, {"ringview_op": "d"}
    assert found.rows == [
        upsert,
        upsert,
        upsert,
        delete | row,
        delete | {"id": 4},
        delete | {"id": 1},
        delete | {"id": 2},
    ]
    assert found.numbers == [0, 1, 2, 3, 4, 5, 6]
    assert (found.truncates, found.rejected) == ([10], [])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("{", "it is no JSON"),
        ("[1]", "it is no JSON object"),
        ('{"id": 1}', "it has no op; say format='json'"),
        (envelope("x", None, {"id": 1}), "the op 'x' is none of"),
        (envelope("c"), "an envelope with op 'c' has no 'after'"),
        (envelope("d"), "an envelope with op 'd' has no 'before'"),
        (envelope("c", None, {"ringview_op": 1}), "a column is named"),
        (with_schema("c", {"price": "?"}, FIELDS), "column \"price\": '[?]' is no decimal"),
        (with_schema("c", {"any": {"scale": 1}}, FIELDS), 'column "any": .* is no decimal'),
        ('{"schema": null, "payload": 1}', "its payload is no object"),
    ],
)
def test_messages_that_are_no_rows_are_kept_apart(value: str, why: str) -> None:
    found = sources.decode([(3, None, value)], "t[0]")
    (rejected,) = found.rejected
    assert rejected.place == "t[0], offset 3"
    assert rejected.row == value
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(rejected.reason)


@pytest.mark.parametrize(
    "value",
    [
        {"databaseName": "shop", "ddl": "ALTER TABLE orders ADD x INT", "tableChanges": []},
        {"status": "BEGIN", "id": "1", "event_count": None},
    ],
)
def test_changes_of_tables_are_refused_with_advice(value: Row) -> None:
    with pytest.raises(errors.UnsupportedError, match=r"t\[0\], offset 5: .*topics of tables"):
        sources.decode([(5, None, json.dumps(value))], "t[0]")
