"""The examples of the README and of the pages print what they say they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", ["README.md", "docs/joins.md", "docs/matrix-chains.md", "docs/models.md"]
)
def test_examples_print_what_is_shown(page: str) -> None:
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert [kind for kind, _ in blocks] == ["python", "text"] * (len(blocks) // 2)
    names: dict[str, object] = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()
