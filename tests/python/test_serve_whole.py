"""From an empty folder: tables of PostgreSQL, fifteen lines of a job, psql and a browser.

Either server is killed in the midst of changes, and what is shown is exact afterwards.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from browsers import browser, texts
from postgres_server import Server as Postgres
from test_serve_job import fifteen_lines
from test_serve_service import process, wait

pytestmark = pytest.mark.long
FRESH = """SELECT name, SUM(price)::TEXT FROM orders JOIN customers c ON customer = c.id
    GROUP BY name ORDER BY name"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def by_psql(port: int) -> list[list[str]]:
    """Output of psql for the view; nothing while it cannot connect."""
    query = "SELECT name, total FROM totals ORDER BY name"
    command = ["psql", "-X", "-At", "-h", "127.0.0.1", "-p", str(port), "-U", "me", "-c", query]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.split("|") for line in done.stdout.splitlines()]


def by_browser(page: Any) -> list[list[str]]:
    """Cells of the view on the page."""
    cells = [text.replace(",", "") for text in texts(page, "#rows td")]
    return sorted(cells[at : at + 2] for at in range(0, len(cells), 2))


class Shop:
    """Orders that change in PostgreSQL."""

    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.number = 100
        self.run(
            "CREATE TABLE customers (id BIGINT PRIMARY KEY, name TEXT)",
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, price NUMERIC(12, 2))",
            "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Mary')",
            "INSERT INTO orders VALUES (1, 1, 9.5), (2, 2, 1), (3, 3, 7)",
        )

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.server.address, autocommit=True) as session:
            for statement in statements:
                done = session.execute(statement)  # type: ignore[arg-type, unused-ignore]
            return done.fetchall() if done.description else []

    def change(self, times: int) -> None:
        for _ in range(times):
            self.number += 1
            of = 1 + self.number % 3
            self.run(
                f"INSERT INTO orders VALUES ({self.number}, {of}, {self.number})",
                f"UPDATE orders SET price = price + 0.25 WHERE customer = {of}",
                f"DELETE FROM orders WHERE id = {self.number - 7}",
            )

    def fresh(self) -> list[list[str]]:
        return [[str(value) for value in row] for row in self.run(FRESH)]


def test_what_psql_and_a_browser_show_is_exact_through_kills(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    port = free_port()
    with Postgres() as server, browser() as page:
        shop = Shop(server)
        job = tmp_path / "job.toml"
        text = fifteen_lines().replace("dbname=shop", server.address)
        serve = f'[serve]\nport = 0\npostgres = {port}\nfile = "shop.ringview"\n'
        job.write_text(text + serve)
        for life in range(4):
            with process(str(job)) as (running, url):

                def is_shown(page: Any = page) -> bool:
                    wanted = shop.fresh()
                    return by_psql(port) == wanted and by_browser(page) == wanted

                page.get(f"{url}/#totals")
                wait(is_shown)
                if life == 1:
                    # PostgreSQL crashes; the source tries again until it is back.
                    server.stop("immediate")
                    server.start()
                shop.change(3)
                wait(is_shown)
                # Killed while rows are inserted.
                changes = threading.Thread(target=shop.change, args=[10])
                changes.start()
                running.kill()
                running.wait()
                changes.join()
