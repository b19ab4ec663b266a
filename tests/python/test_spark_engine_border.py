"""The border of the server of engines: another user of the machine is on the other side."""

from __future__ import annotations

import contextlib
import os
import pickle
import pwd
import random
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", minversion="4.1")
if not hasattr(socket, "AF_UNIX") or not hasattr(socket, "SO_PEERCRED"):
    pytest.skip("looks at the other end of sockets as Linux does", allow_module_level=True)

from ringview.errors import OverDeleteError, UnknownViewError
from ringview.spark.streaming.partitioned import address as addresses
from ringview.spark.streaming.partitioned import private
from ringview.spark.streaming.partitioned.address import Address
from ringview.spark.streaming.partitioned.client import Engines
from ringview.spark.streaming.partitioned.codec import CodecError, decode, encode, registered
from ringview.spark.streaming.partitioned.requests import Look, Raised, Take
from ringview.spark.streaming.partitioned.segments import Meta, Segments, Span, Taken
from ringview.spark.streaming.partitioned.setting import Report, Setting, StreamEngines
from ringview.spark.streaming.partitioned.store import PartitionBatch
from ringview.spark.streaming.plan import Plan, TablePlan
from served_bags import Bags


class Impostor:
    """A process in the place of a server of engines, which answers with the same bytes."""

    def __init__(self, answer: bytes = b"") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ringview-")) / "server"
        self.folder.mkdir(mode=0o700)
        self.secret = b"s" * 32
        private.write(self.folder / addresses.SECRET, self.secret)
        self.heard: list[bytes] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / addresses.SOCKET))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                made, _ = self._listener.accept()
                with contextlib.suppress(OSError, EOFError):
                    connection = Connection(made.detach())
                    deliver_challenge(connection, self.secret)
                    answer_challenge(connection, self.secret)
                    self.heard.append(connection.recv_bytes())
                    connection.send_bytes(self._answer)

    def close(self) -> None:
        self._listener.close()
        shutil.rmtree(self.folder.parent)


@pytest.fixture
def impostor() -> Iterator[Impostor]:
    made = Impostor()
    yield made
    made.close()


def reached(folder: Path) -> bool:
    """Whether a worker would speak to who listens in a folder."""
    made = Address(0, "", folder).connect()
    if made is not None:
        made.close()
    return made is not None


def test_a_folder_that_others_can_enter_is_not_believed(impostor: Impostor) -> None:
    assert reached(impostor.folder)
    for mode in (0o755, 0o770, 0o701):
        impostor.folder.chmod(mode)
        assert not reached(impostor.folder)
    impostor.folder.chmod(0o700)
    link = impostor.folder.parent / "link"
    link.symlink_to(impostor.folder)
    assert not reached(link)
    assert not impostor.heard


def test_a_secret_that_others_can_read_is_not_believed(impostor: Impostor) -> None:
    secret = impostor.folder / addresses.SECRET
    for mode in (0o644, 0o660, 0o602):
        secret.chmod(mode)
        assert not reached(impostor.folder)
    secret.unlink()
    other = impostor.folder / "other"
    private.write(other, impostor.secret)
    secret.symlink_to(other)
    assert not reached(impostor.folder)
    secret.unlink()
    os.mkfifo(secret, 0o600)
    assert not reached(impostor.folder)
    assert not impostor.heard


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
@pytest.mark.parametrize("what", ["folder", "secret"])
def test_what_belongs_to_another_user_is_not_believed(impostor: Impostor, what: str) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    path = impostor.folder if what == "folder" else impostor.folder / addresses.SECRET
    os.chown(path, nobody, -1)
    assert not reached(impostor.folder)
    # A worker has its engines itself then.
    bags = Bags(str(impostor.folder), os.getpid())
    engines = Engines(Address(0, "", impostor.folder))
    assert engines.look(bags, 0, "", "process") is None
    assert not impostor.heard


def test_another_user_at_the_end_of_a_socket_is_not_spoken_to(
    impostor: Impostor, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = socket.socketpair(socket.AF_UNIX)
    with one, two:
        assert private.peer_user(one) == os.geteuid()
        private.check_peer(one)
        monkeypatch.setattr(private, "peer_user", lambda of: os.geteuid() + 1)
        with pytest.raises(PermissionError):
            private.check_peer(one)
    assert not reached(impostor.folder)


class Bomb:
    """A pickle that does something when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_an_answer_runs_no_code(tmp_path: Path) -> None:
    """Not even that of who has the secret."""
    impostor = Impostor(pickle.dumps(Bomb(tmp_path / "bang")))
    engines = Engines(Address(0, "", impostor.folder))
    bags = Bags(str(tmp_path), os.getpid())
    assert engines.look(bags, 0, "", "process") is None
    assert impostor.heard
    assert not (tmp_path / "bang").exists()
    request: Look = decode(impostor.heard[0])
    assert decode(request.served) == bags
    impostor.close()


def test_a_server_writes_no_secret_over_what_is_there(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "target").write_text("mine")
    (tmp_path / "secret").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="exists"):
        private.write(tmp_path / "secret", b"secret")
    assert (tmp_path / "target").read_text() == "mine"
    private.write(tmp_path / "new", b"secret")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600
    assert private.read(tmp_path / "new") == b"secret"


def setting() -> Setting:
    columns = pa.schema(
        [pa.field("k", pa.int64(), nullable=False), ("d", pa.decimal128(9, 2)), ("t", pa.string())]
    )
    tables = (
        TablePlan("r", columns, ("k",), "upserts", False, pa.timestamp("us"), ("t", "1 day")),
        TablePlan("s", columns, None, "rows", True, None, None, ("t", 5)),
    )
    parameters = (None, True, 1, 0.5, "a", Decimal("1.50"), date(2020, 1, 2), datetime(2020, 1, 2))
    plan = Plan(tables, {"v": "SELECT 1"}, parameters, "spark")
    names = frozenset({"r", "v"})
    return Setting(plan, "name", {7: 0, 9: 1}, names, frozenset(), is_first=True, memory_limit=1)


def values() -> list[object]:
    meta = Meta("t", True, 3, Span(1, 2), Span(end=5))
    report = Report({"rows.r": 2}, {"v": [b"a", b""]}, {}, [b"c"])
    return [
        StreamEngines(setting(), True, frozenset({"v"})),
        Take(encode(setting()), PartitionBatch(3, meta, 4, [b"x", b"y" * 70_000])),
        Taken(meta, (), [b"s"], False, report),
        Segments([b"r"], [(1, 2, b"l")], True),
        [],
        None,
        (),
        {"a": {1: (2.5, [])}},
    ]


@pytest.mark.parametrize("value", values(), ids=lambda value: type(value).__name__)
def test_what_is_sent_arrives(value: object) -> None:
    found = decode(encode(value))
    assert (type(found), found) == (type(value), value)
    if isinstance(found, StreamEngines):
        made = found.setting.plan
        assert made.described() == setting().plan.described()
        assert made.tables[0].columns.equals(setting().plan.tables[0].columns, True)
        assert [type(each) for each in made.parameters or ()] == [
            type(each) for each in setting().plan.parameters or ()
        ]


def test_errors_are_those_of_a_list() -> None:
    for error in (
        OverDeleteError("no"),
        UnknownViewError("v", "w"),
        KeyError("k"),
        OSError(2, "n"),
    ):
        found = decode(encode(Raised.of(error))).error()
        assert (type(found), str(found)) == (type(error), str(error))
    lock = OverDeleteError("no")
    lock.row = threading.Lock()  # type: ignore[attr-defined]
    assert repr(Raised.of(lock).error()) == "RuntimeError('OverDeleteError: no')"
    for name in ("print", "object", "__import__", "did_you_mean", "nowhere"):
        with pytest.raises(CodecError, match="is no error"):
            Raised(name, ("a",), {}, "").error()


def test_what_is_not_registered_is_neither_sent_nor_read() -> None:
    for value in (object(), {1, 2}, Path("a"), threading.Lock(), print, PermissionError("a")):
        with pytest.raises(CodecError, match="cannot be sent"):
            encode([value])
    with pytest.raises(TypeError, match="is not a dataclass"):
        registered(Path)
    sent = encode(Meta("t"))
    with pytest.raises(CodecError, match="cannot be read"):
        decode(sent.replace(b'"Meta"', b'"Path"'))


def test_bytes_that_are_no_message_are_refused() -> None:
    """Mutations of messages are read as values, or refused, and nothing else happens."""
    draw = random.Random(51)
    messages = [encode(value) for value in values()]
    for _ in range(5000):
        data = bytearray(draw.choice(messages))
        for _ in range(draw.randrange(1, 6)):
            data[draw.randrange(min(len(data), 2000))] = draw.randrange(256)
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        with contextlib.suppress(CodecError):
            decode(bytes(data))
    for other in (b"", b"rve1", pickle.dumps(1), b"rve1\xff\xff\xff\xff", b"[" * 100_000):
        with pytest.raises(CodecError):
            decode(other)
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(CodecError):
        decode(b"rve1" + len(deep).to_bytes(4, "big") + deep)
