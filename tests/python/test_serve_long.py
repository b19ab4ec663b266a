"""Servers that are killed, a table of PostgreSQL that is served, and the page in a browser."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import ringview as rv
from browsers import browser, texts
from postgres_server import Server as Postgres
from ringview import serve
from ringview.job import parse
from ringview.serve.service import Service
from serving import PATIENCE, Reader, client, rows_of, shop
from test_serve_job import fifteen_lines
from test_serve_service import process, wait

pytestmark = pytest.mark.long
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "live.png"


def test_a_server_that_is_killed_in_the_midst_of_a_stream(tmp_path: Path) -> None:
    # Writer and reader are independent, and both resume where they were.
    path, chance = tmp_path / "shop.ringview", random.Random(1)
    with rv.Database.open(path) as db:
        shop(db)
    applied = 0
    reader: Reader | None = None
    for _ in range(8):
        with process(str(path), "--port", "0", "--writable") as (running, url):
            again = Reader(url, "totals", follower="mail")
            if reader is not None:
                again.last, again.rows, again.snapshots = reader.last, reader.rows, reader.snapshots
            reader = again
            thread = threading.Thread(target=_until_killed, args=[reader])
            thread.start()
            end = threading.Timer(chance.uniform(0.3, 1.5), running.send_signal, [signal.SIGKILL])
            end.start()
            try:
                with client(url) as web:
                    while True:
                        number = applied
                        rows = [{"id": 1000 + number, "customer": 1 + number % 2, "price": 1}]
                        done = web.post(f"/tables/orders?batch_id=b{number}", json=rows)
                        done.raise_for_status()
                        applied += 1
            except httpx.HTTPError:
                pass
            end.join()
            running.wait()
            thread.join(PATIENCE)
            assert not thread.is_alive()
        with rv.Database.open(path) as db:
            # Acknowledged orders are there; unacknowledged ones may be.
            found = len(db.tables["orders"]) - 3
            assert applied <= found <= applied + 1
    assert applied > 50
    assert reader is not None
    with process(str(path), "--port", "0", "--writable") as (_, url):
        last = Reader(url, "totals", follower="mail")
        last.last, last.rows, last.snapshots = reader.last, reader.rows, reader.snapshots
        with client(url) as web:
            web.post("/tables/orders", json=[{"id": 1, "customer": 1, "price": 0}])
            web.post("/tables/orders", json=[{"id": 99999, "customer": 1, "price": 1}])
        wanted = rows_of(url, "totals")
        last.read_to(wanted)
        total = sum(float(json.loads(row)["total"]) for row in last.rows)
        with client(url) as web:
            orders = web.get("/tables/orders").json()["rows"]
        assert total == sum(float(row["price"]) for row in orders)


def _until_killed(reader: Reader) -> None:
    try:
        while True:
            reader.read()
    except (httpx.HTTPError, AssertionError):
        return


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("psycopg")
    with Postgres() as server:
        yield server


def test_fifteen_lines_serve_a_join_of_tables_of_postgres(
    postgres: Postgres, tmp_path: Path
) -> None:
    import psycopg

    with psycopg.connect(postgres.address, autocommit=True) as con:
        con.execute("CREATE TABLE customers (id BIGINT PRIMARY KEY, name TEXT)")
        con.execute(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, price NUMERIC(12, 2))"
        )
        con.execute("INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace')")
        con.execute("INSERT INTO orders VALUES (1, 1, 9.5), (2, 2, 1)")
        text = fifteen_lines().replace("dbname=shop", postgres.address)
        text += '[serve]\nport = 0\nfile = "shop.ringview"\n'
        text += '[[sink]]\nkind = "postgres"\nview = "totals"\nkey = "name"\nevery = 0.05\n'
        text += f'table = "sent"\nconnection = "{postgres.address}"\n'
        for life in range(2):
            with (
                Service.job(parse(text, tmp_path / "job.toml")) as service,
                client(service.server.url) as web,
            ):

                def is_fresh(con: Any = con, web: httpx.Client = web) -> bool:
                    rows = con.execute(
                        "SELECT name, SUM(price)::text FROM orders o JOIN customers c "
                        "ON customer = c.id GROUP BY name"
                    ).fetchall()
                    found = web.get("/views/totals").json()["rows"]
                    return Counter(map(tuple, rows)) == Counter(
                        (row["name"], row["total"]) for row in found
                    )

                wait(is_fresh)
                con.execute("INSERT INTO orders VALUES (%s, 1, 3)", [10 + life])
                con.execute("UPDATE orders SET price = price + 1 WHERE id = 2")
                wait(is_fresh)
                con.execute("DELETE FROM orders WHERE id = %s", [10 + life])
                wait(is_fresh)
                assert web.get("/ready").status_code == 200

                def is_sent(con: Any = con, web: httpx.Client = web) -> bool:
                    rows = con.execute("SELECT name, total::text FROM sent").fetchall()
                    found = web.get("/views/totals").json()["rows"]
                    return sorted(rows) == sorted((row["name"], row["total"]) for row in found)

                wait(is_sent)
                assert not [
                    connector.problem for connector in service.connectors if connector.problem
                ]
            con.execute("INSERT INTO orders VALUES (%s, 2, 4)", [20 + life])


@pytest.fixture
def page() -> Iterator[Any]:
    with browser() as made:
        yield made


def test_the_page_shows_a_number_that_moves(page: Any) -> None:
    with rv.Database() as db, serve.Server(shop(db), port=0) as server:
        page.get(f"{server.url}/#totals")
        wait(lambda: texts(page, "#rows td") == ["Ada", "15.00", "Grace", "7.00"])
        assert texts(page, "#state") == ["live"]
        db.insert("orders", [(9, 2, 1000)])
        wait(lambda: texts(page, "#rows td") == ["Ada", "15.00", "Grace", "1,007.00"])
        assert texts(page, "td.flash") == ["1,007.00"]
        wait(lambda: "Grace" in "".join(texts(page, "#chart text")))
        wait(lambda: any("o[" in text for text in texts(page, "#tree text")))
        db.delete("customers", [(2, "Grace")])
        wait(lambda: texts(page, "#rows td") == ["Ada", "15.00"])
        # One whose rows may be equal, and one that is created while the page is open.
        page.execute_script("location.hash = 'pairs'")
        wait(lambda: texts(page, "#rows td") == ["Ada", "10.00", "Ada", "5.00"])
        db.create_view("late", "SELECT COUNT(*) AS n FROM orders")
        wait(lambda: "late" in texts(page, "#views .what"))
        assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


def test_the_page_asks_for_a_token(page: Any) -> None:
    with rv.Database() as db, serve.Server(shop(db), port=0, token="open sesame") as server:
        page.get(f"{server.url}/#totals")
        wait(lambda: bool(page.execute_script("return document.getElementById('ask').open")))
        page.execute_script(
            "document.getElementById('token').value = 'open sesame';"
            "document.querySelector('#ask button').click()"
        )
        wait(lambda: texts(page, "#rows td") == ["Ada", "15.00", "Grace", "7.00"])


def test_the_page_comes_back_when_the_server_does(page: Any) -> None:
    with rv.Database() as db:
        with serve.Server(shop(db), port=0) as server:
            page.get(f"{server.url}/#totals")
            wait(lambda: texts(page, "#state") == ["live"])
            port = int(server.url.rpartition(":")[2])
        wait(lambda: texts(page, "#state") == ["reconnecting"])
        db.insert("orders", [(9, 1, 1)])
        with serve.Server(db, port=port):
            wait(lambda: texts(page, "#rows td") == ["Ada", "16.00", "Grace", "7.00"])


def test_the_picture_of_the_page(page: Any, tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "tpch_stream" / "job.toml"
    with process(str(example), "--port", "0") as (_, url):
        page.get(f"{url}/#q5")
        wait(lambda: len(texts(page, "#rows tbody tr")) >= 3)
        time.sleep(3)
        picture = tmp_path / "live.png"
        assert page.save_screenshot(str(picture))
    assert 10_000 < picture.stat().st_size < 200_000
    if os.environ.get("RINGVIEW_PICTURES"):
        PICTURE.parent.mkdir(exist_ok=True)
        shutil.copy(picture, PICTURE)
    assert PICTURE.exists()


def test_the_wheel_has_the_page() -> None:
    from ringview.serve.application import STATIC

    whole = {path.name for path in STATIC.iterdir()}
    assert {"index.html", "page.css", "page.js", "icon.svg"} <= whole
    root = Path(__file__).parents[2]
    maturin = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["maturin"]
    packed = {path.name for each in maturin["include"] for path in root.glob(each)}
    assert whole <= packed
