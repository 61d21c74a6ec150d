"""What structure does to chunks: tables repeat their header, small sections are merged."""

from __future__ import annotations

import pytest

from pg_grain import vocabulary
from pg_grain.plpython import tokens
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.pieces import Piece, Rule

COUNTER = tokens.load(vocabulary.blob())
HEADER = "| id | name | stock |\n| --- | :-- | --: |\n"
ROWS = [f"| {n} | bolt {n} | {3 * n} |\n" for n in range(120)]


def pieces(text: str, rule: Rule, format: str = "markdown", path: str = "") -> list[Piece]:
    found = chunk(text, rule, format=format, path=path, count=COUNTER.count)
    return [piece for piece in found if piece is not None]


@pytest.mark.parametrize("overlap", [0, 40])
def test_every_piece_of_a_table_begins_with_its_header(overlap: int) -> None:
    text = f"# Parts\n\nTable 1: what is in store.\n\n{HEADER}{''.join(ROWS)}\nAfter the table.\n"
    found = pieces(text, Rule("prose", "tokens", 256, overlap, "{section}"))
    tables = [piece for piece in found if "bolt" in piece.content]
    assert len(tables) > 4
    for number, piece in enumerate(tables):
        assert (HEADER in piece.content) and piece.content.count(HEADER) == 1
        assert number == 0 or piece.content.startswith(HEADER)
        assert COUNTER.count(piece.prefix + piece.content) <= 256
        assert piece.token_count == COUNTER.count(piece.content)
        assert piece.repeats == (0 if number == 0 else len(HEADER))
        assert piece.content[piece.repeats :] == text[piece.start : piece.end]
    rows = [line + "\n" for piece in tables for line in piece.content.split("\n") if "bolt" in line]
    assert rows == ROWS
    assert [piece.content.count("Table 1") for piece in tables[1:]] == [0] * (len(tables) - 1)
    assert "After the table." in found[-1].content
    whole = "".join(piece.lead + piece.content[piece.repeats :] for piece in found)
    assert whole == text.strip()[len("# Parts\n\n") :]


def test_a_header_stays_with_the_first_row() -> None:
    for before in range(0, 90, 3):
        text = "word " * before + "\n\n" + HEADER + "".join(ROWS[:12])
        for piece in pieces(text, Rule("prose", "tokens", 100, 0)):
            assert not piece.content.rstrip().endswith("--: |")


def test_a_header_that_is_most_of_the_room_is_not_repeated() -> None:
    header = "| " + "long name " * 30 + "| b |\n| --- | --- |\n"
    text = header + "".join(f"| {n} | x |\n" for n in range(60))
    found = pieces(text, Rule("prose", "tokens", 60, 0))
    assert all(COUNTER.count(piece.content) <= 60 for piece in found)
    assert "".join(piece.content + "\n" for piece in found[-2:]).count("long name") == 0


def test_a_row_that_does_not_fit_goes_on_behind_the_header() -> None:
    text = HEADER + "| 1 | " + "very " * 300 + "| 2 |\n| 2 | short | 3 |\n"
    found = pieces(text, Rule("prose", "tokens", 100, 0))
    assert len(found) > 4
    assert all(piece.content.startswith(HEADER) for piece in found[1:])
    assert all(COUNTER.count(piece.content) <= 100 for piece in found)
    assert "".join(piece.content[len(HEADER) :] for piece in found).count("very") == 300


def sections(text: str, least: int, size: int = 60) -> list[tuple[tuple[str, ...], str]]:
    rule = Rule("prose", "words", size, 0, "", {"min_size": least})
    return [(piece.section_path, piece.content) for piece in pieces(text, rule)]


def test_small_siblings_are_merged_under_their_parent() -> None:
    text = "# Pumps\n\n## A\n\none two\n\n## B\n\nthree four\n\n## C\n\n" + "word " * 30
    assert sections(text, 0)[0] == (("Pumps", "A"), "one two")
    merged = sections(text, 5)
    assert merged[0][0] == ("Pumps",)
    assert merged[0][1].startswith("# Pumps\n\n## A\n\none two\n\n## B\n\nthree four")


def test_an_introduction_is_merged_with_what_follows_below_it() -> None:
    assert sections("# Top\n\nIn short.\n\n## Part\n\nAll of it is here.\n", 5) == [
        (("Top",), "In short.\n\n## Part\n\nAll of it is here.")
    ]


def test_nothing_is_merged_across_a_higher_heading() -> None:
    text = "# A\n\n## Deep\n\nlast words\n\n# B\n\nfirst words\n"
    assert sections(text, 10) == [(("A", "Deep"), "last words"), (("B",), "first words")]


def test_nothing_is_merged_beyond_the_size() -> None:
    text = "# A\n\n## One\n\nfew\n\n## Two\n\n" + "word " * 58
    assert [path for path, _ in sections(text, 10)] == [("A", "One"), ("A", "Two")]


def test_nothing_is_merged_around_what_is_hidden() -> None:
    text = "# A\n\n## One\n\nfew\n\n<!-- secret -->\n\n## Two\n\nwords\n"
    assert all("secret" not in content for _, content in sections(text, 10))
    assert len(sections(text, 10)) == 2


def test_a_large_section_takes_a_small_one_behind_it() -> None:
    text = "# A\n\n" + "word " * 40 + "\n\n## Note\n\nfew words\n"
    (found,) = sections(text, 5)
    assert found[0] == ("A",)
    assert found[1].endswith("## Note\n\nfew words")
