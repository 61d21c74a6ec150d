"""TOML: tables are scopes, and nothing in a value is taken for one."""

from __future__ import annotations

import pytest

from pg_grain.plpython.blocks import SCOPE
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.toml import blocks
from pg_grain.plpython.pieces import Piece, Rule


def scopes(text: str, path: str = "") -> list[tuple[str, ...]]:
    found = blocks(text, path)
    return [block.path for block in found if block is not None and block.level == SCOPE]


def pieces(text: str, path: str = "", words: int = 50) -> list[Piece]:
    found = chunk(text, Rule("prose", "words", words, 0), format="toml", path=path)
    return [piece for piece in found if piece is not None]


def test_tables_are_scopes_and_the_keys_before_are_the_files() -> None:
    text = 'name = "x"\n\n# The server.\n[server]\nport = 1\n\n[[server.alias]]\nname = "y"\n'
    assert [(piece.section_path, piece.content) for piece in pieces(text, "etc/app.toml")] == [
        (("app",), 'name = "x"'),
        (("app", "server"), "# The server.\n[server]\nport = 1"),
        (("app", "server", "alias"), '[[server.alias]]\nname = "y"'),
    ]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("[a.b.c]", ("a", "b", "c")),
        ('["a.b".c]', ("a.b", "c")),
        ("['x y' . z]  # note", ("x y", "z")),
        ("[[ list ]]", ("list",)),
        ("[a..b]", ("a..b",)),
    ],
)
def test_names_fall_into_their_parts(line: str, path: tuple[str, ...]) -> None:
    assert scopes(line + "\nk = 1\n")[-1] == path


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n[no]\n"""\n',
        "a = '''\n[no]\n'''\n",
        "a = [\n  [1, 2],\n  [3],\n]\n",
        'a = { b = "]", c = [\n1,\n] }\n',
        '# [no]\na = "[no]"\n',
        'a = "\\"" # """\n',
        "a = 'it' # '''\n",
        'a = "[" # [\n',
    ],
)
def test_values_hold_no_tables(text: str) -> None:
    assert scopes(text + "[yes]\nk = 1\n") == [(), ("yes",)]


@pytest.mark.parametrize("text", ["a = [\n1,\n", 'a = """\nopen\n', "a = '''\nopen\n", "a = {\n"])
def test_what_is_never_closed_ends_at_the_next_table(text: str) -> None:
    assert scopes(text + "[yes]\nk = 1\n")[-1] == ("yes",)


def test_a_long_table_is_cut_between_its_keys() -> None:
    text = "[t]\n" + "".join(f"key{n} = [\n  {n},\n]\n" for n in range(40))
    found = pieces(text, words=30)
    assert len(found) > 4
    assert all(piece.content.count("[\n") == piece.content.count("\n]") for piece in found)
