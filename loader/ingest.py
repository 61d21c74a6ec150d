"""Ingesting files: each becomes a row of a documents table, whose triggers do the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql

from .database import Connection
from .errors import UserError

#: Folders that hold no documents of their own.
PASSED_OVER = {".git", ".hg", ".venv", "__pycache__", "node_modules", ".mypy_cache", ".ruff_cache"}


@dataclass
class Ingested:
    """What became of the files: by number, and the skipped ones with their reasons."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)


def files(roots: list[Path]) -> Iterator[tuple[str, Path]]:
    """(path to store, file) of every file named or below a folder named.

    The stored path starts with the folder's own name, so that two folders stay apart.
    """
    for root in roots:
        if root.is_dir():
            base = root.resolve()
            for folder, below, names in os.walk(base):
                below[:] = sorted(name for name in below if name not in PASSED_OVER)
                for name in sorted(names):
                    file = Path(folder) / name
                    yield f"{base.name}/{file.relative_to(base).as_posix()}", file
        elif root.is_file():
            yield root.name, root
        else:
            raise UserError(
                f"there is no file or folder {root}", hint="pg-grain ingest docs README.md"
            )


def read_text(file: Path) -> str:
    """The text of a file in UTF-8; ValueError says why it is none."""
    data = file.read_bytes()
    if b"\0" in data:
        raise ValueError("binary")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8") from error


def table_name(connection: Connection, name: str) -> sql.Composable:
    """The documents table, quoted; made and tracked if it is not there."""
    try:
        row = connection.execute("select to_regclass(%s) is null, parse_ident(%s)", [name] * 2)
        missing, parts = row.fetchone() or (True, [name])
    except (psycopg.DataError, psycopg.errors.SyntaxError) as error:
        raise UserError(f'"{name}" names no table', hint="--table documents") from error
    if missing:
        connection.execute("select grain.create_documents(%s)", [name])
    return sql.SQL(".").join(sql.Identifier(part) for part in parts)


def ingest(
    connection: Connection,
    roots: list[Path],
    table: str = "documents",
    report: Callable[[Ingested], None] = lambda done: None,
) -> Ingested:
    """Write each file whose text is not stored yet, one transaction a file."""
    target = table_name(connection, table)
    statement = sql.SQL(
        "insert into {} as d (path, content) values (%s, %s)"
        " on conflict (tenant_id, path) do update"
        " set content = excluded.content, updated_at = now()"
        " where d.content <> excluded.content"
        " returning d.xmax = 0"
    ).format(target)
    done = Ingested()
    for path, file in files(roots):
        try:
            text = read_text(file)
        except (OSError, ValueError) as error:
            done.skipped.append((path, str(error)))
        else:
            row = connection.execute(statement, [path, text]).fetchone()
            if row is None:
                done.unchanged += 1
            elif row[0]:
                done.added += 1
            else:
                done.changed += 1
        report(done)
    return done
