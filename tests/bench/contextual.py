"""Pass@k on the contextual-retrieval cookbook's 90 files and 248 questions, searched in SQL.

Pass@k is, for a question, the share of its golden chunks among the first k, averaged, in percent.
`publisher` searches the publisher's own chunks, `prose` and `code` those of our rules of these names:
there a golden chunk counts as found when at least half of its characters lie in the returned spans.
Smaller chunks return less text for the same k, so the characters stand beside.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pg_grain.database import Connection, teach_vectors
from pg_grain.local_model import LocalModel
from pg_grain.worker import Worker

from benchmark import arguments, finish, fresh_database, table

KS = (5, 10, 20)
OURS = ("prose", "code")
MODES = {"dense": "dense", "lexical": "lexical", "fused": "hybrid"}

#: (document, chunk index)
Golden = tuple[str, int]


def load(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(documents, questions)."""
    return (
        [json.loads(line) for line in (folder / "documents.jsonl").open("rb")],
        [json.loads(line) for line in (folder / "questions.jsonl").open("rb")],
    )


def fill(connection: Connection, documents: list[dict[str, Any]]) -> None:
    """Tracked tables: the publisher's chunks, each whole, and the files, cut by our rules."""
    connection.execute(
        "select grain.create_rule('as_given', splitter => 'window', unit => 'characters',"
        " size => 100000, reason => 'the publisher has cut already')"
    )
    connection.execute(
        "create table publisher (document text, place int, content text, primary key (document, place))"
    )
    connection.execute(
        "select grain.track('publisher', content => 'content', rule => 'as_given', language => 'english')"
    )
    for rule in OURS:
        connection.execute(f"create table {rule} (document text primary key, content text)")
        connection.execute(
            f"select grain.track('{rule}', content => 'content', rule => '{rule}',"
            " language => 'english')"
        )
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into publisher values (%s, %s, %s)",
            [(d["document"], c["index"], c["content"]) for d in documents for c in d["chunks"]],
        )
        for rule in OURS:
            cursor.executemany(
                f"insert into {rule} values (%s, %s)",
                [(d["document"], d["content"]) for d in documents],
            )


def spans(documents: list[dict[str, Any]]) -> dict[Golden, tuple[int, int]]:
    """Where each of the publisher's chunks stands in its file."""
    found = {}
    for document in documents:
        start = 0
        for given in document["chunks"]:
            place, text = given["index"], given["content"]
            at = document["content"].find(text, start)
            at = at if at >= 0 else document["content"].find(text)
            found[document["document"], place] = (at, at + len(text))
            start = max(at, 0)
    return found


def main() -> None:
    options = arguments(__doc__, data="contextual")
    documents, questions = load(options.data)
    model = LocalModel()
    vectors = model.embed([question["query"] for question in questions])
    places = spans(documents)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    returned: dict[str, int] = {}
    with fresh_database() as (_, connection):
        fill(connection, documents)
        Worker(connection).drain()
        teach_vectors(connection)

        def search(source: str, mode: str) -> list[list[tuple[Any, ...]]]:
            return [
                connection.execute(
                    "select key, span, char_length(content) from grain.search(%s, %s::real[]::vector,"
                    " k => %s, source => %s, mode => %s, expand => 'none')",
                    [question["query"], [float(x) for x in vector], max(KS), source, mode],
                ).fetchall()
                for question, vector in zip(questions, vectors, strict=True)
            ]

        def on_publishers(rows: list[tuple[Any, ...]]) -> Callable[[Golden], bool]:
            keys = {tuple(json.loads(row[0])) for row in rows}
            return lambda golden: golden in keys

        def on_ours(rows: list[tuple[Any, ...]]) -> Callable[[Golden], bool]:
            def found(golden: Golden) -> bool:
                start, end = places[golden]
                covered: set[int] = set()
                for key, span, _ in rows:
                    if key == golden[0]:
                        covered.update(range(max(start, span.lower), min(end, span.upper)))
                return 2 * len(covered) >= end - start

            return found

        for source, judge in (("publisher", on_publishers), *((rule, on_ours) for rule in OURS)):
            figures[source] = {}
            for leg, mode in MODES.items():
                answers = search(source, mode)
                figures[source][leg] = {
                    str(k): pass_at(questions, [judge(rows[:k]) for rows in answers]) for k in KS
                }
            returned[source] = sum(row[2] for rows in answers for row in rows[:20]) // len(
                questions
            )
    table(
        ("chunks", "leg", *(f"pass@{k}" for k in KS)),
        [
            (source, leg, *(f"{legs[leg][str(k)]:.1f}" for k in KS))
            for source, legs in figures.items()
            for leg in legs
        ],
    )
    for source, characters in returned.items():
        print(f"{source}: {characters:,} characters returned for k = 20, fused, on average")
    finish(True, {}, **figures, characters=returned, model=model.name, questions=len(questions))


def pass_at(questions: list[dict[str, Any]], found: list[Callable[[Golden], bool]]) -> float:
    """Mean share of golden chunks found, in percent."""
    shares = [
        sum(hit((document, place)) for document, place in question["golden_chunks"])
        / len(question["golden_chunks"])
        for question, hit in zip(questions, found, strict=True)
    ]
    return round(100 * sum(shares) / len(shares), 2)


if __name__ == "__main__":
    main()
