"""What goes in and comes out: a rule, and the pieces that it makes of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_VISIBLE = re.compile(
    # Blanks, controls, soft hyphen, and what only joins, orders, marks or fills: a text of nothing
    # else has nothing to be found. Lone variation selectors and tag characters belong here too.
    "[^\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


class Rule(NamedTuple):
    """How to chunk.

    size and overlap are in units ('tokens', 'characters', 'words' or 'bytes' of UTF-8), and size
    holds prefix and content together. prefix is a template of {title}, {path} and {section}.
    """

    splitter: str
    unit: str
    size: int
    overlap: int
    prefix: str = ""
    options: Mapping[str, object] = MappingProxyType({})


class Piece(NamedTuple):
    """One chunk; what is embedded is prefix + content.

    content is text[start:end], behind the header of the table that it goes on with, if it does; of
    a document that had to be made text of first, such as HTML, it is that text, and start and end
    say where in the document it comes from. Offsets are characters; lines start at 1 and are
    inclusive. section is the ordinal of the heading in the document, from 0. token_count is of the
    content alone.

    lead is what stands between the piece before and this one and is not hidden, and the first
    `repeats` characters of the content are in the pieces before already, so that
    content + (lead + content[repeats:]) + … is the text again.
    """

    section_path: tuple[str, ...]
    section: int
    start: int
    end: int
    first_line: int
    last_line: int
    token_count: int | None
    prefix: str
    lead: str
    repeats: int
    content: str


class Span(NamedTuple):
    """A piece in the making; units are those of header and content, in the unit of the rule."""

    start: int
    end: int
    units: int
    section_path: tuple[str, ...]
    section: int
    prefix: str
    lead: str
    header: str = ""


def is_blank(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether nothing in text[start:end] can be seen: blanks, controls, zero-width characters."""
    return _VISIBLE.search(text, start, len(text) if end is None else end) is None


class Lines:
    """Line numbers of offsets that never fall, in one pass over the text.

    A line ends with \\n, \\r\\n or a lone \\r (CommonMark 0.31, section 2.1).
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._has_returns = "\r" in text
        self._offset = 0
        self._line = 1

    def at(self, offset: int) -> int:
        """The line of the character at an offset, which is not before that of the last call."""
        self._line = self.after(offset)
        self._offset = offset
        return self._line

    def after(self, offset: int) -> int:
        """The line of a character behind that of the last call to `at`."""
        text, start = self._text, self._offset
        line = self._line + text.count("\n", start, offset)
        if self._has_returns:
            line += text.count("\r", start, offset) - text.count("\r\n", start, offset + 1)
        return line
