"""Cuts source code into the tokens that its structure hangs on.

These are begins of lines, brackets, what ends a statement, comments and strings; what stands
between them is left to the reader. A Syntax says how a language writes these things.

What is never closed is looked for once. A string that cannot hold a line end then ends with its
line; any other string, and a comment, opens nothing, and neither does its kind from there on.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from typing import Callable, NamedTuple, Union

#: Kinds of tokens. Of the first four, those with an odd number have a blank line above. A PAIR is
#: two brackets with no token between them; RAW are the lines of what is shown but not read.
LINE, PARAGRAPH, RAW_LINE, RAW_PARAGRAPH = range(4)
OPEN, CLOSE, PAIR, END, STRING, COMMENT, DIRECTIVE, RAW, WORD = range(4, 13)

#: The kind, and the span. That of a begin of a line is its indentation.
Token = tuple[int, int, int]
#: Yields ticks; returns where something ends, or -1 if it does not.
End = Generator[None, None, int]

#: So much is searched in one go, and lexed before a tick.
WINDOW = 1 << 15
#: So much is searched for a sign that is not a pattern.
_SEARCHED = 1 << 20
#: The text before a sign is looked for so far back.
_BEFORE = 200
#: After so many raw strings without an end no other is looked for.
_LOST = 8

_LINE_END = re.compile(r"[\r\n]")
_BLANKS = re.compile(r"\s*")
#: Line ends and blank lines, and the indentation behind them.
_LINE_BEGIN = re.compile(r"(\s*[\r\n])[^\S\r\n]*")
_DIRECTIVE_STOP = re.compile(r"[\r\n\\/]")
_CODE_BEGIN = re.compile(r"<\?(?:php\b|=|(?!xml))", re.IGNORECASE)
_DATA_END = "\n\\."
_HASH = re.compile("#")
_TAKEN_OUT = re.compile(r"#[ \t]*if[ \t]+(?:0|false)\b")
_BRANCH = re.compile(r"[ \t]*(if|elif|else|endif)")
_BRANCHES = "#if"


class Quote(NamedTuple):
    """How a kind of strings is written.

    escape: a backslash takes the next character with it. lines: it may hold line ends. doubled: two
    closings stand for one. holes: what opens and what closes code inside of it.
    """

    opening: str
    closing: str
    escape: bool = True
    lines: bool = False
    doubled: bool = False
    holes: tuple[tuple[str, str], ...] = ()


class Raw(NamedTuple):
    """A string whose text begins at `start` and ends with the next closing, whatever is in it.

    If is_shown, each of its lines is a token.
    """

    start: int
    closing: str
    is_shown: bool = False


class Heredoc(NamedTuple):
    """A string in the lines below, up to one that holds its tag: indented if that may be, and with
    more text behind if that may be."""

    tag: str
    is_indented: bool
    is_followed: bool = False


#: What stands at a sign: a string that is still to be read, the end of one, or nothing special.
Opened = Union[Quote, Raw, int, None]
Opener = Callable[["Lexer", int], Opened]


class Syntax(NamedTuple):
    """How a language writes what is a token; patterns are strings, compiled where they are used.

    openers: by the sign that a string begins with, what finds out which it is. comment: how a
    comment begins, and signs: the characters it begins with. block: what opens and closes a comment
    of several lines. pairs: brackets that may be a PAIR. directive: how a line for a preprocessor
    begins. words: words that are tokens. hides: a backslash outside of strings takes the next
    character with it. is_embedded: only what stands in <?php ?> is code. line_block: lines that
    open and close a comment. rest: a line behind which nothing is code.
    """

    openers: Mapping[str, Opener]
    comment: str = r"//|/\*"
    signs: str = "/"
    block: tuple[str, str] = ("/*", "*/")
    is_nested: bool = False
    brackets: str = "()[]{}"
    pairs: str = "()[]"
    directive: str = ""
    words: str = ""
    hides: bool = False
    is_embedded: bool = False
    line_block: tuple[str, str] = ("", "")
    rest: str = ""


class _Hole:
    """Code inside of a string, up to a closing that is not in brackets of its own."""

    __slots__ = ("closing", "depth", "opening")

    def __init__(self, opening: str, closing: str) -> None:
        self.opening = opening[-1]
        self.closing = closing
        self.depth = 0


class Lexer:
    """Reads one text. floor is the end of the last token, code_end that of what was last seen and
    is no comment."""

    def __init__(self, text: str, syntax: Syntax, start: int) -> None:
        self.text = text
        self.floor = self.code_end = self.start = start
        #: Heredocs whose lines are still to come.
        self.heredocs: list[Heredoc] = []
        #: The lines below this one, up to a line `\.`, are data.
        self.is_before_data = False
        #: Openings that open nothing any more.
        self.unclosed: set[str] = set()
        #: Up to here no string ends that an opener has looked for in one line.
        self.closed_until = 0
        self.comment = re.compile(syntax.comment)
        self._syntax = syntax
        self._lost = 0
        self._simple = dict(zip(syntax.brackets, (OPEN, CLOSE) * 4))
        self._simple[";"] = END
        signs = {*self._simple, *syntax.openers, *syntax.signs, *"\r\n"}
        signs |= set("\\" * syntax.hides + "?" * syntax.is_embedded)
        stops = re.escape("".join(sorted(signs)))
        #: What may be a pair, by its first sign.
        self._pairs = {
            opening: re.compile(rf"{re.escape(opening)}[^{stops}]{{0,200}}{re.escape(closing)}")
            for opening, closing in zip(syntax.pairs[::2], syntax.pairs[1::2])
        }
        stop = f"[{stops}]"
        if syntax.words:
            stop += rf"|\b(?:{syntax.words})\b"
        self._stop = re.compile(stop)
        self._comment_end = re.compile(r"[\r\n]|\?>") if syntax.is_embedded else _LINE_END
        #: How the lines begin that _special_line takes.
        special = syntax.directive or "|".join(filter(None, (syntax.line_block[0], syntax.rest)))
        self._special = re.compile(special or r"\Z(?!)")
        self._patterns: dict[Quote, tuple[re.Pattern[str], re.Pattern[str]]] = {}

    def before(self, at: int) -> str:
        """The last line of the code before a place, without blanks at its end; '' if none is near.
        It may begin inside a word."""
        text = self.text
        gap = text[max(self.floor, at - _BEFORE) : at].rstrip()
        if gap:
            return gap
        return text[max(self.start, self.code_end - _BEFORE) : self.code_end]

    def tokens(self) -> Iterator[Token | None]:
        """Yield the tokens in order, and None as ticks between."""
        text, size = self.text, len(self.text)
        search, simple, openers = self._stop.search, self._simple, self._syntax.openers
        signs, pairs, is_special = self._syntax.signs, self._pairs, self._special.match
        at = yield from self._first_line()
        due = at + WINDOW
        while at < size:
            if at >= due:
                due = at + WINDOW
                yield None
            match = search(text, at, at + WINDOW)
            if match is None:
                at += WINDOW
                continue
            start = match.start()
            sign = text[start]
            kind = simple.get(sign)
            if kind is not None:
                at = start + 1
                if sign in pairs and (pair := pairs[sign].match(text, start)):
                    kind, at = PAIR, pair.end()
                yield kind, start, at
                self.floor = self.code_end = at
            elif sign in "\r\n":
                if start > self.floor:
                    self._mark(start)
                match = _LINE_BEGIN.match(text, start, start + WINDOW)
                at = match.end() if match else size
                if self.heredocs or self.is_before_data or at >= start + WINDOW or not match:
                    at = yield from self._line(start)
                    continue
                line = match.end(1)
                yield (LINE if line - start == 1 else self._kind_of(start, line)), line, at
                self.floor = at
                if is_special(text, at):
                    at = yield from self._special_line(line, at)
            elif sign in signs and (begin := self.comment.match(text, start)):
                end = yield from self._end_of_comment(begin)
                if end < 0:
                    at = start + 1
                    continue
                if start > self.floor:
                    self._mark(start)
                yield COMMENT, start, end
                at = self.floor = end
            elif sign in openers:
                opened = openers[sign](self, start)
                at = self._end_of_short(opened, start) if isinstance(opened, Quote) else -1
                if at < 0:
                    at = yield from self._string(start, opened)
                    continue
                yield STRING, start, at
                self.floor = self.code_end = at
            elif sign == "\\":
                at = start + 2
            elif sign != "?":
                at = match.end()
                yield WORD, start, at
                self.floor = self.code_end = at
            elif text.startswith("?>", start):
                at = yield from self._foreign(start)
            else:
                at = start + 1

    def _mark(self, start: int) -> None:
        """What stands before a comment or a line end is code."""
        if start > self.floor:
            gap = self.text[self.floor : start].rstrip()
            if gap:
                self.code_end = self.floor + len(gap)

    def _search(
        self, pattern: re.Pattern[str], at: int, end: int
    ) -> Generator[None, None, re.Match[str] | None]:
        """The first match, none of which is longer than two characters."""
        while at < end:
            match = pattern.search(self.text, at, min(end, at + WINDOW))
            if match:
                return match
            at += WINDOW - 1
            if at < end:
                yield None
        return None

    def _find(self, sign: str, at: int) -> End:
        """The first place of a sign."""
        size = len(self.text)
        while at < size:
            end = min(size, at + _SEARCHED)
            found = self.text.find(sign, at, end)
            if found >= 0:
                return found
            at = size if end == size else end - len(sign) + 1
            yield None
        return -1

    def _end_of(self, opening: str, closing: str, at: int) -> End:
        """The end of the next closing, which is looked for in vain but once."""
        if opening in self.unclosed:
            return -1
        found = yield from self._find(closing, at)
        if found < 0:
            self.unclosed.add(opening)
            return -1
        return found + len(closing)

    def _first_line(self) -> Generator[Token | None, None, int]:
        line, visible = yield from self._blanks(self.start)
        yield PARAGRAPH, line, visible
        self.floor = self.code_end = visible
        syntax = self._syntax
        if syntax.is_embedded and (yield from self._search(_CODE_BEGIN, visible, len(self.text))):
            return (yield from self._foreign(visible))
        return (yield from self._special_line(line, visible))

    def _blanks(self, at: int) -> Generator[None, None, tuple[int, int]]:
        """Where the line begins that holds the next visible character, and where this is."""
        text, end = self.text, at
        while True:
            begin, end = end, _BLANKS.match(text, end, end + WINDOW).end()  # type: ignore[union-attr]
            if end - begin < WINDOW:
                return max(text.rfind("\n", at, end), text.rfind("\r", at, end), at - 1) + 1, end
            yield None

    def _line(self, start: int) -> Generator[Token | None, None, int]:
        """A line end with what has to be taken in before the next line, or very many blanks."""
        if self.heredocs:
            end = yield from self._end_of_heredocs(start)
            if end > start:
                yield STRING, start, end
                self.floor = self.code_end = end
                return end
        if self.is_before_data:
            self.is_before_data = False
            end = yield from self._end_of(_DATA_END, _DATA_END, start)
            if end >= 0:
                return (yield from self._raw_lines(start, end))
        line, visible = yield from self._blanks(start)
        yield self._kind_of(start, line), line, visible
        self.floor = visible
        return (yield from self._special_line(line, visible))

    def _kind_of(self, start: int, line: int) -> int:
        """Whether more than a line end stands between two places."""
        return LINE if self.text[start:line] in ("\r\n", "\n", "\r") else PARAGRAPH

    def _special_line(self, line: int, visible: int) -> Generator[Token | None, None, int]:
        """Take a line that is told by its begin; return where to go on."""
        text, syntax = self.text, self._syntax
        if syntax.directive and self._special.match(text, visible):
            end = yield from self._end_of_directive(visible)
            yield DIRECTIVE, visible, end
            self.floor = end
            if _TAKEN_OUT.match(text, visible):
                out = yield from self._end_of_branch(end)
                return end if out < 0 else (yield from self._raw_lines(end, out))
            return end
        opening, closing = syntax.line_block
        if opening and line == visible and text.startswith(opening, line):
            end = yield from self._end_of(opening, "\n" + closing, line)
            if end >= 0:
                match = yield from self._search(_LINE_END, end, len(text))
                end = match.start() if match else len(text)
                yield COMMENT, line, end
                self.floor = end
                return end
        if syntax.rest and line == visible and text.startswith(syntax.rest, line):
            return (yield from self._raw_lines(line, len(text)))
        return visible

    def _end_of_directive(self, at: int) -> End:
        """Line ends behind a backslash and those inside of a comment do not end a directive."""
        text, size = self.text, len(self.text)
        while True:
            match = yield from self._search(_DIRECTIVE_STOP, at, size)
            if match is None:
                return size
            at = match.start()
            if text[at] in "\r\n":
                return at
            if text[at] == "\\":
                at += 3 if text.startswith("\r\n", at + 1) else 2
                continue
            begin = self.comment.match(text, at) if self._syntax.signs == "/" else None
            end = (yield from self._end_of_comment(begin)) if begin else -1
            at = end if end >= 0 else at + 1

    def _end_of_branch(self, at: int) -> End:
        """The end of the last line before the directive that ends what `#if` begins."""
        text, depth = self.text, 0
        if _BRANCHES in self.unclosed:
            return -1
        while match := (yield from self._search(_HASH, at, len(text))):
            at = match.end()
            begin = max(0, match.start() - _BEFORE)
            before = text[begin : match.start()].rstrip(" \t")
            branch = _BRANCH.match(text, at) if before.endswith(("\n", "\r")) else None
            if branch is None:
                continue
            if depth == 0 and branch.group(1) != "if":
                return begin + len(before) - (2 if before.endswith("\r\n") else 1)
            depth += {"if": 1, "endif": -1}.get(branch.group(1), 0)
        self.unclosed.add(_BRANCHES)
        return -1

    def _end_of_comment(self, begin: re.Match[str]) -> End:
        text, at = self.text, begin.end()
        opening, closing = self._syntax.block
        if begin.group() != opening:
            match = self._comment_end.search(text, at, at + WINDOW)
            if match is None:
                match = yield from self._search(self._comment_end, at, len(text))
            return match.start() if match else len(text)
        if not self._syntax.is_nested:
            return (yield from self._end_of(opening, closing, at))
        if opening in self.unclosed:
            return -1
        border = re.compile(rf"{re.escape(opening)}|{re.escape(closing)}")
        depth = 1
        while match := (yield from self._search(border, at, len(text))):
            at = match.end()
            depth += 1 if match.group() == opening else -1
            if depth == 0:
                return at
        self.unclosed.add(opening)
        return -1

    def _string(self, start: int, opened: Opened) -> Generator[Token | None, None, int]:
        """What an opener found; return where to go on."""
        if isinstance(opened, Quote):
            end = yield from self._end_of_quote(opened, start)
        elif isinstance(opened, Raw):
            end = yield from self._end_of_raw(opened)
            if opened.is_shown and end >= 0:
                return (yield from self._raw_lines(start, end))
        else:
            end = -1 if opened is None else opened
        if end < 0:
            return start + 1
        yield STRING, start, end
        self.floor = self.code_end = end
        return end

    def _end_of_raw(self, raw: Raw) -> End:
        if self._lost >= _LOST:
            return -1
        found = yield from self._find(raw.closing, raw.start)
        if found < 0:
            self._lost += 1
            return -1
        return found + len(raw.closing)

    def _patterns_of(self, quote: Quote) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Where to look closer inside of a string; and a whole string without such a place."""
        if quote not in self._patterns:
            stops = quote.closing[0] + "\\" * quote.escape + "\r\n" * (not quote.lines)
            stops = re.escape(stops + "".join(opening[0] for opening, _ in quote.holes))
            inner = f"[^{stops}]"
            hole, behind = (
                quote.holes[0][0][0] if quote.holes else "",
                "".join(opening[1:] for opening, _ in quote.holes),
            )
            if behind and hole != "\\":
                inner += f"|{re.escape(hole)}(?![{re.escape(behind)}])"
            opening, closing = re.escape(quote.opening), re.escape(quote.closing)
            more = re.escape(quote.closing[-1])
            self._patterns[quote] = (
                re.compile(f"[{stops}]"),
                re.compile(f"{opening}(?:{inner}){{0,200}}{closing}(?!{more})"),
            )
        return self._patterns[quote]

    def _end_of_short(self, quote: Quote, start: int) -> int:
        if quote.lines and quote.opening in self.unclosed:
            return -1
        match = self._patterns_of(quote)[1].match(self.text, start)
        return match.end() if match else -1

    def _end_of_quote(self, quote: Quote, start: int) -> End:
        """The end of a string, with the code in its holes and the strings in that."""
        text, size = self.text, len(self.text)
        if quote.lines and quote.opening in self.unclosed:
            return -1
        before = self.floor, self.code_end
        at = start + len(quote.opening)
        opened: list[Quote | _Hole] = [quote]
        #: How many of the open strings cannot hold a line end.
        narrow = int(not quote.lines)
        while opened:
            inner = opened[-1]
            is_hole = isinstance(inner, _Hole)
            stop = self._stop if isinstance(inner, _Hole) else self._patterns_of(inner)[0]
            match = yield from self._search(stop, at, size)
            if match is None:
                if narrow:
                    return size
                break
            at = match.start()
            sign = text[at]
            if sign in "\r\n" and narrow:
                while narrow:
                    last = opened.pop()
                    narrow -= isinstance(last, Quote) and not last.lines
            elif isinstance(inner, Quote):
                at, hole = _step(text, at, inner)
                if hole:
                    opened.append(hole)
                elif at < 0:
                    at = _closing_end(text, match.start(), inner)
                    narrow -= not inner.lines
                    opened.pop()
            elif sign == inner.closing and inner.depth == 0:
                opened.pop()
                at += 1
            elif sign == inner.closing:
                inner.depth -= 1
                at += 1
            elif sign == inner.opening:
                inner.depth += 1
                at += 1
            else:
                at, found = yield from self._in_hole(at, match.end(), inner)
                if found:
                    opened.append(found)
                    narrow += not found.lines
            if is_hole:
                self.floor = self.code_end = min(at, size)
        if opened:
            self.floor, self.code_end = before
            self.unclosed.add(quote.opening)
            self.heredocs.clear()
            return -1
        return at

    def _in_hole(
        self, at: int, end: int, hole: _Hole
    ) -> Generator[None, None, tuple[int, Quote | None]]:
        """Take what stands in code inside of a string: where to go on, and the string that opens
        here and is not read yet."""
        text, sign = self.text, self.text[at]
        if sign in "\r\n":
            if self.heredocs:
                return max(at + 1, (yield from self._end_of_heredocs(at))), None
            return at + 1, None
        if sign in self._syntax.signs and (begin := self.comment.match(text, at)):
            end_of_comment = yield from self._end_of_comment(begin)
            return max(at + 1, end_of_comment), None
        if sign == "\\":
            return at + 2, None
        # In the shell's "${name#'}" the apostrophe is one.
        if sign not in self._syntax.openers or (self._syntax.hides and hole.closing + sign == "}'"):
            return end, None
        opened = self._syntax.openers[sign](self, at)
        if isinstance(opened, Quote):
            short = self._end_of_short(opened, at)
            if short < 0 and not (opened.lines and opened.opening in self.unclosed):
                return at + len(opened.opening), opened
            return max(at + 1, short), None
        if isinstance(opened, Raw):
            return max(at + 1, (yield from self._end_of_raw(opened))), None
        return (at + 1 if opened is None else opened), None

    def _end_of_heredocs(self, at: int) -> End:
        """The end of the last line of the heredocs; `at`, a line end, if there is none."""
        text = self.text
        for heredoc in self.heredocs:
            found = at
            looked_at = 0
            while self._lost < _LOST:
                found = yield from self._find(heredoc.tag, found + 1)
                if found < 0:
                    self._lost += 1
                    break
                if _stands_alone(text, found, heredoc):
                    at = found + len(heredoc.tag)
                    break
                looked_at += 1
                if looked_at % 4096 == 0:
                    yield None
        self.heredocs.clear()
        return at

    def _foreign(self, at: int) -> Generator[Token | None, None, int]:
        """What is not code, up to what begins code again."""
        match = yield from self._search(_CODE_BEGIN, at, len(self.text))
        return (yield from self._raw_lines(at, match.end() if match else len(self.text)))

    def _raw_lines(self, at: int, end: int) -> Generator[Token | None, None, int]:
        """Show text[at:end] line by line; return its end."""
        text = self.text
        due = at + WINDOW
        self._mark(at)
        while at < end:
            if at >= due:
                due = at + WINDOW
                yield None
            match = _LINE_END.search(text, at, min(end, at + WINDOW))
            stop = match.start() if match else min(end, at + WINDOW)
            if stop > at:
                yield RAW, at, stop
                self.floor = at
                self._mark(stop)
            at = self.floor = stop
            if match:
                line, visible = yield from self._blanks(stop)
                if visible > end:
                    line, visible = min(line, end), end
                yield RAW_LINE + self._kind_of(stop, line), line, visible
                at = self.floor = visible
        return end


def _step(text: str, at: int, quote: Quote) -> tuple[int, _Hole | None]:
    """Look at a sign in a string: where to go on, or -1 if it closes; and the hole that opens."""
    for opening, closing in quote.holes:
        if text.startswith(opening, at):
            if opening == "{" and text.startswith("{{", at):
                return at + 2, None
            return at + len(opening), _Hole(opening, closing)
    if quote.escape and text[at] == "\\":
        return at + (3 if text.startswith("\r\n", at + 1) else 2), None
    if not text.startswith(quote.closing, at):
        return at + 1, None
    if quote.doubled and text.startswith(quote.closing, at + 1):
        return at + 2, None
    return -1, None


_QUOTES = re.compile('"*')


def _closing_end(text: str, at: int, quote: Quote) -> int:
    """A string in three quotes may end with more of them, the last three of which close it."""
    at += len(quote.closing)
    if quote.closing == '"""':
        return _QUOTES.match(text, at).end()  # type: ignore[union-attr]
    return at


def _stands_alone(text: str, at: int, heredoc: Heredoc) -> bool:
    """Whether the tag of a heredoc at a place ends it."""
    indent = text[max(0, at - _BEFORE) : at]
    if heredoc.is_indented:
        indent = indent.rstrip(" \t")
    behind = text[at + len(heredoc.tag) : at + len(heredoc.tag) + 1]
    is_last = behind == "" or behind in "\r\n"
    if heredoc.is_followed:
        is_last = not (behind.isalnum() or behind == "_")
    return indent[-1:] in ("\n", "\r") and is_last
