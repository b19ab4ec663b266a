"""A server of HTTP, and of what else listens, in threads of this process.

Invariant: when `Server` returns it answers; when `close` returns nobody is answered any more, what
was committed is there wholly, and the database is still open. Cost: one thread, and those of calls.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from ..errors import InvalidValueError, StorageError
from . import sockets
from .application import App
from .authentication import LOOPBACK, Limits
from .certificates import Certificate, Files
from .connections import connection
from .shutdown import Closing

if TYPE_CHECKING:
    from ..database import Database
    from .connectors import Connector
    from .sockets import Listener

_GRACE = 5
"""Seconds that answers have to end when the server is closed."""


class Server(Closing):
    """Serves a database until it is closed.

    Args:
        db: The database, which stays open when the server is closed.
        host: Where to listen; any other address than that of this machine needs a token.
        port: The port; 0 for one that is free.
        token: What each request names as `Authorization: Bearer ..`.
        writable: Whether rows may be changed, and statements done.
        followers: Whether readers of changes may have a place of their own in the database; by
            default whether it is writable.
        origins: Pages of other sites, such as `"https://shop.example"`, that may send requests.
        limits: How much it takes at once.
        connectors: Sources and sinks that are fed meanwhile; their owner starts and stops them.
        ports: Of what else listens, by its name, such as `{"postgres": 5432}`.
        certificate: The files of a certificate and its key, in PEM, by which all ports speak TLS;
            they are read again once they change.
        plain: Whether other machines may be served without TLS, as behind a proxy that has it.

    Raises:
        InvalidValueError: An address of a network without a token, or without a certificate where
            `plain` does not permit that; files that are no certificate and its key.
        StorageError: It cannot listen there.

    Complexity: a read costs what it costs by Python, and some hundred microseconds.

    >>> import ringview as rv
    >>> from urllib.request import urlopen
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> _ = db.create_view("v", "SELECT SUM(a) AS total FROM r")
    >>> db.insert("r", {"a": [3, 4]})
    >>> with Server(db, port=0) as server:
    ...     print(urlopen(f"{server.url}/views/v").read().decode())
    {"name":"v","total":1,"columns":[{"name":"total","type":"decimal128(38, 0)",\
"nullable":true}],"rows":[{"total":7}]}
    <BLANKLINE>
    """

    def __init__(
        self,
        db: Database,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        token: str | None = None,
        writable: bool = False,
        followers: bool | None = None,
        origins: Collection[str] = (),
        limits: Limits | None = None,
        connectors: Sequence[Connector] = (),
        ports: Mapping[str, int] | None = None,
        certificate: Files | None = None,
        plain: bool = False,
    ) -> None:
        check(host, token, certificate, plain)
        limits = limits or Limits()
        is_local = host in LOOPBACK
        if not is_local and certificate is None:
            warnings.warn(
                f"{host}: the token and all rows cross the network without TLS; this is safe only "
                "behind a proxy that has it",
                stacklevel=2,
            )
        tls = None if certificate is None else Certificate(certificate)
        self._app = App(
            db,
            writable=writable,
            followers=followers,
            token=token,
            hosts=LOOPBACK if is_local else None,
            origins=origins,
            limits=limits,
            connectors=connectors,
        )
        with ExitStack() as stack:
            stack.callback(self._app.close)
            self._socket = stack.enter_context(_listening(host, port))
            most = limits.max_body, limits.max_rows
            how = sockets.Opening(host, 0, token, writable, *most, certificate, plain)
            self.listeners: dict[str, Listener] = sockets.start(stack, db, ports or {}, how)
            bound = self._socket.getsockname()[1]
            shown = f"[{host}]" if ":" in host else host
            self.url = f"http{'s' if tls else ''}://{shown}:{bound}"
            config = uvicorn.Config(
                self._app,
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                ws="none",
                http=connection(limits.timeout),
                # Connections without a request count, too.
                limit_concurrency=2 * limits.max_connections + 8,
                timeout_graceful_shutdown=_GRACE,
            )
            config.load()
            config.ssl = tls
            self._server = _Uvicorn(config, limits.timeout)
            self._thread = threading.Thread(target=self._run, name="ringview serve", daemon=True)
            self._thread.start()
            stack.callback(self._end)
            while not self._server.started and self._thread.is_alive():
                self._thread.join(0.005)
            if not self._server.started:
                raise StorageError(f"the server of {self.url} ended at once; its log says why")
            self._stack = stack.pop_all()

    @property
    def app(self) -> App:
        """The application that it serves."""
        return self._app

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def _end(self) -> None:
        self._app.context.closing = True
        # Streams that wait for changes end, so that none is cut off.
        self._app.context.watches.close()
        self._server.should_exit = True
        self._thread.join()

    def close(self) -> None:
        """End it; the database stays open. Twice does nothing."""
        self._stack.close()

    def __repr__(self) -> str:
        state = "" if self._thread.is_alive() else ", closed"
        return f"Server({self.url!r}{state})"


class _Uvicorn(uvicorn.Server):
    """A server in which a handshake of TLS, too, takes only so many seconds."""

    def __init__(self, config: uvicorn.Config, seconds: float) -> None:
        super().__init__(config)
        self._seconds = seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.ssl is not None:
            loop = asyncio.get_running_loop()
            limits = {"ssl_handshake_timeout": self._seconds, "ssl_shutdown_timeout": self._seconds}
            loop.create_server = partial(loop.create_server, **limits)  # type: ignore[method-assign]
        await super().startup(sockets)


def check(
    host: str, token: str | None, certificate: Files | None = None, plain: bool = False
) -> None:
    """Refuse to listen to a network without a token, or without TLS.

    Raises:
        InvalidValueError: The host is not this machine and has no token, or neither a certificate
            nor the permission to do without; or the token is empty.
    """
    if token == "":
        raise InvalidValueError("the token is empty; leave it out, or give one")
    if host not in LOOPBACK and token is None:
        raise InvalidValueError(
            f"host {host!r} may be reached from a network, so it needs a token: set token or "
            'token_file, or listen to "127.0.0.1"'
        )
    if host not in LOOPBACK and certificate is None and not plain:
        raise InvalidValueError(
            f"host {host!r} may be reached from a network, so it needs TLS: give certificate and "
            'key, say plain = true behind a proxy that has TLS, or listen to "127.0.0.1"'
        )


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(512)
        except BaseException:
            made.close()
            raise
    except (OSError, OverflowError) as problem:
        raise StorageError(
            f"cannot listen to {host}, port {port}: {problem}; choose another port, or 0"
        ) from problem
    return made
