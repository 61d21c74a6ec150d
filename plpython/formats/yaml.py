"""YAML by its keys at the beginning of a line.

Each such key whose value stands in the lines below, or goes on there, is a scope under its name.
Other keys stand together under the name of the file, for a chunk never holds text of two scopes,
and hundreds of short values would be as many chunks. Nothing is hidden.

In a scope a key or an item of a sequence that is indented like its first line is an ITEM, as is an
item of a sequence at the beginning of a line; other lines are ROWs, those of block scalars (`|`
and `>`) too. The first line stays with the key.

* Comments belong to what follows if that is not indented less, over blank lines too; and so do the
  lines `---` and `...`, behind which another document begins.
* Keys are plain or in quotes, in one line; of a key with an anchor, tag or `?` before it the line
  is one like any other, as are lines that are no YAML, such as those of templates.
* A text that begins with a `{` or `[` is read as JSON, but not if that is a template's.
"""

from __future__ import annotations

import re

from ..blocks import BLOCK, ITEM, ROW, Blocks, one_line
from .tiles import LINE, WINDOW, Tiles, beginning, stem

#: So many characters of comments may stand before a key.
_LONG_COMMENT = 1 << 13
#: A tick comes after so many characters.
_TICK = 1 << 14

#: The longest key is that of the specification (section 7.4).
_KEY = re.compile(
    r"(?:\"((?:[^\"\\\r\n]|\\[^\r\n]){0,1024})\"[ \t]{0,99}|'((?:[^'\r\n]|''){0,1024})'[ \t]{0,99}"
    r"|((?:[^\s#\"'\[\]{},&*!|>%@`?:-]|[-?:](?=[^\s]))"
    r"[^\r\n:#]{0,1024}(?:(?::(?=[^\s])|(?<=[^\s])#)[^\r\n:#]{0,1024}){0,20}))"
    r":(?=[ \t\r\n]|\Z)"
)
_SCALAR = re.compile(r"[ \t]*[|>]")
_DOCUMENT = re.compile(r"(---|\.\.\.)(?=[ \t\r\n]|\Z)([ \t]*[^ \t\r\n#])?")
_BLANK_LINES = r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n)){0,200}"
#: Behind the line of a key: its value, or more of it, in the lines below.
_BELOW = re.compile(_BLANK_LINES + r"(?:[ \t]+[^ \t\r\n#]|-(?=[ \t\r\n]|\Z))")
_FLOW = re.compile(rf"{_BLANK_LINES}(?:---[ \t]*[\r\n]\s{{0,99}})?[ \t]*(?:\{{(?![{{%#])|\[(?!\[))")


def blocks(text: str, path: str = "", format: str = "yaml") -> Blocks:
    """Read a text; yield its scopes and blocks in order, and None as ticks between."""
    start = ticked = beginning(text)
    if _FLOW.match(text, start, start + WINDOW):
        from . import json

        yield from json.blocks(text, path)
        return
    reader = _Reader(text, stem(path))
    for match in LINE.finditer(text, start):
        reader.read(match.start(), match.end(1), match.end())
        if match.end() - ticked > _TICK:
            ticked = match.end()
            yield None
            yield from reader.tiles.take()
    reader.close()
    yield from reader.tiles.take()


class _Reader:
    """The state between two lines."""

    def __init__(self, text: str, root: tuple[str, ...]) -> None:
        self.text = text
        self.tiles = Tiles()
        self.root = root
        #: The scope of the block being read; None if the next block begins one.
        self.scope: tuple[str, ...] | None = None
        #: The indentation of what is an ITEM; -1 if that of the next line is, 0 if none is.
        self.indent = 0
        #: Where comments begin that belong to what follows, and their indentation; -1 if none do.
        self.lead = -1
        self.lead_indent = 0

    def read(self, start: int, visible: int, end: int) -> None:
        """Take in a line, given where it starts, where its indentation ends, and where it ends."""
        text = self.text
        if visible == len(text) or text[visible] in "\r\n":
            return
        indent = visible - start
        lead = self.lead
        if lead >= 0 and (indent < self.lead_indent or start - lead > _LONG_COMMENT):
            # The comments belong to what is above.
            self.lead = -1
            self.begin(ROW, lead)
        if text[visible] == "#":
            if self.lead < 0:
                self.lead, self.lead_indent = start, indent
        elif indent:
            self.read_indented(start, visible, indent)
        else:
            self.read_top(start, end)

    def close(self) -> None:
        """The text is at its end."""
        if self.lead >= 0 and self.tiles.start < 0:
            self.begin(ROW, self.lead)
        self.tiles.end(len(self.text))

    def read_indented(self, start: int, visible: int, indent: int) -> None:
        if self.indent < 0:
            # The value of a key begins.
            self.indent = indent
            self.lead = -1
            return
        is_item = indent == self.indent and (
            self.begins_item(visible) or _KEY.match(self.text, visible)
        )
        self.begin(ITEM if is_item else ROW, start)

    def read_top(self, start: int, end: int) -> None:
        """A line that is not indented."""
        text = self.text
        marker = _DOCUMENT.match(text, start)
        if marker:
            self.indent = 0
            if marker[1] == "---":
                self.scope = None
        if text[start] == "%" or (marker and marker[1] == "---" and not marker[2]):
            if self.lead < 0:
                self.lead, self.lead_indent = start, 0
        elif marker:
            self.begin(ROW, start)
            if marker[1] == "...":
                self.scope = None
        elif self.begins_item(start):
            if self.indent < 0:
                self.lead = -1
            else:
                self.begin(ITEM, start)
            self.indent = 0
        elif key := _KEY.match(text, start):
            self.read_key(key, start, end)
        else:
            self.begin(ROW, start)

    def begins_item(self, visible: int) -> bool:
        return self.text[visible] == "-" and self.text[visible + 1 : visible + 2] in " \t\r\n"

    def read_key(self, key: re.Match[str], start: int, end: int) -> None:
        """A key that is not indented; `end` is that of its line."""
        text = self.text
        title = one_line(key[1] or key[2] or key[3] or "")
        if title and _BELOW.match(text, end, end + WINDOW):
            self.indent = 0 if _SCALAR.match(text, key.end()) else -1
            self.enter((*self.root, title), start)
            return
        self.indent = 0
        if self.scope != self.root:
            self.scope = None
        self.begin(ITEM, start)

    def begin(self, level: int, start: int) -> None:
        """Begin a block in the open scope, or in that of the file if none is."""
        if self.scope is None:
            self.enter(self.root, start)
        elif self.lead < 0:
            self.tiles.begin(level, start)
        else:
            self.tiles.begin(level, self.with_comments(start))

    def enter(self, path: tuple[str, ...], start: int) -> None:
        start = self.with_comments(start)
        self.scope = path
        self.tiles.begin_scope(start, path)
        self.tiles.begin(BLOCK, start)

    def with_comments(self, start: int) -> int:
        """Where what starts here begins."""
        lead, self.lead = self.lead, -1
        return start if lead < 0 else lead
