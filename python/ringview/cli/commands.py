"""The commands, one function each.

Invariant: a command prints and exits; what it does is in ``ringview.job``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ringview import __version__
from ringview.cli import show
from ringview.cli.prompt import statements
from ringview.database import Database
from ringview.errors import RingviewError
from ringview.job import JobError, ServeSpec, explain, load, run
from ringview.job.compare import check, compare_job
from ringview.job.embedded import differences

app = typer.Typer(
    help="Always-fresh analytics over joins, under inserts and deletes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_LOOK = 0.2
"""Seconds between two looks whether a signal came."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ringview {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Always-fresh analytics over joins, under inserts and deletes."""


class ExplainFormat(Enum):
    """Formats of the output of ``explain``."""

    TEXT = "text"
    MERMAID = "mermaid"
    GRAPHVIZ = "graphviz"
    JSON = "json"
    HTML = "html"


JobFile = Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.")]


@app.command("run")
def run_command(
    job: JobFile,
    compare: Annotated[
        bool, typer.Option("--compare", help="Then compute each view anew, and compare the times.")
    ] = False,
) -> None:
    """Stream the job's files through its views and show the resulting views."""
    with _errors():
        parsed = load(job)
        if compare:
            check(parsed)
        with show.progress() as step:
            report = run(parsed, step)
        show.report(report)
        if compare:
            show.comparison(compare_job(parsed))
            show.hint(f"to see the views move: ringview serve {job}")


@app.command("explain")
def explain_command(
    job: JobFile,
    form: Annotated[
        ExplainFormat,
        typer.Option("--format", help="Text, the source of a graph, or JSON, a view a line."),
    ] = ExplainFormat.TEXT,
) -> None:
    """Show how each view of the job is maintained: engine, tree, cost class."""
    with _errors():
        for name, text in explain(load(job), form.value).items():
            if form is ExplainFormat.TEXT:
                show.explanation(name, text)
            else:
                typer.echo(text.rstrip())


source_app = typer.Typer(help="Look at the sources of a job.", no_args_is_help=True)
app.add_typer(source_app, name="source")


@source_app.command("check")
def source_check_command(job: JobFile) -> None:
    """Compare each source with the server it reads; status 1 if anything differs."""
    with _errors():
        parsed = load(job)
        # Without [serve] file nothing was kept, so all is compared with empty tables.
        file = parsed.serve.file
        db = Database.open(file) if file is not None and file.exists() else Database()
        with db:
            if file is None or not file.exists():
                for source in parsed.sources:
                    source.create_tables(db)
            found = differences(parsed, db)
        for name, said in found.items():
            typer.echo(f"{name}: {'; '.join(said) if said else 'nothing differs'}")
        if any(found.values()):
            raise typer.Exit(1)


@app.command("sql")
def sql_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of Database.open.", exists=True)
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="Statements, with ; between; without them, a prompt."),
    ] = None,
) -> None:
    """Query and change a database by statements of SQL, each of which ends with a semicolon."""
    is_prompt = query is None and sys.stdin.isatty()
    with _errors(), Database.open(file) as db:
        for text in statements(query):
            with _query_errors() if is_prompt else nullcontext():
                start = time.monotonic()
                show.done(db.execute(text), time.monotonic() - start)


@app.command("serve")
def serve_command(
    what: Annotated[
        Path,
        typer.Argument(metavar="JOB.toml|FILE", help="A job, or a file of Database.open."),
    ],
    host: Annotated[str | None, typer.Option(help="Where to listen; by default here.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 for a free one; by default 8080.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that requests name.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate in PEM, for TLS; read again once it changes.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The file of its key.")] = None,
    plain: Annotated[
        bool | None,
        typer.Option("--plain", help="Serve other machines without TLS.", show_default=False),
    ] = None,
    writable: Annotated[
        bool | None, typer.Option("--writable", help="Let rows be changed.", show_default=False)
    ] = None,
) -> None:
    """Serve the views of a job or of a file by HTTP, with a page on which they move."""
    with _errors():
        from ringview.serve.service import Service

        is_job = what.suffix.lower() == ".toml"
        parsed = load(what) if is_job else None
        if parsed is None and not what.exists():
            raise JobError(f"there is no file {what}; name a job, or a file of Database.open")
        given = {
            **{"host": host, "port": port, "token_file": token_file, "writable": writable},
            **{"certificate": certificate, "key": key, "plain": plain},
        }
        said: dict[str, Any] = {name: each for name, each in given.items() if each is not None}
        if token_file is not None:
            said["token"] = None
        spec = replace(ServeSpec() if parsed is None else parsed.serve, **said)
        made = (
            Service.file(what, spec)
            if parsed is None
            else Service.job(replace(parsed, serve=spec), show.connector_failed)
        )
        with made as service:
            show.served(service.server.url, len(service.db.views), spec.writable)
            # A signal ends it, as an exception. The system may hand the signal to another thread,
            # which does not wake this one; so it looks up.
            while True:
                time.sleep(_LOOK)


@contextmanager
def _query_errors() -> Iterator[None]:
    """Print errors of one query at a prompt, which continues; Ctrl-C ends the query alone."""
    try:
        yield
    except RingviewError as error:
        show.error(error)
    except KeyboardInterrupt:
        typer.echo()


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of the job as one line; errors in this program keep their traceback."""
    try:
        yield
    except (RingviewError, ImportError) as error:
        show.error(error)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
