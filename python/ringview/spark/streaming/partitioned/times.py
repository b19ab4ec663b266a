"""Greatest times on their way to the engines of all partitions, which have one clock by them.

The shuffle of a micro-batch is where all of its rows have been seen: each task that reads rows
sends the greatest of their times to every partition, beside the rows that each of them needs. The
greatest of what a partition receives is that of the micro-batch, and is in its log with its rows.

Invariant: the engines of all partitions apply a micro-batch with the same greatest times, and again
when they do so from their logs. Cost: a text for each task and partition; in each partition, a
transaction and an entry of its log, be there rows or not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ringview.spark.streaming.clock import Greatest, greatest_of

_ARROW = b"\xff\xff\xff\xff"
"""So begin the messages that have rows."""


def message(greatest: Greatest) -> bytes:
    """Greatest times as a message."""
    return json.dumps(dict(greatest), sort_keys=True).encode()


def split(delta: Sequence[bytes]) -> tuple[list[bytes], dict[str, int]]:
    """The messages that have rows, and the greatest of the times in the others.

    >>> split([message({"r": 1}), message({"r": 3, "s": 2})])
    ([], {'r': 3, 's': 2})
    """
    rows = [each for each in delta if each.startswith(_ARROW)]
    times = [json.loads(each) for each in delta if not each.startswith(_ARROW)]
    return rows, greatest_of(times)


def gathered(delta: Sequence[bytes]) -> list[bytes]:
    """The same messages, with those of times in one."""
    rows, greatest = split(delta)
    return [*rows, message(greatest)] if greatest else rows
