"""Passwords and tokens: in no error, no repr, no figure, no log."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import ringview as rv
import ringview.job
from ringview import serve, sinks, sources
from ringview.job.serving import ServeSpec
from ringview.masking import masked, masking
from ringview.serve.connectors import Connector
from ringview.serve.postgres import PostgresServer
from ringview.serve.sockets import Opening
from serving import client

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"postgresql://u:{SECRET}@[bad/x", "postgresql://u:***@[bad/x"),
        (f"postgresql+psycopg://u:{SECRET}@h:1/x?a=b", "postgresql+psycopg://u:***@h:1/x?a=b"),
        (f"postgresql://:{SECRET}@h", "postgresql://:***@h"),
        (f"postgresql://u:a@{SECRET}@h/x", "postgresql://u:***@h/x"),
        (f"host=h password={SECRET} port=1", "host=h password=*** port=1"),
        (f"host=h password = 'a \\' {SECRET}' port=1", "host=h password = *** port=1"),
        (
            f"postgresql://h/x?user=u&password={SECRET}&a=b",
            "postgresql://h/x?user=u&password=***&a=b",
        ),
        (f"{{'sasl.password': '{SECRET}', 'a': 1}}", "{'sasl.password': ***, 'a': 1}"),
        (f'{{"aws_secret_access_key": "{SECRET}"}}', '{"aws_secret_access_key": ***}'),
        (f"SSLPassword={SECRET}", "SSLPassword=***"),
    ],
)
def test_a_password_is_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        *("", "no password", "syntax error: token: x", "http://h:80/a@b", "mail ada@h", "a = b"),
        'source "orders": connection refused at "127.0.0.1", port 5432',
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert masked(text) == text


def test_an_error_keeps_its_class() -> None:
    with pytest.raises(ConnectionError, match=r"^password=\*\*\* is wrong$") as raised, masking():
        raise ConnectionError(f"password={SECRET} is wrong")
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    with pytest.raises(KeyError, match="plain"), masking():
        raise KeyError("plain")
    # One that is made of more than a text.
    with pytest.raises(RuntimeError, match=r"UnicodeDecodeError: .*password=\*\*\*"), masking():
        raise UnicodeDecodeError("utf-8", b"a", 0, 1, f"password={SECRET}")


CONNECTIONS = [
    f"postgresql://u:{SECRET}@[bad/x",
    f"postgresql://u:{SECRET}@127.0.0.1:1/x",
    f"postgresql://u:{SECRET}@127.0.0.1:none/x",
    f"host=127.0.0.1 port=1 user=u password={SECRET} dbname=x",
    f"host=127.0.0.1 prt=1 password={SECRET}",
    f"nothing://u:{SECRET}@127.0.0.1:1/x",
]


def _sink(connection: str) -> object:
    made = sinks.postgres(connection, "t")
    assert SECRET not in repr(made)
    made.begin("o", ["v"], True)
    return made


def _source(connection: str) -> object:
    made = sources.postgres(connection, {"t": "t"})
    assert SECRET not in repr(made)
    return next(iter(made.batches({})))


def _query(connection: str) -> object:
    made = sources.query(connection, "SELECT 1 AS a", table="t")
    assert SECRET not in repr(made)
    return next(iter(made.batches({})))


@pytest.mark.parametrize("make", [_sink, _source, _query])
@pytest.mark.parametrize("connection", CONNECTIONS)
def test_no_source_and_no_sink_tells_it(
    make: Callable[[str], object], connection: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    problems: list[Exception] = []

    class Fails:
        batches = rows = 0
        finished = False

        def step(self) -> bool:
            make(connection)
            return True

        def close(self) -> None:
            pass

    connector = Connector(
        "source", "s", Fails, every=1, failed=lambda _, problem: problems.append(problem)
    )
    connector.request_stop()
    assert connector.step()
    assert connector.problem is not None
    assert SECRET not in connector.problem + repr(connector) + caplog.text
    [problem] = problems
    said = "".join(traceback.TracebackException.from_exception(problem).format())
    assert SECRET not in str(problem) + said


def test_a_job_shows_no_token(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        f"""
        [serve]
        token = "{SECRET}"
        [[table]]
        name = "t"
        path = "t.csv"
        [[view]]
        name = "v"
        sql = "SELECT a FROM t"
        [[source]]
        kind = "postgres"
        connection = "password={SECRET}"
        tables = {{ t = "t" }}
        """
    )
    (tmp_path / "t.csv").write_text("a\n1\n")
    job = ringview.job.load(tmp_path / "job.toml")
    opening = Opening("127.0.0.1", 1, SECRET, False, 1, 1)
    for made in (job, job.serve, ServeSpec(token=SECRET), opening):
        assert SECRET not in repr(made)


def test_a_server_tells_no_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with rv.Database() as db, serve.Server(db, port=0, token=SECRET, ports={"postgres": 0}) as web:
        asked: dict[str, Any] = {"headers": {"authorization": f"Bearer {SECRET}"}}
        with client(web.url) as made:
            found: list[httpx.Response] = [
                made.get("/status"),
                made.get("/status", headers={"authorization": f"Bearer {SECRET}x"}),
                *(made.get(path, **asked) for path in ("/status", "/metrics", "/ready", "/nope")),
                made.post("/sql", content="SELECT x", **asked),
            ]
        shown = "".join(each.text + str(each.headers) for each in found)
        shown += repr(web) + repr(web.app) + repr(web.app._guard) + repr(web.listeners)
    assert SECRET not in shown + caplog.text


def test_no_list_of_processes_and_no_log_has_it(tmp_path: Path) -> None:
    """The command names files alone, so that neither its arguments nor its environment have it."""
    token, job = tmp_path / "token", tmp_path / "job.toml"
    token.write_text(SECRET)
    token.chmod(0o600)
    job.write_text(
        '[[table]]\nname = "t"\nschema = {a = "int64"}\n'
        '[[view]]\nname = "v"\nsql = "SELECT a FROM t"\n[serve]\nport = 0\npostgres = 0\n'
    )
    command = [
        sys.executable,
        "-u",
        "-m",
        "ringview",
        "serve",
        str(job),
        "--token-file",
        str(token),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[0]
            with client(url, headers={"authorization": f"Bearer {SECRET}"}) as made:
                assert made.get("/views").status_code == 200
                assert made.get("/views", headers={"authorization": "no"}).status_code == 401
            folder = Path("/proc") / str(server.pid)
            if folder.exists():
                shown = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
                assert SECRET.encode() not in shown
        finally:
            server.send_signal(signal.SIGINT)
        assert SECRET not in server.stdout.read()


def test_postgres_tells_no_password(caplog: pytest.LogCaptureFixture) -> None:
    psycopg = pytest.importorskip("psycopg")
    caplog.set_level(logging.DEBUG)
    with rv.Database() as db, PostgresServer(db, port=0, password=SECRET) as server:
        host, port = server.address
        said: dict[str, Any] = {"host": host, "port": port, "user": "me"}
        with pytest.raises(psycopg.OperationalError) as raised:
            psycopg.connect(**said, password=f"{SECRET}x")
        with psycopg.connect(**said, password=SECRET, autocommit=True) as session:
            rows = session.execute("SELECT * FROM pg_catalog.pg_settings").fetchall()
        shown = f"{raised.value}{rows}{server!r}{server._native!r}{vars(server)}"
    assert SECRET not in shown + caplog.text
