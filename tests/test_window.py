"""Sliding windows: where they start and end, in every unit."""

from __future__ import annotations

import pytest

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk, split_text
from pg_grain.plpython.graphemes import is_border
from pg_grain.plpython.pieces import Piece, Rule

from documents import english

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
RAINBOW = "\U0001f3f3\ufe0f\u200d\U0001f308"
SYMBOLS = FAMILY + "\U0001f44d\U0001f3fd\U0001f1e6\U0001f1f9" + RAINBOW + "1\ufe0f\u20e3"


@pytest.fixture(scope="module")
def counter() -> tokens.Counter:
    return tokens.load(vocabulary.blob())


def windows(text: str, rule: Rule, counter: tokens.Counter | None = None) -> list[Piece]:
    count = counter.count if counter else None
    return [piece for piece in chunk(text, rule, count=count) if piece is not None]


def test_windows_of_repeating_text_start_where_they_say() -> None:
    text = "abcab " * 600
    found = windows(text, Rule("window", "characters", 1000, 200))
    assert [piece.start for piece in found] == [0, 800, 1600, 2400, 3200]
    assert all(text[piece.start : piece.end] == piece.content for piece in found)


def test_text_without_any_blank_is_cut() -> None:
    found = windows("x" * 12_000, Rule("window", "characters", 1000, 200))
    assert len(found) == 15
    assert max(len(piece.content) for piece in found) == 1000


@pytest.mark.parametrize(
    ("length", "windows"),
    [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (1800, 2), (1801, 3), (2600, 3), (2601, 4)],
)
def test_no_window_is_only_overlap(length: int, windows: int) -> None:
    assert len(split_text("x" * length, 1000, 200)) == windows


def test_no_overlap_and_windows_of_one_character() -> None:
    assert split_text("abc", 1, 0) == ["a", "b", "c"]


@pytest.mark.parametrize(("size", "overlap"), [(512, 512), (100, 200), (0, 0), (-5, 0), (10, -1)])
def test_sizes_that_make_no_progress_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="makes no chunks"):
        list(chunk("text", Rule("window", "characters", size, overlap)))


@pytest.mark.parametrize(
    "blank", ["", "   ", "\n\n\n", "\xa0\xa0", "\u200b", "\ufeff", "\t\x00\x07"]
)
@pytest.mark.parametrize("splitter", ["window", "prose"])
def test_blank_text_gives_no_chunk(blank: str, splitter: str) -> None:
    assert windows(blank, Rule(splitter, "characters", 10, 2)) == []
    assert len(windows(blank + "x", Rule(splitter, "characters", 10, 2))) == 1


def test_a_blank_stretch_is_in_no_window_of_its_own() -> None:
    text = "a" + " " * 100 + "b"
    found = windows(text, Rule("window", "characters", 10, 2))
    assert len(found) == 2
    assert found[0].content + found[1].lead + found[1].content == text


def test_symbols_of_many_characters_stay_whole() -> None:
    text = SYMBOLS * 200
    found = windows(text, Rule("window", "characters", 1000, 200))
    borders = {piece.start for piece in found} | {piece.end for piece in found}
    assert all(is_border(text, at) for at in borders)
    assert len(found) == 5


def test_a_symbol_longer_than_the_window_is_cut() -> None:
    found = windows(FAMILY, Rule("window", "characters", 3, 0))
    assert "".join(piece.content for piece in found) == FAMILY
    assert all(len(piece.content) <= 3 for piece in found)


def test_the_prefix_is_in_the_budget() -> None:
    rule = Rule("window", "characters", 100, 20, "{title}")
    found = [p for p in chunk("x" * 500, rule, title="A title") if p is not None]
    assert {piece.prefix for piece in found} == {"A title\n\n"}
    assert max(len(piece.prefix + piece.content) for piece in found) == 100


@pytest.mark.parametrize(("size", "overlap"), [(7, 2), (16, 4)])
def test_windows_of_tokens_never_cut_a_character(
    counter: tokens.Counter, size: int, overlap: int
) -> None:
    text = ("猫は丸い。" * 20 + "àéîõü " * 10 + "→⇒↔ " * 10 + "😀🎉🚀 " * 10) * 3
    found = windows(text, Rule("window", "tokens", size, overlap), counter)
    assert all(counter.count(piece.content) <= size for piece in found)
    assert all(piece.content == text[piece.start : piece.end] for piece in found)
    assert not any("\ufffd" in piece.content for piece in found)
    assert found[0].start == 0
    assert found[-1].end >= len(text.rstrip())
    assert all(b.start <= a.end for a, b in zip(found, found[1:]))


def test_two_blanks_in_a_row_with_a_budget_of_three_tokens(counter: tokens.Counter) -> None:
    found = windows("foo  bar   baz    qux", Rule("window", "tokens", 3, 0), counter)
    assert all(piece.token_count is not None and piece.token_count <= 3 for piece in found)
    assert " ".join(piece.content for piece in found).split() == ["foo", "bar", "baz", "qux"]


def test_windows_of_tokens_are_full_and_repeat_the_overlap(counter: tokens.Counter) -> None:
    text = english(3000)
    found = windows(text, Rule("window", "tokens", 100, 20), counter)
    sizes = [counter.count(piece.content) for piece in found[:-1]]
    assert min(sizes) >= 80
    repeated = [
        counter.count(text[b.start : a.end]) for a, b in zip(found, found[1:]) if b.start < a.end
    ]
    assert len(repeated) == len(found) - 1
    assert min(repeated) >= 8
    assert max(repeated) <= 20


@pytest.mark.parametrize("unit", ["words", "bytes"])
def test_windows_in_other_units(unit: str) -> None:
    text = english(500) + "ärger" * 50
    count = tokens.UNITS[unit]
    found = windows(text, Rule("window", unit, 40, 8))
    assert all(count(piece.content) <= 40 for piece in found)
    assert text.startswith(found[0].content)
    assert text.endswith(found[-1].content)


def test_a_nul_is_a_character_like_any_other(counter: tokens.Counter) -> None:
    found = windows("left\x00right", Rule("window", "tokens", 100, 0), counter)
    assert [piece.content for piece in found] == ["left\x00right"]


def test_tokens_without_a_count_are_refused() -> None:
    with pytest.raises(ValueError, match="count of tokens"):
        list(chunk("text", Rule("window", "tokens", 10, 0)))


@pytest.mark.parametrize("rule", [Rule("w", "characters", 9, 0), Rule("window", "pages", 9, 0)])
def test_what_is_not_known_is_refused(rule: Rule) -> None:
    with pytest.raises(ValueError, match="there is no"):
        list(chunk("text", rule))
