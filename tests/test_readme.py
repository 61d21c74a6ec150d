"""The README is run: its SQL in psql, its commands in a shell, and what it shows is what comes out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from conftest import ROOT

README = ROOT / "README.md"
BLOCK = re.compile(r"^```(sql|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(text: str) -> Iterator[tuple[str, str, str | None]]:
    """(language, code, what it shows): output stands in a text block right behind its code."""
    blocks = list(BLOCK.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "text":
            shows = following is not None and following[1] == "text"
            shows = shows and text[block.end() : following.start()].strip() == ""  # type: ignore[union-attr]
            yield block[1], block[2], following[2] if shows and following else None


def run(language: str, code: str, dsn: str) -> str:
    """What a person would see; in psql without the tags of commands that show nothing."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if language == "sql":
        command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-P", "pager=off", "-d", dsn]
        done = subprocess.run(
            command, input=code, capture_output=True, text=True, check=False, env=environment
        )
    else:
        done = subprocess.run(
            code,
            shell=True,
            capture_output=True,
            text=True,
            check=False,
            env={**environment, "PG_GRAIN_DSN": dsn},
        )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return re.sub(r"[ \t]+$", "", done.stdout, flags=re.MULTILINE).strip("\n")


@pytest.fixture
def served() -> Iterator[None]:
    """The local model at the port that its row names; one that is there already will do."""
    url = "http://127.0.0.1:8089/health"
    try:
        urllib.request.urlopen(url, timeout=5).close()
        yield
        return
    except OSError:
        pass
    server = subprocess.Popen([sys.executable, "-m", "pg_grain.cli", "serve"])
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            break
        except OSError:
            assert server.poll() is None
    yield
    server.terminate()
    server.wait()


@pytest.fixture
def newcomer(dsn: str) -> str:
    """A database as a newcomer has it: with the model that every database starts with."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("delete from grain.model where provider <> 'local'")
        connection.execute("update grain.model set is_default = true")
        connection.execute("select grain.install()")
    return dsn


def test_the_readme_shows_what_happens(newcomer: str, served: None) -> None:
    checked = 0
    for language, code, shown in steps(README.read_text("utf-8")):
        seen = run(language, code, newcomer)
        if shown is not None:
            assert seen == shown.strip("\n"), code
            checked += 1
    assert checked >= 8


def test_every_line_fits_a_screen() -> None:
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1):
            assert len(line) <= 200, f"{name}:{number}"
