"""The route of changes: server-sent events, a snapshot first and then what moves.

Invariant: see `streams`. Cost: a look at the view for each event, and a comment every few seconds
while nothing moves, by which a reader that has left is found.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..convert import json_rows
from ..errors import InvalidValueError, RingviewError
from . import answers
from .answers import RefusedError
from .context import Context, of
from .events import EventPosition, Token
from .streams import Stream
from .view_notifier import ViewNotifier

if TYPE_CHECKING:
    from ..view import View

_BEAT = 10.0
"""Seconds after which a reader is sent a comment, if nothing else."""
_MOST_EVERY = 3600.0
_STEP = 0.25


async def follow(request: Request) -> Response:
    """The changes of a view, from a snapshot or from the last event that its reader had."""
    context, asked = of(request), dict(request.query_params)
    if unknown := sorted(set(asked) - {"follower", "last", "every"}):
        raise InvalidValueError(
            f"there is no parameter {unknown[0]!r}; known are follower, last, every"
        )
    name, every = _follower(context, asked), _every(asked.get("every", "0"))
    said = request.headers.get("last-event-id") or asked.get("last")
    token = Token.read(said) if said else None

    def start() -> tuple[View, Stream, EventPosition, int]:
        view = context.db.views[request.path_params["name"]]
        return view, *context.streams.open(view, name, token)

    view, stream, place, reader = await context.run("read", start)
    sent = _sent(context, view, stream, place, reader, every)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(sent, media_type="text/event-stream", headers=headers)


async def forget(request: Request) -> Response:
    """Forget the place of a follower."""
    context = of(request)
    name = _follower(context, dict(request.query_params))
    if name is None:
        raise InvalidValueError("follower= names the one whose place is forgotten")

    def unfollow() -> None:
        context.streams.forget(context.db.views[request.path_params["name"]], name)

    await context.run("read", unfollow)
    return answers.json({"forgotten": name})


def _follower(context: Context, asked: dict[str, str]) -> str | None:
    name = asked.get("follower")
    if name is not None and not context.followers:
        raise RefusedError(
            403, "ReadOnlyError", "a follower's place is kept in the database, which is only read"
        )
    if name == "":
        raise InvalidValueError("follower= is empty; give it a name")
    return name


def _every(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= _MOST_EVERY:
        raise InvalidValueError(f"every is a number of seconds from 0 on, not {text!r}")
    return found


class _Seat:
    """The place of a reader at a stream and a watch: taken at most once, and left for good.

    Its reader may leave before it is taken, so that `take` and `leave` may be called at the same
    time.
    """

    def __init__(self, context: Context, view: View, stream: Stream, reader: int) -> None:
        self._context = context
        self._view = view
        self._stream = stream
        self._reader = reader
        self._watch: ViewNotifier | None = None
        self._is_left = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"_Seat({self._stream!r}, reader={self._reader})"

    def take(self) -> ViewNotifier:
        """Begin to read, and to be woken; it blocks while the view is changed."""
        with self._lock:
            if self._is_left:
                raise RingviewError("its reader is gone")
            self._context.streams.begin(self._stream)
            self._watch = self._context.watches.join(self._view)
            return self._watch

    def leave(self) -> None:
        """Leave the stream to wait for its reader."""
        with self._lock:
            self._is_left = True
            self._context.streams.leave(self._stream, self._reader)
            if self._watch is not None:
                self._context.watches.leave(self._watch)
                self._watch = None


async def _sent(
    context: Context, view: View, stream: Stream, place: EventPosition, reader: int, every: float
) -> AsyncIterator[bytes]:
    """The bytes sent, until the reader leaves, another one takes its place, or all is closed."""
    owner, seat = stream.owner, _Seat(context, view, stream, reader)
    try:
        watch = await context.run("read", seat.take)
        yield b"retry: 1000\n\n"
        while not context.closing and (stream.reader, stream.owner) == (reader, owner):
            found = stream.after(place)
            for event in found:
                yield event.data
                place = event.place
            if watch.ended:
                if not context.closing:
                    yield _last("the view was dropped, or replaced")
                return
            if found:
                await _rest(context, every)
            seen = watch.moves
            if await context.run("read", stream.next, place):
                continue
            if not await watch.wait_for_changes(seen, _BEAT):
                yield b":\n\n"
    except RingviewError as problem:
        if not context.closing:
            yield _last(str(problem))
    finally:
        # Nothing is awaited here: the reader may have left, and this be cancelled.
        if not context.closing:
            context.threads.start("read", seat.leave)
            wait = context.streams.seconds + 1
            asyncio.get_running_loop().call_later(wait, _expire, context)


async def _rest(context: Context, seconds: float) -> None:
    """Let moves gather, and be heard when all is closed."""
    while seconds > 0 and not context.closing:
        await asyncio.sleep(min(seconds, _STEP))
        seconds -= _STEP


def _expire(context: Context) -> None:
    if not context.closing:
        context.threads.start("read", context.streams.expire)


def _last(why: str) -> bytes:
    return f"event: end\ndata: {json_rows.text({'reason': why})}\n\n".encode()
