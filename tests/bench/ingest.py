"""From INSERT to chunk and on to the vector, beside a bare COPY of the same chunk rows.

The bar: the first call of a session, with modules and vocabulary to load, takes at most 65 ms.
"""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pg_grain.database import Connection
from pg_grain.worker import Worker

from benchmark import arguments, finish, fresh_database, medians, seconds, table
from embedding_server import EmbeddingServer

DOCUMENTS = 300
ROUNDS = 3
FIRST_CALL_MS = 65.0


def corpus() -> list[str]:
    """Markdown made of the standard library's words: real vocabulary, no document twice."""
    folder = Path(random.__file__).parent
    source = "".join(
        (folder / name).read_text("utf-8") for name in ("argparse.py", "typing.py", "inspect.py")
    )
    paragraphs = [part.strip() for part in source.split("\n\n") if len(part.strip()) > 80]
    chooser = random.Random(7)
    documents = []
    for number in range(DOCUMENTS):
        parts = [f"# Document {number}"]
        for section in range(6):
            parts.append(f"## Section {section}")
            parts += chooser.sample(paragraphs, 4)
        documents.append("\n\n".join(parts))
    return documents


def main() -> None:
    arguments(__doc__)
    documents = corpus()
    megabytes = sum(map(len, documents)) / 1e6
    with EmbeddingServer(dimensions=1536) as server, fresh_database() as (dsn, connection):
        connection.execute(
            "select grain.create_model('instant', dimensions => 1536, endpoint => %s)", [server.url]
        )
        connection.execute("create table page (id int primary key, body text)")
        connection.execute("create table plain (id int primary key, body text)")
        connection.execute("select grain.track('page', content => 'body')")

        def insert(target: str) -> None:
            connection.execute(f"truncate {target}")
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"insert into {target} values (%s, %s)", list(enumerate(documents))
                )

        insert("page")
        rows = connection.execute(
            "select tenant_id, document_id, ordinal, content, content_hash from grain.chunk"
        ).fetchall()
        connection.execute(
            "create table bare (tenant_id uuid, document_id uuid, ordinal int, content text, hash bytea)"
        )

        def copy() -> None:
            connection.execute("truncate bare")
            with (
                connection.cursor() as cursor,
                cursor.copy("copy bare from stdin (format binary)") as writer,
            ):
                writer.set_types(["uuid", "uuid", "int4", "text", "bytea"])
                for row in rows:
                    writer.write_row(row)

        tracked, plain, copied = medians(
            ROUNDS, lambda: insert("page"), lambda: insert("plain"), copy
        )
        vectors = seconds(lambda: drain(connection))
        bare, first = (1000 * taken for taken in first_calls(dsn))
    chunks = len(rows)
    table(
        ("what", "seconds", "documents/s", "chunks/s", "MB/s"),
        [
            (
                name,
                f"{taken:.3f}",
                f"{DOCUMENTS / taken:,.0f}",
                f"{chunks / taken:,.0f}",
                f"{megabytes / taken:.2f}",
            )
            for name, taken in (
                ("INSERT into the tracked table", tracked),
                ("INSERT into a plain table", plain),
                ("COPY of the same chunk rows", copied),
                ("vectors, instant provider", vectors),
                ("INSERT and vectors", tracked + vectors),
            )
        ],
    )
    print(
        f"first call of a session: {first:.1f} ms; of a PL/Python block that does nothing: {bare:.1f} ms"
    )
    finish(
        first <= FIRST_CALL_MS,
        {
            "tracked_to_copy": round(tracked / copied, 2),
            "tracked_to_plain": round(tracked / plain, 2),
            "first_call_to_bare_python": round(first / bare, 2),
        },
        documents_per_second=round(DOCUMENTS / tracked),
        megabytes_per_second=round(megabytes / tracked, 2),
        chunks_per_second_to_vectors=round(chunks / vectors),
        documents_per_second_to_vectors=round(DOCUMENTS / (tracked + vectors)),
        first_call_ms=round(first, 1),
    )


def drain(connection: Connection) -> None:
    """Fill every vector."""
    Worker(connection, batch=512, tokens=300_000).drain()


def first_calls(dsn: str) -> list[float]:
    """Median seconds of a session's first call: of PL/Python itself, and of chunk()."""

    def first(statement: str) -> float:
        with psycopg.connect(dsn) as connection:
            return seconds(lambda: connection.execute(statement))

    statements = (
        "do language plpython3u $$ pass $$",
        "select * from grain.chunk(E'# One\\n\\nA few words.')",
    )
    taken = [[first(statement) for statement in statements] for _ in range(15)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


if __name__ == "__main__":
    main()
