"""Net effect of the changes of a view, by its key.

Invariant: of each key that moved, the row that is there now, or none. Cost: O(rows that moved).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import InvalidValueError, UnknownColumnError, did_you_mean
from ..text import quoted

Key = tuple[Any, ...]


def checked(view: str, key: Sequence[str], columns: Sequence[str]) -> None:
    """Check that a view has the columns of its key.

    Raises:
        UnknownColumnError: It lacks one.
    """
    for name in key:
        if name not in columns:
            known = did_you_mean(name, columns) or f"; it has {', '.join(columns)}"
            raise UnknownColumnError(
                f"key: view {quoted(view)} has no column {quoted(name)}{known}"
            )


def by_key(
    view: str, key: Sequence[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> tuple[dict[Key, list[Any]], list[Key]]:
    """The rows that are there now, by key, and all keys that moved.

    Args:
        view: Its name, for errors.
        key: Some of its columns.
        columns: All of them.
        rows: Their values, and how often each row was inserted or, below 0, deleted.

    Raises:
        InvalidValueError: Two rows of the view have the same key.

    >>> by_key("v", ["a"], ["a", "n"], [(1, 2, -1), (1, 3, 1), (2, 5, -1)])
    ({(1,): [1, 3]}, [(1,), (2,)])
    """
    places = [columns.index(name) for name in key]
    new: dict[Key, list[Any]] = {}
    moved: dict[Key, None] = {}
    for *values, times in rows:
        at = tuple(values[place] for place in places)
        moved[at] = None
        if times > 0:
            if at in new or times > 1:
                said = ", ".join(f"{k} = {v!r}" for k, v in zip(key, at, strict=True))
                raise InvalidValueError(
                    f"two rows of view {quoted(view)} have the key ({said}); name as key= columns "
                    "by which its rows differ, or leave it out for a log of changes"
                )
            new[at] = values
    return new, list(moved)
