"""Connections: libpq owns the settings (PG*, a service, or a DSN), and each statement is short."""

from __future__ import annotations

from typing import Any

import psycopg
from pgvector.psycopg import register_vector

from .errors import UserError

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(dsn: str = "") -> Connection:
    """A connection in autocommit mode, so that no transaction stays open between statements."""
    try:
        return psycopg.connect(dsn, autocommit=True, application_name="pg-grain")
    except psycopg.OperationalError as error:
        raise UserError(
            "no connection to the database",
            detail=" ".join(str(error).split()),
            hint="pg-grain --dsn 'host=… dbname=… user=…', or PGHOST, PGDATABASE and PGUSER",
        ) from error


def teach_vectors(connection: Connection) -> None:
    """Let psycopg send and read pgvector's types on this connection, wherever they live."""
    row = connection.execute(
        "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace"
        " where e.extname = 'vector'"
    ).fetchone()
    if row is None:
        return
    path = connection.execute("select current_setting('search_path')").fetchone()
    assert path is not None
    connection.execute("select set_config('search_path', quote_ident(%s), false)", [row[0]])
    register_vector(connection)
    connection.execute("select set_config('search_path', %s, false)", [path[0]])


def user_error(error: psycopg.Error) -> UserError:
    """A server's error as the person should read it: message, detail and hint, no traceback."""
    said = error.diag
    return UserError(
        said.message_primary or " ".join(str(error).split()),
        detail=said.message_detail or "",
        hint=said.message_hint or "",
    )
