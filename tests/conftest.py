"""A database for each test, cloned from a template in which pg_grain is installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pg_grain import database
from pg_grain.install import install
from pg_grain.vocabulary import blob

ROOT = Path(__file__).resolve().parent.parent
Connect = Callable[..., database.Connection]
MakeRole = Callable[..., str]

# A change is judged by the same examples as the one before it; `make explore` draws new ones.
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def find_server() -> str:
    """PG_GRAIN_TEST_DSN if given, else the private cluster."""
    given = os.environ.get("PG_GRAIN_TEST_DSN")
    if given:
        return given
    started = subprocess.run(
        [ROOT / "docker" / "cluster.sh", "dsn"], capture_output=True, text=True, check=True
    )
    return started.stdout.splitlines()[-1]


@pytest.fixture(scope="session")
def server_dsn() -> str:
    """DSN of the server."""
    return find_server()


def make_database(server_dsn: str, name: str, template: str = "template0") -> str:
    """Make a database and return its DSN."""
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create database {} encoding 'UTF8' template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    return make_conninfo(server_dsn, dbname=name)


def drop_database(server_dsn: str, name: str) -> None:
    """Drop a database, whoever is connected to it."""
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
        )


@pytest.fixture(scope="session")
def vocabulary() -> bytes:
    """cl100k_base, packed."""
    return blob("cl100k_base")


@pytest.fixture(scope="session")
def template(server_dsn: str, vocabulary: bytes) -> Iterator[str]:
    """Name of a database with pg_grain, the vocabulary and a model of three dimensions."""
    name = f"grain_template_{uuid4().hex[:12]}"
    with psycopg.connect(make_database(server_dsn, name), autocommit=True) as connection:
        install(connection)
        connection.execute("select grain.add_tokenizer('cl100k_base', %s)", [vocabulary])
        connection.execute(
            "select grain.create_model('tiny', dimensions => 3, endpoint => 'http://127.0.0.1:9/v1')"
        )
    yield name
    drop_database(server_dsn, name)


@pytest.fixture
def dsn(server_dsn: str, template: str) -> Iterator[str]:
    """DSN of a database of the test's own."""
    name = f"grain_test_{uuid4().hex[:12]}"
    yield make_database(server_dsn, name, template)
    drop_database(server_dsn, name)


@pytest.fixture
def connect(dsn: str) -> Iterator[Connect]:
    """Opens further connections to the test's database; they are closed at its end."""
    opened = []

    def open_one(**options: Any) -> database.Connection:
        connection = psycopg.connect(dsn, autocommit=True, **options)
        opened.append(connection)
        return connection

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def db(connect: Connect) -> database.Connection:
    """A superuser's connection to the test's database, in autocommit mode."""
    return connect()


@pytest.fixture
def article(db: database.Connection) -> database.Connection:
    """The connection, with a tracked table public.article of two tenants in it."""
    db.execute(
        "create table public.article (id bigint primary key, org_id text not null, slug text,"
        " title text, body text, views integer not null default 0)"
    )
    db.execute(
        "select grain.track('public.article', content => 'body', key => 'id', tenant => 'org_id',"
        " path => 'slug', title => 'title')"
    )
    return db


@pytest.fixture
def make_role(db: database.Connection) -> Iterator[MakeRole]:
    """Makes roles, which belong to the whole server, and drops them with all they own here."""
    made = []

    def make(member_of: str = "") -> str:
        name = f"grain_test_{uuid4().hex[:12]}"
        made.append(name)
        db.execute(f"create role {name}")  # type: ignore[arg-type]
        if member_of:
            db.execute(f"grant {member_of} to {name}")  # type: ignore[arg-type]
        return name

    yield make
    db.execute("rollback")
    db.execute("reset role")
    for name in made:
        db.execute(f"drop owned by {name} cascade")  # type: ignore[arg-type]
        db.execute(f"drop role {name}")  # type: ignore[arg-type]


def value(connection: database.Connection, query: str, *arguments: object) -> Any:
    """The one value that a query answers."""
    row = connection.execute(query, arguments or None).fetchone()
    assert row is not None
    return row[0]


def embed_all(connection: database.Connection, vector: str = "[1,2,3]") -> int:
    """Do every due embed job with one vector; return how many there were."""
    done = 0
    while True:
        jobs = connection.execute("select tenant_id, job_id from grain.claim('test')").fetchall()
        if not jobs:
            return done
        done += value(
            connection,
            "select grain.complete('test', %s, %s, array_fill(%s::halfvec, array[%s]))",
            [job[0] for job in jobs],
            [job[1] for job in jobs],
            vector,
            len(jobs),
        )
