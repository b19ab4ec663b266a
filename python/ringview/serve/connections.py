"""Connections of HTTP without requests: they are closed, so that they take no one's place.

Invariant: a connection begins a request within so many seconds, counted from its beginning, or
within twice as many after the one before; a header that is sent a byte at a time counts as none.
Cost: a timer a connection.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# The other protocol of uvicorn gathers headers without a limit.
_Base: Any = H11Protocol


class Connection(_Base):  # type: ignore[misc]
    """A connection, as the server makes it; see `connection`."""

    seconds = 30.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin."""
        super().connection_made(transport)
        # The request of the last look.
        self._last: object = None
        self._timer = self.loop.call_later(self.seconds, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close a connection that has begun no request since the last look."""
        now = self.cycle
        if (now is None or now.response_complete) and now is self._last:
            self.transport.close()
            return
        self._last = now
        self._timer = self.loop.call_later(self.seconds, self._look)


def connection(seconds: float) -> type[Connection]:
    """The class of connections that wait for a request so long."""
    return type("Connection", (Connection,), {"seconds": seconds})
