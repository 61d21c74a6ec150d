"""The loader as a process: real commands, a real endpoint, real kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pg_grain.database import Connection

from conftest import value
from embedding_server import EmbeddingServer, refuse, vector_for

GRAIN = [sys.executable, "-m", "pg_grain.cli"]


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(dimensions=8) as server:
        yield server


@pytest.fixture
def remote(db: Connection, provider: EmbeddingServer) -> Connection:
    """A tracked table whose model is the test server's."""
    db.execute(
        "select grain.create_model('remote', dimensions => 8, endpoint => %s)", [provider.url]
    )
    db.execute("create table page (id int primary key, path text, body text)")
    db.execute("select grain.track('page', content => 'body', path => 'path')")
    return db


def run(dsn: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GRAIN, "--dsn", dsn, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "OPENAI_API_KEY": "test-key", **environment},
    )


def fill(db: Connection, n: int) -> None:
    db.execute(
        "insert into page select i, i || '.md', 'Page number ' || i || '.' from generate_series(1, %s) i",
        [n],
    )


def right_vectors(db: Connection) -> int:
    """How many chunks have the vector of their own text; others fail the test."""
    rows = db.execute(
        "select content, embedding::text from grain.doc_chunks where embedding is not null"
    ).fetchall()
    for content, embedding in rows:
        stored = [float(number) for number in embedding.strip("[]").split(",")]
        assert stored == pytest.approx(list(vector_for(content, 8)), abs=1e-3), content
    return len(rows)


def test_work_once_fills_every_vector(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 50)
    done = run(dsn, "work", "--once")
    assert (done.returncode, done.stdout.strip()) == (0, "50 embedded"), done.stderr
    assert right_vectors(remote) == 50
    assert value(remote, "select count(*) from grain.job") == 0
    assert run(dsn, "work", "--once").stdout.strip() == "nothing to do"
    assert max(provider.asked.values()) == 1


def test_search_embeds_its_query_in_the_database(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 20)
    run(dsn, "work", "--once")
    row = remote.execute(
        "select content, dense_rank, degraded from grain.search('Page number 7.', mode => 'dense', expand => 'none')"
    ).fetchone()
    assert row == ("Page number 7.", 1, None)
    vector = value(remote, "select grain.embed('hello', 'remote')::text")
    stored = [float(number) for number in vector.strip("[]").split(",")]
    assert stored == pytest.approx(list(vector_for("hello", 8)), abs=1e-6)


def test_one_poison_text_fails_alone(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 40)
    provider.poison = {"Page number 13."}
    done = run(dsn, "work", "--once")
    assert done.returncode == 1
    assert "select * from grain.errors" in done.stderr
    assert right_vectors(remote) == 39
    errors = remote.execute("select key, error_class, parked from grain.errors").fetchall()
    assert errors == [("13", "record-permanent", True)]
    assert "13" not in value(remote, "select error from grain.errors").split("Page")


def test_a_provider_that_is_down_loses_nothing(remote: Connection, dsn: str) -> None:
    remote.execute(
        "update grain.model set endpoint = 'http://127.0.0.1:9/v1' where name = 'remote'"
    )
    fill(remote, 3)
    done = run(dsn, "work", "--once")
    assert done.returncode == 1
    assert done.stderr.startswith("3 failed\nERROR:  the provider cannot be used\nDETAIL:")
    assert "Traceback" not in done.stderr
    assert (
        value(remote, "select count(*) from grain.job where attempts = 0 and lease_until is null")
        == 3
    )


def test_the_key_is_named_and_never_shown(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 1)
    provider.always = refuse(401)
    done = run(dsn, "--verbose", "work", "--once", OPENAI_API_KEY="sk-very-secret")
    assert done.returncode == 1
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "sk-very-secret" not in str(remote.execute("select * from grain.errors").fetchall())


def test_a_killed_worker_loses_no_job(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 200)
    provider.latency = 0.2
    for _ in range(3):
        before = len(provider.requests)
        worker = subprocess.Popen(
            [*GRAIN, "--dsn", dsn, "work", "--batch", "20", "--lease", "1"],
            env={**os.environ, "OPENAI_API_KEY": "test-key"},
        )
        deadline = time.monotonic() + 60
        while len(provider.requests) <= before + 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    provider.latency = 0.0
    deadline = time.monotonic() + 60
    while value(remote, "select count(*) from grain.job") and time.monotonic() < deadline:
        assert run(dsn, "work", "--once").returncode == 0
        time.sleep(0.1)
    assert right_vectors(remote) == 200
    again = sum(1 for times in provider.asked.values() if times > 1)
    assert again <= 3 * 20


def test_sigterm_ends_the_batch_and_leaves(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 60)
    provider.latency = 0.5
    worker = subprocess.Popen(
        [*GRAIN, "--dsn", dsn, "work", "--batch", "10"],
        env={**os.environ, "OPENAI_API_KEY": "test-key"},
    )
    deadline = time.monotonic() + 60
    while not provider.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=30) == 0
    assert value(remote, "select count(*) from grain.job where lease_until is not null") == 0
    assert 0 < right_vectors(remote) < 60


def test_no_transaction_is_open_while_the_provider_is_asked(
    remote: Connection, dsn: str, provider: EmbeddingServer
) -> None:
    fill(remote, 5)
    provider.latency = 2.0
    worker = subprocess.Popen(
        [*GRAIN, "--dsn", dsn, "work", "--once"], env={**os.environ, "OPENAI_API_KEY": "test-key"}
    )
    deadline = time.monotonic() + 60
    while not provider.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    states = remote.execute(
        "select state, backend_xmin from pg_stat_activity where application_name = 'pg-grain'"
        " and datname = current_database()"
    ).fetchall()
    assert states == [("idle", None)]
    assert worker.wait(timeout=60) == 0


def test_embedding_a_query_can_be_cancelled(remote: Connection, provider: EmbeddingServer) -> None:
    provider.latency = 20.0
    remote.execute("set statement_timeout = '300ms'")
    before = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        remote.execute("select grain.embed('hello', 'remote')")
    assert time.monotonic() - before < 10


def test_ingest_stores_files_once(db: Connection, dsn: str, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.md").write_text("# One\n\nAlpha.\n", "utf-8")
    (folder / "deep" / "two.txt").write_text("Beta.\n", "utf-8")
    (folder / "three.bin").write_bytes(b"\0\1\2")
    (folder / "four.txt").write_bytes(b"caf\xe9")
    done = run(dsn, "ingest", str(folder))
    assert done.stdout.strip() == "documents: 2 added, 0 changed, 0 unchanged, 2 skipped", (
        done.stderr
    )
    assert "three.bin: binary" in done.stderr
    assert "four.txt: not UTF-8" in done.stderr
    (folder / "one.md").write_text("# One\n\nGamma.\n", "utf-8")
    done = run(dsn, "ingest", str(folder))
    assert done.stdout.strip() == "documents: 0 added, 1 changed, 1 unchanged, 2 skipped"
    rows = db.execute("select path, section_path, content from grain.search('gamma')").fetchall()
    assert rows == [("notes/one.md", ["One"], "Gamma.")]


def test_commands_tell_a_person_what_to_do(dsn: str) -> None:
    for arguments in (
        ["search", "x", "--tenant", ""],
        ["ingest", "/no/such/folder"],
        ["tokenizer", "add", "no_such"],
        ["ingest", ".", "--table", "a.b.c.d"],
    ):
        done = run(dsn, *arguments)
        assert done.returncode == 1, arguments
        assert done.stderr.startswith("ERROR:  "), done.stderr
        assert "HINT:  " in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    done = run("host=/nowhere dbname=x", "status")
    assert done.returncode == 1
    assert done.stderr.startswith("ERROR:  no connection to the database")


def test_a_worker_waits_for_the_schema(server_dsn: str) -> None:
    from uuid import uuid4

    from pg_grain.install import install

    from conftest import drop_database, make_database

    name = f"grain_late_{uuid4().hex[:12]}"
    dsn = make_database(server_dsn, name)
    try:
        worker = subprocess.Popen(
            [*GRAIN, "--dsn", dsn, "work", "--once"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert worker.stderr is not None
        assert "waiting for the schema grain" in worker.stderr.readline()
        with psycopg.connect(dsn, autocommit=True) as connection:
            install(connection)
        out, _ = worker.communicate(timeout=60)
        assert out.strip() == "nothing to do"
    finally:
        drop_database(server_dsn, name)
