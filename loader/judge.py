"""Labelled questions from a file, and what evaluations found, as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.errors import InsufficientPrivilege, UndefinedObject
from psycopg.rows import dict_row
from psycopg.types.range import Range
from rich.table import Table

from .database import Connection, user_error
from .errors import UserError

#: The fields of a line: how the document is named, how the answer is, and the rest.
NAMES = ("path", "document", "source", "key")
ANSWERS = ("quote", "span")
FIELDS = ("query", *NAMES, *ANSWERS, "tenant")

MEASURES = ("recall", "precision", "ndcg", "mrr", "iou")

Row = dict[str, Any]


@dataclass
class Imported:
    """How many lines were stored, and the number and the fault of each that was not."""

    stored: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)


def read(line: str) -> Row:
    """The fields of one line. Raises ValueError that says what is wrong with it."""
    try:
        said = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error}") from error
    if not isinstance(said, dict):
        raise ValueError("no JSON object")
    unknown = sorted(said.keys() - set(FIELDS))
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; the fields are {', '.join(FIELDS)}")
    label = {name: said[name] for name in FIELDS if said.get(name) is not None}
    if "query" not in label:
        raise ValueError("no query")
    if "key" in label and "source" in label:
        label["key"] = str(label["key"])
    elif ("path" in label) + ("document" in label) != 1:
        raise ValueError("name the document by path, by document (its id), or by source and key")
    if ("quote" in label) + ("span" in label) != 1:
        raise ValueError("name the answer by quote or by span")
    if "span" in label:
        span = label["span"]
        if not (
            isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        ):
            raise ValueError("span is [start, end) in characters, such as [120, 148]")
        if not 0 <= span[0] < span[1] < 2**31:
            raise ValueError(f"the span {span} is empty or out of order")
        label["span"] = f"[{span[0]},{span[1]})"
    for name, value in label.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} is no text")
        if "\0" in value:
            raise ValueError(f"{name} holds a NUL character")
    return label


def import_questions(
    connection: Connection, lines: Iterable[str], tenant: str | None, skip_bad: bool
) -> Imported:
    """Store a label for each line, in one transaction; blank lines are passed over.

    `tenant` holds for lines that name none. Unless bad lines are skipped, one of them makes all of
    it fail: UserError lists them, and nothing is stored.
    """
    done = Imported()
    with connection.transaction():
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                label = read(line)
                with connection.transaction():
                    connection.execute(
                        "select grain.add_question(%s, path => %s, document => %s::uuid,"
                        " source => %s, key => %s, quote => %s, span => %s::int4range,"
                        " tenant => %s)",
                        [
                            *(label.get(name) for name in ("query", *NAMES, *ANSWERS)),
                            label.get("tenant", tenant),
                        ],
                    )
                done.stored += 1
            except ValueError as error:
                done.bad.append((number, str(error)))
            except (psycopg.DataError, UndefinedObject, InsufficientPrivilege) as error:
                said = user_error(error)
                done.bad.append((number, f"{said}. {said.detail}".rstrip(" .")))
        if done.bad and not skip_bad:
            raise UserError(
                f"{len(done.bad)} of {done.stored + len(done.bad)} lines are bad",
                detail="\n".join(f"line {number}: {reason}" for number, reason in done.bad),
                hint="Nothing was stored. To leave them out: pg-grain eval import --skip-bad FILE",
            )
    return done


def evaluate(
    connection: Connection,
    source: str | None,
    generation: int | None,
    k: list[int],
    max_tokens: int | None,
    tenant: str | None,
) -> list[Row]:
    """A row for each leg and k, as grain.evaluate() returns them."""
    return _rows(
        connection,
        "select * from grain.evaluate(%s, %s::bigint, %s, %s::integer, %s)",
        [source, generation, k, max_tokens, tenant],
    )


def compare(
    connection: Connection, a: int, b: int, generations: bool, tenant: str | None
) -> list[Row]:
    """A row for each leg, k and metric, as grain.compare() returns them."""
    return _rows(
        connection,
        "select * from grain.compare(%s, %s, %s, %s)",
        [a, b, generations, tenant],
    )


def queries(connection: Connection, tenant: str | None) -> dict[int, str]:
    """The queries of a tenant's questions by the ids of their labels."""
    rows = connection.execute(
        "select question_id, query from grain.questions(%s)", [tenant]
    ).fetchall()
    return dict(rows)


def evaluation_table(rows: list[Row]) -> Table:
    """What evaluate() returned: each measure with its interval."""
    asked = max(row["questions"] for row in rows)
    stale = f", {rows[0]['stale']} stale ones left out" if rows[0]["stale"] else ""
    table = Table(
        "leg", "k", *MEASURES, title=f"evaluation {rows[0]['evaluation']}: {asked} questions{stale}"
    )
    for row in rows:
        table.add_row(
            row["leg"],
            str(row["k"]),
            *(
                _figure(row[measure], row[f"{measure}_95"]) if row["questions"] else "skipped"
                for measure in MEASURES
            ),
        )
    return table


def comparison_table(rows: list[Row]) -> Table:
    """What compare() returned: b - a, its interval, and better or worse where that is shown."""
    figures: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        interval = row["difference_95"]
        cell = f"{_signed(row['difference'])}\n{_signed(interval.lower)}…{_signed(interval.upper)}"
        if row["verdict"] in ("better", "worse"):
            cell += f"\n{row['verdict']}"
        figures.setdefault((row["leg"], row["k"]), []).append(cell)
    table = Table("leg", "k", *MEASURES, title=f"b - a: {rows[0]['questions']} questions")
    for (leg, k), cells in figures.items():
        table.add_row(leg, str(k), *cells)
    return table


def flipped(rows: list[Row], asked: dict[int, str]) -> list[str]:
    """A line for each question that the expanded leg, what search() returns, gained or lost."""
    return [
        f"{what} at k = {row['k']}: {question} {asked.get(question, '(no longer labelled)')}"
        for row in rows
        if row["leg"] == "expanded"
        for what in ("gained", "lost")
        for question in row[what] or ()
    ]


def as_json(rows: list[Row]) -> str:
    """The rows as a JSON array; an interval is [low, high]."""

    def plain(value: object) -> object:
        if isinstance(value, Decimal):
            return float(value)
        if isinstance(value, Range):
            return [value.lower, value.upper]
        raise TypeError(type(value).__name__)

    return json.dumps(rows, default=plain, indent=2)


def _rows(connection: Connection, statement: str, arguments: list[Any]) -> list[Row]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement, arguments).fetchall()


def _figure(mean: Decimal, interval: Range[Decimal]) -> str:
    """A mean and its interval."""
    return f"{mean:.2f} {interval.lower:.2f}–{interval.upper:.2f}"


def _signed(share: Decimal) -> str:
    """A difference of two shares, with its sign and without its leading 0."""
    return f"{share:+.2f}".replace("0.", ".", 1)
