"""A database served by HTTP, with a page on which its views move.

Invariant: an answer is of one committed state, and a change is applied wholly or not at all. Needs
the extra `serve`. `docs/serve.md` has the routes. Cost: that of the calls by Python, and some
hundred microseconds.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..extras import missing

try:
    import prometheus_client as _prometheus_client
    import starlette as _starlette
    import uvicorn as _uvicorn
except ImportError as problem:
    raise missing(problem.name, "ringview.serve", "serve") from problem
else:
    del _prometheus_client, _starlette, _uvicorn

from .application import App
from .authentication import Limits
from .server import Server
from .sockets import Listener

if TYPE_CHECKING:
    from ..database import Database

__all__ = ["App", "Limits", "Listener", "Server", "app"]


def app(
    db: Database,
    *,
    writable: bool = False,
    followers: bool | None = None,
    token: str | None = None,
    hosts: Collection[str] | None = None,
    origins: Collection[str] = (),
    limits: Limits | None = None,
) -> App:
    """A database as an ASGI application, to be mounted in another one or run by any server.

    Args:
        db: The database, whose owner closes it.
        writable: As of `Server`.
        followers: As of `Server`.
        token: As of `Server`. Without one everybody whom the other application lets in may send
            requests.
        hosts: The names that requests may be for; any by default. One that listens to this machine
            alone takes `{"localhost", "127.0.0.1"}`, so that no page of another site reads it by a
            name of its own.
        origins: As of `Server`.
        limits: As of `Server`.

    Returns:
        The application; its `close()` ends its streams and threads.

    >>> import ringview as rv
    >>> made = app(rv.Database())
    >>> made
    App(Database(tables=[], views=[]), connections=0)
    >>> made.close()
    """
    return App(
        db,
        writable=writable,
        followers=followers,
        token=token,
        hosts=hosts,
        origins=origins,
        limits=limits or Limits(),
        connectors=(),
    )
