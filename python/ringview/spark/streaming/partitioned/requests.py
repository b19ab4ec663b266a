"""Messages between a worker and the server of engines: one request, one answer.

    Take -> [NeedsSegments -> segments] -> Taken | Raised
    Look -> messages, or None             | Raised

Invariant: all of it is encoded by `codec`, so that neither side runs code that the other one names.
An error of ringview or of Python's own arrives with its class, message and fields, any other one as
a RuntimeError. Cost: the bytes, copied twice on each side.
"""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ringview import errors
from ringview.spark.streaming.partitioned.codec import CodecError, decode, encode, registered
from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.segments import Meta, Read, Segments, Span, Taken
from ringview.spark.streaming.partitioned.store import PartitionBatch, bare

for _kind in (Meta, PartitionBatch, Segments, Span, Taken):
    registered(_kind)


class Served(Protocol):
    """The engines of a stream: the calls of them, with a cache of those that live.

    It is a dataclass that `codec` has registered.
    """

    def take(self, cache: Cache[Any], of: PartitionBatch, read: Read) -> Taken[Any]:
        """Let the engine of a partition take a micro-batch."""

    def look(self, cache: Cache[Any], partition: int, token: str, view: str) -> list[bytes] | None:
        """Partials of a view in the live engine of a version; None if there is none."""


@registered
@dataclass(frozen=True)
class Take:
    """A micro-batch of a partition."""

    served: bytes
    of: PartitionBatch

    def answer(self, cache: Cache[Any], read: Read) -> Taken[Any]:
        """The result; the messages of the request are not sent back."""
        return bare(_loaded(self.served).take(cache, self.of, read), self.of)


@registered
@dataclass(frozen=True)
class Look:
    """A view of a partition."""

    served: bytes
    partition: int
    token: str
    view: str

    def answer(self, cache: Cache[Any], read: Read) -> list[bytes] | None:
        """Its messages."""
        return _loaded(self.served).look(cache, self.partition, self.token, self.view)


@registered
@dataclass(frozen=True)
class NeedsSegments:
    """Request for the segments of the version."""


class ServerTraceback(Exception):  # noqa: N818
    """The traceback of an error in the server, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@registered
@dataclass(frozen=True)
class Raised:
    """The error of a request."""

    name: str
    """The class, of ringview's errors or of Python's own."""
    arguments: tuple[object, ...]
    fields: Mapping[str, object]
    where: str

    @staticmethod
    def of(raised: BaseException) -> Raised:
        """The error as it is, if it can be sent and made again, else what it says."""
        where = "".join(traceback.format_exception(raised))
        found = Raised(type(raised).__name__, raised.args, dict(vars(raised)), where)
        try:
            again = decode(encode(found)).error()
            if type(again) is type(raised) and str(again) == str(raised):
                return found
        except CodecError:
            # It has a value that cannot be sent.
            pass
        said = f"{type(raised).__name__}: {raised}"
        return Raised("RuntimeError", (said,), {}, where)

    def error(self) -> BaseException:
        """The error.

        Raises:
            CodecError: There is no such class of errors, or it is not made of these arguments.
        """
        kind = getattr(errors, self.name, None) or getattr(builtins, self.name, None)
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise CodecError(f"{self.name} is no error")
        try:
            made = kind(*self.arguments)
            vars(made).update(self.fields)
        except Exception as problem:
            raise CodecError(f"{self.name} is not made of its arguments") from problem
        return made


@lru_cache(maxsize=32)
def _loaded(served: bytes) -> Served:
    found: Served = decode(served)
    return found
