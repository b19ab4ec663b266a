"""The parts that the routes of one application share.

Invariant: made once for an application, and closed with it. Cost: none until it is used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request

from .answers import RefusedError
from .authentication import Limits
from .streams import Streams
from .threads import Kind, Threads
from .view_notifier import ViewNotifiers

if TYPE_CHECKING:
    from ..database import Database
    from .connectors import Connector

_T = TypeVar("_T")


class Context:
    """The database and what serves it.

    >>> import ringview as rv
    >>> context = Context(rv.Database(), Limits(), writable=False, followers=False, connectors=[])
    >>> context
    Context(Database(tables=[], views=[]), writable=False)
    >>> context.close()
    """

    def __init__(
        self,
        db: Database,
        limits: Limits,
        *,
        writable: bool,
        followers: bool,
        connectors: Sequence[Connector],
    ) -> None:
        self.db = db
        self.limits = limits
        self.writable = writable
        self.followers = followers
        self.connectors = list(connectors)
        self.threads = Threads()
        self.watches = ViewNotifiers()
        self.streams = Streams(db)
        self.started = time.time()
        self.changed: float | None = None
        """When the last change came by this application."""
        self.batches = 0
        """How many changes came by this application."""
        self.rows = 0
        """How many rows they had."""
        self.closing = False
        self.is_ready: Callable[[], bool] = lambda: True

    def __repr__(self) -> str:
        return f"Context({self.db!r}, writable={self.writable})"

    async def run(self, kind: Kind, call: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        """Result of a call of the database, run in a thread of its kind."""
        return await self.threads.run(kind, call, *args, **kwargs)

    def note(self, rows: int) -> None:
        """Count a change that a route applied."""
        self.batches += 1
        self.rows += rows
        self.changed = time.time()

    def must_write(self) -> None:
        """Refuse changes where they are not allowed.

        Raises:
            RefusedError: They are not.
        """
        if not self.writable:
            raise RefusedError(
                403, "ReadOnlyError", "this server only reads; start it with writable = true"
            )

    def close(self) -> None:
        """End streams and threads; twice does nothing."""
        self.closing = True
        self.watches.close()
        self.threads.close()
        self.streams.close()


def of(request: Request) -> Context:
    """The context of a request."""
    found: Context = request.app.state.context
    return found


async def body(request: Request) -> bytes:
    """The body of a request, as far as it may be long.

    Raises:
        RefusedError: It is longer, or compressed.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RefusedError(
            415, "EncodingError", "a body is sent as it is, without Content-Encoding"
        )
    most = of(request).limits.max_body
    said = request.headers.get("content-length", "")
    whole = bytearray()
    if not (said.isdecimal() and int(said) > most):
        async for part in request.stream():
            whole += part
            if len(whole) > most:
                break
        else:
            return bytes(whole)
    raise RefusedError(413, "TooLongError", f"a body has at most {most} bytes; send it in parts")
