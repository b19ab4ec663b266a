"""Duplicate keys: the error names the row, for rows in any form."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import ringview as rv
from ringview import errors


@dataclass
class Keyed:
    id: int
    a: str = "x"


def test_the_second_row_with_a_key_is_named() -> None:
    db = rv.Database()
    table = db.create_table("r", {"id": "int64", "a": "string"}, unique=["id"])
    db.insert("r", [(1, "x")])
    columns: Any = {"id": [5, None, 6, 1], "a": ["x"] * 4}
    given: list[Any] = [
        columns,
        pa.table(columns),
        pa.record_batch(columns),
        pd.DataFrame({"id": [5, 4, 6, 1], "a": ["x"] * 4}),
        [{"id": key, "a": "x"} for key in (5, 2, 6, 1)],
        [(5, "x"), (2, "y"), (6, "z"), (1, "w")],
        [(5, "x"), (2, "y"), (6, "z"), (5, "w")],
        [Keyed(5), Keyed(2), Keyed(6), Keyed(1)],
    ]
    for rows in given:
        for insert in (table.insert, lambda given: db.insert("r", given)):
            with pytest.raises(errors.DuplicateKeyError, match=r'^row 3: table "r" already holds'):
                insert(rows)
    single: list[Any] = [(1, "y"), {"id": 1, "a": "y"}, Keyed(1)]
    for row in single:
        with pytest.raises(errors.DuplicateKeyError, match=r"^row 0: .*\(id = 1\)"):
            table.insert(row)
    named = db.create_table("s", {"id": "string"}, unique=["id"])
    for _ in range(2):
        with suppress(errors.DuplicateKeyError):
            named.insert({"id": "several letters"})
    with pytest.raises(errors.DuplicateKeyError, match=r"^row 0: "):
        named.insert({"id": "several letters"})
    # A stream was read, and is used up.
    reader = pa.table(columns).to_reader()
    with pytest.raises(errors.DuplicateKeyError, match=r'^table "r" already'):
        table.insert(reader)
    assert len(table) == 1
