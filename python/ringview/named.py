"""Tables or views by name, as a mapping.

Invariant: it shows what there is at each look, and holds nothing. Cost: O(names) a look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

    from .table import Table
    from .view import View

Item = TypeVar("Item")


class Named(Mapping[str, Item], Generic[Item]):
    """Tables or views by name, as they are at each look."""

    def __init__(self, names: Callable[[], list[str]], make: Callable[[str], Item]) -> None:
        self._names, self._make = names, make

    def __getitem__(self, name: str) -> Item:
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return repr(dict(self))


class Schemas(Mapping[str, "pa.Schema"]):
    """The schemas of tables and views by name, each made when it is asked for."""

    def __init__(self, of: Mapping[str, Table | View]) -> None:
        self._of = of

    def __getitem__(self, name: str) -> pa.Schema:
        return self._of[name].schema

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def __repr__(self) -> str:
        return f"Schemas({', '.join(self._of)})"
