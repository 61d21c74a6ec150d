"""How many chunks an edit changes: a paragraph put at the top, and one touched in the middle.

Documents are plain paragraphs without headings, the hardest case: one section of a hundred chunks
or more. A chunk counts as changed when its embedded text was not there before. Last comes the share
of all edits that changed at most two.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.pieces import Rule
from pg_grain.vocabulary import blob

from benchmark import arguments, finish, table

RULES = {
    "prose": Rule("prose", "tokens", 400, 60, "{section}"),
    "recursive": Rule("recursive", "tokens", 400, 60),
    "sentence": Rule("sentence", "tokens", 400, 60),
    "sentence, closed": Rule("sentence", "tokens", 400, 60, "", {"close": 0.3}),
    "semantic": Rule("semantic", "tokens", 400, 60),
    "token": Rule("token", "tokens", 400, 60),
    "window": Rule("window", "characters", 1000, 200),
    "whole": Rule("whole", "tokens", 8000, 0),
}
#: Words in a paragraph, from and to.
SHAPES = ((20, 40), (60, 80), (80, 120), (100, 100), (180, 220), (30, 300), (240, 260), (350, 390))
DOCUMENTS = 12

_WORDS = [
    "river",
    "stone",
    "light",
    "water",
    "engine",
    "table",
    "window",
    "paper",
    "garden",
    "winter",
    "summer",
    "bridge",
    "market",
    "silver",
    "green",
    "alpha",
    "beta",
    "gamma",
    "delta",
    "people",
    "morning",
    "story",
    "number",
    "letter",
    "mountain",
    "island",
]


def paragraph(chooser: random.Random, words: int) -> str:
    """Sentences of six to sixteen words."""
    sentences = []
    while words > 0:
        length = min(words, chooser.randint(6, 16))
        sentences.append(" ".join(chooser.choices(_WORDS, k=length)).capitalize() + ".")
        words -= length
    return " ".join(sentences)


def embedded(text: str, rule: Rule, count: Callable[[str], int]) -> set[str]:
    """The texts that a document embeds."""
    pieces = chunk(text, rule, format="markdown", count=count)
    return {piece.prefix + piece.content for piece in pieces if piece is not None}


def main() -> None:
    arguments(__doc__)
    count = tokens.load(blob()).count
    chooser = random.Random(1)
    rows = []
    within: dict[str, list[bool]] = {name: [] for name in RULES}
    for low, high in SHAPES:
        inserted: dict[str, list[int]] = {name: [] for name in RULES}
        touched: dict[str, list[int]] = {name: [] for name in RULES}
        sizes: dict[str, int] = {}
        for _ in range(DOCUMENTS):
            body = [
                paragraph(chooser, chooser.randint(low, high))
                for _ in range(60_000 // (low + high))
            ]
            top = [paragraph(chooser, chooser.randint(low, high)), *body]
            middle = list(body)
            middle[len(body) // 2] = middle[len(body) // 2].replace(" ", " really ", 1)
            for name, rule in RULES.items():
                before = embedded("\n\n".join(body), rule, count)
                sizes[name] = len(before)
                inserted[name].append(len(embedded("\n\n".join(top), rule, count) - before))
                touched[name].append(len(embedded("\n\n".join(middle), rule, count) - before))
        for name in RULES:
            within[name] += [changed <= 2 for changed in inserted[name] + touched[name]]
            rows.append(
                (
                    name,
                    f"{low}-{high}",
                    sizes[name],
                    f"{sum(inserted[name]) / DOCUMENTS:.1f}",
                    max(inserted[name]),
                    f"{sum(touched[name]) / DOCUMENTS:.1f}",
                    max(touched[name]),
                )
            )
    table(("rule", "words", "chunks", "at the top", "most", "touched", "most"), rows)
    shares = {name: round(sum(held) / len(held), 3) for name, held in within.items()}
    finish(shares["prose"] >= 0.9, {}, at_most_two=shares)


if __name__ == "__main__":
    main()
