"""The imports of the code are the arrows of docs/architecture.md, and form no cycle."""

from __future__ import annotations

import re

import imports
import pytest

PAGE = (imports.ROOT / "docs" / "architecture.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \|.*\|([^|]*)\|$", re.MULTILINE)


def allowed() -> imports.Arrows:
    return {crate: set(re.findall(r"`(\w+)`", cells)) for crate, cells in ROW.findall(PAGE)}


def test_crates_import_what_the_page_allows() -> None:
    found = imports.crates()
    assert set(found) == set(allowed()), "the page names other crates than there are"
    upward = {(a, b) for a, targets in found.items() for b in targets - allowed()[a]}
    assert upward == set(), "an arrow that docs/architecture.md does not have"
    unused = {(a, b) for a, targets in allowed().items() for b in targets - found[a]}
    assert unused == set(), "docs/architecture.md has an arrow that no import needs"


def test_crates_go_round_in_no_circle() -> None:
    assert imports.circles(allowed()) == []


@pytest.mark.parametrize("crate", sorted(allowed()))
def test_modules_go_round_in_no_circle(crate: str) -> None:
    circles = imports.circles(imports.modules(crate))
    assert [sorted(circle) for circle in circles] == []


def test_files_of_the_package_go_round_in_no_circle() -> None:
    assert [sorted(circle) for circle in imports.circles(imports.files())] == []


def test_handing_on_is_no_import_but_using_is() -> None:
    known = {"part", "part/index"}
    names = {"part": imports.imported("part", "mod index; pub use index::Index;", known)}
    assert imports.origin(("part", "Index"), names) == "part/index"
    assert imports.HANDED_ON.sub("", "pub use index::Index; use index::Key;").strip() == (
        "use index::Key;"
    )


def test_the_core_of_the_python_package_stands_without_its_extras() -> None:
    packages = imports.packages()
    extras = {"cli", "job", "ml", "plot", "serve", "sinks", "sources", "spark"}
    core = set(packages) - extras - {"__init__", "__main__"}
    assert {(a, b) for a in core for b in packages[a] & extras} == set()


def test_a_circle_is_found() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set[str]()}
    assert imports.circles(arrows) == [{"b", "c"}]
    text = "use crate::{join::climb, leaf::{self, Rows as R}}; super::x::y()"
    known = {"join", "join/climb", "leaf", "tree/x", "tree"}
    found = {module for module, _ in imports.targets("tree/here", text, known)}
    assert found == {"join/climb", "leaf", "tree/x"}
