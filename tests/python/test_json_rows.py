"""Values in JSON: none loses a digit, and what is written is read back."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview.convert import json_rows
from serving import served

SAFE = 2**53 - 1

VALUES: list[tuple[pa.DataType, list[Any], list[Any]]] = [
    (pa.int64(), [SAFE, -SAFE, SAFE + 1, -(2**63)], [SAFE, -SAFE, str(SAFE + 1), str(-(2**63))]),
    (pa.uint64(), [0, 2**64 - 1], [0, "18446744073709551615"]),
    (pa.int8(), [-128, None], [-128, None]),
    (pa.decimal128(38, 0), [Decimal(7), Decimal(10**37)], [7, str(10**37)]),
    (pa.decimal128(12, 2), [Decimal("1.50"), Decimal("-0.01")], ["1.50", "-0.01"]),
    (
        pa.float64(),
        [0.1, float("nan"), float("inf"), -float("inf")],
        [0.1, "NaN", "Infinity", "-Infinity"],
    ),
    (pa.bool_(), [True, False, None], [True, False, None]),
    (
        pa.string(),
        ["", 'a\u2028"\\\n', "\U0001f600", None],
        ["", 'a\u2028"\\\n', "\U0001f600", None],
    ),
    (pa.binary(), [b"", b"\xff\x00", None], ["", "/wA=", None]),
    (pa.date32(), [date(2026, 3, 9), date(1, 1, 1)], ["2026-03-09", "0001-01-01"]),
    (pa.time64("us"), [time(1, 2, 3, 4)], ["01:02:03.000004"]),
    (pa.timestamp("us"), [datetime(2026, 3, 9, 12)], ["2026-03-09T12:00:00.000000"]),
    (
        pa.timestamp("ms", "UTC"),
        [datetime(2026, 3, 9, 12, tzinfo=UTC), None],
        ["2026-03-09T12:00:00.000Z", None],
    ),
    (pa.timestamp("ns"), [1], ["1970-01-01T00:00:00.000000001"]),
    (pa.timestamp("s", "Asia/Tokyo"), [0], ["1970-01-01T00:00:00Z"]),
    (pa.list_(pa.float64()), [[1.5, float("nan")], None], [[1.5, "NaN"], None]),
    (
        pa.struct({"a": pa.int64(), "d": pa.date32()}),
        [{"a": 2**60, "d": date(2026, 1, 1)}],
        [{"a": str(2**60), "d": "2026-01-01"}],
    ),
    (pa.dictionary(pa.int8(), pa.string()), ["x", "y", "x"], ["x", "y", "x"]),
    (pa.null(), [None], [None]),
]


@pytest.mark.parametrize(("kind", "values", "wanted"), VALUES, ids=lambda value: str(value)[:20])
def test_values_of_each_type(kind: pa.DataType, values: list[Any], wanted: list[Any]) -> None:
    table = pa.table({"a": pa.array(values, kind)})
    text = json_rows.text(json_rows.rows(table))
    assert json.loads(text, parse_constant=pytest.fail) == [{"a": value} for value in wanted]
    assert json_rows.rows(table.slice(0, 0)) == []


BACK: dict[str, tuple[str, list[Any]]] = {
    "i": ("int64", [2**63 - 1, -(2**63), 0]),
    "d": (
        "decimal128(38, 4)",
        [Decimal("9999999999999999999999999999999999.9999"), Decimal("-0.0001")],
    ),
    "x": ("float64", [0.1, float("inf"), 5e-324]),
    "s": ("string", ["", "NULL", "ö"]),
    "b": ("bool", [True, False]),
    "t": ("timestamp", [datetime(2026, 3, 9, 12, 0, 0, 123456), datetime(1969, 12, 31)]),
    "day": ("date32", [date(2026, 3, 9), date(1, 1, 1)]),
}


def test_what_is_written_is_read_back() -> None:
    with rv.Database() as db, served(db, writable=True) as web:
        for name, (kind, values) in BACK.items():
            table = db.create_table(name, {"a": kind})
            table.insert({"a": [*values, None]})
            other = db.create_table(f"other_{name}", {"a": kind})
            rows = web.get(f"/tables/{name}").json()["rows"]
            web.post(f"/tables/other_{name}", json=rows).raise_for_status()
            left = sorted(map(repr, table.to_arrow()["a"].to_pylist()))
            assert sorted(map(repr, other.to_arrow()["a"].to_pylist())) == left
            for row in rows if name != "x" else []:
                found = web.get(f"/tables/{name}", params={"where": json.dumps(row)})
                assert found.json()["rows"] == [row]
        # NaN is no number of JSON.
        assert web.post("/tables/other_x", content=b'[{"a": "NaN"}]').json()["rows"] == 1
        assert {"a": "NaN"} in web.get("/tables/other_x").json()["rows"]
