"""A topic of Kafka as a sink.

Invariant: a batch is sent when the broker has all its messages; a repeated batch is sent again, and
its messages have the same numbers in their headers. A batch behind which the topic has another one
is refused: the database is in an earlier state. Cost: a message a row that moved; at the start a
look at the last messages of each partition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from ..convert.arrow import rows as as_rows
from ..errors import CheckpointError, InvalidValueError
from ..extras import load
from ..sources.kafka_client import Causes, Quiet, config_of, named, raised
from ..text import quoted
from .kafka_last import last_batch
from .keyed import by_key, checked

if TYPE_CHECKING:
    import pyarrow as pa

Message = tuple[str | None, str | None]
"""Key and value, both JSON; without a value it is a tombstone."""


class KafkaSink:
    """A topic for the changes of one view; made by `kafka`."""

    def __init__(
        self,
        topic: str,
        key: str | Sequence[str] | None,
        config: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if key is not None and not key:
            raise InvalidValueError("key=[] names no column; leave it out for a log of changes")
        self._topic = topic
        self._key = [key] if isinstance(key, str) else key and list(key)
        self._config = dict(config)
        self._causes = Causes(self._config["bootstrap.servers"], self._config.get("error_cb"))
        self._headers = dict(headers or {})
        self._owner_of: dict[str, str] = {}
        self._there: dict[str, int] = {}
        self._open: Any = None

    def begin(self, owner: str, views: Sequence[str], is_new: bool) -> None:
        """Take the identity that counts the batches; see `ringview.sinks.protocol`."""
        for view in views:
            self._owner_of[view] = owner
            self._there.pop(view, None)

    def __repr__(self) -> str:
        return f"KafkaSink({self._topic!r}, key={self._key})"

    def __call__(self, view: str, batch: int, changes: pa.Table) -> None:
        """Send the changes of a batch, and wait until the broker has them.

        Raises:
            UnsupportedError: confluent-kafka is not installed.
            UnknownColumnError: The view lacks a column of the key.
            InvalidValueError: Two rows with the same key.
            UnreachableError: The broker is away, or lets nobody in; some may be there.
            StorageError: The broker does not take them; some may be there.
            CheckpointError: The topic has a later batch of this view.
        """
        with named(self._owner, self._causes):
            # An option that the client does not take is an error before the look.
            self._producer()
            if view in self._owner_of and view not in self._there:
                own = {"ringview-view": view, "ringview-owner": self._owner_of[view]}
                options = {**self._config, "error_cb": self._causes}
                self._there[view] = last_batch(options, self._topic, own)
            if batch < self._there.get(view, 0):
                raise CheckpointError(
                    f"topic {quoted(self._topic)} has batch {self._there[view]} of view "
                    f"{quoted(view)}, and batch {batch} is sent: the database was put back to an "
                    "earlier state. Send under another name=, to another topic"
                )
            self._send(view, batch, changes)

    @property
    def _owner(self) -> str:
        return f"topic {quoted(self._topic)} does not take messages"

    def _send(self, view: str, batch: int, changes: pa.Table) -> None:
        producer = self._producer()
        refused: list[Any] = []

        def delivered(problem: Any, _: Any) -> None:
            if problem is not None:
                refused.append(problem)

        messages = [*self._messages(view, changes)]
        of_batch = {**self._headers, "ringview-view": view, "ringview-batch": str(batch)}
        if view in self._owner_of:
            of_batch["ringview-owner"] = self._owner_of[view]
        of_batch["ringview-rows"] = str(len(messages))
        for row, (key, value) in enumerate(messages):
            headers = of_batch | {"ringview-row": str(row)}
            while True:
                try:
                    producer.produce(
                        self._topic, value, key, headers=headers, on_delivery=delivered
                    )
                    break
                except BufferError:
                    # The client's buffer is full until the broker has some.
                    producer.poll(1.0)
            producer.poll(0)
        producer.flush()
        if refused:
            raised(self._owner, self._causes, refused[0], None)
        self._causes.clear()

    def close(self) -> None:
        """Forget the connection; the next batch opens another one."""
        self._open = None

    def _producer(self) -> Any:
        if self._open is None:
            client = load("confluent_kafka", "sinks.kafka", "kafka")
            options = {"logger": Quiet(), **self._config, "error_cb": self._causes}
            self._open = client.Producer(options)
        return self._open

    def _messages(self, view: str, changes: pa.Table) -> Iterator[Message]:
        columns = changes.column_names[:-1]
        checked(view, self._key or (), columns)
        rows = as_rows(changes)
        if self._key is None:
            for row in rows:
                yield None, _json(row)
            return
        new, moved = by_key(view, self._key, columns, [list(row.values()) for row in rows])
        for at in moved:
            key = _json(dict(zip(self._key, at, strict=True)))
            now = new.get(at)
            yield key, None if now is None else _json(dict(zip(columns, now, strict=True)))


def kafka(
    servers: str,
    topic: str,
    *,
    key: str | Sequence[str] | None = None,
    config: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> KafkaSink:
    """A topic of Kafka: rows by key, or the log of a view's changes, in JSON.

    With `key` a message has the row that its key has now, or none once it left, as topics that are
    compacted want it: read twice it means the same. Without, each row that moved is a message with
    its multiplicity. After a kill messages of the last batch may be there twice. Both have in their
    headers the same `ringview-view`, `ringview-batch` and `ringview-row`, from 0 on;
    `ringview-rows` is how many the batch has.

    Args:
        servers: Brokers to begin with.
        topic: Where to.
        key: As for `sqlite`.
        config: What else confluent-kafka takes.
        headers: Headers of your own, which each message has.

    Raises:
        MissingExtraError: confluent-kafka is not installed.
        InvalidValueError: An option of `config` that is set here.

    Decimals that are no whole numbers, dates and times are texts, NaN and infinities too.

    Raises, when changes are sent:
        InvalidValueError: Two rows with the same key.
        UnreachableError, StorageError: The broker does not take them; the batch is sent again with
            the next step.
        CheckpointError: The topic has a later batch: the database was put back to an earlier state.

    Complexity: a message a row that moved.

    >>> from ringview import sinks
    >>> sinks.kafka("localhost:9092", "totals", key="customer")
    KafkaSink('totals', key=['customer'])
    """
    given = config_of(
        config, servers, {"bootstrap.servers": "the first argument names the brokers"}
    )
    options = {"enable.idempotence": True, **given}
    load("confluent_kafka", "sinks.kafka", "kafka")
    for name in headers or {}:
        if name.startswith("ringview-"):
            raise InvalidValueError(
                f"headers: {quoted(name)} is set by ringview; take another name"
            )
    return KafkaSink(topic, key, options, headers)


def _json(row: Mapping[str, Any]) -> str:
    return json.dumps({name: _plain(value) for name, value in row.items()}, default=_said)


def _plain(value: Any) -> Any:
    # JSON has numbers alone.
    return str(value) if isinstance(value, float) and value - value != 0 else value


def _said(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
