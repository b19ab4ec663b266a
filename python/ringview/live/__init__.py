"""A view in a notebook that moves: its first rows, fresh after each change.

Invariant: what is shown is the view as it was at one of its commits. Needs the extra `notebook`.
Cost: a look at what moved and the rows that are shown, at most once in `every` seconds; a thread.
"""

from __future__ import annotations

import threading
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValueError, RingviewError
from ..extras import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..follower import Follower
    from ..relation import Relation

_HERE = Path(__file__).parent


def live(view: Relation, follow: Callable[[], Follower], rows: int, every: float) -> Any:
    """The widget of a view; see `View.live`."""
    if rows < 1 or not 0 < every < float("inf"):
        raise InvalidValueError(f"rows={rows}, every={every}: give at least 1 row, and some time")
    return _widget()(view, follow(), rows, every)


@cache
def _widget() -> Any:
    """The class of widgets, made when it is first needed: what it is made of is an extra."""
    anywidget, traitlets = (
        load(name, "view.live()", "notebook") for name in ("anywidget", "traitlets")
    )
    parts = {
        "__doc__": "A view that moves in a notebook; made by `View.live`.",
        "_esm": _HERE / "live.js",
        "_css": _HERE / "live.css",
        "shown": traitlets.Dict().tag(sync=True),
        "every": traitlets.Float(0.5).tag(sync=True),
    }
    return type("LiveView", (_Live, anywidget.AnyWidget), parts)


class _Live:
    """The part of a widget that does not depend on the library that draws it."""

    shown: dict[str, Any]

    def __init__(self, view: Relation, follower: Follower, rows: int, every: float) -> None:
        super().__init__()
        self._view, self._rows = view, rows
        self.every = every
        self._looking = threading.Lock()
        self._follower = follower
        self._moves = 0
        self._show()
        # In hosts that drop messages of threads, such as marimo, the page requests a refresh.
        self.on_msg(lambda *_: self.refresh())  # type: ignore[attr-defined]
        self._stopping = threading.Event()
        name = f"ringview live {view.name}"
        self._thread = threading.Thread(target=self._follow, name=name, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"LiveView({self._view.name!r}, moves={self._moves})"

    @property
    def moves(self) -> int:
        """Number of refreshes that found changes."""
        return self._moves

    def refresh(self) -> bool:
        """Look now; whether anything had moved."""
        with self._looking:
            try:
                moved = self._follower.changes().num_rows
                if moved:
                    self._moves += 1
                    self._show()
            except RingviewError as problem:
                self._end(str(problem))
                return False
            return bool(moved)

    def close(self) -> None:
        """End it; what it shows stays. Twice does nothing."""
        self._stopping.set()
        self._follower.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _follow(self) -> None:
        native = self._follower._native
        try:
            while not self._stopping.is_set() and native.wait(None):
                self.refresh()
                self._stopping.wait(self.every)
        except RingviewError as problem:
            with self._looking:
                self._end(str(problem))

    def _show(self) -> None:
        from ..convert.json_rows import columns, rows

        found = self._view.head(self._rows)
        self.shown = {
            "name": self._view.name,
            "total": len(self._view),
            "columns": columns(found.schema),
            "rows": rows(found),
            "moves": self._moves,
            "at": time.time(),
            "ended": None,
        }

    def _end(self, why: str) -> None:
        if not self._stopping.is_set():
            self.shown = {**self.shown, "ended": why}
        self._stopping.set()
