"""Windows of exactly so many tokens, as far as none is cut inside a character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Callable

from .graphemes import LONGEST, border_before, is_border
from .merging import without_sections
from .packing import TICK, Packed
from .pieces import Rule, Span, is_blank

_WORD = re.compile(r"\w+")
#: So many characters of a word are looked at for its end.
_LONGEST_WORD = 64


def spans(text: str, rule: Rule, prefix: str, count: Callable[[str], int]) -> Iterator[Span | None]:
    """Yield windows of rule.size tokens less those of the prefix, and None as ticks between.

    A window ends behind its last token, be it inside a word, but never inside a grapheme cluster
    that fits, and begins with the last rule.overlap tokens of the one before. None is blank or only
    what the one before holds. ValueError if the rule is in other units.
    """
    if rule.unit != "tokens":
        raise ValueError("the splitter 'token' needs a rule in tokens")
    packed = _windows(text, rule.size, rule.overlap, _Measure(text, prefix, count))
    return without_sections(text, prefix, packed)


class _Measure:
    """Counts the tokens of stretches of a text, and the characters that were looked at for it."""

    def __init__(self, text: str, prefix: str, count: Callable[[str], int]) -> None:
        self._text = text
        self._prefix = prefix
        self._count = count
        self._work = 0

    def alone(self, start: int, end: int) -> int:
        """The tokens of text[start:end]."""
        self._work += end - start
        return self._count(self._text[start:end])

    def with_prefix(self, start: int, end: int) -> int:
        """The tokens of the prefix and text[start:end]."""
        self._work += end - start
        return self._count(self._prefix + self._text[start:end])

    def is_due(self) -> bool:
        """Whether so much was looked at since the last time it was that a tick is due."""
        if self._work <= TICK // 2:
            return False
        self._work = 0
        return True


def _windows(text: str, size: int, overlap: int, measure: _Measure) -> Iterator[Packed | None]:
    overlap = min(overlap, max(0, size - measure.with_prefix(0, 0) - 1))
    length = 4 * size
    start = last_end = 0
    while last_end < len(text):
        if measure.is_due():
            yield None
        near, far = start, min(len(text), start + 2 * length)
        while measure.with_prefix(start, far) <= size and far < len(text):
            near, far = far, min(len(text), far + length)
            if measure.is_due():
                yield None
        units = partial(measure.with_prefix, start)
        end = max(_end(text, units, near, far, size), start + 1)
        if end <= last_end:
            # Nothing fits behind the overlap.
            start = last_end
            continue
        end = border_before(text, end, last_end)
        # Half a word may have more tokens than the whole.
        while end > last_end + 1 and units(end) > size:
            end = border_before(text, end - 1, last_end)
        if not is_blank(text, last_end, end):
            yield Packed(start, end, measure.alone(start, end))
        length, last_end = end - start, end
        if measure.is_due():
            yield None
        start = _start(text, start, end, overlap, measure)


def _end(text: str, units: Callable[[int], int], near: int, far: int, size: int) -> int:
    """A place between near and far with size units before, at the end of a word if it can be."""
    while True:
        end = _border(units, near, far, size)
        word = _WORD.match(text, end, min(far, end + _LONGEST_WORD))
        found = units(word.end()) if word else size
        if found > size or not word:
            return end
        if found == size:
            return word.end()
        # A word may have less tokens than what it begins with.
        near = word.end()


def _start(text: str, low: int, end: int, overlap: int, measure: _Measure) -> int:
    """A place behind low from which text[:end] has the last overlap tokens."""
    if overlap == 0 or measure.alone(low, end) <= overlap:
        return end
    start = _border(lambda at: measure.alone(at, end), end, low, overlap)
    for at in range(start, min(end, start + LONGEST)):
        if is_border(text, at, low):
            return at
    return start


def _border(units: Callable[[int], int], near: int, far: int, allowed: int) -> int:
    """A place on the way from near to far with as many units between as are allowed, or the last
    one with less, as far as they grow on that way: by secants and halves in turn."""
    near_units, far_units = units(near), units(far)
    if far_units <= allowed:
        return far
    halves = False
    while near_units < allowed and abs(far - near) > 1:
        share = 0.5
        if not halves and far_units > near_units:
            share = (allowed - near_units + 0.5) / (far_units - near_units)
        at = near + round((far - near) * share)
        at = max(min(near, far) + 1, min(at, max(near, far) - 1))
        found = units(at)
        if found <= allowed:
            near, near_units = at, found
        else:
            far, far_units = at, found
        halves = not halves
    return near
