"""The ASGI application: its routes, authentication, and the time that a response may take.

Invariant: every error is an answer, and a call of the database is in a thread. Cost: that of the
routes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Histogram
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from . import answers, changes, reads, status, writes
from .authentication import Guard, Limits
from .context import Context, of

if TYPE_CHECKING:
    from ..database import Database
    from .connectors import Connector

STATIC = Path(__file__).parent / "static"
_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

Endpoint = Callable[[Request], Awaitable[Response]]


class App:
    """A database as an ASGI application; made by `app`."""

    def __init__(
        self,
        db: Database,
        *,
        writable: bool,
        followers: bool | None,
        token: str | None,
        hosts: Collection[str] | None,
        origins: Collection[str],
        limits: Limits,
        connectors: Sequence[Connector],
    ) -> None:
        allowed = writable if followers is None else followers
        self.context = Context(
            db, limits, writable=writable, followers=allowed, connectors=connectors
        )
        inner = Starlette(
            routes=_routes(),
            exception_handlers={
                Exception: _failed,
                HTTPException: _not_found,
                answers.RefusedError: _failed,
            },
        )
        registry = CollectorRegistry()
        inner.state.context = self.context
        inner.state.registry = registry
        inner.state.seconds = Histogram(
            "ringview_request_seconds",
            "How long answers took, streams of changes apart.",
            ["route", "status"],
            registry=registry,
        )
        self._guard = Guard(inner, token=token, hosts=hosts, origins=origins, limits=limits)
        inner.state.guard = self._guard

    def __repr__(self) -> str:
        return f"App({self.context.db!r}, connections={self._guard.connections})"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._guard(scope, receive, send)

    def close(self) -> None:
        """End its streams and threads; the database stays open. Twice does nothing."""
        self.context.close()


def _routes() -> list[Route | Mount]:
    found: list[Route | Mount] = [
        Route("/", _page),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/health", status.health),
    ]
    timed: list[tuple[str, str, Endpoint]] = [
        ("GET", "/ready", status.ready),
        ("GET", "/status", status.status),
        ("GET", "/metrics", status.metrics),
        ("GET", "/views", reads.views),
        ("GET", "/views/{name}", reads.view),
        ("GET", "/views/{name}/explain", status.explain),
        ("DELETE", "/views/{name}/changes", changes.forget),
        ("GET", "/tables", reads.tables),
        ("GET", "/tables/{name}", reads.table),
        ("POST", "/tables/{name}", writes.rows),
        ("POST", "/transaction", writes.transaction),
        ("POST", "/sql", reads.query),
        ("POST", "/execute", writes.execute),
    ]
    found += [Route(path, _timed(path, call), methods=[how]) for how, path, call in timed]
    return [*found, Route("/views/{name}/changes", _caught(changes.follow))]


def _timed(path: str, call: Endpoint) -> Endpoint:
    """A route that answers in time, and whose seconds are counted."""

    async def answered(request: Request) -> Response:
        start, seconds = time.perf_counter(), of(request).limits.timeout
        try:
            async with asyncio.timeout(seconds):
                response = await _caught(call)(request)
        except TimeoutError:
            text = f"not done within {seconds:g} s"
            if request.method == "POST" and path != "/sql":
                text += "; it may be done later: send it again with the same batch_id"
            response = answers.problem(503, "TimeoutError", text)
        taken = time.perf_counter() - start
        request.app.state.seconds.labels(path, str(response.status_code)).observe(taken)
        return response

    return answered


def _caught(call: Endpoint) -> Endpoint:
    async def answered(request: Request) -> Response:
        try:
            return await call(request)
        except answers.RefusedError as refused:
            return answers.failed(refused)
        except asyncio.CancelledError:
            raise
        except Exception as raised:
            found = answers.failed(raised)
            if found.status_code == 500:
                # An error of this program: the log has its traceback.
                raise
            return found

    return answered


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"content-security-policy": _POLICY})


async def _failed(request: Request, raised: Exception) -> Response:
    return answers.failed(raised)


async def _not_found(request: Request, raised: Exception) -> Response:
    assert isinstance(raised, HTTPException)
    kind = "UnknownRouteError" if raised.status_code == 404 else "RouteError"
    text = f"{request.method} {request.url.path}: {raised.detail}"
    response = answers.problem(raised.status_code, kind, text)
    response.headers.update(raised.headers or {})
    return response
