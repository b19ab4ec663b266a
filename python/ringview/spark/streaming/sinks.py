"""The sinks of a stream: what a user gives, as one sink for all views.

Invariant: a view without a sink is not told of. Cost: none beside the sinks'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ringview.errors import InvalidValueError, UnknownViewError, did_you_mean
from ringview.sinks.protocol import Sink, begin


def sink_of(given: object, views: Mapping[str, str]) -> Sink | None:
    """One sink for all views, from what a user gives: a function, or functions by view."""
    if given is None or callable(given):
        return given
    if not isinstance(given, Mapping):
        raise InvalidValueError(
            f"sink={given!r} is no sink; give a function of view, batch and changes, a "
            "ParquetSink, or a dict of them by view"
        )
    by_view: dict[str, Sink] = dict(given)
    for name, sink in by_view.items():
        if name not in views:
            raise UnknownViewError(
                f'sink: there is no view "{name}" in views{did_you_mean(name, views)}'
            )
        if not callable(sink):
            raise InvalidValueError(f'sink: that of view "{name}" is no function but {sink!r}')

    return _ByView(by_view)


class _ByView:
    """Sinks by view; views without one are not told of."""

    def __init__(self, sinks: Mapping[str, Sink]) -> None:
        self._sinks = sinks

    def begin(self, checkpoint: str, views: Sequence[str], is_new: bool) -> None:
        told = list({id(sink): sink for sink in self._sinks.values()}.values())
        for sink in told:
            own = [view for view in views if self._sinks.get(view) is sink]
            begin(sink, checkpoint, own, is_new)

    def __call__(self, view: str, batch_id: int, changes: pa.Table) -> None:
        if view in self._sinks:
            self._sinks[view](view, batch_id, changes)
