"""reStructuredText: headings, explicit markup, lists, tables and literal blocks.

A heading is a line with a line of one punctuation character below it, and perhaps the same above
it, at the begin of a block. As in docutils, the line below is as long as the title, or at least
four characters long; a title with a line above may be indented. The rank of a heading is that of
its style, by the order in which the styles come up; all beyond the sixth are of rank 6. Indented
lines hold no headings.

An item of a list is an ITEM. Each line of a literal block (behind `::` or under a directive for
code) and of a doctest is a ROW, as is what is indented behind a blank line. A row of a table
repeats the header, if there is one.

Hidden: comments, which are `..` and what is indented below. Directives, targets, footnotes and
substitutions are text.
"""

from __future__ import annotations

import re

from ..blocks import BLOCK, HIDDEN, ITEM, ROW, Blocks
from .tiles import LINE, Tiles, beginning

_TICK = 512
_RANKS = 6

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\Z")
_MARKUP = re.compile(r"\.\.[ \t]+(?:\[|_|\||[\w.+:-]+[ \t]?::)|__(?:[ \t]|\Z)")
_CODE = re.compile(r"\.\.[ \t]+(?:code|code-block|sourcecode|parsed-literal|math|raw|doctest)::")
_ITEM = re.compile(
    r"[-*+\u2022\u2023\u2043][ \t]+\S"
    r"|\(?(?:[0-9]{1,9}|[A-Za-z#]|[ivxlcdmIVXLCDM]{1,9})[.)][ \t]+\S"
    r"|:[^:\s][^:]{0,200}:(?:[ \t]|\Z)"
)
_SIMPLE_TABLE = re.compile(r"=+(?: +=+)+\Z")
_GRID_BORDER = re.compile(r"\+[-=+]*[-=][-=+]*\+\Z")


def blocks(text: str, path: str = "", format: str = "rst") -> Blocks:
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
    """The state between two lines."""

    def __init__(self) -> None:
        self.tiles = Tiles()
        self.styles: list[tuple[str, bool]] = []
        #: The lines of a block that may become a heading, up to two, and where it begins.
        self.lines: list[str] = []
        self.start = -1
        self.is_fresh = True  # behind a blank line
        self.is_comment = False
        self.is_literal = False
        self.opens_literal = False
        #: Of a table: the lines that it may end with, where it begins, borders seen, its header.
        self.table: re.Pattern[str] | None = None
        self.table_start = 0
        self.borders = 0
        self.is_behind_border = False
        self.header = (0, 0)

    def read(self, line: str, start: int, end: int) -> None:
        if self.table:
            self.read_table(line, start, end)
        elif not line:
            self.is_fresh = True
            self.lines.clear()
            self.is_literal = self.is_literal or self.opens_literal
            self.opens_literal = False
        elif line[0] in " \t" and not self.is_overlined(line):
            self.read_indented(start)
        else:
            self.read_line(line, start, end)

    def is_overlined(self, line: str) -> bool:
        """Whether a line may be an indented title between two lines of punctuation."""
        return len(self.lines) == 1 and _ADORNMENT.match(self.lines[0]) is not None

    def read_indented(self, start: int) -> None:
        self.lines.clear()
        if not self.is_comment and (self.is_literal or self.is_fresh):
            self.tiles.begin(ROW if self.tiles.start >= 0 else BLOCK, start)
        self.is_fresh = False

    def read_line(self, line: str, start: int, end: int) -> None:
        if self.is_comment or self.is_literal:
            self.is_comment = self.is_literal = False
            self.is_fresh = True
        if self.is_heading(line):
            return self.end_heading(line, end)
        is_markup = line.startswith("..") and (len(line) == 2 or line[2] in " \t")
        if is_markup and not _MARKUP.match(line):
            self.tiles.begin(HIDDEN, start)
            self.is_comment = True
        elif is_markup:
            self.tiles.begin(BLOCK, start)
            self.is_literal = _CODE.match(line) is not None
        elif _SIMPLE_TABLE.match(line) or _GRID_BORDER.match(line):
            self.open_table(line, start)
        elif line.startswith(">>> ") or (not self.is_fresh and self.tiles.level == ROW):
            self.tiles.begin(BLOCK if self.is_fresh else ROW, start)
        elif _ITEM.match(line):
            self.tiles.begin(ITEM, start)
        elif self.is_fresh:
            self.tiles.begin(BLOCK, start)
        self.opens_literal = line.endswith("::") and not self.is_comment
        if self.is_fresh and not is_markup:
            self.lines, self.start = [line], start
        elif len(self.lines) == 1 and _ADORNMENT.match(self.lines[0]):
            self.lines.append(line)
        else:
            self.lines.clear()
        self.is_fresh = False

    def is_heading(self, line: str) -> bool:
        """Whether a line is the one below a title."""
        if not self.lines or not _ADORNMENT.match(line):
            return False
        title = self.lines[-1].strip()
        if len(self.lines) == 2:
            return self.lines[0][0] == line[0] and len(line) >= min(4, len(title))
        if self.lines[0][0] in " \t" or _ADORNMENT.match(title):
            return False
        return len(line) >= min(4, len(title)) and not title.startswith("..")

    def end_heading(self, line: str, end: int) -> None:
        style = (line[0], len(self.lines) == 2)
        if style not in self.styles:
            self.styles.append(style)
        rank = min(self.styles.index(style) + 1, _RANKS)
        self.tiles.begin_heading(self.start, rank, self.lines[-1])
        self.tiles.end(end)
        self.lines.clear()
        self.is_fresh = True
        self.opens_literal = False

    def open_table(self, line: str, start: int) -> None:
        self.table = _SIMPLE_TABLE if line[0] == "=" else _GRID_BORDER
        self.table_start = start
        self.borders, self.is_behind_border = 1, True
        self.header = (0, 0)
        self.tiles.begin(BLOCK, start)

    def read_table(self, line: str, start: int, end: int) -> None:
        if self.table is _SIMPLE_TABLE:
            if line and self.borders == 2 and self.is_behind_border:
                self.header = (self.table_start, start)
            if not line and self.borders >= 2 and self.is_behind_border:
                return self.close_table(line, start, end)
            if _SIMPLE_TABLE.match(line):
                self.borders += 1
                self.is_behind_border = True
            elif line:
                if self.borders > 1:
                    self.tiles.begin_row(start, self.header)
                self.is_behind_border = False
            return None
        if not line or line.lstrip()[0] not in "+|":
            return self.close_table(line, start, end)
        if _GRID_BORDER.match(line):
            if "=" in line and self.header == (0, 0):
                self.header = (self.table_start, end)
            self.is_behind_border = True
            self.borders += 1
        else:
            if self.is_behind_border and self.borders > 1:
                self.tiles.begin_row(start, self.header)
            self.is_behind_border = False
        return None

    def close_table(self, line: str, start: int, end: int) -> None:
        self.table = None
        self.is_fresh = True
        self.read(line, start, end)
