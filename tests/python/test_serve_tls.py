"""TLS of both ports: by files that are read again, wanted of other machines, and secrets' files."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import ringview as rv
import ringview.job
from ringview import errors, serve
from ringview.job.serving import ServeSpec
from ringview.private_files import check_private
from ringview.serve.postgres import PostgresServer
from serving import PATIENCE, client, served, shop
from tls_files import certified, far
from wire_clients import connect

Files = tuple[Path, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return certified(tmp_path)


@pytest.fixture(scope="module")
def db() -> Iterator[rv.Database]:
    with rv.Database() as made:
        yield shop(made)


def name_of(server: serve.Server | PostgresServer) -> bytes:
    """The certificate that a new connection is shown."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if isinstance(server, PostgresServer):
        # A request for TLS.
        with socket.create_connection(server.address, timeout=PATIENCE) as made:
            made.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
            assert made.recv(1) == b"S"
            with context.wrap_socket(made) as talk:
                found = talk.getpeercert(binary_form=True)
    else:
        host, port = server.url.removeprefix("https://").rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), timeout=PATIENCE) as made,
            context.wrap_socket(made) as talk,
        ):
            found = talk.getpeercert(binary_form=True)
    assert found
    return found


def test_http_by_tls(db: rv.Database, files: Files) -> None:
    with serve.Server(db, port=0, certificate=files) as server:
        assert server.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=str(files[0]))
        with httpx.Client(base_url=server.url, verify=trusted, trust_env=False) as web:
            assert web.get("/views").status_code == 200
            assert web.get("/views", headers={"origin": server.url}).status_code == 200
            assert web.get("/views", headers={"host": "rebound.example"}).status_code == 421
            with web.stream("GET", "/views/totals/changes") as answer:
                assert any("snapshot" in line for line in answer.iter_lines())
        with client(server.url.replace("https", "http")) as web, pytest.raises(httpx.HTTPError):
            web.get("/views")


def test_old_protocols_are_not_spoken(db: rv.Database, files: Files) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with serve.Server(db, port=0, certificate=files) as server:
        host, port = server.url.removeprefix("https://").rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), timeout=PATIENCE) as made,
            pytest.raises((ssl.SSLError, ConnectionError)),
        ):
            context.wrap_socket(made)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01"])
def test_a_handshake_that_does_not_end_is_closed(
    db: rv.Database, files: Files, sent: bytes
) -> None:
    limits = serve.Limits(timeout=0.2)
    with serve.Server(db, port=0, certificate=files, limits=limits) as server:
        host, port = server.url.removeprefix("https://").rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as made:
            made.sendall(sent)
            while made.recv(1000):
                pass


@pytest.mark.parametrize("port", ["http", "postgres"])
def test_files_are_read_again(
    db: rv.Database, files: Files, port: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = (
        serve.Server(db, port=0, certificate=files)
        if port == "http"
        else PostgresServer(db, port=0, certificate=files)
    )
    with server:
        first = name_of(server)
        assert name_of(server) == first
        certified(files[0].parent, "other")
        second = name_of(server)
        assert second != first
        assert not caplog.text
        # They fit no longer together: the last ones that did are kept, and the log says it once.
        folder = files[0].parent / "third"
        folder.mkdir()
        chain, key = certified(folder, "third")
        os.replace(chain, files[0])
        assert name_of(server) == name_of(server) == second
        os.replace(key, files[1])
        third = name_of(server)
        assert third not in (first, second)
        files[1].unlink()
        assert name_of(server) == third
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert len(said) == 2
    assert all("changed certificate is not taken" in one for one in said)


@pytest.mark.parametrize("make", [serve.Server, PostgresServer])
def test_files_that_are_no_certificate(
    db: rv.Database, files: Files, make: type[serve.Server] | type[PostgresServer]
) -> None:
    chain, key = files
    other = chain.parent / "other"
    other.mkdir()
    nothing = chain.parent / "nothing"
    nothing.write_text("nothing")
    nothing.chmod(0o600)
    locked = chain.parent / "locked.key"
    command = ["openssl", "pkcs8", "-topk8", "-in", str(key), "-out", str(locked)]
    # Without an answer to its question this server would wait for ever.
    subprocess.run([*command, "-passout", "pass:secret"], check=True, timeout=60)
    locked.chmod(0o600)
    for given in (
        (nothing, key),
        (chain, nothing),
        (chain, chain.parent / "nowhere"),
        (chain.parent / "nowhere", key),
        (chain, certified(other)[1]),
        (chain, locked),
    ):
        with pytest.raises(errors.InvalidValueError):
            make(db, port=0, certificate=given)


def test_a_network_needs_tls(db: rv.Database, files: Files) -> None:
    for make in (
        lambda **options: serve.Server(db, host="0.0.0.0", port=0, token="t", **options),
        lambda **options: PostgresServer(db, host="0.0.0.0", port=0, password="t", **options),
    ):
        with pytest.raises(errors.InvalidValueError, match="certificate"):
            make()
        with pytest.warns(UserWarning, match="without TLS"):
            make(plain=True).close()
        make(certificate=files).close()


def test_clients_of_other_machines_use_tls(db: rv.Database, files: Files) -> None:
    address = far()
    options: dict[str, Any] = {"host": "0.0.0.0", "port": 0, "password": "secret"}
    with PostgresServer(db, certificate=files, **options) as server:
        port = server.address[1]
        one: dict[str, Any] = {"user": "me", "password": "secret", "port": port}
        with psycopg.connect(host=address, sslmode="require", **one) as found:
            assert found.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="by TLS alone"):
            psycopg.connect(host=address, sslmode="disable", **one)
        # Before a password is sent.
        with pytest.raises(psycopg.OperationalError, match="by TLS alone"):
            psycopg.connect(host=address, sslmode="disable", **{**one, "password": "wrong"})
        psycopg.connect(host="127.0.0.1", sslmode="disable", **one).close()
    with pytest.warns(UserWarning, match="TLS"):
        server = PostgresServer(db, plain=True, **options)
    with server:
        psycopg.connect(host=address, **{**one, "port": server.address[1]}).close()


def test_a_job_says_both_files_or_neither(tmp_path: Path, files: Files) -> None:
    text = (
        '[[table]]\nname = "r"\nschema = {a = "int64"}\n'
        '[[view]]\nname = "v"\nsql = "SELECT a FROM r"\n'
        '[serve]\nhost = "0.0.0.0"\ntoken = "t"\n'
    )

    def said(more: str) -> ServeSpec:
        (tmp_path / "job.toml").write_text(text + more)
        return ringview.job.load(tmp_path / "job.toml").serve

    with pytest.raises(ringview.job.JobError, match=r"serve\.host.*TLS"):
        said("")
    with pytest.raises(ringview.job.JobError, match=r"serve\.certificate and serve\.key"):
        said('certificate = "server.crt"\n')
    assert said('certificate = "server.crt"\nkey = "server.key"\n').files() == files
    assert said("plain = true\n").plain


MODES = [
    (0o600, True),
    (0o400, True),
    (0o700, True),
    (0o644, False),
    (0o620, False),
    (0o602, False),
]


@pytest.mark.parametrize(("mode", "private"), MODES)
def test_files_of_secrets_are_private(
    tmp_path: Path, files: Files, mode: int, private: bool, db: rv.Database
) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    for path in (token, files[1]):
        path.chmod(mode)
    if private:
        assert ServeSpec(token_file=token).secret() == "secret"
        serve.Server(db, port=0, certificate=files).close()
        PostgresServer(db, port=0, certificate=files).close()
        return
    with pytest.raises(ringview.job.JobError, match=f"mode is {mode:04o}"):
        ServeSpec(token_file=token).secret()
    for make in (serve.Server, PostgresServer):
        with pytest.raises(errors.InvalidValueError, match=f"mode is {mode:04o}"):
            make(db, port=0, certificate=files)


def test_a_secret_of_another_user_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o640)
    user = os.geteuid()
    real = Path.stat

    def of(owner: int) -> None:
        def found(path: Path) -> os.stat_result:
            fields = list(real(path))
            fields[stat.ST_UID] = owner
            return os.stat_result(fields)

        monkeypatch.setattr(Path, "stat", found)

    of(0)
    check_private(token)
    of(user + 1)
    with pytest.raises(errors.InvalidValueError, match="another user"):
        check_private(token)


def test_headers_without_end_are_refused(db: rv.Database) -> None:
    """They would be gathered until the memory is full."""
    with served(db) as web:
        address = web.base_url.host, web.base_url.port
        assert address[1] is not None
        with socket.create_connection((address[0], address[1]), timeout=PATIENCE) as made:
            made.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
            line = b"X-More: " + b"x" * 10_000 + b"\r\n"
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                for _ in range(10_000):
                    made.sendall(line)
        assert web.get("/health").status_code == 200


def test_postgres_beside_http_has_the_same_certificate(db: rv.Database, files: Files) -> None:
    options: dict[str, Any] = {"certificate": files, "token": "secret", "ports": {"postgres": 0}}
    with serve.Server(db, port=0, **options) as server:
        found = server.listeners["postgres"]
        assert isinstance(found, PostgresServer)
        with connect(found, password="secret", sslmode="require") as made:
            assert made.pgconn.ssl_in_use
        assert name_of(found) == name_of(server)
