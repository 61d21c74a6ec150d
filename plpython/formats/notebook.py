"""The text of a Jupyter notebook's cells, and where each character stands in the source.

Reads the JSON of nbformat 3 and 4 with a scanner of its own, because json.loads takes a whole text
in one go and tells no positions. It is tolerant: of a notebook that is cut off or damaged it gives
the cells that it finds, and a text without cells is plain text.

Cells stand one below the other, with a blank line between; blank ones are left out. A Markdown cell
is read as Markdown, and its headings hold for the cells below; but no cell begins with front
matter. A code cell is a BLOCK, each further line of it a ROW, or an ITEM behind a blank line. All
other cells are paragraphs of plain text, but a heading cell of nbformat 3 is a heading.

Hidden, so never embedded, is all but the source of the cells: outputs, which are derived and often
huge, metadata, attachments, and what else the JSON holds.

An escape stands for its character; NUL and half a surrogate pair become U+FFFD, and what is no
escape of JSON stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from ..blocks import BLOCK, HEADING, ITEM, ROW, Block, Blocks, Mapped, Segment, one_line
from . import plain

#: A tick comes after so many tokens, escapes or lines, and after so many characters.
_TURNS = 1024
_SEARCHED = 1 << 18

_TOKEN = re.compile(r"[\"{}\[\]]")
#: The rest of a string that is not too long, and has not too many escapes, for one match.
_SIMPLE = re.compile(r"[^\"\\]{0,9999}(?:\\.[^\"\\]{0,9999}){0,99}\"", re.DOTALL)
_STOP = re.compile(r"[\"\\]")
_COLON = re.compile(r"[ \t\r\n]*:")
_EMPTY = re.compile(r"[ \t\r\n]*\]")
_RANK = re.compile(r"[ \t\r\n]*([1-6])")
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))",
    re.DOTALL,
)
_ESCAPED = {
    "n": "\n",
    '"': '"',
    "\\": "\\",
    "/": "/",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
}
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")

#: Where the cells are, as keys of the objects that are open and None for each array.
_CELLS: tuple[list[str | None], ...] = (["cells", None], ["worksheets", None, "cells", None])
_SOURCES = ("source", "input")
_LONGEST_KEY = 16


def convert(text: str) -> Generator[None, None, Mapped]:
    """Read a notebook; yield ticks, and return its text."""
    reader = _Reader(text)
    yield from reader.read()
    if reader.is_notebook:
        return reader.writer.mapped()
    blocks = []
    for block in plain.blocks(text):
        if block is None:
            yield None
        else:
            blocks.append(block)
    return Mapped(text, blocks, [Segment(0, 0, len(text))] if text else [])


class _Cell:
    """What is known of a cell: its type, the spans of the strings of its source, and its rank."""

    __slots__ = ("kind", "rank", "strings")

    def __init__(self) -> None:
        self.kind = ""
        self.strings: list[tuple[int, int]] = []
        self.rank = 1


class _Reader:
    """Finds the cells in the JSON and tells the writer to write them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.writer = _Writer(source)
        #: The open containers: the key of an object whose value is awaited or open, or "", and None
        #: for an array; and how many of each.
        self.stack: list[str | None] = []
        self.arrays = self.objects = 0
        self.cell: _Cell | None = None
        self.cell_depth = 0
        self.is_notebook = False

    def read(self) -> Generator[None, None, None]:
        source = self.source
        at = 1 if source.startswith("\ufeff") else 0
        turn = 0
        while at < len(source):
            turn += 1
            if turn % _TURNS == 0:
                yield None
            match = _TOKEN.search(source, at, at + _SEARCHED)
            if match is None:
                yield None
                at += _SEARCHED
                continue
            at = match.end()
            token = match.group()
            if token == '"':
                simple = _SIMPLE.match(source, at)
                end = simple.end() - 1 if simple else (yield from self.string_end(at))
                at = self.string(at, end)
            elif token in "{[":
                self.open(token == "[", at)
            else:
                yield from self.close(token == "]")
                if len(self.stack) < self.cell_depth:
                    yield from self.end_cell()
        yield from self.end_cell()

    def string_end(self, at: int) -> Generator[None, None, int]:
        """The closing quote of a string, or the end of the text."""
        turn = 0
        while at < len(self.source):
            turn += 1
            match = _STOP.search(self.source, at, at + _SEARCHED)
            if match is None or turn % _TURNS == 0:
                yield None
            if match is None:
                at += _SEARCHED
            elif match.group() == '"':
                return match.start()
            else:
                at = match.end() + 1
        return len(self.source)

    def string(self, start: int, end: int) -> int:
        """Take in the string source[start:end]: where what follows it begins."""
        source, stack = self.source, self.stack
        at = end + 1
        if not stack:
            return at
        in_cell = len(stack) - self.cell_depth if self.cell else -1
        if stack[-1] is None:
            if self.cell and in_cell == 1 and stack[-2] in _SOURCES:
                self.cell.strings.append((start, end))
            return at
        colon = _COLON.match(source, at)
        if colon:
            at = colon.end()
            stack[-1] = source[start:end] if end - start <= _LONGEST_KEY else ""
            rank = _RANK.match(source, at) if self.cell and stack[-1] == "level" else None
            if self.cell and rank and in_cell == 0:
                self.cell.rank = int(rank.group(1))
        elif self.cell and in_cell == 0:
            if stack[-1] in _SOURCES:
                self.cell.strings.append((start, end))
            elif stack[-1] == "cell_type" and end - start <= _LONGEST_KEY:
                self.cell.kind = source[start:end]
            stack[-1] = ""
        return at

    def end_cell(self) -> Generator[None, None, None]:
        cell = self.cell
        if cell and (cell.kind or cell.strings):
            self.is_notebook = True
            yield from self.writer.cell(cell)
        self.cell = None
        self.cell_depth = 0

    def open(self, is_array: bool, at: int) -> None:
        """Begin a container whose content begins at `at`."""
        if is_array:
            self.arrays += 1
            self.stack.append(None)
            if self.stack in _CELLS and _EMPTY.match(self.source, at):
                self.is_notebook = True
            return
        if self.cell is None and self.stack in _CELLS:
            self.cell = _Cell()
            self.cell_depth = len(self.stack) + 1
        self.objects += 1
        self.stack.append("")

    def close(self, is_array: bool) -> Generator[None, None, None]:
        """End the container with all that are open in it; what was never opened ends nothing."""
        if not (self.arrays if is_array else self.objects):
            return
        while True:
            if len(self.stack) % _TURNS == 0:
                yield None
            was_array = self.stack.pop() is None
            if was_array:
                self.arrays -= 1
            else:
                self.objects -= 1
            if was_array == is_array:
                break
        if self.stack and self.stack[-1] is not None:
            self.stack[-1] = ""


class _Writer:
    """Writes the text of the cells, its segments and its blocks."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parts: list[str] = []
        self.length = 0
        self.segments: list[Segment] = []
        self.blocks: list[Block] = []
        #: Where the last cell ends in the source, and with how many line ends.
        self.written_to = 0
        self.line_ends = 0

    def mapped(self) -> Mapped:
        self.stretch(self.length)
        return Mapped("".join(self.parts), self.blocks, self.segments)

    def cell(self, cell: _Cell) -> Generator[None, None, None]:
        """Write a cell, unless it is blank."""
        pieces: list[tuple[str, int, int]] = []
        for turn, (start, end) in enumerate(cell.strings, 1):
            if turn % _TURNS == 0:
                yield None
            yield from self.unescape(start, end, pieces)
        text = "".join(piece for piece, _, _ in pieces)
        if not text or text.isspace():
            return
        if self.parts:
            gap = "\n\n"[self.line_ends :]
            if gap:
                self.segments.append(Segment(self.length, self.written_to, pieces[0][1]))
                self.parts.append(gap)
                self.length += len(gap)
        is_first = True
        for block in _blocks(text, cell, self.length):
            if block is None:
                yield None
                continue
            if is_first:
                self.stretch(block.start)
                is_first = False
            self.blocks.append(block)
        self.parts.append(text)
        for turn, (piece, start, end) in enumerate(pieces, 1):
            if turn % _TURNS == 0:
                yield None
            self.segments.append(Segment(self.length, start, end))
            self.length += len(piece)
        self.written_to = pieces[-1][2]
        is_apart = text.endswith(("\n\n", "\n\r\n", "\r\r"))
        self.line_ends = 2 if is_apart else int(text[-1] in "\r\n")

    def unescape(
        self, start: int, end: int, pieces: list[tuple[str, int, int]]
    ) -> Generator[None, None, None]:
        """Put the pieces of a string, each with the span that it stands for, into a list."""
        source = self.source
        for turn, match in enumerate(_ESCAPE.finditer(source, start, end), 1):
            if turn % _TURNS == 0:
                yield None
            letter = match.group(4)
            character = _ESCAPED.get(letter, "") if letter else _character(match)
            if character:
                first, last = match.span()
                if first > start:
                    pieces.append((source[start:first], start, first))
                pieces.append((character, first, last))
                start = last
        if start < end:
            pieces.append((source[start:end], start, end))

    def stretch(self, end: int) -> None:
        """The last block takes in the blank lines between two cells."""
        if self.blocks:
            self.blocks[-1] = self.blocks[-1]._replace(end=end)


def _character(match: re.Match[str]) -> str:
    """What an escape by a number stands for (RFC 8259, section 7)."""
    high, low, unit, _ = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF))
    code = int(unit, 16)
    return "\ufffd" if code == 0 or 0xD800 <= code < 0xE000 else chr(code)


def _blocks(text: str, cell: _Cell, offset: int) -> Blocks:
    """The blocks of a cell whose text stands at the offset."""
    if cell.kind == "code":
        return _lines(text, offset)
    if cell.kind == "heading":
        return iter((Block(HEADING, offset, offset + len(text), cell.rank, one_line(text)),))
    if cell.kind == "markdown":
        from . import markdown

        # Behind an empty line there is no front matter.
        return _moved(markdown.blocks("\n" + text), offset - 1)
    return _moved(plain.blocks(text), offset)


def _moved(blocks: Blocks, offset: int) -> Blocks:
    for block in blocks:
        if block is None:
            yield None
            continue
        level, start, end, rank, title, path, (first, last) = block
        header = (first + offset, last + offset) if last else (0, 0)
        yield Block(level, start + offset, end + offset, rank, title, path, header)


def _lines(text: str, offset: int) -> Blocks:
    """The lines of a code cell, each with the blank lines behind it."""
    level, begin = BLOCK, -1
    is_behind_blank = False
    for turn, match in enumerate(_LINE.finditer(text), 1):
        if turn % _TURNS == 0:
            yield None
        line = match.group()
        if not line or line.isspace():
            is_behind_blank = True
            continue
        start = match.start() + offset
        if begin >= 0:
            yield Block(level, begin, start)
            level = ITEM if is_behind_blank else ROW
        begin = start
        is_behind_blank = False
    yield Block(level, begin, offset + len(text))
