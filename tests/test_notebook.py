"""Jupyter notebooks: the text of the cells, their blocks, and where each character comes from."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pg_grain.plpython.blocks import BLOCK, HEADING, HIDDEN, ITEM, ROW, Block, Mapped
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.notebook import convert
from pg_grain.plpython.pieces import Rule

from documents import any_text, grows_linearly, markdown


def converted(source: str) -> Mapped:
    steps = convert(source)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            mapped: Mapped = stop.value
            return mapped


def text(source: str) -> str:
    return converted(source).text


def blocks(source: str) -> list[tuple[int, str]]:
    mapped = converted(source)
    return [(block.level, mapped.text[block.start : block.end].rstrip()) for block in mapped.blocks]


def sources(source: str) -> list[tuple[str, str]]:
    """Each segment of the text, and what it comes from."""
    mapped = converted(source)
    ends = [segment.at for segment in mapped.segments[1:]] + [len(mapped.text)]
    return [
        (mapped.text[segment.at : end], source[segment.start : segment.end])
        for segment, end in zip(mapped.segments, ends)
    ]


def cell(kind: str, source: object, **more: object) -> dict[str, object]:
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def notebook(*cells: object) -> dict[str, object]:
    return {
        "cells": list(cells),
        "metadata": {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


OUTPUT = {
    "output_type": "display_data",
    "data": {"text/plain": ["derived"], "image/png": "iVBORw0KGgo="},
    "metadata": {"source": ["derived"]},
}
LAB = notebook(
    cell("markdown", ["# Crane\n", "\n", "It **lifts**.\n", "\n", "- one\n", "- two"]),
    cell(
        "code",
        "import crane\n\n\ndef lift(load):\n    up(load)\n\n    hold()\nlift(3)\n",
        execution_count=1,
        outputs=[OUTPUT, {"output_type": "stream", "name": "stdout", "text": "derived\n"}],
    ),
    cell("code", [], execution_count=None, outputs=[]),
    cell("markdown", ["## Load\n", "\n", "Heavy."], attachments={"a.png": {"image/png": "AAAA"}}),
    cell("raw", "as it is\n\nstays"),
)
LAB_TEXT = (
    "# Crane\n\nIt **lifts**.\n\n- one\n- two\n\n"
    "import crane\n\n\ndef lift(load):\n    up(load)\n\n    hold()\nlift(3)\n\n"
    "## Load\n\nHeavy.\n\nas it is\n\nstays"
)


@pytest.mark.parametrize("indent", [None, 0, 1])
def test_text_is_the_source_of_the_cells(indent: int | None) -> None:
    assert text(json.dumps(LAB, indent=indent)) == LAB_TEXT
    assert text("\ufeff" + json.dumps(LAB, indent=indent, sort_keys=True) + "\n") == LAB_TEXT


def test_cells_have_blocks_of_their_kind() -> None:
    assert blocks(json.dumps(LAB)) == [
        (HEADING, "# Crane"),
        (BLOCK, "It **lifts**."),
        (BLOCK, "- one"),
        (ITEM, "- two"),
        (BLOCK, "import crane"),
        (ITEM, "def lift(load):"),
        (ROW, "    up(load)"),
        (ITEM, "    hold()"),
        (ROW, "lift(3)"),
        (HEADING, "## Load"),
        (BLOCK, "Heavy."),
        (BLOCK, "as it is"),
        (BLOCK, "stays"),
    ]


def test_headings_hold_for_the_cells_below() -> None:
    found = [b for b in converted(json.dumps(LAB)).blocks if b.level == HEADING]
    assert [(b.rank, b.title) for b in found] == [(1, "Crane"), (2, "Load")]


def test_rows_of_a_table_have_its_header() -> None:
    table = "| a | b |\n| - | - |\n| 1 | 2 |\n"
    mapped = converted(json.dumps(notebook(cell("markdown", "text"), cell("markdown", table))))
    headers = [mapped.text[b.header[0] : b.header[1]] for b in mapped.blocks if b.header != (0, 0)]
    assert headers and all(header.startswith("| a | b |\n") for header in headers)


def test_markdown_comments_stay_hidden() -> None:
    source = json.dumps(notebook(cell("markdown", "a\n\n<!-- b -->\n\nc")))
    assert (HIDDEN, "<!-- b -->") in blocks(source)


def test_a_cell_has_no_front_matter() -> None:
    source = json.dumps(notebook(cell("markdown", "---\nNote: seen\n---\n\ntext")))
    assert all(level != HIDDEN for level, _ in blocks(source))


def test_cells_of_nbformat_3() -> None:
    source = json.dumps(
        {
            "metadata": {"name": ""},
            "nbformat": 3,
            "nbformat_minor": 0,
            "worksheets": [
                {
                    "cells": [
                        {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Crane"]},
                        cell("markdown", "It lifts."),
                        {
                            "cell_type": "code",
                            "collapsed": False,
                            "input": ["a = 1\n", "b = 2"],
                            "language": "python",
                            "outputs": [{"output_type": "pyout", "text": ["derived"]}],
                        },
                    ]
                },
                {"cells": [cell("markdown", "More.")]},
            ],
        }
    )
    assert text(source) == "Crane\n\nIt lifts.\n\na = 1\nb = 2\n\nMore."
    assert [(b.level, b.rank, b.title) for b in converted(source).blocks][:2] == [
        (HEADING, 2, "Crane"),
        (BLOCK, 0, ""),
    ]


def test_chunks_have_the_path_of_headings_above_and_a_span_of_the_source() -> None:
    source = json.dumps(LAB)
    found = [p for p in chunk(source, Rule("prose", "words", 50, 0), format="notebook") if p]
    assert [piece.section_path for piece in found] == [("Crane",), ("Crane", "Load")]
    assert found[1].content == "Heavy.\n\nas it is\n\nstays"
    assert source[found[1].start : found[1].end].startswith("Heavy.")
    assert source[found[1].start : found[1].end].endswith("stays")


def test_the_type_may_come_behind_the_source() -> None:
    source = '{"cells": [{"source": ["a\\n", "b"], "cell_type": "code"}]}'
    assert blocks(source) == [(BLOCK, "a"), (ROW, "b")]


def test_a_blank_line_stands_between_cells() -> None:
    ends = ("a", "b\n", "c\n\n", "d\r\n", " \n", "e")
    source = json.dumps(notebook(*(cell("raw", end) for end in ends)))
    assert text(source) == "a\n\nb\n\nc\n\nd\r\n\ne"


ESCAPES = {
    r"a\n\tb\r\n\"c\" \\ \/": 'a\n\tb\r\n"c" \\ /',
    r"\b\f\u00e9\u4E2D": "\b\f\u00e9\u4e2d",
    r"x\u0000y": "x\ufffdy",
    r"\ud83d\ude00\uD83D\uDE00": "😀😀",
    r"\ud83dx\ude00 \ud83d\n": "\ufffdx\ufffd \ufffd\n",
    r"\ud83d\u0041": "\ufffdA",
    r"\\n\\u0041": r"\n\u0041",
    r"no \x escape \u12 \uZZZZ": r"no \x escape \u12 \uZZZZ",
    "é 😀 raw\nline": "é 😀 raw\nline",
}


@pytest.mark.parametrize("escaped", ESCAPES)
def test_escapes(escaped: str) -> None:
    assert text(f'{{"cells": [{{"source": "{escaped}"}}]}}') == ESCAPES[escaped]
    assert text(f'{{"cells": [{{"source": ["{escaped}"]}}]}}') == ESCAPES[escaped]


def test_text_comes_from_its_source() -> None:
    source = r'{"cells": [{"source": ["a \"b\"\n", "c"]}, {"source": "d\ud83d\ude00", "id": "e"}]}'
    assert sources(source) == [
        ("a ", "a "),
        ('"', r"\""),
        ("b", "b"),
        ('"', r"\""),
        ("\n", r"\n"),
        ("c", "c"),
        ("\n\n", '"]}, {"source": "'),
        ("d", "d"),
        ("😀", r"\ud83d\ude00"),
    ]


DAMAGED = {
    "an end in a string": ('{"cells": [{"source": ["a\\n", "b c', "a\nb c"),
    "an end in an escape": ('{"cells": [{"source": "a\\u00', "a\\u00"),
    "an end behind a backslash": ('{"cells": [{"source": "a\\', "a\\"),
    "an end between cells": ('{"cells": [{"source": "a"}, {"source": "b"}, ', "a\n\nb"),
    "an end in an output": ('{"cells": [{"source": "a", "outputs": [{"text": "b', "a"),
    "commas that are missing": ('{"cells": [{"source": "a" "id": "x"} {"source": "b"}]}', "a\n\nb"),
    "brackets that are missing": ('{"cells": [{"source": ["a", "b"}, {"source": "c"]', "ab\n\nc"),
    "brackets too many": ('}]{"cells": [{"source": ["a"]]}}}', "a"),
    "marks of a merge": (
        '{"cells": [\n<<<<<<< HEAD\n{"source": "a"},\n=======\n{"source": "b"},\n>>>>>>> x\n]}',
        "a\n\nb",
    ),
    "text behind the end": ('{"cells": [{"source": "a"}]} more', "a"),
    "a source of another kind": (
        '{"cells": [{"source": null, "id": "x"}, {"source": {"a": "b"}}, {"source": [["c"], "d"]}]}',
        "d",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_notebook_gives_what_is_found(case: str) -> None:
    source, expected = DAMAGED[case]
    assert text(source) == expected


NO_CELLS = (
    "",
    "plain words\n\nmore words",
    "\ufeff# heading\n",
    '{"a": [1, 2, {"source": "b"}]}',
    '[{"cells": [{"source": "a"}]}]',
    '{"cells": "a"}',
    '{"cells": ["a"]}',
    '{"metadata": {"cells": [{"source": "a"}]}}',
    '{"cells": [ not JSON at all',
    '{"cells": [{"other": "a"}]}',
)


@pytest.mark.parametrize("source", NO_CELLS)
def test_a_text_without_cells_is_plain_text(source: str) -> None:
    mapped = converted(source)
    assert mapped.text == source
    assert [block.level for block in mapped.blocks] == [BLOCK] * len(mapped.blocks)
    assert len(mapped.segments) == bool(source)


@pytest.mark.parametrize(
    "source", ['{"cells": []}', json.dumps(notebook(cell("code", []), cell("markdown", " \n")))]
)
def test_a_notebook_without_text_has_none(source: str) -> None:
    assert converted(source) == Mapped("", [], [])


def assert_sound(source: str, mapped: Mapped) -> None:
    """The laws of what a reader makes of a text."""
    at = 0
    for block in mapped.blocks:
        assert at <= block.start < block.end
        assert not mapped.text[at : block.start].strip("\ufeff \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85")
        first, last = block.header
        assert first <= last <= block.start
        at = block.end
    assert not mapped.text[at:].strip("\ufeff")
    at = position = 0
    for segment, end in zip(mapped.segments, [s.at for s in mapped.segments[1:]] + [0]):
        assert segment.at == at
        at = end or len(mapped.text)
        assert at > segment.at
        assert position <= segment.start < segment.end <= len(source)
        position = segment.end
        if at - segment.at == segment.end - segment.start:
            assert mapped.text[segment.at : at] == source[segment.start : segment.end]
    assert at == len(mapped.text)


written = st.one_of(
    markdown(),
    st.text(st.sampled_from('ab \n\r\t"\\/\u0000é😀#-{}[]'), max_size=40),
    any_text(),
)
cells = st.lists(
    st.tuples(
        st.sampled_from(("markdown", "code", "raw", "heading", "other")),
        written,
        st.booleans(),
        st.booleans(),
    ),
    max_size=6,
)


@given(cells, st.sampled_from((None, 0, 2)), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_notebook_has_the_text_of_its_cells(
    cells: list[tuple[str, str, bool, bool]], indent: int | None, is_ascii: bool, sorts: bool
) -> None:
    parts = []
    for kind, source, is_list, has_outputs in cells:
        more = {"outputs": [OUTPUT]} if has_outputs else {}
        lines: object = source.splitlines(keepends=True) if is_list else source
        parts.append(cell(kind, lines, **more))
    source = json.dumps(notebook(*parts), indent=indent, ensure_ascii=is_ascii, sort_keys=sorts)
    mapped = converted(source)
    assert mapped == converted(source)
    assert_sound(source, mapped)
    expected = "".join(source.replace("\0", "\ufffd") for _, source, _, _ in cells)
    assert "".join(mapped.text.split()) == "".join(expected.split())


FRAGMENTS = (
    *('{"cells": [', '{"cell_type": "markdown", ', '"source": [', '"source": "', '"a\\n", ', '"b"'),
    *("{", "}", "[", "]", '"', ",", ":", "\\", "\\u00", "\\ud83d", "\\ude00", "\\n", "word", "1"),
    *('"outputs": [', '"level": 2, ', '"cell_type": "code", ', '"heading"', '"worksheets": [', " "),
    *('"cells": [', '{"source": "c"}, ', "\n", "é", "\ufeff", "# x\\n", "null", "]}", "\ud800"),
)


@given(
    st.one_of(
        st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
        st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(
            lambda parts: '{"cells": [{"source": [' + "".join(parts)
        ),
        any_text(),
    )
)
@example('{"cells": [{"source": "a\\')
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_gives_blocks_with_sources(source: str) -> None:
    mapped = converted(source)
    assert mapped == converted(source)
    assert_sound(source, mapped)


@given(st.integers(0, len(json.dumps(LAB))))
@settings(max_examples=100, deadline=None)
def test_a_notebook_that_is_cut_off_keeps_what_is_there(length: int) -> None:
    source = json.dumps(LAB)[:length]
    found = text(source)
    kept = re.sub(r"\\u?\w{0,3}\Z", "", found)
    assert LAB_TEXT.startswith(kept) or found == source


CELLS = json.dumps(LAB)[len('{"cells": [') :].partition('], "metadata": {"k')[0] + ", "
LONG = {
    "cells": '{"cells": [' + CELLS * 20,
    "large outputs": '{"cells": [{"outputs": ["' + "x" * 300_000 + '"], "source": "a"}',
    "escapes in outputs": '{"cells": [{"outputs": ["' + '\\"' * 20_000 + '"], "source": "a"}',
    "escapes": '{"cells": [{"source": "' + "\\n" * 5_000,
    "backslashes": '{"cells": [{"source": "' + "\\" * 10_000,
    "half escapes": '{"cells": [{"source": "' + "\\ud83d" * 3_000,
    "brackets": "[" * 20_000,
    "braces": '{"cells": [' + "{" * 20_000,
    "closing brackets": '{"cells": [' + "]" * 20_000,
    "brackets of two kinds": "{[" * 5_000 + "]" * 5_000,
    "quotes": '"' * 20_000,
    "keys": '{"cells": [{' + '"source": ' * 5_000,
    "blanks": '{"cells": [{"a"' + " " * 200_000,
    "no tokens": "x" * 300_000,
    "strings": '{"cells": [{"source": [' + '"a", ' * 5_000,
    "lines of code": '{"cells": [{"cell_type": "code", "source": ["' + "a\\n" * 3_000,
    "blank lines of code": '{"cells": [{"cell_type": "code", "source": ["a' + "\\n" * 4_000,
    "a long line": '{"cells": [{"cell_type": "code", "source": ["' + "word " * 40_000,
    "objects": "{" + '"a": {}, ' * 5_000,
}


@pytest.mark.parametrize("kind", LONG)
def test_time_is_linear(kind: str) -> None:
    assert grows_linearly(converted, LONG[kind], times=4)


@pytest.mark.parametrize("kind", [kind for kind in LONG if kind != "a long line"])
def test_ticks_come_often(kind: str) -> None:
    source = LONG[kind] * (600_000 // len(LONG[kind]) + 1)
    assert sum(1 for _ in convert(source)) >= len(source) // (1 << 18)


def test_deep_nesting_is_no_depth() -> None:
    source = (
        '{"cells": [{"metadata": ' + "[{" * 50_000 + "}]" * 50_000 + ', "source": "inner words"}]}'
    )
    assert text(source) == "inner words"


def test_blocks_of_plain_text_are_its_paragraphs() -> None:
    assert converted("a\n\nb").blocks == [Block(BLOCK, 0, 3), Block(BLOCK, 3, 4)]
