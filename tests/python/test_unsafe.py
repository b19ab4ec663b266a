"""Each `unsafe` of the crates names the test that runs it, and says why it holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORD = re.compile(r"\bunsafe\b")
NAMED = re.compile(r"// Test: (\S+?)::(\w+)$")
ABOVE = 12
"""Lines in which both are named."""


def places(text: str) -> list[tuple[int, tuple[str, str] | None, bool]]:
    """Lines with `unsafe`: their number, the test they name, whether they say why they hold.

    >>> places("fn f() {\\n    // SAFETY: it is.\\n    // Test: a.rs::b\\n    unsafe { g() }\\n}")
    [(4, ('a.rs', 'b'), True)]
    """
    lines = text.splitlines()
    found = []
    for at, line in enumerate(lines):
        if not WORD.search(re.sub(r"//.*|\"[^\"]*\"", "", line)):
            continue
        above = lines[max(0, at - ABOVE) : at]
        # The nearest one, directly above but for attributes and the rest of its statement.
        named = NAMED.search(above[-1].strip()) if above else None
        for other in reversed(above[-3:]):
            named = named or NAMED.search(other.strip())
        says = any("SAFETY:" in other or "# Safety" in other for other in above)
        found.append((at + 1, (named[1], named[2]) if named else None, says))
    return found


SOURCES = sorted(path for path in ROOT.glob("rust/*/src/**/*.rs") if any(places(path.read_text())))


def exists(test: tuple[str, str]) -> bool:
    """Whether a test of Rust or of Python is where it is said to be."""
    path, name = test
    place = ROOT / path
    is_there = place.is_file() and re.search(rf"\b(?:fn|def) {name}\b", place.read_text())
    return bool(is_there)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "rust")))
def test_each_unsafe_names_its_test(path: Path) -> None:
    for line, test, says in places(path.read_text()):
        assert test is not None, f"{path}:{line}: // Test: path::name"
        assert exists(test), f"{path}:{line}: there is no {test}"
        # Those that do nothing, on other systems, and declarations of those above.
        assert says or "_: " in path.read_text().splitlines()[line - 1], f"{path}:{line}: SAFETY"


def test_what_names_none_is_found() -> None:
    assert places("unsafe { f() }") == [(1, None, False)]
    assert places('// unsafe\nlet a = "unsafe";') == []
    assert not exists(("rust/core/src/prefetch.rs", "no_such_test"))
    assert not exists(("rust/nowhere.rs", "any"))
    assert len(SOURCES) > 10
