"""Conditions with queries within: what SQL becomes means what DuckDB says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from naive import evaluate
from nested import SCHEMAS, contents, nested
from oracle import Oracle, plain_rows
from ringview.sql import translate

ORACLE = Oracle(SCHEMAS)


def check_meaning(sql: str, tables: dict[str, Any]) -> None:
    found = plain_rows(evaluate(translate(sql, SCHEMAS), tables))
    assert found == ORACLE.rows(sql, tables)


@settings(max_examples=300, deadline=None)
@given(nested(), contents())
def test_translation_keeps_the_meaning(sql: str, tables: dict[str, Any]) -> None:
    check_meaning(sql, tables)


@pytest.mark.long
@settings(max_examples=10_000, deadline=None)
@given(nested(depth=3), contents())
def test_translation_keeps_the_meaning_at_length(sql: str, tables: dict[str, Any]) -> None:
    check_meaning(sql, tables)
