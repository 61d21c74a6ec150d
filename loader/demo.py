"""The demonstration: real documents, vectors from the local model, and five answers in psql."""

from __future__ import annotations

import asyncio
import email
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import click

from .cli import console
from .local_model import NAME

PORT = 8089
QUESTIONS = (
    "How do I make the database fill the vectors of new rows?",
    "What happens to a job when a worker is killed?",
    "How does asyncio run a blocking function in another thread?",
    "Which policy keeps long header lines of an e-mail folded?",
    "How do I make the JSON encoder accept objects of my own?",
)

ASK = r"""
\set QUIET on
\pset pager off
\pset footer off
\pset linestyle unicode
\pset border 2
\pset expanded on
\pset format wrapped
\pset columns 120
select
    rank,
    path,
    array_to_string(section_path, ' › ') as heading,
    lower(lines) || '–' || upper(lines) - 1 as lines,
    left(content, 400) || case when length(content) > 400 then ' …' else '' end as passage
from grain.search(:'question', k => 2, neighbours => 0, source => 'documents');
"""


@click.command()
@click.option("--dsn", required=True, help="The database, with pg_grain in it.")
def main(dsn: str) -> None:
    """Ingest, embed, serve the model, and ask five questions through psql."""
    standard_library = [package.__path__[0] for package in (asyncio, email, json)]
    own = [str(path) for path in sorted(Path.cwd().glob("*.md"))]
    say("Storing this project's Markdown and the standard library's asyncio, email and json")
    grain(dsn, "ingest", *own, *standard_library)
    say(f"Filling the vectors with {NAME}")
    grain(dsn, "work", "--once")
    say("Serving the model, so that the database can embed a question")
    serve()
    for question in QUESTIONS:
        say(f"select * from grain.search('{question}')")
        subprocess.run(
            ["psql", "-X", "-d", dsn, "-v", f"question={question}", "-f", "-"],
            input=ASK,
            text=True,
            check=True,
        )


def say(text: str) -> None:
    console.print(f"\n{text}", style="bold", markup=False, soft_wrap=True)


def grain(dsn: str, *arguments: str) -> None:
    """One of our own commands, as a person would type it."""
    done = subprocess.run(
        [sys.executable, "-m", "pg_grain.cli", "--dsn", dsn, *arguments], check=False
    )
    if done.returncode:
        sys.exit(done.returncode)


def serve() -> None:
    """Start `pg-grain serve` unless it answers already; it stays for your own questions."""
    if healthy():
        console.print("it is served already")
        return
    folder = Path(".grain")
    folder.mkdir(exist_ok=True)
    with (folder / "serve.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "pg_grain.cli", "serve", "--port", str(PORT)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (folder / "serve.pid").write_text(f"{server.pid}\n")
    for _ in range(300):
        if healthy():
            console.print(f"http://127.0.0.1:{PORT}/v1, process {server.pid}; `make clean` ends it")
            return
        time.sleep(0.1)
    console.print("it does not answer (see .grain/serve.log); the answers will be lexical")


def healthy() -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    main()
