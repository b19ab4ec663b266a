"""Tables or views by name, as a mapping.

Invariant: a look shows what there is at one moment, whatever other threads drop meanwhile, and
holds no more of it than names and numbers. Cost: O(names) a look.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from contextlib import suppress
from typing import Generic, TypeVar

from .errors import UnknownTableError, UnknownViewError

Item = TypeVar("Item")


class ByName(Mapping[str, Item], Generic[Item]):
    """Tables or views by name, as they are at each look.

    A listed name can be looked up: a name that was dropped since gives its handle, which raises
    that.
    """

    def __init__(
        self,
        look: Callable[[], list[tuple[str, int]]],
        find: Callable[[str], int],
        make: Callable[[str, int], Item],
    ) -> None:
        self._look, self._find, self._make = look, find, make
        self._listed: dict[str, int] = {}

    def _now(self) -> dict[str, int]:
        self._listed = dict(self._look())
        return self._listed

    def __getitem__(self, name: str) -> Item:
        try:
            return self._make(name, self._find(name))
        except (UnknownTableError, UnknownViewError):
            # `dict(db.views)` lists names and then looks each up.
            if name not in self._listed:
                raise
            return self._make(name, self._listed[name])

    def __contains__(self, name: object) -> bool:
        return name in self._now()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._now()))

    def __len__(self) -> int:
        return len(self._now())

    def items(self) -> ItemsView[str, Item]:
        """The names with what has them, at this moment."""
        return {name: self._make(name, number) for name, number in self._now().items()}.items()

    def values(self) -> ValuesView[Item]:
        """The items at this moment."""
        return {name: self._make(name, number) for name, number in self._now().items()}.values()

    def __repr__(self) -> str:
        shown = []
        for name, item in self.items():
            # It may have been dropped meanwhile.
            with suppress(KeyError):
                shown.append(f"{name!r}: {item!r}")
        return f"{{{', '.join(shown)}}}"
