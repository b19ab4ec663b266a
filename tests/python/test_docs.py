"""The examples of the README and the pages print what they say they print.

A text or a graph that follows an example directly is what it prints; others are drawn by hand.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(python|text|mermaid)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Those need Java, and are read where Spark is started.
SPARK = ["docs/spark.md", "docs/spark-streaming.md"]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))]
# Pages on the queries of an engine, its costs and pictures; measurements and pictures are
# elsewhere.
ENGINES = [
    *("cyclic.md", "joins.md", "matrix-chains.md", "models.md", "view-trees.md"),
    *("triangles.md", "views-over-views.md"),
]


def run(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


@pytest.mark.parametrize("page", [page for page in PAGES if page not in SPARK])
def test_examples_print_what_is_shown(page: str) -> None:
    check(page)


def check(page: str) -> None:
    """Run the examples of a page."""
    blocks = BLOCK.findall((ROOT / page).read_text())
    names: dict[str, object] = {}
    for at, (kind, body) in enumerate(blocks):
        after_code = at > 0 and blocks[at - 1][0] == "python"
        if kind == "python":
            followed = blocks[at + 1][0] if at + 1 < len(blocks) else "python"
            assert followed != "python", f"the example shows nothing: {body}"
            assert run(body, names) == blocks[at + 1][1]
        else:
            assert kind == "mermaid" or after_code, f"nothing prints this: {body}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/references.md", "CONTRIBUTING.md"])
def test_files_that_pages_name_are_there(page: str) -> None:
    named = set(
        re.findall(r"`((?:rust|python|tests|benches)/[\w./-]+\w)`", (ROOT / page).read_text())
    )
    links = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / page).read_text())
    paths = {ROOT / name for name in named} | {(ROOT / page).parent / link for link in links}
    missing = sorted(str(path.relative_to(ROOT)) for path in paths if not path.exists())
    assert missing == [], f"{page} names what is not there"


def test_the_readme_fits_one_screen() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 60


@pytest.mark.parametrize("page", ENGINES)
def test_pages_say_what_is_kept_what_a_change_costs_and_draw_it(page: str) -> None:
    text = (DOCS / page).read_text()
    assert "\n## What it keeps" in text
    assert re.search(r"\n## What (a change|it) costs", text)
    assert "```mermaid" in text


def test_the_site_has_every_page() -> None:
    """Its build says so too, but is not among the tests."""
    listed = re.findall(r"- (?:\w+: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages <= set(listed)
    assert len(listed) == len(set(listed))
