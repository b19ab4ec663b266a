"""The logger `ringview`: files, readers and senders, and nothing where nobody listens."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ringview as rv
from ringview import sinks, sources


def said(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def test_files_are_logged_when_they_are_opened_and_closed(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("INFO", logger="ringview")
    path, copy = tmp_path / "a.ringview", tmp_path / "b.ringview"
    with rv.Database.open(path) as db:
        db.create_table("r", {"a": "int64"})
        db.create_view("v", "SELECT COUNT(*) AS n FROM r")
        db.insert("r", {"a": [1]})
        db.snapshot()
        db.save(copy)
    db.close()
    rv.Database.load(copy).close()
    assert said(caplog, logging.INFO) == [
        f"opened {path}: 0 tables, 0 views",
        f"wrote {path} anew",
        f"saved a copy as {copy}",
        f"closed {path}",
        f"read {copy} into memory: 1 tables, 1 views",
    ]
    assert {record.module for record in caplog.records} == {"database"}


def test_readers_and_senders_say_what_they_do(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG", logger="ringview")
    (tmp_path / "a.csv").write_text("a\n1\n2\nx\n")
    db = rv.Database()
    db.create_table("r", {"a": "int64"})
    db.create_view("v", "SELECT COUNT(*) AS n FROM r")
    given = [sources.folder(tmp_path / "*.csv", table="r", name="files")]
    sources.run(db, given, dead_letters="rejected")
    assert said(caplog, logging.INFO) == [
        "the reader of sources starts",
        "source files begins, at its start",
        "source files ended",
        "the reader of sources finished",
    ]
    assert said(caplog, logging.DEBUG) == ["source files: 2 rows applied, 1 rejected"]
    caplog.clear()

    sent: list[int] = []

    def sink(view: str, batch: int, rows: Any) -> None:
        sent.append(batch)
        if len(sent) == 1:
            raise LookupError("gone")

    sender = sinks.Sender(db, {"v": sink}, every=0.01)
    sender.start()
    with pytest.raises(LookupError):
        sender.join()
    assert said(caplog, logging.ERROR) == ["the sender of changes failed: gone"]
    caplog.clear()
    sender.start()
    while not any("caught up" in text for text in said(caplog, logging.INFO)):
        pass
    sender.stop()
    assert said(caplog, logging.INFO) == [
        "the sender of changes starts",
        "view v: batch 1 is sent again",
        "the sender of changes caught up",
        "the sender of changes stopped",
    ]
    assert said(caplog, logging.DEBUG) == ["view v: batch 1, 1 rows sent"]


def test_changes_are_not_logged_and_nobody_is_bothered() -> None:
    code = """
import sys, ringview as rv
db = rv.Database()
db.create_table("r", {"a": "int64"})
view = db.create_view("v", "SELECT COUNT(*) AS n FROM r")
db.insert("r", [{"a": 1}])
with db.transaction() as tx:
    tx.delete("r", [{"a": 1}])
print("ringview.log" in sys.modules and "logging" in sys.modules, view.scalar())
from ringview.log import log
log("error", "nobody has asked")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "0"
    assert done.stderr == ""
