"""Random DAGs of views equal DuckDB after every batch, and are as before after every failure."""

from __future__ import annotations

import pytest
from amounts import examples
from dags import dags
from hypothesis import given
from hypothesis import strategies as st
from stacks import check_stack
from streams import Batch, batches


@examples(14)
@given(views=dags(), stream=st.lists(batches(), max_size=3))
def test_random_dags(views: dict[str, str], stream: list[Batch]) -> None:
    check_stack(views, stream)


@pytest.mark.long
@examples(400)
@given(views=dags(most=8), stream=st.lists(batches(), max_size=6))
def test_random_dags_at_length(views: dict[str, str], stream: list[Batch]) -> None:
    check_stack(views, stream)
