"""Refusals of a server, with status and words; nothing is changed then."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import ringview as rv
from ringview import serve
from ringview.errors import InvalidValueError, StorageError
from serving import ARROW, client, problem, served, shop


@pytest.fixture(scope="module")
def db() -> Iterator[rv.Database]:
    with rv.Database() as made:
        yield shop(made)


@pytest.fixture(scope="module")
def web(db: rv.Database) -> Iterator[httpx.Client]:
    with served(db, writable=True, limits=serve.Limits(max_body=2000, max_rows=2)) as made:
        yield made


READS = [
    ("/views/total", 404, "UnknownViewError", "totals"),
    ("/tables/order", 404, "UnknownTableError", "orders"),
    ("/views/total/changes", 404, "UnknownViewError", "totals"),
    ("/views/totals/explain?format=pdf", 400, "InvalidValueError", "mermaid"),
    ("/nothing", 404, "UnknownRouteError", "/nothing"),
    ("/views/totals?lmit=1", 400, "InvalidValueError", "limit"),
    ("/views/totals?limit=-1", 400, "InvalidValueError", "limit"),
    ("/views/totals?limit=" + "9" * 5000, 400, "InvalidValueError", "limit"),
    ("/views/totals?limit=x", 400, "InvalidValueError", "limit"),
    ("/views/totals?format=xml", 400, "InvalidValueError", "arrow"),
    ("/views/totals?key=Ada", 400, "InvalidValueError", "no JSON"),
    ("/views/totals?key=[1]", 400, "InvalidValueError", "object"),
    ('/views/totals?key={"nam":"Ada"}', 400, "InvalidValueError", "name"),
    ('/views/totals?key={"name":"Ada"}&limit=1', 400, "InvalidValueError", "one row"),
    ('/views/pairs?key={"name":"Ada"}', 400, "UnsupportedError", "where()"),
    ('/views/pairs?where={"price":"dear"}', 400, "InvalidValueError", "price"),
    ('/tables/orders?key={"id":"one"}', 400, "InvalidValueError", "id"),
    ("/views/pairs", 413, "TooLongError", "limit"),
    ("/views/totals/changes?every=-1", 400, "InvalidValueError", "every"),
    ("/views/totals/changes?every=nan", 400, "InvalidValueError", "every"),
    ("/views/totals/changes?follower=", 400, "InvalidValueError", "name"),
    ("/views/totals/changes?lats=1", 400, "InvalidValueError", "last"),
    ("/views/pairs/changes?follower=x&every=0&last=..", 200, "", ""),
]


@pytest.mark.parametrize(("path", "status", "kind", "words"), READS)
def test_bad_questions(web: httpx.Client, path: str, status: int, kind: str, words: str) -> None:
    if status == 200:
        # A token that is none is that of a reader that is not known: it begins anew.
        with web.stream("GET", path) as answer:
            assert answer.status_code == 200
            assert any("snapshot" in line for line in answer.iter_lines())
        return
    found = problem(web.get(path))
    assert found[:2] == (status, kind), found
    assert words in found[2]


WRITES: list[tuple[str, Any, int, str, str]] = [
    ("/tables/order", [{"id": 1}], 404, "UnknownTableError", "orders"),
    ("/tables/orders", b"[{", 400, "InvalidValueError", "no JSON"),
    ("/tables/orders", b"\xff\xfe[", 400, "InvalidValueError", "no JSON"),
    ("/tables/orders", [1], 400, "InvalidValueError", "objects"),
    ("/tables/orders", 7, 400, "InvalidValueError", "objects"),
    ("/tables/orders", [{"id": "x", "price": 1}], 400, "InvalidValueError", '"id"'),
    ("/tables/orders", [{"id": 5, "price": "1.001"}], 400, "InvalidValueError", "price"),
    ("/tables/orders", [{"id": 2**63}], 400, "InvalidValueError", '"id"'),
    ("/tables/orders", [{"customer": 1}], 400, "InvalidValueError", "NULL"),
    ("/tables/orders", [{"id": 5, "prise": 1}], 400, "UnknownColumnError", "price"),
    ("/tables/orders", [{"id": 1}], 409, "DuplicateKeyError", "unique"),
    ("/tables/orders?op=drop", [{"id": 1}], 400, "InvalidValueError", "upsert"),
    ("/tables/orders?ops=x", [{"id": 1}], 400, "InvalidValueError", "batch_id"),
    ("/tables/orders?op=delete", [{"id": 77}], 409, "OverDeleteError", "id"),
    ("/tables/orders?op=update", [{"id": 77, "price": 1}], 409, "UnknownKeyError", "77"),
    ("/tables/orders?op=upsert&multiplicity=n", [{"id": 7}], 400, "InvalidValueError", "delete"),
    ("/transaction", [], 400, "InvalidValueError", "object"),
    ("/transaction", {"changes": [1]}, 400, "InvalidValueError", "changes"),
    ("/transaction", {"changes": [{"rows": []}]}, 400, "InvalidValueError", "table"),
    ("/transaction", {"changes": [], "batch": 1}, 400, "InvalidValueError", "batch"),
    ("/transaction", {"changes": [], "batch_id": 1.5}, 400, "InvalidValueError", "batch_id"),
    ("/transaction", {"changes": [{"tabel": "orders"}]}, 400, "InvalidValueError", "tabel"),
    ("/sql", b"SELEC 1", 400, "QueryError", "SELEC"),
    ("/sql", b"SELECT * FROM order_s", 404, "UnknownTableError", "order"),
    ("/sql", {"sql": 1}, 400, "InvalidValueError", "text"),
    ("/sql", {"sql": "SELECT 1", "params": []}, 400, "InvalidValueError", "parameters"),
    ("/sql", {"sql": "SELECT 1", "parameters": 3}, 400, "InvalidValueError", "list"),
    ("/sql", {"sql": "SELECT * FROM orders"}, 413, "TooLongError", "LIMIT"),
    ("/execute", b"DROP TABLE orders", 409, "InUseError", "orders"),
    ("/execute", b"COMMIT", 400, "QueryError", "BEGIN"),
    (
        "/tables/orders",
        [{"id": at} for at in range(300)],
        413,
        "TooLongError",
        "2000",
    ),
]


@pytest.mark.parametrize(("path", "body", "status", "kind", "words"), WRITES)
def test_bad_changes_change_nothing(
    web: httpx.Client, db: rv.Database, path: str, body: Any, status: int, kind: str, words: str
) -> None:
    before = db.sql("SELECT * FROM orders ORDER BY id"), db["totals"].to_arrow()
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    said = {} if isinstance(body, bytes) else {"content-type": "application/json"}
    found = problem(web.post(path, content=raw, headers=said))
    assert found[:2] == (status, kind), found
    assert words in found[2]
    after = db.sql("SELECT * FROM orders ORDER BY id"), db["totals"].to_arrow()
    assert after == before


def test_a_part_of_a_batch_that_deletes_too_much_is_not_kept(
    web: httpx.Client, db: rv.Database
) -> None:
    before = db["totals"].to_arrow()
    rows = [{"id": 1}, {"id": 2}, {"id": 2}]
    assert problem(web.post("/tables/orders?op=delete", json=rows))[:2] == (409, "OverDeleteError")
    assert db["totals"].to_arrow().equals(before)


def test_arrow_that_is_none(web: httpx.Client) -> None:
    found = problem(web.post("/tables/orders", content=b"none", headers={"content-type": ARROW}))
    assert found[:2] == (400, "InvalidValueError")
    lines = b'{"id": 50}\n{"id": 51'
    said = {"content-type": "application/x-ndjson"}
    assert "line 2" in problem(web.post("/tables/orders", content=lines, headers=said))[2]


def test_a_body_that_does_not_say_how_long_it_is(web: httpx.Client) -> None:
    parts = (b" " * 500 for _ in range(100))
    assert problem(web.post("/tables/orders", content=parts))[:2] == (413, "TooLongError")


def test_nothing_changes_where_it_is_only_read(db: rv.Database) -> None:
    with served(db) as web:
        for path in ("/tables/orders", "/transaction", "/execute"):
            assert problem(web.post(path, json={}))[:2] == (403, "ReadOnlyError")
        assert problem(web.get("/views/totals/changes?follower=x"))[0] == 403
        assert problem(web.request("DELETE", "/views/totals/changes?follower=x"))[0] == 403
        assert web.post("/sql", content="SELECT COUNT(*) AS n FROM orders").status_code == 200


def test_a_token_is_asked_for(db: rv.Database) -> None:
    with served(db, token="s3cret-ö") as web:
        for given in ("", "Bearer", "Bearer wrong", "Basic s3cret", "Bearer s3cret-o"):
            answer = web.get("/views", headers={"authorization": given})
            assert problem(answer)[:2] == (401, "TokenError")
            assert answer.headers["www-authenticate"] == "Bearer"
        right = {b"authorization": "Bearer s3cret-ö".encode()}
        assert web.get("/views", headers=right).status_code == 200
        assert web.get("/").status_code == web.get("/health").status_code == 200
        for path in ("/metrics", "/status", "/ready", "/views/totals/changes"):
            assert web.get(path).status_code == 401
    with served(db, token="plain") as web:
        assert web.get("/views", headers={"authorization": "bearer plain"}).status_code == 200


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("host", "evil.example", 421),
        ("host", "localhost.evil.example:80", 421),
        ("host", "127.0.0.1@evil.example", 421),
        ("host", "[::1", 421),
        ("host", "localhost:1234", 200),
        ("host", "LOCALHOST", 200),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "https://shop.example", 200),
    ],
)
def test_hosts_and_origins(db: rv.Database, header: str, value: str, status: int) -> None:
    made = serve.App(
        db,
        writable=False,
        followers=None,
        token=None,
        hosts=serve.authentication.LOOPBACK,
        origins=["https://shop.example"],
        limits=serve.Limits(),
        connectors=[],
    )

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(made), base_url="http://localhost"
        ) as web:
            return await web.get("/views", headers={header: value})

    import asyncio

    answer = asyncio.run(asked())
    assert answer.status_code == status, answer.text
    shared = answer.headers.get("access-control-allow-origin")
    assert shared == (value if header == "origin" and status == 200 else None)
    made.close()


def test_only_so_many_are_answered_at_once(db: rv.Database) -> None:
    with served(db, limits=serve.Limits(max_connections=2)) as web:
        url = str(web.base_url)
        with client(url).stream("GET", "/views/totals/changes") as one:
            assert one.status_code == 200
            with client(url).stream("GET", "/views/totals/changes") as two:
                assert two.status_code == 200
                assert problem(web.get("/views"))[:2] == (503, "BusyError")
                assert web.get("/health").status_code == 200


def test_an_answer_that_takes_too_long(db: rv.Database) -> None:
    gate = threading.Event()
    db.create_function("slow", lambda a: (gate.wait(60), a)[1], ["int64"], "int64")
    with served(db, limits=serve.Limits(timeout=0.2)) as web:
        found = problem(web.post("/sql", content="SELECT slow(id) AS a FROM customers"))
        gate.set()
    assert found[:2] == (503, "TimeoutError")


def test_a_network_needs_a_token(db: rv.Database) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(InvalidValueError, match="token"):
            serve.Server(db, host=host, port=0)
    with pytest.raises(InvalidValueError, match="empty"):
        serve.Server(db, port=0, token="")
    with pytest.warns(UserWarning, match="without TLS"):
        server = serve.Server(db, host="0.0.0.0", port=0, token="t", plain=True)
    with server:
        port = server.url.rpartition(":")[2]
        with client(f"http://127.0.0.1:{port}") as web:
            assert web.get("/views").status_code == 401
            assert web.get("/views", headers={"authorization": "Bearer t"}).status_code == 200


def test_a_port_that_is_taken(db: rv.Database) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(StorageError, match="cannot listen"):
            serve.Server(db, port=other.getsockname()[1])


def test_postgres_is_spoken_beside_http(db: rv.Database) -> None:
    psycopg = pytest.importorskip("psycopg")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        serve.Server(db, port=0, ports={"postgres": port}),
        psycopg.connect(f"host=127.0.0.1 port={port} user=me") as session,
    ):
        found = session.execute("SELECT name, total FROM totals ORDER BY name").fetchall()
        assert found == [("Ada", 15), ("Grace", 7)]


def test_listeners_begin_and_end_with_the_server(
    db: rv.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ringview.serve import sockets

    told: list[str] = []

    class One:
        def __init__(self, db: rv.Database, how: sockets.Opening) -> None:
            self.address = (how.host, how.port)
            told.append(f"began {how.port} {how.password} {how.writable} {how.max_rows}")

        def close(self) -> None:
            told.append("ended")

        def __enter__(self) -> One:
            return self

        def __exit__(self, *given: object) -> None:
            self.close()

    monkeypatch.setattr(sockets, "LISTENERS", {"one": One})
    limits = serve.Limits(max_rows=7)
    with serve.Server(db, port=0, token="t", limits=limits, ports={"one": 5}) as server:
        assert server.listeners["one"].address == ("127.0.0.1", 5)
        assert told == ["began 5 t False 7"]
    assert told == ["began 5 t False 7", "ended"]
