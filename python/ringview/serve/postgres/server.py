"""A server of PostgreSQL's wire protocol, and what it is given when it starts.

Invariant: nobody is let in from another machine without a password. Cost: two threads, and one for
each statement that runs; nothing while there are no requests.
"""

from __future__ import annotations

import atexit
import warnings
from ipaddress import ip_address
from typing import TYPE_CHECKING

from ... import _native
from ...errors import InvalidValueError, TypeMismatchError
from ...log import log
from ..certificates import Files, check_key
from ..shutdown import Closing
from .catalogue import Catalogue
from .codes import Report
from .session import Session
from .settings import DEFAULTS, REPORTED

if TYPE_CHECKING:
    from ...database import Database


class PostgresServer(Closing):
    """A database as clients of PostgreSQL see it, until it is closed.

    psql, drivers, SQLAlchemy, Grafana and Metabase list its tables and views, read them by SQL of
    PostgreSQL's dialect, write if they may, and subscribe: `COPY (SUBSCRIBE view) TO STDOUT`.
    See docs/postgres.md.

    Args:
        db: The database. It remains usable in this process; the server never closes it.
        host: The address to listen at. Any but one of this machine alone needs a password.
        port: The port; 0 for any that is free, which `address` has then.
        password: What clients must have, whatever user they name (SCRAM-SHA-256); None lets in
            whoever reaches the address.
        writable: Whether clients may change rows, and define and drop tables and views.
        database: The name of the database; clients may connect to any name.
        max_connections: The most connections at a time; one more is refused (53300).
        max_message: The most bytes of a message, such as a statement with its parameters.
        max_body: The most bytes that one `COPY .. FROM STDIN` may send (54000).
        max_rows: The most rows that one may send (54000).
        statement_timeout: The most seconds that a statement may take (57014), but a subscription.
        idle_timeout: The most seconds between two messages of a client (57P05).
        certificate: The files of a certificate and its key, in PEM, for TLS, without which clients
            of other machines are not let in; they are read again once they change.
        plain: Whether clients of other machines may do without TLS.

    Raises:
        InvalidValueError: An address that others reach, without a password, or with neither a
            certificate nor `plain`; files that are no certificate, or a key that other users may
            read; a number out of range.
        StorageError: The address is taken, or is none.
        UnsupportedError: DuckDB is not there, which holds the catalogue: `ringview[serve]`.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> with PostgresServer(db, port=0) as server:
    ...     print(server.address[0])
    127.0.0.1
    >>> server
    PostgresServer(closed)
    """

    def __init__(
        self,
        db: Database,
        *,
        host: str = "127.0.0.1",
        port: int = 5432,
        password: str | None = None,
        writable: bool = False,
        database: str = "ringview",
        max_connections: int = 100,
        max_message: int = 64 << 20,
        max_body: int = 64 << 20,
        max_rows: int = 1_000_000,
        statement_timeout: float | None = None,
        idle_timeout: float | None = None,
        certificate: Files | None = None,
        plain: bool = False,
    ) -> None:
        _check("port", port, 0, 65_535)
        _check("max_connections", max_connections, 1, 10_000)
        _check("max_message", max_message, 1024, 1 << 30)
        _check("max_body", max_body, 1, 1 << 40)
        _check("max_rows", max_rows, 1, 1 << 40)
        for name, limit in (
            ("statement_timeout", statement_timeout),
            ("idle_timeout", idle_timeout),
        ):
            if limit is not None and not limit > 0:
                raise InvalidValueError(f"{name}={limit!r}: seconds above 0, or None for no limit")
        if password == "":
            raise InvalidValueError("password='': a password has characters; None asks for none")
        if certificate is not None:
            check_key(certificate)
        self._db = db
        self._writable = writable
        self._limits = max_body, max_rows
        read_only = "off" if writable else "on"
        self._settings = {
            "default_transaction_read_only": read_only,
            "transaction_read_only": read_only,
        }
        settings = {**DEFAULTS, **self._settings}
        self._catalogue = Catalogue(db, database, settings)
        try:
            self._native: _native.PostgresServer | None = _native.PostgresServer(
                _Backend(self),
                host,
                port,
                password=password,
                settings=[(name, value) for name, value in settings.items() if name in REPORTED],
                connections=max_connections,
                message=max_message,
                statement=statement_timeout,
                idle=idle_timeout,
                certificate=certificate,
                plain=plain,
            )
        except BaseException:
            self._catalogue.close()
            raise
        self._address = self._native.address
        if certificate is None and not ip_address(self._address[0]).is_loopback:
            warnings.warn(
                f"{host}: clients of other machines are served without TLS: who listens on the way "
                "reads all rows, and may find the password by trying",
                stacklevel=2,
            )
        # Threads of the server must end before the interpreter does.
        atexit.register(self.close)

    @property
    def address(self) -> tuple[str, int]:
        """The number of the address, and the port."""
        return self._address

    @property
    def connections(self) -> int:
        """The number of connections now."""
        return 0 if self._native is None else self._native.connections

    def close(self) -> None:
        """End all statements and connections, and listen no longer; twice does nothing.

        Changes that a transaction has not committed are forgotten. The database stays open. A
        statement that does not end within some seconds is left running.
        """
        native, self._native = self._native, None
        if native is not None:
            atexit.unregister(self.close)
            native.close()
            self._catalogue.close()

    def __repr__(self) -> str:
        if self._native is None:
            return "PostgresServer(closed)"
        host, port = self._address
        return f"PostgresServer({host}:{port}, connections={self.connections})"


class _Backend:
    """The callbacks of the extension for sessions."""

    def __init__(self, server: PostgresServer) -> None:
        self._db = server._db
        self._catalogue = server._catalogue
        self._settings = server._settings
        self._writable = server._writable
        self._limits = server._limits

    def open(
        self, user: str, database: str, application: str
    ) -> tuple[Session | None, Report | None]:
        """A session of a client."""
        settings = {**self._settings, "application_name": application}
        made = Session(self._db, self._catalogue, settings, user, self._writable, self._limits)
        return made, None

    def warn(self, what: str) -> None:
        """Log what fails beside all sessions."""
        log("warning", "%s", what)


def _check(name: str, number: int, least: int, most: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeMismatchError(f"{name}={number!r} is not an integer")
    if not least <= number <= most:
        raise InvalidValueError(f"{name}={number}: a number from {least} to {most}")
