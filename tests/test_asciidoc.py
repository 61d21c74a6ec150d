"""AsciiDoc: what is a heading, what is hidden, and where blocks begin."""

from __future__ import annotations

import pytest

from pg_grain.plpython.blocks import HEADING, HIDDEN, ITEM, ROW, Block
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.asciidoc import blocks
from pg_grain.plpython.pieces import Piece, Rule


def read(text: str) -> list[Block]:
    return [block for block in blocks(text) if block is not None]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.rank, block.title) for block in read(text) if block.level == HEADING]


def pieces(text: str, words: int = 50) -> list[Piece]:
    found = chunk(text, Rule("prose", "words", words, 0), format="asciidoc")
    return [piece for piece in found if piece is not None]


def test_sections_have_the_ranks_of_their_marks() -> None:
    text = "= Plant\nAnn Author\n\n== Boiler ==\n\nHot.\n\n=== Burner\n\nGas.\n\n## Yard\n\nWide.\n"
    assert headings(text) == [(1, "Plant"), (2, "Boiler"), (3, "Burner"), (2, "Yard")]
    assert [(piece.section_path, piece.content) for piece in pieces(text)] == [
        (("Plant",), "Ann Author"),
        (("Plant", "Boiler"), "Hot."),
        (("Plant", "Boiler", "Burner"), "Gas."),
        (("Plant", "Yard"), "Wide."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "----\n== no\n----\n",
        "....\n== no\n....\n",
        "====\n== no\n====\n",
        "****\n== no\n****\n",
        "|===\n== no\n|===\n",
        "```ruby\n== no\n```\n",
        "--\n== no\n--\n",
        "////\n== no\n////\n",
        "[discrete]\n== no\n",
        "[float]\n== no\n",
        "words\n== no\n",
        "==no\n",
        "======= no\n",
        "==\n",
    ],
)
def test_what_is_no_heading(text: str) -> None:
    assert headings(text + "\n== Yes\n") == [(2, "Yes")]


def test_a_block_ends_at_its_own_delimiter_only() -> None:
    text = "-----\n----\n== no\n-----\n\n== Yes\n"
    assert headings(text) == [(2, "Yes")]


def test_comments_and_attribute_entries_are_hidden() -> None:
    text = (
        "= Title\n:toc: left\n:long: one \\\n  two\n\nSeen.\n\n// not this\n\n////\nnor this\n\n"
        "nor that\n////\n\nSeen again.\n"
    )
    assert [piece.content for piece in pieces(text)] == ["Seen.", "Seen again."]
    hidden = [text[b.start : b.end] for b in read(text) if b.level == HIDDEN]
    assert "".join(hidden).split() == (
        ":toc: left :long: one \\ two // not this //// nor this nor that ////".split()
    )


def test_what_stands_above_a_block_belongs_to_it() -> None:
    text = "Words.\n\n.Caption\n[source,ruby]\n----\nputs 1\n----\n\n[[anchor]]\n== Next\n\nText.\n"
    found = pieces(text)
    assert found[0].content == "Words.\n\n.Caption\n[source,ruby]\n----\nputs 1\n----"
    assert found[1].section_path == ("Next",)


@pytest.mark.parametrize("comment", ["// note", "////\nnote\n////", ":entry: note"])
@pytest.mark.parametrize(
    "below", ["= Title", "----\ncode\n----", "Words.", "* item", "|===\n|a\n|==="]
)
def test_a_comment_below_a_caption_hides_nothing_else(comment: str, below: str) -> None:
    text = f"Before.\n\n.Caption\n{comment}\n{below}\n\nAfter.\n"
    hidden = [text[b.start : b.end] for b in read(text) if b.level == HIDDEN]
    assert "".join(hidden).rstrip() == comment
    seen = "".join(piece.content for piece in pieces(text))
    assert ".Caption" in seen
    assert below == "= Title" or below in seen


def test_items_are_borders_and_nested_ones_are_weaker() -> None:
    text = "* one\n* two\n** nested\n. first\n+\nattached\n\nterm:: meaning\n"
    levels = [(text[b.start : b.end].split("\n")[0], b.level) for b in read(text)]
    assert levels == [
        ("* one", ITEM),
        ("* two", ITEM),
        ("** nested", ROW),
        (". first", ITEM),
        ("attached", ROW),
        ("term:: meaning", ITEM),
    ]


@pytest.mark.parametrize(
    ("before", "behind"), [('[options="header"]\n', ""), ("[%header,cols=2*]\n", ""), ("", "\n")]
)
def test_rows_repeat_the_header(before: str, behind: str) -> None:
    rows = "".join(f"|{n} |bolt {n}\n" for n in range(60))
    text = f"{before}|===\n|id |name\n{behind}{rows}|===\n\nAfter.\n"
    found = pieces(text, 40)
    assert len(found) > 3
    assert all("|id |name\n" in piece.content for piece in found if "bolt" in piece.content)
    assert sum(piece.content.count("bolt") for piece in found) == 60


def test_a_table_without_a_header_repeats_nothing() -> None:
    text = "|===\n" + "".join(f"|{n} |bolt {n}\n" for n in range(60)) + "|===\n"
    assert all(piece.repeats == 0 for piece in pieces(text, 40))
