"""The version of Rust: one number everywhere, and a word before anything is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECLARED: str = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"][
    "rust-version"
]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/start.md"])
def test_pages_name_the_version_that_the_crates_declare(page: str) -> None:
    assert re.findall(r"Rust (\d+\.\d+)", (ROOT / page).read_text()) == [DECLARED]


def test_the_workflow_builds_with_exactly_that() -> None:
    text = (ROOT / ".github/workflows/test.yml").read_text()
    assert "toolchain: ${{ steps.declared.outputs.version }}" in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "Rust is missing. ringview builds with Rust 1.94 or later"),
        ("1.93.1", "Rust 1.93.1 is too old. ringview builds with Rust 1.94 or later"),
        ("0.99.0", "Rust 0.99.0 is too old"),
        ("1.94.0", ""),
        ("1.100.2-nightly", ""),
        ("2.0.0", ""),
    ],
)
def test_a_rust_that_is_missing_or_too_old_is_named(
    tmp_path: Path, found: str | None, said: str
) -> None:
    for tool in ("cut", "sh"):
        whole = shutil.which(tool)
        assert whole is not None
        (tmp_path / tool).symlink_to(whole)
    for tool in ("rustc", "cargo") if found else ():
        (tmp_path / tool).write_text(f"#!/bin/sh\necho '{tool} {found} (abc 2026-01-01)'\n")
        (tmp_path / tool).chmod(0o755)
    script = str(ROOT / ".ci/rust_version.sh")
    done = subprocess.run(
        ["sh", script, "1.94"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == (1 if said else 0), done
    assert said in done.stderr
    assert bool(said) == bool(done.stderr)


@pytest.mark.parametrize("goal", ["demo", "test", "setup", "wheel"])
def test_make_looks_before_it_installs_anything(goal: str) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    # As by hand, also where a make runs the tests: that one would hand its flags on.
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    printed = subprocess.run(
        [make, "--dry-run", goal], cwd=ROOT, env=own, capture_output=True, text=True, check=True
    ).stdout
    assert printed.splitlines()[0] == f"sh .ci/rust_version.sh {DECLARED}"
