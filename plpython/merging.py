"""Merges neighbouring parts of a text, each of them whole, into spans up to the size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from .blocks import GROUP, SENTENCE
from .packing import Packed, Packer, Part
from .pieces import Span, is_blank


def merged(
    text: str, packer: Packer, parts: Iterable[Part | None], line_end_closes: float = inf
) -> Iterator[Packed | None]:
    """Yield spans of contiguous parts in reading order, and None as ticks between.

    A span takes parts as long as they fit, but none with GROUP behind another. Before its
    first part it repeats whole parts from the end of the span before, as many as the packer's
    overlap and the room allow. Once its own parts have line_end_closes units, it ends at the next
    line end. A part that does not fit by itself is cut by the packer.
    """
    merger = _Merger(text, packer)
    for part in parts:
        if part is None or packer.is_due():
            yield None
        # What has no units is blank.
        if part is None or part.units == 0:
            continue
        if merger.own and (
            part.level & GROUP
            or (merger.own >= line_end_closes and text[part.start - 1] in "\r\n")
            or not merger.take(part)
        ):
            yield from merger.close()
        if not merger.own:
            merger.open(part)
    yield from merger.close()


class _Merger:
    """The span that is being filled: parts, and their units; own are those not repeated."""

    def __init__(self, text: str, packer: Packer) -> None:
        self._text = text
        self._packer = packer
        self._parts: list[Part] = []
        self._used = 0
        self.own = 0
        self._last_start = self._last_end = -1

    def open(self, part: Part) -> None:
        """Begin with the end of the parts that were closed last, if it fits, and a part."""
        left = min(self._packer.overlap, self._packer.room - part.units)
        tail: list[Part] = []
        for before in reversed(self._parts[1:]):
            left -= before.units
            if left < 0:
                break
            tail.append(before)
        self._parts = [*reversed(tail), part]
        self._parts[0] = self._without_blank(self._parts[0])
        self._used = sum(one.units for one in self._parts)
        self.own = self._parts[-1].units

    def _without_blank(self, part: Part) -> Part:
        """The first part of a span, which begins with its first word if that is inside a line."""
        text, start, end = self._text, part.start, part.end
        if start == 0 or text[start - 1] in "\r\n" or text[start] != " ":
            return part
        start = end - len(text[start:end].lstrip())
        return self._packer.part(start, end, part.level, part.inner) if start < end else part

    def take(self, part: Part) -> bool:
        """Add a part if it fits."""
        room = self._packer.room
        if part.units <= room < self._used + part.units:
            # Blanks at its end would be lost.
            end = part.start + len(self._text[part.start : part.end].rstrip())
            if end < part.end:
                part = self._packer.part(part.start, end, part.level, part.inner)
        if self._used + part.units > room:
            return False
        self._parts.append(part)
        self._used += part.units
        self.own += part.units
        return True

    def close(self) -> Iterator[Packed | None]:
        """Yield what the parts come to: one span, unless they do not fit as one text."""
        self.own = 0
        for span in self._packer.pack(part._replace(level=SENTENCE) for part in self._parts):
            if span is None:
                yield None
            elif span.start > self._last_start and not is_blank(
                self._text, max(span.start, self._last_end), span.end
            ):
                yield span
                self._last_start, self._last_end = span.start, span.end


def without_sections(
    text: str, prefix: str, packed: Iterable[Packed | None]
) -> Iterator[Span | None]:
    """The same as spans of a document that has no sections."""
    last_end = -1
    for span in packed:
        if span is None:
            yield None
            continue
        lead = "" if last_end < 0 else text[last_end : span.start]
        yield Span(span.start, span.end, span.units, (), 0, prefix, lead)
        last_end = span.end
