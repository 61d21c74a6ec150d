"""Groups the parts of a long section by what they say, so that an edit moves few borders.

A section that is packed greedily has its borders wherever the text before them happens to end: one
more paragraph at the top, and every chunk below is another. Here each border has a strength that
depends on the text behind it alone, and a section is halved at its strongest border until the
halves fit. An edit then changes the halves that it stands in, and leaves the others as they were.

The idea is that of a treap (Seidel and Aragon, 1996), and of content-defined chunking in backup
systems (Muthitacharoen et al., "A low-bandwidth network file system", 2001).
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from .packing import GROUP, SENTENCE, Packer, Part

#: So many characters behind a border decide on its strength, by shingles of so many, each from the
#: start of a word.
_HEAD = 96
_SHINGLE = 12
_WORD_START = re.compile(r"(?<!\S)(?=\S)")
#: So many borders are looked at before a tick.
_LOOKED_AT = 1 << 16


def grouped(text: str, packer: Packer, parts: Iterable[Part | None]) -> Iterator[Part | None]:
    """Yield the parts of one section, and None as ticks between; the first of each group but the
    first gets the level GROUP.

    A section that fits the packer's room is one group. A part that does not fit is cut at its
    sentences, so that a paragraph without end is grouped as well. A group of several parts leaves
    room for the packer's overlap.
    """
    section: list[Part] = []
    for part in parts:
        if part is None or packer.is_due():
            yield None
        if part is not None:
            section.append(part)
    if sum(part.units for part in section) <= packer.room:
        yield from section
        return
    fine: list[Part] = []
    waiting = section[::-1]
    while waiting:
        part = waiting.pop()
        if part.units > packer.room and part.inner == SENTENCE:
            waiting.extend(reversed(packer.finer(part)))
            if packer.is_due():
                yield None
        else:
            fine.append(part)
    starts: set[int] = set()
    for cut in _cuts(text, fine, packer.room - packer.overlap):
        if cut is None:
            yield None
        else:
            starts.add(cut)
    for index, part in enumerate(fine):
        yield part._replace(level=GROUP) if index in starts else part


def _cuts(text: str, parts: list[Part], capacity: int) -> Iterator[int | None]:
    """Yield the indexes at which groups begin, in no order, and None as ticks between."""
    units = [min(part.units, capacity) for part in parts]
    ends = list(accumulate(units, initial=0))
    strengths: dict[int, int] = {}

    def strength(at: int) -> int:
        if at not in strengths:
            strengths[at] = _strength(text, parts[at].start)
        return strengths[at]

    looked_at = 0
    # The depth at which halving has gone wrong: the strengths of a text can be made to rise.
    patience = 4 * len(parts).bit_length()
    segments = [(0, len(parts), 0)]
    while segments:
        first, last, depth = segments.pop()
        size = ends[last] - ends[first]
        if size <= capacity or last - first < 2:
            continue
        looked_at += last - first
        if looked_at > _LOOKED_AT:
            looked_at = 0
            yield None
        # No group that is nearly empty.
        least = 2 * capacity // 5
        low, high = ends[first] + least, ends[last] - least
        middle = (ends[first] + ends[last]) // 2
        borders = range(
            bisect_left(ends, low, first + 1, last), bisect_right(ends, high, first + 1, last)
        ) or range(first + 1, last)
        if depth > patience:
            yield (cut := min(borders, key=lambda at: abs(ends[at] - middle)))
        else:
            level = max(parts[at].level for at in borders)
            strongest = (at for at in borders if parts[at].level == level)
            yield (cut := max(strongest, key=lambda at: (strength(at), -abs(ends[at] - middle))))
        segments += [(first, cut, depth + 1), (cut, last, depth + 1)]


def _strength(text: str, start: int) -> int:
    """The strength of a border: the largest digest of a shingle behind it, which a change of one
    word seldom changes (Broder, "On the resemblance and containment of documents", 1997)."""
    head = text[start : start + _HEAD].encode("utf-8", "replace").decode()
    starts = (match.start() for match in _WORD_START.finditer(head))
    return max((zlib.crc32(head[at : at + _SHINGLE].encode()) for at in starts), default=0)
