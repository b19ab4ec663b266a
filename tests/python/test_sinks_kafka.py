"""A topic as a sink: repeated batches, and databases that were put back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from kafka_cluster import Cluster, client, cluster, ids
from ringview import errors, sinks

__all__ = ["cluster", "ids"]


def shop(path: Path | None = None) -> rv.Database:
    db = rv.Database() if path is None else rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", {"a": "int64"})
        db.create_view("v", "SELECT a, COUNT(*) AS n FROM r GROUP BY a")
    return db


def messages(cluster: Cluster, topic: str) -> list[tuple[Any, dict[str, str]]]:
    """The values of a topic with their headers, partition by partition."""
    consumer = client.Consumer(
        {"bootstrap.servers": cluster.address, "group.id": "t", "enable.partition.eof": True}
    )
    found = []
    for number in consumer.list_topics(topic, timeout=30).topics[topic].partitions:
        consumer.assign([client.TopicPartition(topic, number, client.OFFSET_BEGINNING)])
        while (message := consumer.poll(30)) is not None and message.error() is None:
            headers = {name: value.decode() for name, value in message.headers()}
            found.append((json.loads(message.value()), headers))
    consumer.close()
    return found


def test_rows_of_a_repeated_batch_have_the_same_numbers(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = shop()
    db.insert("r", {"a": list(range(10))})
    sink = sinks.kafka(cluster.address, "repeated", headers={"of": "us"})
    failures = iter([True])

    def flaky(view: str, batch: int, changes: Any) -> None:
        sink(view, batch, changes)
        if next(failures, False):
            raise errors.StorageError("killed behind the last message")

    flaky.begin = sink.begin  # type: ignore[attr-defined]
    sender = sinks.Sender(db, {"v": flaky})
    with pytest.raises(errors.StorageError, match="killed"):
        sender.step()
    sender.step()
    found = messages(cluster, "repeated")
    assert len(found) == 20
    rows: dict[tuple[str, str], Any] = {}
    for value, headers in found:
        place = headers["ringview-batch"], headers["ringview-row"]
        assert rows.setdefault(place, value) == value
        assert (headers["ringview-rows"], headers["of"]) == ("10", "us")
    assert sorted(int(row) for _, row in rows) == [*range(10)]
    assert sorted(value["a"] for value in rows.values()) == [*range(10)]


@pytest.mark.parametrize("key", ["a", None])
def test_a_database_that_was_put_back_is_refused(
    cluster: Cluster, tmp_path: Path, key: str | None
) -> None:
    topic = f"put-back-{key}"

    def send(path: Path, *numbers: int) -> None:
        with shop(path) as db:
            for number in numbers:
                db.insert("r", {"a": [number]})
                sinks.run(db, {"v": sinks.kafka(cluster.address, topic, key=key)})

    send(tmp_path / "db", 1)
    shutil.copyfile(tmp_path / "db", tmp_path / "old")
    send(tmp_path / "db", 2, 3)
    before = len(messages(cluster, topic))
    with pytest.raises(errors.CheckpointError, match=r"has batch 3 of view .* earlier state"):
        send(tmp_path / "old", 4)
    assert len(messages(cluster, topic)) == before
    send(tmp_path / "db", 5)


def test_headers_that_are_set_here_are_refused() -> None:
    with pytest.raises(errors.InvalidValueError, match="is set by ringview"):
        sinks.kafka("localhost:1", "t", headers={"ringview-batch": "7"})
