"""Odd messages of topics: dead letters with their place and their bytes, or new columns."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import ringview as rv
from kafka_cluster import Cluster, cluster, held, ids
from ringview import errors, sinks, sources
from test_sources_debezium import envelope

__all__ = ["cluster", "ids"]


def shop() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"id": "int64 not null", "x": "float64", "t": "string"}, unique="id")
    return db


ODD: list[tuple[str, bytes, str]] = [
    ("half-text", rb'{"id": 1, "t": "\ud800"}', "half a surrogate pair"),
    ("half-name", rb'{"id": 1, "\uDC00": 1}', "half a surrogate pair"),
    ("half-bytes", b'{"id": 1, "t": "\xed\xa0\x80"}', "no UTF-8"),
    ("extra", b'{"id": 1, "y": 2}', 'a column "y" that table "r" lacks'),
    ("huge", b'{"id": 1, "x": 1e400}', "out of range"),
    ("huge-text", b'{"id": 1, "x": "-1e400"}', "out of range"),
    ("list", b"[1, 2]", "no JSON object"),
    ("in-list", b'{"id": 1, "x": [1]}', "it is a list"),
    ("in-text", b'{"id": 1, "t": ["a"]}', ""),
    ("framed", b"\0\0\0\1\2\x02a", r"Schema Registry \(schema 258\)"),
    ("empty", b"", "no JSON"),
]


@pytest.mark.parametrize("format", ["json", "debezium"])
@pytest.mark.parametrize(("name", "value", "why"), ODD, ids=[name for name, _, _ in ODD])
def test_an_odd_message_is_a_dead_letter_as_it_is(
    cluster: Cluster, format: Any, name: str, value: bytes, why: str
) -> None:
    topic, good = f"odd-{format}-{name}", b'{"id": 2, "x": 0.5, "t": "\\ud83d\\ude00"}'
    wrap = format == "debezium" and value[:1] == b"{"
    sent = b'{"op": "c", "before": null, "after": %b}' % value if wrap else value
    ok = b'{"op": "c", "before": null, "after": %b}' % good if format == "debezium" else good
    cluster.send(topic, ok, b"k\xff", 1)
    cluster.send(topic, sent, b"k\xff", 1)
    cluster.flush()
    db = shop()
    given = sources.kafka(cluster.address, {topic: "r"}, format=format, watch=False)
    with pytest.raises(
        errors.InvalidValueError, match=rf"source .*{topic}\[1\], offset 1: .*{why}"
    ):
        sources.run(db, [given])
    assert held(db) == []
    sources.run(db, [given], dead_letters="letters")
    assert held(db) == [{"id": 2, "x": 0.5, "t": "\U0001f600"}]
    (letter,) = db.tables["letters"].to_arrow().to_pylist()
    assert (letter["topic"], letter["partition"], letter["offset"]) == (topic, 1, 1)
    assert base64.b64decode(letter["key_base64"]) == b"k\xff"
    assert base64.b64decode(letter["value_base64"]) == sent
    assert letter["place"] == f"{topic}[1], offset 1"


def test_rows_that_the_engine_refuses_are_letters_with_their_bytes(cluster: Cluster) -> None:
    for value in (b'{"id": 1}', b'{"id":   1}'):
        cluster.send("twice", value)
    cluster.flush()
    db = shop()
    given = sources.kafka(cluster.address, {"twice": "r"}, format="json", watch=False)
    sources.run(db, [given], dead_letters="letters")
    (letter,) = db.tables["letters"].to_arrow().to_pylist()
    assert (letter["offset"], letter["key_base64"]) == (1, None)
    assert base64.b64decode(letter["value_base64"]) == b'{"id":   1}'


def test_a_table_of_letters_that_is_there_gets_the_columns(cluster: Cluster) -> None:
    cluster.send("older", b"{")
    cluster.flush()
    db = shop()
    texts = dict.fromkeys(("source", "place", "row", "reason"), "string not null")
    db.create_table("letters", texts)
    db.insert("letters", [dict.fromkeys(texts, "x")])
    given = sources.kafka(cluster.address, {"older": "r"}, format="json", watch=False)
    sources.run(db, [given], dead_letters="letters")
    assert sorted(db.tables["letters"].to_arrow()["offset"].to_pylist(), key=str) == [0, None]


def test_letters_go_to_a_topic(cluster: Cluster) -> None:
    cluster.send("to-topic", b"{", b"k")
    cluster.flush()
    db = shop()
    given = sources.kafka(cluster.address, {"to-topic": "r"}, format="json", watch=False)
    sources.run(db, [given], dead_letters="letters")
    db.create_view("v", 'SELECT topic, "offset", value_base64, reason FROM letters')
    sinks.run(db, {"v": sinks.kafka(cluster.address, "letters")})
    copy = rv.Database()
    types = {"topic": "string", "offset": "int64", "value_base64": "string"}
    copy.create_table("r", types)
    sources.run(
        copy,
        [
            sources.kafka(
                cluster.address, {"letters": "r"}, format="json", watch=False, evolve="ignore"
            )
        ],
    )
    assert held(copy) == [{"topic": "to-topic", "offset": 0, "value_base64": "ew=="}]


@pytest.mark.parametrize("format", ["json", "debezium"])
def test_fields_without_a_column(cluster: Cluster, format: Any) -> None:
    topic = f"evolving-{format}"
    for row in (
        {"id": 1, "n": None},
        {"id": 2, "n": 7, "s": "a", "f": 0.5, "b": True},
        {"id": 3, "n": 8, "f": 1},
        {"id": 4, "deep": {"a": 1}},
    ):
        cluster.send(topic, json.dumps(row) if format == "json" else envelope("c", None, row))
    cluster.flush()
    found = {}
    for evolve in ("ignore", "add", "refuse"):
        db = shop()
        db.create_view("v", "SELECT COUNT(*) AS n FROM r")
        given = sources.kafka(
            cluster.address, {topic: "r"}, format=format, watch=False, evolve=evolve
        )
        sources.run(db, [given], dead_letters="letters")
        found[evolve] = [row["id"] for row in held(db)]
        if evolve == "add":
            names = {field.name: str(field.type) for field in db.tables["r"].schema}
            wanted = {"n": "int64", "s": "string", "f": "double", "b": "bool"}
            assert {name: names.get(name) for name in wanted} == wanted
            assert held(db)[1] == {
                **{"id": 2, "x": None, "t": None},
                **{"n": 7, "s": "a", "f": 0.5, "b": True},
            }
        else:
            assert db.tables["r"].schema.names == ["id", "x", "t"]
    assert found == {"ignore": [1, 2, 3, 4], "add": [1, 2, 3], "refuse": []}
