"""Files as sources: each row of each file once, if files are added, grow, break or readers die."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import ringview as rv
import source_driver
from amounts import some
from ringview import errors, sources

Row = dict[str, Any]


def write(path: Path, rows: list[Row]) -> None:
    """As whoever writes such files should: under another name first."""
    draft = path.with_name(f"_{path.name}")
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), draft)
    elif path.suffix == ".csv":
        pc.write_csv(pa.Table.from_pylist(rows), draft)
    else:
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        draft.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    draft.rename(path)


def bag() -> rv.Database:
    db = rv.Database()
    db.create_table("r", {"id": "int64", "name": "string", "price": "decimal128(12, 2)"})
    return db


def held(db: rv.Database, table: str = "r") -> Counter[str]:
    return Counter(str(row) for row in db.tables[table].to_arrow().to_pylist())


def drawn_rows(draw: random.Random, count: int) -> list[Row]:
    return [
        {
            "id": draw.randrange(9),
            "name": draw.choice(["a", "", 'b "c"', "d,e", "f\ng", None]),
            "price": f"{draw.randrange(-999, 999) / 100:.2f}",
        }
        for _ in range(count)
    ]


def wanted(rows: list[Row]) -> Counter[str]:
    con = duckdb.connect(config={"threads": 1})
    types = pa.schema([("id", pa.int64()), ("name", pa.string()), ("price", pa.string())])
    con.register("given", pa.Table.from_pylist(rows, types))
    found = con.sql("SELECT id, name, CAST(price AS DECIMAL(12, 2)) AS price FROM given")
    return Counter(str(row) for row in found.to_arrow_table().to_pylist())


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".ndjson.gz"])
@pytest.mark.parametrize("size", some([7, 1, 1000]))
def test_files_that_come_are_read_once(tmp_path: Path, suffix: str, size: int) -> None:
    draw = random.Random(size)
    db, everything = bag(), list[Row]()
    given = sources.folder(tmp_path / f"*{suffix}", table="r", watch=True, rows=size)
    reader = sources.Reader(db, [given])
    for at in range(6):
        # Later names do not arrive later.
        if draw.random() < 0.7:
            rows = drawn_rows(draw, draw.randrange(1, 40))
            write(tmp_path / f"{draw.randrange(10)}-{at}{suffix}", rows)
            everything += rows
        if draw.random() < 0.3:
            reader.close()
        while reader.step():
            pass
        assert held(db) == wanted(everything)
    assert not reader.finished
    assert reader.rows == len(everything)


def test_files_come_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    for at, name in enumerate("cab"):
        write(tmp_path / f"{name}.jsonl", [{"id": 1, "x": name}])
        os.utime(tmp_path / f"{name}.jsonl", ns=(at * 10**9, at * 10**9))
    for order, last in (("name", "c"), ("mtime", "b")):
        db = rv.Database()
        db.create_table("r", {"id": "int64", "x": "string"}, unique=["id"])
        given = sources.folder(
            tmp_path / "*.jsonl",
            table="r",
            how="upsert",
            order=order,  # type: ignore[arg-type]
        )
        sources.run(db, [given])
        assert db.tables["r"].to_arrow()["x"].to_pylist() == [last]


def test_patterns_reach_below_and_leave_out_what_is_hidden(tmp_path: Path) -> None:
    for place in ("a/1.csv", "a/b/2.csv", "a/_draft.csv", "a/.3.csv", "_temporary/4.csv", "5.txt"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"id,name,price\n{len(place)},{path.name},1\n")
    db = bag()
    sources.run(db, [sources.folder(tmp_path / "**" / "*.csv", table="r")])
    assert sorted(db.tables["r"].to_arrow()["name"].to_pylist()) == ["1.csv", "2.csv"]
    parts = db.tables["ringview_positions"].to_arrow()["part"].to_pylist()
    assert sorted(parts) == ["a/1.csv", "a/b/2.csv"]
    draft = sources.folder(tmp_path / "a" / "_draft.csv", table="r", name="by name")
    assert sources.run(db, [draft]).rows == 1


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_a_file_that_changes_after_it_was_read_is_an_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    row = {"id": 1, "name": "a", "price": "1"}
    write(path, [row])
    db = bag()
    given = sources.folder(tmp_path / f"*{suffix}", table="r")
    sources.run(db, [given])
    before = path.stat()
    write(path, [row, row])
    with pytest.raises(errors.InvalidValueError, match=r"a\.\w+ was changed after 1 of its rows"):
        sources.run(db, [given])
    write(path, [row])
    os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert sources.run(db, [given]).rows == 0
    assert held(db).total() == 1


def test_a_file_that_grows_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, [{"id": at} for at in range(10)])
    db = rv.Database()
    db.create_table("r", {"id": "int64"})
    given = sources.folder(path, table="r", rows=4)
    reader = sources.Reader(db, [given])
    assert reader.step()
    with path.open("a") as file:
        file.write('{"id": 10}\n')
    with pytest.raises(errors.InvalidValueError, match="was changed after"):
        reader.run()
    with pytest.raises(errors.InvalidValueError, match="was changed after 8 of its rows"):
        reader.step()
    assert len(db.tables["r"]) == 8


def test_a_file_without_bytes_waits_and_one_without_rows_is_read(tmp_path: Path) -> None:
    db = bag()
    names = ["a.csv", "b.parquet", "c.jsonl"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "d.csv").write_text("id,name,price\n")
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), tmp_path / "e.parquet")
    (tmp_path / "f.jsonl").write_text("\n\n")
    given = sources.folder(tmp_path / "*", table="r")
    assert repr(sources.run(db, [given])) == "Reader(batches=3, rows=0, rejected=0)"
    for name in names:
        write(tmp_path / name, [{"id": 1, "name": name, "price": "1"}])
    assert sources.run(db, [given]).rows == 3


@pytest.mark.parametrize(
    ("name", "text", "error", "why"),
    [
        ("a.csv", b"id,price\n1,1\n", errors.UnknownColumnError, 'a.csv has no column "name"'),
        ("a.csv", b"id,name,price,z\n1,,1,\n", errors.UnknownColumnError, r"ignore=\['z'\]"),
        ("a.csv", b"id,id,name,price\n1,1,,1\n", errors.InvalidValueError, 'two columns "id"'),
        ("a.csv", b"id,name,price\n1,a\n", errors.InvalidValueError, "row 0: 2 fields, not 3"),
        (
            "a.csv",
            b"id,name,price\n1,a,x\n",
            errors.InvalidValueError,
            "row 0: column \"price\": 'x'",
        ),
        ("a.csv", b"id,name,price\n1,\xff,1\n", errors.InvalidValueError, "a.csv is not csv"),
        ("a.jsonl", b'{"id": 1}\n{"id"\n', errors.InvalidValueError, "line 2: it is no JSON"),
        ("a.jsonl", b"\n[1]\n", errors.InvalidValueError, "line 2: it is no JSON object"),
        ("a.jsonl", b'{"id": "\xff"}\n', errors.InvalidValueError, "line 1: it is no UTF-8"),
        ("a.jsonl", b'{"idd": 1}\n', errors.UnknownColumnError, 'did you mean "id"'),
        ("a.parquet", b"PAR1", errors.InvalidValueError, "a.parquet is not parquet"),
        ("a.txt", b"x", errors.InvalidValueError, "does not say its format"),
    ],
)
def test_a_file_that_is_not_as_it_should_be(
    tmp_path: Path, name: str, text: bytes, error: type[Exception], why: str
) -> None:
    (tmp_path / name).write_bytes(text)
    db = bag()
    with pytest.raises(error, match=why):
        sources.run(db, [sources.folder(tmp_path / "*", table="r")])
    assert len(db.tables["r"]) == len(db.tables["ringview_positions"]) == 0


def test_a_column_of_a_type_that_never_fits_names_file_and_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [True], "name": ["a"], "price": ["1"]}), tmp_path / "a.parquet")
    with pytest.raises(
        errors.TypeMismatchError, match=r"a\.parquet: column \"id\" holds values of"
    ):
        sources.run(bag(), [sources.folder(tmp_path / "*", table="r")], dead_letters="rejected")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_poison_goes_to_the_dead_letters_once(tmp_path: Path, suffix: str, size: int) -> None:
    """With a restart after every batch, wherever the poison is."""
    good, bad, places = 0, 0, list[str]()
    lines = [] if suffix == ".jsonl" else ["id,name,price"]
    draw = random.Random(size)
    for at in range(25):
        is_bad = draw.random() < 0.4
        good, bad = good + (not is_bad), bad + is_bad
        if suffix == ".csv":
            bads = [f"{at},a", f"{at},a,1,2", f"{at},a,x"]
            lines.append(draw.choice(bads) if is_bad else f"{at},a,1.50")
        else:
            fit = json.dumps({"id": at, "name": "a", "price": 1.5})
            lines.append(draw.choice(["{", "1", '{"id": "x"}']) if is_bad else fit)
        if is_bad:
            number = f"row {at}" if suffix == ".csv" else f"line {at + 1}"
            places.append(f"{tmp_path}/a{suffix}, {number}")
    (tmp_path / f"a{suffix}").write_text("\n".join(lines))
    db = bag()
    given = sources.folder(tmp_path / "*", table="r", rows=size)
    while True:
        reader = sources.Reader(db, [given], dead_letters="rejected")
        if not reader.step():
            break
        reader.close()
    assert len(db.tables["r"]) == good
    assert sorted(db.tables["rejected"].to_arrow()["place"].to_pylist()) == sorted(places)


def test_feeds_and_multiplicities_come_from_columns(tmp_path: Path) -> None:
    db = rv.Database()
    db.create_table("k", {"id": "int64 not null", "x": "int64 not null"}, unique=["id"])
    db.create_table("b", {"x": "int64"})
    feed: list[Row] = [{"op": "c", "id": 1, "x": 1}, {"op": "c", "id": 2, "x": 2}]
    write(tmp_path / "k-1.jsonl", [*feed, {"op": "u", "id": 1, "x": 5}, {"op": "d", "id": 2}])
    write(tmp_path / "b-1.csv", [{"x": 1, "n": 3}, {"x": 1, "n": -1}, {"x": 2, "n": 1}])
    given = [
        sources.folder(tmp_path / "k-*", table="k", op="op"),
        sources.folder(tmp_path / "b-*", table="b", multiplicity="n"),
    ]
    sources.run(db, given)
    assert held(db, "k") == Counter(["{'id': 1, 'x': 5}"])
    assert held(db, "b") == Counter({"{'x': 1}": 2, "{'x': 2}": 1})
    write(tmp_path / "k-2.jsonl", [{"id": 1, "x": 5}])
    gone = sources.folder(tmp_path / "k-2.jsonl", table="k", how="delete", name="deletes")
    sources.run(db, [gone])
    assert len(db.tables["k"]) == 0


@pytest.mark.parametrize(
    "beside",
    [
        {"format": "xml"},
        {"order": "size"},
        {"rows": 0},
        {"how": "merge"},
        {"how": "apply"},
        {"op": "op", "how": "upsert"},
        {"op": "op", "multiplicity": "n"},
        {"how": "upsert", "multiplicity": "n"},
    ],
)
def test_options_that_are_none(beside: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidValueError):
        sources.folder("*.csv", table="r", **beside)


def killed(folder: Path, draw: random.Random) -> bool:
    """Let a process read the folder and kill it; returns whether it reached the end before."""
    command = [sys.executable, source_driver.__file__, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(draw.randrange(1, 30))]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().splitlines()
    return any(line.startswith("end") for line in lines)


def through_kills(folder: Path, seed: int, most: int, files: int) -> int:
    draw = random.Random(seed)
    (folder / "in").mkdir()
    everything = []
    for at in range(files):
        rows = drawn_rows(draw, draw.randrange(1, 60))
        everything += rows
        write(folder / "in" / f"{at:03}{draw.choice(['.csv', '.jsonl', '.parquet'])}", rows)
    kills = 0
    while kills < most and not killed(folder, draw):
        kills += 1
    # The state that the last kill left.
    with rv.Database.open(folder / "db") as db:
        source_driver.read(db, folder)
        assert held(db) == wanted(everything)
        assert list(db["v"]) == [{"n": len(everything)}]
    return kills


def test_after_kills_each_row_is_there_once(tmp_path: Path) -> None:
    assert through_kills(tmp_path, seed=1, most=5, files=12) >= 1


@pytest.mark.long
def test_after_100_kills_each_row_is_there_once(tmp_path: Path) -> None:
    assert through_kills(tmp_path, seed=2, most=100, files=300) > 20


def test_csv_as_others_write_it(tmp_path: Path) -> None:
    text = "a;b\n1;'x;y'\n2;NULL\n3;\n4;'NULL'\n5;é\n"
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    db = rv.Database()
    table = db.create_table("r", {"a": "int64", "b": "string"})
    given = sources.folder(
        tmp_path / "*.csv", table="r", delimiter=";", quote="'", encoding="latin-1", nulls=["NULL"]
    )
    sources.run(db, [given])
    assert table.to_arrow().sort_by("a")["b"].to_pylist() == ["x;y", None, "", "NULL", "é"]
    options: list[dict[str, Any]] = [{"delimiter": ";;"}, {"quote": "ab"}, {"encoding": "no such"}]
    for wrong in options:
        with pytest.raises(errors.InvalidValueError, match=f"{next(iter(wrong))}="):
            sources.folder("x.csv", table="r", **wrong)


def test_a_pattern_without_a_file_is_an_error(tmp_path: Path) -> None:
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    with pytest.raises(errors.InvalidValueError, match="no file is named by"):
        sources.run(db, [sources.folder(tmp_path / "*.csv", table="r")])
    waits = sources.Reader(db, [sources.folder(tmp_path / "*.csv", table="r", watch=True)])
    assert not waits.step()
