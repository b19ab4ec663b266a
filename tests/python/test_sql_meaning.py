"""What SQL becomes means what DuckDB says it means, on random queries and rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from naive import evaluate
from oracle import Oracle, plain_rows
from queries import SCHEMAS, contents, queries
from ringview.queries import translate

ORACLE = Oracle(SCHEMAS)


@settings(max_examples=400, deadline=None)
@given(queries(), contents())
def test_translation_keeps_the_meaning(sql: str, tables: dict[str, Any]) -> None:
    found = plain_rows(evaluate(translate(sql, SCHEMAS), tables))
    assert found == ORACLE.rows(sql, tables)


@pytest.mark.long
@settings(max_examples=10_000, deadline=None)
@given(queries(), contents())
def test_translation_keeps_the_meaning_at_length(sql: str, tables: dict[str, Any]) -> None:
    found = plain_rows(evaluate(translate(sql, SCHEMAS), tables))
    assert found == ORACLE.rows(sql, tables)
