"""Comments and docstrings are in plain English, and the lint that says so finds what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from plain_english import FOLDERS, ROOT, files, places


@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_are_plain(folder: str) -> None:
    found = [str(place) for path in files(ROOT / folder) for place in places(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.rs", "/// What it has.\nfn a() {}\n", ["What"]),
        ("a.rs", "//! | `a` | How it is kept |\n", ["How"]),
        ("a.rs", "// A name. Which is it?\n", ["Which"]),
        ("a.rs", "// The rows\n// which it has.\n", []),
        ("a.rs", "let a = 1; // It knows.\n", ["knows"]),
        ("a.rs", 'let a = "// It knows";\n', []),
        ("a.rs", "/// `asked` is a name.\n/// ```\n/// go();\n/// ```\n", []),
        ("a.py", '"""Rows come.\n\n>>> come()\n"""\n', ["come"]),
        ("a.py", "a = 1  # Where it stands\n", ["Where", "stands"]),
        ("a.py", 'a = "What # it knows"\n', []),
        ("a.py", '"""A script, which\n\nprints\n\n    5 asks\n"""\n', []),
    ],
)
def test_the_lint_finds_what_is_not(tmp_path: Path, name: str, text: str, words: list[str]) -> None:
    (tmp_path / name).write_text(text)
    assert [place.word for place in places(tmp_path / name)] == words
