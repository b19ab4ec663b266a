"""Bodies and connections of HTTP that are more than they seem, or less, and what answers say."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator

import httpx
import pytest
import ringview as rv
from ringview import serve
from serving import PATIENCE, problem, served, shop

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def web() -> Iterator[httpx.Client]:
    with rv.Database() as db:
        shop(db)
        with served(db, writable=True, limits=serve.Limits(max_body=100_000)) as made:
            yield made


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
@pytest.mark.parametrize("path", ["/tables/orders", "/transaction", "/sql", "/execute"])
def test_a_compressed_body_is_not_taken(web: httpx.Client, kind: str, path: str) -> None:
    """Nobody has to find out how long it becomes."""
    bomb = gzip.compress(bytes(10**7))
    found = web.post(path, content=bomb, headers={**JSON, "content-encoding": kind})
    assert problem(found)[:2] == (415, "EncodingError")
    plain = web.post("/sql", content="SELECT 1", headers={"content-encoding": "identity"})
    assert plain.status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        *(b'[{"id": 1e999999999}]', b'[{"id": 7, "customer": 1, "price": 1e999999999}]'),
        *(b"[" * 90_000, b'{"a":' * 15_000, b"[" + b"9" * 90_000 + b"]"),
        b'[{"id": 7, "customer": 1, "price": "' + b"9" * 90_000 + b'"}]',
        b'[{"id": 7, "customer": 1, "price": "1e999999999"}]',
    ],
)
def test_json_that_would_take_for_ever_is_refused(web: httpx.Client, body: bytes) -> None:
    found = web.post("/tables/orders", content=body, headers=JSON)
    assert problem(found)[:2] in ((400, "InvalidValueError"), (400, "UnknownColumnError"))
    assert web.get("/tables/orders").json()["total"] == 3


@pytest.mark.parametrize(
    "path", ["/", "/static/page.js", "/static/icon.svg", "/health", "/views/totals", "/nothing"]
)
def test_answers_are_what_they_say(web: httpx.Client, path: str) -> None:
    found = web.get(path)
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "no-referrer"
    policy = found.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert policy.startswith("default-src 'self'" if path == "/" else "default-src 'none'")
    refused = web.get(path, headers={"host": "rebound.example"})
    assert refused.status_code == 421
    assert refused.headers["x-content-type-options"] == "nosniff"


def connected(web: serve.Server) -> socket.socket:
    address = web.url.removeprefix("http://").rsplit(":", 1)
    return socket.create_connection((address[0], int(address[1])), timeout=PATIENCE)


POST = b"POST /sql HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET", POST + b"X-Slow: ", b"\x16\x03\x01"])
def test_a_connection_that_asks_nothing_is_closed(sent: bytes) -> None:
    limits = serve.Limits(timeout=0.2)
    with rv.Database() as db, serve.Server(db, port=0, limits=limits) as web:
        with connected(web) as made:
            made.sendall(sent)
            while made.recv(1000):
                pass
        with httpx.Client(base_url=web.url, trust_env=False) as client:
            assert client.get("/health").status_code == 200


def test_a_second_request_that_never_ends_is_closed() -> None:
    limits = serve.Limits(timeout=0.2)
    with rv.Database() as db, serve.Server(db, port=0, limits=limits) as web:
        with connected(web) as made:
            made.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HT")
            whole = b""
            while part := made.recv(1000):
                whole += part
        assert b'"live"' in whole


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    limits = serve.Limits(timeout=0.2)
    with rv.Database() as db, serve.Server(db, port=0, limits=limits) as web:
        with connected(web) as made:
            made.sendall(POST + b"Content-Length: 1000\r\n\r\nSELECT")
            whole = b""
            while part := made.recv(1000):
                whole += part
        assert whole.startswith(b"HTTP/1.1 503 ")
        assert b"TimeoutError" in whole


def test_an_answer_that_lasts_is_not_cut_off() -> None:
    limits = serve.Limits(timeout=0.2)
    with rv.Database() as db, serve.Server(db, port=0, limits=limits) as web:
        shop(db)
        with connected(web) as made:
            made.sendall(b"GET /views/totals/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
            whole = b""
            for price in range(4):
                while f'"{15 + price}.00"'.encode() not in whole:
                    whole += made.recv(10_000)
                # As many looks as would have closed it.
                made.settimeout(0.5)
                with pytest.raises(TimeoutError):
                    while made.recv(10_000):
                        pass
                made.settimeout(PATIENCE)
                db.insert("orders", [(10 + price, 1, 1)])
