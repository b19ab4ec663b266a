"""The example scripts print what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [
    pytest.param(
        path,
        marks=[pytest.mark.spark, pytest.mark.long] if "spark" in path.parent.name else [],
    )
    for path in sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*/*.py")])
]


def promised(script: Path) -> str:
    """The indented block after "prints" in the docstring."""
    docstring = script.read_text().split('"""')[1]
    block = docstring.split("\nprints\n\n")[1].rstrip("\n").split("\n\n")[0]
    return "".join(line.removeprefix("    ") + "\n" for line in block.splitlines())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_prints_what_it_says(script: Path) -> None:
    if "spark" in script.parent.name:
        pytest.importorskip("pyspark", minversion="4.1")
        from ringview.spark.session import JavaNotFoundError, check_java

        try:
            check_java()
        except JavaNotFoundError as error:
            pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == promised(script)


def test_there_are_scripts() -> None:
    assert SCRIPTS
