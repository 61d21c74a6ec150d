"""Installing over a connection: no file on the server, and a second run changes nothing."""

from __future__ import annotations

import psycopg
from psycopg import sql

from . import artifact
from .errors import UserError

WITHOUT_PLPYTHON = (
    "In psql as a superuser, after installing the server's package postgresql-plpython3-N: "
    "create extension plpython3u;"
)


def install(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """Create or replace the functions and run grain.install(); return what was done."""
    with connection.transaction():
        _require_superuser(connection)
        _require_utf8(connection)
        for name in artifact.REQUIRES:
            _require_extension(connection, name)
        connection.execute(artifact.CONNECTION_GUARD)
        if (
            connection.execute("select from pg_namespace where nspname = 'grain'").fetchone()
            is None
        ):
            connection.execute("create schema grain")
        row = connection.execute(
            "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace"
            " where e.extname = 'vector'"
        ).fetchone()
        assert row is not None
        # The types of pgvector are named without a schema, wherever it lives.
        connection.execute(
            sql.SQL("set local search_path = pg_catalog, {}, pg_temp").format(
                sql.Identifier(str(row[0]))
            )
        )
        connection.execute(artifact.script())
        done = connection.execute("select grain.install()").fetchone()
        assert done is not None
        return str(done[0])


def _require_superuser(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    row = connection.execute(
        "select current_user, rolsuper from pg_roles where rolname = current_user"
    ).fetchone()
    if row is None or not row[1]:
        raise UserError(
            f"the role {row[0] if row else '?'} is no superuser",
            detail="PL/Python is untrusted: only a superuser may create functions in it.",
            hint="pg-grain --dsn 'user=postgres dbname=…' install",
        )


def _require_utf8(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    row = connection.execute("select getdatabaseencoding(), current_database()").fetchone()
    assert row is not None
    if row[0] != "UTF8":
        raise UserError(
            f"the database {row[1]} is not encoded in UTF8",
            detail="Characters are counted and hashed as UTF-8.",
            hint="create database name encoding 'UTF8' template template0;",
        )


def _require_extension(connection: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    known = connection.execute(
        "select installed_version from pg_available_extensions where name = %s", [name]
    ).fetchone()
    if known is None:
        package = {"plpython3u": "PL/Python", "vector": "pgvector"}.get(name, name)
        hint = (
            WITHOUT_PLPYTHON if name == "plpython3u" else "docker/install-postgres.sh installs it."
        )
        raise UserError(
            f"this server has no {package}",
            detail="pg_grain splits and counts inside the database, in PL/Python, and keeps vectors"
            " in pgvector; without them no rule works there. Outside of it all of them do, on text"
            " of your own: pg_grain.plpython.chunking.chunk() in Python.",
            hint=hint,
        )
    if known[0] is None:
        connection.execute(
            sql.SQL("create extension if not exists {}").format(sql.Identifier(name))
        )
