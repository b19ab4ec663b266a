"""Type checkers refuse wrong rows, keys and conditions, and have the types of results."""

from __future__ import annotations

import re
from pathlib import Path

from mypy import api

PROGRAM = Path(__file__).parent / "data" / "typed.txt"
REPORTED = re.compile(r"typed\.py:(\d+): (error|note): (.*)")
# Errors of other libraries take longer to read, and decide nothing here.
CONFIG = """
[mypy]
strict = True
python_version = 3.11
ignore_missing_imports = True
follow_imports = silent
[mypy-matplotlib.*,numpy.*,pandas.*,polars.*,pyarrow.*,sklearn.*]
follow_imports = skip
"""


def test_mypy_says_what_is_marked(tmp_path: Path) -> None:
    lines = PROGRAM.read_text().splitlines()
    wanted = {
        (number, kind, text)
        for number, line in enumerate(lines, 1)
        for kind, text in re.findall(r"# ([ER]): (.*)$", line)
    }
    program, config = tmp_path / "typed.py", tmp_path / "mypy.ini"
    program.write_text(PROGRAM.read_text())
    config.write_text(CONFIG)
    out, err, _ = api.run([f"--config-file={config}", str(program)])
    found = set()
    for number, kind, text in REPORTED.findall(out):
        if kind == "error":
            found.add((int(number), "E", text[text.rindex("[") + 1 : -1]))
        elif revealed := re.match(r'Revealed type is "(.*)"', text):
            found.add((int(number), "R", re.sub(r"builtins\.", "", revealed[1])))
    assert len(wanted) > 30
    assert found == wanted, out + err
