"""The text of an HTML page, with its headings, and where each character stands in the source.

The tags are found by patterns of this module, in the way of the HTML standard (section 13.2.5), not
by html.parser: on unfinished constructs the library scans the rest again and again, some malformed
ones raise, and what it makes of others differs between the versions of Python that a server and a
loader run on.

Hidden, so never embedded: comments, doctypes and processing instructions; title, script, style,
noscript, template, svg, object, iframe, audio, video, canvas, select, datalist, noframes, noembed,
and the annotations of MathML; all attributes but the `alt` of images; elements with `hidden`,
`aria-hidden="true"` or a style of `display: none` or `visibility: hidden`, html and body excepted.
Nothing else is, and in doubt text is shown:

* A hidden element ends at its end tag, where nested ones of its name are counted, or with the
  element that it stands in. One that is never closed hides nothing, but script and style do.
* A comment that is never closed hides nothing. A tag that is never closed is text.
* Elements more than 16,384 deep in others are no longer told apart, and hide nothing.
* A quote that is never closed does not count: the tag ends at the next `>`.
* `<div/>` is an empty element, as in XHTML, and the content of a CDATA section is text.
* `<?php` ends at `?>`; other processing instructions end at `>`, as in browsers.

Blanks collapse as in a browser, and those at the start of a line are left out; pre, textarea and
their like stay as they are. Paragraphs and other blocks begin on lines of their own, with a blank
line before those that a browser sets apart; two `br` in a row end a paragraph. Nothing is put
before an item of a list. Inline elements do not part words; buttons and images with a text do.
Soft hyphens and `wbr` are left out. References to NUL or half a surrogate pair become U+FFFD.

The first line of a pre begins a BLOCK and each other one a ROW. An item is an ITEM, or a ROW in a
nested list, as is every block within an item but its first; the first item of a list is a BLOCK. A
`dd` is an ITEM.

A heading ends at its end tag or, once it has a text, at the start of the next block. One in an item
of a list or of definitions, in a blockquote, a pre, a caption or a cell of a table of data is text.

A table is one of data if it has a th, thead or caption, or if it has rows of several cells, none
of which holds a heading, list, pre, quote, rule or one block after another; it is none if a table
stands in it or its role is presentation. Its rows are lines, their cells joined by ` | `, and the
blocks behind the rows in thead, or behind a first row of nothing but th, have these for header. A
table of any other kind is laid out by the blocks in its cells.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any, NamedTuple

from ..blocks import BLOCK, HEADING, ITEM, ROW, TITLE, Block, Mapped, Segment, one_line

#: Ticks come after so many tags, so many characters of text, and so many that are searched for a
#: terminator, of which none is longer than _TERMINATOR.
_TURNS = 512
_SLICE = 1 << 13
_SEARCHED = 1 << 18
_TERMINATOR = 16
#: So many attributes of a tag, and so many elements in elements, are looked at.
_ATTRIBUTES_SEEN = 1000
_DEEPEST = 1 << 14

_BLANKS = " \t\n\r\f"
_SOFT_HYPHEN = "\u00ad"
#: The start of a tag, all of it if its attributes are as most are; or of a declaration.
_MARKUP = re.compile(
    r"<(?:(/?)([a-zA-Z][^ \t\n\r\f/><]*)"
    r"((?:[ \t\n\r]+[a-zA-Z][a-zA-Z0-9:_-]*=\"[^\"<>]*\"){0,12}[ \t\n\r]*(/?)>)?|[!?/])"
)
_NO_VALUE = re.compile("[^=>]*")
_EQUALS = re.compile("=[ \t\n\r\f]*")
_BARE_VALUE = re.compile("[^ \t\n\r\f>]*")
_ATTRIBUTE = re.compile(
    r"([^ \t\n\r\f/>=]+)"
    r"(?:[ \t\n\r\f]*=[ \t\n\r\f]*(?:\"([^\"]*)\"|'([^']*)'|([^ \t\n\r\f\"'>][^ \t\n\r\f>]*)?))?"
)
_EMPTY_COMMENT = re.compile("<!---?>")
_UNSEEN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))(?![\w-])", re.IGNORECASE
)

_REFERENCE = r"&(?:#(?:[0-9]+|[xX][0-9a-fA-F]+)|[a-zA-Z][a-zA-Z0-9]{0,31});?"
#: What is not copied as it is: runs of blanks, references, soft hyphens; and in a pre.
_SPECIAL = re.compile(r"[ \t\n\r\f]{2,}|[\t\r\f\u00ad]|" + _REFERENCE)
_SPECIAL_IN_PRE = re.compile(r"\r\n?|\n|" + _REFERENCE)
#: The same where there are no references: in CDATA sections and in xmp.
_RUN = re.compile(r"[ \t\n\r\f]{2,}|[\t\r\f]")
_LINE_END = re.compile(r"\r\n?|\n")

(
    _GROUP,
    _PARAGRAPH,
    _QUOTE,
    _PRE,
    _HEADING,
    _LIST,
    _LIST_ITEM,
    _DEFINITION,
    _TABLE,
    _TABLE_SECTION,
    _TABLE_ROW,
    _CELL,
    _CAPTION,
    _INLINE,
    _PAGE,
    _RULE,
    _LINE_BREAK,
    _IMAGE,
    _CONTROL,
    _NOTHING,
    _UNPARSED,
) = range(21)
#: In these a heading is text.
_TEXTUAL = frozenset((_QUOTE, _PRE, _LIST_ITEM, _DEFINITION, _CAPTION))
#: In a cell of a table these say that the table is there for the layout.
_LAID_OUT = frozenset((_QUOTE, _PRE, _HEADING, _LIST, _RULE))

_LINES = ("\n", BLOCK)
_APART = ("\n\n", BLOCK)


class _Element(NamedTuple):
    """What an element is, the name by which it is found among the open ones, and its border."""

    role: int
    scope: str
    border: tuple[str, int] = _LINES
    is_hidden: bool = False


def _elements() -> dict[str, _Element]:
    """Elements by name; all others are inline."""
    kinds: tuple[tuple[int, str, str, tuple[str, int]], ...] = (
        (_GROUP, "", "div center summary figcaption legend", _LINES),
        (_GROUP, "", "address article aside details dialog dl fieldset figure footer form", _APART),
        (_GROUP, "", "header hgroup main nav search section", _APART),
        (_PARAGRAPH, "p", "p", _APART),
        (_QUOTE, "", "blockquote", _APART),
        (_PRE, "", "pre listing", _APART),
        (_HEADING, "h1", "h1 h2 h3 h4 h5 h6", _APART),
        (_LIST, "ul", "ul ol menu dir", _APART),
        (_LIST_ITEM, "li", "li", _LINES),
        (_DEFINITION, "dd", "dt", _LINES),
        (_DEFINITION, "dd", "dd", ("\n", ITEM)),
        (_TABLE, "table", "table", _APART),
        (_TABLE_SECTION, "tbody", "thead tbody tfoot", _LINES),
        (_TABLE_ROW, "tr", "tr", _LINES),
        (_CELL, "td", "td th", _LINES),
        (_CAPTION, "td", "caption", ("\n", ROW)),
        (_PAGE, "", "html head body frameset", _LINES),
        (_RULE, "", "hr", _APART),
        (_LINE_BREAK, "", "br", _LINES),
        (_IMAGE, "", "img image", _LINES),
        (_CONTROL, "", "button input keygen", _LINES),
        (_NOTHING, "", "area base basefont bgsound col colgroup embed frame link meta", _LINES),
        (_NOTHING, "", "param source track wbr", _LINES),
        (_UNPARSED, "", "script style title textarea xmp plaintext", _LINES),
        (_UNPARSED, "", "iframe noembed noframes", _LINES),
    )
    elements = {
        name: _Element(role, scope or name, border)
        for role, scope, names, border in kinds
        for name in names.split()
    }
    hidden = "annotation annotation-xml audio canvas datalist noscript object select svg template"
    for name in [*hidden.split(), "video"]:
        elements[name] = _Element(_INLINE, name, is_hidden=True)
    return elements


_ELEMENTS = _elements()
_STRAY = _Element(_GROUP, "")
#: Methods of the writer that write the start of an element, where it is not open_block.
_WRITTEN_BY = {
    _HEADING: "heading",
    _LIST: "start_list",
    _LIST_ITEM: "item",
    _TABLE: "start_table",
    _TABLE_ROW: "row",
    _CELL: "cell",
    _CAPTION: "caption",
}
#: Elements whose tags are text, up to their end tag. The other such elements are hidden.
_SHOWN = frozenset(("textarea", "xmp", "plaintext"))


def convert(text: str) -> Generator[None, None, Mapped]:
    """Read a page; yield ticks, and return its text."""
    reader = _Reader(text)
    yield from reader.read()
    return reader.writer.mapped()


class _Table:
    """What is known of a table: what tells its kind, and later the span of its header."""

    __slots__ = (
        "block_ended",
        "has_blocks",
        "has_columns",
        "has_header",
        "has_table",
        "header_end",
        "header_start",
        "in_head",
        "is_presentation",
        "row_cells",
    )

    def __init__(self) -> None:
        self.is_presentation = False
        self.has_table = False
        self.has_header = False
        self.has_columns = False
        self.has_blocks = False
        # In the section, the row and the cell that are open.
        self.in_head = False
        self.row_cells = 0
        self.block_ended = False
        self.header_start = -1
        self.header_end = -1

    def is_data(self) -> bool:
        if self.has_table or self.is_presentation:
            return False
        return self.has_header or (self.has_columns and not self.has_blocks)


#: A method of the writer, the span of the markup or text that it is called for, and its argument.
#: It is called by its name, because tuples of mere values are no work for the garbage collector.
_Call = tuple[str, int, int, Any]


class _Reader:
    """Finds the tags, knows which elements are open, and tells the writer what to write.

    What it tells is kept back while an element is open that may turn out to be hidden, or a table
    whose kind is not known yet.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.writer = _Writer(source)
        self.calls: list[_Call] = []
        #: The open elements: scope, role, and the number of calls before one that is hidden or -1.
        self.stack: list[tuple[str, int, int]] = []
        #: Their positions by scope, above a -1.
        self.opened: defaultdict[str, list[int]] = defaultdict(lambda: [-1])
        self.open_tables, self.open_cells = self.opened["table"], self.opened["td"]
        self.open_paragraphs = self.opened["p"]
        self.tables: list[_Table] = []
        self.hidden = 0
        self.pres = 0
        self.textual = 0
        #: What a terminator was last found at; None if there is no more of it.
        self.found: dict[str, re.Match[str] | None] = {}
        self.counts_quotes = True

    def read(self) -> Generator[None, None, None]:
        source, search = self.source, _MARKUP.search
        begin = at = 1 if source.startswith("\ufeff") else 0
        turn = 0
        while True:
            turn += 1
            if turn % _TURNS == 0:
                yield None
                if not self.hidden and not self.tables:
                    yield from self.flush()
            match = search(source, at)
            if match is None:
                break
            start = match.start()
            slash, name, rest, empty = match.groups()
            if name is None:
                end = yield from self.declaration(begin, start)
                at = start + 1
                if end > 0:
                    begin = at = end
                continue
            end = match.end()
            if rest is None:
                end, empty = yield from self.tag_end(end)
                if end < 0:
                    at = match.end()
                    continue
            if start > begin:
                self.text(begin, start)
            begin = at = end
            name = name.lower()
            element = _ELEMENTS.get(name)
            if slash:
                if element or self.hidden:
                    self.end_tag(name, element or _Element(_INLINE, name), start, end)
                continue
            attributes = match.end(2)
            hides = False
            if end - attributes > len("hidden"):
                markup = source[attributes:end].lower()
                if "hidden" in markup or "none" in markup:
                    hides = self.hides(attributes, end)
            if element is None:
                if not empty and (hides or self.hidden) and len(self.stack) < _DEEPEST:
                    self.push(_Element(_INLINE, name), hides)
            elif element.role == _UNPARSED:
                if not empty:
                    begin = at = yield from self.unparsed(name, hides, start, end)
            elif element.role >= _PAGE:
                self.single_tag(element, hides, attributes, start, end)
            elif len(self.stack) >= _DEEPEST:
                self.calls.append(("open_block", start, end, element.border))
            else:
                self.start_tag(name, element, hides or element.is_hidden, attributes, start, end)
                if empty:
                    self.close(len(self.stack) - 1, start, end)
        self.text(begin, len(source))
        yield from self.flush()

    def flush(self) -> Generator[None, None, None]:
        """Let the writer write what was kept back."""
        written = turn = 0
        self.calls.reverse()
        while self.calls:
            name, start, end, argument = self.calls.pop()
            getattr(self.writer, name)(start, end, argument)
            written += end - start
            turn += 1
            if written >= _SLICE or turn >= _TURNS:
                written = turn = 0
                yield None

    def text(self, start: int, end: int, has_references: bool = True) -> None:
        """A stretch without tags, in slices that cut no reference."""
        name = "lines" if self.pres else "text"
        while end - start > _SLICE:
            reference = self.source.rfind("&", start + _SLICE - 40, start + _SLICE)
            cut = reference if reference > start else start + _SLICE
            self.calls.append((name, start, cut, has_references))
            start = cut
        if end > start:
            self.calls.append((name, start, end, has_references))

    # Where markup ends

    def find(self, terminator: str, at: int) -> Generator[None, None, re.Match[str] | None]:
        """The next match of a pattern; nothing is searched twice."""
        if terminator in self.found:
            known = self.found[terminator]
            if known is None or known.start() >= at:
                return known
        pattern = re.compile(terminator, re.IGNORECASE)
        match = pattern.search(self.source, at, at + _SEARCHED)
        while match is None and at + _SEARCHED < len(self.source):
            yield None
            at += _SEARCHED - _TERMINATOR
            match = pattern.search(self.source, at, at + _SEARCHED)
        self.found[terminator] = match
        return match

    def bracket_end(self, at: int) -> Generator[None, None, int]:
        """Behind the next `>`, or -1."""
        match = yield from self.find(">", at)
        return match.end() if match else -1

    def tag_end(self, at: int) -> Generator[None, None, tuple[int, str]]:
        """Behind the `>` of a tag whose name ends at `at`, or -1; and the slash before it."""
        source = self.source
        name_end = value_end = at
        turn = 0
        while self.counts_quotes:
            turn += 1
            if turn % _TURNS == 0:
                yield None
            at = _end(_NO_VALUE, source, at)
            if at == len(source):
                # From here on any `>` ends a tag, so that no other is searched to the end.
                self.counts_quotes = False
                break
            if source[at] == ">":
                return at + 1, "/" if source[at - 1] == "/" and at > value_end else ""
            at = _end(_EQUALS, source, at)
            quote = source[at : at + 1]
            if quote in ('"', "'"):
                closing = source.find(quote, at + 1)
                if closing >= 0:
                    at = closing + 1
            else:
                at = _end(_BARE_VALUE, source, at)
            value_end = at
        end = yield from self.bracket_end(name_end)
        return end, "/" if source[end - 2 : end] == "/>" else ""

    def declaration(self, begin: int, start: int) -> Generator[None, None, int]:
        """Take in a comment or its like: where it ends, or -1 if it is text."""
        source = self.source
        end = -1
        if source.startswith("<!--", start):
            empty = _EMPTY_COMMENT.match(source, start)
            match = empty or (yield from self.find("--!?>", start + 4))
            end = match.end() if match else start + 4
        elif source.startswith("<![CDATA[", start):
            match = yield from self.find("]]>", start + 9)
            if match:
                self.text(begin, start)
                self.text(start + 9, match.start(), False)
                return match.end()
        elif source.startswith(("<?php", "<?="), start):
            match = yield from self.find(r"\?>", start + 2)
            end = match.end() if match else -1
        if end < 0:
            end = yield from self.bracket_end(start + 2)
        if end > 0:
            self.text(begin, start)
        return end

    def unparsed(self, name: str, hides: bool, start: int, end: int) -> Generator[None, None, int]:
        """Take in the text of an element that has no tags in it: where it ends."""
        stop = len(self.source)
        if name != "plaintext":
            match = yield from self.find(f"</{name}(?=[ \t\n\r\f/>])", end)
            if match:
                stop = match.start()
            elif name not in ("script", "style"):
                return end
        if name in _SHOWN and not hides:
            self.calls.append(("open_block", start, end, _LINES))
            self.pres += 1
            self.text(end, stop, name == "textarea")
            self.pres -= 1
        return stop

    # Attributes

    def attributes(self, start: int, end: int) -> Iterator[tuple[str, int, int]]:
        """The names of the attributes of a tag, and the spans of their values."""
        for match in islice(_ATTRIBUTE.finditer(self.source, start, end), _ATTRIBUTES_SEEN):
            group = match.lastindex or 1
            value_start, value_end = match.span(group) if group > 1 else (match.end(), match.end())
            yield match.group(1).lower(), value_start, value_end

    def hides(self, start: int, end: int) -> bool:
        """Whether the attributes of a tag hide its element."""
        for name, value_start, value_end in self.attributes(start, end):
            if name == "hidden":
                return True
            value = self.source[value_start:value_end]
            if name == "aria-hidden" and value.strip().lower() == "true":
                return True
            if name == "style" and _UNSEEN.search(value):
                return True
        return False

    # Elements

    def push(self, element: _Element, hides: bool) -> None:
        role, scope, _, _ = element
        self.opened[scope].append(len(self.stack))
        mark = -1
        if hides:
            mark = len(self.calls)
            self.hidden += 1
        self.stack.append((scope, role, mark))
        if role in _TEXTUAL:
            self.textual += 1

    def close(self, position: int, start: int, end: int) -> None:
        """End the element at a position of the stack and all that are open in it."""
        calls = self.calls
        while len(self.stack) > position:
            scope, role, mark = self.stack.pop()
            self.opened[scope].pop()
            if role in _TEXTUAL:
                self.textual -= 1
            if role == _PRE:
                self.pres -= 1
            elif role == _HEADING:
                calls.append(("end_heading", start, end, None))
            elif role == _LIST:
                calls.append(("end_list", start, end, None))
            elif role == _TABLE:
                calls.append(("end_table", start, end, self.tables.pop()))
            elif role == _TABLE_SECTION:
                self.tables[-1].in_head = False
            elif role == _CAPTION:
                calls.append(("end_caption", start, end, self.tables[-1]))
            if mark >= 0:
                del calls[mark:]
                self.hidden -= 1

    def close_within(self, fence: int, start: int, end: int, *scopes: str) -> None:
        """End the outermost element of some scopes that is open within the one at the fence."""
        positions = [self.opened[scope][-1] for scope in scopes]
        inside = [position for position in positions if position > fence]
        if inside:
            self.close(min(inside), start, end)

    def end_tag(self, name: str, element: _Element, start: int, end: int) -> None:
        role, scope, border, _ = element
        if role < _PAGE:
            fence = -1 if role == _TABLE else self.open_tables[-1]
            if not _TABLE <= role <= _CAPTION:
                fence = max(fence, self.open_cells[-1])
            position = self.opened[scope][-1]
            if position > fence:
                self.close(position, start, end)
        if role == _LINE_BREAK:
            self.single_tag(element, False, end, start, end)
        elif role == _CONTROL:
            self.calls.append(("space", start, end, None))
        elif role != _INLINE and (role <= _PAGE or name in _SHOWN):
            self.calls.append(("close_block", start, end, border))
        if self.tables and role <= _PARAGRAPH:
            self.tables[-1].block_ended = True

    def start_tag(
        self, name: str, element: _Element, hides: bool, attributes: int, start: int, end: int
    ) -> None:
        """Begin an element that has an end."""
        if _TABLE < element.role <= _CAPTION and not self.tables:
            # Such a part of a table is not one, but it parts words.
            element, hides = _STRAY, False
        role, scope, border, _ = element
        self.make_room(role, scope, start, end)
        if hides and role != _INLINE:
            self.calls.append(("close_block", start, end, border))
        is_text = self.textual > 0
        self.push(element, hides)
        if role == _INLINE:
            return
        call: str = _WRITTEN_BY.get(role, "open_block")
        argument: Any = border
        if role == _HEADING:
            if is_text:
                call = "open_block"
            else:
                argument = int(name[1]), self.tables[-1] if self.tables else None
        elif role == _PRE:
            self.pres += 1
        elif role == _TABLE:
            argument = self.add_table(attributes, end)
        elif _TABLE < role <= _CAPTION:
            argument = self.start_part(name, role)
        if role != _TABLE_SECTION:
            self.calls.append((call, start, end, argument))

    def make_room(self, role: int, scope: str, start: int, end: int) -> None:
        """End what an element ends by its beginning."""
        opened, table = self.opened, self.open_tables[-1]
        fence = max(table, self.open_cells[-1])
        if role <= _PARAGRAPH:
            pass
        elif role == _LIST_ITEM:
            self.close_within(max(fence, opened["ul"][-1]), start, end, scope)
        elif role == _DEFINITION:
            self.close_within(max(fence, opened["dl"][-1]), start, end, scope)
        elif role == _TABLE:
            if self.open_cells[-1] < table:
                self.close(table, start, end)
        elif role in (_TABLE_SECTION, _CAPTION):
            self.close_within(table, start, end, "td", "tr", "tbody")
        elif role == _TABLE_ROW:
            self.close_within(table, start, end, "td", "tr")
        elif role == _CELL:
            self.close_within(table, start, end, "td")
            if opened["tr"][-1] <= table:
                self.start_tag("tr", _ELEMENTS["tr"], False, end, start, end)
        if role <= _TABLE or role == _RULE:
            if self.open_paragraphs[-1] > fence:
                self.close(self.open_paragraphs[-1], start, end)
            if role == _HEADING and self.stack and self.stack[-1][1] == _HEADING:
                self.close(len(self.stack) - 1, start, end)
            if self.tables and (role in _LAID_OUT or self.tables[-1].block_ended):
                self.tables[-1].has_blocks = True

    def add_table(self, attributes: int, end: int) -> _Table:
        if self.tables:
            self.tables[-1].has_table = True
        table = _Table()
        for name, value_start, value_end in self.attributes(attributes, end):
            if name == "role":
                value = self.source[value_start:value_end].strip().lower()
                table.is_presentation = value in ("presentation", "none")
        self.tables.append(table)
        return table

    def start_part(self, name: str, role: int) -> object:
        """Begin a part of a table: what the writer has to know of it."""
        table = self.tables[-1]
        if role == _TABLE_SECTION:
            table.in_head = name == "thead"
            table.has_header |= table.in_head
        elif role == _CAPTION:
            table.has_header = True
        elif role == _TABLE_ROW:
            table.row_cells = 0
            return table, table.in_head
        else:
            table.row_cells += 1
            table.has_columns |= table.row_cells > 1
            table.has_header |= name == "th"
            table.block_ended = False
            return table, name == "th"
        return table

    def single_tag(
        self, element: _Element, hides: bool, attributes: int, start: int, end: int
    ) -> None:
        """Take in a tag that stands alone, or is that of a page."""
        role, scope, border, _ = element
        if role == _RULE:
            self.make_room(role, scope, start, end)
        if role <= _RULE:
            self.calls.append(("open_block", start, end, border))
        elif hides:
            return
        elif role == _LINE_BREAK:
            name = "line_end" if self.pres else "line_break"
            self.calls.append((name, start, end, None))
        elif role == _CONTROL:
            self.calls.append(("space", start, end, None))
        elif role == _IMAGE:
            for name, value_start, value_end in self.attributes(attributes, end):
                if name == "alt" and value_end > value_start:
                    self.calls.append(("space", start, value_start, None))
                    self.text(value_start, value_end)
                    self.calls.append(("space", value_end, end, None))
                    return


class _Writer:
    """Writes the text, its segments and its blocks.

    What parts two texts is written when the second one comes, so that nothing is parted from
    nothing.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        #: The names of characters, once one is asked for.
        self.names: dict[str, str] | None = None
        self.parts: list[str] = []
        self.length = 0
        self.segments: list[Segment] = []
        self.segment_at, self.segment_start, self.segment_end = -1, 0, 0
        #: Where a copy goes on in the source.
        self.copied_to = -1
        self.blocks: list[Block] = []
        # The block that is being written; its level is None if there is none yet.
        self.block_level: int | None = None
        self.block_start, self.block_rank, self.block_title = 0, 0, ""
        self.block_header = (0, 0)
        # What comes before the next text, and the markup or blanks that it stands for: a gap, a
        # block of some level, separators of cells; or else a blank.
        self.waits = True
        self.gap, self.gap_source = "", (0, 0)
        self.level = BLOCK
        self.line_breaks = 0
        self.cells, self.cell_source = 0, (0, 0)
        self.blank: tuple[int, int] | None = None
        #: Whether no line ends here: in a heading, a caption or a row.
        self.is_line = False
        self.rank = 0
        self.title_from = -1
        self.lists = 0
        # The row of a table of data that is being written.
        self.table: _Table | None = None
        self.row_start = -1
        self.row_cells = 0
        self.is_in_head = self.is_of_headers = False
        # In a pre: what stands in its first line, as long as that is blank; how many lines ended
        # behind the last text, where the last one begins, and whether a block is due there.
        self.indent: list[tuple[str, int, int]] = []
        self.line_ends = 0
        self.line_start = 0
        self.line_is_due = False

    def mapped(self) -> Mapped:
        self.end_heading(len(self.source), len(self.source))
        self.end_block(self.length)
        if self.segment_at >= 0:
            self.segments.append(Segment(self.segment_at, self.segment_start, self.segment_end))
        return Mapped("".join(self.parts), self.blocks, self.segments)

    # Texts

    def text(self, start: int, end: int, has_references: bool) -> None:
        """Write a text whose blanks collapse."""
        special = _SPECIAL if has_references else _RUN
        match = special.search(self.source, start, end)
        while match:
            first, last = match.span()
            if first > start:
                self.words(start, first)
            start = last
            character = self.source[first]
            if character == "&":
                decoded, start = self.referenced(first, last)
                if decoded in _BLANKS:
                    self.space(first, start)
                elif decoded != _SOFT_HYPHEN:
                    self.put(decoded, first, start)
            elif character != _SOFT_HYPHEN:
                self.space(first, last)
            match = special.search(self.source, last, end)
        if start < end:
            self.words(start, end)

    def words(self, start: int, end: int) -> None:
        """Write words with single blanks between."""
        text = self.source[start:end]
        words = text.strip(_BLANKS)
        if not words:
            self.space(start, end)
            return
        last = end
        if len(words) < len(text):
            if text[0] in _BLANKS:
                self.space(start, start + 1)
                start += 1
            last = start + len(words)
        self.put(words.replace("\n", " "), start, last)
        if last < end:
            self.space(last, end)

    def put(self, text: str, start: int, end: int) -> None:
        """Write a text that stands for source[start:end]; blanks of any kind begin no line."""
        if self.waits:
            visible = text.lstrip()
            if not visible:
                return
            if len(text) == end - start:
                start = end - len(visible)
            self.part()
            text = visible
        elif self.blank:
            first, last = self.blank
            self.blank = None
            if last == start and last - first == 1 and len(text) == end - start:
                text = " " + text
                start = first
            else:
                self.add(" ", first, last)
        self.add(text, start, end)

    def lines(self, start: int, end: int, has_references: bool) -> None:
        """Write a text that stays as it is."""
        source = self.source
        special = _SPECIAL_IN_PRE if has_references else _LINE_END
        if self.rank:
            self.text(start, end, has_references)
            return
        for match in special.finditer(source, start, end):
            first, last = match.span()
            if source[first] != "&":
                self.line(source[start:last], start, last)
                start = last
                continue
            if first > start:
                self.line(source[start:first], start, first)
            decoded, start = self.referenced(first, last)
            self.line(decoded, first, start)
        if start < end:
            self.line(source[start:end], start, end)

    def line(self, text: str, start: int, end: int) -> None:
        """Write a line of a pre, or a part of one."""
        is_blank = text.isspace()
        if self.waits:
            if is_blank:
                # Lines before the first that can be seen are left out.
                if len(self.indent) < _TURNS:
                    self.indent.append((text, start, end))
                if text[-1] in "\r\n":
                    self.indent.clear()
                return
            self.part()
            for part in self.indent:
                self.add(*part)
            self.indent.clear()
        elif self.line_is_due and not is_blank:
            self.begin(ROW, self.line_start)
        elif self.blank:
            self.add(" ", *self.blank)
        self.blank = None
        self.line_is_due = self.line_is_due and is_blank
        self.add(text, start, end)
        if text[-1] in "\r\n":
            self.line_ends = self.line_ends + 1 if is_blank else 1
            self.line_start = self.length
            self.line_is_due = not self.is_line
        elif not is_blank:
            self.line_ends = 0

    def line_end(self, start: int, end: int, _: None = None) -> None:
        """A line ends in a pre."""
        if self.rank:
            self.space(start, end)
        else:
            self.line("\n", start, end)

    def referenced(self, first: int, last: int) -> tuple[str, int]:
        """What a character reference stands for, and where it ends; itself if for nothing."""
        reference = self.source[first:last]
        if reference[1] == "#":
            return _numbered(reference), last
        if self.names is None:
            from html.entities import html5

            self.names = html5
        decoded = self.names.get(reference[1:])
        if decoded:
            return decoded, last
        # Some names of up to six letters need no semicolon, not even before a letter.
        for size in range(min(7, len(reference) - 1), 2, -1):
            decoded = self.names.get(reference[1:size])
            if decoded:
                return decoded, first + size
        return reference, last

    def space(self, start: int, end: int, _: None = None) -> None:
        """A blank, if there is none yet."""
        if self.blank is None:
            self.blank = start, end

    def part(self) -> None:
        """Write what comes before the next text."""
        gap = self.gap[self.line_ends :]
        if gap and self.parts:
            self.add(gap, *self.gap_source)
        begins = self.level >= 0
        if self.rank and self.title_from < 0:
            self.begin(HEADING, self.length, self.rank)
            self.title_from = len(self.parts)
        elif begins:
            self.begin(self.level, self.length, header=self.header())
        if self.cells:
            separators = " | " * self.cells
            self.add(separators[1:] if begins else separators, *self.cell_source)
        self.waits = self.line_is_due = False
        self.gap, self.level, self.line_breaks, self.cells = "", -1, 0, 0
        self.blank = None
        self.line_ends = 0

    def add(self, text: str, start: int, end: int) -> None:
        """Write a text that stands for source[start:end]."""
        size = len(text)
        if size != end - start or start != self.copied_to:
            if self.segment_at >= 0:
                self.segments.append(Segment(self.segment_at, self.segment_start, self.segment_end))
            self.segment_at, self.segment_start = self.length, start
        self.segment_end = end
        self.copied_to = end if size == end - start else -1
        self.parts.append(text)
        self.length += size

    # Blocks

    def begin(self, level: int, at: int, rank: int = 0, header: tuple[int, int] = (0, 0)) -> None:
        """Begin a block where the one before ends."""
        self.end_block(at)
        self.block_level, self.block_start, self.block_rank = level, at, rank
        self.block_title, self.block_header = "", header

    def end_block(self, at: int) -> None:
        if self.block_level is not None:
            self.blocks.append(
                Block(
                    self.block_level,
                    self.block_start,
                    at,
                    self.block_rank,
                    self.block_title,
                    (),
                    self.block_header,
                )
            )

    def request(self, gap: str, level: int, start: int, end: int) -> None:
        """The next text begins a block."""
        if self.is_line:
            self.space(start, end)
            return
        self.waits = True
        if len(gap) > len(self.gap):
            self.gap, self.gap_source = gap, (start, end)
        if level > self.level:
            self.level = level

    def close_block(self, start: int, end: int, border: tuple[str, int]) -> None:
        gap, level = border
        if self.lists:
            gap, level = "\n", ROW
        self.request(gap, level, start, end)

    def open_block(self, start: int, end: int, border: tuple[str, int]) -> None:
        if self.rank:
            if self.title_from < 0:
                # What begins in a heading without text yet is a part of it.
                return
            self.end_heading(start, end)
        self.close_block(start, end, border)

    def line_break(self, start: int, end: int, _: None) -> None:
        """A line ends; two line ends in a row end a paragraph."""
        self.line_breaks += 1
        if self.line_breaks == 2:
            self.close_block(start, end, _APART)
        else:
            self.request("\n", -1, start, end)

    def heading(self, start: int, end: int, what: tuple[int, _Table | None]) -> None:
        rank, table = what
        self.end_heading(start, end)
        self.close_block(start, end, _APART)
        if table is None or not table.is_data():
            self.rank, self.title_from = rank, -1
            self.is_line = True

    def end_heading(self, start: int, end: int, _: None = None) -> None:
        if not self.rank:
            return
        self.rank = 0
        self.is_line = False
        if self.title_from >= 0:
            self.block_title = one_line(
                "".join(self.parts[self.title_from : self.title_from + 4 * TITLE])
            )
            self.close_block(start, end, _APART)

    def start_list(self, start: int, end: int, _: None) -> None:
        self.open_block(start, end, _APART)
        self.lists += 1

    def end_list(self, start: int, end: int, _: None) -> None:
        self.lists -= 1

    def item(self, start: int, end: int, _: None) -> None:
        self.open_block(start, end, _LINES)
        if self.lists <= 1:
            self.request("\n", ITEM, start, end)

    # Tables of data

    def start_table(self, start: int, end: int, table: _Table) -> None:
        self.open_block(start, end, _APART)
        if table.is_data():
            self.table = table

    def end_table(self, start: int, end: int, table: _Table) -> None:
        if table.is_data():
            self.end_row(table)
            self.table = None
            self.is_line = False

    def caption(self, start: int, end: int, table: _Table) -> None:
        self.open_block(start, end, _LINES)
        self.is_line = table.is_data()

    def end_caption(self, start: int, end: int, table: _Table) -> None:
        if table.is_data():
            self.is_line = False

    def row(self, start: int, end: int, what: tuple[_Table, bool]) -> None:
        table, is_in_head = what
        if not table.is_data():
            self.open_block(start, end, _LINES)
            return
        self.end_row(table)
        self.is_line = False
        self.request("\n", ROW, start, end)
        self.is_line = True
        self.is_in_head = is_in_head

    def cell(self, start: int, end: int, what: tuple[_Table, bool]) -> None:
        table, is_header = what
        if not table.is_data():
            self.open_block(start, end, _LINES)
            return
        self.blank = None if self.row_cells else (start, end)
        self.is_of_headers = is_header and (self.is_of_headers or not self.row_cells)
        if self.row_cells:
            self.waits = True
            self.cells += 1
            self.cell_source = start, end
        self.row_cells += 1

    def end_row(self, table: _Table) -> None:
        """The first row with a text says whether there is a header."""
        if self.row_start >= 0 and table.header_start < 0 and table.header_end < 0:
            if self.is_in_head or self.is_of_headers:
                table.header_start = self.row_start
            else:
                table.header_end = self.row_start
        self.row_start, self.row_cells, self.cells = -1, 0, 0

    def header(self) -> tuple[int, int]:
        """The header of a block that begins: that of its table if it is a row behind it."""
        table = self.table
        if table is None or not self.row_cells:
            return 0, 0
        self.row_start = self.length
        if table.header_start < 0 or self.is_in_head:
            return 0, 0
        if table.header_end < 0:
            table.header_end = self.length
        return table.header_start, table.header_end


def _numbered(reference: str) -> str:
    """What a reference by a number stands for (section 13.2.5.80)."""
    digits = reference[2:].rstrip(";")
    base = 10
    if digits[0] in "xX":
        digits, base = digits[1:], 16
    digits = digits.lstrip("0")
    # More digits are out of range, and int() takes long for many.
    code = int(digits, base) if 0 < len(digits) < 8 else 0
    if 0x80 <= code < 0xA0:
        return bytes((code,)).decode("cp1252", "replace")
    if code == 0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return "\ufffd"
    return chr(code)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern that matches everywhere ends."""
    match = pattern.match(text, at)
    return match.end() if match else at
