"""The statements of a prompt, or of a text that is piped in.

Invariant: a statement ends with a semicolon that is in no quotes and no comment, or with the text.
Cost: linear in the text, once for each line of a statement at a prompt.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

_FIRST, _NEXT = "ringview> ", "     ...> "
# A quoted text or a comment, to its end or that of the input; a semicolon; anything else.
_PIECE = re.compile(
    r"""'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;|[^'"/;-]+|.""",
    re.DOTALL,
)


def statements(query: str | None) -> Iterator[str]:
    """The statements of a text, else those of standard input."""
    if query is None and sys.stdin.isatty():
        yield from _typed()
        return
    whole, rest = split(sys.stdin.read() if query is None else query)
    yield from whole
    if rest.strip():
        yield rest


def split(text: str) -> tuple[list[str], str]:
    """Statements that end in a text, and the rest behind them.

    >>> split("SELECT 1; SELECT ';' -- two;")
    (['SELECT 1'], " SELECT ';' -- two;")
    """
    whole, rest = [], ""
    for piece in _PIECE.findall(text):
        if piece != ";":
            rest += piece
            continue
        if rest.strip():
            whole.append(rest)
        rest = ""
    return whole, rest


def _typed() -> Iterator[str]:
    """The statements of a terminal, up to Ctrl-D; Ctrl-C forgets what was begun."""
    rest = ""
    while True:
        try:
            line = input(_NEXT if rest.strip() else _FIRST)
        except EOFError:
            return
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            rest = ""
            continue
        whole, rest = split(f"{rest}{line}\n")
        yield from whole
