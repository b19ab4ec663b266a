"""Files of databases as files: copies over them, links, full disks, room that is given back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import ringview as rv
from ringview.errors import InvalidValueError, OutOfMemoryError, StorageError


def fill(path: Path | str) -> rv.Database:
    db = rv.Database.open(path)
    db.create_table("r", {"a": "int64"})
    db.create_view("n", "SELECT COUNT(*) AS n FROM r")
    db.insert("r", {"a": [1, 2, 3]})
    return db


def count(path: Path | str) -> object:
    with rv.Database.open(path) as db:
        return db["n"].scalar()


def named(folder: Path, path: Path, how: str) -> Path | str:
    """Another name of the file at `path`."""
    other = folder / "other"
    if how == "symbolic link":
        other.symlink_to(path)
        return other
    if how == "link over link":
        (folder / "first").symlink_to(path)
        other.symlink_to(folder / "first")
        return other
    if how == "hard link":
        other.hardlink_to(path)
        return other
    return os.path.relpath(path) if how == "relative" else path


NAMES = ["same", "relative", "symbolic link", "link over link", "hard link"]


@pytest.mark.parametrize("how", NAMES)
@pytest.mark.parametrize("durability", ["transaction", "snapshot"])
def test_a_copy_over_the_own_file_is_refused(tmp_path: Path, how: str, durability: str) -> None:
    path = tmp_path / "db"
    fill(path).close()
    db = rv.Database.open(path, durability=durability)  # type: ignore[arg-type]
    before = sorted(os.listdir(tmp_path))
    target = named(tmp_path, path, how)
    with pytest.raises(StorageError, match=r"file of this database.* snapshot\(\)"):
        db.save(target)
    assert set(os.listdir(tmp_path)) <= {*before, "other", "first"}
    db.insert("r", {"a": [4]}, batch_id="x")
    db.snapshot()  # As the message says.
    db.save(tmp_path / "another path")
    db.close()
    assert count(path) == 4
    assert count(tmp_path / "another path") == 4


@pytest.mark.parametrize("how", NAMES)
@pytest.mark.parametrize("of_memory", [True, False])
def test_a_copy_over_an_open_file_is_refused(tmp_path: Path, how: str, of_memory: bool) -> None:
    path = tmp_path / "db"
    theirs = fill(path)
    ours = rv.Database() if of_memory else rv.Database.open(tmp_path / "ours")
    ours.create_table("r", {"a": "int64"})
    with pytest.raises(StorageError, match="open elsewhere"):
        ours.save(named(tmp_path, path, how))
    theirs.insert("r", {"a": [4]})
    theirs.close()
    assert count(path) == 4
    ours.save(path)
    with rv.Database.open(path) as db:
        assert not list(db.views)


def test_a_copy_over_a_file_of_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "db"
    fill(path).close()
    program = f"""
        import ringview as rv
        db = rv.Database.open({str(path)!r})
        print("open", flush=True)
        input()
        db.insert("r", {{"a": [4]}})
    """
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        db = rv.Database()
        with pytest.raises(StorageError, match="open elsewhere"):
            db.save(path)
        process.communicate("\n")
        assert process.returncode == 0
    assert count(path) == 4


def test_a_copy_goes_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "copy")
    db = fill(tmp_path / "db")
    for _ in range(2):
        db.save(link)
        assert link.is_symlink()
        assert count(tmp_path / "there" / "copy") == 3
    db.close()
    other = tmp_path / "other"
    other.symlink_to(tmp_path / "there" / "made")
    fill(other).close()
    assert other.is_symlink()
    assert count(tmp_path / "there" / "made") == 3


def test_what_is_not_copied_leaves_nothing(tmp_path: Path) -> None:
    db = rv.Database(trust_deletes=True)
    db.create_table("r", {"a": "int64"})
    with pytest.raises(rv.errors.UnsupportedError):
        db.save(tmp_path / "copy")
    assert not os.listdir(tmp_path)


FULL = """
    import os, resource, signal, sys
    import ringview as rv
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path, durability = sys.argv[1:]
    db = rv.Database.open(path, durability=durability)
    db.create_table("r", {"a": "int64"})
    db.create_view("n", "SELECT COUNT(*) AS n FROM r")
    db.snapshot()
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path), most))
    there = 0
    try:
        while there < 2_000_000:
            db.insert("r", {"a": range(there, there + 20_000)})
            there += 20_000
        db.snapshot()
    except rv.errors.StorageError:
        pass
    else:
        raise SystemExit("the disk is not full")
    assert db["n"].scalar() == there
    if durability == "snapshot":
        for _ in range(2):
            try:
                db.close()
            except rv.errors.StorageError:
                pass
            else:
                raise SystemExit("closed")
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    db.close()
    db.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    db = rv.Database.open(path)
    assert db["n"].scalar() == there, (db["n"].scalar(), there)
    db.insert("r", {"a": [1]})
    db.close()
    with rv.Database.open(path) as db:
        assert db["n"].scalar() == there + 1
    print("well")
"""


@pytest.mark.parametrize("durability", ["transaction", "snapshot"])
def test_after_a_full_disk_the_file_is_let_go(tmp_path: Path, durability: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path / "db"), durability]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("well\n", "")


ROOM = """
    import os, resource, signal, sys
    import ringview as rv
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    db = rv.Database.open(sys.argv[1])
    db.create_table("r", {"a": "int64"})
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(sys.argv[1]), most))
    there = 0
    try:
        while there < 2_000_000:
            db.insert("r", {"a": range(there, there + 20_000)})
            there += 20_000
    except rv.errors.StorageError:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    db.insert("r", {"a": range(there, there + 20_000)})
    db.close()
    with rv.Database.open(sys.argv[1]) as db:
        assert len(db.tables["r"]) == there + 20_000
    print("well")
"""


def test_once_there_is_room_changes_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(ROOM), str(tmp_path / "db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("well\n", "")


def churn(db: rv.Database, rows: int, times: int) -> None:
    """Deletes and inserts as many rows as are there, a number of times."""
    half = rows // 2
    for number in range(2 * times):
        start = number % 2 * half
        ids = range(start, start + half)
        db.upsert("r", {"id": ids, "a": [number * i for i in ids]})


@pytest.mark.parametrize("trust_deletes", [False, True])
def test_a_file_is_as_long_as_its_rows_ask(tmp_path: Path, trust_deletes: bool) -> None:
    sizes = []
    for name, compact_at in (("bounded", 2.0), ("unbounded", None)):
        path = tmp_path / name
        with rv.Database.open(path, compact_at=compact_at, trust_deletes=trust_deletes) as db:
            db.create_table("r", {"id": "int64", "a": "int64"}, unique="id")
            db.create_view("v", "SELECT SUM(a) AS a FROM r")
            if trust_deletes:
                for number in range(100):
                    rows = {"id": range(5_000), "a": [number] * 5_000}
                    db.insert("r", rows)
                    db.delete("r", rows)
                db.insert("r", rows)
            else:
                churn(db, 20_000, 20)
            status, result = db.status(), db["v"].scalar()
            assert status is not None
            assert status.path == path
            assert status.file_bytes == path.stat().st_size
            assert status.problem is None
            assert (status.last_snapshot is not None) == (compact_at is not None)
            sizes.append(status)
            killed = path.with_suffix(".killed")
            killed.write_bytes(path.read_bytes())
        for file in (path, killed):
            with rv.Database.open(file, trust_deletes=trust_deletes) as db:
                assert db["v"].scalar() == result
    bounded, unbounded = sizes
    assert bounded.log_bytes <= 2 * max(bounded.snapshot_bytes, 1 << 20)
    assert unbounded.log_bytes > 4 * bounded.log_bytes
    assert bounded.file_bytes < unbounded.file_bytes / 2


def test_a_killed_process_leaves_a_log_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = rv.Database.open(path, compact_at=None)
    db.create_table("r", {"id": "int64", "a": "int64"}, unique="id")
    churn(db, 20_000, 10)
    status = db.status()
    killed = tmp_path / "killed"
    killed.write_bytes(path.read_bytes())
    db.close()
    with rv.Database.open(killed) as again:
        found = again.status()
        assert found is not None
        assert status is not None
        assert (found.log_bytes, found.snapshot_bytes) == (status.log_bytes, 0)
        again.upsert("r", {"id": [0], "a": [0]})
        found = again.status()
        assert found is not None
        assert found.log_bytes < status.log_bytes / 100
        assert found.file_bytes < status.file_bytes / 2


def test_the_pages_of_a_file_are_within_the_limit(tmp_path: Path) -> None:
    with rv.Database.open(tmp_path / "db", memory_limit="4MB") as db:
        status = db.status()
        assert status is not None
        assert status.cache_bytes == db.memory_usage()["file"] == 500_000
        db.create_table("r", {"a": "int64", "b": "int64"})
        there = 0
        with pytest.raises(OutOfMemoryError):
            while True:
                db.insert("r", {"a": range(there, there + 5_000), "b": [there] * 5_000})
                there += 5_000
        assert sum(db.memory_usage().values()) - db.memory_usage()["buffers"] <= 4_000_000
        assert len(db.tables["r"]) == there
    assert rv.Database().status() is None
    with rv.Database.open(tmp_path / "db") as db:
        status = db.status()
        assert status is not None
        assert status.cache_bytes == 16 << 20
    assert "file" not in rv.Database.load(tmp_path / "db").memory_usage()


@pytest.mark.parametrize("compact_at", [0, -1, float("nan"), float("inf")])
def test_a_ratio_that_is_none_is_refused(tmp_path: Path, compact_at: float) -> None:
    with pytest.raises(InvalidValueError, match="compact_at"):
        rv.Database.open(tmp_path / "db", compact_at=compact_at)


def test_unasked_writing_keeps_what_readers_are_told(tmp_path: Path) -> None:
    """The last transaction is reported again although the file was rewritten before it."""
    path = tmp_path / "db"
    db = rv.Database.open(path)
    db.create_table("r", {"id": "int64", "a": "int64"}, unique="id")
    view = db.create_view("v", "SELECT SUM(a) AS a FROM r")
    follower, had = view.follow("mail"), 0
    for number in range(60):
        db.upsert("r", {"id": range(5_000), "a": [number] * 5_000})
        if number % 20 == 7:
            had += sum(row["a"] * row["multiplicity"] for row in follower.changes().to_pylist())
            follower.commit()
    status = db.status()
    assert status is not None
    assert status.last_snapshot is not None
    killed = tmp_path / "killed"
    killed.write_bytes(path.read_bytes())
    db.close()
    with rv.Database.open(killed, tell_last=True) as again:
        told = again["v"].changes().to_pylist()
        assert sorted((row["a"], row["multiplicity"]) for row in told) == [
            (58 * 5_000, -1),
            (59 * 5_000, 1),
        ]
        rest = again["v"].follow("mail")
        while (batch := rest.changes()).num_rows:
            had += sum(row["a"] * row["multiplicity"] for row in batch.to_pylist())
        assert had == 59 * 5_000


@pytest.mark.parametrize("ended", ["closed", "killed"])
def test_a_file_stays_as_it_is_when_it_is_loaded(tmp_path: Path, ended: str) -> None:
    path = tmp_path / "db"
    program = f"""
        import os, signal, ringview as rv
        db = rv.Database.open({str(path)!r})
        db.create_table("r", {{"a": "int64"}})
        db.create_view("n", "SELECT COUNT(*) AS n FROM r")
        for first in range(0, 300_000, 10_000):
            db.insert("r", {{"a": list(range(first, first + 10_000))}})
        if {ended == "killed"}:
            os.kill(os.getpid(), signal.SIGKILL)
        db.close()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == (0 if ended == "closed" else -signal.SIGKILL)
    before, looked = path.read_bytes(), path.stat()
    path.chmod(0o400)
    others: list[object] = []

    def meanwhile(_: int) -> None:
        if not others:
            with pytest.raises(StorageError, match="open elsewhere"):
                rv.Database.open(path)
            others.append(rv.Database.load(path)["n"].scalar())

    loaded = rv.Database.load(path, progress=meanwhile)
    assert loaded["n"].scalar() == 300_000
    assert others == [300_000]
    assert path.read_bytes() == before
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (looked.st_size, looked.st_mtime_ns)
    path.chmod(0o600)
    assert count(path) == 300_000
