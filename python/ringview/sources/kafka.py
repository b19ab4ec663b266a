"""Topics of Kafka as a source.

Invariant: the place is the next offset of each partition, kept with the rows, and the id of each
topic; the broker's groups play no part. Rows of a partition are applied in its order. Each
partition has a place before its first message is read, so that a message that the broker no longer
has is an error, never left out; so is a topic that was made anew. Cost: one batch of messages in
memory, in addition to the client's buffer, and a question for the ids a batch.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ..errors import InvalidValueError, StorageError
from ..text import quoted
from .batch import Batch, Casts, Change, Decimals, EpochUnit, Evolve, How, Origin
from .debezium import OP, UNAVAILABLE, Envelopes
from .folder import shaped
from .kafka_client import Client, Part, config_of, raised
from .kafka_rows import Decoder, Messages, Objects, checked_columns, decoded
from .kafka_rows import Part as Rows

if TYPE_CHECKING:
    from ..database import Database

Envelope = Literal["debezium", "json"]
Start = Literal["earliest", "latest"] | datetime | Mapping[str, int]
_WAIT = 0.1
"""Seconds that one look waits for messages."""
_PATIENCE = 100
"""After so many empty polls the other sources are read, though this one has not ended."""
_LOOK = 1.0
"""After so many seconds the topics are looked at for partitions that are new."""
_OURS = {
    "bootstrap.servers": "the first argument names the brokers",
    "auto.offset.reset": "say start=",
    "enable.auto.commit": "offsets are kept in the database, with the rows",
    "enable.partition.eof": "watch=False ends at the end of the topics",
}


@dataclass(frozen=True)
class Options:
    """The arguments of `kafka`, checked."""

    shape: Mapping[str, object]
    format: Envelope
    watch: bool
    messages: int
    start: Start
    columns: Mapping[str, str]
    evolve: Evolve
    unavailable: str


class Kafka:
    """Topics and the tables that they fill; made by `kafka`."""

    has_letters = True

    def __init__(
        self,
        topics: Mapping[str, str],
        name: str | None,
        options: Options,
        config: Mapping[str, Any],
    ) -> None:
        self.name = name or f"kafka {','.join(sorted(topics))}"
        self._is_named = name is not None
        self._topics = dict(topics)
        self._options = options
        self._config = config
        self._tables: dict[str, str] = {}
        self._keys: dict[str, Sequence[str]] = {}
        self._lost: str | None = None
        self._timeout = 10.0
        self._look = _LOOK

    def __repr__(self) -> str:
        return f"Kafka({self._topics})"

    def prepare(self, db: Database) -> None:
        """Look up the keys of the tables; a reader calls it before it reads.

        Raises:
            UnknownTableError: There is no such table.
        """
        for table in self._topics.values():
            self._keys[table] = db.tables[table].unique or ()

    def kept_as(self, part: str) -> str:
        """The name that a position is kept under: without `name=` that of its topic."""
        return self.name if self._is_named else f"kafka {part.partition('[')[0]}"

    def adopts(self, source: str, part: str) -> bool:
        """Whether a position is one of this source's that an earlier version kept."""
        topic = part.partition("[")[0]
        return (
            not self._is_named
            and source.startswith("kafka ")
            and topic in source.removeprefix("kafka ").split(",")
            and self._table_of(topic) is not None
        )

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The messages behind `positions`, those of one look at a time; see `Source`."""
        if self._lost is not None:
            raise StorageError(self._lost)
        client = Client(self.name, self._config, self._timeout)
        try:
            yield from self._consumed(client, dict(positions))
        finally:
            client.close()

    def _consumed(self, client: Client, known: dict[str, str]) -> Iterator[Batch | None]:
        options = self._options
        assigned: set[str] = set()
        ended: set[str] = set()
        quiet, due = 0, 0.0
        while True:
            if time.monotonic() >= due:
                yield from self._assigned(client, known, assigned)
                due = time.monotonic() + self._look
            came = client.consume(options.messages, _WAIT)
            good = self._good(client, came, ended)
            answer = client.begin_ids(sorted({topic for topic, _ in good}))
            batches = [*self._batches(good)]
            # A topic that was made anew meanwhile has other messages at the same offsets.
            self._check(answer(), known)
            for batch in batches:
                yield batch
                known.update(batch.positions)
            if not options.watch and assigned <= ended:
                return
            quiet = 0 if came else quiet + 1
            # The first messages take a while to arrive.
            if quiet and (options.watch or quiet % _PATIENCE == 0):
                yield None

    def _assigned(
        self, client: Client, known: dict[str, str], assigned: set[str]
    ) -> Iterator[Batch]:
        """Read all partitions of all topics; a batch with the places of those that are new."""
        numbers = self._partitions(client)
        fresh = [topic for topic in numbers if not any(_is_of(part, topic) for part in assigned)]
        ids = client.begin_ids(fresh)()
        self._check(ids, known)
        begun = {topic: text for topic, text in ids.items() if topic not in known}
        parts = {
            f"{topic}[{number}]": (topic, number)
            for topic, listed in numbers.items()
            for number in listed
            if f"{topic}[{number}]" not in assigned
        }
        begun |= self._begun(client, parts, known)
        if begun:
            yield Batch((), begun)
            known.update(begun)
        if parts:
            client.assign({part: int(known[name]) for name, part in parts.items()})
            assigned.update(parts)

    def _partitions(self, client: Client) -> dict[str, list[int]]:
        """The partitions of each topic that is read."""
        found = client.partitions([*self._topics])
        for topic in found:
            table = self._table_of(topic)
            if table is not None:
                self._tables[topic] = table
        return {topic: numbers for topic, numbers in found.items() if topic in self._tables}

    def _table_of(self, topic: str) -> str | None:
        """The table that a topic fills: by its name, else by the first pattern that it fits."""
        if topic in self._topics:
            return self._topics[topic]
        patterns = [name for name in self._topics if name.startswith("^")]
        return next((self._topics[each] for each in patterns if re.match(each, topic)), None)

    def _begun(
        self, client: Client, parts: Mapping[str, Part], known: Mapping[str, str]
    ) -> dict[str, str]:
        """The places of partitions that have none yet."""
        topics = {topic for topic, _ in parts.values()}
        seen = {topic for topic in topics if any(_is_of(part, topic) for part in known)}
        # Of a topic that was read before, a partition is new: none of its messages was.
        begun = {
            name: "0" for name, (topic, _) in parts.items() if name not in known and topic in seen
        }
        new = {name: part for name, part in parts.items() if part[0] not in seen}
        start = self._options.start
        if isinstance(start, Mapping):
            for name in new:
                if name not in start:
                    raise InvalidValueError(
                        f"source {quoted(self.name)}: start= names no offset of {name}"
                    )
            return begun | {name: str(start[name]) for name in new}
        at = int(start.timestamp() * 1000) if isinstance(start, datetime) else start
        later = [part for part in new.values() if known and part[0] not in self._topics]
        # A topic that a pattern finds later is read from its first message.
        first = client.starts(later, "earliest")
        found = client.starts([part for part in new.values() if part not in later], at)
        return begun | {name: str((first | found)[part]) for name, part in new.items()}

    def _check(self, ids: Mapping[str, str], known: Mapping[str, str]) -> None:
        """Refuse a topic that is another one than that whose offsets are kept."""
        for topic, text in ids.items():
            if known.get(topic, text) != text:
                self._lose(
                    f"topic {quoted(topic)} was deleted and made anew since it was read: its "
                    "offsets count other messages now"
                )

    def _lose(self, why: str) -> NoReturn:
        # Lost messages stay lost once the topic has as many as before.
        self._lost = (
            f"source {quoted(self.name)}: {why}. Fill the table anew under another name=, and keep "
            "topics and their messages for longer"
        )
        raise StorageError(self._lost)

    def _good(self, client: Client, came: Sequence[Any], ended: set[str]) -> dict[Part, list[Any]]:
        """The messages by topic and partition; raises the errors that the client reports."""
        good: dict[Part, list[Any]] = {}
        for message in came:
            problem = message.error()
            if problem is None:
                good.setdefault((message.topic(), message.partition()), []).append(message)
                continue
            part = f"{message.topic()}[{message.partition()}]"
            if problem.name() == "_PARTITION_EOF":
                ended.add(part)
            elif problem.name() in ("_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"):
                self._lose(f"{part} no longer has the messages that come next ({problem.str()})")
            elif not problem.retriable():
                raised(client.owner, client.causes, problem, None)
        return good

    def _batches(self, good: Mapping[Part, list[Any]]) -> Iterator[Batch]:
        """One batch for all partitions; more where a table is emptied between two rows."""
        parts = [self._decoded(topic, messages) for (topic, _), messages in good.items()]
        if any(part.truncates for part in parts):
            for part in parts:
                yield from self._cut(part)
        elif parts:
            positions = {part.name: str(part.last + 1) for part in parts}
            yield Batch(
                self._changes(parts), positions, [r for part in parts for r in part.rejected]
            )

    def _decoded(self, topic: str, messages: Sequence[Any]) -> Rows:
        options = self._options
        keys = self._keys.get(self._tables[topic], ())
        decoder: Decoder
        if options.format == "debezium":
            decoder = Envelopes(keys, options.unavailable)
        else:
            decoder = Objects(keys, options.shape["how"] == "upsert")
        return decoded(messages, decoder, options.columns, keys)

    def _cut(self, part: Rows) -> Iterator[Batch]:
        """A batch for the rows between two messages that empty the table, and one for each."""
        rejected, start = list(part.rejected), 0
        ends = [message.offset() for message in part.truncates]
        for end in [*ends, part.last + 1]:
            at = [i for i, each in enumerate(part.messages) if start <= each.offset() < end]
            if at or end > part.last:
                rows = Rows(part.topic, part.name)
                rows.rows = [part.rows[i] for i in at]
                rows.messages = [part.messages[i] for i in at]
                yield Batch(self._changes([rows]), {part.name: str(end)}, rejected)
                rejected = []
            if end <= part.last:
                origin = Origin(part.name, "offset", numbers=[end])
                empties = Change(self._tables[part.topic], [], origin, how="truncate")
                yield Batch([empties], {part.name: str(end + 1)})
            start = end + 1

    def _changes(self, parts: Sequence[Rows]) -> list[Change]:
        """One change for each table that has rows."""
        tables: dict[str, list[Rows]] = {}
        for part in parts:
            if part.rows:
                tables.setdefault(self._tables[part.topic], []).append(part)
        return [self._change(table, found) for table, found in tables.items()]

    def _change(self, table: str, parts: Sequence[Rows]) -> Change:
        rows = [row for part in parts for row in part.rows]
        origin = Messages(
            ", ".join(part.name for part in parts),
            [each for part in parts for each in part.messages],
        )
        shape: dict[str, Any] = {**self._options.shape, "table": table}
        if self._options.format == "debezium":
            shape |= {"how": "apply", "op": OP, "net": True}
        elif shape["how"] == "upsert" and any(OP in row for row in rows):
            rows = [{OP: "upsert", **row} for row in rows]
            shape |= {"how": "apply", "op": OP, "net": True}
        return Change(rows=rows, origin=origin, evolve=self._options.evolve, **shape)


def _is_of(part: str, topic: str) -> bool:
    return part.startswith(f"{topic}[")


def kafka(
    servers: str,
    topics: Mapping[str, str],
    *,
    format: Envelope = "debezium",
    watch: bool = True,
    how: How = "insert",
    op: str | None = None,
    ignore: Sequence[str] = (),
    epochs: EpochUnit | None = None,
    decimals: Decimals = "text",
    messages: int = 10_000,
    start: Start = "earliest",
    columns: Mapping[str, str] | None = None,
    evolve: Evolve = "refuse",
    unavailable: str = UNAVAILABLE,
    config: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Kafka:
    """Topics of Kafka, each into a table: Debezium's changes, or rows in JSON.

    Tables of Debezium's topics are declared with `unique`, the key of the source. Values are in
    JSON; `decode` says what becomes of them. With `how="upsert"`, and in Debezium, a message
    without a value deletes the row of its key, if there is one. Columns of the table's key may be
    in the message's key alone: an object, or the value of a single column.

    Args:
        servers: Brokers to begin with, as in `"kafka-1:9092,kafka-2:9092"`.
        topics: By topic, the table that it fills. A name that begins with `^` is a pattern, a
            regular expression; topics that fit it are found while it is read, too.
        format: Envelopes of Debezium, with their schemas or without, or plain objects.
        watch: Whether to wait for new messages for ever; else it ends at the end of the topics.
        how: Of plain objects, as for `folder`; so is `op`.
        op: As for `folder`.
        ignore: As for `folder`.
        epochs: The unit of integers in columns of timestamps, in messages without a schema.
        decimals: How decimals are written in messages without a schema: Debezium's "precise" mode
            writes base64, its "string" and "double" modes are texts and numbers.
        messages: How many messages a batch has at the most.
        start: Where topics begin that were never read: at their first message, behind their last
            one, at a time, or at an offset by partition, as in `{"orders[0]": 17}`. Partitions
            that a topic gets later, and topics that a pattern finds later, are read wholly.
        columns: By place of a message, the column that has it: `topic`, `partition`, `offset`,
            `timestamp`, `key` as text, `headers` as JSON, `headers.NAME` for the last of a name.
        evolve: Whether a field that the table has no column for is left out, is added to the table,
            or makes its message one that does not fit.
        unavailable: Debezium's text in the place of large values that did not change: the table's
            are kept.
        config: What else confluent-kafka takes, such as `{"security.protocol": "SSL"}`.
        name: What the offsets are kept under; by default those of each topic under its name.

    Raises:
        InvalidValueError: Options that exclude each other, or that are set here.

    Raises, when it is read:
        UnreachableError: The broker is away or lets nobody in; a reader in a thread tries again.
        StorageError: The broker no longer has the next messages, or has another topic of a name.
        MissingExtraError: confluent-kafka is not installed.
        UnsupportedError: A message is about a change of columns or tables.
        InvalidValueError, UnknownColumnError: A message does not fit, with topic, offset, column.

    Complexity: O(messages); one batch in memory.

    >>> from ringview import sources
    >>> sources.kafka("localhost:9092", {"shop.public.orders": "orders"})
    Kafka({'shop.public.orders': 'orders'})
    """
    if format not in ("debezium", "json"):
        raise InvalidValueError(f'format is "debezium" or "json", not {format!r}')
    if format == "debezium" and (how != "insert" or op is not None):
        raise InvalidValueError("envelopes say what each row does; leave out how= and op=")
    if not topics:
        raise InvalidValueError("topics={} names no topic")
    if messages < 1:
        raise InvalidValueError(f"messages={messages!r}: a batch has at least 1 message")
    for topic in topics:
        try:
            re.compile(topic if topic.startswith("^") else "")
        except re.error as problem:
            raise InvalidValueError(f"topics: {quoted(topic)} is no pattern: {problem}") from None
    if evolve not in ("ignore", "add", "refuse"):
        raise InvalidValueError(f'evolve is "ignore", "add" or "refuse", not {evolve!r}')
    options = Options(
        shaped("", how, op, None, ignore, Casts(epochs, decimals)),
        format,
        watch,
        messages,
        _checked_start(start),
        checked_columns(columns),
        evolve,
        unavailable,
    )
    given = {
        "group.id": "ringview",
        **config_of(config, servers, _OURS),
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }
    return Kafka(topics, name, options, given)


def _checked_start(start: Start) -> Start:
    if isinstance(start, datetime):
        return start.replace(tzinfo=UTC) if start.tzinfo is None else start
    if isinstance(start, Mapping):
        for part, at in start.items():
            if not re.fullmatch(r"[\w.-]+\[\d+\]", part) or at < 0:
                raise InvalidValueError(
                    f"start: {part!r}: {at!r} is no offset of a partition, as in "
                    '{"orders[0]": 17}'
                )
        return dict(start)
    if start not in ("earliest", "latest"):
        raise InvalidValueError(
            f'start is "earliest", "latest", a datetime or offsets by partition, not {start!r}'
        )
    return start
