"""Jobs and files that are served: fed while they are read, opened again, and ended by a signal."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import ringview as rv
from ringview.job import JobError, ServeSpec, load, parse
from ringview.serve.connectors import Connector
from ringview.serve.service import Service
from serving import PATIENCE, Reader, client, rows_of
from typer.testing import CliRunner

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch_stream" / "job.toml"
JOB = '''
[serve]
file = "shop.ringview"
port = 0

[[table]]
name = "customers"
path = "customers.csv"
static = true

[[table]]
name = "orders"
schema = {id = "int64 not null", customer = "int64", price = "int64"}
unique = "id"

[[source]]
kind = "folder"
path = "in/*.csv"
table = "orders"
every = 0.01

[[view]]
name = "totals"
sql = """
    SELECT c.name, SUM(o.price) AS total
    FROM orders o, customers c WHERE o.customer = c.id GROUP BY c.name
"""

[[sink]]
kind = "sqlite"
view = "totals"
path = "out.sqlite"
key = "name"
every = 0.01
'''


def wait(until: Callable[[], bool]) -> None:
    """Until something holds, for so long as a busy machine may take."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "customers.csv").write_text("id,name\n1,Ada\n2,Grace\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("id,customer,price\n1,1,10\n2,2,5\n")
    return tmp_path


def totals(web: httpx.Client) -> dict[str, int]:
    return {row["name"]: row["total"] for row in web.get("/views/totals").json()["rows"]}


def test_what_sources_bring_is_served_and_sent(folder: Path) -> None:
    with Service.job(load(folder / "job.toml")) as service, client(service.server.url) as web:
        wait(lambda: totals(web) == {"Ada": 10, "Grace": 5})
        wait(lambda: web.get("/ready").status_code == 200)
        (folder / "in" / ".2.csv").write_text("id,customer,price\n3,1,7\n")
        (folder / "in" / ".2.csv").rename(folder / "in" / "2.csv")
        wait(lambda: totals(web) == {"Ada": 17, "Grace": 5})

        def sent() -> bool:
            with sqlite3.connect(folder / "out.sqlite") as con:
                try:
                    return con.execute("SELECT * FROM totals ORDER BY name").fetchall() == [
                        ("Ada", 17),
                        ("Grace", 5),
                    ]
                except sqlite3.OperationalError:
                    return False

        wait(sent)
        text = web.get("/metrics").text
        assert re.search(r'ringview_feed_rows_total\{kind="source",name="folder .*"\} 3.0', text)
        assert 'ringview_feed_up{kind="sink",name="sqlite out.sqlite"} 1.0' in text
        assert re.search(r"ringview_source_parts\{source=\"folder .*\"\} 2.0", text)
        assert "ringview_source_position{" in text
    with pytest.raises(rv.RingviewError):
        len(service.db.tables)


def test_it_goes_on_where_it_was(folder: Path) -> None:
    for step in range(3):
        (folder / "in" / f"{step + 2}.csv").write_text(f"id,customer,price\n{step + 10},1,1\n")
        with Service.job(load(folder / "job.toml")) as service, client(service.server.url) as web:
            wanted = {"Ada": 11 + step, "Grace": 5}
            wait(lambda web=web, wanted=wanted: totals(web) == wanted)  # type: ignore[misc]


def test_files_and_views_that_changed(folder: Path) -> None:
    with Service.job(load(folder / "job.toml")):
        pass
    text = JOB.replace("SUM(o.price) AS total", "SUM(o.price + 1) AS total")
    with Service.job(parse(text, folder / "job.toml")) as service:
        assert "price + 1" in service.db["totals"].sql
    text = JOB.replace('price = "int64"', 'price = "float64"')
    with pytest.raises(JobError, match="other columns"):
        Service.job(parse(text, folder / "job.toml"))
    (folder / "customers.csv").write_text("id,name\n1,Ada\n2,Grace\n3,Alan\n")
    with pytest.raises(JobError, match="job's static files"):
        Service.job(load(folder / "job.toml"))
    # Nothing holds the file after that.
    rv.Database.open(folder / "shop.ringview").close()


def test_a_source_that_fails_is_tried_again(folder: Path) -> None:
    bad = folder / "in" / "2.csv"
    bad.write_text("id,customer,price\n3,1,dear\n")
    failed = list[str]()
    with (
        Service.job(load(folder / "job.toml"), lambda _, why: failed.append(str(why))) as service,
        client(service.server.url) as web,
    ):
        wait(lambda: web.get("/ready").status_code == 503 and bool(failed))
        assert 'row 0: column "price"' in failed[0]
        assert "dear" in str(web.get("/ready").json()["failing"])
        assert totals(web) == {"Ada": 10, "Grace": 5}
        bad.write_text("id,customer,price\n3,1,9\n")
        wait(lambda: web.get("/ready").status_code == 200)
        wait(lambda: totals(web) == {"Ada": 19, "Grace": 5})


def test_a_feed_ends_while_it_waits_to_try_again() -> None:
    class Never:
        batches = rows = 0
        finished = False
        tried = threading.Event()

        def step(self) -> bool:
            self.tried.set()
            raise OSError("no")

        def close(self) -> None:
            pass

    connector = Connector("source", "never", Never)
    connector.start()
    assert Never.tried.wait(PATIENCE)
    assert connector.end(PATIENCE)
    assert connector.problem == "OSError: no"


def test_the_stream_of_the_example_comes_by_its_pace() -> None:
    job = load(EXAMPLE)
    spec = replace(job.serve, port=0, pace=100_000.0)
    with Service.job(replace(job, serve=spec)) as service:
        url = service.server.url
        reader = Reader(url, "q5")
        with client(url) as web:
            wait(lambda: web.get("/ready").status_code == 200)
        reader.read_to(rows_of(url, "q5"))
        assert len(service.db.tables["lineitem"]) == 1230
    done = rv.job.run(job)
    assert len(done.views[2].result) == len(reader.rows)


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`ringview serve` in a process of its own, and its address."""
    command = [sys.executable, "-m", "ringview", "serve", *arguments]
    made = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        assert made.stderr is not None
        line = made.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + made.stderr.read()
        yield made, found.group()
    finally:
        made.kill()
        made.wait()


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.long)],
)
def test_a_signal_ends_streams_and_closes_the_file(
    tmp_path: Path, number: int, status: int
) -> None:
    path = tmp_path / "shop.ringview"
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64"})
        db.create_view("v", "SELECT SUM(a) AS s FROM r")
    with process(str(path), "--port", "0", "--writable") as (running, url), client(url) as web:
        web.post("/tables/r", json=[{"a": 3}]).raise_for_status()
        reader = Reader(url, "v").read(events=1)
        thread = threading.Thread(target=reader.read)
        reader.connected.clear()
        thread.start()
        assert reader.connected.wait(PATIENCE)
        running.send_signal(number)
        assert running.wait(PATIENCE) == status
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()
    with rv.Database.open(path) as db:
        assert db["v"].scalar() == 3


def test_wrong_command_lines(tmp_path: Path) -> None:
    from ringview.cli.commands import app

    (tmp_path / "job.toml").write_text("[serve]\nprot = 1\n")
    rv.Database.open(tmp_path / "r.ringview").close()
    for arguments, words in [
        ([str(tmp_path / "job.toml")], 'did you mean "port"'),
        ([str(tmp_path / "none.ringview")], "there is no file"),
        ([str(tmp_path / "r.ringview"), "--host", "0.0.0.0"], "needs a token"),
    ]:
        done = CliRunner().invoke(app, ["serve", *arguments])
        assert done.exit_code == 1
        assert words in done.output


def test_a_file_is_served_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.ringview"
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64"})
    with Service.file(path, ServeSpec(port=0)) as service, client(service.server.url) as web:
        assert web.get("/status").json()["file"]["path"] == "r.ringview"
        assert web.get("/tables/r").json()["total"] == 0
    with pytest.raises(rv.errors.InvalidValueError, match="token"):
        Service.file(path, ServeSpec(host="0.0.0.0", port=0))
    rv.Database.open(path).close()


@pytest.mark.parametrize("said", ['engine = "spark"', "trust_deletes = true"])
def test_what_keeps_no_rows_is_not_served(folder: Path, said: str) -> None:
    table = '[[table]]\nname = "customers"\npath = "customers.csv"\n'
    view = '[[view]]\nname = "v"\nsql = "SELECT COUNT(*) AS n FROM customers"\n'
    job = parse(f"{said}\n{table}{view}[serve]\nport = 0\n", folder / "job.toml")
    with pytest.raises(JobError, match="keeps no rows"):
        Service.job(job)
