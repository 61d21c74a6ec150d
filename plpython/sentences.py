"""Sentences, packed up to the size."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Callable

from .blocks import LINE, SENTENCE
from .merging import merged, without_sections
from .packing import Packer, Part
from .pieces import Rule, Span

#: Line ends are looked for so many characters back.
_BLANKS = 64


def spans(text: str, rule: Rule, prefix: str, count: Callable[[str], int]) -> Iterator[Span | None]:
    """Yield spans of whole sentences, as many as fit, and None as ticks between.

    Each repeats whole sentences of up to rule.overlap units. A sentence that does not fit is cut
    between words. With the option `close`, a share of the size from 0 to 1, a span ends at a line
    end once it has so much text of its own: lines that stand together and are neither short nor
    too long make a span each.
    """
    packer = Packer(text, rule.size, rule.overlap, prefix, count, trim=True)
    close = rule.options.get("close", 1)
    if not isinstance(close, (int, float)):
        raise ValueError("the option close is not a number")
    parts = sentences(text, packer)
    return without_sections(text, prefix, merged(text, packer, parts, packer.room * close))


def sentences(text: str, packer: Packer) -> Iterator[Part | None]:
    """The sentences of a text, each with the blanks behind it, and None as ticks between.

    A line is a sentence too, unless the next one begins with a small letter: that one goes on with
    it, as far as both fit the room.
    """
    held: Part | None = None
    for part in _fragments(text, packer):
        if packer.is_due():
            yield None
        if held is not None:
            units = held.units + part.units
            if (
                part.level == LINE
                and units <= packer.room
                and line_ends_before(text, part.start) < 2
            ):
                held = held._replace(end=part.end, units=units)
                continue
            yield held
        held = part
    if held is not None:
        yield held


def _fragments(text: str, packer: Packer) -> Iterator[Part]:
    """Sentences and lines; what is longer than the packer looks at in one go is cut."""
    waiting = [Part(0, len(text), sys.maxsize, SENTENCE, SENTENCE)]
    while waiting:
        part = waiting.pop()
        if part.inner == SENTENCE:
            waiting.extend(reversed(packer.finer(part)))
        else:
            yield part


def line_ends_before(text: str, start: int) -> int:
    """How many line ends there are among the last blanks before a place."""
    end = text[max(0, start - _BLANKS) : start]
    blanks = end[len(end.rstrip()) :]
    return blanks.count("\n") + blanks.count("\r") - blanks.count("\r\n")
