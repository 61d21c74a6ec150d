"""Guesses the format of a text that comes without a name.

What speaks for a format, in this order:

* its beginning: a shebang, a tag of HTML or PHP, JSON, `sep=`, metadata in front of Markdown;
* TOML and YAML: all lines at the margin are tables, keys or items;
* signs of AsciiDoc;
* a program: of the first lines at the margin, without comments, fenced code, and lines that many
  languages have, at least a third and two are statements of one language, or all of them;
* signs of reStructuredText, then headings, fences, links and tables of Markdown;
* CSV: the first lines have equally many tabs, or semicolons or commas without blanks behind.

Anything else is plain text. Of data and programs only the lines at the margin count, because what
is quoted in a text is often indented.
"""

from __future__ import annotations

import re
from functools import cache

#: So many characters are looked at, lines of data, characters of these, statements of a program,
#: and records of a table.
LOOKED_AT = 1 << 16
_LINES, _WIDTH, _STATEMENTS, _RECORDS = 2000, 200, 60, 20

_SHEBANG = r"#![^\n]{0,200}?\b(python|node|deno|bun|bash|zsh|ksh|dash|sh|ruby|php)"
_INTERPRETED = {"python": "python", "ruby": "ruby", "php": "php"} | dict.fromkeys(
    ("node", "deno", "bun"), "javascript"
)
_PAGE = r"(?i)(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype html|html|head|body)\b"
_ELEMENT = r"(?i)<(?:a|article|center|div|form|h[1-6]|img|main|nav|ol|p|section|span|table|ul)\b"

_STRING = r'"(?:[^"\\\n]|\\.){0,1000}"'
_OBJECT = rf"\{{\s*(?:{_STRING}\s*:|\}}\s*\Z)"
_ARRAY = (
    rf"\[\s*(?!\s)(?:{_OBJECT}|\[\s*[\[\]{{\"\d-]|[-\d.eE+,\s]*\]\s*\Z|{_STRING}\s*\]\s*\Z"
    rf"|(?:{_STRING}|true|false|null)\s*,\s*[\[{{\"\dtfn-])"
)

_TOML_TABLE = r"\[\[?[\w.\"' -]+\]\]?\s*(?:#.*)?$"
_TOML_KEY = r"(?:[\w.-]|\"[^\"]*\"|'[^']*')+ *= *(?:[\"'\[{]|[-+]?\d|(?:true|false)\b)"
#: With the key as group 1, and its value as group 2.
_YAML_KEY = r"([\w$@./-]+|\"[^\"]*\"|'[^']*'):(?:[ \t]+(.*))?$"
_YAML_INSIDE = rf"(?:- +|[ \t]+(?:- +)*){_YAML_KEY}"

_QUOTED_CELL = r'(?m)(^|[,;\t])"(?:[^"]|"")*"'
_FRACTION_IN_LOG = r"(?<=:\d\d),(?=\d{3}\b)"

_RST = (
    r"(?m)^\.\. (?:[\w-]+::|_[^:\n]+:|\[#?\w+\] )",
    r"^={3,}\n[^\n]+\n={3,}$",
    r"(?:\A|\n\n)\w[^\n]*\n(?:~{3,}|\^{3,}|\"{3,}|\+{3,})$",
    r":\w+:`[^`\n]{1,200}`",
    r"`[^`<\n]{1,100} <[^`>\n]{1,200}>`_",
    r"[^\n]::\n\n[ \t]",
)
_ASCIIDOC = (
    r"(?m)\A= \S",
    r"^={2,5} [^=\n]*[^=\s]$",
    r"^\[(?:source|NOTE|TIP|quote|cols|verse)\b[^\n]*\]$",
    r"^(?:image|include)::\S+\[",
)
_MARKDOWN = (
    r"(?m)^ {0,3}#{1,6}[ \t]+[^ \t\n]",
    r"^ {0,3}(?:```|~~~)",
    r"\[[^\[\]\n]{1,200}\]\((?:https?:|mailto:|\.{0,2}/|#|[\w/-]{1,100}\.(?:md|html?|png|svg)\b)",
    r"^\|?[ \t]*:?-{2,}:?[ \t]*\|[ \t:|-]*$",
    r"(?:\A|\n[ \t]*\n)[^ \t\n>|+*-][^\n]{0,200}\n {0,3}(?:={3,}|-{3,})[ \t]*$",
)
_FENCE = r"(?m)^ {0,3}```[^`\n]*$"

#: Statements as they begin at the margin. Of two languages with equally many, the first is meant.
_LANGUAGES = {
    "python": (
        r"from \.*[\w.]* import [\w(*]",
        r"import [A-Za-z_][\w.]*(?: as \w+)?(?:, ?[\w.]+)*$",
        r"(?:async )?def \w+\((?:.*\)(?: -> .*)?:(?: (?:\.\.\.|pass|return).*)?)?$",
        r"class \w+(?:\(.*)?:",
        r"(?:if|elif|for|while|with|try|else|except)\b.*:$",
        r"print\(|raise \w+\(",
    ),
    "go": (
        r"package \w+$|import (?:\(|\w* ?\")",
        r"func (?:\(.*\) )?\w+\(",
        r"type \w+ (?:struct|interface|func|map)\b",
        r"(?:var|const) (?:\($|\w+ [\w*\[])",
    ),
    "rust": (
        r"(?:pub(?:\(\w+\))? )?(?:use [\w:]+(?:::|;)|(?:async |unsafe |const )*fn \w+)",
        r"(?:pub(?:\(\w+\))? )?(?:mod \w+[ ;]|struct \w+|enum \w+ ?\{|trait \w+|static \w+: )",
        r"impl\b.*\{|#!?\[\w|macro_rules!",
    ),
    "c": (
        r"# *(?:include *[<\"]|define \w|ifn?def \w|if |endif|pragma )",
        r"(?:typedef|static|extern) \w|using namespace \w",
        r"(?:inline |const |unsigned )*(?:int|void|char|float|double|long|bool|size_t|struct \w+"
        r"|auto|std::\S+)[ *&]+[\w:]+\s*[(;=\[]",
        r"(?:struct|enum|union)(?: \w+)? ?\{|template ?<|namespace \w+ ?\{",
        r"class \w+(?: : public \w+)? ?\{",
    ),
    "java": (
        r"(?:package|import(?: static)?) [\w.]+(?:\.\*)?;",
        r"(?:(?:public|private|protected|abstract|final) )+(?:class|interface|enum|record)\b",
    ),
    "csharp": (
        r"(?:global )?using (?:static )?[\w.]+(?: = [\w.<>]+)?;|namespace [\w.]+\s*[;{]?$",
        r"(?:(?:public|internal|static|abstract|sealed|partial) )+(?:class|interface|enum|record) ",
    ),
    "swift": (
        r"import [A-Z]\w+$|@main$|guard let ",
        r"(?:(?:public|private|open|final|static) )*func \w+.*[{(>]",
        r"(?:(?:public|private|open|final) )*(?:struct|class|protocol|extension|enum) \w+.*\{",
        r"(?:let|var) \w+(?:: .*)? = ",
    ),
    "kotlin": (
        r"(?:package|import) [\w.]+(?:\.\*)?(?: as \w+)?$",
        r"(?:\w+ )*fun [\w<.(]|va[lr] \w+: ",
        r"(?:data|sealed|open|enum|abstract|value) class |(?:companion )?object \w+ ?[:{]",
    ),
    "scala": (
        r"package [\w.]+$|import [\w.]+(?:\._|\.\{.*\}|\.\*)?$",
        r"case (?:class|object) |object \w+ (?:extends .*)?\{|(?:sealed )?trait \w+",
        r"(?:implicit )?(?:def|val) \w+.*=",
    ),
    "javascript": (
        r"import (?:[\w*{].* from )?['\"]|import \{$|\} from ['\"]|['\"]use \w+['\"]",
        r"export (?:default|const|let|class|async|function|interface|type|enum|abstract|\{|\*)",
        r"(?:async )?function\*? ?\w*\(|(?:const|let|var) [\w{\[$].* ?=",
        r"(?:declare )?(?:interface|type|enum) \w+.*[{=]|class \w+(?: extends [\w.]+)? \{",
        r"module\.exports|console\.\w+\(",
    ),
    "ruby": (
        r"require(?:_relative)? ['\"]|gem ['\"]|source ['\"]https?:|puts ['\"\w]",
        r"(?:class|module) [A-Z][\w:]*(?: < [A-Z][\w:]*)?$",
        r"def (?:self\.)?\w+[?!]?(?:\(.*\))?$",
        r"end$|.* do(?: \|[^|]*\|)?$",
    ),
    "shell": (
        r"(?:export )?[A-Z_][A-Z0-9_]*=\S*$|(?:function )?[\w-]+ ?\(\) ?\{",
        r"(?:if|while) (?:\[|! |command )|for \w+ in .*|case .* in$|(?:fi|done|then|esac)$",
        r"(?:echo|printf|cd|source|sudo|mkdir|rm|cp|chmod|curl|export) [-\"'$./~]|exit \d|set -",
    ),
    "sql": (
        r"(?i:(?:create|alter|drop|comment on|grant|revoke)\b.*\b(?:table|view|function|index|type"
        r"|procedure|schema|extension|trigger|role|sequence|policy|database|operator|aggregate)\b)",
        r"(?i:insert into \S|delete from \S+(?: where|;)|update \S+\s+set\b|with \w+ as \()",
        r"(?i:select (?:\*|distinct |[\w.\"]+(?:,|\(|$| from [\w.\"]+(?:$|;| where))))",
        r"(?i:from [\w.\"]+(?: \w)?$|where \S+ ?(?:[=<>]|in\b|is\b|like\b)|(?:group|order) by \S)",
        r"(?i:(?:left |inner |cross )?join \S+|values ?\(|(?:begin|commit);|limit \d)",
        r"(?i:language \w+.*;|as [$']|returns \w+$|grant .* to \w+;)|\\\w+ ",
    ),
}
#: Few lines of prose begin or end like statements: no pattern is looked for in these.
_FIRST = frozenset(
    (
        *("import", "from", "package", "use", "using", "require", "gem", "export", "class", "def"),
        *("module", "end", "set", "echo", "cd", "select", "where", "create", "alter", "drop", "as"),
        *("insert", "returns", "language"),
    )
)
_LAST = "(){}[];:"
#: Lines that many languages have: what closes something, decorators, assignments, calls.
_COMMON = r"[)\]}({\[;,@]|[\w.$\[\]\"']+(?:: \w+)? ?[-+*/|:]?= ?\S|[\w.:]+\(.*\)?[;{]?$|else\b"
#: In these languages a line that begins with a hash and a blank is a comment, in the others an
#: error, and in Markdown a heading.
_HASH_COMMENTS = ("python", "ruby", "shell")
_DIRECTIVE = r"# *(?:include|define|if|ifn?def|endif|elif|else|undef|error|warning|pragma)\b|#!?\["
_LONG_COMMENTS = {"/*": "*/", "<!--": "-->", "```": "```", "~~~": "~~~", "=begin": "=end"}
_LONG_STRINGS = ('"""', "'''")
_CPP = r"(?m)\bstd::|#include <\w+>|^(?:class|template|namespace|using) |\bnullptr\b"
_SCALA = r"(?m)^ *(?:override )?def \w"
_TYPESCRIPT = (
    r"(?m)^(?:export |declare |abstract )*(?:interface|type|enum|namespace) \w|^import type "
    r"|\w\)?\??: (?:string|number|boolean|void|any|unknown|never|Promise<|\w+\[\])|\bas const\b"
    r"|^ +(?:private|public|protected|readonly) \w"
)


def looked_at(text: str) -> str:
    """A format of READERS, by the first 64 KB of a text; 'text' where nothing speaks for one."""
    head = text[:LOOKED_AT].lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > LOOKED_AT:
        # Without the last line, which may be cut off.
        head = head[: head.rfind("\n") + 1] or head
    lines = [line[:_WIDTH].rstrip() for line in head.split("\n")[:_LINES] if line]
    has_fences = re.search(_FENCE, head) is not None
    return (
        _beginning(head)
        or _data(head, lines)
        or ("asciidoc" if not has_fences and _has_any(_ASCIIDOC, head) else "")
        or _language(head, lines)
        or _markup(head, has_fences)
        or ("csv" if _is_table(head) else "text")
    )


def _beginning(head: str) -> str:
    start = head.lstrip()
    if shebang := re.match(_SHEBANG, head):
        return _INTERPRETED.get(shebang.group(1), "shell")
    if start.startswith("<?php"):
        return "php"
    if start.startswith("<"):
        return "html" if _is_page(start) else ""
    if start.startswith(("{", "[")) and re.match(f"{_OBJECT}|{_ARRAY}", start):
        is_notebook = '"cell_type"' in head and ('"cells"' in head or '"nbformat"' in head)
        return "notebook" if is_notebook else "json"
    return "csv" if start[:4].lower() == "sep=" else ""


def _is_page(start: str) -> bool:
    """Whether a page of HTML begins behind comments, or an element in a text without Markdown."""
    at = 0
    while start.startswith("<!--", at) and (end := start.find("-->", at)) >= 0:
        blank = re.compile(r"\s*").match(start, end + 3)
        at = blank.end() if blank else end + 3
    if re.compile(_PAGE).match(start, at):
        return True
    is_element = re.compile(_ELEMENT).match(start, at) is not None
    return is_element and "</" in start and not _has_any(_MARKDOWN, start)


def _has_any(patterns: tuple[str, ...], text: str) -> bool:
    return re.search("|".join(patterns), text) is not None


def _data(head: str, lines: list[str]) -> str:
    if head.startswith(("---", "+++")):
        from .formats.frontmatter import front_matter

        end = front_matter(head)
        if end and not _is_yaml(["---", *head[end:].split("\n")]):
            return "markdown"
    if _is_toml(lines):
        return "toml"
    return "yaml" if _is_yaml(lines) else ""


def _is_toml(lines: list[str]) -> bool:
    """Whether all lines at the margin are tables, or keys with values as TOML writes them; outside
    of tables with blanks around the equals sign, without which it is a shell's."""
    tables = keys = 0
    closer = ""
    for line in lines:
        if closer:
            closer = "" if closer in line else closer
        elif line[:1] not in ("", " ", "\t", "#", "]", "}"):
            if re.match(_TOML_KEY, line) and (tables or " = " in line):
                keys += 1
                closer = _opened_string(line)
            elif re.match(_TOML_TABLE, line):
                tables += 1
            else:
                return False
    return keys > 0 and keys + tables > 1


def _opened_string(line: str) -> str:
    """The quotes of a string of several lines that a line opens."""
    return next((quotes for quotes in _LONG_STRINGS if line.count(quotes) % 2), "")


def _is_yaml(lines: list[str]) -> bool:
    """Whether all lines at the margin are items, or keys of one word, each of which is there once.

    There must be keys inside of keys or items, or keys that begin with small letters and have no
    sentences: text has lines like `Note: this is it.` too.
    """
    keys: set[str] = set()
    has_items = is_marked = is_nested = False
    sentences = 0
    for line in lines:
        if line[:1] in ("", " ", "\t", "#"):
            is_nested = is_nested or re.match(_YAML_INSIDE, line) is not None
        elif line.startswith(("---", "%YAML")):
            is_marked = True
            keys.clear()
        elif line == "-" or line.startswith("- "):
            has_items = True
        elif (match := re.match(_YAML_KEY, line)) and match.group(1) not in keys:
            keys.add(match.group(1))
            sentences += (match.group(2) or "").endswith((".", "?", "!"))
        elif line != "...":
            return False
    if is_marked or is_nested:
        return bool(keys) or (has_items and is_nested)
    are_small = all(key.strip("\"'")[:1].islower() for key in keys)
    return are_small and bool(keys) and len(keys) + has_items > 1 and 2 * sentences <= len(keys)


def _language(head: str, lines: list[str]) -> str:
    """The language that most of the lines at the margin are statements of."""
    statements, has_hashes = _at_margin(lines)
    likely = sum(
        line[0] in "#\\" or line[-1] in _LAST or "=" in line or line.split()[0].lower() in _FIRST
        for line in statements
    )
    if not likely or 3 * likely < len(statements):
        return ""
    found, most = "", 0
    for name, pattern in _patterns().items():
        if has_hashes and name not in _HASH_COMMENTS:
            continue
        told = [line for line in statements if pattern.match(line)]
        others = sum(not (pattern.match(line) or re.match(_COMMON, line)) for line in statements)
        is_enough = others <= 2 * len(told) and len(told) > 1
        is_all = others == 0 and any(line[-1] in _LAST for line in statements)
        if len(told) > most and (is_enough or is_all):
            found, most = name, len(told)
    if found == "c" and re.search(_CPP, head):
        return "cpp"
    if found == "kotlin" and re.search(_SCALA, head):
        return "scala"
    if found == "javascript" and re.search(_TYPESCRIPT, head):
        return "typescript"
    return found


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile("|".join(patterns)) for name, patterns in _LANGUAGES.items()}


def _at_margin(lines: list[str]) -> tuple[list[str], bool]:
    """The first lines that are not indented, nor in comments, fences, or strings of several lines;
    and whether there are lines like headings of Markdown among them."""
    kept: list[str] = []
    has_hashes = False
    closer = ""
    for line in lines:
        if closer:
            closer = "" if closer in line else closer
            continue
        opener = next((opener for opener in _LONG_COMMENTS if line.startswith(opener)), "")
        if opener and _LONG_COMMENTS[opener] not in line[len(opener) :]:
            closer = _LONG_COMMENTS[opener]
        else:
            closer = _opened_string(line)
        if not line or opener or line.startswith((" ", "\t", "//", "--", *_LONG_STRINGS)):
            continue
        if line.startswith("#") and not re.match(_DIRECTIVE, line):
            has_hashes = has_hashes or line.lstrip("#").startswith(" ")
            continue
        kept.append(line)
        if len(kept) == _STATEMENTS:
            break
    return kept, has_hashes


def _markup(head: str, has_fences: bool) -> str:
    if not has_fences and _has_any(_RST, head):
        return "rst"
    return "markdown" if has_fences or _has_any(_MARKDOWN, head) else ""


def _is_table(head: str) -> bool:
    """Whether the first lines are cut into equally many cells, or at least into four each."""
    text = re.sub(_QUOTED_CELL, r"\1Q", head.rstrip("\n"))
    records = re.sub(_FRACTION_IN_LOG, ".", text).split("\n")[:_RECORDS]
    if len(records) < 2 or not all(records) or records[0].startswith((" ", "\t")):
        return False
    for delimiter in "\t;,":
        counts = {record.count(delimiter) for record in records}
        if min(counts) >= (1 if len(counts) == 1 else 3):
            return delimiter == "\t" or not any(delimiter + " " in record for record in records)
    return False
