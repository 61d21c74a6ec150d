"""reStructuredText: what is a heading, what is hidden, and where blocks begin."""

from __future__ import annotations

import pytest

from pg_grain.plpython.blocks import HEADING, HIDDEN, ITEM, ROW, Block
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.rst import blocks
from pg_grain.plpython.pieces import Piece, Rule


def read(text: str) -> list[Block]:
    return [block for block in blocks(text) if block is not None]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.rank, block.title) for block in read(text) if block.level == HEADING]


def pieces(text: str, words: int = 50) -> list[Piece]:
    found = chunk(text, Rule("prose", "words", words, 0), format="rst")
    return [piece for piece in found if piece is not None]


def test_ranks_follow_the_order_of_the_styles() -> None:
    text = (
        "=====\nPlant\n=====\n\nBoiler\n======\n\nHot.\n\nBurner\n------\n\nGas.\n\n"
        "Yard\n====\n\nWide.\n"
    )
    assert headings(text) == [(1, "Plant"), (2, "Boiler"), (3, "Burner"), (2, "Yard")]
    assert [(piece.section_path, piece.content) for piece in pieces(text)] == [
        (("Plant", "Boiler"), "Hot."),
        (("Plant", "Boiler", "Burner"), "Gas."),
        (("Plant", "Yard"), "Wide."),
    ]


def test_an_indented_title_needs_a_line_above() -> None:
    assert headings("=========\n  Title\n=========\n\ntext\n") == [(1, "Title")]
    assert headings("  Title\n=========\n\ntext\n") == []


def test_a_line_below_may_be_too_short_from_four_characters_on() -> None:
    assert headings("A long title\n----\n") == [(1, "A long title")]
    assert headings("A long title\n---\n") == []
    assert headings("Abc\n---\n") == [(1, "Abc")]


@pytest.mark.parametrize(
    "text",
    [
        "::\n\n    No\n    ==\n",
        ".. code-block:: c\n\n   No\n   ==\n",
        ".. note:: text\n\n   No\n   ==\n",
        ".. comment\n   No\n   ==\n",
        "====  ====\na     b\n====  ====\n1     2\n====  ====\n",
        "+----+----+\n| No | b  |\n+====+====+\n| 1  | 2  |\n+----+----+\n",
        "words\n\n----------\n\nmore\n",
        "two\nlines\n-----\n",
    ],
)
def test_what_is_no_heading(text: str) -> None:
    assert headings(text + "\nYes\n===\n\ntext\n") == [(1, "Yes")]


def test_comments_are_hidden_and_directives_are_not() -> None:
    text = (
        "Seen.\n\n.. not this\n   nor this\n\n   nor that\n\n.. note:: A note.\n\n   Its text.\n\n"
        ".. _target: https://example.test\n\n.. [1] A footnote.\n\n..\n   hidden\n\nEnd.\n"
    )
    seen = "\n".join(piece.content for piece in pieces(text))
    assert "not this" not in seen and "nor" not in seen and "hidden" not in seen
    for part in ("Seen.", "A note.", "Its text.", "_target", "A footnote.", "End."):
        assert part in seen
    hidden = [text[b.start : b.end].split()[:2] for b in read(text) if b.level == HIDDEN]
    assert hidden == [["..", "not"], ["..", "hidden"]]


def test_items_and_literal_lines_are_borders() -> None:
    text = "* one\n* two\n\n1. first\n\nCode::\n\n    a = 1\n    b = 2\n\nEnd.\n"
    levels = [(text[b.start : b.end].strip(), b.level) for b in read(text)]
    assert ("* one", ITEM) in levels and ("* two", ITEM) in levels and ("1. first", ITEM) in levels
    assert ("a = 1", ROW) in levels and ("b = 2", ROW) in levels


def test_rows_of_a_simple_table_repeat_the_header() -> None:
    header = "====  =======\n id   name\n====  =======\n"
    rows = "".join(f"{n:4}  bolt {n}\n" for n in range(60))
    text = "Parts:\n\n" + header + rows + "====  =======\n\nAfter.\n"
    found = pieces(text, 60)
    assert len(found) > 3
    assert all(header in piece.content for piece in found if "bolt" in piece.content)
    assert sum(piece.content.count("bolt") for piece in found) == 60


def test_rows_of_a_grid_table_repeat_the_header() -> None:
    border = "+------+---------+\n"
    header = border + "| id   | name    |\n" + border.replace("-", "=")
    rows = "".join(f"| {n:4} | bolt {n:2} |\n{border}" for n in range(60))
    found = pieces("Parts:\n\n" + header + rows + "\nAfter.\n", 60)
    assert len(found) > 3
    assert all(header in piece.content for piece in found if "bolt" in piece.content)
    assert sum(piece.content.count("bolt") for piece in found) == 60


def test_a_simple_table_without_a_header_repeats_nothing() -> None:
    text = "====  =======\n" + "".join(f"{n:4}  bolt {n}\n" for n in range(60)) + "====  =======\n"
    assert all(piece.repeats == 0 for piece in pieces(text, 60))
