"""What a worker and the server of engines say to each other: one request, one answer.

    Take -> [NeedsSegments -> segments] -> Taken | Raised
    Look -> messages, or None             | Raised

Invariant: all of it is pickled by one process and read by one of the same user that knows the same
secret. An error arrives with its class, message and fields. Cost: the bytes, copied twice on each
side.
"""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ringview.spark.streaming.partitioned.live import Cache
from ringview.spark.streaming.partitioned.segments import Read, Taken
from ringview.spark.streaming.partitioned.store import PartitionBatch, bare


class Served(Protocol):
    """The engines of a stream: what is asked of them, with a cache of those that live. Pickled."""

    def take(self, cache: Cache[Any], of: PartitionBatch, read: Read) -> Taken[Any]:
        """Let the engine of a partition take a micro-batch."""

    def look(self, cache: Cache[Any], partition: int, token: str, view: str) -> list[bytes] | None:
        """What the live engine of a version has of a view; None if there is none."""


@dataclass(frozen=True)
class Take:
    """A micro-batch of a partition."""

    served: bytes
    of: PartitionBatch

    def answer(self, cache: Cache[Any], read: Read) -> Taken[Any]:
        """What came of it; the messages that it came with are not sent back."""
        return bare(_loaded(self.served).take(cache, self.of, read), self.of)


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


@dataclass(frozen=True)
class NeedsSegments:
    """Asks for the segments of the version."""


class ServerTraceback(Exception):  # noqa: N818
    """Where in the server an error was raised, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True)
class Raised:
    """What a request raised."""

    error: BaseException
    where: str

    @staticmethod
    def of(raised: BaseException) -> Raised:
        """The error as it is, if it can be pickled, else what it says."""
        error = raised
        try:
            if type(pickle.loads(pickle.dumps(raised))) is not type(raised):
                error = RuntimeError(f"{type(raised).__name__}: {raised}")
        except Exception:
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        return Raised(error, "".join(traceback.format_exception(raised)))


@lru_cache(maxsize=32)
def _loaded(served: bytes) -> Served:
    found: Served = pickle.loads(served)
    return found
