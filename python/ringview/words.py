"""Numbers with their nouns, as messages and tables have them. O(1)."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number and a noun that agrees with it.

    >>> counted(1, "row"), counted(2000, "batch"), counted(0, "view")
    ('1 row', '2,000 batches', '0 views')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"
