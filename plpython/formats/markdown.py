"""The structure of a Markdown text: headings, hidden parts, and the blocks between them.

Reads CommonMark 0.31 with the tables and footnotes of GFM, line by line, as far as it decides where
blocks begin: containers with lazy continuation, both kinds of headings and of code blocks, the
seven kinds of HTML blocks, tables, definitions of link targets. Headings inside quotes, list items
and footnotes are text of these. Definitions and footnotes are text like any other.

Hidden, so never embedded: front matter, and HTML comments that stand as a block (a comment inside
a line of text stays, and so does one that is never closed). In MDX, known by the ending of the
path, also imports, exports and comments in braces: see mdx.py.

The header of a table's row is the lines of the header row and the delimiter row as they stand,
with the marks of the quotes and list items around them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ..blocks import BLOCK, HEADING, HIDDEN, ITEM, ROW, Block, Blocks, one_line

#: Containers in containers beyond this are read as text.
NESTING = 100
#: No rule is longer than this, and no title is looked at further.
_LONG_LINE = 1 << 13
#: A tick comes after so many lines or characters.
_TICK_LINES, _TICK = 512, 1 << 16

#: What the next line may continue: nothing; a paragraph; rows; a definition of a link target that
#: is not complete (so may turn out to be a paragraph), or is; indented or fenced code; HTML; a
#: comment that is hidden.
NONE, _PARAGRAPH, _TABLE, _DEFINITION, DEFINED, _INDENTED, _FENCE, HTML, _HIDDEN = range(9)

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
_BLANKS = re.compile(" *")
_ATX = re.compile(r"(#{1,6})(?: |\Z)")
_SETEXT = re.compile(r"(?:=+|-+) *\Z")
_FENCE_OPEN = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_CONTAINERS = ">-*+[0123456789"
_MARKER = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?= |\Z)")
_FOOTNOTE = re.compile(r"\[\^[^\s\]]+\]: *")
_LEAF = "#`~<=-_*|:"
_DELIMITER = re.compile(r"(?:-[|:-]|[|:][|: -])[|: -]*\Z")
_DELIMITER_CELL = re.compile(r" *:?-+:? *\Z")


def blocks(text: str, path: str = "", format: str = "markdown") -> Blocks:
    """Read a text; yield its blocks in order, and None as ticks between."""
    at = start = 1 if text.startswith("\ufeff") else 0
    if text.startswith(("---", "+++"), start):
        from .frontmatter import front_matter

        at = front_matter(text) or start
    if at > start:
        yield Block(HIDDEN, start, at)
    reader = _reader(text, path)
    while at < len(text):
        yield None
        stop = min(len(text), at + _TICK)
        for _ in range(_TICK_LINES):
            at = reader.read(at)
            if at >= stop:
                break
        yield from reader.done
        reader.done.clear()
    reader.close()
    yield from reader.done


def _reader(text: str, path: str) -> Reader:
    if path[-4:].lower() != ".mdx":
        return Reader(text)
    from .mdx import MdxReader

    return MdxReader(text)


class _Lines(NamedTuple):
    """Patterns of whole lines.

    plain is lines that can only begin or continue a paragraph, as told by their first characters,
    the last of them in group 1, and the blank lines behind. item is a list item of such a line.
    """

    one: re.Pattern[str]
    blank: re.Pattern[str]
    plain: re.Pattern[str]
    item: re.Pattern[str]


@cache
def _lines(has_returns: bool) -> _Lines:
    """The patterns for a text with or without carriage returns; without, they are much faster."""
    any_, end = ("[^\r\n]", r"(?:\r\n?|\n)") if has_returns else (".", r"\n")
    plain = (
        r"(?:[^ \t\r\n\[#`~<=\-_*+>|:0-9]"
        r"|[*_`]{1,2}[^ \t\r\n*_`]"
        r"|[-+][^ \t\r\n|:-]"
        r"|[0-9]+[^\r\n0-9.)]"
        r"|\[(?!\^)[^\r\n\[\]\\]*(?:\[|\](?!:))"
        rf"){any_}*(?:{end}|\Z)"
    )
    blank = rf"(?:[ \t]*{end})"
    return _Lines(
        re.compile(rf"{any_}*{end}?"),
        re.compile(rf"{blank}{{0,500}}"),
        re.compile(rf"({plain}){{1,100}}{blank}{{0,100}}"),
        re.compile(rf"([-*+]) ({plain})"),
    )


class Container:
    """An open quote, list item or footnote.

    kind is its mark: one of `>`, `-`, `*`, `+`, `.`, `)` and `^`. The content of an item or a
    footnote is indented by so many columns; is_empty says that there was none yet.
    """

    __slots__ = ("indent", "is_empty", "kind")

    def __init__(self, kind: str, indent: int, is_empty: bool = False) -> None:
        self.kind = kind
        self.indent = indent
        self.is_empty = is_empty


class Reader:
    """The state between two lines: open containers, the open leaf, and the block being read."""

    #: What is indented by more columns than this is code, or text of the paragraph before.
    margin = 3

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = _lines("\r" in text)
        self.done: list[Block] = []
        self.block: Block | None = None
        self.block_end = 0
        self.containers: list[Container] = []
        self.leaf = NONE
        # Of the open leaf: what ends a fence or HTML, what a definition waits for, the header of a
        # table, and the last line of a paragraph, which may turn out to be one.
        self.fence = ""
        self.html_ends: tuple[str, ...] = ()
        self.awaited = ""
        self.header = (0, 0)
        self.last_line, self.last_start = "", -1
        # Where the first end of a comment is that was looked for.
        self.comment_end = 0
        # The line that is read: its span and, with blanks for tabs, its text; the columns behind
        # the containers and of what is visible; how many containers it is inside of; the level of
        # a block that begins with it; whether it is inside of all containers; and whether it goes
        # on with a paragraph unless it begins something else, inside of them or not (lazily).
        self.start = self.end = 0
        self.line = ""
        self.at = self.visible = self.matched = 0
        self.level = BLOCK
        self.is_inside = self.continues = False

    def read(self, at: int) -> int:
        """Take in the line at an offset, or several that are only text; return their end."""
        end = self.read_at_sight(at)
        if end:
            return end
        self.start, self.end = at, _end(self.lines.one, self.text, at)
        self.read_line(self.text[at : self.end].rstrip("\r\n"))
        return self.end

    def read_at_sight(self, at: int) -> int:
        """Take in what the first characters of a line tell, which is most; else return 0."""
        text, leaf = self.text, self.leaf
        if self.containers:
            if text[at] in "-*+" and (item := self.lines.item.match(text, at)):
                return self.read_item(item)
        elif leaf <= _TABLE and text[at] in "\r\n":
            self.leaf = NONE
            self.block_end = end = _end(self.lines.blank, text, at)
            return end
        elif leaf <= _PARAGRAPH:
            if plain := self.lines.plain.match(text, at):
                return self.read_plain(plain)
        elif leaf == _TABLE:
            if text[at] == "|":
                end = _end(self.lines.one, text, at)
                self.begin(ROW, at, end, self.header)
                return end
        elif leaf == _FENCE:
            end = _end(self.lines.one, text, at)
            if text.find(self.fence, at, end) < 0:
                if text[at:end].isspace():
                    self.block_end = end
                else:
                    self.begin(ROW, at, end)
                return end
        return 0

    def begin(self, level: int, start: int, end: int, header: tuple[int, int] = (0, 0)) -> None:
        self.close()
        self.block = Block(level, start, end, 0, "", (), header)
        self.block_end = end

    def close(self) -> None:
        """The text is at its end, or a block is."""
        block = self.block
        if block is None:
            return
        if block.end != self.block_end:
            level, start, _, rank, title, path, header = block
            block = Block(level, start, self.block_end, rank, title, path, header)
        self.done.append(block)

    def leave(self, count: int) -> None:
        """Close the leaf, and all containers but the first count."""
        del self.containers[count:]
        self.leaf = NONE

    def read_plain(self, lines: re.Match[str]) -> int:
        """Lines of a paragraph outside of containers, and the blank lines behind."""
        if self.leaf == NONE:
            self.begin(BLOCK, lines.start(), lines.end())
        self.block_end = end = lines.end()
        self.leaf = _PARAGRAPH if lines.end(1) == end else NONE
        self.last_line, self.last_start = lines.group(1), lines.start(1)
        return end

    def read_item(self, item: re.Match[str]) -> int:
        """One more item behind what stands in containers."""
        kind = item.group(1)
        level = ITEM if self.containers[0].kind == kind else BLOCK
        self.containers = [Container(kind, 2)]
        self.leaf = _PARAGRAPH
        self.last_line, self.last_start = item.group(2), item.start()
        self.begin(level, item.start(), item.end())
        return item.end()

    def read_line(self, line: str) -> None:
        self.line = line.expandtabs(4) if "\t" in line else line
        self.match_containers()
        if self.leaf < _FENCE or not self.is_inside:
            self.read_open()
        elif self.leaf == _FENCE:
            self.read_fenced()
        elif self.leaf == HTML:
            self.read_html()
        else:
            self.read_hidden()

    def match_containers(self) -> None:
        """Go through what continues the open containers."""
        line = self.line
        at, matched = 0, 0
        visible = _visible(line, 0)
        for container in self.containers:
            is_blank = visible == len(line)
            if container.kind == ">":
                if is_blank or visible - at > self.margin or line[visible] != ">":
                    break
                at = visible + 1 + line.startswith(" ", visible + 1)
                visible = _visible(line, at)
            elif is_blank:
                if container.is_empty:
                    break
            elif visible - at >= container.indent:
                at += container.indent
                container.is_empty = False
            else:
                break
            matched += 1
        self.at, self.visible, self.matched = at, visible, matched
        self.is_inside = matched == len(self.containers)

    def read_fenced(self) -> None:
        if self.visible == len(self.line):
            self.block_end = self.end
        elif self.closes_fence():
            self.block_end = self.end
            self.leaf = NONE
        else:
            self.begin(ROW, self.start, self.end)

    def closes_fence(self) -> bool:
        line, visible = self.line, self.visible
        if visible - self.at > self.margin or not line.startswith(self.fence, visible):
            return False
        return not line[visible:].rstrip(" ").strip(self.fence[0])

    def read_html(self) -> None:
        if self.visible < len(self.line):
            self.begin(ROW, self.start, self.end)
            self.close_html()
            return
        self.block_end = self.end
        if not self.html_ends:
            self.leaf = NONE

    def close_html(self) -> None:
        """End an HTML block at what ends it, if that is not a blank line."""
        if self.html_ends:
            rest = self.line[self.visible :].lower()
            if any(end in rest for end in self.html_ends):
                self.leaf = NONE

    def read_hidden(self) -> None:
        """A line of a comment; what follows it in the line where it ends is seen."""
        self.block_end = self.end
        end = self.text.find("-->", self.start, self.end) + 3
        if end > 2:
            self.leaf = NONE
            if self.text[end : self.end].strip():
                self.block_end = end
                self.begin(BLOCK, end, self.end)

    def read_open(self) -> None:
        """A line outside of fences and HTML: open its containers, then find its leaf."""
        line = self.line
        self.continues = self.leaf in (_PARAGRAPH, _DEFINITION)
        self.level = ROW if self.matched else BLOCK
        is_new = False
        while self.visible < len(line) and line[self.visible] in _CONTAINERS:
            opened = self.opened()
            if opened is None:
                break
            if not is_new:
                if self.goes_on_with_list(opened):
                    self.level = ITEM
                self.leave(self.matched)
                self.is_inside, self.continues, is_new = True, False, True
            self.containers.append(opened)
            self.matched = len(self.containers)

        if self.visible == len(line):
            self.read_blank(is_new)
        elif self.visible - self.at > self.margin:
            if self.continues:
                self.continue_paragraph(-1)
            else:
                self.read_code()
        elif line[self.visible] not in _LEAF or not (self.begins_table() or self.read_leaf()):
            self.read_text()

    def opened(self) -> Container | None:
        """The container that begins with the line's next mark, if one does; go behind the mark."""
        line, visible = self.line, self.visible
        if visible - self.at > self.margin or len(self.containers) >= NESTING:
            return None
        if line[visible] == ">":
            self.at = visible + 1 + line.startswith(" ", visible + 1)
            self.visible = _visible(line, self.at)
            return Container(">", 0)
        if line[visible] == "[":
            match = _FOOTNOTE.match(line, visible)
            if match:
                self.at = self.visible = match.end()
            return Container("^", 4) if match else None
        match = _MARKER.match(line, visible)
        if match is None:
            return None
        end = match.end()
        content = _visible(line, end)
        is_empty = content == len(line)
        if self.continues and self.is_inside and (is_empty or match.group(1) not in (None, "1")):
            return None
        if not is_empty and line[content] == line[visible] and _is_rule(line, visible):
            return None
        begin = end + 1 if is_empty or content - end > 4 else content
        indent = begin - self.at
        self.at, self.visible = min(begin, content), content
        return Container(line[end - 1], indent, is_empty)

    def goes_on_with_list(self, opened: Container) -> bool:
        """Whether an item is one more of the open list at the top."""
        if self.matched or not self.containers or opened.kind in ">^":
            return False
        return self.containers[0].kind == opened.kind

    def read_blank(self, is_new: bool) -> None:
        """A blank line, or one with nothing behind the marks of its containers."""
        if is_new:
            self.begin(self.level, self.start, self.end)
            return
        if not self.is_inside or self.leaf != _INDENTED:
            self.leave(self.matched)
        if not self.line:
            # More of them change nothing.
            self.end = _end(self.lines.blank, self.text, self.end)
        self.block_end = self.end

    def read_code(self) -> None:
        """An indented line that goes on with no paragraph."""
        if self.leaf == _INDENTED and self.is_inside:
            self.level = ROW
        self.begin_leaf(_INDENTED)

    def begin_leaf(self, leaf: int) -> None:
        self.leave(self.matched)
        self.leaf = leaf
        self.begin(self.level, self.start, self.end)

    def begins_table(self) -> bool:
        """Whether the line is a delimiter row, and the line before it a header row."""
        line, visible = self.line, self.visible
        if (
            line[visible] not in "|:-"
            or not self.is_inside
            or self.leaf not in (_PARAGRAPH, _DEFINITION, DEFINED)
            or self.last_start < 0
            or self.block is None
            or not _DELIMITER.match(line, visible)
        ):
            return False
        cells = _cells(self.last_line.strip())
        if not cells or cells != _delimited(line[visible:].rstrip(" ")):
            return False
        if self.block.start < self.last_start:
            # What is above the header row is a paragraph.
            self.block_end = self.last_start
            self.begin(self.level, self.last_start, self.end)
        self.block_end = self.end
        self.header = self.last_start, self.end
        self.leaf = _TABLE
        return True

    def read_leaf(self) -> bool:
        """Whether the line begins a leaf that is no paragraph; read it."""
        line, visible = self.line, self.visible
        character = line[visible]
        if character not in "#`~<=-_*":
            return False
        if character == "#":
            return self.begins_heading()
        if character == "<":
            return self.begins_html()
        if character in "`~":
            match = _FENCE_OPEN.match(line, visible)
            if match is None:
                return False
            self.begin_leaf(_FENCE)
            self.fence = match.group()
            return True
        is_rule = _is_rule(line, visible)
        if self.underlines(is_rule):
            self.end_heading(1 if character == "=" else 2)
        elif is_rule:
            self.begin_leaf(NONE)
        else:
            return False
        return True

    def begins_heading(self) -> bool:
        match = _ATX.match(self.line, self.visible)
        if match is None:
            return False
        self.leave(self.matched)
        if self.containers:
            self.begin(self.level, self.start, self.end)
        else:
            title = _title(_closed(self.line[match.end() :]))
            self.begin(HEADING, self.start, self.end)
            self.block = Block(HEADING, self.start, self.end, len(match.group(1)), title)
        return True

    def underlines(self, is_rule: bool) -> bool:
        """Whether the line stands under a paragraph like the underline of a heading."""
        if not self.continues or not self.is_inside:
            return False
        line, visible = self.line, self.visible
        if self.leaf == _DEFINITION and self.awaited == ":" and not is_rule:
            # It is the destination, unless it could as well begin a list.
            return line[visible:].rstrip(" ") == "-"
        return _SETEXT.match(line, visible) is not None

    def end_heading(self, rank: int) -> None:
        """The line makes a heading of the paragraph before it (section 4.3)."""
        self.leaf = NONE
        self.block_end = self.end
        if self.block and not self.containers:
            start = self.block.start
            title = _title(self.text[start : min(self.start, start + _LONG_LINE)])
            self.block = Block(HEADING, start, start, rank, title)

    def begins_html(self) -> bool:
        """Whether the line begins an HTML block (section 4.6)."""
        from .htmlblocks import COMMENT_ENDS, html_ends, is_tag

        ends = html_ends(self.line, self.visible)
        if ends is None:
            # The seventh kind, a line of one whole tag, does not end what stands above.
            if self.continues or (self.leaf == _TABLE and self.is_inside):
                return False
            if not is_tag(self.line, self.visible):
                return False
        self.begin_leaf(HTML)
        self.html_ends = ends or ()
        if ends == COMMENT_ENDS and self.is_closed(self.start):
            self.leaf = _HIDDEN
            self.block = Block(HIDDEN, self.start, self.start)
            self.read_hidden()
        else:
            self.close_html()
        return True

    def is_closed(self, start: int) -> bool:
        """Whether a comment has an end; one that has none hides nothing."""
        if self.comment_end < start:
            found = self.text.find("-->", start)
            self.comment_end = found if found >= 0 else len(self.text)
        return self.comment_end < len(self.text)

    def read_text(self) -> None:
        """A line of a table, a paragraph, or a definition."""
        if self.continues:
            self.continue_paragraph(self.start if self.is_inside else -1)
        elif self.leaf == _TABLE and self.is_inside:
            self.begin(ROW, self.start, self.end, self.header)
        else:
            self.begin_paragraph()

    def begin_paragraph(self) -> None:
        line, visible = self.line, self.visible
        awaited = ""
        if line[visible] == "[" and ("]:" in line or "]" not in line or "\\" in line):
            awaited = _awaited(line, visible + 1, "[")
            if awaited and self.leaf == DEFINED and self.level == BLOCK:
                self.level = ROW
        elif self.leaf == DEFINED and self.awaited == "?" and line[visible] in "\"'(":
            awaited = _awaited(line, visible, "?")
            if awaited == "!":
                self.awaited = awaited
                self.block_end = self.end
                return
        self.begin_leaf(_leaf_of(awaited))
        self.awaited = awaited
        self.last_line, self.last_start = line[visible:], self.start

    def continue_paragraph(self, last_start: int) -> None:
        self.block_end = self.end
        self.last_line, self.last_start = self.line[self.visible :], last_start
        if self.leaf == _DEFINITION:
            self.awaited = _awaited(self.line, self.visible, self.awaited)
            self.leaf = _leaf_of(self.awaited)


def _awaited(line: str, at: int, awaited: str) -> str:
    from .linktargets import awaited_after

    return awaited_after(line, at, awaited)


def _leaf_of(awaited: str) -> int:
    """The leaf that a definition is which waits for something; see linktargets.py."""
    if not awaited:
        return _PARAGRAPH
    return DEFINED if awaited in "?!" else _DEFINITION


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a match that cannot fail."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _visible(line: str, at: int) -> int:
    """The first column from at on that is no blank."""
    return _end(_BLANKS, line, at) if line.startswith(" ", at) else at


def _is_rule(line: str, visible: int) -> bool:
    """Whether the rest of a line is a thematic break (section 4.1)."""
    mark = line[visible]
    if mark not in "-_*" or len(line) - visible > _LONG_LINE:
        return False
    if len(line.rstrip(mark + " ")) > visible:
        return False
    return line.count(mark, visible) >= 3


def _closed(title: str) -> str:
    """The text of an ATX heading without its closing hashes."""
    title = title.strip(" ")
    open_title = title.rstrip("#")
    return open_title if not open_title or open_title[-1] == " " else title


def _title(text: str) -> str:
    """A title without comments, in one line."""
    if "<!--" not in text:
        return one_line(text)
    kept = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + 3
    kept.append(text[at:])
    return one_line("".join(kept))


def _cells(row: str) -> int:
    """How many cells a header row has; no bar behind a backslash parts any. 0 if it has no bar."""
    if "|" not in row:
        return 0
    bars = row.count("|") - row.count("\\|")
    return bars + 1 - row.startswith("|") - (row.endswith("|") and not row.endswith("\\|"))


def _delimited(row: str) -> int:
    """How many cells a delimiter row has; 0 if it is none."""
    cells = row.split("|")
    if not cells[0].strip(" "):
        del cells[0]
    if not cells[-1].strip(" "):
        del cells[-1]
    return len(cells) if all(map(_DELIMITER_CELL.match, cells)) else 0
