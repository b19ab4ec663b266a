"""Comments and docstrings in plain English: the subject first, then the verb, then the object.

A sentence begins with no question word, and code does nothing that only people do (`PERSON`).
Examples in a comment (fenced, or after `>>>`) are code, and names in backticks are names. As a
script: `python plain_english.py FOLDER ..` prints each place. Cost: linear in the sources.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = ("rust", "python", "tests", "benches", "examples")

QUESTION = re.compile(r"(?:^|(?<=[.!?]\s)|(?<=[|*-]\s))(?:What|How|Where|Which|Who)(?:ever)?\b")
PERSON = re.compile(
    r"\b(?:tell(?:s|ing)?|told|ask(?:s|ed|ing)?|stands?|stood|standing|comes?|came|coming"
    r"|go|goes|going|went|gone|knows?|knew|knowing)\b",
    re.IGNORECASE,
)
NAME = re.compile(r"`[^`]*`")
RUST = re.compile(r"(?P<line>^\s*)?//[/!]?(?P<text>(?: .*)?)$")


class Line(NamedTuple):
    """A line of a comment."""

    number: int
    text: str


class Place(NamedTuple):
    """A word that plain English does not have there."""

    path: Path
    line: int
    word: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word}: {self.text}"


def places(path: Path) -> Iterator[Place]:
    """The places of a file."""
    comments = of_rust(path) if path.suffix == ".rs" else of_python(path)
    for comment in comments:
        begins = True
        for number, text in prose(comment):
            words = NAME.sub(lambda name: "_" * len(name[0]), text)
            found = [*QUESTION.finditer(words), *PERSON.finditer(words)]
            for word in sorted(found, key=re.Match.start):
                if word.start() or begins or PERSON.fullmatch(word[0]):
                    yield Place(path, number, word[0], text.strip())
            begins = not words.strip() or words.rstrip()[-1] in ".!?:|"


def prose(comment: list[Line]) -> Iterator[Line]:
    """The lines of a comment that are neither code nor, behind `prints`, the output of a script."""
    fenced = False
    for number, text in comment:
        if text.strip() == "prints":
            return
        if text.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not text.lstrip().startswith((">>>", "...")):
            yield Line(number, text.strip())


def of_rust(path: Path) -> Iterator[list[Line]]:
    """The comments of a file in Rust; those behind code are one each."""
    together: list[Line] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if (found := RUST.search(line)) and not line[: found.start()].count('"') % 2:
            if found["line"] is None:
                yield [Line(number, found["text"])]
            else:
                together.append(Line(number, found["text"]))
                continue
        if together:
            yield together
            together = []
    if together:
        yield together


def of_python(path: Path) -> Iterator[list[Line]]:
    """The comments and docstrings of a file in Python."""
    together: list[Line] = []
    with tokenize.open(path) as source:
        for token in tokenize.generate_tokens(source.readline):
            if token.type == tokenize.COMMENT:
                if together and together[-1].number != token.start[0] - 1:
                    yield together
                    together = []
                together.append(Line(token.start[0], token.string.lstrip("#")))
    if together:
        yield together
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            lines = ast.get_docstring(node, clean=False) or ""
            first = node.body[0].lineno
            yield [Line(first + at, text) for at, text in enumerate(lines.splitlines())]


def files(folder: Path) -> Iterator[Path]:
    """The sources below a folder, in order."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".rs", ".py", ".pyi"}:
            yield path


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:] or FOLDERS):
        for path in files(folder):
            for place in places(path):
                print(place)
