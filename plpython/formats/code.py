"""The structure of source code: definitions, and the statements in them.

Reads JavaScript, TypeScript, Java, C, C++, C#, Go, Rust, PHP, Kotlin, Swift, Scala, Ruby, shell
scripts and SQL, whether they are right or not. Strings and comments are lexed, brackets counted;
the words of a statement before a brace tell what it defines. What is defined in a type, a namespace
or the module is a scope: types, functions, methods, properties with accessors of several lines,
functions that a name is assigned to, objects that are exported, and in SQL what is created. What is
defined in a function is text of the function. Comments and annotations right above belong to what
they are above. Nothing is hidden.

These are guesses:

* A line that begins like a definition, and not further to the right than the definition that is
  open, closes it if the lines of that are further to the right. So one bracket too many spoils no
  more than one definition. Statements of the module that are open are closed in any case.
* Branches of `#if` each begin with the brackets that were open before it; what `#if 0` takes out is
  no code.
* Where line ends end statements, a line further to the right goes on with the statement above, and
  so does one after or before an operator.
* In a line of more than 1,000 characters nothing is defined; it is cut behind `;` and closing
  brackets.
* In the text of a JSX element an apostrophe behind a letter opens no string. A slash opens a
  regular expression where a value is due and another slash follows in the line.
* A function around a module, `(function () {` or `define(function () {`, is not seen; nor is that
  of `describe(`, `suite(`, `$(`.
* PHP without any `<?` is code from the beginning.
* Scala without braces is read by its indentation.
* In SQL, `begin` and `case` in a routine are closed by `end`; lines that begin with `create` in the
  first column, or `go`, begin a statement though no semicolon is before; what stands below
  `copy … from stdin;` is data.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..blocks import BLOCK, ITEM, ROW, SCOPE, Block, Blocks, one_line
from .definitions import UNDECIDED, Definition, Head, words_of
from .languages import LANGUAGES, Language
from .lexing import (
    CLOSE,
    COMMENT,
    DIRECTIVE,
    END,
    OPEN,
    PAIR,
    PARAGRAPH,
    RAW_LINE,
    RAW_PARAGRAPH,
    STRING,
    WORD,
    Lexer,
)

#: A longer line is no work of hands.
_LONG_LINE = 1000
#: Stretches of a line are cut once they are so long.
_STRETCH = 500
#: A head of more characters or lines defines nothing.
_LONG_HEAD = 4000
_WAITING = 1000
#: What is nested deeper is text of what it is in.
_NESTING = 20

_LINE_END = re.compile(r"[\r\n]")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_CONDITION = re.compile(r"#\s*(if|el|end)")
#: The sign of a body that its indentation opens.
_COLUMN = "column"
#: Files that stand for their folder.
_INDEX = frozenset(("index", "mod"))


def blocks(text: str, path: str = "", format: str = "javascript") -> Blocks:
    """Read a text; yield its scopes and blocks in order, and None as ticks between."""
    language = LANGUAGES[format]
    lexer = Lexer(text, language.syntax, 1 if text.startswith("\ufeff") else 0)
    reader = _READERS.get(format, _Reader)(lexer, language, _module(path))
    take, done = reader.take, reader.done
    for token in lexer.tokens():
        if token is None:
            yield None
            continue
        take(*token)
        if done:
            yield from done
            done.clear()
    reader.finish()
    yield from done


def _module(path: str) -> tuple[str, ...]:
    """The name of the module at a path, which may be that of its folder; () for none."""
    folder, _, name = path.replace("\\", "/").rpartition("/")
    stem = name.rpartition(".")[0] or name
    if stem in _INDEX:
        stem = folder.rpartition("/")[2] or stem
    title = one_line(stem)
    return (title,) if title else ()


class _Node:
    """An open bracket: its sign, where it stands and in what, its scope, the next brace around it.

    wraps: in these brackets a function stands around a module.
    """

    __slots__ = ("brace", "parent", "scope", "sign", "start", "wraps")

    def __init__(
        self, sign: str, start: int, parent: _Node | None, scope: _Scope, brace: _Node | None
    ) -> None:
        self.sign = sign
        self.start = start
        self.parent = parent
        self.scope = scope
        self.brace = brace
        self.wraps = False


class _Scope:
    """What is defined: an open module, type or function.

    owner is the scope whose text its own text is. column is that of its head, body that of its
    statements. holds: what is defined in it is a scope too. is_indented: its first line was.
    """

    __slots__ = (
        "body",
        "column",
        "has_begun",
        "has_commas",
        "holds",
        "in_module",
        "is_indented",
        "node",
        "owner",
        "path",
    )
    node: _Node

    def __init__(self, path: tuple[str, ...], column: int, holds: bool) -> None:
        self.path = path
        self.owner = self
        self.column = self.body = column
        self.holds = holds
        self.has_commas = self.in_module = self.has_begun = self.is_indented = False


class _Line(NamedTuple):
    """The begin of a line, and what is known of it and of the line above."""

    start: int
    visible: int
    is_apart: bool
    is_comment: bool
    was_comment: bool


class _Reader:
    """The state between two tokens: the open brackets; of a scope that holds definitions, the
    statement that is being read; lines that wait for what it turns out to be; and the last block.
    """

    #: The bracket that closes all that is open inside of it.
    brace = "{"
    #: Signs of strings that are names.
    names = "`"

    def __init__(self, lexer: Lexer, language: Language, module: tuple[str, ...]) -> None:
        self.text = lexer.text
        self.size = len(lexer.text)
        self.lexer = lexer
        self.language = language
        self.at = lexer.start  # the end of the last token
        self.restart = re.compile(language.restart)
        self.attached = re.compile(language.attached)
        self.whole = re.compile(language.whole) if language.whole else None
        self.closers = re.compile(language.closers)
        self.closing = language.closing
        self.signs = language.syntax.signs
        self.wrapped = re.compile(language.wrapped) if language.wrapped else None
        self.joined = re.compile(language.joined) if language.joined else None

        self.root = self.scope = _Scope(module, -1, True)
        self.root.in_module = True
        self.node = self.root.node = _Node("", 0, None, self.root, None)
        self.conditions: list[_Node] = []  # of a preprocessor

        self.line_start = -1
        self.column = 0
        self.is_comment_line = False

        self.parts: list[str] = []  # of the statement's head
        self.head_size = 0
        self.code_start = -1  # -1: the statement has no code yet
        self.statement_column = 0
        self.is_indented: bool | None = None  # are the lines in the statement's brackets?
        self.is_decided = False
        self.owner: _Scope | None = None  # the scope that the statement is

        self.waiting: list[tuple[int, int]] = []  # levels and starts of lines
        self.block: tuple[int, int] | None = None
        self.block_owner: _Scope | None = None
        self.done: list[Block] = []

    @property
    def is_statement(self) -> bool:
        """Whether what comes is of a statement itself, and this in a scope of definitions."""
        return self.scope.holds and self.node is self.scope.node

    def take(self, kind: int, start: int, end: int) -> None:
        """Take in a token and the text before it."""
        scope = self.scope
        if scope.holds and not self.is_decided and self.node is scope.node:
            self.collect(kind, start, end)
        if kind <= RAW_PARAGRAPH:
            self.line(kind, start, end)
        elif kind == OPEN:
            if scope.holds:
                self.open(start)
            else:
                self.push(self.text[start], start, scope)
        elif kind == CLOSE:
            self.close(start, end)
        elif kind == END:
            self.end(end)
        elif kind >= DIRECTIVE:
            self.take_rest(kind, start, end)
        self.at = end

    def take_rest(self, kind: int, start: int, end: int) -> None:
        if kind == DIRECTIVE:
            self.direct(start)
        elif kind == WORD:
            self.word(start, end)
        else:
            self.show()

    def finish(self) -> None:
        """The text is at its end."""
        if self.is_statement and not self.is_decided:
            self.collect(COMMENT, self.size, self.size)
        self.end_statement()
        if self.block:
            self.done.append(Block(*self.block, self.size))

    # The statement

    def collect(self, kind: int, start: int, end: int) -> None:
        """Add a token, and the text before it, to the head."""
        gap = self.text[self.at : start]
        sign = " "
        if kind in (OPEN, WORD):
            sign = self.text[start:end]
        elif kind == PAIR:
            sign = self.text[start] + self.text[end - 1]
        elif kind == STRING:
            sign = self.text[start:end] if self.text[start] in self.names else '""'
        if self.code_start < 0:
            code = gap.lstrip()
            if not code and sign == " ":
                return
            self.code_start = start - len(code)
        self.add(gap)
        self.add(sign)

    def add(self, part: str) -> None:
        self.parts.append(part)
        self.head_size += len(part)
        if self.head_size > _LONG_HEAD and not self.is_decided:
            self.decide(self.scope.owner)

    def define(self, head: str, end: int, is_body: bool) -> Definition | None:
        """What the statement defines with this head, which ends here."""
        words = words_of(head)
        if not words or self.is_long_line():
            return None
        in_module, has_commas = self.scope.in_module, self.scope.has_commas
        return self.language.define(
            Head(words, self.text, self.code_start, end, is_body, in_module, has_commas)
        )

    def is_long_line(self) -> bool:
        """Whether the statement begins in a line that is too long to define anything."""
        end = self.code_start + _LONG_LINE
        if self.code_start - self.line_start > _LONG_LINE:
            return True
        return end < self.size and _LINE_END.search(self.text, self.code_start, end) is None

    def decide(self, owner: _Scope) -> None:
        """Whatever comes, the statement belongs to owner."""
        self.place_waiting(owner)
        self.is_decided = True
        self.owner = owner

    def end_statement(self) -> None:
        """The statement, if there is one, ends; lines that wait belong to it."""
        owner = self.owner or self.scope.owner
        if self.code_start >= 0 and not self.is_decided and self.whole:
            head = "".join(self.parts)
            definition = self.define(head, self.at, False) if self.whole.search(head) else None
            if definition and definition.is_rest:
                self.enter_rest(definition)
                return
            if definition and definition is not UNDECIDED:
                owner = self.child(definition) or owner
        self.place_waiting(owner)
        self.forget()

    def forget(self) -> None:
        """Be ready for another statement."""
        self.parts.clear()
        self.head_size = 0
        self.code_start = -1
        self.is_decided = False
        self.is_indented = None
        self.owner = None
        self.statement_column = self.column

    # Scopes

    def child(self, definition: Definition) -> _Scope | None:
        """The scope of a definition; None if it is nested too deep."""
        scope = self.scope
        if len(scope.path) + len(definition.names) > _NESTING:
            return None
        path = (*scope.path, *map(one_line, definition.names))
        child = _Scope(path, self.statement_column, definition.holds)
        child.has_commas = definition.has_commas
        if not definition.names:
            child.owner = scope.owner
            child.in_module = scope.in_module and not definition.has_commas
            child.has_begun = True
        return child

    def enter(self, definition: Definition, sign: str) -> bool:
        """Open the body of a definition."""
        child = self.child(definition)
        if child is None:
            return False
        self.place_waiting(child.owner)
        self.push(sign, self.at, child)
        child.node = self.node
        self.scope = child
        self.forget()
        return True

    def enter_rest(self, definition: Definition) -> None:
        """All that follows stands in what the statement names, up to the next of its kind."""
        if self.scope is not self.root and self.scope.node.sign == "":
            self.node = self.root.node
            self.scope = self.root
        if not self.enter(definition, ""):
            self.place_waiting(self.scope.owner)
            self.forget()

    # Brackets

    def push(self, sign: str, start: int, scope: _Scope) -> None:
        node = self.node
        brace = node if node.sign == self.brace else node.brace
        self.node = _Node(sign, start, node, scope, brace)

    def open(self, start: int) -> None:
        sign, scope, node = self.text[start], self.scope, self.node
        if sign in self.language.bodies:
            if node is scope.node:
                if not self.is_decided and self.open_body(start, sign):
                    return
            elif self.wrapped and self.is_wrapped(self.wrapped, start):
                self.node.wraps = True
                self.place_waiting(self.owner or scope.owner)
                if self.enter(Definition((), holds=True), sign):
                    return
        self.push(sign, start, scope)

    def open_body(self, start: int, sign: str) -> bool:
        """Open what may be the body of a definition."""
        definition = self.define("".join(self.parts)[:-1], start, True)
        if definition is UNDECIDED:
            return False
        if definition and definition.has_body:
            return self.enter(definition, sign)
        owner = self.child(definition) if definition else None
        self.decide(owner or self.scope.owner)
        return False

    def is_wrapped(self, wrapped: re.Pattern[str], start: int) -> bool:
        """Whether the brace here is that of a function around a module."""
        node, parent = self.node, self.node.parent
        if node.sign != "(" or parent is None:
            return False
        begin = self.code_start
        if parent.wraps:
            begin = node.start
        elif parent is not self.scope.node:
            return False
        if begin < max(0, start - _LONG_LINE):
            return False
        return wrapped.match(self.text, begin, start) is not None

    def close(self, start: int, end: int) -> None:
        """A brace closes all that is open inside of it; another bracket, only itself."""
        sign = self.text[start]
        opening = _PAIRS[sign]
        node: _Node | None = self.node
        if opening == self.brace and self.node.sign != opening:
            node = self.node.brace
        if node is None or node.sign != opening:
            return
        self.leave(node)
        if self.code_start >= 0 and not self.is_decided and self.is_statement:
            self.add(sign)
        if end - self.line_start > _STRETCH:
            self.cut(end)

    def leave(self, node: _Node) -> None:
        """Close a bracket and all that is open inside of it."""
        if node.parent:
            self.go_to(node.parent)

    def go_to(self, node: _Node) -> None:
        if node.scope is not self.scope:
            self.end_statement()
            self.scope = node.scope
            self.forget()
        self.node = node

    # Other tokens

    def end(self, end: int) -> None:
        """A semicolon."""
        if self.is_statement:
            self.end_statement()
        if end - self.line_start > _STRETCH:
            self.cut(end)

    def word(self, start: int, end: int) -> None:
        """A word that is a token."""

    def show(self) -> None:
        """What is not code ends a statement."""
        if self.is_statement:
            self.end_statement()

    def direct(self, start: int) -> None:
        """A line for a preprocessor stands for itself, and its branches begin equally."""
        if self.code_start < 0:
            self.place_waiting(self.scope.owner)
        match = _CONDITION.match(self.text, start)
        if match is None:
            return
        if match.group(1) == "if":
            self.conditions.append(self.node)
        elif self.conditions and match.group(1) == "el":
            self.go_to(self.conditions[-1])
        elif self.conditions:
            self.conditions.pop()

    # Lines

    def line(self, kind: int, start: int, visible: int) -> None:
        """Take in the begin of a line, whose indentation this is."""
        text, lexer = self.text, self.lexer
        was_comment = self.is_comment_line and lexer.code_end <= self.line_start
        # A tab is as wide as eight blanks.
        self.line_start = start
        self.column = visible - start + 7 * text.count("\t", start, visible)
        if visible >= self.size:
            return
        sign = text[visible]
        is_raw = kind >= RAW_LINE
        self.is_comment_line = is_comment = (
            sign in self.signs and not is_raw and lexer.comment.match(text, visible) is not None
        )
        self.read_column(visible)
        self.learn_indentation()
        if sign in self.closing and self.block_owner and self.closers.match(text, visible):
            return
        if sign == "{" and self.goes_on():
            return
        is_apart = kind in (PARAGRAPH, RAW_PARAGRAPH)
        scope = self.scope
        if is_raw:
            self.place(ITEM if is_apart or self.last_sign() == ";" else ROW, start)
        elif self.node is not scope.node:
            if is_apart or not (is_comment and was_comment):
                self.place(ITEM if is_apart else ROW, start)
        elif scope.holds:
            self.line_of_scope(_Line(start, visible, is_apart, is_comment, was_comment))
        else:
            self.line_of_function(_Line(start, visible, is_apart, is_comment, was_comment))

    def learn_indentation(self) -> None:
        """The first line of a body, and of a statement's brackets, says whether it is indented."""
        scope = self.scope
        if self.node is not scope.node:
            if self.is_indented is None:
                self.is_indented = self.column > self.statement_column
        elif not scope.has_begun and scope is not self.root:
            scope.is_indented = self.column > scope.column

    def goes_on(self) -> bool:
        """Whether a brace that begins a line belongs to what is above."""
        is_head = self.is_statement and self.code_start >= 0 and not self.is_decided
        return is_head or self.last_sign() not in ";{}:"

    def last_sign(self) -> str:
        """The last character of the code so far."""
        end = self.lexer.code_end
        return self.text[end - 1] if end > self.lexer.start else ";"

    def line_of_function(self, line: _Line) -> None:
        scope = self.scope
        is_new = self.begins_statement(line.visible, scope.body, scope.has_commas)
        if (is_new or not scope.has_begun) and not line.is_comment:
            scope.body = self.column
        level = self.level_of(line, is_new)
        if level is not None:
            self.begin(level, line.start, scope.owner)

    def line_of_scope(self, line: _Line) -> None:
        if self.code_start >= 0 and self.is_over(line):
            self.end_statement()
        if self.code_start >= 0:
            self.place(ITEM if line.is_apart else ROW, line.start)
            return
        if line.is_apart:
            self.place_waiting(self.scope.owner)
        if not (self.waiting and line.is_comment):
            self.statement_column = self.column
        level = self.level_of(line, True)
        if level is not None:
            self.wait(level, line.start)

    def level_of(self, line: _Line, is_new: bool) -> int | None:
        """The level of a line of the scope itself; None if it is a comment that goes on with the
        one above. A statement stays with its comment, and the first with its head."""
        scope = self.scope
        is_first, scope.has_begun = not scope.has_begun, True
        if is_first:
            return ROW
        if line.is_apart:
            return BLOCK
        if line.is_comment:
            return None if line.was_comment else BLOCK
        return ITEM if is_new and not line.was_comment else ROW

    def begins_statement(self, visible: int, column: int, has_commas: bool) -> bool:
        """Whether a line does not go on with the statement above, which begins in this column."""
        text, language = self.text, self.language
        last = self.last_sign()
        if last in ";{" or (has_commas and last == ","):
            return True
        if self.column > column or text[visible] == ";":
            return False
        if not language.has_lines:
            return last in ":}"
        if last in language.continues or text[visible] in language.leads:
            return False
        end = self.lexer.code_end
        if last in "+-":
            return text[end - 2] == last
        return text[end - 2 : end] not in ("=>", "->")

    def is_over(self, line: _Line) -> bool:
        """Whether the statement ended with the line above."""
        is_new = self.last_sign() != ":" and self.begins_statement(
            line.visible, self.statement_column, self.scope.has_commas
        )
        if line.is_apart:
            return is_new or self.is_attached()
        return is_new and not (self.is_attached() or self.is_joined(line))

    def is_joined(self, line: _Line) -> bool:
        """Whether a line goes on with the statement although it could be one by itself."""
        if self.joined is None or line.visible - self.code_start > _LONG_LINE:
            return False
        match = self.joined.match(self.text, self.code_start)
        return match is not None and match.end() > line.visible

    def is_attached(self) -> bool:
        """Whether the statement so far is only what belongs to the one below."""
        if self.is_decided or self.head_size > 300:
            return False
        return self.attached.match("".join(self.parts)) is not None

    def read_column(self, visible: int) -> None:
        """Close what a line shows to be closed, or never to have been, by standing far left."""
        if self.language.has_columns:
            self.read_indentation()
        scope = self.scope
        is_inside = scope.holds and self.node is not scope.node
        if self.column > (self.statement_column if is_inside else scope.column):
            return
        is_indented = scope.is_indented
        if is_inside:
            # A bracket too many does no harm in a module.
            is_indented = bool(self.is_indented) or scope.node.sign == ""
        if not is_indented:
            return
        match = self.restart.match(self.text, visible)
        if match is None:
            return
        if is_inside:
            self.go_to(scope.node)
            self.end_statement()
        while self.column <= scope.column and scope.is_indented:
            if scope.holds and match.lastindex is None:
                break
            self.leave(scope.node)
            scope = self.scope

    def read_indentation(self) -> None:
        """Indentation opens a body behind `:` and `=`, and closes it."""
        while self.node is self.scope.node and self.node.sign == _COLUMN:
            if self.column > self.scope.column:
                break
            self.leave(self.node)
        if not self.is_statement or self.code_start < 0 or self.column <= self.statement_column:
            return
        head = "".join(self.parts).rstrip()
        if not self.is_decided and (head.endswith((":", "=", " with")) or "extension" in head[:20]):
            definition = self.define(head.rstrip(":"), self.at, True)
            if definition and definition.has_body:
                self.enter(definition, _COLUMN)

    # Blocks

    def wait(self, level: int, start: int) -> None:
        """A line belongs to what the statement turns out to be."""
        self.waiting.append((level, start))
        if len(self.waiting) > _WAITING and self.code_start >= 0:
            self.decide(self.scope.owner)

    def place(self, level: int, start: int) -> None:
        """A line in a statement, or in what is nested in it."""
        owner = self.owner or self.scope.owner
        if self.scope.holds and not self.is_decided and self.code_start >= 0:
            self.wait(level, start)
        else:
            if self.waiting:
                self.place_waiting(owner)
            self.begin(level, start, owner)

    def place_waiting(self, owner: _Scope) -> None:
        for level, start in self.waiting:
            self.begin(level, start, owner)
        self.waiting.clear()

    def begin(self, level: int, start: int, owner: _Scope) -> None:
        """The last block ends, and another begins."""
        if self.block:
            self.done.append(Block(*self.block, start))
        if owner is not self.block_owner:
            self.block_owner = owner
            self.done.append(Block(SCOPE, start, start, path=owner.path))
            level = BLOCK
        self.block = level, start

    def cut(self, end: int) -> None:
        """Cut a long line behind a bracket or a semicolon."""
        begin = max(self.block[1] if self.block else 0, self.line_start)
        if end - begin < _STRETCH or end + 1 >= self.size:
            return
        if self.text[end] in ", ":
            end += 1
        if self.text[end].isspace() or self.text[end] in ";,.:?()[]}":
            return
        if self.waiting:
            self.decide(self.scope.owner)
        self.begin(ITEM if self.is_statement else ROW, end, self.owner or self.scope.owner)


_RUBY_NAME = r"([A-Za-z_\x80-\U0010ffff]\w{0,200}[?!=]?|[^\w\s(;]{1,3})"
_RUBY_FUNCTION = re.compile(
    rf"def\s+(?:[@$]{{0,2}}[A-Za-z_]\w{{0,200}}\s*\.\s*)?{_RUBY_NAME}"
    r"((?:[ \t]*\([^()\r\n]{0,300}\))?[ \t]+=\s)?"
)
_RUBY_TYPE = re.compile(r"(?:class|module)\s+(?:(?:::)?([A-Z]\w*(?:::[A-Z]\w*)*)|<<)")
_RUBY_MODIFIERS = frozenset(("if", "unless", "while", "until"))
_RUBY_LOOPS = frozenset(("while", "until", "for"))
_RUBY_OPERATORS = re.compile(r"(?:[=(\[{,|&!<>+*/?:;-]|\b(?:then|do|else|and|or|not|begin|in))\Z")


class _Ruby(_Reader):
    """In Ruby, words open and close."""

    brace = "end"

    def __init__(self, lexer: Lexer, language: Language, module: tuple[str, ...]) -> None:
        super().__init__(lexer, language, module)
        self.name_end = 0  # of the last function
        self.loop_line = self.type_line = -1

    def collect(self, kind: int, start: int, end: int) -> None:
        """What is behind the name of a type is no statement."""
        if self.type_line != self.line_start:
            super().collect(kind, start, end)

    def word(self, start: int, end: int) -> None:
        text = self.text
        word = text[start:end]
        is_label = text.startswith(":", end) and not text.startswith("::", end)
        if start < self.name_end or is_label or text[end : end + 1] in ("?", "!"):
            return
        if text[start - 1 : start] in (".", ":", "@", "$") and start > 0:
            return
        if word == "end":
            node = self.node if self.node.sign == self.brace else self.node.brace
            if node:
                self.leave(node)
        elif word == "do" and self.loop_line == self.line_start:
            self.loop_line = -1
        elif word not in _RUBY_MODIFIERS or self.is_begin(start):
            if word in _RUBY_LOOPS:
                self.loop_line = self.line_start
            self.open_word(word, start)

    def is_begin(self, start: int) -> bool:
        """Whether a word begins a statement or a value, and does not modify what is before it."""
        if not self.text[self.line_start : start].strip():
            return self.last_sign() != "\\"
        return _RUBY_OPERATORS.search(self.lexer.before(start)) is not None

    def open_word(self, word: str, start: int) -> None:
        function = _RUBY_FUNCTION.match(self.text, start) if word == "def" else None
        if function:
            self.name_end = function.end(1)
        is_open = self.is_statement and not self.is_decided
        if function and function.group(2):
            child = self.child(Definition((function.group(1),))) if is_open else None
            if child:
                self.decide(child)
            return
        definition = self.of_word(word, start, function) if is_open else None
        if definition is None or not self.enter(definition, self.brace):
            self.push(self.brace, start, self.scope)
        elif word in ("class", "module"):
            self.type_line = self.line_start

    def of_word(self, word: str, start: int, function: re.Match[str] | None) -> Definition | None:
        if function:
            return Definition((function.group(1),))
        if word in ("class", "module"):
            match = _RUBY_TYPE.match(self.text, start)
            return match and Definition((match.group(1),) if match.group(1) else (), holds=True)
        if word == "do" and self.wrapped and self.wrapped.match(self.text, self.code_start, start):
            return Definition((), holds=True)
        return None


_ROUTINE = re.compile(r"create\b[^;]{0,200}?\b(?:function|procedure|trigger|event|package)\b", re.I)
_INNER_END = re.compile(r"end\s+(?:if|loop|while|repeat|for)\b", re.I)
_COPY = re.compile(r"copy\b[^;]{0,4000}\bfrom\s+stdin\b", re.I)
_CREATE = re.compile(r"create\s", re.I)


class _Sql(_Reader):
    """In SQL, a statement is whole up to its semicolon, and its first words say what it is."""

    names = '"`'

    def __init__(self, lexer: Lexer, language: Language, module: tuple[str, ...]) -> None:
        super().__init__(lexer, language, module)
        self.depth = 0  # of begin and case

    def collect(self, kind: int, start: int, end: int) -> None:
        super().collect(kind, start, end)
        if kind != STRING and kind != END and self.code_start >= 0 and not self.is_decided:
            self.settle()

    def settle(self) -> None:
        """Decide what the statement is, if its head says so already."""
        definition = self.language.define(
            Head(words_of("".join(self.parts)), self.text, self.code_start, self.at, False)
        )
        if definition is not UNDECIDED:
            child = self.child(definition) if definition else None
            self.decide(child or self.scope.owner)

    def end_statement(self) -> None:
        if self.code_start >= 0 and not self.is_decided:
            self.settle()
        self.depth = 0
        super().end_statement()

    def word(self, start: int, end: int) -> None:
        if not self.is_statement or self.code_start < 0:
            return
        word = self.text[start:end].lower()
        if word == "end":
            if self.depth and not _INNER_END.match(self.text, start):
                self.depth -= 1
        elif self.depth or (word == "begin" and _ROUTINE.match(self.text, self.code_start)):
            self.depth += 1

    def end(self, end: int) -> None:
        if self.is_statement and self.depth == 0:
            begin = self.code_start
            self.lexer.is_before_data = begin >= 0 and bool(_COPY.match(self.text, begin, end))
            self.end_statement()
        if end - self.line_start > _STRETCH:
            self.cut(end)

    def show(self) -> None:
        """A quoted body is part of its statement."""

    def direct(self, start: int) -> None:
        if self.is_statement:
            self.end_statement()
        if self.text[start] in "dD":
            # Dollars may be a delimiter now.
            self.lexer.unclosed.add("$")

    def is_over(self, line: _Line) -> bool:
        return self.column == 0 and _CREATE.match(self.text, line.visible) is not None

    def line_of_scope(self, line: _Line) -> None:
        is_new = line.is_apart or self.last_sign() == ";"
        if self.depth and is_new and not self.is_over(line):
            self.place(ITEM, line.start)
        else:
            super().line_of_scope(line)


_READERS: dict[str, type[_Reader]] = {"ruby": _Ruby, "sql": _Sql}
