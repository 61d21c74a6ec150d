"""AsciiDoc: sections, delimited blocks, lists and tables.

A heading is a line of one to six `=` or `#`, a blank and a title, at the begin of a block and
outside of delimited blocks; one under `[discrete]` or `[float]` is text. An item of a list is an
ITEM, a nested one and what is attached by `+` are ROWs, and so is each line of a listing. A row of
a table is a line that begins with `|`; it repeats the first row, if that is told to be the header
by `%header` or `options="header"`, or by a blank line behind it. Attributes, anchors and titles in
lines of their own belong to what follows.

Hidden: attribute entries (`:name: value`), comment lines at the begin of a block, and comment
blocks, of which one that is never closed hides the rest.
"""

from __future__ import annotations

import re

from ..blocks import BLOCK, HIDDEN, ITEM, ROW, Blocks
from .tiles import LINE, Tiles, beginning

_TICK = 512
#: So many characters of attributes before a block are looked at.
_ATTRIBUTES_LENGTH = 2000

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_DELIMITER = re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|/{4,}|--|[|,:!]={3,}|```.*)\Z")
_ENTRY = re.compile(r":!?\w[\w-]*!?:(?:[ \t]|\Z)")
_ATTRIBUTES = re.compile(r"\[.*\]\Z|\.[^\s.].*\Z")
_DISCRETE = re.compile(r"\[(?:discrete|float)\b")
_HEADER = re.compile(r"%header|\boptions?=\"?[^\"\]]{0,200}header")
_ITEM = re.compile(
    r"[ \t]*(\*{1,5}|-|\.{1,5}|[0-9]{1,9}\.|[A-Za-z]\.)[ \t]+\S|(?:\S.*)?[^\s:]:{2,4}(?:[ \t]|\Z)"
)
#: The lines of what these delimit are kept as they are.
_VERBATIM = "-.+`"


def blocks(text: str, path: str = "", format: str = "asciidoc") -> Blocks:
    """Read a text; yield its blocks, and None as ticks between."""
    reader = _Reader()
    for number, match in enumerate(LINE.finditer(text, beginning(text))):
        if number % _TICK == 0:
            yield None
        if match.end() > match.start():
            reader.read(match.group().rstrip(), match.start(), match.end())
            yield from reader.tiles.take()
    reader.tiles.end(len(text))
    yield from reader.tiles.take()


class _Reader:
    """The state between two lines: what is open, and what the next line would belong to."""

    def __init__(self) -> None:
        self.tiles = Tiles()
        self.delimiters: list[str] = []
        self.is_inside = False  # of a paragraph, whose lines need no blocks of their own
        self.goes_on = False  # an attribute entry, behind a backslash
        self.attached = False
        #: The attributes before a block, and where they begin; -1 if there are none.
        self.attributes = ""
        self.attributes_start = -1
        #: Of a table: its first row, whether that is known to be the header, and what came behind.
        self.first_row = (0, 0)
        self.has_header = False
        self.rows = 0

    def read(self, line: str, start: int, end: int) -> None:
        if self.goes_on:
            self.goes_on = line.endswith("\\")
        elif self.delimiters:
            self.read_delimited(line, start, end)
        elif not line:
            self.is_inside = False
            if self.tiles.level == HIDDEN:
                self.tiles.end(start)
        elif self.is_inside and not _DELIMITER.match(line):
            if line == "+":
                self.is_inside, self.attached = False, True
            elif _ITEM.match(line):
                self.begin_text(line, start)
        else:
            self.read_first(line, start)

    def read_first(self, line: str, start: int) -> None:
        """A line at the begin of a block."""
        heading = _HEADING.match(line)
        if _DELIMITER.match(line):
            self.open(line, start)
        elif heading and not _DISCRETE.search(self.attributes):
            begin = start if self.attributes_start < 0 else self.attributes_start
            marks, title = heading.groups()
            self.tiles.begin_heading(begin, len(marks), _without_closing(title, marks))
            self.tiles.end(start + len(line))
            self.forget_attributes()
        elif line.startswith("//") and not line.startswith("///"):
            self.hide(start)
        elif _ENTRY.match(line):
            self.hide(start)
            self.goes_on = line.endswith("\\")
        elif _ATTRIBUTES.match(line) and not _ITEM.match(line):
            if self.attributes_start < 0:
                self.tiles.begin(self.level(), start)
                self.attributes_start = start
            self.attributes = (self.attributes + line)[:_ATTRIBUTES_LENGTH]
        else:
            self.begin_text(line, start)
            self.is_inside = True

    def begin_text(self, line: str, start: int) -> None:
        item = _ITEM.match(line)
        if self.attributes_start < 0:
            level = self.level()
            if item and level == BLOCK:
                is_nested = line[0] in " \t" or (len(item.group(1) or "") > 1 and line[0] in "*.")
                level = ROW if is_nested else ITEM
            self.tiles.begin(level, start)
        self.forget_attributes()

    def level(self) -> int:
        level = ROW if self.attached else BLOCK
        self.attached = False
        return level

    def hide(self, start: int) -> None:
        if self.tiles.level != HIDDEN or self.tiles.start < 0:
            self.tiles.begin(HIDDEN, start)
        if self.attributes_start >= 0:
            # What they describe begins behind the comment, and is a part of their block.
            self.attributes_start, self.attached = -1, True

    def forget_attributes(self) -> None:
        self.attributes, self.attributes_start = "", -1

    def open(self, line: str, start: int) -> None:
        """A delimited block begins."""
        self.is_inside = False
        self.delimiters.append("```" if line[0] == "`" else line)
        if line.startswith("////"):
            self.hide(start)
        elif self.attributes_start < 0:
            self.tiles.begin(self.level(), start)
        if line.endswith("==="):
            self.has_header = _HEADER.search(self.attributes) is not None
            self.first_row = (0, 0)
            self.rows = 0
        self.forget_attributes()

    def read_delimited(self, line: str, start: int, end: int) -> None:
        delimiter = self.delimiters[-1]
        if line == delimiter:
            self.delimiters.pop()
            if delimiter.startswith("////"):
                self.tiles.end(end)
        elif delimiter[0] == "/" or not line:
            if delimiter[0] in "|!" and self.rows == 1:
                self.has_header = True
        elif delimiter[0] in "|!,:" and len(delimiter) > 3:
            self.read_row(line, start, end)
        elif delimiter[0] in _VERBATIM and delimiter != "--":
            self.tiles.begin(ROW, start)
        elif _DELIMITER.match(line) and len(self.delimiters) < 100:
            self.delimiters.append("```" if line[0] == "`" else line)
            self.tiles.begin(HIDDEN if line.startswith("////") else ROW, start)
        else:
            self.tiles.begin(ROW, start)

    def read_row(self, line: str, start: int, end: int) -> None:
        if line[0] not in "|!" and self.delimiters[-1][0] in "|!":
            # A cell that goes on.
            self.rows += self.rows == 1
            return
        self.rows += 1
        if self.rows == 1:
            self.first_row = (start, end)
        header = self.first_row if self.has_header and self.rows > 1 else (0, 0)
        self.tiles.begin_row(start, header)


def _without_closing(title: str, marks: str) -> str:
    """A title without the same marks behind it."""
    if title.endswith((" " + marks, "\t" + marks)):
        return title[: -len(marks)].rstrip()
    return title
