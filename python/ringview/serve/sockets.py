"""Sockets beside HTTP, each started and stopped with the server.

Invariant: all of them are started, or none; they are closed in the other order. Cost: none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..database import Database
    from .certificates import Files


@dataclass(frozen=True)
class Opening:
    """Options of a listener."""

    host: str
    port: int
    password: str | None = field(repr=False)
    writable: bool
    max_body: int
    max_rows: int
    certificate: Files | None = None
    plain: bool = False


class Listener(Protocol):
    """A server of a protocol over one database, as a context manager."""

    @property
    def address(self) -> Any:
        """The address that it listens at."""

    def close(self) -> None:
        """End it; twice does nothing."""


Start = Callable[["Database", Opening], AbstractContextManager[Listener]]


def _postgres(db: Database, how: Opening) -> AbstractContextManager[Listener]:
    from .postgres import PostgresServer

    return PostgresServer(
        db,
        host=how.host,
        port=how.port,
        password=how.password,
        writable=how.writable,
        max_body=how.max_body,
        max_rows=how.max_rows,
        certificate=how.certificate,
        plain=how.plain,
    )


LISTENERS: Mapping[str, Start] = {"postgres": _postgres}
"""By the key of `[serve]` that has its port. A further protocol is one line here."""


def start(
    stack: ExitStack, db: Database, wanted: Mapping[str, int], how: Opening
) -> dict[str, Listener]:
    """Start listeners by their ports; the stack ends them.

    Raises:
        Others: As the listener, which names what it needs.
    """
    return {
        key: stack.enter_context(LISTENERS[key](db, replace(how, port=port)))
        for key, port in wanted.items()
    }
