"""Rules of deny.toml that need no network, and the workflows that apply all before a release."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RULES = tomllib.loads((ROOT / "deny.toml").read_text())
LOCK: list[dict[str, Any]] = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
WORKFLOWS = ROOT / ".github" / "workflows"
INDEX = "registry+https://github.com/rust-lang/crates.io-index"


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def test_all_crates_are_of_the_index_and_have_checksums() -> None:
    assert RULES["sources"] == {"unknown-registry": "deny", "unknown-git": "deny"}
    others = [one for one in LOCK if one.get("source", INDEX) != INDEX]
    assert not others
    assert all("checksum" in one for one in LOCK if "source" in one)
    ours = {one["name"] for one in LOCK if "source" not in one}
    assert all(name.startswith("ringview") for name in ours), ours


def test_a_crate_has_one_version_or_is_named() -> None:
    versions = defaultdict(list)
    for one in LOCK:
        versions[one["name"]].append(one["version"])
    older = {
        f"{name}@{version}"
        for name, found in versions.items()
        for version in sorted(found, key=parts)[:-1]
    }
    assert older == {one["crate"] for one in RULES["bans"]["skip"]}


def allows(expression: str, allowed: set[str]) -> bool:
    """Whether one of the licences of a choice is allowed, and all of those that hold together.

    >>> allows("MIT OR GPL-3.0", {"MIT"}), allows("(MIT OR ISC) AND GPL-3.0", {"MIT"})
    (True, False)
    """
    tokens = re.findall(r"\(|\)|[^()\s]+(?: WITH [^()\s]+)?", expression.replace("/", " OR "))

    def any_of() -> bool:
        found = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = all_of() or found
        return found

    def all_of() -> bool:
        found = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        token = tokens.pop(0)
        if token != "(":
            return token in allowed
        found = any_of()
        assert tokens.pop(0) == ")"
        return found

    found = any_of()
    assert not tokens
    return found


@pytest.mark.parametrize(
    ("expression", "is_allowed"),
    [
        *(("MIT", True), ("GPL-3.0", False), ("MIT/Apache-2.0", True), ("MIT AND GPL-3.0", False)),
        *(("GPL-3.0 OR MIT", True), ("(MIT OR GPL-3.0) AND Zlib", True)),
        ("Apache-2.0 WITH LLVM-exception", False),
    ],
)
def test_licences_are_read(expression: str, is_allowed: bool) -> None:
    assert allows(expression, {"MIT", "Zlib", "Apache-2.0"}) == is_allowed


def test_licences_are_allowed() -> None:
    places = sorted((Path.home() / ".cargo" / "registry" / "src").glob("*"))
    allowed = set(RULES["licenses"]["allow"])
    exceptions = {one["crate"]: set(one["allow"]) for one in RULES["licenses"]["exceptions"]}
    looked, refused = 0, []
    for one in LOCK:
        folder = f"{one['name']}-{one['version']}"
        for path in (place / folder / "Cargo.toml" for place in places if "source" in one):
            if not path.exists():
                continue
            looked += 1
            said = tomllib.loads(path.read_text())["package"].get("license", "none")
            if not allows(said, allowed | exceptions.get(one["name"], set())):
                refused.append((folder, said))
    if not looked:
        pytest.skip("the sources of the crates are not here")
    assert not refused


def test_a_release_waits_for_both_checks() -> None:
    supply = (WORKFLOWS / "supply.yml").read_text()
    assert "cargo-deny-action" in supply
    assert "pip-audit --strict" in supply
    wheels = (WORKFLOWS / "wheels.yml").read_text()
    assert "uses: ./.github/workflows/supply.yml" in wheels
    assert re.search(r"publish:\n(?:.*\n)*?    needs: \[.*\bsupply\b.*\]", wheels)
    assert "uses: ./.github/workflows/supply.yml" in (WORKFLOWS / "nightly.yml").read_text()


def test_pip_audit_has_all_extras() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = declared["optional-dependencies"].keys() - {"all"}
    [line] = re.findall(r"requirements\.py (.*) >", (WORKFLOWS / "supply.yml").read_text())
    assert set(line.split()) == {*extras, "build"}
