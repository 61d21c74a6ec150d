"""JSON: members of the outermost object are scopes, and nothing in a string is structure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pg_grain.plpython.blocks import ITEM, SCOPE
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.json import blocks
from pg_grain.plpython.pieces import Piece, Rule

from documents import grows_linearly


def scopes(text: str, path: str = "") -> list[tuple[str, ...]]:
    found = blocks(text, path)
    return [block.path for block in found if block is not None and block.level == SCOPE]


def pieces(text: str, path: str = "a.json", words: int = 50) -> list[Piece]:
    found = chunk(text, Rule("prose", "words", words, 0), format="json", path=path)
    return [piece for piece in found if piece is not None]


def test_members_that_hold_something_are_scopes() -> None:
    text = json.dumps(
        {"name": "x", "version": 1, "scripts": {"build": "make"}, "files": ["a"], "empty": []},
        indent=2,
    )
    assert [(piece.section_path, piece.content) for piece in pieces(text)] == [
        (("a",), '{\n  "name": "x",\n  "version": 1,'),
        (("a", "scripts"), '  "scripts": {\n    "build": "make"\n  },'),
        (("a", "files"), '  "files": [\n    "a"\n  ],'),
        (("a",), '  "empty": []\n}'),
    ]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ('"a b"', "a b"),
        (r'"a\"b"', 'a"b'),
        (r'"\u00e9"', "é"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\u0000"', "\ufffd"),
        ("plain", "plain"),
        ("'single'", "single"),
        (r'"two\nlines"', "two lines"),
    ],
)
def test_keys_are_decoded(key: str, name: str) -> None:
    assert scopes(f"{{{key}: [1]}}")[-1] == (name,)


@pytest.mark.parametrize(
    "value",
    [
        '"}"',
        '"a\\"}"',
        '"\\\\"',
        "[[{}]]",
        '["}", "]"]',
        "// }\n1",
        "/* } */ 1",
        "'}'",
        "[1, 2,]",
        '{"yes": {"deep": 1}}',
    ],
)
def test_nothing_in_a_value_is_a_member(value: str) -> None:
    text = f'{{"first": {value}, "yes": {{"k": 1}}}}'
    found = [path for path in scopes(text) if path]
    assert found[-1] == ("yes",)
    assert found[:-1] in ([], [("first",)])


@pytest.mark.parametrize("path", ["a.jsonl", "a.ndjson", "a.json"])
def test_a_value_in_each_line_is_an_item(path: str) -> None:
    lines = [json.dumps({"id": n, "text": "bolt { [ " * n}) for n in range(1, 5)]
    found = [block for block in blocks("\n".join(lines), path) if block is not None]
    assert [b.level for b in found if b.level != SCOPE][1:] == [ITEM] * 3
    text = "\n".join(lines)
    assert [text[b.start : b.end].strip() for b in found if b.level != SCOPE] == lines


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.text('ab"\\{}[]:,/#é\n \t', max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc{}\"'é", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.text("abc{}\"'\\é", min_size=1, max_size=4), values, max_size=5),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_scopes_are_the_members_that_json_reads(
    document: dict[str, Any], indent: int | None, ascii: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii)
    expected = [(" ".join(key.split()),) for key, value in document.items() if holds(value)]
    assert [path for path in scopes(text) if path] == expected


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), values, min_size=1, max_size=4))
def test_a_scope_is_a_member_whole(document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1)
    for piece in pieces(text, words=100_000):
        if len(piece.section_path) == 2:
            member = piece.content.rstrip().removeprefix("{").rstrip()
            read = json.loads("{" + member.removesuffix(",") + "}") if whole(member) else None
            name = piece.section_path[1]
            assert read is None or read == {name: document[name]}


def holds(value: object) -> bool:
    """Whether a value is an object or an array that is not empty."""
    return isinstance(value, dict | list) and len(value) > 0


def whole(member: str) -> bool:
    """Whether a member's brackets close in it; the last has the bracket of the document, too."""
    try:
        json.loads("{" + member.removesuffix(",") + "}")
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    ["{", "}", "[", '{"a": [', '{"a": "', "not json\nat all\n", '{"a" 1}', "{]}", "null", '"'],
)
def test_what_is_broken_loses_nothing(text: str) -> None:
    assert "".join(piece.content for piece in pieces(text)).split() == text.split()


@pytest.mark.parametrize(
    "unit", ['{"a":', "[", "{[", '"', '\\"', "//", "/*", "[1,", "'", "]", "{},"]
)
def test_time_is_linear(unit: str) -> None:
    assert grows_linearly(lambda text: scopes(text), unit * (8000 // len(unit)))
