"""The README's examples print what it says they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_examples_print_what_is_shown() -> None:
    blocks = [(kind, body) for kind, body in BLOCK.findall(README.read_text()) if kind != "sh"]
    assert [kind for kind, _ in blocks] == ["python", "text"] * (len(blocks) // 2)
    names: dict[str, object] = {}
    for (_, code), (_, shown) in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()
