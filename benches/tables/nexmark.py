"""The table of Nexmark: each view over its stream, beside DuckDB recomputing and Pathway.

Invariant: what a system cannot express has no figure. Cost: O(lines).
"""

from __future__ import annotations

from results import Line

from .markdown import NONE, figure, table

BATCH = 1_000


def tables(lines: list[Line]) -> list[str]:
    """Milliseconds a batch beside a recomputation, microseconds an event beside a peer, bytes."""
    lines = [line for line in lines if line["workload"] == "nexmark"]
    # A program that was stopped names no query.
    failures = [
        f"Nexmark {line.get('query', '')}: failed: {line['failed']}"
        for line in lines
        if "failed" in line
    ]
    lines = [line for line in lines if "failed" not in line]
    if not lines:
        return failures
    events = lines[0]["events"]
    head = [f"Nexmark, {events:,} events in batches of {BATCH:,}", "ms a batch"]
    head += ["DuckDB recomputing, ms", "ratio", "us an event", "Pathway, us an event", "MB", "rows"]
    return [table(head, [row(line) for line in lines], 1), *failures]


def row(line: Line) -> list[str]:
    """Of one query."""
    ours, anew = line["batch_seconds"], line["duckdb_seconds"]
    an_event = line["stream_seconds"] / (line["events"] - line["after"])
    peer = line.get("peer_event_seconds")
    found = [line["query"], figure(1e3 * ours), figure(1e3 * anew), figure(anew / ours)]
    found += [figure(1e6 * an_event), NONE if peer is None else figure(1e6 * peer)]
    return [*found, figure(line["view_bytes"] / 1e6), f"{line['rows']:,}"]
