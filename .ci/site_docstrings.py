"""Lets the site show the examples of docstrings as code.

Invariant: a block that begins with `>>>` ends at the next blank line, as for doctest. Cost: linear.
"""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text, with a fence around each example."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>> "):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    if inside:
        lines.append("```")
    return "\n".join(lines)


class Examples(griffe.Extension):
    """Fences around the examples of all docstrings."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of what was read."""
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
