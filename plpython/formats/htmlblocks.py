"""How blocks of HTML begin and end in Markdown (CommonMark 0.31, section 4.6)."""

from __future__ import annotations

import re

COMMENT_ENDS = ("-->",)
_RAW_TEXT = ("script", "pre", "style", "textarea")
_RAW_TEXT_ENDS = tuple(f"</{name}>" for name in _RAW_TEXT)
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "base", "basefont", "blockquote", "body", "caption"),
        *("center", "col", "colgroup", "dd", "details", "dialog", "dir", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "frame", "frameset", "h1", "h2"),
        *("h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link"),
        *("main", "menu", "menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param"),
        *("search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title"),
        *("tr", "track", "ul"),
    )
)
_NAME = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_ATTRIBUTE = re.compile(
    r""" +[A-Za-z_:][A-Za-z0-9_.:-]*(?: *= *(?:[^ "'=<>`]+|'[^']*'|"[^"]*"))?"""
)
_TAG_END = re.compile(r" */?> *\Z")


def html_ends(line: str, at: int) -> tuple[str, ...] | None:
    """What ends the block of the first six kinds that begins in a line, in small letters; nothing
    stands for a blank line. None if no block begins."""
    if line.startswith("<!--", at):
        return COMMENT_ENDS
    if line.startswith("<?", at):
        return ("?>",)
    if line.startswith("<![CDATA[", at):
        return ("]]>",)
    if line.startswith("<!", at):
        letter = line[at + 2 : at + 3]
        return (">",) if letter.isascii() and letter.isalpha() else None
    match = _NAME.match(line, at)
    if match is None:
        return None
    name, end = match.group(2).lower(), match.end()
    is_whole = end == len(line) or line[end] in " >"
    if name in _RAW_TEXT and is_whole and not match.group(1):
        return _RAW_TEXT_ENDS
    if name in _BLOCKS and (is_whole or line.startswith("/>", end)):
        return ()
    return None


def is_tag(line: str, at: int) -> bool:
    """Whether the rest of a line is one whole tag of any name."""
    name = _NAME.match(line, at)
    if name is None:
        return False
    at = name.end()
    while not name.group(1) and (attribute := _ATTRIBUTE.match(line, at)):
        at = attribute.end()
    return _TAG_END.match(line, at) is not None
