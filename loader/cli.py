"""The command line: pg-grain install, work, serve, ingest, search, status, eval and more."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click
import psycopg
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import artifact, database, judge
from .errors import UserError
from .ingest import Ingested, files, ingest
from .install import install
from .worker import Tally, Worker, leave_on_signals, wait_for_schema

console = Console(highlight=False)
complaints = Console(stderr=True, highlight=False)


class Group(click.Group):
    """Turns errors that a person can mend into three plain lines and an exit code of 1."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except psycopg.Error as error:
            complain(database.user_error(error))
        except UserError as error:
            complain(error)
        context.exit(1)


def complain(error: UserError) -> None:
    """Message, detail and hint, as psql prints them."""
    for label, text in (("ERROR", str(error)), ("DETAIL", error.detail), ("HINT", error.hint)):
        if text:
            complaints.print(f"{label}:  {text}", markup=False, soft_wrap=True)


@click.group(cls=Group, context_settings={"auto_envvar_prefix": "PG_GRAIN", "show_default": True})
@click.option("--dsn", default="", show_envvar=True, help="Connection; else libpq's PG* settings.")
@click.option("--verbose", is_flag=True, help="Say what is done, on standard error.")
@click.version_option(artifact.VERSION, prog_name="pg-grain")
@click.pass_context
def main(context: click.Context, dsn: str, verbose: bool) -> None:
    """The exact passage back, from Postgres."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    context.obj = dsn


@contextmanager
def connection(dsn: str) -> Iterator[database.Connection]:
    """A connection whose notices are printed as psql does."""
    with database.connect(dsn) as opened:
        opened.add_notice_handler(
            lambda said: complaints.print(
                f"{said.severity}:  {said.message_primary}"
                + (f"\nHINT:  {said.message_hint}" if said.message_hint else ""),
                markup=False,
                soft_wrap=True,
            )
        )
        yield opened


def bar(unit: str) -> Progress:
    """A progress bar on standard error; nothing where nobody is looking."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=complaints,
        transient=True,
        disable=not complaints.is_terminal,
    )


@main.command("install")
@click.pass_obj
def install_command(dsn: str) -> None:
    """Install or upgrade pg_grain in a database, over the connection."""
    with connection(dsn) as opened:
        console.print(install(opened), markup=False)


@main.command("artifact")
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
def artifact_command(folder: Path) -> None:
    """Write the extension's control file and script into FOLDER."""
    for path in artifact.write_extension(folder):
        console.print(path, markup=False)


@main.group()
def tokenizer() -> None:
    """Vocabularies that count tokens inside the database."""


@tokenizer.command("add")
@click.argument("name", default="cl100k_base")
@click.pass_obj
def tokenizer_add(dsn: str, name: str) -> None:
    """Bring the vocabulary NAME in, from tiktoken."""
    from .vocabulary import blob

    with connection(dsn) as opened:
        known = opened.execute("select from grain.vocabulary where name = %s", [name]).fetchone()
        if known is not None:
            console.print(f"{name}: there already", markup=False)
            return
        try:
            data = blob(name)
        except ValueError as error:
            raise UserError(
                f"there is no vocabulary {name}",
                detail=" ".join(str(error).split()),
                hint="pg-grain tokenizer add cl100k_base",
            ) from error
        opened.execute("select grain.add_tokenizer(%s, %s)", [name, data])
        console.print(f"{name}: added, {len(data):,} bytes", markup=False)


@main.command()
@click.option("--once", is_flag=True, help="Leave when no job is due.")
@click.option("--batch", default=32, show_envvar=True, help="Jobs to claim at once.")
@click.option("--tokens", default=100_000, show_envvar=True, help="Tokens to claim at once.")
@click.option("--lease", default=300, show_envvar=True, help="Seconds a claim is held.")
@click.pass_obj
def work(dsn: str, once: bool, batch: int, tokens: int, lease: int) -> None:
    """Fill vectors: take jobs from the queue until there are none, or for ever."""
    import threading

    stop = threading.Event()
    opened = wait_for_schema(dsn, stop, lambda said: complaints.print(said, markup=False))
    if opened is None:
        return
    with opened:
        worker = Worker(opened, batch=batch, tokens=tokens, lease=lease)
        leave_on_signals(worker)
        if not once:
            worker.run()
            return
        worker.tidy()
        with bar("jobs") as progress:
            task = progress.add_task("embedding", total=worker.backlog())

            def report(tally: Tally) -> None:
                done = tally.split + tally.embedded + tally.failed
                progress.update(task, completed=done, total=done + worker.backlog())

            tally = worker.drain(report)
    done = f"{tally.embedded} embedded" + (f", {tally.split} split" if tally.split else "")
    console.print("nothing to do" if not (tally.embedded or tally.split or tally.failed) else done)
    if tally.failed:
        complaints.print(f"{tally.failed} failed", markup=False)
    if tally.pipeline:
        raise UserError(
            "the provider cannot be used",
            detail=tally.pipeline[0],
            hint="Mend it and run this again: the jobs are kept.",
        )
    if tally.failed:
        raise UserError("some jobs failed", hint="select * from grain.errors;")


@main.command("serve")
@click.option("--host", default="127.0.0.1", show_envvar=True, help="Address to listen on.")
@click.option("--port", default=8089, show_envvar=True, help="Port to listen on.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address others can reach.")
@click.option("--announce", default=None, help="Tell the database that it is served at this URL.")
@click.pass_obj
def serve_command(dsn: str, host: str, port: int, allow_remote: bool, announce: str | None) -> None:
    """Serve the local model under the OpenAI embeddings protocol."""
    from .local_model import NAME
    from .serve import serve

    if announce:
        with connection(dsn) as opened:
            opened.execute("select grain.set_endpoint(%s, %s)", [NAME, announce])
    serve(host, port, allow_remote=allow_remote)


@main.command("ingest")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--table", default="documents", show_envvar=True, help="The documents table.")
@click.pass_obj
def ingest_command(dsn: str, paths: tuple[Path, ...], table: str) -> None:
    """Store files, or all files below folders, as documents; made and tracked if need be."""
    total = sum(1 for _ in files(list(paths)))
    with connection(dsn) as opened, bar("files") as progress:
        task = progress.add_task("ingesting", total=total)

        def report(done: Ingested) -> None:
            progress.advance(task)

        done = ingest(opened, list(paths), table, report)
    console.print(
        f"{table}: {done.added} added, {done.changed} changed, {done.unchanged} unchanged,"
        f" {len(done.skipped)} skipped",
        markup=False,
    )
    for path, reason in done.skipped:
        complaints.print(f"skipped {path}: {reason}", markup=False)


@main.command()
@click.argument("query")
@click.option("--k", default=5, help="How many passages.")
@click.option("--path", default=None, help="Only documents whose path holds this.")
@click.option("--tenant", default=None, help="Whose documents.")
@click.pass_obj
def search(dsn: str, query: str, k: int, path: str | None, tenant: str | None) -> None:
    """Print the passages that answer QUERY."""
    with connection(dsn) as opened:
        rows = opened.execute(
            "select rank, citation, content, degraded"
            " from grain.search(%s, k => %s, path => %s, tenant => %s)",
            [query, k, path, tenant],
        ).fetchall()
    if rows and rows[0][3]:
        complaints.print(rows[0][3], markup=False)
    for rank, citation, content, _ in rows:
        console.print(f"{rank}. {citation}", style="bold", markup=False)
        console.print(content.strip() + "\n", markup=False)
    if not rows:
        console.print("nothing found")


@main.command()
@click.pass_obj
def status(dsn: str) -> None:
    """How far each source is."""
    columns = ("source", "rule", "model", "documents", "chunks", "embedded", "pending", "failed")
    with connection(dsn) as opened:
        rows = opened.execute(f"select {', '.join(columns)} from grain.status").fetchall()
    table = Table(*columns)
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)


@main.group("eval")
def evaluation() -> None:
    """Labelled questions, and how well their answers are found."""


def numbers(context: click.Context, parameter: click.Parameter, text: str) -> list[int]:
    """A list of numbers, as "5,10,20"."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise click.BadParameter("numbers with commas between them, such as 5,10,20") from error


@evaluation.command("import")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--skip-bad", is_flag=True, help="Store the good lines; else all or none.")
@click.option("--tenant", default=None, help="Whose they are, where a line does not say.")
@click.pass_obj
def evaluation_import(dsn: str, file: TextIO, skip_bad: bool, tenant: str | None) -> None:
    """Store the labelled questions of FILE, one JSON object a line.

    query; path, or document, or source and key; quote, or span as [start, end); tenant if need be.
    """
    with connection(dsn) as opened:
        done = judge.import_questions(opened, file, tenant, skip_bad)
    for number, reason in done.bad:
        complaints.print(f"skipped line {number}: {reason}", markup=False, soft_wrap=True)
    console.print(f"{done.stored} stored, {len(done.bad)} skipped")


@evaluation.command("run")
@click.option("--source", default=None, help="Its live generation.")
@click.option("--generation", default=None, type=int, help="This generation.")
@click.option("--k", default="5,10,20", callback=numbers, help="How many hits to look at.")
@click.option("--max-tokens", default=None, type=int, help="Cap of what search() returns.")
@click.option("--tenant", default=None, help="Whose questions.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def evaluation_run(
    dsn: str,
    source: str | None,
    generation: int | None,
    k: list[int],
    max_tokens: int | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    """Ask all questions, and store and print what each leg found, with 95 % intervals."""
    with connection(dsn) as opened:
        rows = judge.evaluate(opened, source, generation, k, max_tokens, tenant)
    if as_json:
        click.echo(judge.as_json(rows))
    else:
        console.print(judge.evaluation_table(rows))


@evaluation.command("compare")
@click.argument("a", type=int)
@click.argument("b", type=int)
@click.option("--generations", is_flag=True, help="A and B are generations: their last runs.")
@click.option("--tenant", default=None, help="Whose questions.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def evaluation_compare(
    dsn: str, a: int, b: int, generations: bool, tenant: str | None, as_json: bool
) -> None:
    """Print what evaluation B has gained over A, question by question."""
    with connection(dsn) as opened:
        rows = judge.compare(opened, a, b, generations, tenant)
        asked = {} if as_json else judge.queries(opened, tenant)
    if as_json:
        click.echo(judge.as_json(rows))
        return
    console.print(judge.comparison_table(rows))
    for line in judge.flipped(rows, asked):
        console.print(line, markup=False)


if __name__ == "__main__":
    sys.exit(main())
