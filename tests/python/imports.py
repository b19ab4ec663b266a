"""Imports of the code: crates from manifests and sources, modules of a crate, Python packages.

Read as text, so that no build is needed. A module is a file; its name is its path within the crate,
`join/climb` or, for `join/mod.rs`, `join`. Paths in code are followed to the module that defines
what they name, through those that import it or hand it on. Only handing on a module's own parts
(`pub use`) is no import: its code does not need them. So the crate's root is none. Test modules and
comments do not count. Cost: linear in the sources, times the length of the longest way.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

Arrows = dict[str, set[str]]


def crates() -> Arrows:
    """The crates, each with the crates of ours that it is built on or names in its sources."""
    found: Arrows = {}
    for manifest in sorted(ROOT.glob("rust/*/Cargo.toml")):
        name = manifest.parent.name
        dependencies = tomllib.loads(manifest.read_text())["dependencies"]
        declared = {d.removeprefix("ringview-") for d in dependencies if d.startswith("ringview-")}
        text = "\n".join(source(path) for path in manifest.parent.glob("src/**/*.rs"))
        named = set(re.findall(r"\bringview_(\w+)::", text)) - {name}
        found[name] = declared | named
    return found


def modules(crate: str) -> Arrows:
    """The modules of a crate, each with those that it names."""
    base = ROOT / "rust" / crate / "src"
    files = {module(path, base): path for path in base.rglob("*.rs") if "tests" not in path.parts}
    texts = {name: source(path) for name, path in files.items()}
    names = {name: imported(name, text, set(files)) for name, text in texts.items()}
    found: Arrows = {}
    for name, text in texts.items():
        code = HANDED_ON.sub("", text)
        used = set(re.findall(r"\w+", code))
        paths = [*targets(name, code, set(files))]
        paths += [path for item, path in names[name].items() if item in used]
        found[name] = {origin(path, names) for path in paths} - {name}
    return found


# Re-exports of a module's own items or parts; paths into other modules are imports.
HANDED_ON = re.compile(r"\bpub(?:\([^)]*\))? use (?!crate|super)[^;]*;")

# A module, and the item that is named in it, if one is.
Named = tuple[str, str]


def imported(name: str, text: str, known: set[str]) -> dict[str, Named]:
    """Names that a module imports or re-exports, and the items behind them."""
    found: dict[str, Named] = {}
    below = re.findall(r"\bmod (\w+);", text)
    for use in re.findall(r"\buse ([^;]*);", expanded(text)):
        for path in use.split(" , "):
            whole, _, alias = path.strip().partition(" as ")
            if "::" in whole:
                start = whole.split("::")[0]
                mods = "" if start in ("crate", "super", "self") else f"mod {start};"
                for named in targets(name, f"{mods} {whole}" if start in below else whole, known):
                    # A module as a whole has the last name of its path.
                    found[alias or whole.split("::")[-1]] = named
    return found


def origin(named: Named, names: dict[str, dict[str, Named]]) -> str:
    """The module that defines what is named."""
    seen: set[Named] = set()
    while named not in seen and named[1] in names.get(named[0], {}):
        seen.add(named)
        named = names[named[0]][named[1]]
    return named[0]


def module(path: Path, base: Path) -> str:
    """The name of a file's module."""
    parts = path.relative_to(base).with_suffix("").parts
    return "/".join(parts[:-1] if parts[-1] == "mod" else parts)


def source(path: Path) -> str:
    """The code of a file without comments and without the tests at its end."""
    text = re.sub(r"//.*", "", path.read_text())
    return text.split("#[cfg(test)]")[0]


def targets(name: str, text: str, known: set[str]) -> Iterator[Named]:
    """The modules that paths in some code lead to, and the items in them."""
    parent = name.rpartition("/")[0]
    text = expanded(text)
    below = re.findall(r"\bmod (\w+);", text)
    whole = "|".join(["crate", "super", "self", *below])
    for start, path in re.findall(rf"(?<![:\w])({whole})((?:::\w+)+)", text):
        steps = path.split("::")[1:]
        if start in below and name != "lib":
            steps = [*name.split("/"), start, *steps]
        elif start in below:
            steps = [start, *steps]
        if start == "super":
            steps = [*parent.split("/"), *steps] if parent else steps
        elif start == "self":
            steps = [*name.split("/"), *steps]
        item = ""
        while steps and "/".join(steps) not in known:
            item = steps.pop()
        # The root only hands on: what it does hand on is found in its imports.
        yield "/".join(steps) or "lib", item


def expanded(text: str) -> str:
    """Groups of imports written out: `a::{b, c::d}` becomes `a::b a::c::d`."""
    group = re.compile(r"((?:\w+::)+)\{([^{}]*)\}")
    while found := group.search(text):
        prefix, names = found.groups()
        whole = [prefix + name.strip() for name in names.split(",") if name.strip()]
        whole = [path.removesuffix("::self") for path in whole]
        text = text[: found.start()] + " , ".join(whole) + text[found.end() :]
    return text


def circles(arrows: Arrows) -> list[set[str]]:
    """The sets of modules that import each other, directly or on a way round."""
    reach = {name: reachable(name, arrows) for name in arrows}
    found: list[set[str]] = []
    for name in sorted(arrows):
        circle = {other for other in reach[name] if name in reach.get(other, set())}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def reachable(name: str, arrows: Arrows) -> set[str]:
    """All that a module leads to."""
    seen: set[str] = set()
    rest = [name]
    while rest:
        for target in arrows.get(rest.pop(), set()) - seen:
            seen.add(target)
            rest.append(target)
    return seen


def packages() -> Arrows:
    """The parts of the Python package, each with those that it imports, wherever in its code."""
    base = ROOT / "python" / "ringview"
    found: Arrows = {}
    for path in sorted(base.rglob("*.py")):
        name = path.relative_to(base).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text())
        found.setdefault(name, set())
        package = ["ringview", *path.relative_to(base).parts[:-1]]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                stem = ".".join([*above, *([node.module] if node.module else [])])
                names = [f"{stem}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            parts = [n.split(".") for n in names if n.startswith("ringview.")]
            found[name] |= {part[1] for part in parts} - {name}
    return found


def files() -> Arrows:
    """The files of the Python package, each with those that it imports, for type checkers too.

    A name that a file only hands on is no import of its own: whoever takes it from there imports
    the file that has it.
    """
    base = ROOT / "python"
    trees: dict[str, ast.Module] = {}
    packages: set[str] = set()
    for path in sorted(base.rglob("*.py")):
        parts = path.relative_to(base).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        packages |= {name} if is_package else set()
        trees[name] = ast.parse(path.read_text())
    handed: dict[str, dict[str, str]] = {}
    wanted: dict[str, list[tuple[str, str]]] = {name: [] for name in trees}
    for name, tree in trees.items():
        above = name.split(".") if name in packages else name.split(".")[:-1]
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                start = above[: len(above) - node.level + 1] if node.level else []
                stem = ".".join([*start, *([node.module] if node.module else [])])
                for alias in node.names:
                    handed.setdefault(name, {})[alias.asname or alias.name] = f"{stem}.{alias.name}"
                    # Only handing on is no import, as in a crate.
                    if (alias.asname or alias.name) in used:
                        wanted[name].append((stem, alias.name))
            elif isinstance(node, ast.Import):
                wanted[name] += [(alias.name, "") for alias in node.names]

    def resolve(stem: str, item: str) -> str:
        while f"{stem}.{item}" not in trees and stem in packages and item in handed.get(stem, {}):
            stem, _, item = handed[stem][item].rpartition(".")
        return f"{stem}.{item}" if f"{stem}.{item}" in trees else stem

    found: Arrows = {}
    for name, pairs in wanted.items():
        targets = {resolve(stem, item) for stem, item in pairs}
        found[name] = {target for target in targets if target in trees} - {name}
    return found
