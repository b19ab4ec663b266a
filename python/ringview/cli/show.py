"""Output of the commands: progress, results, the final table.

Invariant: on a terminal there are bars and colours, anywhere else plain lines without
control codes. No value is cut, but floats are shown to 7 digits (files hold them whole).
Cost: of a result only the first rows are formatted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from ringview.job import Progress, Report, ViewReport
from ringview.job.compare import Comparison
from ringview.masking import masked
from ringview.text import counted

_ROWS_SHOWN = 20
_ROWS_ASKED = 1_000
_SECONDS_BETWEEN_LINES = 2.0
_PLAIN_WIDTH = 10_000
_ANY_WIDTH = 1_000_000


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """A function to call after every batch; the full bar stays when the block ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("", total=None)

        def step(now: Progress) -> None:
            bar.update(task, completed=now.rows, total=now.total, description=_far(now))

        yield step


def report(done: Report) -> None:
    """The results that are to be seen here, then the final table."""
    console = _console()
    for view in done.views:
        if view.to_terminal:
            _result(console, view)
    console.print("[bold]views[/bold]")
    console.print(_views(done))
    console.print()
    steps = counted(done.batches, "batch" if done.engine == "embedded" else "view")
    console.print(
        f"{done.engine}: {counted(done.rows, 'row')} in {done.seconds:.3f} s, "
        f"{steps}, files and all",
        highlight=False,
    )


def _views(done: Report) -> Table:
    table = _table()
    for name in ("view", "rows", "time", "rate"):
        table.add_column(name, justify="left" if name == "view" else "right")
    if done.engine == "spark":
        for view in done.views:
            table.add_row(escape(view.name), f"{view.result.num_rows:,}", *_speed(view))
        return table
    for view in done.views:
        table.add_row(escape(view.name), f"{view.result.num_rows:,}")
    table.add_section()
    rows = sum(view.result.num_rows for view in done.views)
    # They are kept together, in the same transactions: one time, and one rate.
    table.add_row("all, after every batch", f"{rows:,}", *_speed(done.views[0]))
    return table


def _speed(view: ViewReport) -> tuple[str, str]:
    return f"{view.seconds:.3f} s", _rate(view.read / view.seconds) if view.seconds else ""


def explanation(name: str, text: str) -> None:
    """The account of one view."""
    console = _console()
    console.print(f"[bold]{escape(name)}[/bold]", highlight=False)
    console.print(escape(text), highlight=False, soft_wrap=True)
    console.print()


def comparison(found: Sequence[Comparison]) -> None:
    """Print the cost of a batch against recomputing each view."""
    console = _console()
    table = _table()
    for name in ("view", "kept fresh, a batch", "computed anew", "of it planning", "ratio"):
        table.add_column(name, justify="left" if name == "view" else "right")
    for each in found:
        anew = "reads views" if each.anew is None else _milliseconds(each.anew)
        ratio = "" if each.ratio is None else f"{each.ratio:,.1f}"
        planning = "" if each.anew is None else _milliseconds(each.planning)
        table.add_row(escape(each.name), _milliseconds(each.batch), anew, planning, ratio)
    console.print()
    console.print("[bold]fresh against anew[/bold]")
    console.print(table)
    if found:
        console.print(
            f"\na batch of {found[0].rows:,.0f} rows of the stream, into the tables and this view "
            f"alone (mean of {found[0].batches:,});\nanew: its query by db.sql over the rows at "
            "the end, by the same engine\nwithout views, with its planning, which does not grow "
            "with the rows (best of 3)",
            highlight=False,
        )


def hint(text: str) -> None:
    """Print a hint at a further step."""
    _console().print(f"\n{escape(text)}", highlight=False)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.3f} ms"


def served(url: str, views: int, writable: bool) -> None:
    """Print the address of the server, at which the page of the views is served, too."""
    ending = "" if views == 1 else "s"
    mode = "changes allowed" if writable else "read only"
    Console(stderr=True, soft_wrap=True).print(
        f"{url}  {views} view{ending}, {mode}; Ctrl-C ends it", highlight=False
    )


def connector_failed(connector: object, problem: Exception) -> None:
    """A source or a sink whose step failed, and which will try again."""
    text = escape(masked(f"{connector}: {problem}; it is tried again"))
    Console(stderr=True).print(f"[bold red]error:[/bold red] {text}", soft_wrap=True)


def error(problem: Exception) -> None:
    """One error, with what was added to it on its way."""
    console = Console(stderr=True)
    for number, text in enumerate([masked(str(problem)), *getattr(problem, "__notes__", [])]):
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
        self._console.print(_far(now), highlight=False)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=_PLAIN_WIDTH)


def _result(console: Console, view: ViewReport) -> None:
    rows = view.result.num_rows
    more = f", the first {_ROWS_SHOWN} of {rows:,} rows" if rows > _ROWS_SHOWN else ""
    console.print(f"[bold]{escape(view.name)}[/bold]{more}", highlight=False)
    _drawn(console, view.result.slice(0, _ROWS_SHOWN))


def done(found: pa.Table | int | None, seconds: float) -> None:
    """Print the result of a statement: rows, or the number of rows that it changed."""
    if isinstance(found, pa.Table):
        answer(found, seconds)
    elif found is not None:
        ending = "" if found == 1 else "s"
        _console().print(f"{found:,} row{ending} changed", highlight=False)


def answer(rows: pa.Table, seconds: float) -> None:
    """The rows of a query; on a terminal the first ones."""
    console = _console()
    number = rows.num_rows
    is_cut = console.is_terminal and number > _ROWS_ASKED
    _drawn(console, rows.slice(0, _ROWS_ASKED) if is_cut else rows)
    if console.is_terminal:
        more = f", the first {_ROWS_ASKED} are shown" if is_cut else ""
        ending = "" if number == 1 else "s"
        console.print(f"{number:,} row{ending} in {seconds:.3f} s{more}", highlight=False)


def _drawn(console: Console, shown: pa.Table) -> None:
    table, turned = _lines(shown), _turned(shown.slice(0, _ROWS_SHOWN))
    if shown.num_rows <= _ROWS_SHOWN and _width(table) > console.width >= _width(turned):
        table = turned
    console.print(table)
    console.print()


def _lines(rows: pa.Table) -> Table:
    """A row a line."""
    table = _table()
    for field in rows.schema:
        justify: Literal["left", "right"] = "right" if _is_number(field.type) else "left"
        table.add_column(escape(field.name), justify=justify, overflow="fold")
    for row in rows.to_pylist():
        table.add_row(*(escape(_text(value)) for value in row.values()))
    return table


def _turned(rows: pa.Table) -> Table:
    """A column a line: for few rows that are wider than the terminal."""
    table = _table()
    table.show_header = False
    table.add_column(style="bold")
    for _ in range(rows.num_rows):
        table.add_column(justify="right")
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        table.add_row(escape(name), *(escape(_text(value)) for value in column.to_pylist()))
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def _width(table: Table) -> int:
    """The width at which nothing needs folding."""
    return Console(width=_ANY_WIDTH).measure(table).maximum


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.7g}"
    return "NULL" if value is None else str(value)


def _far(now: Progress) -> str:
    of = "" if now.total is None else f" of {now.total:,}"
    return f"{now.rows:,}{of} rows, {_rate(now.rate)}"


def _rate(rows_a_second: float) -> str:
    return f"{rows_a_second:,.0f} rows/s"
