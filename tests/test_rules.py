"""Rules: what makes none is refused when it is made, with the way to say it right."""

from __future__ import annotations

import psycopg
import pytest

from pg_grain.database import Connection

from conftest import value


@pytest.mark.parametrize(
    ("size", "overlap"), [(512, 512), (100, 200), (0, 0), (-5, 0), (10, -1), (None, 0)]
)
def test_a_rule_that_could_not_progress_is_refused(
    db: Connection, size: int | None, overlap: int
) -> None:
    with pytest.raises(psycopg.Error, match="makes no chunks") as caught:
        db.execute(
            "select grain.create_rule('r', splitter => 'window', size => %s, overlap => %s, reason => 'x')",
            [size, overlap],
        )
    assert caught.value.sqlstate == "22023"
    with pytest.raises(psycopg.errors.IntegrityError):
        db.execute(
            "insert into grain.rule (name, splitter, unit, size, overlap, reason)"
            " values ('r', 'window', 'characters', %s, %s, 'x')",
            [size, overlap],
        )


def test_a_rule_is_immutable_named_and_reasoned(db: Connection) -> None:
    db.execute(
        "select grain.create_rule('tiny', splitter => 'window', unit => 'characters', size => 1,"
        " reason => 'the smallest there is')"
    )
    assert value(db, "select count(*) from grain.chunk('abc', 'tiny')") == 3
    with pytest.raises(psycopg.Error, match="is never updated"):
        db.execute("update grain.rule set size = 2 where name = 'tiny'")
    with pytest.raises(psycopg.Error, match='under the name "window"'):
        db.execute(
            "select grain.create_rule('again', splitter => 'window', unit => 'characters', size => 1000,"
            " overlap => 200, reason => 'x')"
        )
    with pytest.raises(psycopg.Error, match="has no reason"):
        db.execute("select grain.create_rule('r', size => 7)")
    with pytest.raises(psycopg.Error, match='no rule "nope"') as caught:
        db.execute("select grain.chunk('x', 'nope')")
    assert "window, prose" in (caught.value.diag.message_detail or "")


@pytest.mark.parametrize(
    ("splitter", "options", "message"),
    [
        ("prose", '{"separators": ["x"]}', 'the splitter "prose" has no option "separators"'),
        ("window", '{"min_size": 4}', 'the splitter "window" has no option "min_size"'),
        ("recursive", '{"close": 0.5}', 'the splitter "recursive" has no option "close"'),
        ("prose", '{"colour": "red"}', 'the splitter "prose" has no option "colour"'),
        ("prose", "[]", "options is no JSON object"),
        ("prose", "null", "options is no JSON object"),
        ("prose", '{"min_size": 400}', "min_size is a whole number below the size"),
        ("prose", '{"min_size": "4"}', "min_size is a whole number below the size"),
        ("prose", '{"min_size": -1}', "min_size is a whole number below the size"),
        ("recursive", '{"separators": "x"}', "separators is an array of strings"),
        ("recursive", '{"separators": [1]}', "separators is an array of strings"),
        ("sentence", '{"close": 1.5}', "close is a share of the size"),
        ("sentence", '{"close": "x"}', "close is a share of the size"),
        ("sentence", '{"close": null}', "close is a share of the size"),
        ("prose", '{"expand": "all"}', "expand is none, neighbours or section"),
        ("prose", '{"expand": null}', "expand is none, neighbours or section"),
    ],
)
def test_options_that_a_splitter_does_not_have_are_refused(
    db: Connection, splitter: str, options: str, message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        db.execute(
            "select grain.create_rule('r', splitter => %s, size => 400, options => %s, reason => 'x')",
            [splitter, options],
        )
    assert caught.value.sqlstate == "22023"
    assert caught.value.diag.message_hint


@pytest.mark.parametrize(
    ("splitter", "options", "text", "expected"),
    [
        ("recursive", '{"separators": ["|", ""]}', "one|two|three", ["one|", "two|", "three"]),
        ("sentence", '{"close": 0.2}', "One.\nTwo.\n", ["One.", "Two."]),
        ("sentence", '{"close": 1}', "One.\nTwo.\n", ["One.\nTwo."]),
        ("prose", '{"min_size": 0}', "# A\n\na\n\n# B\n\nb\n", ["a", "b"]),
        ("prose", '{"min_size": 8}', "# A\n\na\n\n# B\n\nb\n", ["# A\n\na\n\n# B\n\nb"]),
    ],
)
def test_options_do_what_they_say(
    db: Connection, splitter: str, options: str, text: str, expected: list[str]
) -> None:
    size = 6 if splitter == "recursive" else 16
    db.execute(
        "select grain.create_rule('r', splitter => %s, unit => 'characters', size => %s,"
        " options => %s, reason => 'x')",
        [splitter, size, options],
    )
    found = db.execute(
        "select content from grain.chunk(%s, 'r', format => 'markdown') order by ordinal", [text]
    )
    assert [content for (content,) in found] == expected
