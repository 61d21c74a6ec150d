"""CSV and its like: records are those of Python's reader, and each piece repeats the header."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pg_grain.plpython.blocks import HIDDEN, ROW, Block
from pg_grain.plpython.chunking import chunk
from pg_grain.plpython.formats.csv import blocks
from pg_grain.plpython.pieces import Piece, Rule

from documents import grows_linearly


def read(text: str, path: str = "a.csv") -> list[Block]:
    return [block for block in blocks(text, path) if block is not None]


def records(text: str, path: str = "a.csv") -> list[str]:
    return [text[block.start : block.end] for block in read(text, path) if block.level != HIDDEN]


def header(text: str, path: str = "a.csv") -> str:
    """What the last record repeats."""
    start, end = read(text, path)[-1].header
    return text[start:end]


def rows(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def pieces(text: str, words: int = 20, path: str = "a.csv") -> list[Piece]:
    found = chunk(text, Rule("prose", "words", words, 0), path=path)
    return [piece for piece in found if piece is not None]


QUOTED = (
    'id,note,city\r\n1,"first line\nsecond, line",Graz\r\n2,"he said ""go""",Linz\r\n'
    "3,plain,Wels\r\n"
)


def test_a_line_end_in_quotes_ends_no_record() -> None:
    found = [rows(record, ",")[0] for record in records(QUOTED)]
    assert found == [
        ["id", "note", "city"],
        ["1", "first line\nsecond, line", "Graz"],
        ["2", 'he said "go"', "Linz"],
        ["3", "plain", "Wels"],
    ]
    parts = pieces(QUOTED, 5)
    assert len(parts) == 3
    assert all(part.content.startswith("id,note,city\r\n") for part in parts)
    assert parts[1].content.count("id,note,city") == 1


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ('sep=;\r\nid;name\r\n1;"a;b"\r\n2;c\td\r\n', ";"),
        ('id;name\r\n1;"a;b"\r\n2;c\td\r\n', ";"),
        ('"sep=|"\nid|name\n1|"a;b"\n2|c\td\n', "|"),
        ('\ufeffid\tname\n1\t"a;b"\n2\t"c\td"\n', "\t"),
    ],
)
def test_the_delimiter_is_told_or_found(text: str, delimiter: str) -> None:
    found = [rows(record.lstrip("\ufeff"), delimiter)[0] for record in records(text)]
    assert found == [["id", "name"], ["1", "a;b"], ["2", "c\td"]]
    assert header(text).strip().lstrip("\ufeff") == f"id{delimiter}name"
    hidden = [text[b.start : b.end] for b in read(text) if b.level == HIDDEN]
    assert "".join(hidden) == (text.splitlines(keepends=True)[0] if "sep=" in text else "")


def test_decimal_commas_are_no_delimiters() -> None:
    text = "name;price\nbolt;1,50\nnut;0,75\n"
    assert header(text) == "name;price\n"


def test_the_ending_of_a_path_decides_for_tabs() -> None:
    text = "a, b\tc, d\n1, 2\t3, 4\n"
    assert header(text, "x.tsv") == "a, b\tc, d\n"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("1,2\n3,4\n5,6\n", ""),
        ("2024-01-01,a\n2024-01-02,b\n", ""),
        ("city,2019,2020\nGraz,1,2\nLinz,3,4\n", "city,2019,2020\n"),
        ("a,,c\n1,2,3\n", ""),
        ("id,name\n", ""),
        ("Report of May\n\nid,name\n1,bolt\n2,nut\n", "id,name\n"),
        ("first name,address 2\nAnn,Graz\nBob,Linz\n", "first name,address 2\n"),
    ],
)
def test_what_is_a_header(text: str, first: str) -> None:
    assert header(text) == first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A quote inside a field is a character like any other.
        ('size,name\n5" pipe,a\n6" pipe,b\n', ["size,name\n", '5" pipe,a\n', '6" pipe,b\n']),
        # A quote that is never closed ends with its line.
        ('a,b\n"open,1\nnext,2\nlast,3\n', ["a,b\n", '"open,1\n', "next,2\n", "last,3\n"]),
        ("a,b\r1,2\r3,4\r", ["a,b\r", "1,2\r", "3,4\r"]),
        ("a,b\n\n\n1,2\n \n3,4", ["a,b\n\n\n", "1,2\n \n", "3,4"]),
    ],
)
def test_what_ends_a_record(text: str, expected: list[str]) -> None:
    assert records(text) == expected


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.lists(st.text('ab"\n,;\té1 ', max_size=8), min_size=3, max_size=3),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_records_are_those_of_pythons_reader(
    table: list[list[str]], delimiter: str, line_end: str, quoting: int
) -> None:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator=line_end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerows([[f"x{row[0]}", *row[1:]] for row in table])
    text = f"sep={delimiter}\n" + written.getvalue()
    found = records(text)
    assert [rows(record, delimiter) for record in found] == [
        [row] for row in rows(written.getvalue(), delimiter)
    ]


def test_every_piece_of_a_long_table_repeats_the_header_once() -> None:
    text = "id,name\n" + "".join(f"{n},bolt {n}\n" for n in range(300))
    parts = pieces(text)
    assert len(parts) > 10
    assert all(part.content.count("id,name\n") == 1 for part in parts)
    assert (
        "".join(part.lead + part.content[part.repeats :] for part in parts).split() == text.split()
    )
    assert all(one.end <= two.start for one, two in pairwise(parts))


@pytest.mark.parametrize("words", [3, 4, 5, 6])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 9])
def test_no_piece_is_a_header_alone(words: int, length: int) -> None:
    text = "id,name\n" + "".join(f"{n},{' '.join('abcdefghi'[:length])}\n" for n in range(9))
    parts = pieces(text, words)
    assert all(part.content.strip() != "id,name" for part in parts)
    assert (
        "".join(part.lead + part.content[part.repeats :] for part in parts).split() == text.split()
    )


def test_a_record_longer_than_a_chunk_is_cut_and_nothing_is_lost() -> None:
    text = "id,note\n1," + "word " * 200 + "\n2,short\n"
    parts = pieces(text)
    assert (
        "".join(part.lead + part.content[part.repeats :] for part in parts).split() == text.split()
    )
    assert all(len(part.content.split()) <= 20 for part in parts)


def test_a_table_is_read_with_ticks() -> None:
    text = "id,name\n" + "1,bolt\n" * 100_000
    ticks = [block for block in blocks(text, "a.csv") if block is None]
    assert len(ticks) >= len(text) // (1 << 16)


@pytest.mark.parametrize("unit", ['"', '""', ',"', '"a', 'a,"b\n', "\n", ","])
def test_malformed_tables_are_read_in_linear_time(unit: str) -> None:
    assert grows_linearly(lambda text: read(text), unit * (8000 // len(unit)))


def test_rows_are_rows() -> None:
    assert {block.level for block in read(QUOTED)[2:]} == {ROW}
