"""What the commands print: progress, results, the final table.

Invariant: on a terminal there are bars and boxes, anywhere else plain lines without
control codes. No value is cut. Cost: of a result only the first rows are formatted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from ringview.job import Progress, Report, ViewReport

_ROWS_SHOWN = 20
_SECONDS_BETWEEN_LINES = 2.0
_PLAIN_WIDTH = 10_000


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """A function to call after every batch; what it shows goes when the block ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("rows", total=None, rate="")

        def step(now: Progress) -> None:
            bar.update(task, completed=now.rows, total=now.total, rate=_rate(now.rate))

        yield step


def report(done: Report) -> None:
    """The results that are to be seen here, then the final table."""
    console = _console()
    for view in done.views:
        if view.to_terminal:
            _result(console, view)
    console.print("[bold]views[/bold]")
    table = _table()
    for name in ("view", "rows", "time", "rate"):
        table.add_column(name, justify="left" if name == "view" else "right")
    for view in done.views:
        rate = _rate(view.read / view.seconds) if view.seconds else ""
        table.add_row(escape(view.name), f"{view.result.num_rows:,}", f"{view.seconds:.3f} s", rate)
    console.print(table)
    steps = "all views at once, batches" if done.engine == "embedded" else "one by one, views"
    console.print(
        f"{done.engine}: {done.rows:,} rows in {done.seconds:.3f} s ({steps}: {done.batches:,})",
        highlight=False,
    )


def explanation(name: str, text: str) -> None:
    """The account of one view."""
    console = _console()
    console.print(f"[bold]{escape(name)}[/bold]", highlight=False)
    console.print(escape(text), highlight=False, soft_wrap=True)
    console.print()


def error(problem: Exception) -> None:
    """One error, with what was added to it on its way."""
    console = Console(stderr=True)
    for number, text in enumerate([str(problem), *getattr(problem, "__notes__", [])]):
        label = "[bold red]error:[/bold red] " if number == 0 else ""
        console.print(label + escape(text), highlight=False, soft_wrap=True)


class _Lines:
    """Progress where there is no terminal: a line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def __call__(self, now: Progress) -> None:
        if time.monotonic() - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = time.monotonic()
        of = "" if now.total is None else f" of {now.total:,}"
        self._console.print(f"{now.rows:,}{of} rows, {_rate(now.rate)}", highlight=False)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PLAIN_WIDTH)


def _result(console: Console, view: ViewReport) -> None:
    rows = view.result.num_rows
    more = f", the first {_ROWS_SHOWN} of {rows:,} rows" if rows > _ROWS_SHOWN else ""
    console.print(f"[bold]{escape(view.name)}[/bold]{more}", highlight=False)
    table = _table()
    for field in view.result.schema:
        justify: Literal["left", "right"] = "right" if _is_number(field.type) else "left"
        table.add_column(escape(field.name), justify=justify, overflow="fold")
    for row in view.result.slice(0, _ROWS_SHOWN).to_pylist():
        table.add_row(*(escape(_text(value)) for value in row.values()))
    console.print(table)


def _table() -> Table:
    return Table(box=box.SIMPLE)


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)


def _rate(rows_a_second: float) -> str:
    return f"{rows_a_second:,.0f} rows/s"
