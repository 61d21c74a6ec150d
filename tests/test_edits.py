"""An edit changes the chunks that it stands in, and hardly any other."""

from __future__ import annotations

import random

import pytest

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.pieces import Rule

from documents import english

COUNT = tokens.load(vocabulary.blob()).count
RULE = Rule("prose", "tokens", 400, 60, "{section}")
WORDS = english(4000, seed=5).split()


def paragraph(chosen: random.Random) -> str:
    return " ".join(chosen.choices(WORDS, k=chosen.choice((12, 30, 60, 90, 150, 220)))) + "."


def embedded(sections: list[list[str]]) -> list[tuple[int, str]]:
    """(section, embedded text) of each chunk."""
    text = "\n\n".join(
        f"## Section {number}\n\n" + "\n\n".join(paragraphs)
        for number, paragraphs in enumerate(sections)
    )
    found = chunk(text, RULE, format="markdown", count=COUNT)
    return [(piece.section, piece.prefix + piece.content) for piece in found if piece is not None]


@pytest.mark.parametrize("seed", range(60))
def test_an_edit_changes_at_most_two_chunks_beyond_its_own_and_no_other_section(seed: int) -> None:
    chosen = random.Random(seed)
    sections = [
        [paragraph(chosen) for _ in range(chosen.choice((3, 10, 40, 120)))] for _ in range(3)
    ]
    before = embedded(sections)
    edited = chosen.randrange(3)
    body = sections[edited]
    at = chosen.randrange(len(body))
    kind = seed % 3
    if kind == 0:
        body.insert(at, paragraph(chosen))
    elif kind == 1:
        words = body[at].split()
        words[chosen.randrange(len(words))] = "changed"
        body[at] = " ".join(words)
    else:
        del body[at]
    if kind < 2:
        marks = [body[at][:40], body[at][-40:]]
    else:
        # What stood on both sides of it stands together now.
        marks = [text[-30:] for text in body[max(0, at - 1) : at]]
        marks += [text[:30] for text in body[at : at + 1]]
    known = {text for _, text in before}
    changed = [(section, text) for section, text in embedded(sections) if text not in known]
    assert all(section == edited for section, _ in changed)
    beyond = [text for _, text in changed if not any(mark in text for mark in marks)]
    assert len(beyond) <= 2
