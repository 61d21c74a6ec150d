"""The structure of Python source: modules, classes, functions and their statements.

One lexer reads every text, whether it parses or not and whatever version it is written for. It
knows strings (those inside of formatted strings too), comments, brackets and continued lines, hence
where logical lines begin; their indentation gives the rest. In a text that parses, the definitions
and their lines are those of `ast`.

A function or class is a scope if it stands in a module or class, be it behind an `if` or `try`; one
inside a function is text of the function. A scope begins with its first decorator, or with the
comment lines right above. Nothing is hidden.

In a text that does not parse, these are guesses:

* A line is taken for a definition if it begins with `def`, `async def` or `class` and a name, and
  then comes `(`, `[`, `:` or the line's end. A name may have parts in double braces.
* A line inside brackets that begins with a keyword which only statements begin with shows that the
  brackets were never closed. Decorators right above it, of one line each, go with it.
* A string that is not in triple quotes ends with its line, and triple quotes that are never closed
  begin none.
* A line that begins with what no statement begins with is read like a comment: the marker of a
  conflict, the tag of a template, the shell command of a notebook.
* A comment that is indented less than the text before it, and less than the text behind it, belongs
  to both; but not if hundreds of comments follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..blocks import BLOCK, ITEM, ROW, SCOPE, Block, Blocks, one_line

#: So many characters are looked at in one go.
_WINDOW = 1 << 16
#: After so much work the control goes back to the caller: a character counts for 1, and each of
#: those that matter for _STEP more.
_TICK = 1 << 18
_STEP = 64
#: A statement of more lines can be cut between any two of them.
_LONG = 20
#: At most so many comments wait for the statement behind them.
_WAITING = 512

_STATEMENT, _CLAUSE, _COMMENT, _DECORATOR, _FUNCTION, _CLASS, _ROW = range(7)

_NEWLINE = r"(?:\r\n?|\n)"
_INDENT = rf"[ \t\f]{{0,4096}}(?:\\{_NEWLINE}[ \t\f]{{0,4096}}){{0,20}}"
_GAP = rf"(?:[ \t\f]|\\{_NEWLINE}){{1,100}}"
_NAME = r"(?:[^\s!-/:-@\[-^`{-\x7f]|\{\{[^{}\r\n]{1,100}\}\}){1,1000}"
#: How a logical line begins: its indentation, and what tells its kind.
_BEGIN = re.compile(
    rf"(?P<indent>{_INDENT})(?:(?P<blank>{_NEWLINE}|\Z)|(?P<comment>[#<>=%!?$|&^/,:;)\]}}]|\{{%)"
    rf"|(?P<decorator>@)|(?:(?:async{_GAP})?def|(?P<class>class)){_GAP}(?P<name>{_NAME})"
    rf"(?=(?:{_GAP})?(?:[(\[:\r\n]|\Z))|(?P<clause>elif|else|except|finally)\b|)"
)
_KINDS = {
    "indent": _STATEMENT,
    "comment": _COMMENT,
    "decorator": _DECORATOR,
    "clause": _CLAUSE,
}
#: How a line begins that cannot be inside brackets, if it is not the @ of a product.
_BREAK = re.compile(
    rf"[ \t\f]{{0,4096}}(?:(@)|(?:async{_GAP}def|assert|break|class|continue|def|del|elif|except"
    r"|finally|global|import|nonlocal|pass|raise|return|try|while|with)\b)"
)
_LINE_END = re.compile(_NEWLINE)
#: How a line inside a statement begins: it may be blank, or begin with what closes the statement.
_ROW_BEGIN = re.compile(r"[ \t\f]{0,4096}(?:(?P<blank>[\r\n])|(?P<closing>[)\]}]|\"\"\"|'''))?")
_FORMATTED = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")


def _what_matters() -> dict[str, re.Pattern[str]]:
    """For what may be open: what does not matter inside, and then the character that does.

    "" is nothing, "(" a bracket of any kind, "#" a comment, "s" with its quotes a string, "f" with
    its quotes a formatted string, "{" a replacement field in it, and ":" with these quotes the
    format specification of a field. Of code, comments and short strings and brackets in one line do
    not matter; what the end of the searched text cuts off does.
    """
    signs = r"\"'()\[\]{}#\\\r\n"
    string = r"\"[^\"\\{}\r\n]+\"|'[^'\\{}\r\n]+'"
    plain = rf"[^{signs}]*(?:(?:{string})[^{signs}]*)*"
    for _ in range(2):
        plain = rf"[^{signs}]*(?:(?:{string}|[(\[{{]{plain}[)\]}}])[^{signs}]*)*"
    code = rf"{plain}(?:#[^\r\n]*(?=[\r\n]))?([{signs}])?"
    field = rf"[^{signs}:]*([{signs}:])?"
    patterns = {"": code, "(": code, "{": field, "#": r"[^\r\n]*([\r\n])?"}
    for quote in "\"'":
        for quotes, line_end in ((quote, r"\r\n"), (quote * 3, "")):
            ends = rf"{quote}\\{line_end}"
            patterns["s" + quotes] = rf"[^{ends}]*([{ends}])?"
            patterns["f" + quotes] = patterns[":" + quotes] = rf"[^{ends}{{}}]*([{ends}{{}}])?"
    return {key: re.compile(pattern) for key, pattern in patterns.items()}


_MATTERS = _what_matters()


def blocks(text: str, path: str = "", format: str = "python") -> Blocks:
    """Read a text; yield its scopes and blocks in order, and None as ticks between."""
    reader = _Reader(_module(path))
    for line in _Lexer(text).lines():
        if line is None:
            yield None
            continue
        reader.read(line)
        if reader.done:
            yield from reader.done
            reader.done.clear()
    reader.close(len(text))
    yield from reader.done


def _module(path: str) -> tuple[str, ...]:
    """The name of the module at a path, which for a package is that of its folder; () for none."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.rpartition(".")[0] or name
    if stem == "__init__":
        stem = folder.rpartition("/")[2] or stem
    title = one_line(stem)
    return (title,) if title else ()


class _Line(NamedTuple):
    """The begin of a logical line, or of a row inside a long one."""

    start: int
    column: int
    kind: int
    #: Whether a blank line is above.
    is_apart: bool
    #: What is defined here.
    name: str = ""


class _Lexer:
    """Finds the logical lines of a text (The Python Language Reference, chapter 2)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.is_apart = False
        self.open: list[str] = []  # keys of _MATTERS
        self.triple: tuple[int, int] | None = None  # depth and begin of the outermost triple quotes
        self.unclosed: set[str] = set()  # triple quotes that are never closed
        self.decorators = -1  # where decorators begin, if the brackets around are never closed
        self.decorated = 0  # what stands behind such decorators

    def lines(self) -> Iterator[_Line | None]:
        """Yield the begin of each logical line that is not blank, and None as ticks between."""
        text, size = self.text, len(self.text)
        work = 0
        while self.at < size:
            start = at = self.at
            line = self.begin()
            if line:
                yield line
            is_open = line is not None and start >= self.decorated
            while True:
                work += _STEP + self.at - at
                if work > _TICK:
                    work = 0
                    yield None
                if not is_open:
                    break
                matters = _MATTERS[self.open[-1] if self.open else ""]
                at = self.at
                match = matters.match(text, at, at + _WINDOW)
                assert match is not None, "the pattern matches any text"
                self.at = match.end()
                if match[1]:
                    is_open = self.take(match[1], self.at - 1)
                elif self.at == size:
                    is_open = self.forgets_quotes()
            # A decorator stays whole, for it waits for what it decorates.
            if line and line.kind != _DECORATOR and self.is_long(start):
                yield from self.rows(start)

    def begin(self) -> _Line | None:
        """Read the begin of a logical line; None if it is blank."""
        start = self.at
        match = _BEGIN.match(self.text, start)
        assert match is not None, "the pattern matches any text"
        self.at = match.end()
        self.decorators = -1
        sign = match.lastgroup or "indent"
        if sign == "blank" and "\\" in match["indent"]:
            # Blank, but for the backslash.
            sign, self.at = "comment", match.end("indent")
        if sign == "blank":
            self.is_apart = True
            return None
        if sign == "comment":
            self.open.append("#")
        elif sign == "decorator" and start < self.decorated:
            self.at = self.decorated
        is_apart, self.is_apart = self.is_apart, False
        column = _column(match["indent"])
        if sign == "name":
            kind = _CLASS if match["class"] else _FUNCTION
            return _Line(start, column, kind, is_apart, match["name"])
        return _Line(start, column, _KINDS[sign], is_apart)

    def take(self, character: str, at: int) -> bool:
        """Take in the next character that matters; return whether the line is still open."""
        inside = self.open[-1][0] if self.open else "("
        if inside in "({":
            return self.take_code(character, at)
        if inside == "#":
            self.open.pop()
            self.at = at
        else:
            self.take_string(character, at)
        return True

    def take_code(self, character: str, at: int) -> bool:
        if character in "\r\n":
            if self.text.startswith("\r\n", at):
                self.at = at + 2
            return bool(self.open) and not self.breaks()
        if character in "\"'":
            self.open_string(character, at)
        elif character in "([{":
            self.open.append("(")
        elif character in ")]}":
            if self.open:
                self.open.pop()
        elif character == "#":
            self.open.append("#")
        elif character == ":":
            self.open.append(":" + self.open[-2][1:])
        elif self.text.startswith("\r\n", at + 1):
            self.at = at + 3
        elif self.text.startswith(("\r", "\n"), at + 1):
            self.at = at + 2
        return True

    def open_string(self, quotes: str, at: int) -> None:
        text = self.text
        if text.startswith(quotes * 3, at):
            quotes *= 3
            self.at = at + 3
            if quotes in self.unclosed:
                return
            if self.triple is None:
                self.triple = len(self.open), self.at
        is_formatted = (
            at > 0 and text[at - 1] in "fFrRtT" and _FORMATTED.search(text, max(0, at - 2), at)
        )
        self.open.append(("f" if is_formatted else "s") + quotes)

    def take_string(self, character: str, at: int) -> None:
        text = self.text
        kind, quotes = self.open[-1][0], self.open[-1][1:]
        if character == "\\":
            self.skip_escape(kind, at + 1)
        elif character == "{":
            if kind == "f" and text.startswith("{", at + 1):
                self.at = at + 2
            else:
                self.open.append("{")
        elif character == "}":
            if kind == ":":
                del self.open[-2:]
        elif character in "\r\n":
            self.at = at
            while self.open and self.open[-1] != "(" and len(self.open[-1]) < 4:
                self.open.pop()
        elif text.startswith(quotes, at):
            self.at = at + len(quotes)
            while self.open.pop()[0] in ":{":
                pass
            if self.triple and self.triple[0] == len(self.open):
                self.triple = None

    def skip_escape(self, kind: str, at: int) -> None:
        """Go behind what a backslash takes its meaning from; braces keep theirs."""
        if self.text.startswith("\r\n", at):
            self.at = at + 2
        elif kind == "s" or not self.text.startswith(("{", "}"), at):
            self.at = at + 1

    def breaks(self) -> bool:
        """Whether a statement begins here, inside brackets that are never closed."""
        match = _BREAK.match(self.text, self.at)
        if match is None:
            self.decorators = -1
        elif match[1]:
            if self.decorators < 0:
                self.decorators = self.at
        else:
            if self.decorators >= 0:
                self.at, self.decorated = self.decorators, self.at
            self.open.clear()
            self.triple = None
            return True
        return False

    def forgets_quotes(self) -> bool:
        """At the end of the text, go back behind the triple quotes that are open, if any."""
        if self.triple is None:
            self.at = len(self.text)
            return False
        depth, self.at = self.triple
        self.unclosed.add(self.open[depth][1:])
        del self.open[depth:]
        self.triple = None
        return True

    def is_long(self, start: int) -> bool:
        """Whether many lines end from an offset to here."""
        if self.at - start <= _LONG:
            return False
        text, end = self.text, self.at
        return text.count("\n", start, end) > _LONG or text.count("\r", start, end) > _LONG

    def rows(self, start: int) -> Iterator[_Line | None]:
        """The lines behind the first of the logical line that ends here."""
        for number, end in enumerate(_LINE_END.finditer(self.text, start, self.at)):
            if number % _WAITING == 0:
                yield None
            at = end.end()
            match = _ROW_BEGIN.match(self.text, at, self.at)
            if match and match["blank"]:
                self.is_apart = True
            elif match and not match["closing"] and at < self.at:
                yield _Line(at, 0, _ROW, self.is_apart)
                self.is_apart = False
        self.is_apart = False


def _column(indent: str) -> int:
    """The width of an indentation as Python measures it: a tab goes on to a multiple of 8, a form
    feed back to 0, and of lines that are continued the first counts that is indented."""
    if not indent.strip(" "):
        return len(indent)
    for part in re.split(rf"\\{_NEWLINE}", indent):
        column = len(part.rpartition("\f")[2].expandtabs(8))
        if column:
            return column
    return 0


class _Scope:
    """An open module, class or function, and the column of its own statements (-1: none yet)."""

    __slots__ = ("body", "column", "is_function", "path")

    def __init__(self, path: tuple[str, ...], column: int, body: int, is_function: bool) -> None:
        self.path = path
        self.column = column
        self.body = body
        self.is_function = is_function


class _Reader:
    """The state between two lines: the open scopes, the block being read, and the comments and the
    decorator that wait for the statement behind them."""

    def __init__(self, module: tuple[str, ...]) -> None:
        self.done: list[Block] = []
        self.scopes = [_Scope(module, -1, 0, False)]
        self.scope: _Scope | None = None  # that of the block
        self.start = -1  # that of the block, if there is one
        self.level = BLOCK
        self.is_nested = False  # whether the statement is inside another
        self.comments: list[_Line] = []
        self.decorator: _Line | None = None

    def read(self, line: _Line) -> None:
        if line.kind == _COMMENT:
            self.read_comment(line)
        elif line.kind == _ROW:
            self.begin(line.start, ITEM if line.is_apart and not self.is_nested else ROW)
        else:
            self.read_statement(line)

    def close(self, end: int) -> None:
        """The text is at its end."""
        self.place_comments(0)
        self.place_decorator()
        self.end_block(end)

    def read_comment(self, line: _Line) -> None:
        """A comment waits for a statement, unless it goes on with the one that does."""
        if self.decorator:
            return
        if self.comments and self.comments[-1].column == line.column and not line.is_apart:
            return
        if len(self.comments) == _WAITING:
            self.place_comments(0)
        self.comments.append(line)

    def read_statement(self, line: _Line) -> None:
        start, is_apart = line.start, line.is_apart
        if self.comments and self.comments[-1].column == line.column and not is_apart:
            start, is_apart = self.comments.pop().start, True
        if self.comments:
            self.place_comments(line.column)
        if self.decorator and self.decorator.column == line.column:
            start, is_apart = self.decorator.start, self.decorator.is_apart
            self.decorator = None
        self.place_decorator()
        if line.kind == _DECORATOR:
            self.decorator = line._replace(start=start, is_apart=is_apart)
            return
        self.leave(line.column)
        is_function = line.kind == _FUNCTION
        if (is_function or line.kind == _CLASS) and not self.scopes[-1].is_function:
            self.enter(line, is_function)
            self.is_nested = False
            self.begin(start, BLOCK)
        else:
            self.begin(start, self.level_of(line.column, line.kind, is_apart))

    def place_comments(self, column: int) -> None:
        """The comments that wait belong to what they are indented into, but a statement in this
        column comes behind them."""
        for comment in self.comments:
            inner = max(column, comment.column)
            self.leave(inner)
            self.begin(comment.start, self.level_of(inner, _COMMENT, True))
        self.comments.clear()

    def place_decorator(self) -> None:
        """The decorator that waits has nothing to decorate."""
        if self.decorator:
            line, self.decorator = self.decorator, None
            self.leave(line.column)
            self.begin(line.start, self.level_of(line.column, _STATEMENT, line.is_apart))

    def leave(self, column: int) -> None:
        """Close the scopes that end before a line in this column."""
        while self.scopes[-1].column >= column:
            self.scopes.pop()

    def enter(self, line: _Line, is_function: bool) -> None:
        """Open the scope that a line defines."""
        scope = self.scopes[-1]
        if scope.body < 0:
            scope.body = line.column
        name = line.name
        if not name.isascii():
            from unicodedata import normalize

            # Names are compared in this form (The Python Language Reference, 2.3).
            name = normalize("NFKC", name)
        self.scopes.append(_Scope((*scope.path, one_line(name)), line.column, -1, is_function))

    def level_of(self, column: int, kind: int, is_apart: bool) -> int:
        """How strong the border before a statement is. Paragraphs of statements are what a scope is
        cut into first; a first statement stays with its head, and a clause with its statement."""
        scope = self.scopes[-1]
        is_first = scope.body < 0 and kind != _COMMENT
        if is_first:
            scope.body = column
        self.is_nested = column > scope.body
        if scope is not self.scope:
            return BLOCK
        if is_first or kind == _CLAUSE:
            return ROW
        if self.is_nested:
            return ITEM if is_apart else ROW
        return BLOCK if is_apart else ITEM

    def begin(self, start: int, level: int) -> None:
        """The block that is open ends, and another begins."""
        self.end_block(start)
        scope = self.scopes[-1]
        if scope is not self.scope:
            self.scope = scope
            self.done.append(Block(SCOPE, start, start, path=scope.path))
        self.start, self.level = start, level

    def end_block(self, end: int) -> None:
        if self.start >= 0:
            self.done.append(Block(self.level, self.start, end))
