"""What the head of a statement defines, language by language: its name, and what its braces hold.

A head is the words of a statement up to an opening brace, or up to its end, without what stands in
brackets and strings: `class () { }` keeps its brackets, but nothing between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Definition(NamedTuple):
    """names: those of the things it stands in, where it says them, and its own; () if it has none
    and its body is text of what it stands in.

    holds: definitions in its body are scopes of their own. has_body: the brace opens its body; else
    the statement is all of it. has_commas: its parts end with commas. is_rest: all that follows
    stands in it.
    """

    names: tuple[str, ...]
    holds: bool = False
    has_body: bool = True
    has_commas: bool = False
    is_rest: bool = False


#: It cannot be told yet.
UNDECIDED = Definition((), has_body=False)


class Head(NamedTuple):
    """The words of a head, which in the text go from start to end; is_body: a brace opens at end.

    in_module, in_object: it stands in no type, in an object in braces.
    """

    words: list[str]
    text: str
    start: int
    end: int
    is_body: bool
    in_module: bool = False
    in_object: bool = False


_WORD = re.compile(r"`[^`]*`|\"[^\"]*\"|[\w$]+|::|=>|->|==|:=|\S")
_IDENTIFIER = re.compile(r"[\w$`]")
#: A brace behind which the line goes on is not the begin of a long body.
_SEVERAL_LINES = re.compile(r"\{[^}\r\n]{0,300}(?:[\r\n]|\Z)")

#: A statement that begins with one of these defines nothing.
_CONTROL = frozenset(
    "if for while switch catch foreach using lock fixed do else try throw new goto return match "
    "guard defer use import echo".split()
)
#: What has brackets behind it and is no name of a function.
_NO_NAMES = frozenset(
    "if for while switch catch return sizeof synchronized foreach void bool char short int long "
    "float double signed unsigned auto".split()
)


def words_of(head: str) -> list[str]:
    return _WORD.findall(head)


def _is_word(word: str) -> bool:
    return _IDENTIFIER.match(word) is not None


def _plain(name: str) -> str:
    return name.strip("`")


def without_generics(words: list[str]) -> list[str]:
    """Words without those in angle brackets, if these come in pairs."""
    kept: list[str] = []
    depth = 0
    for word in words:
        if word == "<" and (depth or not kept or _is_word(kept[-1]) or kept[-1] in ("=", "::")):
            depth += 1
        elif word == ">" and depth:
            depth -= 1
        elif not depth:
            kept.append(word)
    return words if depth else kept


def _without_annotations(words: list[str]) -> list[str]:
    """Words without `@Name`, `@site:Name`, `@a.b.Name()`; `@interface` stays."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        if words[at] != "@" or words[at + 1 : at + 2] in ([], ["interface"]):
            kept.append(words[at])
            at += 1
            continue
        at += 2
        while words[at : at + 1] in (["."], [":"]) and _is_word("".join(words[at + 1 : at + 2])):
            at += 2
        if words[at : at + 2] == ["(", ")"]:
            at += 2
    return kept


def _without_attributes(words: list[str]) -> list[str]:
    """Words without `#[]`, `#![]`, `[]` in front."""
    at = 0
    while words[at : at + 1] in (["#"], ["["]):
        end = at + 1
        while end < len(words) and words[end] in ("#", "!", "["):
            end += 1
        if words[end : end + 1] != ["]"]:
            break
        at = end + 1
    return words[at:]


def _keyword(words: list[str], keywords: Iterable[str], between: str = '()[]"#!') -> int:
    """The place of the first keyword, with only words and some signs before it, or -1."""
    if words and words[0] in _CONTROL:
        return -1
    for at, word in enumerate(words):
        if word in keywords:
            return at
        if not (_is_word(word) or word[0] in between):
            return -1
    return -1


def _chain(words: list[str], at: int, joints: tuple[str, ...] = (".", "\\", "::")) -> list[str]:
    """The words from a place on that are joined to one name."""
    chain = []
    while at < len(words) and _is_word(words[at]):
        chain.append(_plain(words[at]))
        if words[at + 1 : at + 2] == [] or words[at + 1] not in joints:
            break
        at += 2
    return chain


def _symbols(words: list[str], at: int, ends: str = "([:") -> str:
    """The name of an operator: all signs up to what opens its parameters."""
    name = ""
    while at < len(words) and words[at] not in ends:
        name += " " * (_is_word(name[-1:]) and _is_word(words[at])) + words[at]
        at += 1
    return name


def _named(names: Iterable[str], **what: bool) -> Definition | None:
    known = tuple(name for name in names if name)
    return Definition(known, **what) if known else None


# C and C++

_ACCESS = re.compile(r"(?:public|private|protected|signals|slots)\Z")
_C_TYPES = frozenset(("class", "struct", "union", "enum", "namespace"))
_C_ATTRIBUTES = frozenset(
    ("__attribute__", "__declspec", "alignas", "decltype", "noexcept", "requires", "explicit")
)


def c(head: Head) -> Definition | None:
    words = _without_c_attributes(_behind_label(head.words))
    if not words or words[0] in _CONTROL:
        return None
    if not head.is_body:
        is_type = words[0] == "typedef" and "}" in words and _is_word(words[-1])
        return _named([words[-1]], has_body=False) if is_type else None
    words = without_generics(words)
    if words[:1] == ["extern"] and words[-1] == '""':
        return Definition((), holds=True)
    kind = _keyword(words, _C_TYPES, ':"')
    if kind >= 0 and "(" not in words:
        return _c_type(words, kind)
    return _c_function(words)


def _behind_label(words: list[str]) -> list[str]:
    for at in range(len(words) - 2, -1, -1):
        if words[at + 1] == ":" and _ACCESS.match(words[at]):
            return words[at + 2 :]
    return words


def _without_c_attributes(words: list[str]) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(words):
        if words[at] in _C_ATTRIBUTES and words[at + 1 : at + 3] == ["(", ")"]:
            at += 3
        elif words[at : at + 2] == ["[", "]"] and kept[-1:] != ["operator"]:
            at += 2
        else:
            kept.append(words[at])
            at += 1
    return kept


def _c_type(words: list[str], kind: int) -> Definition | None:
    if "=" in words:
        return None
    end = kind
    while end < len(words) and words[end] not in (":", "final"):
        end += 1
    if words[kind] == "namespace":
        return Definition(tuple(_chain(words, kind + 1)), holds=True)
    named = [word for word in words[kind:end] if word not in _C_TYPES]
    begin = len(named) - 1
    while begin > 1 and named[begin - 1] == "::":
        begin -= 2
    if begin < 0:
        return UNDECIDED if words[0] == "typedef" else None
    is_enum = words[kind] == "enum"
    return _named(_chain(named, begin), holds=not is_enum, has_commas=is_enum)


def _parameters(words: list[str]) -> int:
    """The place of the bracket behind the name of a function; -1 if there is none."""
    for at, word in enumerate(words):
        if word == "=":
            return -1
        if word == "(" and at and _is_word(words[at - 1]):
            return at
    return -1


def _c_function(words: list[str]) -> Definition | None:
    if "operator" in words:
        at = words.index("operator")
        called = words[at + 1 : at + 4] == ["(", ")", "("]
        name = "()" if called else _symbols(words, at + 1, "(")
        return _named([*_qualifiers(words, at), f"operator{' ' * _is_word(name)}{name}"])
    at = _parameters(words)
    if at < 0 or words[at - 1] in _NO_NAMES:
        return None
    tail = words[at + 2 :]
    if words[at - 1].isupper() and ":" not in tail:
        # A macro with arguments before the name.
        behind = _parameters(tail)
        if behind > 0 and tail[behind - 1] not in ("throw", "__attribute__"):
            return _c_function(tail)
    if ":" in tail and (_is_word(words[-1]) or words[-1] == ">"):
        # A member that is initialized in braces.
        return UNDECIDED
    name, first = words[at - 1], at - 1
    if words[at - 2 : at - 1] == ["~"]:
        name, first = "~" + name, at - 2
    return _named([*_qualifiers(words, first), name])


def _qualifiers(words: list[str], at: int) -> list[str]:
    """The names before a place that are joined to it by `::`."""
    names: list[str] = []
    while at > 1 and words[at - 1] == "::" and _is_word(words[at - 2]):
        names.insert(0, words[at - 2])
        at -= 2
    return names


# Java and C#

_JAVA_TYPES = frozenset(("class", "interface", "enum", "record"))
_CSHARP_TYPES = _JAVA_TYPES | {"struct", "namespace"}


_JAVA_MODIFIERS = frozenset(
    "public private protected internal static async virtual override sealed abstract extern unsafe "
    "readonly partial final default".split()
)


def java(head: Head) -> Definition | None:
    return _java(head, _JAVA_TYPES) if head.is_body else None


def csharp(head: Head) -> Definition | None:
    words = without_generics(_without_attributes(head.words))
    if head.is_body:
        return _java(head, _CSHARP_TYPES) or _property(words, head)
    if words[:1] == ["namespace"]:
        return _named([".".join(_chain(words, 1))], holds=True, is_rest=True)
    kind = _keyword(words, ("record",), "")
    if kind >= 0 and words[kind + 2 : kind + 3] == ["("]:
        return _named(words[kind + 1 : kind + 2], has_body=False)
    if "=>" not in words:
        return None
    found = _java_function(words[: words.index("=>")])
    return found._replace(has_body=False) if found else None


def _java(head: Head, types: frozenset[str]) -> Definition | None:
    words = without_generics(_without_annotations(_without_attributes(head.words)))
    at = _keyword(words, types, "@-")
    if at < 0 or words[at + 1 : at + 2] in ([], ["("], ["="]):
        return _java_function(words)
    kind = words[at]
    while words[at + 1] in types and len(words) > at + 2:
        at += 1
    name = ".".join(_chain(words, at + 1))
    is_enum = kind == "enum"
    return _named([name], holds=not is_enum or "namespace" not in types, has_commas=is_enum)


def _java_function(words: list[str]) -> Definition | None:
    if not words or words[0] in _CONTROL:
        return None
    # A tuple may stand for a type.
    words = [word for word in words if word not in _JAVA_MODIFIERS]
    if "operator" in words:
        return _named(["operator " + _symbols(words, words.index("operator") + 1, "(")])
    at = _parameters(words)
    if at < 0 or words[at - 1] in _NO_NAMES or words[at - 2 : at - 1] == ["new"]:
        return None
    return _named(["~" * (words[at - 2 : at - 1] == ["~"]) + words[at - 1]])


def _property(words: list[str], head: Head) -> Definition | None:
    """A property whose accessors take lines of their own."""
    if not _SEVERAL_LINES.match(head.text, head.end) or "=" in words or "(" in words:
        return None
    if words[-2:] == ["[", "]"]:
        words = words[:-2]
    is_property = len(words) > 1 and _is_word(words[-1]) and words[0] not in _CONTROL
    return _named(words[-1:]) if is_property else None


# Go

_GO_FUNCTION = re.compile(r"func\s*(?:\(([^()]{0,300})\)\s*)?(\w+)")
_GO_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\[\]]*\])?\s*\Z")


def go(head: Head) -> Definition | None:
    words = head.words
    if words[0] == "func" and head.is_body:
        match = _GO_FUNCTION.match(head.text, head.start)
        if match is None:
            return None
        receiver = _GO_RECEIVER.search(match.group(1) or "")
        return _named([receiver.group(1) if receiver else "", match.group(2)])
    if words[0] == "type" and len(words) > 2 and _is_word(words[1]):
        return _named([words[1]], has_body=head.is_body)
    if words[0] in ("var", "const") and head.is_body and "=" in words:
        at = words.index("=")
        if words[at + 1 : at + 3] == ["func", "("] and words[-1] not in ("struct", "interface"):
            return _named(words[1:2])
    return None


# Rust

_RUST = frozenset(("fn", "struct", "enum", "union", "trait", "impl", "mod", "macro_rules"))


def rust(head: Head) -> Definition | None:
    words = without_generics(_without_attributes(head.words))
    if head.is_body and words[-2:] == ["extern", '""']:
        return Definition((), holds=True)
    at = _keyword(words, _RUST)
    if at < 0:
        return None
    kind, names = words[at], words[at + 1 : at + 2]
    if kind == "impl":
        return _named([_rust_type(words[at + 1 :])], holds=True) if head.is_body else None
    if kind == "macro_rules":
        names = words[at + 2 : at + 3]
    if not names or not _is_word(names[0]) or not (head.is_body or kind == "struct"):
        return None
    is_type = kind in ("struct", "enum", "union")
    return _named(names, holds=kind in ("trait", "mod"), has_body=head.is_body, has_commas=is_type)


def _rust_type(words: list[str]) -> str:
    """What an impl is for: the last name of its type."""
    if "where" in words:
        words = words[: words.index("where")]
    trait = ""
    if "for" in words:
        at = words.index("for")
        trait = _rust_type(words[:at])
        words = words[at + 1 :]
    named = [
        word
        for before, word in zip(["", *words], words)
        if _is_word(word) and before != "'" and word not in ("mut", "dyn", "const")
    ]
    return named[-1] if named else trait


# Kotlin

_KOTLIN = frozenset(("class", "interface", "object", "fun", "init", "constructor"))


def kotlin(head: Head) -> Definition | None:
    words = without_generics(_without_annotations(head.words))
    at = _keyword(words, _KOTLIN)
    if at < 0:
        return None
    kind, rest = words[at], words[at + 1 :]
    if kind == "fun" and rest[:1] != ["interface"]:
        is_value = "=" in rest
        if "(" not in rest or not (head.is_body or is_value):
            return None
        name = [_plain(word) for word in rest[: rest.index("(")] if _is_word(word)]
        return _named(name[-2:], has_body=head.is_body and not is_value)
    if kind in ("init", "constructor"):
        return _named([kind]) if head.is_body and (rest[:1] == ["("] or not rest) else None
    names = _chain(rest, int(rest[:1] in (["interface"], ["class"])))
    if kind == "object" and "companion" in words[:at]:
        names = names or ["Companion"]
    return _named([".".join(names)], holds=True, has_body=head.is_body)


# Swift

_SWIFT_TYPES = frozenset(("class", "struct", "enum", "protocol", "extension", "actor"))
_SWIFT = _SWIFT_TYPES | {"func", "init", "deinit", "subscript", "var"}
_SWIFT_MEMBERS = frozenset(("func", "var", "let", "subscript", "init", "override", "final"))


def swift(head: Head) -> Definition | None:
    if not head.is_body:
        return None
    words = without_generics(_without_annotations(head.words))
    at = _keyword(words, _SWIFT)
    while at >= 0 and words[at] in _SWIFT_TYPES and words[at + 1 : at + 2]:
        if words[at + 1] not in _SWIFT_MEMBERS:
            return _named([".".join(_chain(words, at + 1))], holds=True)
        behind = _keyword(words[at + 1 :], _SWIFT)
        at = behind if behind < 0 else at + 1 + behind
    if at < 0:
        return None
    kind, rest = words[at], words[at + 1 :]
    if kind == "func" and rest:
        name = _plain(rest[0]) if _is_word(rest[0]) else _symbols(rest, 0)
        return _named([name]) if "(" in rest else None
    if kind == "var":
        is_computed = rest and "=" not in rest and _SEVERAL_LINES.match(head.text, head.end)
        return _named([_plain(rest[0])]) if is_computed else None
    is_member = kind == "deinit" or rest[:1] in (["("], ["?"], ["!"])
    return _named([kind]) if is_member and kind not in _SWIFT_TYPES else None


# Scala

_SCALA = frozenset(("class", "trait", "object", "enum", "def", "given", "extension", "package"))


def scala(head: Head) -> Definition | None:
    words = _without_annotations(head.words)
    at = _keyword(words, _SCALA)
    if at < 0:
        return None
    kind, rest = words[at], words[at + 1 :]
    if kind == "def":
        return _scala_function(rest, head.is_body)
    if kind == "extension":
        return Definition((), holds=True) if head.is_body else None
    if kind == "package" and not head.is_body:
        return None
    if kind == "package" and rest[:1] == ["object"]:
        rest = rest[1:]
    if kind == "given" and not head.is_body:
        return None
    name = ".".join(_chain(rest, 0))
    return _named([name], holds=True, has_body=head.is_body, has_commas=kind == "enum")


def _scala_function(rest: list[str], is_body: bool) -> Definition | None:
    if not rest:
        return None
    name = _plain(rest[0]) if _is_word(rest[0]) else _symbols(rest, 0)
    behind = rest[1:] if _is_word(rest[0]) else rest[len(name) :]
    has_value = "=" in behind
    if not is_body:
        return _named([name], has_body=False) if has_value else None
    return _named([name], has_body=not has_value or behind[-1] == "=")


# PHP

_PHP = frozenset(("function", "class", "interface", "trait", "enum", "namespace"))


def php(head: Head) -> Definition | None:
    words = _without_attributes(head.words)
    at = _keyword(words, _PHP, "")
    if at < 0 or words[0] == "use":
        return None
    kind = words[at]
    name = "\\".join(_chain(words, at + 1 + (words[at + 1 : at + 2] == ["&"])))
    if kind == "namespace":
        names = (name,) if name else ()
        return Definition(names, holds=True, is_rest=not head.is_body)
    return _named([name], holds=kind != "function") if head.is_body else None


# JavaScript and TypeScript

_SCRIPT = frozenset(("function", "class", "interface", "enum", "namespace", "module"))
_SCRIPT_MODIFIERS = frozenset(
    "static async get set public private protected readonly override abstract declare accessor "
    "export default const".split()
)
#: What holds a name without being one.
_SCRIPT_HOLDERS = frozenset("exports module window self this globalThis global prototype".split())
#: A brace behind these opens a type.
_BEFORE_TYPE = frozenset((":", "|", "&", "<", ",", "extends", "keyof"))


def script(head: Head) -> Definition | None:
    words = _without_annotations(head.words)
    if head.in_object and "," in words:
        words = words[len(words) - words[::-1].index(",") :]
    if not words or (head.is_body and words[-1] in _BEFORE_TYPE):
        return UNDECIDED if words else None
    is_exported = words[0] == "export"
    is_default = words[:2] == ["export", "default"]
    for modifier in ("export", "default", "declare"):
        if words[0] == modifier and len(words) > 1:
            words = words[1:]
    if words == ["default"] or words == ["global"]:
        is_object = words == ["default"]
        return Definition((), holds=True, has_commas=is_object) if head.is_body else None
    found = _script_declaration(words, head.is_body, is_default)
    if found:
        return found
    if "=" in words:
        return _script_value(words, head, is_exported)
    if is_default:
        return _function_value(words, ("default",), head.is_body)
    if head.in_object and ":" in words:
        at = words.index(":")
        return _function_value(words[at + 1 :], _names(words[:at]), head.is_body)
    return None if head.in_module or not head.is_body else _script_method(words)


def _script_declaration(words: list[str], is_body: bool, is_default: bool) -> Definition | None:
    if words[0] == "type" and len(words) > 2 and _is_word(words[1]):
        return _named([words[1]], has_body=False)
    at = next((at for at, word in enumerate(words) if word not in _SCRIPT_MODIFIERS), 0)
    kind = words[at]
    if kind not in _SCRIPT or not is_body:
        return None
    if kind in ("namespace", "module") and words[at + 1 : at + 2] == ['""']:
        return Definition((), holds=True)
    name = ".".join(_chain(words, at + 1 + (words[at + 1 : at + 2] == ["*"])))
    if not name or name in ("extends", "implements"):
        name = "default" if is_default else ""
    return _named([name], holds=kind in ("class", "namespace", "module"), has_commas=kind == "enum")


def _script_value(words: list[str], head: Head, is_exported: bool) -> Definition | None:
    """A function or type that gets a name, or an object that is exported, or is a prototype."""
    at = words.index("=")
    names, value = _names(words[:at]), words[at + 1 :]
    is_object = is_exported or words[0] in ("exports", "module") or words[at - 1] == "prototype"
    if is_object and not value and head.is_body and head.in_module and names:
        own = () if names == ("exports",) else names
        return Definition(own, holds=True, has_commas=True)
    if value[:1] == ["class"] and head.is_body:
        return _named(names, holds=True)
    return _function_value(value, names, head.is_body)


def _names(words: list[str]) -> tuple[str, ...]:
    """The last two names to the left of a value: of `const a`, `a.b.c`, `A.prototype.b`, `a: T`."""
    if ":" in words:
        words = words[: words.index(":")]
    chain: list[str] = []
    at = len(words) - 1
    while at >= 0 and _is_word(words[at]):
        chain.insert(0, words[at])
        if at < 2 or words[at - 1] != ".":
            break
        at -= 2
    return tuple([name for name in chain if name not in _SCRIPT_HOLDERS][-2:] or chain[-1:])


def _function_value(value: list[str], names: tuple[str, ...], is_body: bool) -> Definition | None:
    value = without_generics(value)
    if value[:1] == ["async"]:
        value = value[1:]
    if value[:1] == ["function"]:
        return _named(names) if is_body else None
    behind = 2 if value[:2] == ["(", ")"] else 1
    if "=>" not in value[behind:] or value[behind] not in ("=>", ":"):
        return None
    return _named(names, has_body=is_body and value[-1] == "=>")


def _script_method(words: list[str]) -> Definition | None:
    words = without_generics(words)
    at = 0
    while at < len(words) and (words[at] in _SCRIPT_MODIFIERS or words[at] in ("*", "#")):
        if words[at + 1 : at + 2] in ([], ["("]):
            break
        at += 1
    if words[at : at + 3] == ["[", "]", "("]:
        return _named(["[]"])
    if words[at + 1 : at + 2] != ["("] or not _is_word(words[at]):
        return None
    return _named(["#" * (words[at - 1 : at] == ["#"]) + words[at]])


# The shell

_SHELL_NAME = r"([^\s(){}$\"'`;&|<>=]{1,200})"
_SHELL = re.compile(rf"(?:function\s+{_SHELL_NAME}(?:\s*\(\s*\))?|{_SHELL_NAME}\s*\(\s*\))\s*\Z")


def shell(head: Head) -> Definition | None:
    """A bracket is the body's behind the two that are empty, or behind `function name`."""
    match = _SHELL.match(head.text, head.start, head.end)
    is_body = head.words[-1:] == [")"] or head.text.startswith("{", head.end)
    if match is None or not is_body:
        return UNDECIDED
    return _named([match.group(1) or match.group(2)])


# SQL

_SQL_OBJECTS = frozenset(
    "function procedure view table index trigger type policy sequence schema domain rule aggregate "
    "extension role user database publication subscription server collation language statistics "
    "tablespace package group event search class family method configuration dictionary parser "
    "template operator constraint body transform conversion wrapper".split()
)
_SQL_SKIPPED = _SQL_OBJECTS | frozenset(
    "or replace alter temp temporary unlogged global local materialized recursive unique clustered "
    "foreign data default trusted procedural external concurrently if not exists virtual text "
    "access".split()
)
#: An object's name may be such a word too, if one of these is behind it.
_SQL_BEHIND = frozenset(("(", ".", "as", "on", "for", "using", "from", "with", "is", "returns"))
_SQL_NAMELESS = frozenset(("on", "for", "(", "mapping", "cast"))
#: These may stand behind options of their own.
_SQL_OPTIONAL = frozenset(("function", "procedure", "view", "trigger", "event"))


def sql(head: Head) -> Definition | None:
    words = [word for word in head.words if word not in ("[", "]")]
    if not words or words[0].lower() != "create":
        return None
    at = 1
    if words[1:2] and words[1].lower() in ("definer", "algorithm", "sql"):
        at = next(
            (at for at, word in enumerate(words) if word.lower() in _SQL_OPTIONAL), len(words)
        )
    is_object_known = False
    while at < len(words) and words[at].lower() in _SQL_SKIPPED:
        if is_object_known and "".join(words[at + 1 : at + 2]).lower() in _SQL_BEHIND:
            break
        is_object_known = is_object_known or words[at].lower() in _SQL_OBJECTS
        at += 1
    if at == len(words):
        return UNDECIDED
    if words[at].lower() in _SQL_NAMELESS:
        return None
    name = _chain([word.strip('"') or word for word in words], at)
    return _named([".".join(name)], has_body=False)
