"""JSON by the keys of the object that a document is, and JSON with a value in each line.

Each member whose value is an object or an array that is not empty is a scope under its key. Other
members stand together under the name of the file, for a chunk never holds text of two scopes, and
hundreds of short values would be as many chunks. The bracket that opens the object belongs to the
first member, and those that close something to what stands before them. Nothing is hidden.

An element or a member of such a value, or of an array that is the document, is an ITEM. What stands
in deeper brackets is cut into ROWs: before what begins a line, and in a longer line behind so many
characters. The first in a pair of brackets stays with the bracket.

The brackets need not match, nor need anything else be in order: comments, commas at the end, keys
without quotes and several documents in one are read, and what is not JSON at all is read as lines.

* A string ends with its line. A comment that is never closed opens nothing.
* A bracket closes the last one of its kind, and those opened since; if there is none, nothing.
* A document whose path ends in `.jsonl` or `.ndjson`, or the first line of which is all in brackets
  and the second begins with the same, has a value in each line, which is an ITEM. Long lines are
  cut into ROWs, and there are no scopes.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from ..blocks import BLOCK, ITEM, ROW, Blocks, one_line
from .tiles import LINE, WINDOW, Tiles, beginning, first_visible_line, stem

#: Inside a line no block is shorter, unless a stronger border ends it.
_SHORT = 40
#: A line that is a value is cut if it is longer.
_LONG = 400
#: A tick comes after so many characters.
_TICK = 1 << 13

#: Blanks and colons, then a token: a string that is whole, a sign, numbers in a row, or a word.
_TOKEN = re.compile(
    r"[\s:]*("
    r'"[^"\\\r\n]{0,4000}(?:\\.[^"\\\r\n]{0,4000}){0,40}"'
    r"|[,\[\]{}\"/#]"
    r"|-?\d[\d.eE+-]*(?:,\s{0,64}-?\d[\d.eE+-]*){0,15}"
    r"|'[^'\\\r\n]{0,4000}(?:\\.[^'\\\r\n]{0,4000}){0,40}'|'"
    r"|[^\s,:\[\]{}\"'][^\s,\[\]{}\"]*)?",
    re.DOTALL,
)
_STRING_PARTS = {
    quote: re.compile(rf"[^{quote}\\\r\n]*(?:\\.[^{quote}\\\r\n]*){{0,1000}}", re.DOTALL)
    for quote in "\"'"
}
_KEY = re.compile(
    r'"[^"\\\r\n]{0,4000}(?:\\.[^"\\\r\n]{0,4000}){0,40}"'
    r"|'[^'\\\r\n]{0,4000}(?:\\.[^'\\\r\n]{0,4000}){0,40}'|[^\s,:\[\]{}\"'/#]{1,4000}",
    re.DOTALL,
)
_LINE_END = re.compile(r"[\r\n]")
_CLOSED = {"{": re.compile(r"\s*\}"), "[": re.compile(r"\s*\]")}
_LINES = re.compile(r"[ \t]*([{\[])[^\r\n]*[}\]][ \t]*[\r\n]\s*\1")
_OPENING = {"}": "{", "]": "["}


def blocks(text: str, path: str = "", format: str = "json") -> Blocks:
    """Read a text; yield its scopes and blocks in order, and None as ticks between."""
    start = beginning(text)
    reader = _Reader(text, stem(path))
    if path.lower().endswith((".jsonl", ".ndjson")) or _LINES.match(text, start, start + WINDOW):
        ticks = reader.read_lines(start)
    else:
        ticks = reader.read_document(start)
    for _ in ticks:
        yield None
        yield from reader.tiles.take()
    reader.tiles.end(len(text))
    yield from reader.tiles.take()


class _Reader:
    """The state between two tokens: the open brackets, and what may begin with the next token."""

    def __init__(self, text: str, root: tuple[str, ...]) -> None:
        self.text = text
        self.tiles = Tiles()
        self.root = root
        #: Whether the scope of the block being read is the root.
        self.is_in_root = False
        self.stack: list[str] = []
        self.counts = {"{": 0, "[": 0}
        #: What stands in so many brackets is an ITEM, and what stands in more a ROW: 2 in a
        #: document that is an object, 1 in another, 0 in a line.
        self.item_depth = 0
        self.is_line = False
        #: Where to look for the begin of a line, if the next token begins something; else -1.
        self.pending = -1
        #: Where the comments begin that stand before it; -1 if there are none.
        self.lead = -1
        #: Where the member begins of which is not known yet whether it is a scope; else -1.
        self.member = -1
        self.key_start = 0
        self.has_no_comment_end = False

    def read_lines(self, at: int) -> Iterator[None]:
        """Read a value in each line."""
        text = self.text
        self.is_line = True
        ticked = at
        for match in LINE.finditer(text, at):
            start, end = match.span()
            visible = match.end(1)
            if visible < len(text) and text[visible] not in "\r\n":
                self.begin_in_root(start)
                if end - start > _LONG:
                    self.stack.clear()
                    self.counts["{"] = self.counts["["] = 0
                    yield from self.read(visible, end)
            if end - ticked > _TICK:
                ticked = end
                yield None

    def read_document(self, at: int) -> Iterator[None]:
        """Read what need not be a value in each line."""
        at = self.lead = yield from first_visible_line(self.text, at)
        if at < len(self.text):
            yield from self.read(at, len(self.text))
            self.end_member()
            if self.tiles.start < 0:
                self.begin_in_root(at)

    def read(self, at: int, size: int) -> Iterator[None]:
        """Read the tokens of text[at:size]."""
        text, stack, tiles = self.text, self.stack, self.tiles
        self.pending = at
        while at < size:
            for match in _TOKEN.finditer(text, at, min(size, at + _TICK)):
                start, at = match.start(1), match.end()
                if start < 0:
                    continue
                sign = text[start]
                if sign == ",":
                    if len(stack) == 1:
                        self.end_member()
                    self.pending = at
                elif sign == "}" or sign == "]":
                    self.close(_OPENING[sign], at)
                elif sign == "/" or sign == "#":
                    end = yield from self.comment_end(start, size)
                    if end > start:
                        at = end
                        break
                else:
                    since = self.pending
                    if since < 0:
                        pass
                    elif start < since + 2 and start < tiles.start + _SHORT and self.is_row(since):
                        self.pending = -1
                    else:
                        self.begin(start)
                    if sign == "{" or sign == "[":
                        self.open(sign, at)
                    elif at == start + 1 and sign in "\"'":
                        at = yield from self.string_end(at, sign, size)
                        self.pending = at if not stack else -1
                        break
                    elif not stack:
                        self.pending = at
            yield None

    def string_end(self, at: int, quote: str, size: int) -> Generator[None, None, int]:
        """The end of a string that is not read in one go, the text of which begins here."""
        part = _STRING_PARTS[quote]
        while at < size:
            match = part.match(self.text, at, min(size, at + WINDOW))
            end = match.end() if match else at
            if end == at:
                sign = self.text[at]
                if sign != "\\":
                    return at + (sign == quote)
                # The window ends between it and the next character.
                end = min(size, at + 2)
            at = end
            yield None
        return size

    def comment_end(self, start: int, size: int) -> Generator[None, None, int]:
        """The end of the comment that begins here, if one does; it may belong to what follows."""
        text, end = self.text, start
        if text[start] == "#" or text.startswith("//", start):
            line_end = _LINE_END.search(text, start, size)
            end = line_end.start() if line_end else size
        elif text.startswith("/*", start) and not self.has_no_comment_end:
            end = text.find("*/", start + 2, size) + 2
            if end < 2:
                end = start
                self.has_no_comment_end = not self.is_line
        if start < end and self.pending >= 0:
            if self.lead < 0:
                at = self.begin_of(start)
                if _begins_line(text, at):
                    self.lead = at
            self.pending = end
        yield None
        return end

    def begin_of(self, start: int) -> int:
        """Where something begins with this token: with its comments, or its line if it can."""
        text, since = self.text, self.pending
        if self.lead >= 0:
            return self.lead
        line = max(text.rfind("\n", since, start), text.rfind("\r", since, start)) + 1
        return line or start

    def begin(self, start: int) -> None:
        """A value, an element or a member begins with a token."""
        at = self.begin_of(start)
        self.pending = self.lead = -1
        depth = len(self.stack)
        if depth == 0:
            self.begin_value(at, self.text[start])
        elif depth == 1 and self.item_depth == 2:
            self.key_start = start
            if self.member < 0:
                self.member = at
        else:
            self.begin_block(ITEM if depth == self.item_depth else ROW, at)

    def is_row(self, since: int) -> bool:
        """Whether something that begins here, or behind a blank, can but be a ROW inside a line."""
        return (
            len(self.stack) > self.item_depth and self.text[since] not in "\r\n" and self.lead < 0
        )

    def begin_block(self, level: int, at: int) -> None:
        """Begin a block, unless the one before is a short part of the same line."""
        tiles = self.tiles
        if level > tiles.level or at - tiles.start >= _SHORT or _begins_line(self.text, at):
            tiles.begin(level, at)

    def begin_in_root(self, at: int) -> None:
        """Begin a block that stands under no key."""
        if self.is_in_root:
            self.begin_block(ITEM, at)
        else:
            self.is_in_root = True
            self.tiles.begin_scope(at, self.root)
            self.tiles.begin(BLOCK, at)

    def begin_value(self, at: int, sign: str) -> None:
        """A value begins that stands in no other."""
        if self.is_line:
            return
        self.item_depth = 2 if sign == "{" else 1
        if sign == "{":
            self.member = at
        elif sign == "[" or self.tiles.start < 0 or _begins_line(self.text, at):
            self.begin_in_root(at)

    def open(self, sign: str, end: int) -> None:
        """An opening bracket ends here."""
        depth = len(self.stack)
        if depth == 0 and self.item_depth == 2:
            self.pending = end
        elif depth == 1 and self.member >= 0:
            is_empty = _CLOSED[sign].match(self.text, end, end + WINDOW)
            if not is_empty:
                self.begin_member()
        self.stack.append(sign)
        self.counts[sign] += 1

    def close(self, opening: str, end: int) -> None:
        """The last opening bracket of this kind is closed here."""
        if not self.counts[opening]:
            return
        self.pending = self.lead = -1
        while True:
            last = self.stack.pop()
            self.counts[last] -= 1
            if last == opening:
                break
        if not self.stack:
            self.end_member()
            self.pending = end

    def begin_member(self) -> None:
        """The member of a document is a scope."""
        at, self.member = self.member, -1
        match = _KEY.match(self.text, self.key_start)
        key = match and _name(match[0])
        if not key:
            self.begin_in_root(at)
            return
        self.is_in_root = False
        self.tiles.begin_scope(at, (*self.root, key))
        self.tiles.begin(BLOCK, at)

    def end_member(self) -> None:
        """The member of a document is none, if there is one of which that was not known."""
        if self.member >= 0:
            at, self.member = self.member, -1
            self.begin_in_root(at)


def _begins_line(text: str, at: int) -> bool:
    return at > 0 and text[at - 1] in "\r\n"


def _name(key: str) -> str:
    """What a key is called; half a surrogate pair becomes U+FFFD, and so does NUL."""
    if key[0] in "\"'":
        if "\\" in key:
            import json

            try:
                decoded = json.loads(key)
            except ValueError:
                decoded = key[1:-1]
            key = f"'{decoded}'"
        key = key[1:-1].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return one_line(key.replace("\0", "\ufffd"))
