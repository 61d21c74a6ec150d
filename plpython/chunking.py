"""The one door to the chunkers: a text and a rule in, pieces out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Callable

from . import tokens
from .markdown import front_matter
from .pieces import Lines, Piece, Rule, Span
from .prefixes import Prefixes
from .prose import prose
from .window import windows

_ENDING = re.compile(r"\.([A-Za-z0-9_]{1,16})\Z")
_MARKDOWN_ENDINGS = frozenset(("md", "markdown", "mdx", "mkd"))
_MARKDOWN_SIGN = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]+[^ \t\r\n]|```|~~~)"
    r"|^[^ \t\r\n>|+*-][^\r\n]*\r?\n {0,3}(?:=+|-{2,})[ \t]*\r?$",
    re.MULTILINE,
)
_LOOKED_AT = 1 << 16


def chunk(
    text: str,
    rule: Rule,
    *,
    format: str | None = None,
    path: str = "",
    title: str = "",
    count: Callable[[str], int] | None = None,
) -> Iterator[Piece | None]:
    """Cut a text by a rule; yield its pieces in reading order, and None as ticks between.

    Total, deterministic and linear in the text's length; a tick comes after about 20 ms of work.
    format is 'markdown', or anything else for plain text; None looks at the path and the text.
    count gives the tokens of a text; ValueError if the rule is in tokens and there is none, and
    for a splitter or unit that is not known.
    """
    units = _units(rule, count)
    if rule.size < 1 or not 0 <= rule.overlap < rule.size:
        raise ValueError(f"size {rule.size} with overlap {rule.overlap} makes no chunks")
    prefixes = Prefixes(rule, title, path, units)
    spans: Iterator[Span | None]
    if rule.splitter == "window":
        spans = windows(text, rule, prefixes.of(()), units)
    elif rule.splitter == "prose":
        if format is None:
            format = detect_format(text, path)
        spans = prose(text, rule, format == "markdown", prefixes, units)
    else:
        raise ValueError(f"there is no splitter {rule.splitter!r}")
    return _pieces(text, spans, rule.unit, count)


def _pieces(
    text: str, spans: Iterator[Span | None], unit: str, count: Callable[[str], int] | None
) -> Iterator[Piece | None]:
    lines = Lines(text)
    for span in spans:
        if span is None:
            yield None
            continue
        content = text[span.start : span.end]
        if unit == "tokens":
            token_count: int | None = span.units
        else:
            token_count = None if count is None else count(content)
        yield Piece(
            section_path=span.section_path,
            section=span.section,
            start=span.start,
            end=span.end,
            first_line=lines.at(span.start),
            last_line=lines.after(span.end - 1),
            token_count=token_count,
            prefix=span.prefix,
            lead=span.lead,
            content=content,
        )


def _units(rule: Rule, count: Callable[[str], int] | None) -> Callable[[str], int]:
    if rule.unit == "tokens":
        if count is None:
            raise ValueError("a rule in tokens needs a count of tokens")
        return count
    try:
        return tokens.UNITS[rule.unit]
    except KeyError:
        raise ValueError(f"there is no unit {rule.unit!r}") from None


def detect_format(text: str, path: str) -> str:
    """'markdown' or 'text'.

    A path that has an ending decides: .md, .markdown, .mdx and .mkd are Markdown, all others text.
    Without one it is Markdown if its first 64 KB have an ATX heading, an opening fence, a line
    underlined by = or -- or front matter.
    """
    ending = _ENDING.search(path[-32:])
    if ending:
        return "markdown" if ending.group(1).lower() in _MARKDOWN_ENDINGS else "text"
    head = text[:_LOOKED_AT].lstrip("\ufeff")
    return "markdown" if _MARKDOWN_SIGN.search(head) or front_matter(head)[1] else "text"


def split_text(text: str, size: int = 1000, overlap: int = 200) -> list[str]:
    """Sliding windows of size characters, each repeating the last overlap of the one before."""
    pieces = chunk(text, Rule("window", "characters", size, overlap))
    return [piece.content for piece in pieces if piece is not None]
