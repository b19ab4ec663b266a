"""The meaning of SQL is DuckDB's, on random queries and rows."""

from __future__ import annotations

from typing import Any

import pytest
from amounts import examples
from catalog import translate
from hypothesis import given
from oracle import Oracle
from queries import SCHEMAS, contents, queries
from spelt import sql_of

ORACLE = Oracle(SCHEMAS)


@pytest.mark.once
@examples(400)
@given(queries(), contents())
def test_translation_keeps_the_meaning(sql: str, tables: dict[str, Any]) -> None:
    found = ORACLE.rows(sql_of(translate(sql, SCHEMAS)), tables)
    assert found == ORACLE.rows(sql, tables)


@pytest.mark.long
@examples(10_000)
@given(queries(), contents())
def test_translation_keeps_the_meaning_at_length(sql: str, tables: dict[str, Any]) -> None:
    found = ORACLE.rows(sql_of(translate(sql, SCHEMAS)), tables)
    assert found == ORACLE.rows(sql, tables)
