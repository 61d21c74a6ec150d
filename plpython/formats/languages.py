"""The languages that the reader of source code knows: how each writes strings and comments, where
its statements end, and what there begins like a definition."""

from __future__ import annotations

import re
from typing import Callable, NamedTuple

from . import definitions
from .definitions import Definition, Head
from .lexing import Heredoc, Lexer, Opened, Opener, Quote, Raw, Syntax

_TEXT = Quote('"', '"')
_CHARACTER = Quote("'", "'")
_LONG_TEXT = Quote('"', '"', lines=True)
_LONG_SINGLE = Quote("'", "'", lines=True)
_TEMPLATE = Quote("`", "`", lines=True, holes=(("${", "}"),))
_DOLLAR = (("${", "}"),)
_SHELL_TEXT = Quote('"', '"', lines=True, holes=(("$(", ")"), ("${", "}")))


def _always(quote: Quote) -> Opener:
    return lambda lexer, at: quote


def _follows_word(lexer: Lexer, at: int) -> bool:
    return at > 0 and (lexer.text[at - 1].isalnum() or lexer.text[at - 1] in "_$")


# JavaScript and TypeScript

#: Behind these words an expression begins.
_OPERATORS = frozenset(
    "as await case default delete do else export extends from import in instanceof keyof new of "
    "return throw typeof void yield and or not if elsif unless until when while then puts".split()
)
_LAST_WORD = re.compile(r"[\w$]+\Z")


def _begins_expression(before: str) -> bool:
    """Whether a value rather than an operator is due behind a text."""
    last = before[-1:]
    if last.isalnum() or last in ("_", "$"):
        word = _LAST_WORD.search(before[-20:])
        return word is not None and word.group() in _OPERATORS
    return last not in (")", "]", "}", '"', "'", "`") and before[-2:] not in ("++", "--")


def _script_quote(quote: Quote) -> Opener:
    """Behind a letter, a quote is an apostrophe in the text of an element."""

    def opener(lexer: Lexer, at: int) -> Opened:
        if _follows_word(lexer, at):
            word = _LAST_WORD.search(lexer.text[max(0, at - 20) : at])
            return quote if word and word.group() in _OPERATORS else None
        return quote

    return opener


def _regular_expression(lexer: Lexer, at: int) -> Opened:
    """A slash begins a regular expression where a value is due, if another closes it in the line;
    `</` and `/>` belong to elements."""
    text, before = lexer.text, lexer.before(at)
    is_behind_block = before.endswith("}") and lexer.code_end < lexer.floor == at
    if at < lexer.closed_until or text.startswith("/>", at) or text[at - 1 : at] == "<":
        return None
    if not (is_behind_block or _begins_expression(before)):
        return None
    return _end_of_expression(lexer, at)


_EXPRESSION_STOP = re.compile(r"[\\/\[\]\r\n]")
_IN_EXPRESSION = 2000


def _end_of_expression(lexer: Lexer, at: int) -> int | None:
    """The end of a regular expression, whose slashes in brackets do not close it."""
    text = lexer.text
    is_bracketed = False
    stop = at + 1
    while match := _EXPRESSION_STOP.search(text, stop, at + _IN_EXPRESSION):
        sign, stop = match.group(), match.end()
        if sign == "\\" and text[stop : stop + 1] not in ("\r", "\n"):
            stop += 1
        elif sign == "[":
            is_bracketed = True
        elif sign == "]":
            is_bracketed = False
        elif sign in "\r\n":
            break
        elif sign == "/" and not is_bracketed:
            return stop
    lexer.closed_until = min(stop, len(text))
    return None


# C, C++, C#, Java

_CPP_RAW = re.compile(r'"([^()\\\s"]{0,16})\(')
_CPP_PREFIX = re.compile(r"(?<!\w)(?:u8|[uUL])?\Z")
_CPP_RAW_PREFIX = re.compile(r"(?<!\w)(?:u8|[uUL])?R\Z")


def _cpp_text(lexer: Lexer, at: int) -> Opened:
    if lexer.text[at - 1 : at] == "R" and _CPP_RAW_PREFIX.search(lexer.text[max(0, at - 4) : at]):
        match = _CPP_RAW.match(lexer.text, at)
        if match:
            return Raw(match.end(), f'){match.group(1)}"')
    return _TEXT


def _cpp_character(lexer: Lexer, at: int) -> Opened:
    """Inside of a number, a quote sets digits apart."""
    before = lexer.text[max(0, at - 4) : at]
    return None if _follows_word(lexer, at) and not _CPP_PREFIX.search(before) else _CHARACTER


_QUOTES = re.compile('"{1,64}')


def _csharp_text(lexer: Lexer, at: int) -> Opened:
    prefix = lexer.text[max(0, at - 2) : at]
    holes = (("{", "}"),) if "$" in prefix else ()
    if "@" in prefix:
        return Quote('"', '"', escape=False, lines=True, doubled=True, holes=holes)
    quotes = _QUOTES.match(lexer.text, at)
    if quotes and len(quotes.group()) > 2:
        return Raw(quotes.end(), quotes.group())
    return Quote('"', '"', holes=holes)


def _triple(triple: Quote, single: Quote) -> Opener:
    return lambda lexer, at: triple if lexer.text.startswith('"""', at) else single


# Go, Rust, Swift, Scala


def _go_raw(lexer: Lexer, at: int) -> Opened:
    return Raw(at + 1, "`")


_RUST_RAW = re.compile(r"(?<!\w)[bc]?r(#*)\Z")


def _rust_text(lexer: Lexer, at: int) -> Opened:
    if lexer.text[at - 1 : at] in ("r", "#"):
        raw = _RUST_RAW.search(lexer.text[max(0, at - 40) : at])
        if raw:
            return Raw(at + 1, '"' + raw.group(1))
    return _LONG_TEXT


_LITERAL = re.compile(r"'(?:\\(?:u\{[^}'\r\n]{0,12}\}|[^\r\n][^'\r\n]{0,8})|[^'\\\r\n])'")


def _character_if_closed(lexer: Lexer, at: int) -> Opened:
    """A quote that closes nothing begins the name of a lifetime, or a symbol."""
    match = _LITERAL.match(lexer.text, at)
    return match.end() if match else None


_HASHES = re.compile(r"#+\Z")


def _swift_text(lexer: Lexer, at: int) -> Opened:
    text = lexer.text
    quotes = '"""' if text.startswith('"""', at) else '"'
    hashes = _HASHES.search(text[max(0, at - 40) : at])
    if hashes:
        return Raw(at + len(quotes), quotes + hashes.group())
    return Quote(quotes, quotes, lines=len(quotes) > 1, holes=(("\\(", ")"),))


def _scala_text(lexer: Lexer, at: int) -> Opened:
    quotes = '"""' if lexer.text.startswith('"""', at) else '"'
    is_long = len(quotes) > 1
    holes = _DOLLAR if _follows_word(lexer, at) else ()
    return Quote(quotes, quotes, escape=not is_long, lines=is_long, holes=holes)


# PHP, Ruby, the shell

_PHP_HEREDOC = re.compile(r"<<<[ \t]*([\"']?)([A-Za-z_]\w{0,100})\1(?=[\r\n])")
_RUBY_HEREDOC = re.compile(
    r"<<(?:[~-]([\"'`]?)([A-Za-z_]\w{0,100})\1|([\"'`]?)([A-Z]\w{0,100})\3)(?!\w)"
)
_SHELL_HEREDOC = re.compile(
    r"<<(-?)[ \t]*(?:\\?([A-Za-z_][\w.-]{0,100})|([\"'])([\w .-]{1,100})\3)"
)


def _php_heredoc(lexer: Lexer, at: int) -> Opened:
    match = _PHP_HEREDOC.match(lexer.text, at)
    if match is None:
        return None
    lexer.heredocs.append(Heredoc(match.group(2), is_indented=True, is_followed=True))
    return match.end()


def _ruby_heredoc(lexer: Lexer, at: int) -> Opened:
    match = _RUBY_HEREDOC.match(lexer.text, at)
    if match is None or (match.group(4) and _follows_word(lexer, at)):
        return None
    is_indented = match.group(2) is not None
    lexer.heredocs.append(Heredoc(match.group(2) or match.group(4), is_indented))
    return match.end()


def _shell_heredoc(lexer: Lexer, at: int) -> Opened:
    text = lexer.text
    if text.startswith("<<<", at):
        return at + 3
    match = _SHELL_HEREDOC.match(text, at)
    if match is None or text[at - 1 : at] == "(":
        return None
    lexer.heredocs.append(Heredoc(match.group(2) or match.group(4), match.group(1) == "-"))
    return match.end()


def _shell_single(lexer: Lexer, at: int) -> Opened:
    if lexer.text[at - 1 : at] == "$":
        return _LONG_SINGLE
    return Quote("'", "'", escape=False, lines=True)


def _ruby_text(quote: Quote) -> Opener:
    """Behind a question mark, a quote is a character; behind a dollar, it is a variable."""

    def opener(lexer: Lexer, at: int) -> Opened:
        before = lexer.text[max(0, at - 2) : at]
        is_name = before[-1:] == "$" or (before[-1:] == "?" and not before[:1].isalnum())
        return None if is_name else quote

    return opener


def _ruby_slash(lexer: Lexer, at: int) -> Opened:
    """A slash begins a regular expression where a value is due, and behind a blank that has none
    on its other side."""
    if at < lexer.closed_until:
        return None
    text = lexer.text
    if _is_argument(text, at) or _begins_expression(lexer.before(at)):
        return _end_of_expression(lexer, at)
    return None


def _is_argument(text: str, at: int) -> bool:
    """Whether what stands here is set off from the word before, but not from what is behind."""
    is_apart = text[at - 1 : at] in (" ", "\t") and (text[at - 2 : at - 1].isalnum())
    return is_apart and text[at + 1 : at + 2] not in (" ", "\t", "=", "\r", "\n", "")


_PERCENT = re.compile(r"%([qQwWiIrsx]?)([^\w\s=])")
_CLOSINGS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_IN_PERCENT = 10_000


def _ruby_percent(lexer: Lexer, at: int) -> Opened:
    """`%w[a [b] c]`: a letter and a sign that another, or its counterpart, closes."""
    text = lexer.text
    match = _PERCENT.match(text, at)
    if match is None or at < lexer.closed_until:
        return None
    is_literal = _begins_expression(lexer.before(at)) or (match.group(1) and _is_argument(text, at))
    if not is_literal:
        return None
    opening = match.group(2)
    closing = _CLOSINGS.get(opening, opening)
    stops = re.compile(rf"\\.|[{re.escape(opening + closing)}]", re.DOTALL)
    depth, end = 1, match.end()
    while found := stops.search(text, end, at + _IN_PERCENT):
        end = found.end()
        if found.group() == closing:
            depth -= 1
            if depth == 0:
                return end
        elif found.group() == opening:
            depth += 1
    lexer.closed_until = min(at + _IN_PERCENT, len(text))
    return None


# SQL

_SQL_TAG = re.compile(r"\$(?:[A-Za-z_\x80-\U0010ffff][\w]{0,62})?\$")
_SQL_TEXT = Quote("'", "'", escape=False, lines=True, doubled=True)
_SQL_ESCAPED = Quote("'", "'", lines=True, doubled=True)


def _sql_text(lexer: Lexer, at: int) -> Opened:
    prefix = lexer.text[max(0, at - 2) : at]
    is_escaped = prefix[-1:] in ("e", "E") and not (prefix[:-1].isalnum() or prefix[:-1] == "_")
    return _SQL_ESCAPED if is_escaped else _SQL_TEXT


def _sql_dollar(lexer: Lexer, at: int) -> Opened:
    if "$" in lexer.unclosed or _follows_word(lexer, at):
        return None
    tag = _SQL_TAG.match(lexer.text, at)
    return Raw(tag.end(), tag.group(), is_shown=True) if tag else None


_MODIFIERS = (
    "public|private|protected|internal|static|final|abstract|override|open|sealed|data|inline|"
    "suspend|export|default|async|partial|virtual|readonly|implicit|case|lazy|fileprivate|indirect|"
    "declare"
)


class Language(NamedTuple):
    """What the reader has to know of a language; patterns are strings.

    define: what a head defines. restart: how a line begins that shows, where it stands too far to
    the left, that something was never closed; only what its first group matches closes a type.
    bodies: the brackets of bodies. has_lines: a line end may end a statement; then continues are
    the last characters of a line that goes on, leads the first ones of a line that does, and joined
    is a head with a line that goes on with it. attached: heads that belong to what is below them.
    whole: what heads hold that may be definitions without a body. closers: how lines begin that
    belong to what is above, and closing: with what signs. wrapped: what stands before the body of a
    function around a module. has_columns: indentation may stand for braces.
    """

    syntax: Syntax
    define: Callable[[Head], Definition | None]
    restart: str
    bodies: str = "{"
    has_lines: bool = False
    continues: str = ",=&|.(\\"
    leads: str = ".?:&|=,{"
    joined: str = ""
    attached: str = rf"(?:\s*(?:@[\w.:]+\s*(?:\(\s*\))?|(?:{_MODIFIERS})\b))+\s*\Z"
    whole: str = ""
    closers: str = r"[)\]}]"
    closing: str = ")]}"
    wrapped: str = ""
    has_columns: bool = False


def _restart(outer: str, inner: str = "", modifiers: str = _MODIFIERS) -> str:
    """Lines that begin with modifiers and a word: one that shows that a type was not closed, or one
    that shows it of a function only."""
    return (
        rf"((?:(?:{modifiers})\s+){{0,6}}(?:{outer})\s+[\w$*])|(?:@|#\[)\w{inner and '|' + inner}"
    )


_C_WORD = r"[A-Za-z_][\w:<>,]*"
_C_RESTART = (
    r"((?:typedef\s+)?(?:class|struct|union|enum|namespace|template)\b[^;=()\r\n]*[\r\n])|"
    r"(?:static|extern|inline)\b[^;=]{0,300}[\r\n]|"
    r"(?!(?:else|return|if|for|while|switch|case|do|goto|default|throw|delete|new)\b)"
    rf"(?:(?:{_C_WORD}[ \t*&]+){{1,8}}[*&]*[\w:~]+[ \t]*\([^;\r\n]{{0,300}}[{{),][ \t]*[\r\n]|"
    r"\w+[ \t]*\([^;{}\r\n]{0,300}\)[ \t]*(?:\r\n?|\n)\{)"
)
_C = Language(
    Syntax({'"': _cpp_text, "'": _cpp_character}, directive="#"),
    definitions.c,
    restart=_C_RESTART,
    attached=r"\s*(?:\[\s*\]\s*|__attribute__\s*\(\s*\)\s*|[A-Z_0-9]+\s*\(\s*\)\s*)\Z",
    whole=r"\s*typedef\b",
)
#: The head of a method.
_SCRIPT_METHOD = (
    r"(?!(?:if|for|while|switch|catch|with|return)\b)(?:(?:static|async|get|set)\s+)?[\w$#]+"
    r"\([^;\r\n]{0,300}\)\s*\{[ \t]*[\r\n]"
)
_SCRIPT = Language(
    Syntax(
        {
            '"': _script_quote(_TEXT),
            "'": _script_quote(_CHARACTER),
            "`": _always(_TEMPLATE),
            "/": _regular_expression,
        }
    ),
    definitions.script,
    restart=_restart("class|interface|enum|namespace|function", _SCRIPT_METHOD),
    has_lines=True,
    whole=r"=>|\btype\b",
    wrapped=(
        r"(?:[;!+~\s]|void\b)*(?:\(|(?:define|require|describe|suite|context|\$|jQuery)\s*[(.])"
        r"[^{}]{0,400}?(?:\bfunction\b[^(){}]{0,80}\([^(){}]{0,300}\)|"
        r"\([^(){}]{0,300}\)\s*=>|\b\w{1,80}\s*=>)\s*\Z"
    ),
)

LANGUAGES = {
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "c": _C,
    "cpp": _C,
    "java": Language(
        Syntax(
            {
                '"': _triple(Quote('"""', '"""', lines=True), _TEXT),
                "'": _always(_CHARACTER),
            }
        ),
        definitions.java,
        restart=_restart(
            "class|interface|enum|record|@interface", r"(?:public|private|protected|static)\b"
        ),
    ),
    "csharp": Language(
        Syntax({'"': _csharp_text, "'": _always(_CHARACTER)}, directive="#"),
        definitions.csharp,
        restart=_restart(
            "class|interface|enum|record|struct|namespace", r"(?:public|private|protected|static)\b"
        ),
        attached=r"(?:\s*\[\s*\])+\s*\Z",
        whole=r"=>|\brecord\b|\s*namespace\b",
    ),
    "go": Language(
        Syntax({'"': _always(_TEXT), "'": _always(_CHARACTER), "`": _go_raw}),
        definitions.go,
        restart=r"(type\s+\w|func\b)",
        has_lines=True,
        whole=r"\s*type\b",
    ),
    "rust": Language(
        Syntax({'"': _rust_text, "'": _character_if_closed}, is_nested=True),
        definitions.rust,
        restart=_restart(
            "struct|enum|trait|impl|mod|fn", "", r"pub(?:\([^()]{0,40}\))?|async|unsafe|const"
        ),
        attached=r"(?:\s*#!?\s*\[\s*\])+\s*\Z",
        whole=r"\bstruct\b",
    ),
    "php": Language(
        Syntax(
            {
                '"': _always(Quote('"', '"', lines=True, holes=(("{$", "}"),))),
                "'": _always(_LONG_SINGLE),
                "`": _always(Quote("`", "`", lines=True)),
                "<": _php_heredoc,
            },
            comment=r"//|#(?!\[)|/\*",
            signs="/#",
            is_embedded=True,
        ),
        definitions.php,
        restart=_restart("class|interface|trait|enum|namespace|function"),
        attached=r"(?:\s*#\s*\[\s*\])+\s*\Z",
        whole=r"\s*namespace\b",
    ),
    "kotlin": Language(
        Syntax(
            {
                '"': _triple(
                    Quote('"""', '"""', escape=False, lines=True, holes=_DOLLAR),
                    Quote('"', '"', holes=_DOLLAR),
                ),
                "'": _always(_CHARACTER),
                "`": _always(Quote("`", "`", escape=False)),
            },
            is_nested=True,
        ),
        definitions.kotlin,
        restart=_restart("class|interface|object|fun"),
        has_lines=True,
        joined=(
            r"(?:[\w@]{1,40}\s+){0,8}class\s+\w{1,200}(?:\s*<[^<>]{0,200}>)?\s+"
            r"(?:[\w@]{1,40}\s+){0,8}constructor\b"
        ),
        whole=r"\b(?:class|interface|object|fun)\b",
    ),
    "swift": Language(
        Syntax(
            {'"': _swift_text, "`": _always(Quote("`", "`", escape=False))},
            is_nested=True,
            directive=r"#(?:if|else|elseif|endif|sourceLocation|error|warning)\b",
        ),
        definitions.swift,
        restart=_restart("class|struct|enum|protocol|extension|actor|func", r"(?:init|deinit)\b"),
        has_lines=True,
        continues=",=&|(",
    ),
    "scala": Language(
        Syntax(
            {
                '"': _scala_text,
                "'": _character_if_closed,
                "`": _always(Quote("`", "`", escape=False)),
            },
            is_nested=True,
        ),
        definitions.scala,
        restart=_restart("class|trait|object|enum|def"),
        has_lines=True,
        whole=r"\b(?:class|trait|object|def)\b",
        closers=r"[)\]}]|end\b",
        closing=")]}e",
        has_columns=True,
    ),
    "ruby": Language(
        Syntax(
            {
                '"': _ruby_text(Quote('"', '"', lines=True, holes=(("#{", "}"),))),
                "'": _ruby_text(_LONG_SINGLE),
                "`": _ruby_text(Quote("`", "`", lines=True, holes=(("#{", "}"),))),
                "/": _ruby_slash,
                "%": _ruby_percent,
                "<": _ruby_heredoc,
            },
            comment="#",
            signs="#",
            block=("", ""),
            words="begin|case|class|def|do|end|for|if|module|unless|until|while",
            line_block=("=begin", "=end"),
            rest="__END__",
        ),
        lambda head: None,
        restart=r"((?:class|module|def)\s+\w)",
        bodies="",
        has_lines=True,
        continues=",=&|.(\\+",
        leads=".&|",
        attached=r"\s*(?:private|protected|public|private_class_method|module_function)\s*\Z",
        closers=r"[)\]}]|(?:end|else|elsif|ensure|then)\b",
        closing=")]}et",
        wrapped=(
            r"(?:RSpec\.)?(?:describe|context|feature|shared_examples\w*|shared_context|namespace|"
            r"included|class_methods)\b[^\r\n]{0,300}\Z"
        ),
    ),
    "shell": Language(
        Syntax(
            {
                '"': _always(_SHELL_TEXT),
                "'": _shell_single,
                "`": _always(Quote("`", "`", lines=True)),
                "<": _shell_heredoc,
            },
            comment=r"#(?<![^\s;&|()`]#)",
            signs="#",
            block=("", ""),
            brackets="(){}",
            pairs="",
            hides=True,
        ),
        definitions.shell,
        restart=r"(?:function\s+[\w:.-]+|[\w:.-]+\s*\(\s*\))\s*(?:[{(][^\r\n]*)?[\r\n]",
        bodies="{(",
        has_lines=True,
        continues="\\|",
        leads="{",
        attached=r"\Z(?!)",
        closers=r"[)\]}]|(?:fi|done|esac|else|elif|then|do)\b|;;",
        closing=")]}fdet;",
    ),
    "sql": Language(
        Syntax(
            {
                '"': _always(Quote('"', '"', escape=False, lines=True, doubled=True)),
                "'": _sql_text,
                "`": _always(Quote("`", "`", escape=False)),
                "$": _sql_dollar,
            },
            comment=r"--|/\*",
            signs="-/",
            is_nested=True,
            brackets="()",
            pairs="()",
            directive=r"\\(?!\.)|(?i:delimiter[ \t]|(?:go|/)[ \t]*(?=[\r\n]|\Z))",
            words="[bB][eE][gG][iI][nN]|[cC][aA][sS][eE]|[eE][nN][dD]",
        ),
        definitions.sql,
        restart=r"((?i:create)\s)",
        bodies="",
        attached=r"\Z(?!)",
        closers=r"\)|(?i:end)\b|\$",
        closing=")eE$",
    ),
}
