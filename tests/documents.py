"""Documents for tests: strategies that join awkward fragments, long texts, and a stopwatch."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable

from hypothesis import strategies as st

#: Lines, or parts of lines, that decide something in Markdown.
FRAGMENTS = (
    "# One",
    "## Two ##",
    "### Three <!-- aside -->",
    "#no heading",
    "#",
    "####### seven",
    "   ## indented",
    "    # code",
    "\t# code behind a tab",
    "#\ttab",
    "Title",
    "two words",
    "===",
    "---",
    "- - -",
    "***",
    "* * *",
    "-",
    "--",
    "```",
    "````",
    "``` py",
    "```one line```",
    "~~~",
    "~~~ info ~~~",
    "   ```",
    "- item",
    "- # heading in an item",
    "-",
    "  - nested",
    "    continued",
    "      deeper",
    "1. first",
    "2. second",
    "10) tenth",
    "+ plus",
    "> quoted",
    "> # heading in a quote",
    "> - item in a quote",
    ">",
    "> ```",
    "lazy text",
    "<!-- comment",
    "-->",
    "<!-- whole --> rest",
    "<div>",
    "</div>",
    "<span>",
    "<script>",
    "</script>",
    "<?php",
    "?>",
    "<![CDATA[",
    "]]>",
    "[label]: https://example.test",
    "| a | b |",
    "| - | - |",
    "| 1 | 2 |",
    "",
    "",
    "",
    " ",
    "   ",
)

_SENTENCES = (
    "The crane lifts with care.",
    "See Fig. 3, e.g. the left one!",
    "Is it 3.5 m long? Dr. Who knows.",
    "猫は丸い。犬は四角い！",
    "第四；第五……第六．",
    "Ärger über Straßen; naïve café.",
    "x = [f(a, b) for a in range(10)]",
    "https://example.test/a/very/long/path?with=a&query=string#and-anchor",
    "👩‍👩‍👧‍👦👍🏽🇦🇹🏳️‍🌈1️⃣",
    "한국어 문장입니다.",
    "a\u0301e\u0301" * 5,
    "it's we'll THEY'RE 'ſ",
)

_STOCK = (
    *("the", "of", "and", "to", "in", "is", "was", "for", "on", "with", "as", "by", "at", "from"),
    *("pump", "valve", "lamp", "filter", "motor", "press", "gauge", "pressure", "temperature"),
    *("maintenance", "schedule", "inspection", "replaced", "manufacturer", "documentation"),
)

_CHARACTERS = (
    *" \t\n\r\x0b\x0c\x1c\x85\xa0\u1680\u2028\u3000\u200b\u200d\ufeff\ufe0f",
    *"aZ09.!?'\"#-=`~>*|<_。…猫é½١\u0301\u0e33\u1100\u1161\uac00\U0001f1e6\U0001f468\U0001f3fd",
    "\x00",
    "\x01",
)


def markdown() -> st.SearchStrategy[str]:
    """Documents of lines that interfere with each other, with one kind of line end."""
    lines = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.sampled_from(_SENTENCES)))
    return st.builds(
        lambda parts, end, last: end.join(parts) + last,
        lines,
        st.sampled_from(("\n", "\n", "\r\n", "\r")),
        st.sampled_from(("", "\n")),
    )


def runs() -> st.SearchStrategy[str]:
    """Long runs of one character between words, which is what breaks naive code."""
    run = st.builds(
        lambda unit, times: unit * times,
        st.sampled_from((*_CHARACTERS, "\r\n", "ab", "-=")),
        st.integers(1, 400),
    )
    return st.lists(st.one_of(run, st.sampled_from(_SENTENCES)), max_size=12).map("".join)


def any_text() -> st.SearchStrategy[str]:
    """Every kind of text, blank and absurd ones among them."""
    return st.one_of(
        st.text(),
        st.text(st.sampled_from(_CHARACTERS), max_size=300),
        st.lists(st.sampled_from(_SENTENCES), max_size=60).map(" ".join),
        markdown(),
        runs(),
    )


def generated(seed: int, lines: int = 40) -> str:
    """One Markdown document of random fragments."""
    chosen = random.Random(seed)
    return "".join(
        chosen.choice(FRAGMENTS if chosen.random() < 0.8 else _SENTENCES) + "\n"
        for _ in range(lines)
    )


def english(words: int, seed: int = 0) -> str:
    """Paragraphs of sentences of common words, with some that no vocabulary holds."""
    chosen = random.Random(seed)
    out = []
    for at in range(words):
        rare = "".join(chosen.choices("abcdeiklmnorstu", k=8))
        word = chosen.choice(_STOCK) if chosen.random() < 0.9 else rare
        if at % 13 == 0:
            word = word.capitalize()
        if at % 13 == 12:
            word += ".\n\n" if at % 78 == 77 else "."
        out.append(word)
    return " ".join(out)


def grows_linearly(work: Callable[[str], object], text: str, times: int = 8) -> bool:
    """Whether the work on a text that is `times` as long takes about so many times as long.

    Quadratic work would take 64 times as long for 8; up to 20 is put down to noise. Both are timed
    in turn, several times if need be: other processes and the garbage collector can make a text
    look slow, nothing makes it look fast.
    """

    def seconds(whole: str) -> float:
        started = time.process_time()
        work(whole)
        return time.process_time() - started

    short = long = float("inf")
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(5):
            short, long = min(short, seconds(text)), min(long, seconds(text * times))
            if long < 2.5 * times * max(short, 0.001):
                return True
    finally:
        if collecting:
            gc.enable()
    return False
