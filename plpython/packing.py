"""Packs the parts of a text into spans within a budget, cutting at the strongest border in reach.

Greedy from the start of a group, so that a border depends on the text before it and one part behind
it only: an edit moves no border in front of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Callable, NamedTuple

from .blocks import BLOCK, GROUP, INSIDE, LINE, SENTENCE, WORD
from .graphemes import LONGEST, border_before, is_border
from .pieces import is_blank

#: No part longer than this many characters is counted or searched in one go.
REACH = 8192
#: After so many characters of work the control goes back to the caller: about 20 ms.
TICK = 1 << 16

#: A part of more characters than this for each unit of room is counted by its sentences only.
_LONG = 4
#: What is left of a part is counted anew once it has at most so many characters for each unit.
_NEAR = 4
#: If two counts together are this far from the size, their sum need not be checked: a border
#: between two texts makes a token or two more or less.
_SLACK = 8
#: A border between words is looked for so many characters back.
_WORD = 200

#: Stops and what closes with them.
_STOPS = re.compile("[.!?…。！？；．｡।॥؟۔።፧။។][.!?…。！？；．｡।॥؟۔።፧။។]*[\"'”’」』）】》)\\]»*_]*")
#: These end a sentence by themselves, others only between a character and a blank.
_FULL_STOP = re.compile("[。！？；．｡।॥؟۔።፧။។]|……")
_MORE_STOPS = frozenset(".!?…。！？；．｡।॥؟۔።፧။។")
#: A stop behind one of these, or behind one letter or two with a stop between, does not end a
#: sentence, nor does one behind a number at the begin of a line.
_ABBREVIATIONS = frozenset(
    "Mr Mrs Ms Dr Prof St Sr Jr vs cf al No Nos Fig Figs Eq Eqs Sec Ch Vol pp ca approx Inc Ltd Co "
    "Corp bzw Nr Abb".split()
)
#: Before a small letter a stop ends a sentence behind a word or a number of so many characters:
#: shorter ones are abbreviations of all languages ("incl.", "evtl."), and days ("3. mai").
_LONG_WORD, _LONG_NUMBER = 5, 3
_NUMBERED = re.compile(r"(?:^|[\r\n])\s*[0-9]{1,3}\Z")
#: With the blank lines behind it.
_LINE_END = re.compile(r"(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*")
#: So far from the ends of a span a border is looked for at which counts add up.
_NEAR_END = 64
_NO_HEADER = (0, 0)


class Part(NamedTuple):
    """A stretch of a text that is kept whole if it fits.

    start and end are offsets, level is that of the border before it, and inner (SENTENCE or WORD)
    that of the borders at which it may be cut. header is what a span that begins here repeats.
    """

    start: int
    end: int
    units: int
    level: int
    inner: int
    header: tuple[int, int] = _NO_HEADER


class Packed(NamedTuple):
    """A span, the span of the header before it, and the units of both."""

    start: int
    end: int
    units: int
    header: tuple[int, int] = _NO_HEADER


class Packer:
    """Packs the parts of one text for one budget.

    A span, its header and the prefix hold at most size units, and the next span repeats at most
    overlap of them, or the header alone. A header of more than half the room is left out. With
    trim, spans lose blanks at both ends. A single character that is more than the room is a span
    all the same.
    """

    def __init__(
        self,
        text: str,
        size: int,
        overlap: int,
        prefix: str,
        count: Callable[[str], int],
        trim: bool,
    ) -> None:
        self._text = text
        self._size = size
        self._prefix = prefix
        self._prefix_units = count(prefix)
        self.room = max(1, size - self._prefix_units)
        # At least half of a span is new.
        self.overlap = min(overlap, self.room // 2)
        self._count = count
        self._trim = trim
        self._long = min(REACH, _LONG * self.room)
        self._header, self._header_units = _NO_HEADER, 0
        self._work = 0

    def part(
        self, start: int, end: int, level: int, inner: int, header: tuple[int, int] = _NO_HEADER
    ) -> Part:
        """Measure text[start:end], but not what is too long to fit or to be counted in one go."""
        if end - start > (REACH if inner == WORD else self._long):
            return Part(start, end, sys.maxsize, level, inner, header)
        return Part(start, end, self._measure(start, end), level, inner, header)

    def header_units(self, header: tuple[int, int]) -> int:
        """The units of a header; 0 where it is too long to be repeated."""
        if header[0] == header[1]:
            return 0
        if header != self._header:
            start, end = header
            units = self._measure(start, end) if end - start <= self._long else sys.maxsize
            self._header, self._header_units = header, units if units * 2 <= self.room else 0
        return self._header_units

    def is_due(self) -> bool:
        """Whether so much was measured since the last time it was that a tick is due."""
        if self._work <= TICK:
            return False
        self._work = 0
        return True

    def pack(self, parts: Iterable[Part | None]) -> Iterator[Packed | None]:
        """Yield the spans of contiguous parts in reading order, and None as ticks between."""
        source = iter(parts)
        waiting: list[Part] = []  # the next part is the last
        taken: list[Part] = []
        used = header_units = 0
        room = self.room
        last_start = last_end = -1
        reached = -1  # the end of the last part of the span before, blanks and all
        while True:
            if self._work > TICK:
                self._work = 0
                yield None
            part = waiting.pop() if waiting else next(source, _END)
            if part is None:
                yield None
                continue
            if not taken:
                header_units = self.header_units(part.header)
                used = header_units
            is_new = bool(taken) and taken[-1].end > reached
            cut = len(taken)
            if part is _END:
                if not taken:
                    return
            elif not (is_new and part.level & GROUP):
                if used + part.units <= room:
                    taken.append(part)
                    used += part.units
                    continue
                if taken and not is_new and part.units <= room:
                    # Rather whole than behind an overlap.
                    waiting.append(part)
                    taken = []
                    continue
                best = _best_cut(taken, part, reached, room - header_units)
                level = taken[best].level if best < len(taken) else part.level
                if best and level > part.inner:
                    cut = best
                elif part.inner == SENTENCE or part.end - part.start > REACH:
                    waiting.extend(reversed(self.finer(part)))
                    continue
                else:
                    head, rest = self._split(part, room, used)
                    waiting.extend(rest)
                    if head is not None:
                        taken.append(head)
                        cut += 1
                    elif not is_new:
                        # Not even a character fits behind the overlap or the header.
                        if header_units:
                            waiting.append(waiting.pop()._replace(header=_NO_HEADER))
                        taken = []
                        continue
                    part = waiting.pop() if waiting else _END
            start, end = self._trimmed(taken[0], taken[cut - 1].end)
            if start <= last_start:
                start = last_end
            # What is no more than a repetition is dropped.
            if not is_blank(self._text, max(start, last_end), end):
                header = taken[0].header if header_units else _NO_HEADER
                units = header_units + self._span_units(taken[:cut], start, end)
                over = self._excess(header, start, end, units)
                if over > 0 and end - start > 1:
                    # Once more with less room.
                    room = max(0, header_units + sum(one.units for one in taken[:cut]) - over)
                    if part is not _END:
                        waiting.append(part)
                    waiting.extend(reversed(taken))
                    taken = []
                    continue
                yield Packed(start, end, units, header)
                last_start, last_end = start, end
            reached = taken[cut - 1].end
            if part is not _END:
                waiting.append(part)
            waiting.extend(reversed(taken[cut:]))
            if waiting and self.overlap and not self.header_units(waiting[-1].header):
                waiting.extend(reversed(self._tail(taken[:cut])))
            taken, room = [], self.room

    def _measure(self, start: int, end: int) -> int:
        self._work += 64 + end - start
        return self._count(self._text[start:end])

    def _span_units(self, taken: list[Part], start: int, end: int) -> int:
        """The units of text[start:end], which is what was taken but for blanks at its ends: by sums
        where counts add up."""
        units = 0
        for at, part in enumerate(taken):
            if at and not self._adds_up(part.start):
                return self._measure(start, end)
            units += part.units
        text, count = self._text, self._count
        before, behind = taken[0].start, taken[-1].end
        if start != before:
            at = text.find(" ", start + 1, min(start + _NEAR_END, end))
            if start < before or at < 0 or not self._adds_up(at):
                return self._measure(start, end)
            units += count(text[start:at]) - count(text[before:at])
        if end != behind:
            at = text.rfind(" ", max(start + 1, end - _NEAR_END), end)
            if at < 0 or not self._adds_up(at):
                return self._measure(start, end)
            units += count(text[at:end]) - count(text[at:behind])
        return units

    def _adds_up(self, at: int) -> bool:
        """Whether the units of a text are the sum of those before and behind this place: before a
        blank behind a word, or at the begin of a line that is not blank."""
        before, after = self._text[at - 1 : at], self._text[at : at + 1]
        if before == "\n" or before == "\r":
            if after == " " or after == "\t":
                after = self._text[at : at + _WORD].lstrip(" \t")[:1]
            return bool(after) and not after.isspace()
        return after == " " and not before.isspace()

    def _excess(self, header: tuple[int, int], start: int, end: int, units: int) -> int:
        """By how much a span, its header and the prefix are over the size."""
        over = self._prefix_units + units - self._size
        first = header[0] if header != _NO_HEADER else start
        if not self._prefix or over < -_SLACK or not self._text[first].isspace():
            # A prefix ends in a blank line, behind which counts add up.
            return over
        content = self._text[header[0] : header[1]] + self._text[start:end]
        return self._count(self._prefix + content) - self._size

    def _tail(self, taken: list[Part]) -> list[Part]:
        """The parts at the end of a span that the next one repeats."""
        tail: list[Part] = []
        left = self.overlap
        before = list(taken)
        while before and left > 0:
            part = before.pop()
            if part.units <= left:
                tail.append(part)
                left -= part.units
            elif part.inner == SENTENCE and (sentences := self._last_sentences(part, left)):
                tail.append(sentences)
                break
            elif tail and tail[-1].level > WORD:
                break
            else:
                at, units = self._fit(part.end, part.start, part.units, left, self._word_border, 4)
                if at < part.end:
                    tail.append(Part(at, part.end, units, WORD, WORD))
                break
        tail.reverse()
        if tail and tail[0].start <= taken[0].start:
            del tail[0]
        strong = (at for at, part in enumerate(tail) if part.level >= SENTENCE)
        return tail[next(strong, 0) :]

    def _last_sentences(self, part: Part, left: int) -> Part | None:
        """The end of a part from the start of a sentence or a line on, of at most so many units."""
        start, end = part.start, part.end
        length = (end - start) * left // part.units
        begin = max(start, end - length - _WORD)
        borders = self._sentences(begin, end)[1:]
        longest = length + length // 8
        for least in (SENTENCE, LINE):
            for at, level in borders:
                if level >= least and end - at <= longest:
                    units = self._measure(at, end)
                    if units <= left:
                        return Part(at, end, units, level, WORD)
        return None

    def finer(self, part: Part) -> list[Part]:
        """A part cut at its sentences and lines, or, if that is too much to look at, in two."""
        start, end, _, level, inner, header = part
        if end - start > REACH:
            middle, border = self._far_border(start, inner)
            return [
                self.part(start, middle, level, inner, header),
                Part(middle, end, sys.maxsize, border, inner, header)
                if end - middle > REACH
                else self.part(middle, end, border, inner, header),
            ]
        borders = self._sentences(start, end)
        borders[0] = start, level
        ends = chain((at for at, _ in borders[1:]), [end])
        return [self.part(at, to, border, WORD, header) for (at, border), to in zip(borders, ends)]

    def _far_border(self, start: int, inner: int) -> tuple[int, int]:
        """Where to cut what is too long to be looked at whole."""
        end = start + REACH
        if inner == SENTENCE:
            borders = self._sentences(start, end)
            if len(borders) > 1:
                return borders[-1]
        at = self._word_border(end, start, end + 1)
        return (border_before(self._text, end, start), INSIDE) if at is None else (at, WORD)

    def _sentences(self, start: int, end: int) -> list[tuple[int, int]]:
        """The starts of sentences and lines in text[start:end], and the levels of these borders. A
        sentence inside a line starts with the blanks before it."""
        text = self._text
        self._work += end - start
        borders = {start: SENTENCE}
        for match in _LINE_END.finditer(text, start, end):
            at = match.end()
            if at < end:
                borders[at] = LINE if text[at].islower() else SENTENCE
        for match in _STOPS.finditer(text, start, end):
            at = match.end()
            if at < end:
                after = text[at]
                if after == "\n" or after == "\r":
                    line = _LINE_END.match(text, at, end)
                    at = line.end() if line else end
                    if at < end and self._ends_sentence(match, start, text[at]):
                        borders[at] = SENTENCE
                elif self._ends_sentence(match, start, text[at + 1 : at + 2]):
                    borders[at] = SENTENCE
        return sorted(borders.items())

    def _ends_sentence(self, match: re.Match[str], start: int, following: str) -> bool:
        """Whether a stop ends a sentence; following is the character behind the blank behind it."""
        text, stop = self._text, match.start()
        stops = match.group()
        if not text[match.end()].isspace():
            return _FULL_STOP.search(stops) is not None
        if text[stop - 1 : stop].isspace():
            # As French has it, and text of which the words were told apart.
            return following.isupper() or _FULL_STOP.search(stops) is not None
        if stops[0] != "." or (len(stops) > 1 and stops[1] in _MORE_STOPS):
            return True
        before = text[max(start, stop - 12) : stop]
        word = "".join(before.rsplit(None, 1)[-1:]).lstrip("([")
        if following.islower() and len(word) < (_LONG_NUMBER if word.isdigit() else _LONG_WORD):
            return False
        if not 0 < len(word) <= 6:
            return True
        if word.isdigit():
            return not _NUMBERED.search(before)
        return not (
            word in _ABBREVIATIONS
            or (len(word) == 1 and word.isalpha())
            or (len(word) == 3 and word[1] == ".")
        )

    def _split(self, part: Part, room: int, used: int) -> tuple[Part | None, list[Part]]:
        """Cut a part so that its head fills the room: between words if the span is then half full,
        else inside a word. None where not even one character fits."""
        start, end, header = part.start, part.end, part.header
        allowed = room - used
        at, units = self._fit(start, end, part.units, allowed, self._word_border)
        level = WORD
        if at == start or (used + units) * 2 < room:
            inside, fitting = self._fit(start, end, part.units, allowed, self._cluster_border)
            if inside == start and not used:
                inside, fitting = self._fit(start, end, part.units, allowed, _any_border)
                if inside == start:
                    inside, fitting = start + 1, self._measure(start, start + 1)
            if inside > start:
                at, units, level = inside, fitting, INSIDE
        if at == start:
            return None, [part]
        head = Part(start, at, units, part.level, WORD, header)
        if at == end:
            return head, []
        if end - at <= _NEAR * room:
            return head, [self.part(at, end, level, WORD, header)]
        # Differences drift: this one is to be cut again, whatever is left.
        rest = Part(at, end, max(room + 1, part.units - units), level, WORD, header)
        return head, [rest]

    def _fit(
        self,
        near: int,
        far: int,
        units: int,
        allowed: int,
        border: Callable[[int, int, int], int | None],
        enough: int = 16,
    ) -> tuple[int, int]:
        """The border that is far from near on the way to far with at most so many units between,
        and these; near and 0 if there is none. By interpolation, for units grow evenly; what is
        found may leave one part in `enough` of what is allowed."""
        anchor = near
        near_units, far_units = 0, units
        # The middle of what will do.
        aim = allowed - allowed // (2 * enough)
        for turn in range(12):
            share = 0.5
            if turn < 6 and far_units > near_units:
                share = min(1.0, (aim - near_units) / (far_units - near_units))
            at = border(near + int((far - near) * share), min(near, far), max(near, far))
            if at is None:
                break
            if near == anchor or not self._adds_up(near):
                found = self._measure(min(anchor, at), max(anchor, at))
            else:
                found = near_units + self._measure(min(near, at), max(near, at))
            if found > allowed:
                far, far_units = at, found
                continue
            near, near_units = at, found
            if (allowed - found) * enough < allowed:
                break
        return near, near_units

    def _word_border(self, at: int, low: int, high: int) -> int | None:
        """The border between words in (low, high), the last up to `at`, or the next behind it."""
        base = max(low, at - _WORD)
        before = self._text[base : at + 1].rstrip()
        if base + len(before) > at:
            # There is no blank at the end: go back to the last.
            words = before.rsplit(None, 1)
            before = words[0] if len(words) == 2 else ""
        border = base + len(before)
        if before and low < border < high:
            return border
        match = _BLANK.search(self._text, max(at, low + 1), min(high, at + _WORD))
        return match.start() if match else None

    def _cluster_border(self, at: int, low: int, high: int) -> int | None:
        """The border between grapheme clusters in (low, high) that is next to `at`."""
        at = border_before(self._text, min(max(at, low + 1), high - 1), low)
        last = min(high, at + LONGEST)
        while at < last and not is_border(self._text, at, low):
            at += 1
        return at if low < at < last else None

    def _trimmed(self, first: Part, end: int) -> tuple[int, int]:
        """A span without blanks at its end, nor at its start blank lines, nor the blanks before a
        sentence inside a line. It keeps the indent of its first line, and the blank before a word
        where a line had to be cut."""
        start = first.start
        if not self._trim:
            return start, end
        content = self._text[start:end]
        finish = start + len(content.rstrip())
        indent = len(content) - len(content.lstrip())
        if indent:
            line = max(content.rfind("\n", 0, indent), content.rfind("\r", 0, indent)) + 1
            if (
                not line
                and first.level % GROUP >= SENTENCE
                and self._text[start - 1 : start].strip()
            ):
                line = indent
            start += line
        return min(start, finish), finish


_BLANK = re.compile(r"(?<=\S)\s")
_END = Part(0, 0, 0, BLOCK, WORD)


def _any_border(at: int, low: int, high: int) -> int | None:
    at = min(max(at, low + 1), high - 1)
    return at if low < at < high else None


def _best_cut(taken: list[Part], following: Part, reached: int, room: int) -> int:
    """How many of the taken parts to keep: up to the last of the strongest borders in the upper
    half of the room, or 0 if there is none behind the span before."""
    best, best_level = 0, -1
    used = 0
    for at, part in enumerate(taken, 1):
        used += part.units
        level = taken[at].level if at < len(taken) else following.level
        if used * 2 >= room and part.end > reached and level >= best_level:
            best, best_level = at, level
    return best
