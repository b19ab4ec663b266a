"""Numbers with their nouns, and names, as messages have them. O(1)."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number and a noun that agrees with it.

    >>> counted(1, "row"), counted(2000, "batch"), counted(0, "view")
    ('1 row', '2,000 batches', '0 views')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def quoted(name: object) -> str:
    """A name as messages show it: in the quotes of SQL. A value that is no text is shown as it is.

    >>> quoted("order items"), quoted(7)
    ('"order items"', '7')
    """
    return f'"{name}"' if isinstance(name, str) else repr(name)
