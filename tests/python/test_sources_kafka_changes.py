"""Deletes, keys and values that messages leave out, from topics of a mocked broker."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
import ringview as rv
from kafka_cluster import Cluster, cluster, held, ids
from ringview import errors, sinks, sources
from test_sources_debezium import envelope

__all__ = ["cluster", "ids"]
UNAVAILABLE = "__debezium_unavailable_value"


def shop(types: dict[str, str] | None = None, unique: str | list[str] = "id") -> rv.Database:
    db = rv.Database()
    db.create_table("r", types or {"id": "int64 not null", "x": "int64"}, unique=unique)
    return db


def read(cluster: Cluster, topic: str, db: rv.Database, **beside: Any) -> sources.Reader:
    cluster.flush()
    letters = beside.pop("dead_letters", None)
    given = sources.kafka(cluster.address, {topic: "r"}, watch=False, **beside)
    return sources.run(db, [given], dead_letters=letters)


@pytest.mark.parametrize("messages", [1, 3, 100])
@pytest.mark.parametrize("format", ["json", "debezium"])
def test_a_message_without_a_value_deletes_the_row_of_its_key(
    cluster: Cluster, format: Any, messages: int
) -> None:
    topic, draw, model = f"tomb-{format}-{messages}", random.Random(messages), dict[int, int]()
    for at in range(60):
        key = draw.randrange(6)
        if draw.random() < 0.4:
            model.pop(key, None)
            value = None
        else:
            model[key] = at
            row = {"id": key, "x": at}
            value = json.dumps(row) if format == "json" else envelope("c", None, row)
        cluster.send(topic, value, json.dumps({"id": key}), key % 3)
    db = shop()
    beside = {"how": "upsert"} if format == "json" else {}
    read(cluster, topic, db, format=format, messages=messages, **beside)
    assert held(db) == held_of(model)


def held_of(model: dict[int, int]) -> list[dict[str, int]]:
    return [{"id": key, "x": model[key]} for key in sorted(model)]


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (None, "it has no key"),
        ('{"x": 1}', 'its key has no column "id"'),
        ("[1]", "no value of a column"),
        (b"\xff", "its key cannot be read: it is no UTF-8"),
        (b"\0\0\0\0\7abc", r"framed for a Schema Registry \(schema 7\)"),
        ("seven", "'seven' is no int64"),
    ],
)
@pytest.mark.parametrize("format", ["json", "debezium"])
def test_a_key_that_cannot_be_read_is_refused_with_its_offset(
    cluster: Cluster, format: Any, key: Any, why: str
) -> None:
    topic = f"bad-key-{format}-{base64.urlsafe_b64encode(str(key).encode()).decode().strip('=')}"
    cluster.send(topic, None, b"7")
    cluster.send(topic, None, key)
    db = shop()
    beside = {"how": "upsert"} if format == "json" else {}
    with pytest.raises(errors.InvalidValueError, match=rf"{topic}\[0\], offset 1: .*{why}"):
        read(cluster, topic, db, format=format, **beside)


def test_a_message_without_a_value_is_no_row_to_insert(cluster: Cluster) -> None:
    cluster.send("inserts", None, b"7")
    with pytest.raises(errors.InvalidValueError, match=r"offset 0: .*how=\"upsert\""):
        read(cluster, "inserts", shop(), format="json")


def test_columns_of_the_key_may_be_in_the_key_alone(cluster: Cluster) -> None:
    types = {"shop": "string not null", "id": "int64 not null", "x": "int64"}
    db = shop(types, ["shop", "id"])
    cluster.send("keyed", '{"x": 1, "id": 1}', '{"shop": "a", "id": 9, "more": 0}')
    cluster.send("keyed", '{"x": 2}', '{"shop": "b", "id": 2}')
    cluster.send("keyed", None, '{"shop": "b", "id": 2}')
    cluster.send("keyed", '{"x": 3, "shop": "c", "id": 3}', b"no JSON")
    read(cluster, "keyed", db, format="json", how="upsert")
    assert held(db) == [{"shop": "a", "id": 1, "x": 1}, {"shop": "c", "id": 3, "x": 3}]
    texts = shop({"name": "string not null", "x": "int64"}, "name")
    for key in ('"quoted"', "plain", "42"):
        cluster.send("single", '{"x": 1}', key)
    read(cluster, "single", texts, format="json", how="upsert")
    assert [row["name"] for row in held(texts)] == ["42", "plain", "quoted"]


def test_a_topic_of_our_sink_is_the_view(cluster: Cluster) -> None:
    db, draw = rv.Database(), random.Random(2)
    db.create_table("given", {"k": "string", "n": "int64"})
    db.create_view("v", "SELECT k, SUM(n) AS n FROM given GROUP BY k")
    sender = sinks.Sender(db, {"v": sinks.kafka(cluster.address, "of-sink", key="k")})
    for _ in range(10):
        db.insert("given", [{"k": draw.choice("abc"), "n": 1}])
        sender.step()
        db.delete("given", where=f"k = '{draw.choice('abc')}'")
        sender.step()
    copy = shop({"k": "string not null", "n": "int64"}, "k")
    read(cluster, "of-sink", copy, format="json", how="upsert")
    assert held(copy) == sorted(db["v"], key=lambda row: str(row["k"]))


def test_deletes_that_come_again_cost_no_error(cluster: Cluster) -> None:
    """More of them than rows of a batch may be refused, and no dead letters."""
    rows = [{"id": at, "x": at} for at in range(150)]
    for row in rows:
        cluster.send("again", envelope("c", None, row))
    for _ in range(2):
        for row in rows[1:]:
            cluster.send("again", envelope("d", row))
    db = shop()
    reader = read(cluster, "again", db)
    assert held(db) == [{"id": 0, "x": 0}]
    assert reader.rejected == 0


@pytest.mark.parametrize("messages", [1, 100])
def test_an_update_with_another_key_moves_the_row(cluster: Cluster, messages: int) -> None:
    topic = f"moves-{messages}"
    cluster.send(topic, envelope("c", None, {"id": 1, "x": 1}))
    cluster.send(topic, envelope("u", {"id": 1, "x": 1}, {"id": 2, "x": 5}), '{"id": 2}')
    cluster.send(topic, envelope("u", {"id": None, "x": None}, {"id": 2, "x": 6}), '{"id": 2}')
    db = shop()
    read(cluster, topic, db, messages=messages)
    assert held(db) == [{"id": 2, "x": 6}]


@pytest.mark.parametrize("messages", [1, 100])
@pytest.mark.parametrize("word", [UNAVAILABLE, "gone"])
def test_a_value_that_is_left_out_is_kept(cluster: Cluster, messages: int, word: str) -> None:
    topic = f"kept-{word.strip('_')}-{messages}"
    coded = base64.b64encode(word.encode()).decode()
    for op, before, after in (
        ("c", None, {"id": 1, "x": 1, "a": "long", "b": "longer"}),
        ("u", None, {"id": 1, "x": 2, "a": word, "b": "new"}),
        ("u", None, {"id": 1, "x": 3, "a": word, "b": coded}),
        ("c", None, {"id": 2, "x": 1, "a": "x", "b": "y"}),
        ("u", {"id": 2, "a": "old", "b": word}, {"id": 3, "x": 2, "a": word, "b": "z"}),
    ):
        cluster.send(topic, envelope(op, before, after), json.dumps({"id": after["id"]}))
    types = {"id": "int64 not null", "x": "int64", "a": "string", "b": "string"}
    db = shop(types)
    read(cluster, topic, db, messages=messages, unavailable=word)
    assert held(db) == [
        {"id": 1, "x": 3, "a": "long", "b": "new"},
        {"id": 3, "x": 2, "a": "old", "b": "z"},
    ]


def test_a_value_that_nobody_has_is_refused(cluster: Cluster) -> None:
    row = {"id": 1, "x": 1}
    cluster.send("lacking", envelope("c", None, row))
    cluster.send("lacking", envelope("d", row))
    cluster.send("lacking", envelope("u", None, {"id": 1, "x": UNAVAILABLE}))
    with pytest.raises(errors.InvalidValueError, match=r"offset 2: .*REPLICA IDENTITY FULL"):
        read(cluster, "lacking", shop())
