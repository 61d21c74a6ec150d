"""What the measurements share: a database of their own, and the form of their answer."""

from __future__ import annotations

import argparse
import hashlib
import json
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import psycopg

from pg_grain.database import Connection
from pg_grain.install import install
from pg_grain.local_model import LocalModel, Vectors
from pg_grain.vocabulary import blob

from conftest import ROOT, drop_database, find_server, make_database


@contextmanager
def fresh_database() -> Iterator[tuple[str, Connection]]:
    """A new database with pg_grain and its vocabulary: (DSN, connection in autocommit mode)."""
    server = find_server()
    name = f"grain_bench_{uuid4().hex[:12]}"
    dsn = make_database(server, name)
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            install(connection)
            connection.execute(
                "select grain.add_tokenizer('cl100k_base', %s)", [blob("cl100k_base")]
            )
            yield dsn, connection
    finally:
        drop_database(server, name)


def arguments(description: str | None, data: str = "") -> argparse.Namespace:
    """The command line: --data where a folder of data is wanted."""
    parser = argparse.ArgumentParser(description=description)
    if data:
        parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / data)
    return parser.parse_args()


class VectorCache:
    """The local model's vectors, each kept in a file by the digest of its text."""

    def __init__(self) -> None:
        self._model = LocalModel()
        folder = ROOT / ".grain"
        folder.mkdir(exist_ok=True)
        self._file = sqlite3.connect(folder / f"{self._model.name}.vectors", timeout=300)
        self._file.execute("create table if not exists vector (digest primary key, vector)")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, shape (texts, dimensions)."""
        digests = [hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in texts]
        query = "select vector from vector where digest = ?"
        known = {
            digest: found[0]
            for digest in digests
            if (found := self._file.execute(query, [digest]).fetchone())
        }
        missing = {d: t for d, t in zip(digests, texts, strict=True) if d not in known}
        due = list(missing.items())
        for first in range(0, len(due), 256):
            some = due[first : first + 256]
            for (digest, _), vector in zip(
                some, self._model.embed([text for _, text in some]), strict=True
            ):
                known[digest] = vector.tobytes()
            with self._file:
                self._file.executemany(
                    "insert or ignore into vector values (?, ?)",
                    [(digest, known[digest]) for digest, _ in some],
                )
        joined = b"".join(known[digest] for digest in digests)
        return np.frombuffer(joined, np.float32).reshape(len(texts), self._model.dimensions)


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def medians(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median time of each, taken in turn so that a noisy neighbour meets all of them."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for taken, work in zip(times, works, strict=True):
            taken.append(seconds(work))
    return [statistics.median(taken) for taken in times]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a header, columns aligned."""
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def finish(ok: bool, ratios: dict[str, float], **figures: object) -> None:
    """Print the last line, one JSON object, and leave with 1 where a bar was missed."""
    print(json.dumps({"ok": ok, "ratios": ratios, **figures}))
    sys.exit(0 if ok else 1)
