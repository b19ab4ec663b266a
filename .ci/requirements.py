"""Print what pyproject.toml declares: its dependencies, and those of the extras and groups named.

`python .ci/requirements.py cli test` lists an extra and a group; `build` stands for the build
system. pip takes the list from standard input, so the environment has them before the extension is
built.
"""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print one requirement a line."""
    declared = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    project = declared["project"]
    groups = {
        **project["optional-dependencies"],
        **declared["dependency-groups"],
        "build": declared["build-system"]["requires"],
    }
    wanted = [*project["dependencies"], *(line for name in sys.argv[1:] for line in groups[name])]
    print("\n".join(line for line in wanted if not line.startswith(project["name"])))


if __name__ == "__main__":
    main()
