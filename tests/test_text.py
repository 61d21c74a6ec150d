"""What text is made of: grapheme clusters, blanks, lines, sentences, prefixes, plain paragraphs."""

from __future__ import annotations

import pytest

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.graphemes import border_before, is_border
from pg_grain.plpython.pieces import Lines, Piece, Rule, is_blank

from documents import english


@pytest.fixture(scope="module")
def counter() -> tokens.Counter:
    return tokens.load(vocabulary.blob())


def pieces(
    text: str, rule: Rule, counter: tokens.Counter | None = None, format: str = "text"
) -> list[Piece]:
    count = counter.count if counter else None
    return [piece for piece in chunk(text, rule, format=format, count=count) if piece is not None]


def clusters(text: str) -> list[str]:
    borders = [at for at in range(len(text) + 1) if is_border(text, at)]
    return [text[a:b] for a, b in zip(borders, borders[1:])]


@pytest.mark.parametrize(
    "cluster",
    [
        "a\u0301",
        "e\u0323\u0302",
        "\r\n",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f44d\U0001f3fd",
        "\U0001f1e6\U0001f1f9",
        "1\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e0062\U000e007f",
        "\u1112\u1161\u11ab",
        "\uac00\u11a8",
        "\u0915\u093f",
        "\uff76\uff9e",
    ],
    ids=ascii,
)
def test_a_cluster_is_one(cluster: str) -> None:
    assert clusters(cluster) == [cluster]
    assert clusters(f"x{cluster}y") == ["x", cluster, "y"]
    assert clusters(cluster * 3) == [cluster] * 3


@pytest.mark.parametrize("text", ["ab", "a\u00e9b", "\u732b\u72ac", "\uac00\uac01", "\n\n", "\n\r"])
def test_other_characters_stand_alone(text: str) -> None:
    assert clusters(text) == list(text)


def test_the_border_before_an_offset() -> None:
    text = "ab\u0301\u0302c"
    assert [border_before(text, at, 0) for at in (1, 2, 3, 4)] == [1, 1, 1, 4]
    # No border is left behind 1, so the offset itself is one.
    assert border_before(text, 3, 1) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\r\n",
        "\xa0\u2003\u3000",
        "\u200b\u200c\u200d\u2060",
        "\ufeff",
        "\xad",
        "\x00\x1f\x7f",
    ],
    ids=ascii,
)
def test_nothing_to_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + "x" + text)


@pytest.mark.parametrize(
    "character", ["x", ".", "\u0301", "\u732b", "\U0001f600", "\ufffd", "\ufffc"]
)
def test_what_can_be_seen_is_not_blank(character: str) -> None:
    assert not is_blank(character)


def test_lines_end_with_any_line_end() -> None:
    text = "a\nb\r\nc\rd\n\re"
    lines = Lines(text)
    assert [(text[at], lines.at(at)) for at in range(len(text))] == [
        ("a", 1),
        ("\n", 1),
        ("b", 2),
        ("\r", 2),
        ("\n", 2),
        ("c", 3),
        ("\r", 3),
        ("d", 4),
        ("\n", 4),
        ("\r", 5),
        ("e", 6),
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Lift it slowly. Then let it down again now.", "Lift it slowly."),
        ("Is it on? Then let it run for a while now.", "Is it on?"),
        ('He said "stop now!" Then it was all quiet.', 'He said "stop now!"'),
        ("We met Dr. Miller there. Then we went away.", "We met Dr. Miller there."),
        ("See e.g. Fig. 3 for it. Then turn the page.", "See e.g. Fig. 3 for it."),
        ("It costs 3.50 or more. Then add the taxes.", "It costs 3.50 or more."),
        ("Read a.b.c of x.py first. Then go to y.py.", "Read a.b.c of x.py first."),
        ("the sale was closed. a gain of 3 was booked.", "the sale was closed."),
        ("it expires in 2020. a deferred tax was set.", "it expires in 2020."),
        ("Il est en panne ! Coupez le courant vite.", "Il est en panne !"),
        ("It is off . The lamp went out before that .", "It is off ."),
        ("Take 3 or more incl. the spare. Then stop it.", "Take 3 or more incl. the spare."),
        ("Vi reiste den 12. mai til Oslo. Der var det.", "Vi reiste den 12. mai til Oslo."),
        ("Is a ? b : c what you want? Then write it so.", "Is a ? b : c what you want?"),
    ],
)
def test_a_cut_falls_between_sentences(text: str, first: str) -> None:
    assert pieces(text, Rule("prose", "characters", 33, 0))[0].content == first


def test_full_width_stops_end_sentences(counter: tokens.Counter) -> None:
    text = "第一の文です。第二の文ですか？第三の文！第四；第五……第六．" * 80
    found = pieces(text, Rule("prose", "tokens", 100, 0), counter)
    assert "".join(piece.content for piece in found) == text
    assert all(piece.content[-1] in "。？！；…．" for piece in found)
    assert all(counter.count(piece.content) <= 100 for piece in found)


def test_paragraphs_are_kept_whole() -> None:
    text = "\n\n".join(f"{name} " * 20 for name in ("one", "two", "three", "four"))
    found = [piece.content.split() for piece in pieces(text, Rule("prose", "words", 45, 0))]
    assert 2 <= len(found) < 4
    assert all(len(words) in (20, 40) for words in found)
    assert all(words.count(word) == 20 for words in found for word in words)


def test_a_single_long_line_is_cut_everywhere_it_must(counter: tokens.Counter) -> None:
    text = ",".join(f"v{n}=function(a){{return a*{n}+'s{n}'}}" for n in range(700)) + ";"
    found = pieces(text, Rule("prose", "tokens", 400, 0), counter)
    assert "".join(piece.content for piece in found) == text
    assert all(counter.count(piece.content) <= 400 for piece in found)
    assert counter.count(text) / len(found) > 250


def test_a_section_within_the_size_has_no_overlap(counter: tokens.Counter) -> None:
    text = "\n".join(f"# {n}\n\n{english(60, n)}\n" for n in range(5))
    found = pieces(text, Rule("prose", "tokens", 400, 60), counter, "markdown")
    assert len(found) == 5
    assert all(a.end < b.start for a, b in zip(found, found[1:]))


def test_a_section_beyond_the_size_repeats_sentences(counter: tokens.Counter) -> None:
    sentence = "The pump is checked in spring, and then once more in autumn. "
    found = pieces(sentence * 100, Rule("prose", "tokens", 120, 40), counter)
    overlapping = [(a, b) for a, b in zip(found, found[1:]) if b.start < a.end]
    assert overlapping
    for a, b in overlapping:
        assert b.lead == ""
        assert b.content.startswith("The pump")
        assert counter.count(a.content[b.start - a.start :]) <= 40


def test_an_edit_leaves_the_borders_before_it() -> None:
    text = english(3000, seed=5)
    edited = text[:12_000] + "Another word. " + text[12_000:]
    rule = Rule("prose", "words", 60, 0)
    before, after = pieces(text, rule), pieces(edited, rule)
    untouched = [piece.content for piece in before if piece.end < 8_000]
    assert len(untouched) > 10
    known = {piece.content for piece in after}
    assert all(content in known for content in untouched)


HEADING = "Alpha " * 33
LONG_PATH = f"# {HEADING}\n\n## Child\n\n{'body word ' * 120}\n"


def test_a_long_path_leaves_half_of_the_size_to_the_text(counter: tokens.Counter) -> None:
    found = pieces(LONG_PATH, Rule("prose", "tokens", 64, 25, "{section}"), counter, "markdown")
    assert {piece.prefix for piece in found} == {"Child\n\n"}
    assert all(counter.count(piece.prefix + piece.content) <= 64 for piece in found)
    assert all("body" in piece.content for piece in found)


def test_a_heading_that_is_too_long_alone_keeps_its_end(counter: tokens.Counter) -> None:
    text = LONG_PATH.replace("## Child\n\n", "")
    found = pieces(text, Rule("prose", "tokens", 64, 25, "{section}"), counter, "markdown")
    (prefix,) = {piece.prefix for piece in found}
    assert 25 <= counter.count(prefix) <= 32
    assert HEADING.strip().endswith(prefix.strip())
    assert all(counter.count(piece.prefix + piece.content) <= 64 for piece in found)


@pytest.mark.parametrize(
    ("template", "prefix"),
    [
        ("{section}", "Top > Low\n\n"),
        ("{title}\n{section}", "A {path} title\nTop > Low\n\n"),
        ("{path}: {title}", "a/b.md: A {path} title\n\n"),
        ("Manual", "Manual\n\n"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_a_prefix_is_filled_in_once(template: str, prefix: str) -> None:
    rule = Rule("prose", "words", 100, 0, template)
    found = list(chunk("# Top\n\n## Low\n\nx\n", rule, path="a/b.md", title="A {path}\ntitle"))
    assert [piece.prefix for piece in found if piece is not None] == [prefix]


def test_the_lead_is_what_stands_between() -> None:
    text = "# A\n\none\n\n\n## B ##\n\ntwo\n\n<!-- no -->\n\nthree\n"
    found = pieces(text, Rule("prose", "words", 100, 0), format="markdown")
    assert [(piece.lead, piece.content) for piece in found] == [
        ("", "one"),
        ("\n\n\n## B ##\n\n", "two"),
        ("\n\n", "three"),
    ]
