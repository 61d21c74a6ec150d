"""Structure of Markdown: which lines are headings, what is hidden, and what a section holds."""

from __future__ import annotations

import random
import re
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from pg_grain.plpython.blocks import BLOCK, HEADING, HIDDEN, ITEM, ROW, Block
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.frontmatter import front_matter
from pg_grain.plpython.formats.markdown import blocks
from pg_grain.plpython.pieces import Piece, Rule

from documents import FRAGMENTS, any_text, english, generated, grows_linearly

WORDS = Rule("prose", "words", 200, 0)


def read(text: str, path: str = "") -> list[Block]:
    return [block for block in blocks(text, path) if block is not None]


def headings(text: str, path: str = "") -> list[tuple[int, str]]:
    return [(b.rank, b.title) for b in read(text, path) if b.level == HEADING]


def hidden(text: str, path: str = "") -> list[str]:
    return [text[b.start : b.end].strip() for b in read(text, path) if b.level == HIDDEN]


def parts(text: str, path: str = "") -> list[tuple[int, str]]:
    """What is no heading and not hidden."""
    return [(b.level, text[b.start : b.end].rstrip()) for b in read(text, path) if b.level >= 0]


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
    "a byte-order mark and a rule": ("\ufeff---\n# One\n", [(1, "One")]),
    "a byte-order mark alone": ("\ufeff", []),
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
    assert [piece.content for piece in found] == ["Seen.", "open\n\nAlso."]
    assert "secret" not in "".join(piece.lead + piece.content for piece in found)


def test_a_comment_that_is_never_closed_hides_nothing() -> None:
    assert sections("a\n\n<!-- b\n\nc\n") == [((), "a\n\n<!-- b\n\nc")]


FRONT_MATTER = {
    "YAML": ("---\ntitle: x\n---\n", "body\n"),
    "a byte-order mark, CRLF and three dots": ("---\r\ntitle: x\r\n...\r\n", "body"),
    "old line ends": ("---\rtitle: x\r---\r", "body"),
    "nothing in it": ("---\n---\n", "body\n"),
    "nothing behind it": ("---\ntitle: x\n---", ""),
    "blanks behind the fences": ("---  \ntitle: x\n--- \t\n", "body\n"),
    "a comment first": ("---\n# a heading elsewhere\ntitle: x\n---\n", "body\n"),
    "blank lines, lists and text over several lines": (
        "---\ntitle: >\n  a\n  b\n\ntags:\n- x\n- y\nlist: [\n  1\n]\n---\n",
        "body\n",
    ),
    "a key in quotes, and one of other letters": ('---\n"a b": 1\nключ: 2\n---\n', "body\n"),
    "TOML": ('+++\ntitle = "x"\n[params]\n  a = """\ntext\n"""\n+++\n', "body\n"),
    "TOML with nothing in it": ("+++\n+++\n", "body\n"),
}


@pytest.mark.parametrize("case", FRONT_MATTER)
def test_front_matter_is_hidden(case: str) -> None:
    metadata, body = FRONT_MATTER[case]
    mark = "\ufeff" if "byte-order" in case else ""
    text = mark + metadata + body
    assert front_matter(text) == len(mark + metadata)
    assert hidden(text) == [metadata.strip()]
    assert "".join(piece.content for piece in pieces(text)) == body.strip()


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA rule, then text.\n\n---\n\nkey: value\n",
        "---\ntitle: never closed\n",
        "---\ntitle: never closed" + "\n\nword: words\n" * 6000 + "---\n",
        "---\nNo key.\n---\n",
        "---\nText, not metadata.\nNote: a colon.\n---\n",
        "----\ntitle: x\n----\n",
        "text\n---\ntitle: x\n---\n",
        "\n---\ntitle: x\n---\n",
        " ---\ntitle: x\n---\n",
        "+++\nno key\n+++\n",
        "---",
        "+++\n",
    ],
)
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    assert front_matter(text) == 0
    assert hidden(text) == []


def test_one_table_is_one_chunk() -> None:
    text = "| h0 | h1 |\n| --- | --- |\n| r0c0 | r0c1 |"
    assert sections(text) == [((), text)]


def test_a_long_table_is_cut_between_rows_and_repeats_its_header() -> None:
    header = "| id | name | stock |\n| --- | :-- | --: |\n"
    rows = [f"| {n} | bolt {n} | {3 * n} |" for n in range(120)]
    caption, behind = "_Table 1: all parts_", "After the table."
    text = f"# Parts\n\n{caption}\n\n{header}" + "\n".join(rows) + f"\n\n{behind}\n"
    found = [piece.content for piece in pieces(text, Rule("prose", "words", 100, 0))]
    assert len(found) > 5
    assert found[0].startswith(f"{caption}\n\n{header}")
    assert all(content.startswith(header) for content in found[1:])
    assert sum(content.count(caption) for content in found) == 1
    seen = [line for content in found for line in content.split("\n") if "bolt" in line]
    assert seen == rows
    assert found[-1].endswith(f"\n\n{behind}")


def headers(text: str) -> list[tuple[str, str]]:
    """The rows of tables behind their headers, and these."""
    return [(text[b.start : b.end], text[slice(*b.header)]) for b in read(text) if any(b.header)]


def test_each_row_has_the_header_of_its_table() -> None:
    first, second = "| a | b |\n|:--|--:|\n", "c | d\n-- | --\n"
    text = f"{first}| 1 | 2 |\n| 3 | 4 |\n\n{second}5 | 6\n"
    assert headers(text) == [
        ("| 1 | 2 |\n", first),
        ("| 3 | 4 |\n\n", first),
        ("5 | 6\n", second),
    ]
    assert [level for level, _ in parts(text)] == [BLOCK, ROW, ROW, BLOCK, ROW]


def test_the_header_of_a_table_in_containers_keeps_their_marks() -> None:
    text = "- | a | b |\n  | - | - |\n  | 1 | 2 |\n> | c |\n> | - |\n> | 3 |\n"
    assert headers(text) == [
        ("  | 1 | 2 |\n", "- | a | b |\n  | - | - |\n"),
        ("> | 3 |\n", "> | c |\n> | - |\n"),
    ]


def test_text_above_a_header_row_is_a_paragraph_of_its_own() -> None:
    text = "Some words\nand more\n| a |\n| - |\n| 1 |\n"
    assert parts(text) == [
        (BLOCK, "Some words\nand more"),
        (BLOCK, "| a |\n| - |"),
        (ROW, "| 1 |"),
    ]


TABLES = (
    "| a |\n| - |\n| 1 |\n",
    "| a |\n|-|\n",
    "| h |\n---\n| 1 |\n",
    "a |\n--\n1\n",
    "a | b\n-|-\n1 | 2\nno bar at all\nand more\n\nAfter.\n",
    "a | b\n:-- | --:\n1 | 2 | 3\n1\n",
    "| a | b |\n| - |\n",
    "| a |\n| - | - |\n",
    "a \\| b | c\n- | -\n1 | 2\n",
    "a \\| b | c\n--|--\n1 | 2\n",
    "a \\| b\n--\nx\n",
    "`a | b` | c\n--|--|--\n1 | 2\n",
    "a \\\\| b\n--\n1\n",
    "|| a |\n|-|-|\n",
    "| a ||\n|-|-|\n",
    "|\n|-\n",
    "||\n|-|\n",
    "| |\n|-|\n",
    "| a | b |\n|---||\n",
    "| a | b |\n| -- - | - |\n",
    "| a | b |\n| :-: | :-: |\n| 1 | 2 |\n# heading\n",
    "| a | b |\n|-|-|\n| 1 | 2 |\n> quote\n",
    "| a | b |\n|-|-|\n| 1 | 2 |\n- item\n",
    "| a | b |\n|-|-|\n2. item\n",
    "| a | b |\n|-|-|\n```\ncode\n```\n",
    "| a | b |\n|-|-|\n<div>\n",
    "| a | b |\n|-|-|\n<span>\nrow\n",
    "| a | b |\n|-|-|\n    code\n",
    "| a | b |\n|-|-|\n   row\n---\n",
    "| a | b |\n|-|-|\n===\n--\n",
    "    | a |\n| - |\n",
    "   | a |\n   | - |\n   | 1 |\n",
    "| a |\n    | - |\n",
    "words\n| a |\n| - |\n| 1 |\n",
    "words\n    | a |\n| - |\n",
    "words\nmore\na | b\n-|-\n---\n",
    "words\n| a |\n---\n",
    "- words\n\n  | a |\n  | - |\n  | 1 |\n\nafter\n",
    "- | a |\n| - |\n",
    "> | a |\n> | - |\n| 1 |\n",
    "> words\n| a |\n| - |\n",
    "[a]: b\n| a |\n| - |\n| 1 |\n",
    "| a |\n| - |\n| b |\n| - |\n| c |\n",
    "| a |\t\n|\t-\t|\n|\t1 |\n",
    "| a |\r\n| - |\r\n| 1 |\r\n\r\nafter\r\n",
    "a|b\n:-\n",
    "a|b\n-\n",
    "a|b\n- | -\n",
    "a|b\n|-|-|x\n",
)


@pytest.mark.parametrize("text", TABLES)
def test_tables_are_those_of_the_reference(text: str) -> None:
    assert_as_the_reference(text)


def test_a_table_in_html_is_lines_of_html() -> None:
    text = "<table>\n<tr><td># a</td></tr>\n| - |\n</table>\n\n# b\n"
    assert parts(text) == [
        (BLOCK, "<table>"),
        (ROW, "<tr><td># a</td></tr>"),
        (ROW, "| - |"),
        (ROW, "</table>"),
    ]
    assert headings(text) == [(1, "b")]


def test_footnotes_are_blocks_with_what_is_indented_below() -> None:
    note = "[^note]: Two\nlines.\n\n    # no heading\n\n        code"
    text = f"Words[^1].\n[^1]: One.\n{note}\n\nAfter.\n"
    assert parts(text) == [
        (BLOCK, "Words[^1]."),
        (BLOCK, "[^1]: One."),
        (BLOCK, "[^note]: Two\nlines."),
        (ROW, "    # no heading"),
        (ROW, "        code"),
        (BLOCK, "After."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[^1]: a\n---\n",
        "[^1]: a\n===\n",
        "[^1]:\n---\n",
        "[^1]:\n\n    a\n    ---\n\nb\n---\n",
        "[^1]: # a\n# b\n",
        "[^a b]: c\n---\n",
        "[^]: c\n---\n",
        "words\n[^1]: a\nlazy\n\n# b\n",
        "- a\n\n[^1]: b\n\n    - c\n\nd\n",
        "[^1] a\n---\n",
    ],
)
def test_footnotes_are_those_of_the_reference(text: str) -> None:
    assert_as_the_reference(text)


DEFINITIONS = (
    "[a]: b\n---\n",
    "[a]: b\n===\n",
    "[a]: b\nTitle\n===\n",
    "[a]:\nb\n---\n",
    "[a]:\n---\n",
    "[a]:\n===\nTitle\n---\n",
    "[a]:\n-\n",
    "[a]: b\n'title'\n---\n",
    "[a]: b 'title'\n---\n",
    '[a]: b\n  "title\nover lines"\n---\n',
    '[a]: b "title\nover lines"\nTitle\n---\n',
    '[a]: b "title\nnever closed\n---\n',
    "[a]: b\n(title)\n---\n",
    "[a]: b\n(ti(tle)\n---\n",
    "[a]: b 'title' more\n---\n",
    "[a]: b\n'title' more\n---\n",
    "[a]: b\n\n'title'\n---\n",
    "[a\nb]: c\n---\n",
    "[a\\]b]: c\n---\n",
    "[a[b]: c\n---\n",
    "[]: c\n---\n",
    "[ ]: c\n---\n",
    "[a] : c\n---\n",
    "[a]: <b c>\n---\n",
    "[a]: <>\n---\n",
    "[a]: <b>c\n---\n",
    "[a]: <b\n---\n",
    "[a]: b(c)\n---\n",
    "[a]: b(c\n---\n",
    "[a]: b)\n---\n",
    "[a]: b\\)\n---\n",
    "[a]: b\n[c]: d\n[e]: f\nTitle\n---\n",
    "[a]: b\n[c] d\n---\n",
    "words\n[a]: b\n---\n",
    "[a]: b\n    code\n",
    "[a]: b\n2. item\n",
    "[a]: b\n<span>\n# no\n",
    "# heading\n[a]: b\n---\n",
    "> [a]: b\n> ---\n",
    "> [a]: b\nwords\n---\n",
    "- [a]: b\n  ===\n\nTitle\n===\n",
    "   [a]: b\n---\n",
    "    [a]: b\n---\n",
)


@pytest.mark.parametrize("text", DEFINITIONS)
def test_definitions_are_those_of_the_reference(text: str) -> None:
    assert_as_the_reference(text)


def test_definitions_in_a_row_are_rows() -> None:
    text = "[a]: b\n[c]: d\n  'title'\n[e]: f\nText.\n"
    assert parts(text) == [
        (BLOCK, "[a]: b"),
        (ROW, "[c]: d\n  'title'"),
        (ROW, "[e]: f"),
        (BLOCK, "Text."),
    ]


def test_items_of_another_list_are_blocks() -> None:
    text = "- a\n- b\n\n- c\n* d\n* e\n1. f\n2. g\n1) h\n\n> i\n- j\n"
    levels = [level for level, _ in parts(text)]
    assert levels == [BLOCK, ITEM, ITEM, BLOCK, ITEM, BLOCK, ITEM, BLOCK, BLOCK, BLOCK]


MDX = """\
---
title: Cards
---
import {Card} from './card'
import './style.css'

export const meta = {
  note: `

# in a template

---
`,
}

# Cards

{/* # hidden

hidden too */}

<Card
  title="a > b, it's"
  icon={<Icon name="}" />}
  code={`
## in a template

---
`}
>

## In a card

</Card>

{items.map((item) => (
  <p># {item}, don't</p>

))}

    ### Indented, which is no code

import duties rose, and {values} stay. {/* so */}
{/* does this */}

[a]: b
{/* hidden */}
Title
---
"""


def test_mdx_hides_what_is_program_and_nothing_else() -> None:
    assert headings(MDX, "a/b.MDX") == [
        (1, "Cards"),
        (2, "In a card"),
        (3, "Indented, which is no code"),
        (2, "Title"),
    ]
    assert [text.split("\n")[0] for text in hidden(MDX, "a.mdx")] == [
        "---",
        "import {Card} from './card'",
        "export const meta = {",
        "{/* # hidden",
        "{/* hidden */}",
    ]
    assert (BLOCK, "import duties rose, and {values} stay. {/* so */}\n{/* does this */}") in parts(
        MDX, "a.mdx"
    )
    for end in ("\r\n", "\r"):
        assert headings(MDX.replace("\n", end), "a.mdx") == headings(MDX, "a.mdx")


@pytest.mark.parametrize(
    "line",
    [
        "import a from 'b'",
        "import a, {b} from 'c'",
        "import * as a from 'b'",
        "import 'a.css'",
        "export default ({children}) => <div>{children}</div>",
        "export const a = 1",
        "export function a() {}",
        "export {a} from 'b'",
        "{/* a */}",
        "{ /* a */ /* b */ }",
    ],
)
def test_program_is_hidden_in_mdx_only(line: str) -> None:
    text = f"# T\n\n{line}\n\nbody\n"
    assert hidden(text, "a.mdx") == [line]
    assert hidden(text, "a.md") == []


@pytest.mark.parametrize(
    "text",
    [
        "import duties rose.",
        "export figures fell, from 3 to 2.",
        "exports and imports",
        "{value}",
        "{}",
        "{/* a */} and text",
        "words\nimport a from 'b'",
        "- {/* in an item */}",
        "<Card>\ntext\n</Card>",
        "<https://example.test>",
        "{/* never closed",
        "<Card a='never closed",
        "{`never closed ${",
        "export const a = {",
    ],
)
def test_what_is_text_in_mdx_is_seen(text: str) -> None:
    assert hidden(text, "a.mdx") == []
    assert "".join(part for _, part in parts(text, "a.mdx")).replace("\n", "") == text.replace(
        "\n", ""
    )


def test_headings_behind_an_unclosed_expression_are_read() -> None:
    text = "{never closed\n\n# One\n\n{/* hidden no more */}\n\n# Two\n"
    assert headings(text, "a.mdx") == [(1, "One"), (1, "Two")]


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


class Outline(NamedTuple):
    """Headings (rank, title, first line, last line); the lines at which blocks and items outside of
    containers begin; tables (first line, lines of their rows)."""

    headings: list[tuple[int, str, int, int]]
    begins: set[int]
    tables: dict[int, list[int]]


COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
PARSER = MarkdownIt("commonmark", {"maxNesting": 200, "inline_definitions": True})
PARSER.enable("table").use(footnote_plugin, move_to_end=False).core.ruler.disable("inline")


def by_reference(text: str) -> tuple[Outline, set[int]]:
    """A text as markdown-it-py reads it, and the lines of its definitions of link targets."""
    outline, definitions = Outline([], set(), {}), set()
    tokens = PARSER.parse(text)
    for at, token in enumerate(tokens):
        if not token.map or token.nesting < 0 or token.type == "inline":
            continue
        first, behind = token.map
        if token.type == "definition":
            definitions.update(range(first, behind))
        elif token.level == 0 or (token.level == 1 and token.type == "list_item_open"):
            outline.begins.add(first)
        if token.type == "heading_open" and token.level == 0:
            title = " ".join(COMMENT.sub("", tokens[at + 1].content).split())
            outline.headings.append((int(token.tag[1]), title, first, behind - 1))
        if token.type == "table_open" and behind > first + 2:
            outline.tables[first] = list(range(first + 2, behind))
    return outline, definitions


def by_us(text: str) -> Outline:
    def line(at: int) -> int:
        return text.count("\n", 0, at)

    outline = Outline([], set(), {})
    for block in read(text):
        begin = line(block.start)
        is_line = block.start == 0 or text[block.start - 1] == "\n"
        if is_line and (block.level >= ITEM or block.level == HEADING):
            outline.begins.add(begin)
        if block.level == HEADING:
            last = line(len(text[: block.end].rstrip()))
            outline.headings.append((block.rank, block.title, begin, last))
        if any(block.header):
            first, behind = map(line, block.header)
            assert behind == first + 2
            outline.tables.setdefault(first, []).append(begin)
    return outline


def assert_as_the_reference(text: str, *fields: str) -> None:
    ours, (theirs, others) = by_us(text), by_reference(text)
    others.update(text.count("\n", 0, b.start) for b in read(text) if b.level == HIDDEN)
    for field in fields or Outline._fields:
        our, their = getattr(ours, field), getattr(theirs, field)
        if field == "begins":
            our, their = our - others, their - others
        assert our == their, (field, text)


def awkward(seed: int, *, plain: bool) -> str:
    """A document of lines that interfere with each other, more of them than `generated` has.

    With plain it has nothing of what markdown-it-py reads in another way than the specification
    where it is no matter of headings: marks behind four columns, and tables that begin with the
    mark of another block.
    """
    chosen = random.Random(seed)
    pools = (FRAGMENTS, AWKWARD, AWKWARD, HTML, () if plain else TABLE_ROWS)
    lines = [line for pool in pools for line in pool]
    prefixes = ["> ", "- ", "1. ", "  ", "2) "] if plain else PREFIXES
    if plain:
        lines = [line for line in lines if line.strip() and not re.match(r"   |.*[|\t\[]", line)]
    few = chosen.sample(lines, 12)
    depth = 0.6 * chosen.random()
    written = []
    for _ in range(chosen.choice((3, 5, 10, 30))):
        line = chosen.choice(few if seed % 2 else lines)
        while chosen.random() < depth:
            line = chosen.choice(prefixes) + line
        written.append("" if chosen.random() < 0.15 else line)
    return "\n" + "\n".join(written) + "\n"


AWKWARD = (
    *("text", "Foo", "====", "=", "-", "+", "*", "- a", "* b", "1. c", "1) d", "2. e", "- - x"),
    *("- 1. y", "> q", "# h", "## h ##", "#", "    code", "\tcode", "  two", "   three", "\\", "`"),
    *("``` x", "~~~~", "_ _ _", "__", "- ", "-\tt", ">\tq", "-   # h", "-     code", "00. x"),
    *("1234567890. no", "[a]: b", "[c]:", "  /url", "'title'", "[d]: e 'f'", "[g]: h i", "[ ]: j"),
)
TABLE_ROWS = (
    *("| a | b |", "| - | - |", "|-|-|", "a | b", "--|--", ":-: | -:", "| 1 |", "| a |", "| - |"),
    *("|-", "--", "-|-", ":--", "x \\| y", "`c | d`", "||", "|", "a|", "\\|", ": | -"),
)
HTML = (
    *("<table>", "<tr><td>x", "</table>", "<a href='x' b>", "<a href='x", "</b >", "<b/>", "<pre>"),
    *("</pre>", "<!DOCTYPE html>", "<![CDATA[ x ]]>", "<!-->", "<!-- c -->", "<div/> x", "<p"),
    *("<x-y z=1>", "<h1>a</h1>", "<Script>", "</STYLE>", "<? x ?>"),
)
PREFIXES = ("> ", ">", "- ", "1. ", "  ", "   ", "    ", "\t", "* ", "     ", "2. ")


@pytest.mark.parametrize("seed", range(300))
def test_generated_documents_have_the_headings_of_the_reference(seed: int) -> None:
    assert_as_the_reference("\n" + generated(seed, 5 + seed % 40), "headings")
    assert_as_the_reference(awkward(seed, plain=False), "headings")
    assert_as_the_reference(awkward(seed, plain=True), "headings", "begins")


def test_pairs_of_lines_are_read_as_the_reference_does() -> None:
    for first in FRAGMENTS:
        for second in FRAGMENTS:
            text = f"words\n\n{first}\n{second}\n# last\n"
            assert_as_the_reference(text, "headings")


def test_real_documents_are_read_as_the_reference_does() -> None:
    folder = Path(sysconfig.get_paths()["purelib"])
    files = sorted(folder.rglob("*.md"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if not front_matter(text):
            assert_as_the_reference(text)


MDX_LINES = (
    *(
        "import a from 'b'",
        "export const a = {",
        "export default 1",
        "{/* a",
        "*/}",
        "{a}",
        "{",
        "}",
    ),
    *(
        "<Card",
        "/>",
        "<Card a={`",
        "`} />",
        "<Card>",
        "</Card>",
        "'",
        '"',
        "`",
        "${",
        "\\",
        "<",
        "//",
    ),
)


@given(
    st.one_of(
        any_text(),
        st.lists(st.sampled_from((*FRAGMENTS, *AWKWARD, *TABLE_ROWS, *HTML, *MDX_LINES))).map(
            "\n".join
        ),
    ),
    st.sampled_from(("", "a.mdx")),
)
@settings(max_examples=400, deadline=None)
def test_blocks_hold_all_of_the_text_in_order(text: str, path: str) -> None:
    found = read(text, path)
    assert found == read(text, path)
    at = found[0].start if found else len(text)
    assert not text[:at].strip("\ufeff \t\r\n")
    for block in found:
        assert block.start == at < block.end
        at = block.end
        first, behind = block.header
        assert first == behind == 0 or first < behind <= block.start
    assert at == len(text)


LONG = {
    "prose": english(12_000),
    "Markdown": generated(1, 3_000),
    "one line of brackets": "[" * 25_000,
    "lines of brackets": "[\n" * 5_000,
    "labels that never end": "[a\n" * 5_000,
    "a label that never ends": "[" + "a\\" * 12_500,
    "titles that never end": "[a]: b 'c\n" * 2_000,
    "definitions": "[a]: b\n'c'\n" * 1_500,
    "bars": "|" * 25_000,
    "delimiters": "a | b\n" + "|-" * 10_000 + "x\n",
    "delimiter rows": "|-\n" * 5_000,
    "header rows": "| a | b |\n" * 2_500,
    "tables": "a|b\n-|-\n1|2\n\n" * 1_250,
    "dashes": "- " * 12_500 + "a " + "- " * 12_500,
    "items in items": ("- " * 90 + "a\n") * 60,
    "blank lines in items": "- " * 90 + "a\n" + " \n" * 750,
    "quotes in quotes": ("> " * 90 + "a\n") * 200,
    "comments in items": "- <!-- a\n" * 2_500 + "-->",
    "comments never closed": "<!-- a\n\n" * 2_500,
    "tags": "<a b " * 5_000,
    "a tag of many lines": "<a b='\n" * 2_500,
    "blanks": (" " * 2_000 + "\n") * 50 + " " * 25_000,
    "tabs": "\t" * 12_500 + "a\n",
    "footnotes": "[^a" * 7_500,
    "metadata never closed": "---\n" + "a: b\n" * 5_000,
    "returns": "word\r" * 5_000,
}
MDX_LONG = {
    "braces": "{" * 25_000,
    "blocks of braces": "{a}\n\n" * 2_500,
    "comments": "{/* a */}\n\n" * 2_000,
    "statements": "export const a = {\n\n}\n\n" * 1_000,
    "quotes with backslashes": "{" + '\\"' * 12_500,
    "open quotes": "{" + "'\n" * 10_000,
    "open comments": "{" + "/*" * 12_500,
    "templates": "{" + "`${" * 7_500,
    "tags": "<a\nb>\n\n" * 2_000,
    "open tags": "<a\n" * 5_000,
}


@pytest.mark.parametrize("kind", LONG)
def test_time_is_linear(kind: str) -> None:
    assert grows_linearly(read, LONG[kind], times=4)


@pytest.mark.parametrize("kind", MDX_LONG)
def test_time_of_mdx_is_linear(kind: str) -> None:
    assert grows_linearly(lambda text: read(text, "a.mdx"), MDX_LONG[kind], times=4)


@pytest.mark.parametrize("text", [english(60_000), "word\r\n" * 50_000, "- a\n" * 50_000])
def test_ticks_come_often(text: str) -> None:
    ticks = sum(block is None for block in blocks(text))
    assert ticks > max(len(text) // 100_000, text.count("\n") // 100_000)


def test_an_unknown_format_is_text() -> None:
    found = [p for p in chunk("# a\n\nb\n", WORDS, format="org") if p is not None]
    assert [piece.content for piece in found] == ["# a\n\nb"]
