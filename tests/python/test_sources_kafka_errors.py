"""Errors of brokers: the source, the broker and the cause; a reader that tries again."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import ringview as rv
from kafka_cluster import Cluster, client, cluster, held, ids
from ringview import errors, sinks, sources

__all__ = ["cluster", "ids"]


def shop() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"id": "int64"})
    db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    return db


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Something that listens and is no broker."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def source(address: str, **beside: Any) -> sources.Kafka:
    given = sources.kafka(address, {"t": "r"}, format="json", watch=False, **beside)
    given._timeout = 1.5
    return given


def test_nobody_listens(capfd: pytest.CaptureFixture[str]) -> None:
    wanted = r'source "kafka t": broker 127\.0\.0\.1:1: .*Connection refused'
    with pytest.raises(errors.UnreachableError, match=wanted):
        sources.run(shop(), [source("127.0.0.1:1")])
    assert capfd.readouterr().err == ""


def test_no_such_host() -> None:
    with pytest.raises(errors.UnreachableError, match=r"nobody\.invalid:9092.*resolve"):
        sources.run(shop(), [source("nobody.invalid:9092")])


def test_tls_to_a_plain_port(cluster: Cluster) -> None:
    given = source(cluster.address, config={"security.protocol": "SSL"})
    with pytest.raises(
        errors.UnreachableError, match=r"ssl://.*(SSL handshake failed|Disconnected)"
    ):
        sources.run(shop(), [given])


def test_who_hangs_up() -> None:
    with server(lambda connection: connection.recv(1)) as address:
        wanted = rf"broker {address}: .*(Disconnected|brokers are down)"
        with pytest.raises(errors.UnreachableError, match=wanted):
            sources.run(shop(), [source(address)])


def test_a_callback_of_the_user_is_called_too() -> None:
    found: list[Any] = []
    with pytest.raises(errors.UnreachableError):
        sources.run(shop(), [source("127.0.0.1:1", config={"error_cb": found.append})])
    assert "_TRANSPORT" in {problem.name() for problem in found}


@pytest.mark.parametrize("call", ["consume", "incremental_assign"])
def test_no_exception_of_the_client_comes_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    class Failing(client.Consumer):  # type: ignore[misc]
        def _fail(self, *_: Any, **__: Any) -> None:
            raise client.KafkaException(client.KafkaError(client.KafkaError._STATE))

    setattr(Failing, call, Failing._fail)
    monkeypatch.setattr(client, "Consumer", Failing)
    given = sources.kafka(cluster.address, {"bare": "r"}, format="json", watch=False)
    with pytest.raises(
        errors.StorageError, match=rf'source "kafka bare": broker {cluster.address}'
    ):
        sources.run(shop(), [given])


def test_a_sink_names_broker_and_cause(capfd: pytest.CaptureFixture[str]) -> None:
    db = shop()
    db.insert("r", {"id": [1]})
    config = {"message.timeout.ms": 300, "enable.idempotence": False}
    sink = sinks.kafka("127.0.0.1:1", "t", config=config)
    wanted = r'topic "t" does not take messages: broker 127\.0\.0\.1:1: .*Connection refused'
    with pytest.raises(errors.UnreachableError, match=wanted):
        sinks.run(db, {"v": sink})
    assert capfd.readouterr().err == ""
    with pytest.raises(errors.InvalidValueError, match=r"no\.such"):
        sinks.run(db, {"v": sinks.kafka("127.0.0.1:1", "t", config={"no.such": 1})}, name="other")
    with pytest.raises(errors.InvalidValueError, match="is set by ringview"):
        sinks.kafka("127.0.0.1:1", "t", config={"bootstrap.servers": "x"})


def test_a_thread_waits_for_a_broker(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that is away between two batches; a run in the caller's thread raises at once."""
    monkeypatch.setattr("ringview.sources.reader._FIRST_WAIT", 0.01)
    failures, whole = iter(range(3)), sources.Kafka.batches

    def flaky(self: sources.Kafka, positions: Any) -> Iterator[sources.Batch | None]:
        for batch in whole(self, positions):
            yield batch
            if isinstance(batch, sources.Batch) and next(failures, None) is not None:
                raise errors.UnreachableError("away")

    monkeypatch.setattr(sources.Kafka, "batches", flaky)
    for number in range(20):
        cluster.send("flaky", json.dumps({"id": number}))
    cluster.flush()
    db = shop()
    given = sources.kafka(cluster.address, {"flaky": "r"}, format="json", watch=False, messages=5)
    reader = sources.Reader(db, [given], every=0.01)
    with caplog.at_level(logging.WARNING, "ringview"), reader:
        assert reader.join(60)
    assert [row["id"] for row in sorted(held(db), key=lambda row: row["id"])] == [*range(20)]
    assert reader.problem is None
    assert "waits: away" in caplog.text
    again = shop()
    failures = iter(range(1))
    with pytest.raises(errors.UnreachableError, match="away"):
        sources.run(again, [given])


def test_other_errors_end_a_thread(cluster: Cluster) -> None:
    cluster.send("ends", "{")
    cluster.flush()
    given = sources.kafka(cluster.address, {"ends": "r"}, format="json", watch=False)
    reader = sources.Reader(shop(), [given], every=0.01).start()
    with pytest.raises(errors.InvalidValueError, match="offset 0: it is no JSON"):
        reader.join(60)
