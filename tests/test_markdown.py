"""Structure of Markdown: which lines are headings, what is hidden, and what a section holds."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pg_grain.plpython.chunking import chunk, detect_format
from pg_grain.plpython.markdown import HEADING, HIDDEN, blocks, front_matter
from pg_grain.plpython.pieces import Piece, Rule

from documents import FRAGMENTS, generated

WORDS = Rule("prose", "words", 200, 0)


def headings(text: str) -> list[tuple[int, str]]:
    return [(b.rank, b.title) for b in blocks(text) if b is not None and b.level == HEADING]


def pieces(text: str, rule: Rule = WORDS) -> list[Piece]:
    return [piece for piece in chunk(text, rule, format="markdown") if piece is not None]


def sections(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(piece.section_path, piece.content) for piece in pieces(text)]


HEADINGS = {
    "a comment line in a fence": (
        "# Setup\n\n```sh\n# install\n## more\n```\n\n## After\n\nDone.\n",
        [(1, "Setup"), (2, "After")],
    ),
    "a tilde fence with tildes in its info string": (
        "# Pump\n\n~~~ ini ~~~ extra\n# limit\n```\nx = 4\n```\n~~~\n\n## Valve\n\nOpen.\n",
        [(1, "Pump"), (2, "Valve")],
    ),
    "three backticks inside of four": (
        "# Writing\n\n````md\n```text\n# shown\n```\n````\n\n# Publishing\n",
        [(1, "Writing"), (1, "Publishing")],
    ),
    "a fence in a list item": (
        "# Steps\n\n* first\n\n    ```txt\n    # no\n    ```\n* second\n\n## Result\n",
        [(1, "Steps"), (2, "Result")],
    ),
    "a line with backticks at both ends": (
        "# Notes\n\n```inline only```\n\n## Still a heading\n",
        [(1, "Notes"), (2, "Still a heading")],
    ),
    "underlined titles of one character and of two lines": (
        "Tank manual\n===\n\nIntro.\n\nFill\n-\n\nTap.\n\nA title that runs\nover two lines\n---\n",
        [(1, "Tank manual"), (2, "Fill"), (2, "A title that runs over two lines")],
    ),
    "what hashes are a heading": (
        "#tag\n\n#5 bolt\n\n####### seven\n\n\\# no\n\n    # code\n\n# Tools in C#\n\n## Closed ##\n\n### Blanks ###   \n\n   ## Three spaces\n\n##\n\n#\tTab\n\nend\n",
        [
            (1, "Tools in C#"),
            (2, "Closed"),
            (3, "Blanks"),
            (2, "Three spaces"),
            (2, ""),
            (1, "Tab"),
        ],
    ),
    "a byte-order mark and CRLF": (
        "\ufeff# Boiler\r\n\r\nHot.\r\n\r\n## Feed\r\n\r\nCold.\r\n",
        [(1, "Boiler"), (2, "Feed")],
    ),
    "front matter with a comment": (
        "---\n# settings\ntitle: Crane\n\nowner: a\n---\n\n# Crane\n\nLift.\n",
        [(1, "Crane")],
    ),
    "headings in a comment": (
        "# Public\n\nSeen.\n\n<!--\n## Draft\n\nsecret\n-->\n\n## Next\n\nAlso.\n",
        [(1, "Public"), (2, "Next")],
    ),
    "a comment in a heading": (
        "# Guide\n\none\n\n## Limits <!-- check -->\n\ntwo\n",
        [(1, "Guide"), (2, "Limits")],
    ),
    "headings in a quote and in an item": (
        "# Report\n\n> ## Quoted\n> words\n\n- # in an item\n  words\n\nclosing\n",
        [(1, "Report")],
    ),
    "headings in HTML": ("<div>\n# no\n</div>\n\n# yes\n", [(1, "yes")]),
    "a definition is no title": ("[a]: https://example.test\n===\n", []),
    "a table is no title": ("| a |\n| - |\n| b |\n---\n", []),
    "old line ends": ("# One\r\rtext\r\rTwo\r---\r", [(1, "One"), (2, "Two")]),
}


@pytest.mark.parametrize("case", HEADINGS)
def test_headings(case: str) -> None:
    text, expected = HEADINGS[case]
    assert headings(text) == expected


def test_a_level_jump_makes_siblings_of_equal_levels() -> None:
    text = "# Cat\n\n### a\n\n1\n\n### b\n\n2\n\n## group\n\n#### deep\n\n3\n\n# Second\n\n4\n"
    assert [path for path, _ in sections(text)] == [
        ("Cat", "a"),
        ("Cat", "b"),
        ("Cat", "group", "deep"),
        ("Second",),
    ]


def test_equal_sections_stay_apart() -> None:
    text = "# EU\n\n## Returns\n\nWithin 14 days.\n\n# US\n\n## Returns\n\nWithin 14 days.\n"
    found = pieces(text)
    assert [piece.section_path for piece in found] == [("EU", "Returns"), ("US", "Returns")]
    assert [piece.section for piece in found] == [1, 3]
    assert found[0].content == found[1].content


def test_whitespace_stays_as_it_is() -> None:
    body = (
        "first paragraph\n\nsecond\u00a0one\n\n```make\nall:\n\tcc -o a a.c\n\t\tdeep\n```\n\nend"
    )
    assert sections(f"# F\n\n{body}\n") == [(("F",), body)]


def test_indent_of_the_first_line_stays() -> None:
    assert sections("# F\n\n    code\n    more\n") == [(("F",), "    code\n    more")]


def test_sections_without_text_give_no_chunk() -> None:
    text = "# Top\n\n## Child\n\n### Grandchild\n\nwords at last\n\n## Tail\n"
    assert sections(text) == [(("Top", "Child", "Grandchild"), "words at last")]


def test_text_before_the_first_heading_has_no_path() -> None:
    text = "Before.\n\n# Top\n\nSurvives.\n\n### Lower\n\nlower\n"
    assert sections(text) == [
        ((), "Before."),
        (("Top",), "Survives."),
        (("Top", "Lower"), "lower"),
    ]
    assert [piece.section for piece in pieces(text)] == [0, 1, 2]


def test_definitions_of_link_targets_are_text() -> None:
    text = "# Start\n\nRead [it][lamp].\n\n## Later\n\nNothing.\n\n[lamp]: https://example.test\n"
    assert sections(text)[1] == (("Start", "Later"), "Nothing.\n\n[lamp]: https://example.test")


def test_a_comment_is_not_in_any_chunk_nor_between_two() -> None:
    text = "# A\n\nSeen.\n\n<!-- secret\n\nmore secret --> open\n\nAlso.\n"
    found = pieces(text)
    assert [piece.content for piece in found] == ["Seen.", " open\n\nAlso."]
    assert "secret" not in "".join(piece.lead + piece.content for piece in found)


def test_a_comment_that_is_never_closed_hides_nothing() -> None:
    assert sections("a\n\n<!-- b\n\nc\n") == [((), "a\n\n<!-- b\n\nc")]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("---\ntitle: x\n---\nbody\n", "---\ntitle: x\n---\n"),
        ("\ufeff---\r\ntitle: x\r\n...\r\nbody", "---\r\ntitle: x\r\n...\r\n"),
        ("---\n---\nbody\n", "---\n---\n"),
        ("---\n\nA rule, then text.\n\n---\n\nkey: value\n", ""),
        ("---\ntitle: never closed\n", ""),
        ("text\n---\ntitle: x\n---\n", ""),
    ],
)
def test_front_matter_is_metadata(text: str, hidden: str) -> None:
    start, end = front_matter(text)
    assert text[start:end] == hidden
    assert [text[b.start : b.end].strip() for b in blocks(text) if b and b.level == HIDDEN] == (
        [hidden.strip()] if hidden else []
    )
    assert not hidden or "".join(piece.content for piece in pieces(text)) == "body"


def test_one_table_is_one_chunk() -> None:
    assert sections("| a | b |\n| --- | --- |\n| 1 | 2 |") == [
        ((), "| a | b |\n| --- | --- |\n| 1 | 2 |")
    ]


def test_a_long_table_is_cut_between_rows() -> None:
    rows = [f"| {n} | bolt {n} | {3 * n} |\n" for n in range(120)]
    text = "# Parts\n\n| id | name | stock |\n| --- | :-- | --: |\n" + "".join(rows)
    found = pieces(text, Rule("prose", "words", 100, 0))
    assert len(found) > 5
    assert "".join(piece.lead + piece.content for piece in found) + "\n" == text[9:]
    assert all(piece.content[0] == "|" and piece.content[-1] == "|" for piece in found)


def test_a_long_list_is_cut_between_items() -> None:
    nested = "".join(f"  - nested {n} and more text and more text\n" for n in range(60))
    text = f"# List\n\n- item words go on\n{nested}"
    found = pieces(text, Rule("prose", "words", 60, 0))
    assert len(found) > 5
    assert all(piece.content.lstrip().startswith("- ") for piece in found)
    notes = "".join(f"- change {n}: the lamp driver was made quieter\n" for n in range(400))
    found = pieces(f"# Notes\n\n{notes}", Rule("prose", "words", 60, 0))
    assert {piece.section_path for piece in found} == {("Notes",)}
    assert all(piece.content.startswith("- change") for piece in found)


def test_a_title_without_end_is_cut() -> None:
    assert [len(path[0]) for path, _ in sections("# " + "t" * 5000 + "\n\nbody\n")] == [1000]


def by_reference(text: str) -> list[tuple[int, int]]:
    """Level and line of the headings outside of containers, as markdown-it-py reads them."""
    parser = MarkdownIt("commonmark", {"maxNesting": 200}).enable("table")
    return [
        (int(token.tag[1]), token.map[0])
        for token in parser.parse(text)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def by_us(text: str) -> list[tuple[int, int]]:
    return [
        (block.rank, text.count("\n", 0, block.start))
        for block in blocks(text)
        if block is not None and block.level == HEADING
    ]


@pytest.mark.parametrize("seed", range(300))
def test_generated_documents_have_the_headings_of_the_reference(seed: int) -> None:
    # cmark and markdown-it differ on what may follow a definition at once.
    text = generated(seed, 5 + seed % 40).replace("[label]:", "label")
    text = f"words\n\n{text}"
    assert by_us(text) == by_reference(text)


def test_pairs_of_lines_have_the_headings_of_the_reference() -> None:
    lines = [line for line in FRAGMENTS if not line.startswith("[label]")]
    for first in lines:
        for second in lines:
            text = f"words\n\n{first}\n{second}\n# last\n"
            assert by_us(text) == by_reference(text), text


def test_real_documents_have_the_headings_of_the_reference() -> None:
    folder = Path(sysconfig.get_paths()["purelib"])
    files = sorted(folder.rglob("*.md"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if not front_matter(text)[1]:
            assert by_us(text) == by_reference(text), file


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("plain", "a/b.md", "markdown"),
        ("plain", "README.MARKDOWN", "markdown"),
        ("# heading\n", "a/b.py", "text"),
        ("# heading\n", "a/b.unknown", "text"),
        ("text\n\n# heading\n", "", "markdown"),
        ("# heading\n", "a/b", "markdown"),
        ("Title\n=====\n", "", "markdown"),
        ("---\ntitle: x\n---\n", "", "markdown"),
        ("see:\n\n```\ncode\n```\n", "", "markdown"),
        ("#hashtag and text\n", "", "text"),
        ("just words\nand more\n", "", "text"),
        ("", "", "text"),
    ],
)
def test_format_is_told_by_path_or_content(text: str, path: str, expected: str) -> None:
    assert detect_format(text, path) == expected


def test_an_unknown_format_is_text() -> None:
    found = [p for p in chunk("# a\n\nb\n", WORDS, format="org") if p is not None]
    assert [piece.content for piece in found] == ["# a\n\nb"]
