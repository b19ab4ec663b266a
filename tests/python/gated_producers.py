"""Producers of Arrow data that run Python code and can be made to wait in it, for ever.

A program of its own imports it: it hears Ctrl-C, and holds a database with an empty table.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq
import ringview as rv


class Gate:
    """Once shut, it blocks every thread for ever; the first one causes a Ctrl-C."""

    def __init__(self) -> None:
        self.shut, self.first = False, threading.Lock()

    def pass_through(self) -> None:
        if self.shut:
            if self.first.acquire(blocking=False):
                threading.Thread(target=press, args=[threading.get_ident()]).start()
            threading.Event().wait()


def press(thread: int) -> None:
    while sys._current_frames()[thread].f_code.co_name != "wait":
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)


class Handler(fs.FileSystemHandler):  # type: ignore[misc]
    """Files read by Python, through a gate."""

    def __init__(self, gate: Gate) -> None:
        self.local, self.gate = fs.LocalFileSystem(), gate

    def open_input_file(self, path: str) -> pa.PythonFile:
        return pa.PythonFile(File(self.gate, path), "r")

    open_input_stream = open_input_file

    def get_type_name(self) -> str:
        return "python"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Any) -> Any:
        return self.local.get_file_info(paths)

    get_file_info_selector = get_file_info

    def refuse(self, *arguments: Any) -> Any:
        raise NotImplementedError

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = refuse


class File:
    def __init__(self, gate: Gate, path: str) -> None:
        self.gate, self.file = gate, open(path, "rb")  # noqa: SIM115

    def read(self, size: int = -1) -> bytes:
        self.gate.pass_through()
        return self.file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


signal.signal(signal.SIGINT, signal.default_int_handler)
path = tempfile.mkdtemp()
table = pa.table({"a": range(20_000)})
pq.write_table(table, path + "/x.parquet", row_group_size=2_000)
with pa.ipc.new_stream(path + "/x.arrow", table.schema) as writer:
    writer.write_table(table, max_chunksize=2_000)
db = rv.Database()
db.create_table("r", {"a": "int64"})

# Each of these makes a function that makes a reader: the scanner reads ahead from then on.
Maker = Callable[[], Any]


def scanner(gate: Gate) -> Maker:
    found = ds.dataset(path + "/x.parquet", filesystem=fs.PyFileSystem(Handler(gate)))
    return lambda: found.scanner().to_reader()


def stream(gate: Gate) -> Maker:
    found = pa.ipc.open_stream(Handler(gate).open_input_file(path + "/x.arrow"))
    return lambda: found


def produced(gate: Gate) -> Maker:
    def produce() -> Iterator[pa.RecordBatch]:
        for batch in table.to_batches(2_000):
            gate.pass_through()
            yield batch

    return lambda: pa.RecordBatchReader.from_batches(table.schema, produce())


def foreign(gate: Gate) -> Maker:
    class Foreign:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return produced(gate)().__arrow_c_stream__()

    return Foreign
