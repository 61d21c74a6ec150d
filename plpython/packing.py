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

from .graphemes import LONGEST, border_before, is_border
from .pieces import is_blank

#: Borders, from the weakest: inside a word (between grapheme clusters, if they are not longer than
#: the budget), between words, lines of running text, sentences, lines that stand for themselves
#: (rows of a table, lines of code, nested items), items of a list, blocks, and groups of parts,
#: which never share a span.
INSIDE, WORD, LINE, SENTENCE, ROW, ITEM, BLOCK, GROUP = range(8)

#: No part longer than this many characters is counted or searched in one go.
REACH = 8192
#: After so many characters of work the control goes back to the caller: about 20 ms.
TICK = 1 << 16

#: A part of more characters than this for each unit of room is not counted: it is cut anyway.
_LONG = 6
#: What is left of a part is counted anew once it has at most so many characters for each unit.
_NEAR = 4
#: If two counts together are this far from the size, their sum need not be checked: a border
#: between two texts makes a token or two more or less.
_SLACK = 8
#: A border between words is looked for so many characters back.
_WORD = 200

#: Stops, what closes with them, and blanks; a pattern that begins with a class is found fast.
_STOPS = re.compile(r"([.!?…。！？；．｡]+)[\"'”’」』）】》)\]»*_]*\s*")
#: These end a sentence by themselves, others only between a character and a blank.
_FULL_STOP = re.compile("[。！？；．｡]|……")
#: A stop behind these does not end a sentence, and no stop does before a small letter.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[])(?:[A-Za-z]|[A-Za-z]\.[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|cf|al|No|Nos|Figs?|"
    r"Eqs?|Sec|Ch|Vol|pp|ca|approx|Inc|Ltd|Co|Corp|bzw|Nr|Abb)\Z|(?:^|[\r\n])\s*[0-9]{1,3}\Z"
)
#: With the blank lines behind it.
_LINE_END = re.compile(r"(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*")


class Part(NamedTuple):
    """A stretch of a text that is kept whole if it fits.

    start and end are offsets, level is that of the border before it, and inner (SENTENCE or WORD)
    that of the borders at which it may be cut.
    """

    start: int
    end: int
    units: int
    level: int
    inner: int


class Packed(NamedTuple):
    """A span and the units of its content alone."""

    start: int
    end: int
    units: int


class Packer:
    """Packs the parts of one text for one budget.

    A span and the prefix hold at most size units, and the next span repeats at most overlap of
    them. With trim, spans lose blanks at both ends. A single character that is more than the room
    is a span all the same.
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
        self._work = 0

    def part(self, start: int, end: int, level: int, inner: int) -> Part:
        """Measure text[start:end], but not what is too long to fit or to be counted in one go."""
        if end - start > (REACH if inner == WORD else self._long):
            return Part(start, end, sys.maxsize, level, inner)
        return Part(start, end, self._measure(start, end), level, inner)

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
        used = 0
        room = self.room
        last_start = last_end = -1
        reached = -1  # the end of the last part of the span before, blanks and all
        while True:
            if self.is_due():
                yield None
            part = waiting.pop() if waiting else next(source, _END)
            if part is None:
                yield None
                continue
            is_new = bool(taken) and taken[-1].end > reached
            cut = len(taken)
            if part is _END:
                if not taken:
                    return
            elif not (is_new and part.level == GROUP):
                if used + part.units <= room:
                    taken.append(part)
                    used += part.units
                    continue
                if taken and not is_new and part.units <= room:
                    # Rather whole than behind an overlap.
                    waiting.append(part)
                    taken, used = [], 0
                    continue
                best = _best_cut(taken, part, reached, room)
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
                        # Not even a character fits behind the overlap.
                        taken, used = [], 0
                        continue
                    part = waiting.pop() if waiting else _END
            start, end = self._trimmed(taken[0].start, taken[cut - 1].end)
            if start <= last_start:
                start = last_end
            # What is no more than a repetition is dropped.
            if not is_blank(self._text, max(start, last_end), end):
                units = self._measure(start, end)
                over = self._excess(start, end, units)
                if over > 0 and end - start > 1:
                    # Once more with less room.
                    room = max(0, sum(one.units for one in taken[:cut]) - over)
                    if part is not _END:
                        waiting.append(part)
                    waiting.extend(reversed(taken))
                    taken, used = [], 0
                    continue
                yield Packed(start, end, units)
                last_start, last_end = start, end
            reached = taken[cut - 1].end
            if part is not _END:
                waiting.append(part)
            waiting.extend(reversed(taken[cut:]))
            if waiting:
                waiting.extend(reversed(self._tail(taken[:cut])))
            taken, used, room = [], 0, self.room

    def _measure(self, start: int, end: int) -> int:
        self._work += 64 + end - start
        return self._count(self._text[start:end])

    def _excess(self, start: int, end: int, units: int) -> int:
        """By how much a span and the prefix are over the size; as one text if it is close."""
        over = self._prefix_units + units - self._size
        if not self._prefix or over < -_SLACK:
            return over
        return self._count(self._prefix + self._text[start:end]) - self._size

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
            elif part.inner == SENTENCE:
                # Its end will do, and some text before, whose own beginning is no border.
                reach = max(_WORD, 2 * (part.end - part.start) * left // part.units)
                begin = max(part.start, part.end - reach)
                sentences = self.finer(part._replace(start=begin))[begin > part.start :]
                before.extend(sentences or [part._replace(inner=WORD)])
            elif tail and tail[-1].level > WORD:
                break
            else:
                at, units = self._fit(part.end, part.start, part.units, left, self._word_border)
                if at < part.end:
                    tail.append(Part(at, part.end, units, WORD, WORD))
                break
        tail.reverse()
        if tail and tail[0].start <= taken[0].start:
            del tail[0]
        strong = (at for at, part in enumerate(tail) if part.level >= SENTENCE)
        return tail[next(strong, 0) :]

    def finer(self, part: Part) -> list[Part]:
        """A part cut at its sentences and lines, or, if that is too much to look at, in two."""
        start, end, _, level, inner = part
        if end - start > REACH:
            middle, border = self._far_border(start, inner)
            return [
                self.part(start, middle, level, inner),
                Part(middle, end, sys.maxsize, border, inner)
                if end - middle > REACH
                else self.part(middle, end, border, inner),
            ]
        borders = self._sentences(start, end)
        borders[0] = start, level
        ends = chain((at for at, _ in borders[1:]), [end])
        return [self.part(at, to, border, WORD) for (at, border), to in zip(borders, ends)]

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
        """The starts of sentences and lines in text[start:end], and the levels of these borders."""
        text = self._text
        self._work += end - start
        borders = {start: SENTENCE}
        for match in _LINE_END.finditer(text, start, end):
            at = match.end()
            if at < end:
                borders[at] = LINE if text[at].islower() else SENTENCE
        for match in _STOPS.finditer(text, start, end):
            at = match.end()
            if at < end and self._ends_sentence(match, start):
                borders[at] = SENTENCE
        return sorted(borders.items())

    def _ends_sentence(self, match: re.Match[str], start: int) -> bool:
        text, stop, at = self._text, match.start(), match.end()
        if not text[at - 1].isspace() or text[stop - 1 : stop].isspace():
            return _FULL_STOP.search(match.group(1)) is not None
        if match.group(1) != ".":
            return True
        before = text[max(start, stop - 12) : stop]
        return not (text[at].islower() or _ABBREVIATION.search(before))

    def _split(self, part: Part, room: int, used: int) -> tuple[Part | None, list[Part]]:
        """Cut a part so that its head fills the room: between words if the span is then half full,
        else inside a word. None where not even one character fits."""
        start, end = part.start, part.end
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
        head = Part(start, at, units, part.level, WORD)
        if at == end:
            return head, []
        rest = Part(at, end, max(1, part.units - units), level, WORD)
        if end - at <= _NEAR * room:
            # Differences drift, and the last one must not.
            rest = self.part(at, end, level, WORD)
        return head, [rest]

    def _fit(
        self,
        near: int,
        far: int,
        units: int,
        allowed: int,
        border: Callable[[int, int, int], int | None],
    ) -> tuple[int, int]:
        """The border that is far from near on the way to far with at most so many units between,
        and these; near and 0 if there is none. By interpolation, for units grow evenly; what is
        found may leave a sixteenth of what is allowed."""
        anchor = near
        near_units, far_units = 0, units
        for turn in range(12):
            share = 0.5
            if turn < 6 and far_units > near_units:
                share = min(1.0, (allowed - near_units) / (far_units - near_units))
            at = border(near + int((far - near) * share), min(near, far), max(near, far))
            if at is None:
                break
            found = self._measure(min(anchor, at), max(anchor, at))
            if found > allowed:
                far, far_units = at, found
                continue
            near, near_units = at, found
            if (allowed - found) * 16 < allowed:
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

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """A span without blank lines at its ends and blanks at its end. It keeps the indent of its
        first line, or what is before its first word if it begins inside a line."""
        if not self._trim:
            return start, end
        content = self._text[start:end]
        finish = start + len(content.rstrip())
        indent = len(content) - len(content.lstrip())
        line = max(content.rfind("\n", 0, indent), content.rfind("\r", 0, indent)) + 1
        return min(start + line, finish), finish


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
