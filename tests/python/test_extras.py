"""Programs as they are: libraries that are missing, paths of any kind, threads at the exit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import ringview as rv

ROWS = "db.create_table('r', {'a': 'int64'}); v = db.create_view('v', 'SELECT a FROM r'); "


@pytest.mark.parametrize(
    ("missing", "code", "command"),
    [
        ("pandas", "v.df()", "pip install pandas"),
        ("pandas", "v.to_pandas()", "pip install pandas"),
        ("pandas", "db.tables['r'].to_pandas()", "pip install pandas"),
        ("polars", "v.pl()", "pip install polars"),
        ("polars", "v.to_polars()", "pip install polars"),
        ("starlette", "import ringview.serve", "pip install 'ringview[serve]'"),
        ("numpy", "import ringview.stats", "pip install 'ringview[ml]'"),
        ("sklearn", "import ringview.ml", "pip install 'ringview[ml]'"),
        ("matplotlib", "import ringview.plot", "pip install 'ringview[ml,plot]'"),
        ("pyspark", "import ringview.spark", "pip install 'ringview[spark]'"),
        ("anywidget", "v.live()", "pip install 'ringview[notebook]'"),
        ("confluent_kafka", "rv.sinks.kafka('k:1', 't')", "pip install 'ringview[kafka]'"),
        ("deltalake", "rv.sinks.delta('d')", "pip install 'ringview[delta]'"),
        ("psycopg", "rv.sinks.postgres('', 't')", "pip install 'ringview[postgres]'"),
        (
            "sqlalchemy",
            "rv.sources.run(db, [rv.sources.query('sqlite://', 'SELECT 1 AS a', table='r')])",
            "pip install 'ringview[sqlalchemy]'",
        ),
        (
            "confluent_kafka",
            "rv.sources.run(db, [rv.sources.kafka('k:1', {'t': 'r'})])",
            "pip install 'ringview[kafka]'",
        ),
    ],
)
def test_a_missing_library_is_an_import_error(missing: str, code: str, command: str) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None
import ringview as rv
db = rv.Database(); {ROWS}
try:
    {code}
except ImportError as error:
    assert type(error) is rv.errors.MissingExtraError, type(error)
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "which is not installed: " in done.stdout, done.stderr
    assert done.stdout.strip().endswith(command)


class Own:
    """A path of somebody's own."""

    def __init__(self, path: str | bytes) -> None:
        self._path = path

    def __fspath__(self) -> str | bytes:
        return self._path


FORMS: list[Callable[[Path], object]] = [
    str,
    os.fsencode,
    Path,
    lambda path: Own(str(path)),
    lambda path: Own(os.fsencode(path)),
]


@pytest.mark.parametrize("form", FORMS)
def test_paths_of_any_kind(tmp_path: Path, form: Callable[[Path], rv.database.Place]) -> None:
    with rv.Database.open(form(tmp_path / "\u00e4.ringview")) as db:
        db.create_table("r", {"a": "int64"})
        db.insert("r", {"a": [1]})
        db.save(form(tmp_path / "copy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "\u00e4.ringview"]
    assert len(rv.Database.load(form(tmp_path / "copy")).tables["r"]) == 1


@pytest.mark.parametrize("attempt", range(3))
def test_a_daemon_thread_that_follows_ends_without_a_trace(attempt: int) -> None:
    program = """
import threading
import ringview as rv
db = rv.Database()
db.create_table("r", {"a": "int64"})
db.create_view("v", "SELECT a FROM r")
begun = threading.Barrier(4)
def follow():
    begun.wait()
    for changes in db["v"].follow():
        pass
for _ in range(3):
    threading.Thread(target=follow, daemon=True).start()
begun.wait()
for a in range(50):
    db.insert("r", {"a": [a]})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
