"""A served database: each route, in JSON and in Arrow, and what the figures say."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from decimal import Decimal

import httpx
import pyarrow as pa
import pytest
import ringview as rv
from prometheus_client.parser import text_string_to_metric_families
from ringview import serve
from serving import ARROW, client, problem, served, shop, table

BOTH = {"accept": ARROW}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[rv.Database, httpx.Client]]:
    with rv.Database() as db, served(db, writable=True) as web:
        yield db, web


@pytest.fixture
def db(server: tuple[rv.Database, httpx.Client]) -> rv.Database:
    """The shop as it is at first, whatever the test before did."""
    db = server[0]
    for view in reversed([*db.views]):
        db.drop_view(view)
    for name in [*db.tables]:
        db.drop_table(name)
    return shop(db)


@pytest.fixture
def web(server: tuple[rv.Database, httpx.Client], db: rv.Database) -> httpx.Client:
    return server[1]


def test_views_and_tables_are_listed(web: httpx.Client) -> None:
    views = {view["name"]: view for view in web.get("/views").json()}
    assert set(views) == {"totals", "pairs"}
    assert (views["totals"]["rows"], views["totals"]["key"]) == (2, ["name"])
    assert views["pairs"]["key"] is None
    assert "GROUP BY" in views["totals"]["sql"]
    tables = {each["name"]: each for each in web.get("/tables").json()}
    assert (tables["orders"]["rows"], tables["orders"]["unique"]) == (3, ["id"])
    kinds = {"name": "price", "type": "decimal128(12, 2)", "nullable": True}
    assert kinds in tables["orders"]["columns"]


def test_a_view_is_the_same_in_json_and_arrow(web: httpx.Client, db: rv.Database) -> None:
    found = web.get("/views/totals").json()
    assert found["total"] == 2
    assert sorted(row["total"] for row in found["rows"]) == ["15.00", "7.00"]
    assert [column["name"] for column in found["columns"]] == ["name", "total"]
    whole = table(web.get("/views/totals", headers=BOTH))
    assert whole.equals(db["totals"].to_arrow())
    assert table(web.get("/views/totals?format=arrow")).equals(whole)
    assert web.get("/tables/customers").json()["rows"][0] == {"id": 1, "name": "Ada"}


def test_rows_are_found_by_key_and_by_values(web: httpx.Client) -> None:
    one = web.get("/views/totals", params={"key": '{"name": "Ada"}'})
    assert one.json()["rows"] == [{"name": "Ada", "total": "15.00"}]
    assert table(
        web.get("/views/totals", params={"key": '{"name": "Ada"}'}, headers=BOTH)
    ).to_pylist() == [{"name": "Ada", "total": Decimal("15.00")}]
    assert problem(web.get("/views/totals", params={"key": '{"name": "Alan"}'}))[:2] == (
        404,
        "UnknownKeyError",
    )
    by_id = web.get("/tables/orders", params={"key": '{"id": 3}'})
    assert by_id.json()["rows"] == [{"id": 3, "customer": 2, "price": "7.00"}]
    for price in ("10", "10.00", '"10.00"'):
        found = web.get("/views/pairs", params={"where": f'{{"price": {price}}}'})
        assert found.json()["rows"] == [{"name": "Ada", "price": "10.00"}]
    assert web.get("/views/pairs", params={"where": '{"name": null}'}).json()["total"] == 0


def test_parts_are_read_by_limit_and_offset(web: httpx.Client) -> None:
    whole = web.get("/views/pairs").json()["rows"]
    parts = [web.get(f"/views/pairs?limit=2&offset={at}").json() for at in (0, 2, 4)]
    assert [part["total"] for part in parts] == [3, 3, 3]
    assert [row for part in parts for row in part["rows"]] == whole
    assert web.get("/views/pairs?limit=0").json()["rows"] == []


def test_queries_take_parameters_and_change_nothing(web: httpx.Client) -> None:
    asked = "SELECT name FROM totals WHERE total > ? ORDER BY name"
    found = web.post("/sql", json={"sql": asked, "parameters": [8]})
    assert (found.json()["total"], found.json()["rows"]) == (1, [{"name": "Ada"}])
    named = {"sql": asked.replace("?", "$least"), "parameters": {"least": 1}}
    assert table(web.post("/sql", json=named, headers=BOTH))["name"].to_pylist() == ["Ada", "Grace"]
    assert web.post("/sql", content="SELECT 1 AS a FROM customers LIMIT 1").json()["rows"] == [
        {"a": 1}
    ]
    status, _, message = problem(web.post("/sql", content="DELETE FROM orders"))
    assert status == 400, message
    assert web.get("/tables/orders").json()["total"] == 3


@pytest.mark.parametrize("kind", ["json", "lines", "arrow"])
def test_rows_come_in_each_format(web: httpx.Client, db: rv.Database, kind: str) -> None:
    rows = [{"id": 4, "customer": 2, "price": "0.10"}, {"id": 5, "customer": 2, "price": None}]
    if kind == "json":
        body, said = json.dumps(rows).encode(), "application/json"
    elif kind == "lines":
        body, said = b"\n".join(json.dumps(row).encode() for row in rows), "application/x-ndjson"
    else:
        columns = {"id": [4, 5], "customer": [2, 2], "price": ["0.10", None]}
        sink = pa.BufferOutputStream()
        given = pa.table(columns)
        with pa.ipc.new_stream(sink, given.schema) as writer:
            writer.write_table(given)
        body, said = sink.getvalue().to_pybytes(), ARROW
    done = web.post("/tables/orders", content=body, headers={"content-type": said})
    assert done.json() == {"applied": True, "rows": 2}
    assert db["totals"].get({"name": "Grace"}) == {"name": "Grace", "total": Decimal("7.10")}


def test_rows_go_change_and_come_by_key(web: httpx.Client, db: rv.Database) -> None:
    web.post("/tables/orders?op=delete", json=[{"id": 1}]).raise_for_status()
    web.post("/tables/orders?op=update", json=[{"id": 2, "price": 6}]).raise_for_status()
    web.post(
        "/tables/orders?op=upsert", json={"id": 9, "customer": 2, "price": 0.5}
    ).raise_for_status()
    web.post("/tables/orders?multiplicity=n", json=[{"id": 3, "customer": 2, "price": 7, "n": -1}])
    assert {row["name"]: row["total"] for row in db["totals"]} == {
        "Ada": Decimal("6.00"),
        "Grace": Decimal("0.50"),
    }


def test_a_batch_is_applied_once(web: httpx.Client, db: rv.Database) -> None:
    for applied in (True, False, False):
        done = web.post("/tables/customers?batch_id=b1", json=[{"id": 7, "name": "Alan"}])
        assert done.json()["applied"] is applied
    assert len(db.tables["customers"]) == 3
    assert db.is_applied("b1")


def test_a_transaction_is_of_several_tables(web: httpx.Client, db: rv.Database) -> None:
    changes = [
        {"table": "customers", "rows": [{"id": 3, "name": "Alan"}]},
        {"table": "orders", "rows": [{"id": 8, "customer": 3, "price": 1}]},
        {"table": "orders", "op": "delete", "rows": [{"id": 1}]},
    ]
    done = web.post("/transaction", json={"changes": changes, "batch_id": 17})
    assert done.json() == {"applied": True, "rows": 3}
    assert sorted(row["name"] for row in db["totals"]) == ["Ada", "Alan", "Grace"]
    assert web.post("/transaction", json={"changes": changes, "batch_id": 17}).json()["rows"] == 0
    changes[1]["rows"] = [{"id": 8, "customer": 3, "price": 2}]
    before = db.sql("SELECT * FROM orders ORDER BY id")
    assert problem(web.post("/transaction", json={"changes": changes}))[:2] == (
        409,
        "DuplicateKeyError",
    )
    assert db.sql("SELECT * FROM orders ORDER BY id").equals(before)


def test_statements_of_sql_are_done(web: httpx.Client, db: rv.Database) -> None:
    script = "CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1), (2)"
    assert web.post("/execute", content=script).json() == {"changed": 2}
    assert web.post("/execute", content="SELECT SUM(a) AS s FROM t").json()["rows"] == [{"s": 3}]
    script = "BEGIN; DELETE FROM t WHERE a = ?; INSERT INTO t VALUES (5); COMMIT"
    assert web.post("/execute", json={"sql": script, "parameters": [1]}).json() == {"changed": None}
    assert sorted(row["a"] for row in db.tables["t"]) == [2, 5]
    # One that is left open is nobody's: nothing of it is done, and nobody waits for its end.
    left = problem(web.post("/execute", content="BEGIN; DELETE FROM t"))
    assert left[1] == "QueryError"
    assert "COMMIT" in left[2]
    assert web.post("/execute", content="DELETE FROM t").json() == {"changed": 2}


def test_figures_are_in_the_format_of_prometheus(web: httpx.Client) -> None:
    web.post("/tables/customers", json=[{"id": 7, "name": "Alan"}])
    text = web.get("/metrics").text
    families = {family.name for family in text_string_to_metric_families(text)}
    assert {"ringview_view_bytes", "ringview_change_rows", "ringview_request_seconds"} <= families
    for line in (
        r'ringview_view_rows{view="totals"} 2.0',
        r'ringview_table_rows{table="customers"} 3.0',
        r"ringview_change_batches_total [1-9]\d*.0",
        r"ringview_change_rows_total [1-9]\d*.0",
        r"ringview_connections 1.0",
        r'ringview_request_seconds_count{route="/tables/{name}",status="200"} [1-9]\d*.0',
    ):
        assert re.search(f"^{line.replace('{', chr(92) + '{')}$", text, re.MULTILINE), text


def test_how_a_view_is_kept_is_told(web: httpx.Client, db: rv.Database) -> None:
    assert web.get("/views/totals/explain").text == db["totals"].explain()
    told = web.get("/views/totals/explain?format=json").json()
    assert told["view"] == "totals"
    assert told["nodes"]


def test_the_page_and_its_parts_are_there(web: httpx.Client) -> None:
    page = web.get("/")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for part in ("page.css", "page.js", "rows.js", "chart.js", "tree.js", "server.js", "texts.js"):
        assert web.get(f"/static/{part}").status_code == 200
    assert "//" not in page.text.replace("<!--", "").split("<body>")[0].replace("</", "")


def test_health_says_that_it_runs(web: httpx.Client) -> None:
    assert web.get("/health").json() == {"status": "live"}
    assert web.get("/ready").json() == {"status": "ready", "failing": {}}


def test_an_application_is_mounted_in_another_one(db: rv.Database) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    made = serve.app(db, token="open sesame")
    outer = Starlette(routes=[Mount("/rv", made)])

    async def asked(path: str, **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(outer)
        async with httpx.AsyncClient(transport=transport, base_url="http://any.example") as web:
            return await web.get(path, headers=headers)

    import asyncio

    token = {"authorization": "Bearer open sesame"}
    assert asyncio.run(asked("/rv/views/totals", **token)).json()["total"] == 2
    assert asyncio.run(asked("/rv/views/totals")).status_code == 401
    assert asyncio.run(asked("/rv/health")).status_code == 200
    made.close()


def test_readers_see_committed_states_alone_while_one_writes(web: httpx.Client) -> None:
    # Each batch moves one unit of price from one order to another: the sum is always the same.
    totals: list[str] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            with client(str(web.base_url)) as own:
                while not done.is_set():
                    rows = own.get("/views/totals").json()["rows"]
                    totals.append(str(sum(Decimal(row["total"]) for row in rows)))
        except BaseException as raised:
            failures.append(raised)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for at in range(60):
        changes = [
            {"table": "orders", "op": "update", "rows": [{"id": 1, "price": 10 + at}]},
            {"table": "orders", "op": "update", "rows": [{"id": 3, "price": 7 - at}]},
        ]
        web.post("/transaction", json={"changes": changes}).raise_for_status()
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(totals) > 6
    assert set(totals) == {"22.00"}
