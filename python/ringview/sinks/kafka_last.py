"""The last batch that a topic has, by the headers of its last messages.

Invariant: of each partition the last messages are looked at, so many at the most. A topic that is
not there, or lacks such messages, has batch 0. Cost: one batch of messages a partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..extras import load
from ..sources.kafka_client import Quiet

_MOST = 1000
"""Messages of a partition that are looked at: those of other views may be behind."""
_TIMEOUT = 5.0


def last_batch(options: Mapping[str, Any], topic: str, wanted: Mapping[str, str]) -> int:
    """The number of the last batch whose messages have these headers; 0 if there is none.

    Args:
        options: Options of confluent-kafka for a producer; those of connections are taken.
        topic: Its name.
        wanted: Headers, by name.

    Raises:
        KafkaException: The broker does not answer.
    """
    client = load("confluent_kafka", "sinks.kafka", "kafka")
    consumer = client.Consumer(
        {
            **{name: value for name, value in options.items() if name.startswith(_CONNECTION)},
            **{"logger": Quiet(), "group.id": "ringview", "enable.auto.commit": False},
            **{"enable.partition.eof": True, "auto.offset.reset": "earliest"},
        }
    )
    try:
        found = consumer.list_topics(topic, timeout=_TIMEOUT).topics[topic]
        last = 0
        for number in found.partitions if found.error is None else ():
            part = client.TopicPartition(topic, number)
            first, end = consumer.get_watermark_offsets(part, timeout=_TIMEOUT)
            if first < end:
                part.offset = max(first, end - _MOST)
                consumer.assign([part])
                last = max(last, _last_of(consumer, wanted))
        return last
    except client.KafkaException:
        # Nothing is lost by it: errors of connections are handed over here.
        consumer.poll(0)
        raise
    finally:
        consumer.close()


def _last_of(consumer: Any, wanted: Mapping[str, str]) -> int:
    """The last batch of what is assigned, to its end."""
    client = load("confluent_kafka", "sinks.kafka", "kafka")
    last = 0
    while True:
        message = consumer.poll(_TIMEOUT)
        if message is None:
            raise client.KafkaException(client.KafkaError(client.KafkaError._TIMED_OUT))
        error = message.error()
        if error is None:
            headers = {name: (value or b"").decode() for name, value in message.headers() or ()}
            if wanted.items() <= headers.items():
                last = max(last, int(headers["ringview-batch"]))
        elif error.name() == "_PARTITION_EOF":
            return last
        elif not error.retriable():
            raise client.KafkaException(error)


_CONNECTION = (
    *("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl", "broker.", "socket.", "client."),
    *("oauth_cb", "log_level", "error_cb"),
)
"""Beginnings of the options that say how to connect."""
