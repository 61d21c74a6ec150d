"""Sliding windows: equal lengths of a text, each repeating the end of the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

from .blocks import INSIDE, WORD
from .graphemes import border_before
from .packing import TICK, Packed, Packer, Part
from .pieces import Rule, Span, is_blank

#: Parts of this many characters are measured whole; only at a window's ends are words measured.
_STRIDE = 256


def windows(
    text: str, rule: Rule, prefix: str, count: Callable[[str], int]
) -> Iterator[Span | None]:
    """Yield the start and end of each window, with None as ticks between.

    Windows of characters start at 0, size - overlap, 2 (size - overlap), … less the prefix, and
    only move back to keep a grapheme cluster whole. Windows in other units end between words, or
    inside one that is more than half a window. The last window reaches the end, none is blank, and
    none is only what the one before holds already. A cluster longer than a window is cut; a single
    character that is more than a window (a size of 1 to 3 tokens or bytes) is a window all the
    same.
    """
    spans: Iterator[Packed | None]
    if rule.unit == "characters":
        spans = _by_characters(text, rule.size - len(prefix), rule.overlap)
    else:
        packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=False)
        spans = packer.pack(_parts(text, packer))
    last_end = -1
    for span in spans:
        if span is None:
            yield None
            continue
        lead = "" if last_end < 0 else text[last_end : span.start]
        yield Span(span.start, span.end, span.units, (), 0, prefix, lead)
        last_end = span.end


def _by_characters(text: str, room: int, overlap: int) -> Iterator[Packed | None]:
    overlap = min(overlap, room - 1)
    start = last_end = since_tick = 0
    while last_end < len(text):
        end = border_before(text, min(start + room, len(text)), max(start, last_end))
        if not is_blank(text, last_end, end):
            yield Packed(start, end, end - start)
        since_tick += end - start
        if since_tick > TICK:
            since_tick = 0
            yield None
        last_end = end
        repeated = border_before(text, end - overlap, start)
        start = repeated if repeated > start else end


def _parts(text: str, packer: Packer) -> Iterator[Part]:
    """Stretches of whole words, or of clusters where there is no blank for long."""
    start, level = 0, WORD
    while start < len(text):
        end, border = _stretch(text, start)
        yield packer.part(start, end, level, WORD)
        start, level = end, border


def _stretch(text: str, start: int) -> tuple[int, int]:
    """Where a stretch from start ends, and the level of that border."""
    end = start + _STRIDE
    if end >= len(text):
        return len(text), WORD
    for at in range(end, end + _STRIDE):
        if at >= len(text):
            return len(text), WORD
        if text[at].isspace() and not text[at - 1].isspace():
            return at, WORD
    return border_before(text, end, start), INSIDE
