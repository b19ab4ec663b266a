"""The sinks of a stream: a user's argument, as one sink for all views, or as sinks in workers.

Invariant: changes of a view without a sink are not sent. Cost: none but the sinks'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from ringview.errors import (
    InvalidValueError,
    TypeMismatchError,
    UnknownViewError,
    did_you_mean,
)
from ringview.sinks.protocol import Sink, begin

_dumps: Any = cloudpickle.dumps

PartitionSink = Callable[[int, int, "pa.Table"], object]
"""Partition, batch, and the rows that moved there, as a `Sink` gets them."""


@dataclass(frozen=True)
class PartitionSinks:
    """Sinks that workers call, by view; they are pickled for the way."""

    by_view: Mapping[str, PartitionSink]

    @staticmethod
    def of(given: object, views: Mapping[str, str]) -> PartitionSinks | None:
        """From what a user gives: a function for the only view, or functions by view.

        Raises:
            InvalidValueError: It is no function, or one for several views.
            UnknownViewError: There is no such view.
            TypeMismatchError: It cannot be pickled.
        """
        if given is None:
            return None
        if callable(given):
            if len(views) > 1:
                by_view = ", ".join(f'"{name}": ..' for name in views)
                raise InvalidValueError(
                    "partition_sink= is one function for several views, and is not told which one "
                    f"moved; give one by view: {{{by_view}}}"
                )
            given = dict.fromkeys(views, given)
        if not isinstance(given, Mapping) or not given:
            raise InvalidValueError(
                f"partition_sink={given!r} is no sink; give a function of partition, batch and "
                "changes, or a dict of them by view"
            )
        _check_views("partition_sink", given, views)
        found = PartitionSinks(dict(given))
        found.pickled()
        return found

    def pickled(self) -> bytes:
        """The sinks for their way to workers."""
        try:
            dumped: bytes = _dumps(dict(self.by_view))
        except Exception as problem:
            raise TypeMismatchError(
                f"partition_sink= goes to Spark's workers and cannot be pickled: {problem}; open "
                "files and connections in the function"
            ) from problem
        return dumped

    def begin(self, checkpoint: str, is_new: bool) -> None:
        """Call `begin` of those that have it with the identity; here, and not in workers."""
        for view, sink in self.by_view.items():
            asks = getattr(sink, "begin", None)
            if asks is not None:
                asks(checkpoint, [view], is_new)


@dataclass(frozen=True)
class Ends:
    """The targets of a stream's results."""

    sink: Sink | None
    in_partitions: PartitionSinks | None
    letters: Sink | None
    """The target of dead letters; None where a row that breaks a contract ends the stream."""


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
    _check_views("sink", by_view, views)
    return _ByView(by_view)


def _check_views(what: str, given: Mapping[str, object], views: Mapping[str, str]) -> None:
    for name, sink in given.items():
        if name not in views:
            raise UnknownViewError(
                f'{what}: there is no view "{name}" in views{did_you_mean(name, views)}'
            )
        if not callable(sink):
            raise InvalidValueError(f'{what}: that of view "{name}" is no function but {sink!r}')


class _ByView:
    """Sinks by view; changes of views without one are not sent."""

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
