"""Streams and files of Arrow from elsewhere: lies in them, bombs, and mutations by the thousand."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
import ringview as rv
from ringview import serve
from ringview.convert.ipc import read_file, read_stream
from ringview.errors import InvalidValueError
from serving import ARROW, problem, served

HERE = Path(__file__).parent


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def lying(table: pa.Table, was: bytes, said: bytes) -> bytes:
    """A stream in which some bytes say something else."""
    data = stream(table)
    assert data.count(was) == 1
    return data.replace(was, said)


TEXT = "longer than what a view holds"
VIEW = pa.table({"s": pa.array([TEXT], pa.string_view())})
PLAIN = pa.table({"s": pa.array(["abcdefg", "hijklmn"])})
CODED = pa.table({"s": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), ["a", "b"])})
NESTED = pa.table({"l": pa.array([["a", "b"], ["c"]]), "i": [1, 2]})

LIES = {
    # A view: its length, four letters, the number of the buffer, the place in it.
    "view_place": lying(
        VIEW, struct.pack("<4sii", b"long", 0, 0), struct.pack("<4sii", b"long", 0, 9)
    ),
    "view_buffer": lying(
        VIEW, struct.pack("<4sii", b"long", 0, 0), struct.pack("<4sii", b"long", 7, 0)
    ),
    "view_length": lying(
        VIEW, struct.pack("<i4s", 29, b"long"), struct.pack("<i4s", 2**31 - 1, b"long")
    ),
    "view_letters": lying(
        VIEW, struct.pack("<4sii", b"long", 0, 0), struct.pack("<4sii", b"heap", 0, 0)
    ),
    "offset_behind": lying(PLAIN, struct.pack("<iii", 0, 7, 14), struct.pack("<iii", 0, 7, 2**30)),
    "offset_before": lying(PLAIN, struct.pack("<iii", 0, 7, 14), struct.pack("<iii", 0, -7, 14)),
    "offset_back": lying(PLAIN, struct.pack("<iii", 0, 7, 14), struct.pack("<iii", 9, 7, 14)),
    "no_text": lying(PLAIN, b"abcdefg", b"abc\xff\xfe\x80g"),
    "index_behind": lying(CODED, struct.pack("<iii", 0, 1, 0), struct.pack("<iii", 0, 2**20, 0)),
    "index_before": lying(CODED, struct.pack("<iii", 0, 1, 0), struct.pack("<iii", 0, -1, 0)),
    "child_offset": lying(NESTED, struct.pack("<iii", 0, 2, 3), struct.pack("<iii", 0, 2, 2**24)),
    "cut": stream(PLAIN)[:-40],
    "other": b"GET / HTTP/1.1\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("name", LIES)
def test_a_stream_that_lies_is_refused(name: str) -> None:
    for most in (None, 1 << 20):
        with pytest.raises(InvalidValueError, match="stream of Arrow"):
            read_stream(LIES[name], most)


def test_what_is_right_is_read() -> None:
    every = pa.table(
        {
            "i": pa.array([1, None], pa.int8()),
            "s": ["a", None],
            "v": pa.array([TEXT, None], pa.string_view()),
            "d": pa.array(["x", None]).dictionary_encode(),
            "l": [["a"], None],
            "m": [{"a": 1}, None],
            "n": pa.nulls(2),
            "t": pa.array([1, None], pa.timestamp("us", "UTC")),
            "e": pa.array([b"x" * 16, None], pa.uuid()),
        }
    )
    for compression in (None, "lz4", "zstd"):
        data = stream(every, compression)
        for most in (None, 100_000):
            assert read_stream(data, most).equals(every)
        assert read_stream(pa.py_buffer(data)).equals(every)


def test_a_decimal_without_end_is_refused() -> None:
    """A kernel would look its power of ten up far behind a table of them."""
    kind = pa.decimal128(10, 39)
    data = stream(pa.table({"d": pa.array([None], kind)}))
    with pytest.raises(InvalidValueError, match="no type of a column"):
        read_stream(data)


ONE = "x" * 10_000
# Ten thousand views of one text.
VIEWS = pa.Array.from_buffers(
    pa.string_view(),
    10_000,
    [
        None,
        pa.py_buffer(struct.pack("<i4sii", len(ONE), b"xxxx", 0, 0) * 10_000),
        pa.py_buffer(ONE.encode()),
    ],
)
BOMBS = {
    "zstd": stream(pa.table({"i": pa.array([0] * 10**6, pa.int64())}), "zstd"),
    "lz4": stream(pa.table({"i": pa.array([0] * 10**6, pa.int64())}), "lz4"),
    "nulls": stream(pa.table({"n": pa.nulls(654_321)})).replace(
        struct.pack("<q", 654_321), struct.pack("<q", 2**40)
    ),
    "dictionary": stream(
        pa.table({"s": pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int8()), [ONE])})
    ),
    "wide_dictionary": stream(
        pa.table(
            {
                "s": pa.DictionaryArray.from_arrays(
                    pa.array([0] * 10_000, pa.int8()), pa.array([b"x" * 500], pa.binary(500))
                )
            }
        )
    ),
    "views": stream(pa.table({"s": VIEWS})),
    "columns": stream(pa.table({f"c{at}": pa.nulls(10_000) for at in range(200)})),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_stream_of_many_bytes_is_refused(name: str) -> None:
    most = 1_000_000
    assert len(BOMBS[name]) < most
    with pytest.raises(InvalidValueError, match=f"take more than {most} bytes"):
        read_stream(BOMBS[name], most)


def test_types_by_which_one_value_is_many_are_refused() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2**30], pa.int32()), pa.array([ONE]))
    for array in (runs[:5], pa.array([["a"]], pa.list_view(pa.string()))):
        with pytest.raises(InvalidValueError, match="no type of a column"):
            read_stream(stream(pa.table({"a": array})), 10**6)


def test_files_are_validated(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(str(path), PLAIN.schema) as writer:
        writer.write_table(PLAIN)
    assert read_file(path).equals(PLAIN)
    data = path.read_bytes()
    was, said = struct.pack("<iii", 0, 7, 14), struct.pack("<iii", 0, 7, 2**30)
    assert data.count(was) == 1
    path.write_bytes(data.replace(was, said))
    with pytest.raises(InvalidValueError, match="no file of Arrow"):
        read_file(path)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def web() -> Iterator[httpx.Client]:
    with rv.Database() as db:
        db.create_table("r", {"s": "string"})
        limits = serve.Limits(max_body=1_000_000)
        with served(db, writable=True, limits=limits) as made:
            yield made


@pytest.mark.parametrize("name", [*LIES, *BOMBS])
def test_a_server_refuses_it_and_goes_on(web: httpx.Client, name: str) -> None:
    body = LIES.get(name) or BOMBS.get(name) or b""
    found = web.post("/tables/r", content=body, headers={"content-type": ARROW})
    assert problem(found)[:2] == (400, "InvalidValueError")
    assert web.get("/tables/r").json()["total"] == 0


def test_an_empty_stream_of_other_columns_is_refused(web: httpx.Client) -> None:
    for table in (pa.table({"a": pa.array([], pa.string())}), pa.table([["a"], ["b"]], ["s", "s"])):
        found = web.post("/tables/r", content=stream(table), headers={"content-type": ARROW})
        assert problem(found)[:2] == (400, "UnknownColumnError")


def mutations(first: int, count: int) -> None:
    """Some thousands of mutations, in a process that may die."""
    command = [sys.executable, "-X", "faulthandler", "fuzz_ipc.py", str(first), str(count)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, cwd=HERE, check=False
    )
    said = done.stdout.split()
    assert done.returncode == 0, f"seed {said[-1:]}: {done.returncode}\n{done.stderr}"
    assert said[-1] == "done"


def test_mutated_streams_harm_nobody() -> None:
    mutations(0, 4000)


@pytest.mark.long
@pytest.mark.parametrize("first", range(100_000, 500_000, 50_000))
def test_many_mutated_streams_harm_nobody(first: int) -> None:
    mutations(first, 50_000)
