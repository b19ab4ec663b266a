"""Databases in files: committed data is there after a crash, damage is reported."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
import ringview as rv
from ringview.errors import (
    DuplicateKeyError,
    InvalidValueError,
    OutOfMemoryError,
    RingviewError,
    SnapshotError,
    StorageError,
    UnsupportedError,
)


def sales(db: rv.Database) -> rv.View:
    db.create_table("sales", {"id": "int64", "shop": "string", "units": "int64"}, unique="id")
    return db.create_view("v", "SELECT shop, SUM(units) AS units FROM sales GROUP BY shop")


def rows(*ids: int) -> pa.Table:
    shops = pa.array([f"shop {i % 2}" for i in ids]).dictionary_encode()
    return pa.table({"id": list(ids), "shop": shops, "units": pa.array(ids, pa.int64())})


@pytest.mark.parametrize("durability", ["transaction", "snapshot"])
def test_everything_that_changes_is_kept(tmp_path: Path, durability: str) -> None:
    path = tmp_path / "db"
    memory = rv.Database()
    kept = rv.Database.open(path, durability=durability)  # type: ignore[arg-type]
    for db in (memory, kept):
        sales(db)
        db.insert("sales", rows(1, 2, 3, 4, 5).slice(1))
        db.upsert("sales", rows(5, 6))
        db.update("sales", {"id": [6], "units": [60]})
        db.apply(
            "sales", {"op": ["D", "I"], "id": [2, 7], "shop": ["", "x"], "units": [0, 7]}, op="op"
        )
        db.delete("sales", {"id": [3]})
        with db.transaction(net=True) as tx:
            tx.delete("sales", rows(8))
            tx.insert("sales", rows(8, 9))
        db.create_table(
            "m", {"i": "int64", "x": "float64", "d": "decimal128(20, 3)", "t": "timestamp[us]"}
        )
        db.create_table("gone", {"a": "int64"})
        db.drop_table("gone")
        db.create_view("gone", "SELECT COUNT(*) AS n FROM m")
        db.drop_view("gone")
        values = {"x": [1.5, None], "d": ["1.250", None], "t": ["2026-01-01T00:00:00", None]}
        typed = pa.table(values).cast(
            pa.schema({"x": pa.float64(), "d": pa.decimal128(20, 3), "t": pa.timestamp("us")})
        )
        db.update_factorised("m", {"a": {"i": [1, 2]}, "b": typed})
        db.create_view(
            "v", "SELECT shop, MAX(units) AS units FROM sales GROUP BY shop", create_or_replace=True
        )
        db.create_sample("s", "SELECT * FROM sales", k=2, seed=3)
    kept.close()
    with rv.Database.open(path) as again:
        assert list(again.tables) == list(memory.tables)
        for name in memory.tables:
            assert again.tables[name].schema == memory.tables[name].schema
            assert again.tables[name].unique == memory.tables[name].unique
            found, asked = again.tables[name].to_arrow(), memory.tables[name].to_arrow()
            assert sorted(map(str, found.to_pylist())) == sorted(map(str, asked.to_pylist()))
        assert sorted(again.views) == sorted(memory.views)
        assert again["v"].sql == memory["v"].sql
        found, asked = again["v"].to_arrow(), memory["v"].to_arrow()
        assert sorted(found.to_pylist(), key=str) == sorted(asked.to_pylist(), key=str)
        assert len(again["s"]) == 2
        with pytest.raises(DuplicateKeyError):
            again.insert("sales", rows(9))


def test_a_snapshot_is_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "db"
    db = rv.Database.open(path, durability="snapshot")
    sales(db)
    db.insert("sales", rows(1), batch_id="first")
    db.snapshot()
    db.insert("sales", rows(2), batch_id="second")
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    db.close()
    for file, ids in ((copy, [1]), (path, [1, 2])):
        with rv.Database.open(file) as again:
            assert sorted(again.tables["sales"].to_arrow()["id"].to_pylist()) == ids
            assert again.is_applied("second") == (2 in ids)


def test_a_copy_is_whole_or_not_there(tmp_path: Path) -> None:
    db = rv.Database()
    sales(db)
    db.insert("sales", rows(1, 2))
    path = tmp_path / "copy"
    for _ in range(2):
        db.save(path)
        assert rv.Database.load(path)["v"].to_arrow().num_rows == 2
        assert os.listdir(tmp_path) == ["copy"]
    with pytest.raises(StorageError, match="cannot write"):
        db.save(tmp_path / "no" / "where")
    with pytest.raises(StorageError, match="is no file, and is left as it is"):
        db.save(tmp_path)
    assert os.listdir(tmp_path) == ["copy"]
    loaded = rv.Database.load(path)
    assert loaded.path is None
    loaded.insert("sales", rows(3))
    assert len(rv.Database.load(path).tables["sales"]) == 2


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot open"):
        rv.Database.load(tmp_path / "nothing")
    with pytest.raises(StorageError, match="is no file, and is left as it is"):
        rv.Database.open(tmp_path)
    # Root may write anywhere, so that there is no path without rights: but none is in these.
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "db", Path("/proc/db"), tmp_path / "no" / "db"):
        with pytest.raises(StorageError, match=r"cannot (open|make)"):
            rv.Database.open(path)
    text = tmp_path / "text"
    text.write_text("a,b\n" * 1000)
    with pytest.raises(SnapshotError, match="no database of ringview"):
        rv.Database.open(text)
    path = tmp_path / "db"
    with pytest.raises(InvalidValueError, match="durability is"):
        rv.Database.open(path, durability="never")  # type: ignore[arg-type]
    with rv.Database.open(path) as db:
        assert db.path == path
        with pytest.raises(StorageError, match="open elsewhere"):
            rv.Database.open(path)
        # The same in a process of its own, which then leaves the file as it is.
        code = """
            import sys
            import ringview as rv
            for open in (rv.Database.open, rv.Database.load):
                try:
                    open(sys.argv[1])
                except rv.errors.StorageError as problem:
                    print(problem)
        """
        assert run(code, path).count("open elsewhere") == 2
        sales(db)
        db.insert("sales", rows(*range(150_000)))
    with pytest.raises(InvalidValueError, match="trust_deletes=false; open it so"):
        rv.Database.open(path, trust_deletes=True)
    with pytest.raises(OutOfMemoryError):
        rv.Database.open(path, memory_limit="1MB")

    def enough(done: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rv.Database.open(path, progress=enough)
    with rv.Database.open(path) as db:
        assert len(db.tables["sales"]) == 150_000
    with pytest.raises(RingviewError, match="closed"):
        db.snapshot()
    with pytest.raises(UnsupportedError, match=r"open\(path\)"):
        rv.Database().snapshot()


@pytest.mark.parametrize("given", [True, 1.5, 2**63, b"x", [1]])
def test_an_identity_is_a_number_or_a_text(given: object) -> None:
    db = rv.Database()
    sales(db)
    with pytest.raises(InvalidValueError, match="batch_id is an integer"):
        db.insert("sales", rows(1), batch_id=given)  # type: ignore[arg-type]
    assert len(db.tables["sales"]) == 0


def test_a_change_that_comes_twice_counts_once(tmp_path: Path) -> None:
    with rv.Database.open(tmp_path / "db") as db:
        sales(db)
        for _ in range(2):
            db.insert("sales", rows(1), batch_id=0)
            db.upsert("sales", rows(2), batch_id=1)
            db.update("sales", {"id": [2], "units": [5]}, batch_id=2)
            db.delete("sales", {"id": [1]}, batch_id=3)
            with db.transaction(batch_id=4) as tx:
                tx.insert("sales", rows(3))
            with db.transaction(batch_id=5):
                pass
        assert sorted(db.tables["sales"].to_arrow()["id"].to_pylist()) == [2, 3]
        with pytest.raises(DuplicateKeyError):
            db.insert("sales", rows(3), batch_id=6)
        assert [db.is_applied(n) for n in range(7)] == [True] * 6 + [False]


def test_threads_are_written_together_and_each_hears_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "db"
    refused: list[int] = []

    def fill(db: rv.Database, thread: int) -> None:
        for number in range(thread * 10, thread * 10 + 10):
            db.insert("sales", rows(number), batch_id=number)
            try:
                # Every thread has the first row once; one of them is the first.
                db.insert("sales", rows(1_000))
            except DuplicateKeyError:
                refused.append(thread)

    with rv.Database.open(path) as db:
        sales(db)
        threads = [threading.Thread(target=fill, args=(db, thread)) for thread in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 59
    with rv.Database.open(path) as db:
        assert sorted(db.tables["sales"].to_arrow()["id"].to_pylist()) == [*range(60), 1_000]
        assert db["v"].to_arrow()["units"].to_pylist() == [900 - 30 + 1_000, 900]
        assert all(db.is_applied(number) for number in range(60))


def test_where_rows_are_not_kept_a_snapshot_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with rv.Database.open(path, trust_deletes=True, compact_at=None) as db:
        db.create_table("s", {"id": "int64", "name": "string"}, static=True)
        db.create_table("r", {"id": "int64", "x": "float64"})
        db.insert("s", {"id": [1, 2], "name": ["one", "two"]})
        db.create_view("v", "SELECT name, SUM(x) AS x FROM r JOIN s ON r.id = s.id GROUP BY name")
        for _ in range(20):
            some = {"id": [1] * 20_000, "x": [0.1] * 20_000}
            db.insert("r", some)
            db.delete("r", some)
        db.insert("r", {"id": [2, 2], "x": [0.25, 0.5]}, batch_id="last")
        size = path.stat().st_size
        db.snapshot()
        assert path.stat().st_size * 4 < size
        db.insert("r", {"id": [1], "x": [1.0]})
    with rv.Database.open(path, trust_deletes=True) as db:
        assert db["v"].to_arrow().sort_by("name").to_pylist() == [
            {"name": "one", "x": 1.0},
            {"name": "two", "x": 0.75},
        ]
        assert db.is_applied("last")
        db.delete("r", {"id": [3], "x": [0.5]})
        with pytest.raises(UnsupportedError, match="no file of its changes tells them"):
            db.save(tmp_path / "copy")
        db.snapshot()


@pytest.mark.parametrize("durability", ["transaction", "snapshot"])
def test_a_sample_goes_on_where_it_was(tmp_path: Path, durability: Literal["transaction"]) -> None:
    path = tmp_path / "db"
    model = rv.Database()

    def define(db: rv.Database) -> None:
        db.create_table("e", {"a": "int64", "b": "string"})
        db.create_table("f", {"b": "string", "c": "int64"})
        db.create_sample("s", "SELECT a, c FROM e JOIN f ON e.b = f.b", k=10, seed=3)

    def held(db: rv.Database) -> list[tuple[int, int]]:
        return sorted((row["a"], row["c"]) for row in db["s"].to_arrow().to_pylist())

    def fill(db: rv.Database, first: int) -> None:
        names = [f"name {n % 5}" for n in range(40)]
        numbers = list(range(first, first + 40))
        db.insert("e", {"a": numbers, "b": names})
        db.insert("f", {"b": names, "c": numbers})

    define(model)
    fill(model, 0)
    with rv.Database.open(path, durability=durability) as db:
        define(db)
        fill(db, 0)
        assert held(db) == held(model)
    before, seen = held(model), set()
    for round_ in range(1, 6):
        with rv.Database.open(path, durability=durability) as db:
            assert held(db) == before
            fill(db, 40 * round_)
            before = held(db)
            assert len(before) == 10
            seen.update(before)
            if round_ == 3:
                db.snapshot()
    assert len(seen) > 10
    assert max(a for a, _ in seen) >= 200


def test_a_file_of_version_1_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "db"
    kept = Path(__file__).parent / "data" / "version-1.ringview.xz"
    path.write_bytes(lzma.decompress(kept.read_bytes()))
    for read in (rv.Database.open, rv.Database.load):
        with pytest.raises(SnapshotError, match=r"an earlier version .* write its tables out"):
            read(path)


def run(code: str, *arguments: object) -> str:
    """Output of a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        import ringview as rv
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        path = sys.argv[1]
        db = rv.Database.open(path)
        db.create_table("r", {"a": "int64"})
        view = db.create_view("v", "SELECT COUNT(*) AS n, SUM(a) AS a FROM r")
        db.insert("r", {"a": [1, 2]})
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, hard))
        for attempt in range(2):
            try:
                db.insert("r", {"a": range(1_000_000)})
            except rv.errors.StorageError as problem:
                print(problem)
        print(list(view))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        db.close()
        with rv.Database.open(path) as db:
            print(list(db["v"]))
            db.insert("r", {"a": [3]})
            print(list(db["v"]))
    """
    first, second, *states = run(code, tmp_path / "db").splitlines()
    assert "cannot write" in first
    assert "too large" in first
    assert "too large" in second
    assert states == [str([{"n": n, "a": a}]) for n, a in ((2, 3), (2, 3), (3, 6))]


def test_a_fork_leaves_the_file_alone(tmp_path: Path) -> None:
    code = """
        import os, sys
        import ringview as rv
        db = rv.Database.open(sys.argv[1])
        db.create_table("r", {"a": "int64"})
        child = os.fork()
        if not child:
            try:
                db.insert("r", {"a": [1]})
            except rv.errors.StorageError as problem:
                print(problem, flush=True)
            assert len(db.tables["r"]) == 0
            sys.exit()
        os.waitpid(child, 0)
        db.insert("r", {"a": [2]})
        db.close()
        with rv.Database.open(sys.argv[1]) as db:
            print(db.tables["r"].to_arrow().to_pylist())
    """
    problem, found = run(code, tmp_path / "db").splitlines()
    assert "is a fork of the one that opened it" in problem
    assert found == "[{'a': 2}]"


def test_what_the_last_transaction_moved_is_told_again(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with rv.Database.open(path) as db:
        sales(db)
        db.insert("sales", rows(1, 2))
        db["v"].changes()
        db.insert("sales", rows(3))
        moved = db["v"].changes().to_pylist()
    with rv.Database.open(path, tell_last=True) as db:
        assert sorted(map(str, db["v"].changes().to_pylist())) == sorted(map(str, moved))
        db.insert("sales", rows(4))
        assert len(db["v"].changes()) == 2
    with rv.Database.open(path) as db:
        assert len(db["v"].changes()) == 2


def test_a_deep_order_is_read_again(tmp_path: Path) -> None:
    names = [f"c{at}" for at in range(100)]
    order: dict[str, Any] = {}
    for name in reversed(names):
        order = {name: order}
    with rv.Database.open(tmp_path / "file") as db:
        db.create_table("r", dict.fromkeys(names, "int64"))
        sql = f"SELECT {', '.join(names)}, COUNT(*) AS n FROM r GROUP BY ALL"
        db.create_view("v", sql, order=order)
        db.insert("r", [dict.fromkeys(names, 1)])
    with rv.Database.open(tmp_path / "file") as db:
        assert db["v"].to_arrow()["n"].to_pylist() == [1]
