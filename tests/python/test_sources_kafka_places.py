"""Places of sources in topics: beginnings, new partitions, topics made anew."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import ringview as rv
from kafka_cluster import Cluster, admin, cluster, held, ids
from ringview import errors, sources
from ringview.sources import positions

__all__ = ["cluster", "ids"]


def shop(*names: str) -> rv.Database:
    db = rv.Database()
    for name in names or ("r",):
        db.create_table(name, {"id": "int64"})
    return db


def send(cluster: Cluster, topic: str, *numbers: int, partition: int = 0, **beside: Any) -> None:
    for number in numbers:
        cluster.send(topic, json.dumps({"id": number}), None, partition, **beside)
    cluster.flush()


def source(cluster: Cluster, topics: dict[str, str], **beside: Any) -> sources.Kafka:
    return sources.kafka(cluster.address, topics, **{"format": "json", "watch": False, **beside})


def looking(given: sources.Kafka, every: float) -> sources.Kafka:
    """A source that looks at its topics after so many seconds."""
    given._look = every
    return given


def numbers(db: rv.Database, table: str = "r") -> list[int]:
    return sorted(row["id"] for row in held(db, table))


def places(db: rv.Database, source: str) -> dict[str, str]:
    rows = db.tables["ringview_positions"].to_arrow().to_pylist()
    return {row["part"]: row["position"] for row in rows if row["source"] == source}


def test_each_partition_has_a_place_from_the_start(cluster: Cluster) -> None:
    send(cluster, "begun", 1)
    db = shop()
    reader = sources.Reader(db, [source(cluster, {"begun": "r"}, watch=True)])
    reader.step()
    reader.close()
    assert numbers(db) == []
    assert places(db, "kafka begun") == {
        "begun": "id of begun",
        **{f"begun[{number}]": "0" for number in range(4)},
    }


def test_messages_that_the_broker_trims_before_they_are_read_are_an_error(
    cluster: Cluster,
) -> None:
    """Of a partition that had none yet when the source began."""
    send(cluster, "trimmed", 1)
    db = shop()
    given = source(cluster, {"trimmed": "r"})
    sources.run(db, [given])
    # As if the broker had trimmed its first messages: it has none of that offset.
    db.delete("ringview_positions", [("kafka trimmed", "trimmed[2]", "0")])
    db.insert("ringview_positions", [("kafka trimmed", "trimmed[2]", "5")])
    send(cluster, "trimmed", 2, partition=2)
    for _ in range(2):
        with pytest.raises(errors.StorageError, match=r"trimmed\[2\] no longer has the messages"):
            sources.run(db, [given])
    # Once the broker has as many messages again, it is an error all the same.
    send(cluster, "trimmed", 3, 4, 5, 6, 7, partition=2)
    with pytest.raises(errors.StorageError, match="no longer has the messages"):
        sources.run(db, [given])


def test_partitions_are_found_under_traffic(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source looks for them between batches, not after a poll without any."""
    shown, whole = [0], admin.AdminClient.list_topics

    def some(self: Any, topic: str | None = None, timeout: float = -1) -> Any:
        found = whole(self, topic, timeout=timeout)
        partitions = found.topics["grows"].partitions
        for number in [each for each in partitions if each not in shown]:
            del partitions[number]
        return found

    monkeypatch.setattr(admin.AdminClient, "list_topics", some)
    send(cluster, "grows", *range(300))
    send(cluster, "grows", 1000, 1001, partition=3)
    db = shop()
    given = looking(source(cluster, {"grows": "r"}, watch=True, messages=1), 0)
    reader = sources.Reader(db, [given])
    while not numbers(db):
        reader.step()
    shown.append(3)
    while "grows[3]" not in places(db, "kafka grows"):
        reader.step()
    # The messages that are there are not at their end, so that no poll was empty.
    assert len(numbers(db)) < 300
    while 1001 not in numbers(db):
        reader.step()
    reader.close()
    assert places(db, "kafka grows")["grows[3]"] == "2"


def test_a_topic_made_anew_is_refused_and_stays_so(cluster: Cluster, ids: dict[str, str]) -> None:
    send(cluster, "anew", *range(10))
    db = shop()
    given = source(cluster, {"anew": "r"})
    sources.run(db, [given])
    ids["anew"] = "another"
    send(cluster, "anew", *range(10, 20))
    for one in (given, given, source(cluster, {"anew": "r"})):
        with pytest.raises(errors.StorageError, match=r"made anew .*under another name="):
            sources.run(db, [one])
    assert numbers(db) == [*range(10)]
    again = source(cluster, {"anew": "r"}, name="again")
    db.delete("r", where="true")
    assert sources.run(db, [again]).rows == 20


def test_a_topic_made_anew_while_it_is_read_is_refused(
    cluster: Cluster, ids: dict[str, str]
) -> None:
    """Also between two looks at the topics, which are far apart here."""
    send(cluster, "meanwhile", *range(3))
    db = shop()
    reader = sources.Reader(db, [looking(source(cluster, {"meanwhile": "r"}, watch=True), 1e9)])
    while len(numbers(db)) < 3:
        reader.step()
    ids["meanwhile"] = "another"
    send(cluster, "meanwhile", 3)
    for _ in range(2):
        with pytest.raises(errors.StorageError, match="made anew"):
            while True:
                reader.step()
    assert numbers(db) == [0, 1, 2]


def test_positions_without_an_id_get_one(cluster: Cluster, ids: dict[str, str]) -> None:
    """Those of an earlier version, or of a broker without ids."""
    send(cluster, "no-id", 1)
    db = shop()
    ids["no-id"] = ""
    sources.run(db, [source(cluster, {"no-id": "r"})])
    assert "no-id" not in places(db, "kafka no-id")
    ids["no-id"] = "first"
    sources.run(db, [source(cluster, {"no-id": "r"})])
    assert places(db, "kafka no-id")["no-id"] == "first"


def test_a_topic_that_is_added_reads_nothing_twice(cluster: Cluster) -> None:
    for topic in ("one", "two", "three"):
        send(cluster, topic, *range(5))
    db = shop("r", "s", "t")
    topics: dict[str, str] = {}
    for topic, table in (("two", "r"), ("one", "s"), ("three", "t")):
        topics[topic] = table
        sources.run(db, [source(cluster, topics)])
        assert numbers(db, table) == [*range(5)]
    assert numbers(db) == [*range(5)]
    send(cluster, "two", 5)
    sources.run(db, [source(cluster, {"two": "r"})])
    assert numbers(db) == [*range(6)]


def test_positions_of_an_earlier_version_are_found(cluster: Cluster) -> None:
    send(cluster, "old-a", *range(5))
    send(cluster, "old-b", *range(5))
    db = shop()
    positions.prepare(db)
    old = [("kafka old-a,old-b", "old-a[0]", "3"), ("kafka old-a,old-b", "old-b[0]", "4")]
    db.insert("ringview_positions", old)
    sources.run(db, [source(cluster, {"old-a": "r"})])
    assert numbers(db) == [3, 4]
    assert places(db, "kafka old-a,old-b") == {"old-b[0]": "4"}
    db.insert("ringview_positions", [("kafka old-a,old-c", "old-a[0]", "1")])
    with pytest.raises(errors.InvalidValueError, match="two sources have a position of old-a"):
        sources.run(db, [source(cluster, {"old-a": "r"})])


@pytest.mark.parametrize(
    "name", ["auto.offset.reset", "bootstrap.servers", "enable.auto.commit", "enable.partition.eof"]
)
def test_options_that_are_set_here_are_refused(name: str) -> None:
    with pytest.raises(errors.InvalidValueError, match=f'"{name}" is set by ringview'):
        sources.kafka("localhost:1", {"t": "r"}, config={name: "x"})


def test_options_that_the_client_does_not_take_are_refused() -> None:
    given = sources.kafka("localhost:1", {"t": "r"}, config={"no.such": "x"})
    with pytest.raises(errors.InvalidValueError, match=r'source "kafka t": .*no\.such'):
        sources.run(shop(), [given])


def test_a_source_begins_where_start_says(cluster: Cluster) -> None:
    send(cluster, "started", 1, 2)
    send(cluster, "started", 3, partition=1)
    late = source(cluster, {"started": "r"}, start="latest")
    db = shop()
    sources.run(db, [late])
    send(cluster, "started", 4)
    sources.run(db, [late])
    assert numbers(db) == [4]
    offsets = {f"started[{number}]": at for number, at in enumerate([1, 0, 0, 0])}
    db = shop()
    sources.run(db, [source(cluster, {"started": "r"}, start=offsets)])
    assert numbers(db) == [2, 3, 4]
    del offsets["started[3]"]
    with pytest.raises(errors.InvalidValueError, match=r"no offset of started\[3\]"):
        sources.run(shop(), [source(cluster, {"started": "r"}, start=offsets)])
    behind = datetime.now(UTC) + timedelta(days=1)
    db = shop()
    sources.run(db, [source(cluster, {"started": "r"}, start=behind)])
    assert numbers(db) == []


@pytest.mark.parametrize("start", ["first", {"t": 1}, {"t[0]": -1}, 7])
def test_other_starts_are_refused(start: Any) -> None:
    with pytest.raises(errors.InvalidValueError, match="start"):
        sources.kafka("localhost:1", {"t": "r"}, start=start)


@pytest.mark.parametrize("format", ["json", "debezium"])
def test_places_of_messages_are_columns(cluster: Cluster, format: Any) -> None:
    topic, db = f"columns-{format}", rv.Database()
    columns = {
        **{"topic": "t", "partition": "p", "offset": "o", "timestamp": "at", "key": "k"},
        **{"headers": "h", "headers.trace": "trace"},
    }
    types = {
        **{"id": "int64 not null", "t": "string", "p": "int32", "o": "int64"},
        **{"at": "timestamp[ms]", "k": "string", "h": "string", "trace": "string"},
    }
    db.create_table("r", types, unique=["id"])
    for number in (1, 2):
        row: Any = {"id": number}
        value = json.dumps(row if format == "json" else {"op": "c", "after": row})
        headers = [("trace", b"a"), ("trace", b"b"), ("x", None)] if number == 1 else None
        key = json.dumps(row)
        cluster.send(topic, value, key, 2, timestamp=1_773_057_600_123, headers=headers)
    cluster.send(topic, None, '{"id": 7}', 2)
    cluster.flush()
    beside = {"how": "upsert"} if format == "json" else {}
    given = source(cluster, {topic: "r"}, format=format, columns=columns, **beside)
    sources.run(db, [given])
    first, second = held(db)
    assert first == {
        **{"id": 1, "t": topic, "p": 2, "o": 0, "at": datetime(2026, 3, 9, 12, 0, 0, 123_000)},
        **{"k": '{"id": 1}', "h": '[["trace", "a"], ["trace", "b"], ["x", ""]]', "trace": "b"},
    }
    assert (second["o"], second["h"], second["trace"]) == (1, "[]", None)


def test_a_column_of_the_key_may_be_a_place(cluster: Cluster) -> None:
    db = rv.Database()
    types = {"p": "int32 not null", "o": "int64 not null", "id": "int64"}
    db.create_table("r", types, unique=["p", "o"])
    send(cluster, "by-place", 1, 1)
    columns = {"partition": "p", "offset": "o"}
    sources.run(db, [source(cluster, {"by-place": "r"}, columns=columns, how="upsert")])
    assert [row["o"] for row in held(db)] == [0, 1]


def test_columns_that_a_message_lacks_are_refused() -> None:
    with pytest.raises(errors.InvalidValueError, match='has no "size"; it has topic, partition'):
        sources.kafka("localhost:1", {"t": "r"}, columns={"size": "s"})


def test_topics_by_pattern(cluster: Cluster) -> None:
    send(cluster, "shop-a", 1)
    send(cluster, "shop-b", 2)
    send(cluster, "shop-own", 3)
    db = shop("r", "own")
    topics = {"^shop-.*": "r", "shop-own": "own"}
    sources.run(db, [source(cluster, topics)])
    assert (numbers(db), numbers(db, "own")) == ([1, 2], [3])
    reader = sources.Reader(db, [looking(source(cluster, topics, watch=True, start="latest"), 0)])
    reader.step()
    # One that is found later is read from its first message.
    send(cluster, "shop-later", 4)
    while 4 not in numbers(db):
        reader.step()
    reader.close()
    assert places(db, "kafka shop-later")["shop-later[0]"] == "1"
    with pytest.raises(errors.InvalidValueError, match="is no pattern"):
        source(cluster, {"^(": "r"})
