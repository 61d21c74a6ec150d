"""YAML: keys at the beginning of a line are scopes, and nothing in a value is taken for one."""

from __future__ import annotations

import pytest

from pg_grain.plpython.blocks import ITEM, SCOPE
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.yaml import blocks
from pg_grain.plpython.pieces import Piece, Rule

from documents import grows_linearly


def scopes(text: str, path: str = "") -> list[tuple[str, ...]]:
    found = blocks(text, path)
    return [block.path for block in found if block is not None and block.level == SCOPE]


def pieces(text: str, path: str = "ci.yml", words: int = 50) -> list[Piece]:
    found = chunk(text, Rule("prose", "words", words, 0), format="yaml", path=path)
    return [piece for piece in found if piece is not None]


def test_keys_with_a_value_below_are_scopes() -> None:
    text = "name: x\non: push\n\n# The jobs.\njobs:\n  test:\n    - make\nlist:\n- one\n- two\n"
    assert [(piece.section_path, piece.content) for piece in pieces(text)] == [
        (("ci",), "name: x\non: push"),
        (("ci", "jobs"), "# The jobs.\njobs:\n  test:\n    - make"),
        (("ci", "list"), "list:\n- one\n- two"),
    ]


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ('"quoted: key"', "quoted: key"),
        ("'it''s'", "it''s"),
        ("a:b", "a:b"),
        ("http://x", "http://x"),
        ("-dash", "-dash"),
        ("a#b", "a#b"),
    ],
)
def test_what_is_a_key(key: str, name: str) -> None:
    assert scopes(f"{key}:\n  k: 1\n")[-1] == (name,)


@pytest.mark.parametrize(
    "value",
    [
        "|\n  no:\n    deep: 1",
        ">-\n  no:\n\n  no:\n    x",
        '"a\n  no: 1"',
        "[\n  no: 1,\n  ]",
        "{a: 1,\n  b: 2}",
        "# comment: no\n  k: 1",
        "\n\n\n  k: 1",
        "\n# no:\n  k: 1",
        "&anchor\n  no: 1",
    ],
)
def test_values_hold_no_scopes(value: str) -> None:
    text = f"first: {value}\nyes:\n  k: 1\n"
    assert [path for path in scopes(text) if path] in ([("first",), ("yes",)], [("yes",)])
    assert scopes(text)[-1] == ("yes",)


def test_the_second_document_is_read_like_the_first() -> None:
    text = "%YAML 1.2\n---\na:\n  k: 1\n...\n---\nb:\n  k: 1\n"
    assert [path for path in scopes(text) if path] == [("a",), ("b",)]


def test_items_of_a_sequence_are_items() -> None:
    text = "- name: a\n  run: x\n- name: b\n  run: y\n"
    found = [b for b in blocks(text, "") if b is not None and b.level != SCOPE]
    assert [(text[b.start : b.end].split("\n")[0], b.level) for b in found][-2:] == [
        ("- name: b", ITEM),
        ("  run: y", found[-1].level),
    ]


def test_keys_of_a_scope_are_items() -> None:
    text = "jobs:\n  one:\n    run: x\n  two:\n    run: y\n"
    found = [b for b in blocks(text, "") if b is not None and b.level == ITEM]
    assert [text[b.start : b.end].strip() for b in found] == ["two:"]


def test_yaml_that_is_json_is_read_as_json() -> None:
    assert [path for path in scopes('{"a": {"b": 1}, "c": [1]}') if path] == [("a",), ("c",)]
    assert [path for path in scopes("{{ template }}\na:\n  k: 1\n") if path] == [("a",)]


def test_comments_belong_to_what_follows() -> None:
    text = "a:\n  k: 1\n\n# About b.\n\n# More.\nb:\n  k: 2\n"
    found = pieces(text)
    assert found[1].content == "# About b.\n\n# More.\nb:\n  k: 2"


@pytest.mark.parametrize(
    "text",
    [":", "- ", "---", "...", "a:", "\ta: 1", "%", "a: |", '"a', "? a\n: b", "* x", "@no: 1"],
)
def test_what_is_broken_loses_nothing(text: str) -> None:
    assert "".join(piece.content for piece in pieces(text)).split() == text.split()


@pytest.mark.parametrize(
    "unit", ["a:\n", "# c\n", "- ", "'", '"', ": ", "a: |\n", "---\n", "?\n", "a#"]
)
def test_time_is_linear(unit: str) -> None:
    assert grows_linearly(lambda text: scopes(text), unit * (8000 // len(unit)))
