"""Groups the parts of a long section by what they say, so that an edit moves few borders.

A section that is packed greedily has its borders wherever the text before them happens to end: one
more paragraph at the top, and every chunk below is another. Here each border has a strength that
depends on the text behind it alone, and a section is halved at its strongest border until the
halves fit. An edit then changes the halves that it stands in, and leaves the others as they were.

The idea is that of a treap (Seidel and Aragon, 1996), and of content-defined chunking in backup
systems (Muthitacharoen et al., "A low-bandwidth network file system", 2001).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from zlib import crc32

from .blocks import GROUP, SENTENCE
from .packing import Packer, Part

#: So many characters behind a border decide on its strength, by shingles of two words.
_HEAD = 72
#: So many borders are measured, and so many looked at, before a tick.
_MEASURED = 1 << 13
_LOOKED_AT = 1 << 18


def grouped(text: str, packer: Packer, parts: Iterable[Part | None]) -> Iterator[Part | None]:
    """Yield the parts of one section, and None as ticks between; GROUP is added to the level of the
    first of each group but the first.

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
    if sum([part.units for part in section]) <= packer.room:
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
    if sum([part.units for part in fine]) <= packer.room:
        # It was too long to be counted at once.
        yield from fine
        return
    repeated = max(packer.overlap, *[packer.header_units(part.header) for part in fine])
    starts: set[int] = set()
    units = [part.units for part in fine]
    for at, part in enumerate(fine[1:]):
        # There is room for a header already; it never stands alone, as the rows below repeat it.
        if part.header == (fine[at].start, fine[at].end) and packer.header_units(part.header):
            units[at] = 0
    for cut in _cuts(text, fine, units, packer.room - repeated):
        if cut is None:
            yield None
        else:
            starts.add(cut)
    for index, part in enumerate(fine):
        yield part._replace(level=part.level | GROUP) if index in starts else part


def _cuts(text: str, parts: list[Part], units: list[int], capacity: int) -> Iterator[int | None]:
    """Yield the indexes at which groups begin, in no order, and None as ticks between."""
    ends = list(accumulate([min(one, capacity) for one in units], initial=0))
    strengths: list[int] = []
    for at, part in enumerate(parts):
        if at % _MEASURED == 0:
            yield None
        strengths.append(part.level << 32 | _strength(text, part.start))
    looked_at = 0
    # The depth at which halving has gone wrong: the strengths of a text can be made to rise.
    patience = 4 * len(parts).bit_length()
    # No group that is nearly empty.
    least = 2 * capacity // 5
    segments = [(0, len(parts), 0)]
    while segments:
        first, last, depth = segments.pop()
        if ends[last] - ends[first] <= capacity or last - first < 2:
            continue
        looked_at += last - first
        if looked_at > _LOOKED_AT:
            looked_at = 0
            yield None
        low = bisect_left(ends, ends[first] + least, first + 1, last)
        high = bisect_right(ends, ends[last] - least, first + 1, last)
        if low >= high:
            low, high = first + 1, last
        middle = (ends[first] + ends[last]) // 2
        cut = bisect_left(ends, middle, low, high - 1)
        if depth <= patience:
            within = strengths[low:high]
            strongest = max(within)
            if within.count(strongest) == 1:
                cut = low + within.index(strongest)
            else:
                equals = (at for at, strength in enumerate(within, low) if strength == strongest)
                cut = min(equals, key=lambda at: abs(ends[at] - middle))
        yield cut
        segments += [(first, cut, depth + 1), (cut, last, depth + 1)]


def _strength(text: str, start: int) -> int:
    """The strength of a border: the largest digest of a shingle behind it, which a change of one
    word seldom changes (Broder, "On the resemblance and containment of documents", 1997)."""
    words = text[start : start + _HEAD].encode("utf-8", "replace").split()
    # The last one may be cut off.
    digests = list(map(crc32, words[:-1] or words))
    return max(map(crc32, words[1:-1], digests), default=max(digests, default=0))
