"""Files that are replaced: what may be, and who may read them before and afterwards."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import ringview as rv
from ringview.atomic_write import NotAFileError, replacing, write
from ringview.errors import StorageError
from ringview.job import JobError
from ringview.job.write import to_file
from ringview.sinks import ParquetSink

if os.name != "posix":
    pytest.skip("modes, pipes and devices as POSIX has them", allow_module_level=True)

ROWS = pa.table({"a": [1, 2]})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def folder(path: Path) -> None:
    path.mkdir()


def to_device(path: Path) -> None:
    path.symlink_to("/dev/null")


def database(path: Path) -> None:
    rv.Database.open(path)


def copy(path: Path) -> None:
    rv.Database().save(path)


def parquet(path: Path) -> None:
    to_file(ROWS, path)


def plain(path: Path) -> None:
    write(path, b"new")


WRITERS = (database, copy, parquet, plain)


@pytest.mark.parametrize("make", [pipe, listener, folder, to_device])
@pytest.mark.parametrize("writes", WRITERS)
def test_what_is_no_file_is_left_as_it_is(
    tmp_path: Path,
    make: Callable[[Path], None],
    writes: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "place"
    make(path)
    before = path.lstat(), path.stat()
    with pytest.raises((StorageError, JobError, NotAFileError), match="no file"):
        writes(path)
    assert (path.lstat().st_ino, path.stat().st_mode) == (before[0].st_ino, before[1].st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["place"]
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_sink_replaces_no_pipe(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path)
    path = sink.path("v", 1)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(StorageError, match="no file"):
        sink("v", 1, ROWS)
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("writes", [parquet, plain])
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o444, 0o666])
def test_a_mode_stays(tmp_path: Path, writes: Callable[[Path], None], bits: int) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(b"old")
    path.chmod(bits)
    writes(path)
    assert path.read_bytes() != b"old"
    assert mode(path) == bits


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from ringview.atomic_write import write\n"
        "for mask in (0o022, 0o077):\n"
        "    os.umask(mask); write(Path(sys.argv[1]) / oct(mask), b'new')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)
    assert mode(tmp_path / oct(0o022)) == 0o644
    assert mode(tmp_path / oct(0o077)) == 0o600


def test_nobody_reads_a_draft_of_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        [draft] = [each for each in tmp_path.iterdir() if each != path]
        assert mode(draft) == 0o600
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")
def test_an_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    write(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid, mode(path)) == (1234, 2345, 0o640)


def test_a_link_stays_and_leads_to_the_file(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_fails_leaves_the_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("file", b"old")]
