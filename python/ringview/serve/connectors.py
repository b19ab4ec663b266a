"""Sources and sinks of a server, each in a thread of its own, tried again where it fails.

Invariant: a step that failed applied nothing, and its next try begins where it did; each failure is
kept for the status page. Cost: that of the reader or sender; after a failure a wait, longer each
time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, Protocol

from ..background_loop import Loop
from ..masking import masked

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


class Stepping(Protocol):
    """A `ringview.sources.Reader` or a `ringview.sinks.Sender`."""

    batches: int
    rows: int

    @property
    def finished(self) -> bool:
        """Whether there will never be more."""

    def step(self) -> bool:
        """Do what there is to do now; whether there was anything."""

    def close(self) -> None:
        """Release the resources that it holds."""


class Connector(Loop):
    """A reader of a source or a sender to a sink, which continues after failures.

    >>> import ringview as rv
    >>> from ringview import sources
    >>> db = rv.Database()
    >>> _ = db.create_table("r", {"a": "int64"})
    >>> class Once:
    ...     name = "once"
    ...     def batches(self, positions):
    ...         yield sources.Batch(
    ...             [sources.Change("r", [{"a": 1}], sources.Origin("once"))], {"": "1"})
    >>> connector = Connector("source", "once", lambda: sources.Reader(db, [Once()]))
    >>> connector.run()
    Connector('once', source, batches=1, rows=1)
    """

    def __init__(
        self,
        kind: Literal["source", "sink"],
        name: str,
        make: Callable[[], Stepping],
        *,
        every: float = 0.2,
        failed: Callable[[Connector, Exception], object] | None = None,
    ) -> None:
        super().__init__(f"ringview {kind} {name}", every)
        self.kind = kind
        self.name = name
        self._make = make
        self._failed = failed
        self._wait = _FIRST_WAIT
        self._stepping_one: Stepping | None = None
        self.problem: str | None = None
        """Why the last step failed; None once one did not."""
        self.changed: float | None = None
        """When it last moved anything, by `time.time()`."""

    def __repr__(self) -> str:
        return f"Connector({self.name!r}, {self.kind}, batches={self.batches}, rows={self.rows})"

    @property
    def batches(self) -> int:
        """The number of batches that it moved."""
        return 0 if self._stepping_one is None else self._stepping_one.batches

    @property
    def rows(self) -> int:
        """The number of rows that it moved."""
        return 0 if self._stepping_one is None else self._stepping_one.rows

    @property
    def finished(self) -> bool:
        """Whether there will never be more."""
        return self._stepping_one is not None and self._stepping_one.finished

    def step(self) -> bool:
        """Do a step; one that fails waits, and is done again."""
        try:
            if self._stepping_one is None:
                self._stepping_one = self._make()
            moved = self._stepping_one.step()
        except Exception as problem:
            self.problem = masked(f"{type(problem).__name__}: {problem}")
            if self._failed is not None:
                self._failed(self, problem)
            self._stopping.wait(self._wait)
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
            return True
        self.problem, self._wait = None, _FIRST_WAIT
        if moved:
            self.changed = time.time()
        return moved

    def request_stop(self) -> None:
        """Let it end behind the step that it is in; returns at once."""
        self._stopping.set()

    def end(self, seconds: float) -> bool:
        """Let it end, and wait for that so long at the most; whether it has."""
        self.request_stop()
        return self.join(seconds)

    def close(self) -> None:
        """Release files and connections."""
        if self._stepping_one is not None:
            self._stepping_one.close()
