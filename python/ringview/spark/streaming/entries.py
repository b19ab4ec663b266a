"""The log of a state on the driver: micro-batches as they were applied, and what targets took.

Invariant: applied in order to the state that they are behind, entries give the state again, with
what each micro-batch moved. Cost: the rows as compressed Arrow; nothing is looked for twice, for
rows that were refused are not among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from ringview import Database
from ringview.convert.ipc import read_stream
from ringview.spark.streaming import letters, marks
from ringview.spark.streaming.clock import Greatest
from ringview.spark.streaming.plan import Plan

_SCHEMA = pa.schema(
    {"kind": pa.string(), "batch": pa.int64(), "name": pa.string(), "rows": pa.large_binary()}
)
_BATCH, _ROWS, _LETTERS, _TIMES = "batch", "rows", "letters", "times"
_SENT, _TAKEN = "sent", "taken"
_FOR_SINK = "sink"
_SMALL = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True)
class Batch:
    """A micro-batch that was applied."""

    number: int
    rows: Mapping[str, pa.Table]
    """The rows that count, by table."""
    letters: pa.Table | None = None
    """The rows that were refused, if any."""
    has_sink: bool = False
    """Whether what it moved is for a sink."""
    came: Greatest | None = None
    """The times that moved the clock, if not those of the rows alone."""


@dataclass(frozen=True)
class Sent:
    """A sink took a micro-batch."""

    number: int

    def apply(self, plan: Plan, database: Database) -> None:
        """Note it."""
        with database.transaction(batch_id=marks.sent(self.number)):
            pass


@dataclass(frozen=True)
class Taken:
    """The target of dead letters took those of a micro-batch."""

    number: int

    def apply(self, plan: Plan, database: Database) -> None:
        """Remove them."""
        found = letters.waiting(plan, database).get(self.number)
        if found is not None:
            letters.taken(plan, database, found)


Mark = Sent | Taken
Entry = Batch | Mark


@dataclass
class Group:
    """A micro-batch with the marks behind it; without one where a log begins with marks."""

    batch: Batch | None = None
    marks: list[Mark] = field(default_factory=list)


def packed(entries: Iterable[Entry]) -> bytes:
    """Entries as bytes."""
    found: list[tuple[str, int, str, bytes]] = []
    for entry in entries:
        if not isinstance(entry, Batch):
            kind = _SENT if isinstance(entry, Sent) else _TAKEN
            found.append((kind, entry.number, "", b""))
            continue
        found.append((_BATCH, entry.number, _FOR_SINK if entry.has_sink else "", b""))
        found += [(_ROWS, entry.number, name, _stream(rows)) for name, rows in entry.rows.items()]
        if entry.letters is not None:
            found.append((_LETTERS, entry.number, "", _stream(entry.letters)))
        if entry.came is not None:
            found.append((_TIMES, entry.number, "", json.dumps(dict(entry.came)).encode()))
    columns = [list(column) for column in zip(*found, strict=True)]
    return _stream(pa.table(columns, schema=_SCHEMA), None)


def unpacked(data: bytes) -> Iterator[Entry]:
    """The entries of bytes.

    Raises:
        InvalidValueError: They are none.
    """
    listed = read_stream(data).to_pylist()
    for place, each in enumerate(listed):
        number = each["batch"]
        if each["kind"] == _SENT:
            yield Sent(number)
        elif each["kind"] == _TAKEN:
            yield Taken(number)
        elif each["kind"] == _BATCH:
            rows, refused, came = {}, None, None
            for part in listed[place + 1 :]:
                if part["kind"] == _ROWS:
                    rows[part["name"]] = read_stream(part["rows"])
                elif part["kind"] == _LETTERS:
                    refused = read_stream(part["rows"])
                elif part["kind"] == _TIMES:
                    came = json.loads(part["rows"])
                else:
                    break
            yield Batch(number, rows, refused, each["name"] == _FOR_SINK, came)


def grouped(entries: Iterable[Entry]) -> Iterator[Group]:
    """Each micro-batch with what is noted behind it."""
    found = Group()
    for entry in entries:
        if isinstance(entry, Batch):
            yield found
            found = Group(entry)
        else:
            found.marks.append(entry)
    yield found


def _stream(rows: pa.Table, options: pa.ipc.IpcWriteOptions | None = _SMALL) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_table(rows.combine_chunks())
    found: bytes = sink.getvalue().to_pybytes()
    return found
