"""Topics of Kafka as a source.

Invariant: the place is the next offset of each partition, kept with the rows; the broker's groups
play no part. Rows of a partition are applied in its order. A message that the broker no longer has
is an error, never left out. Cost: one batch of messages in memory, in addition to the client's
buffer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ..errors import InvalidValueError, StorageError
from ..extras import load
from ..text import quoted
from .batch import Batch, Casts, Change, Decimals, EpochUnit, How, Origin
from .debezium import OP, Decoded, Message, decode
from .files import parsed
from .folder import shaped

Envelope = Literal["debezium", "json"]
_WAIT = 0.1
"""Seconds that one look waits for messages."""
_PATIENCE = 100
"""After so many empty polls the other sources are read, though this one has not ended."""


class Kafka:
    """Topics and the tables that they fill; made by `kafka`."""

    def __init__(
        self,
        make: Callable[[], Any],
        topics: Mapping[str, str],
        name: str,
        shape: Mapping[str, object],
        format: Envelope,
        watch: bool,
        messages: int,
    ) -> None:
        self.name = name
        self._make = make
        self._topics = dict(topics)
        self._shape = shape
        self._format = format
        self._watch = watch
        self._messages = messages
        self._timeout = 30.0

    def __repr__(self) -> str:
        return f"Kafka({self._topics})"

    def batches(self, positions: Mapping[str, str]) -> Iterator[Batch | None]:
        """The messages behind `positions`, those of one look at a time; see `Source`."""
        known = {part: int(at) for part, at in positions.items()}
        consumer = self._make()
        try:
            yield from self._consumed(consumer, known)
        finally:
            consumer.close()

    def _consumed(self, consumer: Any, known: dict[str, int]) -> Iterator[Batch | None]:
        assigned: set[str] = set()
        ended: set[str] = set()
        quiet = 0
        self._assign(consumer, known, assigned)
        while True:
            came = consumer.consume(num_messages=self._messages, timeout=_WAIT)
            for batch in self._batches(self._good(came, ended)):
                yield batch
                known.update({part: int(at) for part, at in batch.positions.items()})
            if not self._watch and assigned <= ended:
                return
            quiet = 0 if came else quiet + 1
            # The first messages take a while to arrive.
            if quiet and (self._watch or quiet % _PATIENCE == 0):
                yield None
                # A topic may have got partitions meanwhile.
                self._assign(consumer, known, assigned)

    def _assign(self, consumer: Any, known: Mapping[str, int], assigned: set[str]) -> None:
        """Read all partitions of all topics, from where they are or from their first message."""
        import confluent_kafka as client

        wanted = []
        for topic in self._topics:
            with _named(self.name):
                found = consumer.list_topics(topic, timeout=self._timeout).topics[topic]
            if found.error is not None:
                raise StorageError(
                    f"source {quoted(self.name)}: topic {quoted(topic)}: {found.error}"
                )
            for number in found.partitions:
                part = f"{topic}[{number}]"
                if part not in assigned:
                    start = known.get(part, client.OFFSET_BEGINNING)
                    wanted.append(client.TopicPartition(topic, number, start))
                    assigned.add(part)
        if wanted:
            with _named(self.name):
                consumer.incremental_assign(wanted)

    def _good(self, came: Sequence[Any], ended: set[str]) -> dict[tuple[str, int], list[Message]]:
        """The messages by topic and partition; raises the errors that the client reports."""
        import confluent_kafka as client

        good: dict[tuple[str, int], list[Message]] = {}
        for message in came:
            problem = message.error()
            if problem is None:
                place = (message.topic(), message.partition())
                good.setdefault(place, []).append(
                    (message.offset(), message.key(), message.value())
                )
            elif problem.code() == client.KafkaError._PARTITION_EOF:
                ended.add(f"{message.topic()}[{message.partition()}]")
            elif problem.code() in (
                client.KafkaError._AUTO_OFFSET_RESET,
                client.KafkaError.OFFSET_OUT_OF_RANGE,
            ):
                raise StorageError(
                    f"source {quoted(self.name)}: {message.topic()}[{message.partition()}] no "
                    f"longer has the messages that come next ({problem}). Fill the table anew "
                    "under another name=, and keep messages for longer"
                )
            elif not problem.retriable():
                raise StorageError(f"source {quoted(self.name)}: {problem}")
        return good

    def _batches(self, good: Mapping[tuple[str, int], list[Message]]) -> Iterator[Batch]:
        """One batch for all partitions; more where a table is emptied between two rows."""
        parts = []
        for (topic, number), messages in good.items():
            place = f"{topic}[{number}]"
            if self._format == "debezium":
                decoded = decode(messages, place)
            else:
                decoded = _rows(messages, place)
            last = messages[-1][0]
            parts.append((topic, place, decoded, last))
        if not any(decoded.truncates for _, _, decoded, _ in parts):
            if parts:
                changes = [
                    self._change(topic, place, decoded.rows, decoded.numbers)
                    for topic, place, decoded, _ in parts
                    if decoded.rows
                ]
                positions = {place: str(last + 1) for _, place, _, last in parts}
                rejected = [each for _, _, decoded, _ in parts for each in decoded.rejected]
                yield Batch(changes, positions, rejected)
            return
        for topic, place, decoded, last in parts:
            yield from self._cut(topic, place, decoded, last)

    def _cut(self, topic: str, place: str, decoded: Decoded, last: int) -> Iterator[Batch]:
        """A batch for the rows between two messages that empty the table, and one for each."""
        rejected, start = list(decoded.rejected), 0
        for end in [*decoded.truncates, last + 1]:
            at = [i for i, number in enumerate(decoded.numbers) if start <= number < end]
            rows = [decoded.rows[i] for i in at]
            if rows or end > last:
                numbers = [decoded.numbers[i] for i in at]
                changes = [self._change(topic, place, rows, numbers)] if rows else []
                yield Batch(changes, {place: str(end)}, rejected)
                rejected = []
            if end <= last:
                origin = Origin(place, "offset", numbers=[end])
                empties = Change(self._topics[topic], [], origin, how="truncate")
                yield Batch([empties], {place: str(end + 1)})
            start = end + 1

    def _change(
        self, topic: str, place: str, rows: Sequence[dict[str, Any]], numbers: Sequence[int]
    ) -> Change:
        origin = Origin(place, "offset", numbers=numbers)
        shape: dict[str, Any] = {**self._shape, "table": self._topics[topic]}
        if self._format == "debezium":
            shape |= {"how": "apply", "op": OP}
        return Change(rows=rows, origin=origin, **shape)


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
    config: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Kafka:
    """Topics of Kafka, each into a table: Debezium's changes, or rows in JSON.

    A topic is read from its first message on. Tables of Debezium's topics are declared with
    `unique`, the key of the source. Values are in JSON; `decode` says what becomes of them.

    Args:
        servers: Brokers to begin with, as in `"kafka-1:9092,kafka-2:9092"`.
        topics: By topic, the table that it fills.
        format: Envelopes of Debezium, with their schemas or without, or plain objects.
        watch: Whether to wait for new messages for ever; else it ends at the end of the topics.
        how: Of plain objects, as for `folder`; so is `op`.
        op: As for `folder`.
        ignore: As for `folder`.
        epochs: The unit of integers in columns of timestamps, in messages without a schema.
        decimals: How decimals are written in messages without a schema: Debezium's "precise" mode
            writes base64, its "string" and "double" modes are texts and numbers.
        messages: How many messages a batch has at the most.
        config: What else confluent-kafka takes, such as `{"security.protocol": "SSL"}`.
        name: What the offsets are kept under; by default the topics.

    Raises:
        InvalidValueError: Options that exclude each other.

    Raises, when it is read:
        StorageError: The broker cannot be reached, or no longer has the next messages.
        UnsupportedError: confluent-kafka is not installed; a message is about a change of columns
            or tables.
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
    shape = shaped("", how, op, None, ignore, Casts(epochs, decimals))
    options = {
        "group.id": "ringview",
        **(config or {}),
        "bootstrap.servers": servers,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }

    def make() -> Any:
        client = load("confluent_kafka", "sources.kafka", "kafka")
        return client.Consumer(options)

    called = name or f"kafka {','.join(sorted(topics))}"
    return Kafka(make, topics, called, shape, format, watch, messages)


def _rows(messages: Sequence[Message], place: str) -> Decoded:
    """Plain objects as rows."""
    from .batch import Rejected

    found = Decoded()
    for number, _, value in messages:
        if value is None:
            continue
        try:
            found.rows.append(parsed(value))
            found.numbers.append(number)
        except ValueError as problem:
            text = value if isinstance(value, str) else value.decode(errors="replace")
            found.rejected.append(Rejected(f"{place}, offset {number}", text, str(problem)))
    return found


@contextlib.contextmanager
def _named(source: str) -> Iterator[None]:
    """A block that calls the broker, whose errors name the source."""
    import confluent_kafka as client

    try:
        yield
    except client.KafkaException as problem:
        raise StorageError(f"source {quoted(source)}: {problem.args[0]}") from problem
