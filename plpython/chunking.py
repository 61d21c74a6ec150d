"""The one door to the chunkers: a text and a rule in, pieces out."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Callable

from . import tokens
from .blocks import Mapped, Origins
from .pieces import Lines, Piece, Rule, Span
from .prefixes import Prefixes
from .prose import prose
from .reading import convert, format_of, is_mapped, read
from .window import windows

#: The modules of splitters that look at no format, imported when first asked for.
_OF_BARE_TEXT = {
    "recursive": "recursive",
    "sentence": "sentences",
    "token": "token_window",
    "semantic": "semantic",
}


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
    format is a name, an ending or a media type (see reading.format_of); one that is not known is
    plain text, and None looks at the path and the text.
    count gives the tokens of a text; ValueError if the rule is in tokens and there is none, and
    for a splitter or unit that is not known.
    """
    units = _units(rule, count)
    if rule.size < 1 or not 0 <= rule.overlap < rule.size:
        raise ValueError(f"size {rule.size} with overlap {rule.overlap} makes no chunks")
    return _chunk(text, rule, format_of(text, path, format), path, title, units, count)


def _chunk(
    text: str,
    rule: Rule,
    format: str,
    path: str,
    title: str,
    units: Callable[[str], int],
    count: Callable[[str], int] | None,
) -> Iterator[Piece | None]:
    mapped: Mapped | None = None
    if is_mapped(format):
        mapped = yield from convert(text, format)
    readable = mapped.text if mapped else text
    prefixes = Prefixes(rule, title, path, units)
    spans: Iterator[Span | None]
    if rule.splitter == "window":
        spans = windows(readable, rule, prefixes.of(()), units)
    elif rule.splitter == "prose":
        blocks = iter(mapped.blocks) if mapped else read(text, format, path)
        spans = prose(readable, rule, blocks, prefixes, units)
    elif rule.splitter == "whole":
        from .whole import whole

        blocks = iter(mapped.blocks) if mapped else read(text, format, path)
        spans = whole(readable, rule, blocks, prefixes, units)
    elif rule.splitter in _OF_BARE_TEXT:
        module = import_module("." + _OF_BARE_TEXT[rule.splitter], __package__)
        spans = module.spans(readable, rule, prefixes.of(()), units)
    else:
        raise ValueError(f"there is no splitter {rule.splitter!r}")
    lines = Lines(text)
    origins = Origins(mapped) if mapped else None
    last_end = 0
    for span in spans:
        if span is None:
            yield None
            continue
        start, end = span.start, span.end
        content = span.header + readable[start:end]
        repeats = len(span.header) + max(0, last_end - start)
        last_end = end
        if rule.unit == "tokens":
            token_count: int | None = span.units
        else:
            token_count = None if count is None else count(content)
        if origins:
            start, end = origins.of(start, end)
        yield Piece(
            section_path=span.section_path,
            section=span.section,
            start=start,
            end=end,
            first_line=lines.at(start),
            last_line=lines.after(end - 1),
            token_count=token_count,
            prefix=span.prefix,
            lead=span.lead,
            repeats=repeats,
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


def split_text(text: str, size: int = 1000, overlap: int = 200) -> list[str]:
    """Sliding windows of size characters, each repeating the last overlap of the one before."""
    pieces = chunk(text, Rule("window", "characters", size, overlap), format="text")
    return [piece.content for piece in pieces if piece is not None]
