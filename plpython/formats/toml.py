"""TOML by its tables: each `[a.b]` and `[[a.b]]` is a scope under the parts of its name.

The keys before the first table stand under the name of the file. The line of a table and comments
right above it belong to what follows. A key is an ITEM, behind a blank line a BLOCK, and each
further line of its value is a ROW. Nothing is hidden.

A bracket that is never closed ends where the line of a table would, and three quotes that are never
closed open nothing.
"""

from __future__ import annotations

import re

from ..blocks import BLOCK, ITEM, ROW, Blocks, one_line
from .tiles import LINE, Tiles, beginning, stem

_TICK = 512
#: Names of tables are read so far.
_LONGEST = 4000

_TABLE = re.compile(r"[ \t]*\[\[?([^\[\]]+)\]\]?[ \t]*(?:#.*)?\Z")
#: A line that stands in no value: words but true and false stand in quotes there.
_BARE_TABLE = re.compile(
    r"\[\[?[ \t]*[A-Za-z_][\w-]*(?:[ \t]*\.[ \t]*[\w-]+)*[ \t]*\]\]?[ \t]*(?:#.*)?\Z"
)
_PART = re.compile(
    r"[ \t]*(?:\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|'([^']*)'|([^\s.\"']+))[ \t]*(?:\.|\Z)"
)
#: What opens or closes a value of several lines, and strings and comments, where nothing does.
_SIGN = re.compile(r"\"\"\"|'''|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^']*'|[\[\]{}]|#.*")
_CLOSING = {
    '"""': re.compile(r'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'),
    "'''": re.compile(r".*?'''"),
}


def blocks(text: str, path: str = "", format: str = "toml") -> Blocks:
    """Read a text; yield its blocks, and None as ticks between."""
    reader = _Reader(text, stem(path))
    for number, match in enumerate(LINE.finditer(text, beginning(text))):
        if number % _TICK == 0:
            yield None
        if match.end() > match.start():
            reader.read(match.group().rstrip("\r\n"), match.start())
            yield from reader.tiles.take()
    reader.tiles.end(len(text))
    yield from reader.tiles.take()


class _Reader:
    """The state between two lines."""

    def __init__(self, text: str, root: tuple[str, ...]) -> None:
        self.tiles = Tiles()
        self.text = text
        self.root = root
        self.is_first = True
        self.is_fresh = True  # behind a blank line
        self.comment = -1  # where the comments right above begin
        self.quote = ""
        self.depth = 0
        self.last: dict[str, int] = {}

    def read(self, line: str, start: int) -> None:
        if self.is_first and line.strip():
            self.is_first = False
            self.tiles.begin_scope(start, self.root)
        if self.quote:
            self.tiles.begin(ROW, start)
            closing = _CLOSING[self.quote].match(line)
            if closing:
                self.quote = ""
                self.scan(line, closing.end(), start)
        elif not line.strip():
            self.is_fresh, self.comment = True, -1
        elif self.depth and not _BARE_TABLE.match(line):
            self.tiles.begin(ROW, start)
            self.scan(line, 0, start)
        else:
            self.depth = 0
            self.read_key(line, start)

    def read_key(self, line: str, start: int) -> None:
        begin = start if self.comment < 0 else self.comment
        table = _TABLE.match(line)
        if table:
            self.tiles.begin_scope(begin, self.root + _parts(table[1][:_LONGEST]))
            self.tiles.begin(BLOCK, begin)
        elif self.comment < 0:
            self.tiles.begin(BLOCK if self.is_fresh else ITEM, start)
        self.is_fresh = False
        if line.lstrip().startswith("#"):
            self.comment = begin
        else:
            self.comment = -1
            if not table:
                self.scan(line, 0, start)

    def scan(self, line: str, at: int, start: int) -> None:
        """Find out whether a value goes on behind the line."""
        while True:
            match = _SIGN.search(line, at)
            if match is None:
                return
            sign, at = match.group(), match.end()
            if sign in _CLOSING:
                closing = _CLOSING[sign].match(line, at)
                if closing:
                    at = closing.end()
                elif self.is_closed(sign, start + at):
                    self.quote = sign
                    return
            elif sign in "[{":
                self.depth += 1
            elif sign in "]}":
                self.depth = max(0, self.depth - 1)

    def is_closed(self, quote: str, at: int) -> bool:
        """Whether three quotes stand anywhere behind."""
        if quote not in self.last:
            self.last[quote] = self.text.rfind(quote)
        return self.last[quote] >= at


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a dotted name; the whole of one that is not well-formed."""
    parts = []
    at = 0
    while at < len(name):
        match = _PART.match(name, at)
        if match is None:
            return (one_line(name),)
        parts.append(one_line(match[1] or match[2] or match[3] or ""))
        at = match.end()
    return tuple(parts)
