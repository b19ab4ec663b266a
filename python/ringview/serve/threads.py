"""Threads for what blocks: reads, queries and changes of the database, each bounded.

Invariant: no call of the database runs on the event loop; changes and queries have threads of
their own, so that neither holds up reads longer than the engine does. Cost: a call that finds no
free thread waits for one; a thread that a slow call holds is held until that call ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Literal, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

Kind = Literal["read", "query", "change"]
_SIZES: dict[Kind, int] = {"read": 8, "query": 2, "change": 1}


class Threads:
    """A bounded pool for each kind of call.

    >>> threads = Threads()
    >>> asyncio.run(threads.run("read", sum, [1, 2]))
    3
    >>> threads
    Threads(read=8, query=2, change=1)
    >>> threads.close()
    """

    def __init__(self) -> None:
        self._pools = {
            kind: ThreadPoolExecutor(size, thread_name_prefix=f"ringview {kind}")
            for kind, size in _SIZES.items()
        }

    async def run(
        self, kind: Kind, call: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Result of a call, run in a thread of its kind; a call that waits can be cancelled."""
        future = self._pools[kind].submit(call, *args, **kwargs)
        return await asyncio.wrap_future(future)

    def start(self, kind: Kind, call: Callable[[], object]) -> None:
        """Do a call some time, and wait for nothing; nothing is done once they are closed."""
        # A pool that is closed refuses.
        with suppress(RuntimeError):
            self._pools[kind].submit(call)

    def close(self) -> None:
        """Wait for the calls that run; those that wait are dropped."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)

    def __repr__(self) -> str:
        return f"Threads({', '.join(f'{kind}={size}' for kind, size in _SIZES.items())})"
