"""Topics of Kafka as sources and as sinks; brokers are mocked in the client, or real."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from amounts import some
from kafka_cluster import Cluster, cluster, ids
from ringview import errors, sinks, sources
from test_sources_debezium import envelope

client = pytest.importorskip("confluent_kafka")
__all__ = ["cluster", "ids"]

Row = dict[str, Any]


def test_options_that_do_not_go_together() -> None:
    wrong: list[dict[str, Any]] = [{"how": "upsert"}, {"format": "avro"}, {"messages": 0}]
    for beside in wrong:
        with pytest.raises(errors.InvalidValueError):
            sources.kafka("localhost:1", {"t": "r"}, **beside)
    with pytest.raises(errors.InvalidValueError, match="names no topic"):
        sources.kafka("localhost:1", {})


def shop(path: Path | None = None) -> rv.Database:
    db = rv.Database() if path is None else rv.Database.open(path)
    if "r" not in db.tables:
        db.create_table("r", {"id": "int64 not null", "x": "int64"}, unique=["id"])
        db.create_view("v", "SELECT COUNT(*) AS n, SUM(x) AS x FROM r")
    return db


def held(db: rv.Database) -> dict[int, int]:
    return {row["id"]: row["x"] for row in db.tables["r"].to_arrow().to_pylist()}


def happens(cluster: Any, topic: str, draw: random.Random, model: dict[int, int]) -> None:
    """A change of a row, in the partition of its key, as Debezium reports it."""
    key = draw.randrange(20)
    old = {"id": key, "x": model[key]} if key in model else None
    if old is not None and draw.random() < 0.4:
        del model[key]
        cluster.send(topic, envelope("d", old, None), f'{{"id": {key}}}', key % 2)
        cluster.send(topic, None, f'{{"id": {key}}}', key % 2)
    else:
        model[key] = draw.randrange(99)
        op = draw.choice("cr") if old is None else "u"
        cluster.send(topic, envelope(op, old, {"id": key, "x": model[key]}), None, key % 2)


@pytest.mark.parametrize("messages", some([7, 1, 1000]))
def test_topics_are_read_once_through_restarts(
    cluster: Cluster, tmp_path: Path, messages: int
) -> None:
    topic, draw, model = f"orders-{messages}", random.Random(messages), dict[int, int]()
    given = sources.kafka(cluster.address, {topic: "r"}, messages=messages, watch=False)
    for _ in range(3):
        for _ in range(draw.randrange(1, 25)):
            happens(cluster, topic, draw, model)
        cluster.flush()
        with shop(tmp_path / "db") as db:
            # A life that ends after one batch.
            reader = sources.Reader(db, [given])
            reader.step()
            reader.close()
        with shop(tmp_path / "db") as db:
            sources.run(db, [given])
            assert held(db) == model
            assert sources.run(db, [given]).rows == 0
            wanted = {"n": len(model), "x": sum(model.values()) if model else None}
            assert list(db["v"]) == [wanted]


def test_a_table_is_emptied_where_the_source_was(cluster: Cluster) -> None:
    for value in (
        envelope("c", None, {"id": 1, "x": 1}),
        envelope("t"),
        envelope("c", None, {"id": 2, "x": 2}),
        envelope("t"),
        envelope("t"),
        envelope("c", None, {"id": 1, "x": 3}),
    ):
        cluster.send("emptied", value)
    cluster.flush()
    for messages in (1, 2, 100):
        db = shop()
        given = sources.kafka(cluster.address, {"emptied": "r"}, messages=messages, watch=False)
        sources.run(db, [given])
        assert held(db) == {1: 3}


def test_rows_in_json_and_poison(cluster: Cluster) -> None:
    for value in ('{"id": 1, "x": 1}', "{", '{"id": "one"}', '{"id": 1, "x": 5}'):
        cluster.send("plain", value)
    cluster.flush()
    db = shop()
    given = sources.kafka(cluster.address, {"plain": "r"}, format="json", how="upsert", watch=False)
    with pytest.raises(errors.InvalidValueError, match=r"plain\[0\], offset 1: it is no JSON"):
        sources.run(db, [given])
    assert repr(sources.run(db, [given], dead_letters="rejected")).endswith("rejected=2)")
    assert held(db) == {1: 5}
    places = sorted(db.tables["rejected"].to_arrow()["place"].to_pylist())
    assert places == ["plain[0], offset 1", "plain[0], offset 2"]


def test_a_reader_that_watches_gets_what_comes(cluster: Cluster) -> None:
    cluster.send("watched", envelope("c", None, {"id": 1, "x": 1}))
    cluster.flush()
    db = shop()
    reader = sources.Reader(db, [sources.kafka(cluster.address, {"watched": "r"})])
    for at in (1, 2):
        while not held(db).get(at):
            reader.step()
        cluster.send("watched", envelope("c", None, {"id": at + 1, "x": 1}))
        cluster.flush()
    assert not reader.finished
    reader.close()


def test_messages_that_the_broker_lacks_are_an_error(cluster: Cluster) -> None:
    """As when they were deleted for their age: here the place is behind the end."""
    cluster.send("short", envelope("c", None, {"id": 1, "x": 1}))
    cluster.flush()
    db = shop()
    given = sources.kafka(cluster.address, {"short": "r"}, watch=False)
    sources.run(db, [given])
    db.upsert("ringview_positions", [(given.name, "short[0]", "1000")])
    with pytest.raises(errors.StorageError, match="no longer has the messages that come next"):
        sources.run(db, [given])


def test_a_broker_that_is_not_there_is_an_error() -> None:
    given = sources.kafka("127.0.0.1:1", {"t": "r"}, config={"log_level": 0})
    given._timeout = 0.1
    with pytest.raises(errors.StorageError, match='source "kafka t"'):
        sources.run(shop(), [given])


@pytest.mark.parametrize("key", ["k", None])
def test_a_topic_has_what_moved(cluster: Cluster, key: str | None) -> None:
    """A sink, whose messages are what a reader of the topic makes the view of."""
    topic, draw = f"moved-{key}", random.Random(5)
    db = rv.Database()
    db.create_table("r", {"k": "string", "x": "float64"})
    db.create_view("v", "SELECT k, COUNT(*) AS n, MAX(x) AS x FROM r GROUP BY k")
    sender = sinks.Sender(db, {"v": sinks.kafka(cluster.address, topic, key=key)})
    for _ in range(12):
        db.insert(
            "r", [{"k": draw.choice(["a", "b", None]), "x": draw.choice([0.5, float("inf")])}]
        )
        sender.step()
        if draw.random() < 0.4:
            db.delete("r", db.tables["r"].to_arrow().slice(0, 1))
    sender.step()
    batches, found = set[int](), dict[Any, Any]()
    for key_text, value, headers in consumed(cluster, topic):
        batches.add(int(dict(headers)["ringview-batch"]))
        row: Any = None if value is None else json.loads(value)
        if key is None:
            times = row.pop("multiplicity")
            at = json.dumps(row)
            found[at] = found.get(at, 0) + times
        elif row is None:
            del found[key_text.decode()]
        else:
            assert json.loads(key_text) == {"k": row["k"]}
            found[key_text.decode()] = row
    assert batches == set(range(1, sender.batches + 1))
    rows = [{**row, "x": "inf" if row["x"] > 1 else row["x"]} for row in db["v"]]
    left = [json.loads(at) for at, times in found.items() if times]
    assert sorted(left if key is None else found.values(), key=str) == sorted(rows, key=str)


def consumed(cluster: Cluster, topic: str) -> Iterator[tuple[Any, Any, Any]]:
    """All messages of a topic, partition by partition."""
    consumer = client.Consumer(
        {"bootstrap.servers": cluster.address, "group.id": "t", "enable.partition.eof": True}
    )
    for number in consumer.list_topics(topic, timeout=30).topics[topic].partitions:
        consumer.assign([client.TopicPartition(topic, number, client.OFFSET_BEGINNING)])
        while (message := consumer.poll(30)) is not None and message.error() is None:
            yield message.key(), message.value(), message.headers()
        assert message is not None
        assert message.error().code() == client.KafkaError._PARTITION_EOF
    consumer.close()


def test_a_broker_that_takes_nothing_is_an_error() -> None:
    db = shop()
    db.insert("r", [{"id": 1, "x": 1}])
    config = {"log_level": 0, "message.timeout.ms": 50, "enable.idempotence": False}
    sink = sinks.kafka("127.0.0.1:1", "t", config=config)
    with pytest.raises(errors.StorageError, match='topic "t" does not take messages'):
        sinks.run(db, {"v": sink})


@pytest.mark.long
def test_a_real_broker_is_read_once_through_restarts(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", minversion="4.1")
    import parts

    draw, model = random.Random(1), dict[int, int]()

    class Real:
        def __init__(self, broker: parts.Broker) -> None:
            self.broker = broker

        def send(self, topic: str, value: str | None, key: str | None, partition: int) -> None:
            # Its producer sends no keys; deletes have their row.
            self.broker.send(topic, partition, value)

    with parts.Broker(tmp_path / "kafka") as broker:
        broker.create("orders", 2)
        given = sources.kafka(broker.address, {"orders": "r"}, messages=50, watch=False)
        for _ in range(20):
            for _ in range(draw.randrange(1, 100)):
                happens(Real(broker), "orders", draw, model)
            broker.flush()
            with shop(tmp_path / "db") as db:
                reader = sources.Reader(db, [given])
                reader.step()
                reader.close()
            with shop(tmp_path / "db") as db:
                sources.run(db, [given])
                assert held(db) == model
