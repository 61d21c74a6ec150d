"""Definitions of link targets in Markdown (CommonMark 0.31, section 4.7), line by line."""

from __future__ import annotations

import re

#: No line of a definition is longer than this.
_LONG_LINE = 1 << 13

#: A definition that is the rest of its line, with its title as group 1.
_WHOLE = re.compile(
    r"""(?! *\])[^\[\]\\]+\]: *[^\x00-\x20\x7f<()\\]+( +(?:"[^"\\]*"|'[^'\\]*'))? *\Z"""
)
_BLANKS = re.compile(" *")
_LABEL_MARK = re.compile(r"\\.|[\[\]]")
_DESTINATION = re.compile(r"<(?:[^<>\\]|\\.)*>|(?!<)[^\x00-\x20\x7f]+")
_TITLE_MARK = re.compile(r"\\.|[\"'()]")
_CLOSERS = {'"': '"', "'": "'", "(": ")"}


def awaited_after(line: str, at: int, awaited: str) -> str:
    """What a definition awaits behind line[at:], which goes on with it.

    What it awaits is `[`, text of its label; `]`, the label's end; `:`, its destination; one of
    `"`, `'` and `)`, the end of its title; `?`, maybe a title; `!`, nothing more. It is empty if
    the text is no definition.
    """
    if len(line) > _LONG_LINE:
        return ""
    if awaited == "[" and (whole := _WHOLE.match(line, at)):
        return "!" if whole.group(1) else "?"
    if awaited in ("[", "]"):
        end = _label_end(line, at)
        if awaited == "[" and line[at:end].strip():
            awaited = "]"
        if end == len(line):
            return awaited
        if awaited == "[" or not line.startswith("]:", end):
            return ""
        at, awaited = _visible(line, end + 2), ":"
    if awaited == ":":
        if at == len(line):
            return awaited
        destination = _DESTINATION.match(line, at)
        if destination is None or not _is_balanced(destination.group()):
            return ""
        at, awaited = _visible(line, destination.end()), "?"
        if at == len(line):
            return awaited
        if at == destination.end():
            return ""
    if awaited == "?":
        if line[at] not in _CLOSERS:
            return ""
        at, awaited = at + 1, _CLOSERS[line[at]]
    return _awaited_after_title(line, at, awaited)


def _label_end(line: str, at: int) -> int:
    """Where the next bracket is, or the end of the line."""
    for mark in _LABEL_MARK.finditer(line, at):
        if len(mark.group()) == 1:
            return mark.start()
    return len(line)


def _awaited_after_title(line: str, at: int, closer: str) -> str:
    for mark in _TITLE_MARK.finditer(line, at):
        if mark.group() == closer:
            return "!" if _visible(line, mark.end()) == len(line) else ""
        if mark.group() == "(" and closer == ")":
            return ""
    return closer


def _is_balanced(destination: str) -> bool:
    """Whether the parentheses of a destination stand in pairs, at most 32 deep."""
    if destination.startswith("<"):
        return True
    depth = 0
    for mark in _TITLE_MARK.finditer(destination):
        depth += {"(": 1, ")": -1}.get(mark.group(), 0)
        if not 0 <= depth <= 32:
            return False
    return depth == 0


def _visible(line: str, at: int) -> int:
    """The first column from at on that is no blank."""
    match = _BLANKS.match(line, at)
    return match.end() if match else at
