"""The words that full-text search knows: identifiers whole and in parts, pairs without blanks."""

from __future__ import annotations

import random

import psycopg
import pytest
from hypothesis import given, settings

from pg_grain.database import Connection
from pg_grain.plpython.words import words

from conftest import Connect, value
from documents import any_text, grows_linearly


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Pump is RED", "the pump is red"),
        ("getUserName", "getusername get user name"),
        ("get_user_name", "getusername get user name"),
        ("get-user-name", "getusername get user name"),
        ("GET_USER", "getuser get user"),
        ("user.getName", "usergetname user getname get name"),
        ("HTTPServer", "httpserver http server"),
        ("parseXMLFast", "parsexmlfast parse xml fast"),
        ("iOS", "ios i os"),
        ("utf8", "utf8 utf 8"),
        ("v1.2.10", "v1210 v1 v 1 2 10"),
        ("__init__", "init"),
        ("_private", "private"),
        ("lib/vectorStorage.ts", "lib vectorstoragets vectorstorage vector storage ts"),
        ("std::sort(a[0])", "std sort a 0"),
        ("don't", "dont don t"),
        ("the pump\u2019s seal", "the pumps pump s seal"),
        ("end. Next", "end next"),
        ("wait...what", "waitwhat wait what"),
        ("a--b", "ab a b"),
        ("\ufb01ne \uff21\uff22", "fine ab"),
        ("E\u0301te\u0301", "\u00e9t\u00e9"),
        ("\u00dcberName", "\u00fcbername \u00fcber name"),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e",
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u092d\u093e\u0937\u093e",
        ),
        ("\u6771\u4eac\u90fd", "\u6771\u4eac \u4eac\u90fd"),
        ("\u732b", "\u732b"),
        ("\u6771\u4eac2024\u5e74", "\u6771\u4eac 2024 \u5e74"),
        ("", ""),
        (" \t\n.,;-_'", ""),
    ],
)
def test_the_words_of_a_text(text: str, expected: str) -> None:
    assert words(text) == expected


def test_what_is_long_is_cut() -> None:
    assert words("x" * 3000) == "x" * 250
    assert words("aB1" * 100) == "ab1" * 83 + "a"
    assert words("-".join(["long"] * 100)) == " ".join(["long"] * 100)


@settings(max_examples=300, deadline=None)
@given(any_text())
def test_words_are_letters_and_digits(text: str) -> None:
    for word in words(text).split():
        # Each is found by itself.
        assert word in words(word).split()
        assert not set(word) & set(" \n\t-_.'\u2019,;:/()")
        assert word == word.lower() or not word.isascii()


@pytest.mark.parametrize(
    "unit", ["a", "A", "aB", "a-", "_", "1a", "'", "a'", "\u6771", "\u0301", "e\u0301", "\u00dc"]
)
def test_time_is_linear(unit: str) -> None:
    assert grows_linearly(words, unit * (20_000 // len(unit)))


@pytest.fixture
def page(db: Connection) -> Connection:
    db.execute("create table page (id int primary key, body text)")
    db.execute("select grain.track('page', content => 'body', language => 'english')")
    return db


def found(page: Connection, query: str) -> list[str]:
    return [
        row[0]
        for row in page.execute(
            "select key from grain.search(%s, mode => 'lexical', expand => 'none') order by key",
            [query],
        ).fetchall()
    ]


@pytest.mark.parametrize(
    ("body", "queries", "not_by"),
    [
        (
            "Call `getUserName(id)` first.",
            ["get_user_name", "getUserName", "getusername", "user", "names"],
            "fetch",
        ),
        (
            "See lib/vectorStorage.ts for it.",
            ["vectorStorage", "vector", "vectorStorage.ts", "storage"],
            "store",
        ),
        ("Set MAX_RETRY_COUNT to 3.", ["retries", "max retry count", "maxRetryCount"], "maximum"),
        (
            "\u6771\u4eac\u30bf\u30ef\u30fc\u306f\u9ad8\u3044\u3067\u3059\u3002",
            ["\u6771\u4eac", "\u30bf\u30ef\u30fc", "\u9ad8\u3044"],
            "\u5927\u962a",
        ),
        ("The encoder speaks UTF-8.", ["utf8", "UTF-8", "encoders"], "ascii"),
    ],
)
def test_words_are_found(page: Connection, body: str, queries: list[str], not_by: str) -> None:
    page.execute("insert into page values (1, %s), (2, 'Something else altogether.')", [body])
    for query in queries:
        assert found(page, query) == ["1"], query
    assert found(page, not_by) == []


def test_a_title_counts_more_than_the_text(db: Connection) -> None:
    lexemes = "grain._lexemes('english', 'Pumping stations', 'The call of getPump')"
    assert value(db, f"select ts_filter({lexemes}, '{{a}}')::text") == "'pump':1A 'station':2A"
    assert value(db, f"select tsvector_to_array({lexemes})") == [
        *("call", "get", "getpump", "pump", "station")
    ]


def test_the_server_knows_the_same_words(connect: Connect) -> None:
    connection = connect()

    @settings(max_examples=100, deadline=None)
    @given(any_text())
    def compare(text: str) -> None:
        text = text.replace("\0", "").encode("utf-8", "ignore").decode()
        assert value(connection, "select grain._words(%s)", text) == words(text)

    compare()


def test_more_words_than_a_vector_holds_fail_no_insert(db: Connection) -> None:
    chosen = random.Random(3)
    many = " ".join("".join(chosen.choices("abcdefghij", k=8)) for _ in range(160_000))
    assert len(many) > 1_400_000
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        db.execute("select to_tsvector('simple', %s)", [many])
    kept = value(db, "select length(grain._lexemes('simple', '', %s))", many)
    assert 30_000 < kept < 160_000
    again = "word " * 400_000
    assert value(db, "select length(grain._lexemes('simple', '', %s))", again) == 1


def test_long_words_are_stored_without_a_notice(page: Connection) -> None:
    notices: list[str] = []
    page.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    page.execute("insert into page values (1, %s)", ["needle " + "QUJD" * 2000])
    assert found(page, "needle") == ["1"]
    assert set(found(page, "QUJD" * 2000)) == {"1"}
    assert notices == []
