"""What MDX adds to Markdown: parts of a program, whose lines decide nothing.

Hidden are `import` and `export` statements that begin a block, up to the blank line behind them
(one inside of brackets or a template does not end them), and comments in braces that are a block.
Tags and expressions in braces that begin a block and go over several lines are blocks of lines, so
that no `#` or `---` in them makes a heading. Their ends are told by quotes, brackets and comments;
a regular expression is not told from a division. There is no indented code.
"""

from __future__ import annotations

import re

from ..blocks import BLOCK, HIDDEN, ROW
from .markdown import DEFINED, HTML, LINE, NONE, Reader

#: Ends are looked for in so many characters. Once there is none, what follows is no MDX.
_REACH = 1 << 16

#: A statement is group 1, what opens a tag or an expression is group 2.
_BEGIN = re.compile(
    r"""(import[ \t]*(?:["'{*]|[\w$]+[ \t]*(?:,|[ \t]from[ \t]))"""
    r"""|export[ \t]+(?:[{*]|(?:default|const|let|var|class|function|async)\b))"""
    r"""|[ \t]*([{]|<(?=[A-Za-z_$/>]))"""
)
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n?|\n))*")
_LINE_END = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
_SPACE = re.compile(r"\s*")

#: What changes the state of a program, by what it stands in. The end of a line before a blank one
#: ends a statement.
_IN_PROGRAM = re.compile(r"""//[^\r\n]*|/\*|["'`{}()\[\]]|(?:\r\n?|\n)(?=[ \t]*[\r\n])""")
_IN_TAG = re.compile(r"""["'{<>]""")
_IN_TEMPLATE = re.compile(r"`|\$\{|\\")
_IN_STRING = re.compile(r"""\\(?:\r\n|[\s\S])|["'\r\n]""")
_PAIRS = ("{}", "()", "[]", "<>", "``")


class MdxReader(Reader):
    """A reader of Markdown that takes parts of a program where a block may begin."""

    margin = 1 << 30

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.is_mdx = True

    def read(self, at: int) -> int:
        end = 0
        if self.is_mdx and self.leaf in (NONE, DEFINED) and not self.containers:
            begin = _BEGIN.match(self.text, at)
            if begin:
                end = self.read_program(at, begin)
        return end or super().read(at)

    def read_program(self, start: int, begin: re.Match[str]) -> int:
        """The end of a statement, a comment, or a tag or expression of several lines; 0 if what
        begins is none of them."""
        text = self.text
        mark = begin.group(2) or ""
        inside = begin.end() if mark else start
        end = _end_of_program(text, inside, mark)
        if end < 0:
            self.is_mdx = False
            return 0
        if not mark or (mark == "{" and _is_comment(text, inside, end)):
            lines = _BLANK_LINES.match(text, end)
            self.begin(HIDDEN, start, lines.end() if lines else end)
            self.leaf = NONE
            return self.block_end
        if "\n" not in text[start:end] and "\r" not in text[start:end]:
            return 0
        return self.read_rows(start, end, HTML if mark == "<" else NONE)

    def read_rows(self, start: int, end: int, leaf: int) -> int:
        """The lines of a tag or an expression; text behind a tag goes on up to a blank line."""
        level = BLOCK
        for line in LINE.finditer(self.text, start):
            if line.start() >= end:
                break
            if line.group().isspace():
                self.block_end = line.end()
            else:
                self.begin(level, *line.span())
                level = ROW
        self.leaf = leaf
        self.html_ends = ()
        return self.block_end


def _is_comment(text: str, at: int, end: int) -> bool:
    """Whether an expression is nothing but comments, and nothing follows it in its line."""
    if not _LINE_END.match(text, end):
        return False
    has_comment = False
    while True:
        space = _SPACE.match(text, at, end)
        at = space.end() if space else at
        if not text.startswith("/*", at, end):
            return has_comment and at == end - 1
        has_comment = True
        at = text.find("*/", at + 2, end) + 2


def _end_of_program(text: str, at: int, mark: str) -> int:
    """The end of a tag (mark `<`) or expression (`{`) that was opened before an offset, or of the
    statement that begins there; -1 if it has none in reach."""
    limit = min(len(text), at + _REACH)
    stack = [mark]
    # Up to here no quote begins a string: an apostrophe was found to be none.
    unquoted = at
    while True:
        inside = stack[-1]
        pattern = _IN_TAG if inside == "<" else _IN_TEMPLATE if inside == "`" else _IN_PROGRAM
        match = pattern.search(text, at, limit)
        if match is None:
            return limit if stack == [""] and limit == len(text) else -1
        token, at = match.group(), match.end()
        if token[0] in "\r\n":
            if stack == [""]:
                return at
        elif token == "/*":
            at = text.find("*/", at, limit) + 2
            if at < 2:
                return -1
        elif token in "\"'":
            if inside == "<":
                at = text.find(token, at, limit) + 1
                if at < 1:
                    return -1
            elif at > unquoted:
                end, is_closed = _end_of_string(text, at, limit, token)
                if is_closed:
                    at = end
                else:
                    unquoted = end
        elif token == "\\":
            at += 1
        elif inside + token in _PAIRS:
            stack.pop()
            if not stack:
                return at
        elif token == "<":
            return -1
        elif token in ("{", "(", "[", "`", "${"):
            stack.append(token[-1])


def _end_of_string(text: str, at: int, limit: int, quote: str) -> tuple[int, bool]:
    """The end of a string behind its opening quote, or of the line, and whether it is closed."""
    for match in _IN_STRING.finditer(text, at, limit):
        if match.group() == quote:
            return match.end(), True
        if match.group() in "\r\n":
            return match.start(), False
    return limit, False
