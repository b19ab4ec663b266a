"""Authentication of requests: the named host, the page, the token, the number at once.

Invariant: a request that is refused reaches no route, and tokens are compared in constant time.
A page of another site cannot send requests, as its browser names its origin, nor by a name of its
own, as that is none of `hosts`. Cost: microseconds a request.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from .answers import problem

LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Of each answer that has no others; the page has a policy of its own.
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
# They hold no data: a page, which has a field for a token itself, and whether this runs.
_OPEN = ("/", "/health")


@dataclass(frozen=True)
class Limits:
    """Limits of one server.

    Args:
        max_connections: Requests at once, streams of changes among them.
        max_body: Bytes of the body of a request.
        max_rows: Rows of an answer.
        timeout: Seconds that a request may take, a stream of changes apart.
    """

    max_connections: int = 100
    max_body: int = 64 * 2**20
    max_rows: int = 1_000_000
    timeout: float = 30.0


class Guard:
    """An ASGI application before another one, which it sends only permitted requests."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None,
        hosts: Collection[str] | None,
        origins: Collection[str],
        limits: Limits,
    ) -> None:
        self._app = app
        self._token = token
        self._hosts = None if hosts is None else {host.lower() for host in hosts}
        self._origins = set(origins)
        self._limits = limits
        self.connections = 0
        """Requests that are answered now, streams among them."""

    def __repr__(self) -> str:
        return f"Guard(connections={self.connections} of {self._limits.max_connections})"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        send = _safe(send)
        if refused is not None:
            await problem(*refused)(scope, receive, send)
            return
        self.connections += 1
        try:
            await self._app(scope, receive, self._shared(headers.get("origin"), send))
        finally:
            self.connections -= 1

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        host = headers.get("host", "")
        if self._hosts is not None and _name(f"//{host}") not in self._hosts:
            return 421, "HostError", f"this server is not {host!r}; name it as it was started"
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and urlsplit(origin).netloc != host:
            return 403, "OriginError", f"pages of {origin} may not ask this server; see origins"
        path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        if path in _OPEN or path.startswith("/static/"):
            return None
        # Requests for pictures and scripts by other pages have no origin.
        if origin is None and headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return 403, "OriginError", "pages of other sites may not ask this server"
        if scope["method"] != "OPTIONS" and not self._is_authorised(headers):
            return 401, "TokenError", "give the token: Authorization: Bearer .."
        if self.connections >= self._limits.max_connections:
            return 503, "BusyError", f"{self.connections} requests are answered now; try again"
        return None

    def _is_authorised(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        # As the bytes of the header: texts of other letters than ASCII cannot be compared so.
        came = given.strip().encode("latin-1")
        same = hmac.compare_digest(came, self._token.encode())
        return kind.lower() == "bearer" and same

    def _shared(self, origin: str | None, send: Send) -> Send:
        """Answers that pages of a known origin may read."""
        if origin is None or origin not in self._origins:
            return send

        async def shared(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                found = list(message.get("headers", []))  # type: ignore[call-overload]
                found += [(b"access-control-allow-origin", origin.encode()), (b"vary", b"origin")]
                message = {**message, "headers": found}
            await send(message)

        return shared  # type: ignore[return-value]


def _safe(send: Send) -> Send:
    """Answers that a browser takes for what they say, and in which nothing runs."""

    async def safe(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", [])))  # type: ignore[call-overload]
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            message = {**message, "headers": headers.raw}
        await send(message)

    return safe  # type: ignore[return-value]


def _name(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""
