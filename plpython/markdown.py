"""The structure of a Markdown text: headings, hidden parts, and the blocks between them.

Reads CommonMark 0.31 (and GFM tables) line by line, as far as it decides where blocks begin:
containers with lazy continuation, both kinds of headings and of code blocks, the seven kinds of
HTML blocks. Headings inside quotes and list items are text of these. Hidden, so never embedded:
front matter, and HTML comments that stand as a block (a comment inside a line of text stays, and
so does one that is never closed). Definitions of link targets are text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .packing import BLOCK, ITEM, ROW

#: A block's level is that of the border before it, or one of these.
HEADING, HIDDEN = -1, -2

#: Titles are cut at so many characters.
TITLE = 1000
#: Containers in containers beyond this are read as text.
NESTING = 100
_TICK = 512

_NONE, _PARAGRAPH, _TABLE, _FENCE, _INDENTED, _HTML = range(6)

_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n])?")
_ATX = re.compile(r"(#{1,6})(?: |\Z)")
_SETEXT = re.compile(r"(?:=+|-+) *\Z")
_FENCE_OPEN = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_MARKER = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]]+\]: *[^ ]+(?: +(?:\"[^\"]*\"|'[^']*'))?\Z")
_DELIMITER = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*\|?\Z")
_BAR = re.compile(r"\\.|(\|)")
_BLANKS = re.compile(" *")
_FRONT_MATTER_KEY = re.compile(r"[\w\"'][^:\r\n]{0,200}:(?:[ \t]|\Z)")

_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|"
    "hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|"
    "search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = r""" +[A-Za-z_:][A-Za-z0-9_.:-]*(?: *= *(?:[^ "'=<>`]+|'[^']*'|"[^"]*"))?"""
#: How an HTML block begins (CommonMark 0.31, section 4.6) and what ends it; None is a blank line.
_HTML_STARTS = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:[ >]|\Z)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile("<!--"), re.compile("-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile("<![A-Za-z]"), re.compile(">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:[ >]|/>|\Z)", re.IGNORECASE), None),
)
_COMMENT = _HTML_STARTS[1][1]
#: The seventh kind, a line of one whole tag, does not end a paragraph.
_ANY_TAG = re.compile(
    rf"<(?:[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})* */?|/[A-Za-z][A-Za-z0-9-]* *)> *\Z"
)


class Block(NamedTuple):
    """A stretch of a text with the blank lines behind it; blank lines before the first are in none.

    level is BLOCK, ITEM or ROW, the strength of the border before it, or HEADING (then rank is
    1 to 6 and title its text in one line) or HIDDEN.
    """

    level: int
    start: int
    end: int
    rank: int = 0
    title: str = ""


def front_matter(text: str) -> tuple[int, int]:
    """The span of the metadata at the beginning, with its fences; (0, 0) if there is none.

    It stands between a first line `---` and the next `---` or `...`, and is known from a rule by
    a first line that is not blank and by at least one `key:`.
    """
    lines = _LINE.finditer(text, _beginning(text))
    first = next(lines)
    if first.group().rstrip() != "---":
        return 0, 0
    has_key = False
    for number, match in enumerate(lines):
        line = match.group().rstrip()
        if line in ("---", "...") and (has_key or number == 0):
            return first.start(), match.end()
        if not match.group() or (number == 0 and not line):
            break
        has_key = has_key or _FRONT_MATTER_KEY.match(line) is not None
    return 0, 0


def blocks(text: str) -> Iterator[Block | None]:
    """Read a text; yield its blocks in order, and None as ticks between."""
    start, end = front_matter(text)
    if end:
        yield Block(HIDDEN, start, end)
    reader = _Reader(text)
    for number, match in enumerate(_LINE.finditer(text, end or _beginning(text))):
        if number % _TICK == 0:
            yield None
        if match.end() > match.start():
            reader.read(match.start(), match.end())
            if reader.done:
                yield from reader.done
                reader.done.clear()
    reader.close()
    yield from reader.done


def _beginning(text: str) -> int:
    return 1 if text.startswith("\ufeff") else 0


class _Container:
    """An open quote (indent 0), or a list item whose content is indented by so many columns."""

    __slots__ = ("indent", "is_empty")

    def __init__(self, indent: int, is_empty: bool) -> None:
        self.indent = indent
        self.is_empty = is_empty


class _Reader:
    """The state between two lines: open containers, the open leaf, and the block being read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.done: list[Block] = []
        self.block: Block | None = None
        self.block_end = 0
        self.containers: list[_Container] = []
        self.leaf = _NONE
        self.fence = ("", 0)
        self.html_end: re.Pattern[str] | None = None
        self.is_hidden = False
        self.is_ever_closed = True
        self.header_bars = -1

    def close(self) -> None:
        """The text is at its end, or a block is."""
        if self.block:
            self.done.append(self.block._replace(end=self.block_end))

    def begin(self, level: int, start: int, end: int, rank: int = 0, title: str = "") -> None:
        self.close()
        self.block = Block(level, start, end, rank, title)
        self.block_end = end

    def read(self, start: int, end: int) -> None:
        """Take in the line text[start:end]."""
        text = self.text
        first = text[start]
        if not self.containers and self.leaf <= _TABLE:
            # Most lines are told by their first character.
            if first in "\r\n":
                self.leaf = _NONE
                self.block_end = end
                return
            if first.isalpha() and self.leaf == _PARAGRAPH:
                self.header_bars = -1
                self.block_end = end
                return
            if first.isalpha() and self.leaf == _NONE:
                self.read_text(text[start:end], BLOCK, False, True, start, end)
                return
        line = text[start:end].rstrip("\r\n")
        if "\t" in line:
            line = line.expandtabs(4)
        at, matched = self.match_containers(line)
        is_inside = matched == len(self.containers)
        if is_inside and self.leaf == _FENCE:
            self.read_fenced(line, at, start, end)
        elif is_inside and self.leaf == _HTML:
            self.read_html(line, at, start, end)
        else:
            self.read_open(line, at, matched, start, end)

    def match_containers(self, line: str) -> tuple[int, int]:
        """Go through what continues the open containers: the column behind, and how many."""
        at, matched = 0, 0
        visible = _indent_end(line, 0)
        for container in self.containers:
            is_blank = visible == len(line)
            if container.indent == 0:
                if is_blank or visible - at > 3 or line[visible] != ">":
                    break
                at = visible + 1
                if line.startswith(" ", at):
                    at += 1
                visible = _indent_end(line, at)
            elif is_blank:
                if container.is_empty:
                    break
            elif visible - at >= container.indent:
                at += container.indent
                container.is_empty = False
            else:
                break
            matched += 1
        return at, matched

    def read_fenced(self, line: str, at: int, start: int, end: int) -> None:
        character, length = self.fence
        visible = _indent_end(line, at)
        rest = line[visible:].rstrip(" ")
        if visible - at <= 3 and len(rest) >= length and rest == character * len(rest):
            self.leaf = _NONE
            self.block_end = end
        elif rest:
            self.begin(ROW, start, end)
        else:
            self.block_end = end

    def read_html(self, line: str, at: int, start: int, end: int) -> None:
        is_blank = _indent_end(line, at) == len(line)
        if self.html_end is None and is_blank:
            self.leaf = _NONE
            self.block_end = end
        elif self.is_hidden:
            self.block_end = end
            self.close_comment(start, end)
        else:
            if is_blank:
                self.block_end = end
            else:
                self.begin(ROW, start, end)
            if self.html_end is not None and self.html_end.search(line, at):
                self.leaf = _NONE

    def close_comment(self, start: int, end: int) -> None:
        """End a hidden block where its comment ends; what follows in the line is seen."""
        match = _COMMENT.search(self.text, start, end)
        if match is None:
            return
        self.leaf = _NONE
        self.is_hidden = False
        if self.text[match.end() : end].strip():
            self.block_end = match.end()
            self.begin(BLOCK, match.end(), end)

    def read_open(self, line: str, at: int, matched: int, start: int, end: int) -> None:
        """A line outside of fences and HTML: open its containers, then find its leaf."""
        is_inside = matched == len(self.containers)
        # What the line would continue, though it may not be inside of all containers (lazy).
        in_paragraph = self.leaf in (_PARAGRAPH, _TABLE)
        was_item = bool(self.containers) and self.containers[0].indent > 0
        level = ROW if matched else BLOCK
        is_new = False
        while True:
            visible = _indent_end(line, at)
            opened = self.opening(line, at, visible, in_paragraph and is_inside)
            if opened is None:
                break
            if not is_new:
                self.leave(matched)
                if matched == 0 and was_item and opened.indent:
                    level = ITEM
                in_paragraph, is_inside, is_new = False, True, True
            self.containers.append(opened)
            at = visible + 1 if not opened.indent else min(at + opened.indent, len(line))
            if not opened.indent and line.startswith(" ", at):
                at += 1

        if visible == len(line):
            self.read_blank(matched, level, is_inside, is_new, start, end)
        elif visible - at >= 4 and not in_paragraph:
            goes_on = self.leaf == _INDENTED and is_inside and not is_new
            if not is_new:
                self.leave(matched)
            self.leaf = _INDENTED
            self.begin(ROW if goes_on else level, start, end)
        elif visible - at >= 4 or not self.read_leaf(
            line, visible, matched, level, in_paragraph, is_inside, start, end
        ):
            if not in_paragraph:
                self.leave(len(self.containers) if is_new else matched)
            self.read_text(line[visible:], level, in_paragraph, is_inside, start, end)

    def opening(self, line: str, at: int, visible: int, in_paragraph: bool) -> _Container | None:
        """The container that begins at a column, if one does (sections 5.1 and 5.2)."""
        if visible == len(line) or visible - at > 3 or len(self.containers) >= NESTING:
            return None
        if line[visible] == ">":
            return _Container(0, False)
        marker = _MARKER.match(line, visible)
        if marker is None or _is_rule(line, visible):
            return None
        content = _indent_end(line, marker.end())
        is_empty = content == len(line)
        if in_paragraph and (is_empty or marker.group(1) not in (None, "1")):
            return None
        padding = content - marker.end()
        if is_empty or padding > 4:
            padding = 1
        return _Container(marker.end() - at + padding, is_empty)

    def leave(self, count: int) -> None:
        """Close the leaf, and all containers but the first count."""
        del self.containers[count:]
        self.leaf = _NONE
        self.is_hidden = False

    def read_blank(
        self, matched: int, level: int, is_inside: bool, is_new: bool, start: int, end: int
    ) -> None:
        if is_new:
            self.begin(level, start, end)
            return
        if not is_inside or self.leaf != _INDENTED:
            self.leave(matched)
        self.block_end = end

    def read_leaf(
        self,
        line: str,
        visible: int,
        matched: int,
        level: int,
        in_paragraph: bool,
        is_inside: bool,
        start: int,
        end: int,
    ) -> bool:
        """Whether the line begins a leaf that is no paragraph; read it."""
        character = line[visible]
        if character.isalnum() or character not in "#`~<=-_*":
            return False
        rank, title = 0, ""
        leaf = _NONE
        if character == "#":
            match = _ATX.match(line, visible)
            if match is None:
                return False
            rank, title = len(match.group(1)), _closed(line[match.end() :])
        elif character in "`~":
            match = _FENCE_OPEN.match(line, visible)
            if match is None:
                return False
            leaf = _FENCE
            self.fence = character, len(match.group(1) or match.group(2))
        elif character == "<":
            if not self.finds_html(line, visible, in_paragraph):
                return False
            leaf = _HTML
        elif in_paragraph and is_inside and self.underlines(line, visible, start, end):
            return True
        elif not _is_rule(line, visible):
            return False
        if not is_inside:
            matched = min(matched, len(self.containers))
            self.leave(matched)
        self.leaf = leaf
        if rank and not self.containers:
            self.begin(HEADING, start, end, rank, _one_line(title))
        elif leaf == _HTML and self.html_end is _COMMENT and self.is_closed(start):
            self.is_hidden = True
            self.begin(HIDDEN, start, end)
            self.close_comment(start, end)
        else:
            self.begin(level, start, end)
            if leaf == _HTML and self.html_end and self.html_end.search(line, visible):
                self.leaf = _NONE
        return True

    def finds_html(self, line: str, visible: int, in_paragraph: bool) -> bool:
        for begins, ends in _HTML_STARTS:
            if begins.match(line, visible):
                self.html_end = ends
                return True
        self.html_end = None
        return not in_paragraph and _ANY_TAG.match(line, visible) is not None

    def is_closed(self, start: int) -> bool:
        """Whether a comment has an end; one that has none hides nothing."""
        if self.is_ever_closed:
            self.is_ever_closed = self.text.find("-->", start) >= 0
        return self.is_ever_closed

    def underlines(self, line: str, visible: int, start: int, end: int) -> bool:
        """Whether the line makes a heading of the paragraph before it (section 4.3)."""
        if self.leaf != _PARAGRAPH or not _SETEXT.match(line, visible):
            return False
        if self.containers or self.block is None:
            self.leaf = _NONE
            self.block_end = end
            return True
        begin = self.block.start
        for match in _LINE.finditer(self.text, begin, start):
            if not _DEFINITION.match(match.group().rstrip()):
                break
            begin = match.end()
        if begin == start:
            return False
        if begin > self.block.start:
            self.done.append(self.block._replace(end=begin))
        self.block = None
        self.begin(
            HEADING, begin, end, 1 if line[visible] == "=" else 2, _one_line(self.text[begin:start])
        )
        self.leaf = _NONE
        return True

    def read_text(
        self, line: str, level: int, in_paragraph: bool, is_inside: bool, start: int, end: int
    ) -> None:
        """A line of a paragraph or of a table."""
        if not in_paragraph:
            self.leaf = _PARAGRAPH
            self.header_bars = _bars(line) if "|" in line else -1
            self.begin(level, start, end)
        elif self.leaf == _TABLE:
            self.begin(ROW, start, end)
        else:
            if (
                self.header_bars >= 0
                and is_inside
                and _DELIMITER.match(line.rstrip())
                and _bars(line) == self.header_bars
            ):
                self.leaf = _TABLE
            self.header_bars = -1
            self.block_end = end


def _indent_end(line: str, at: int) -> int:
    """The first column from at on that is no blank."""
    match = _BLANKS.match(line, at)
    return match.end() if match else at


def _is_rule(line: str, visible: int) -> bool:
    """Whether the rest of a line is a thematic break (section 4.1)."""
    character = line[visible]
    if character not in "-_*":
        return False
    marks = line[visible:].replace(" ", "")
    return len(marks) >= 3 and marks == character * len(marks)


def _closed(title: str) -> str:
    """The text of an ATX heading without its closing hashes."""
    title = title.strip(" ")
    open_title = title.rstrip("#")
    return open_title.rstrip(" ") if not open_title or open_title[-1] == " " else title


def _one_line(title: str) -> str:
    """A title without comments, in one line of at most TITLE characters."""
    kept = []
    at = 0
    while True:
        start = title.find("<!--", at)
        stop = title.find("-->", start + 4) if start >= 0 else -1
        if stop < 0:
            break
        kept.append(title[at:start])
        at = stop + 3
    kept.append(title[at:])
    return " ".join("".join(kept).split())[:TITLE].rstrip()


def _bars(line: str) -> int:
    """How many bars part the cells of a table's row, the outer ones left out."""
    row = line.strip().strip("|")
    return sum(1 for match in _BAR.finditer(row) if match.group(1))
