"""A loop of steps: in the calling thread to its end, or in a thread of its own until `stop`.

Invariant: one step at a time; what one raises ends the loop, and is raised again by whoever stops
or joins it. Cost: that of the steps; while there is nothing to do, one look every so many seconds.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from .errors import RingviewError
from .log import log


class Loop(ABC):
    """A loop over `step`; made by what reads sources and by what feeds sinks."""

    def __init__(self, name: str, every: float) -> None:
        self._name = name
        self._every = every
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._raised: BaseException | None = None
        self._stepping = threading.Lock()

    @abstractmethod
    def step(self) -> bool:
        """Do what there is to do now; whether there was anything."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources that it holds; a later step acquires them again."""

    @property
    def finished(self) -> bool:
        """Whether there will never be anything to do again."""
        return False

    def run(self) -> Self:
        """Step until it is finished, or until `stop()` is called from elsewhere; returns itself."""
        self._stopping.clear()
        return self._loop(self.step)

    def _step_again(self) -> bool:
        """Do a step of the thread; a subclass may do one that failed again."""
        return self.step()

    def _loop(self, step: Callable[[], bool]) -> Self:
        log("info", "%s starts", self._name)
        worked = True
        try:
            while not self._stopping.is_set():
                moved = step()
                if self.finished:
                    break
                if not moved:
                    if worked:
                        log("info", "%s caught up", self._name)
                    self._stopping.wait(self._every)
                worked = moved
        except Exception as raised:
            log("error", "%s failed: %s", self._name, raised)
            raise
        finally:
            self.close()
        log("info", "%s %s", self._name, "finished" if self.finished else "stopped")
        return self

    def start(self) -> Self:
        """Step in a thread of its own until `stop()`; returns at once.

        Raises:
            RingviewError: It was started already.
        """
        if self._thread is not None:
            raise RingviewError(f"{self._name} was started already; stop it first")
        self._stopping.clear()
        self._raised = None
        self._thread = threading.Thread(target=self._guarded, name=self._name, daemon=True)
        self._thread.start()
        return self

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the thread ends, at most so many seconds; whether it has.

        Raises:
            Exception: What a step raised.
        """
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return False
            self._thread = None
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        return True

    def stop(self) -> None:
        """End the loop behind the step that it is in, and wait for that; twice does nothing.

        Raises:
            Exception: What a step of the thread raised.
        """
        self._stopping.set()
        self.join()

    @property
    def running(self) -> bool:
        """Whether a thread steps."""
        return self._thread is not None and self._thread.is_alive()

    def __enter__(self) -> Self:
        """Start the thread, which the end of the block stops."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _guarded(self) -> None:
        try:
            self._loop(self._step_again)
        except BaseException as raised:
            self._raised = raised
