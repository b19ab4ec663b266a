"""Shutdown of a server at the end of a `with` block.

Invariant: a block closes it however it ends. Cost: that of `close`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A server, until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """End it; twice does nothing."""

    def __enter__(self) -> Self:
        """The server itself, which the end of the block closes."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
