"""A broker that the client mocks; it lacks the ids of topics, which a test says."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
import ringview as rv

client = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")


class Cluster:
    """A broker that the client mocks, for as long as its producer lives."""

    def __init__(self) -> None:
        self.producer = client.Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self.producer.list_topics(timeout=30).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def send(
        self,
        topic: str,
        value: str | bytes | None,
        key: str | bytes | None = None,
        partition: int = 0,
        **beside: Any,
    ) -> None:
        self.producer.produce(topic, value, key, partition, **beside)

    def flush(self) -> None:
        assert self.producer.flush(60) == 0


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture(autouse=True)
def ids(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The ids of topics, which a test may change; of others the id is their name."""
    found: dict[str, str] = {}

    def described(_: Any, topics: Any, **__: Any) -> dict[str, Future[Any]]:
        futures = {}
        for topic in topics.topic_names:
            futures[topic] = Future[Any]()
            futures[topic].set_result(SimpleNamespace(topic_id=found.get(topic, f"id of {topic}")))
        return futures

    monkeypatch.setattr(admin.AdminClient, "describe_topics", described)
    return found


def held(db: rv.Database, table: str = "r") -> list[dict[str, Any]]:
    """The rows of a table in their order."""
    rows = db.tables[table].to_arrow().to_pylist()
    return sorted(rows, key=lambda row: str(list(row.values())))
