"""Figures and tables as Markdown.

Invariant: what was not measured takes no room. Cost: O(cells).
"""

from __future__ import annotations

NONE = "-"


def figure(value: float) -> str:
    """Two significant digits; whole numbers from 10 on, with commas from 10,000."""
    if value >= 10:
        return f"{value:,.0f}" if value >= 10_000 else f"{value:.0f}"
    return f"{value:.2g}"


def table(head: list[str], rows: list[list[str]], names: int) -> str:
    """A table in Markdown; rows and columns without a figure are left out, and a table without any.

    The first `names` columns say what a row is; the anchors' columns count as no figure.
    """
    measured = [at for at in range(names, len(head)) if "‡" not in head[at]]
    rows = [row for row in rows if any(row[at] != NONE for at in measured)]
    if not rows:
        return ""
    shown = [at for at in range(len(head)) if at < names or any(row[at] != NONE for row in rows)]
    kept = [[row[at] for at in shown] for row in (head, *rows)]
    kept.insert(1, ["---"] * len(shown))
    return "\n".join("| " + " | ".join(row) + " |" for row in kept)
