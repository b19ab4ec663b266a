"""The status of a server now: as JSON for its page, and in Prometheus' format.

Invariant: each figure is read at the request. Cost: O(tables and views), and of each view its
length.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .. import __version__
from ..errors import InvalidValueError, RingviewError
from ..sources.positions import TABLE
from . import answers
from .context import Context, of

if TYPE_CHECKING:
    from .authentication import Guard

_MOST_PARTS = 100
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


async def health(request: Request) -> Response:
    """Whether the process answers."""
    return JSONResponse({"status": "live"})


async def ready(request: Request) -> Response:
    """Whether all is loaded, and no source and no sink fails."""
    context = of(request)
    failing = {
        connector.name: connector.problem
        for connector in context.connectors
        if connector.problem is not None
    }
    good = context.is_ready() and not failing and not context.closing
    state = "ready" if good else "not ready"
    return JSONResponse({"status": state, "failing": failing}, 200 if good else 503)


async def status(request: Request) -> Response:
    """Tables, views, sources, sinks, and when something last changed."""
    context, guard = of(request), request.app.state.guard
    return answers.json(await context.run("read", _status, context, guard))


def _status(context: Context, guard: Guard) -> dict[str, Any]:
    db, file = context.db, context.db.status()
    memory = db.memory_usage()
    moved = [connector.changed for connector in context.connectors if connector.kind == "source"]
    at = max((each for each in [context.changed, *moved] if each is not None), default=None)
    rows = context.rows + sum(
        connector.rows for connector in context.connectors if connector.kind == "source"
    )
    return {
        "version": __version__,
        "now": time.time(),
        "started": context.started,
        "changed": at,
        "rows": rows,
        "writable": context.writable,
        "connections": guard.connections,
        "file": None if file is None else {"path": file.path.name, "bytes": file.file_bytes},
        "bytes": sum(memory.values()),
        "tables": _sizes(db.tables, "table", memory),
        "views": _sizes(db.views, "view", memory),
        "feeds": [
            {
                "kind": connector.kind,
                "name": connector.name,
                "batches": connector.batches,
                "rows": connector.rows,
                "finished": connector.finished,
                "problem": connector.problem,
                "changed": connector.changed,
            }
            for connector in context.connectors
        ],
    }


def _sizes(named: Any, kind: str, memory: dict[str, int]) -> list[dict[str, Any]]:
    found = []
    for name, each in named.items():
        # A table or view that is dropped meanwhile is left out.
        with suppress(RingviewError):
            size = memory.get(f"{kind} {name}", 0)
            found.append({"name": name, "rows": len(each), "bytes": size})
    return found


async def explain(request: Request) -> Response:
    """Plan of a view, and the cost of a change, in a format of `View.explain`."""
    context, form = of(request), request.query_params.get("format", "text")

    def explained() -> str:
        return context.db.views[request.path_params["name"]].explain(form)  # type: ignore[arg-type]

    if form not in ("text", "json", "mermaid", "graphviz"):
        raise InvalidValueError(f"format is text, json, mermaid or graphviz, not {form!r}")
    found = await context.run("read", explained)
    if form == "json":
        return answers.json(json.loads(found))
    return Response(found, media_type="text/plain; charset=utf-8")


async def metrics(request: Request) -> Response:
    """All figures in Prometheus' format."""
    context, guard = of(request), request.app.state.guard

    def written() -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(_status(context, guard), context))
        return generate_latest(registry) + generate_latest(request.app.state.registry)

    return Response(await context.run("read", written), media_type=_METRICS)


class _Collected:
    """A status as metrics."""

    def __init__(self, status: dict[str, Any], context: Context) -> None:
        self._status = status
        self._context = context

    def __repr__(self) -> str:
        return f"_Collected({len(self._status['views'])} views)"

    def collect(self) -> Iterator[Metric]:
        """The metrics, one family after the other."""
        status = self._status
        for kind in ("table", "view"):
            for what in ("rows", "bytes"):
                text = f"{what.capitalize()} of a {kind}."
                family = GaugeMetricFamily(f"ringview_{kind}_{what}", text, labels=[kind])
                for each in status[f"{kind}s"]:
                    family.add_metric([each["name"]], each[what])
                yield family
        yield GaugeMetricFamily(
            "ringview_bytes", "Bytes of the database in memory.", value=status["bytes"]
        )
        yield GaugeMetricFamily(
            "ringview_connections", "Requests that are answered now.", value=status["connections"]
        )
        yield CounterMetricFamily(
            "ringview_change_batches", "Changes that came by HTTP.", value=self._context.batches
        )
        yield CounterMetricFamily(
            "ringview_change_rows", "Rows of changes that came by HTTP.", value=self._context.rows
        )
        if status["changed"] is not None:
            yield GaugeMetricFamily(
                "ringview_last_change_seconds",
                "When something last changed, in seconds since 1970.",
                value=status["changed"],
            )
        if (file := self._context.db.status()) is not None:
            yield GaugeMetricFamily("ringview_file_bytes", "The file.", value=file.file_bytes)
            yield CounterMetricFamily("ringview_file_commits", "Commits.", value=file.commits)
        yield from self._connectors()
        yield from self._positions()

    def _connectors(self) -> Iterator[Metric]:
        labels = ["kind", "name"]
        up = GaugeMetricFamily("ringview_feed_up", "Whether its last step did well.", labels=labels)
        batches = CounterMetricFamily("ringview_feed_batches", "Batches moved.", labels=labels)
        rows = CounterMetricFamily("ringview_feed_rows", "Rows moved.", labels=labels)
        lag = GaugeMetricFamily(
            "ringview_feed_quiet_seconds", "Seconds since it last moved anything.", labels=labels
        )
        for connector in self._status["feeds"]:
            named = [connector["kind"], connector["name"]]
            up.add_metric(named, float(connector["problem"] is None))
            batches.add_metric(named, connector["batches"])
            rows.add_metric(named, connector["rows"])
            if connector["changed"] is not None:
                lag.add_metric(named, self._status["now"] - connector["changed"])
        yield from (up, batches, rows, lag)

    def _positions(self) -> Iterator[Metric]:
        """Positions of sources, if they are numbers; a source of many files has only a count."""
        if TABLE not in self._context.db.tables:
            return
        places: dict[str, list[tuple[str, str]]] = {}
        for row in self._context.db.tables[TABLE].to_arrow().to_pylist():
            places.setdefault(row["source"], []).append((row["part"], row["position"]))
        parts = GaugeMetricFamily(
            "ringview_source_parts", "Files or partitions that were begun.", labels=["source"]
        )
        at = GaugeMetricFamily(
            "ringview_source_position",
            "Where a source is: an offset, rows of a file, a place in a log.",
            labels=["source", "part", "of"],
        )
        for source, found in places.items():
            parts.add_metric([source], len(found))
            # Each is a series that a collector keeps.
            for part, text in found if len(found) <= _MOST_PARTS else []:
                for field, number in _numbers(text):
                    at.add_metric([source, part, field], number)
        yield from (parts, at)


def _numbers(text: str) -> Iterator[tuple[str, float]]:
    """The numbers of a position, which is one, or JSON that has some.

    >>> [*_numbers("17")], [*_numbers('{"lsn": 5, "state": "following"}')], [*_numbers("x")]
    ([('', 17.0)], [('lsn', 5.0)], [])
    """
    try:
        found = json.loads(text)
    except ValueError:
        return
    for name, value in found.items() if isinstance(found, dict) else [("", found)]:
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, float(value)
